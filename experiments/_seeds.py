"""Means over seeds with their intervals, and how seeds that were run later join those that were run before."""

from typing import Any

import numpy as np
from scipy.stats import t

from experiments._result import rounded

_ADDED = ("seeds", "which", "leads", "leads_as_printed")
"""What later seeds add to: counts and lists with an entry a seed. All else must be the same."""


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the mean over seeds, and half of its 95% interval (Student); nan for one seed."""
    count = len(values)
    return float(values.mean()), float(_half(((values - values.mean()) ** 2).sum(), count))


def pooled(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Return the summary of all seeds from those of two parts of them.

    Means and widths of intervals are enough for it: with sums of squares S about the means of m and of n seeds, those
    about the mean of all are S_a + S_b + (mean_a - mean_b)^2 m n / (m + n).
    """
    found: dict[str, Any] = _pooled(a, b, a["seeds"], b["seeds"])
    return found


def _pooled(a: Any, b: Any, m: int, n: int, name: str = "") -> Any:
    if name in _ADDED:
        return a + b
    if name == "auc_all_layers":
        return {kind: _means(a[kind], b[kind], m, n) for kind in a}
    if isinstance(a, dict):
        found = {key: _pooled(a[key], b[key], m, n, key) for key in a if key not in ("mean", "half_width")}
        if "half_width" in a:
            pairs = ((each["mean"], each["half_width"]) for each in (a, b))
            found["mean"], found["half_width"] = _means(*pairs, m, n)
        return found
    if rounded(a) != rounded(b):
        raise ValueError(f"{name} is {a!r} in the earlier result and {b!r} in this one: they are not of one setting.")
    return a


def _means(a: Any, b: Any, m: int, n: int) -> tuple[Any, Any]:
    """Return mean and half of the interval of m + n values, from those of m and of n."""
    (mean_a, half_a), (mean_b, half_b) = (np.asarray(each, dtype=float) for each in (a, b))
    squares = _squares(half_a, m) + _squares(half_b, n) + (mean_a - mean_b) ** 2 * m * n / (m + n)
    mean, half = (m * mean_a + n * mean_b) / (m + n), _half(squares, m + n)
    return mean.tolist(), half.tolist()


def _half(squares: Any, count: int) -> Any:
    """Return half of the interval of the mean, from the sum of squares about it."""
    if count == 1:
        return np.full_like(squares, np.nan)
    return t.ppf(0.975, count - 1) * np.sqrt(squares / (count - 1) / count)


def _squares(half: Any, count: int) -> Any:
    """Return the sum of squares about the mean, from half of its interval."""
    return count * (count - 1) * (half / t.ppf(0.975, count - 1)) ** 2 if count > 1 else np.zeros_like(half)
