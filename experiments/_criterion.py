"""What counts as confirmed: a comparison fixed beforehand, of an interval with the side that a paper claims."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta, binom, rankdata

Numbers = dict[str, Any]

VERDICTS = ("confirmed", "partly", "not confirmed", "undecided", "not run")


class NotRunError(Exception):
    """The numbers that a criterion asks for are not in the results."""


@dataclass(frozen=True)
class Interval:
    """Where a number lies, as far as the stored repetitions tell."""

    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> "Interval":
        """Return that of a number that no draw went into."""
        return cls(value, value)

    @classmethod
    def around(cls, mean: float, half_width: float | None) -> "Interval":
        """Return that of a mean and half of its width; without repetitions it may be anywhere."""
        if half_width is None or math.isnan(half_width):
            return cls(-math.inf, math.inf)
        return cls(mean - half_width, mean + half_width)

    @classmethod
    def share(cls, count: float, total: int) -> "Interval":
        """Return that of a share of so many draws: 95%, Clopper and Pearson."""
        count = round(count)
        low = 0.0 if count == 0 else float(beta.ppf(0.025, count, total - count + 1))
        high = 1.0 if count == total else float(beta.ppf(0.975, count + 1, total - count))
        return cls(low, high)

    @classmethod
    def correlation(cls, value: float, count: int) -> "Interval":
        """Return that of a correlation over so many: 95%, Fisher."""
        middle, half = np.arctanh(np.clip(value, -1 + 1e-12, 1 - 1e-12)), 1.96 / (count - 3) ** 0.5
        return cls(float(np.tanh(middle - half)), float(np.tanh(middle + half)))

    @classmethod
    def middle(cls, values: Sequence[float] | np.ndarray) -> "Interval":
        """Return what 95 of 100 repetitions of a whole statistic give."""
        low, high = np.quantile(values, [0.025, 0.975])
        return cls(float(low), float(high))

    @classmethod
    def resampled(cls, statistic: Callable[[np.ndarray], np.ndarray], count: int) -> "Interval":
        """Return what a statistic gives when its rows are drawn anew 1,000 times, all of them at once: 95%."""
        return cls.middle(statistic(np.random.default_rng(0).integers(0, count, (1000, count))))

    def minus(self, other: "Interval") -> "Interval":
        """Return that of the difference of two numbers that were found independently."""
        middle = (self.low + self.high - other.low - other.high) / 2
        half = math.hypot(self.high - self.low, other.high - other.low) / 2
        return Interval(middle - half, middle + half)


@dataclass(frozen=True)
class Decision:
    """One criterion, the interval it met, and what follows."""

    what: str
    above: float
    below: float
    interval: Interval | None
    verdict: str

    def record(self) -> Numbers:
        """Return it as JSON holds it: an open side, or a number that was not run, is null."""
        sides = (self.above, self.below, *((None, None) if self.interval is None else _ends(self.interval)))
        names = ("above", "below", "low", "high")
        return {
            "what": self.what,
            **{k: None if v is None or not math.isfinite(v) else v for k, v in zip(names, sides, strict=True)},
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Criterion:
    """A number, and the side of it that the paper claims."""

    what: str
    """What is compared, in words."""
    read: Callable[[Numbers], "Interval | list[Interval]"]
    """From the experiment's numbers; several, if the claim is about every one of them."""
    above: float = -math.inf
    below: float = math.inf

    def decide(self, numbers: Numbers) -> Decision:
        """Decide: confirmed if all of the interval is on the claimed side, not if none is, otherwise undecided.

        Of several intervals all must be on it; one that is not is enough against the claim.
        """
        try:
            found = self.read(numbers)
        except NotRunError:
            return Decision(self.what, self.above, self.below, None, "not run")
        several = [found] if isinstance(found, Interval) else found
        if all(each.low > self.above and each.high < self.below for each in several):
            verdict = "confirmed"
        elif any(each.high <= self.above or each.low >= self.below for each in several):
            verdict = "not confirmed"
        else:
            verdict = "undecided"
        ends = Interval(min(each.low for each in several), max(each.high for each in several))
        return Decision(self.what, self.above, self.below, ends, verdict)

    @property
    def words(self) -> str:
        """What counts as confirmed."""
        if math.isinf(self.above):
            return f"{self.what} below {self.below:g}"
        if math.isinf(self.below):
            return f"{self.what} above {self.above:g}"
        return f"{self.what} between {self.above:g} and {self.below:g}"


def together(decisions: Sequence[Decision]) -> str:
    """Return the verdict on a statement that claims several things at once."""
    found = {each.verdict for each in decisions}
    if not found or "not run" in found:
        return "not run"
    if {"confirmed", "not confirmed"} <= found:
        return "partly"
    return next(verdict for verdict in ("not confirmed", "undecided", "confirmed") if verdict in found)


def printed(what: str, read: Callable[[Numbers], float], value: float, unit: float) -> Criterion:
    """Return the criterion that a number is the printed one: to half of its last digit."""

    def found(numbers: Numbers) -> Interval:
        return Interval.exactly(read(numbers))

    # The ends belong to it, whatever the digits of binary numbers are.
    half = 0.5 * unit * (1 + 1e-9)
    return Criterion(what, found, float(f"{value - half:.12g}"), float(f"{value + half:.12g}"))


def around_median(values: np.ndarray) -> np.ndarray:
    """Return a 95% interval of the median: the number of values below it is binomial."""
    low, high = binom.interval(0.95, len(values), 0.5)
    return np.sort(values)[[int(low), min(int(high), len(values) - 1)]]


def rank_correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return Spearman's of each row; 0 where one of both does not vary."""
    a, b = (rankdata(each, axis=1) for each in (a, b))
    a, b = (each - each.mean(1, keepdims=True) for each in (a, b))
    size = np.sqrt((a**2).sum(1) * (b**2).sum(1))
    return (a * b).sum(1) / np.where(size > 0, size, np.inf)


def of(numbers: Any, *path: str | int) -> Any:
    """Return a number by its path; it was not run if it is not there."""
    for name in path:
        if isinstance(numbers, dict) and name not in numbers:
            raise NotRunError
        numbers = numbers[name]
    return numbers


def _ends(interval: Interval) -> tuple[float, float]:
    return float(f"{interval.low:.4g}"), float(f"{interval.high:.4g}")
