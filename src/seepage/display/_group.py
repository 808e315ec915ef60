"""Groups of people compared."""

from collections.abc import Hashable
from dataclasses import dataclass

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.display import _drawing
from seepage.display._display import Display
from seepage.errors import InputError
from seepage.leakage import GroupLeakage, Leakage
from seepage.leakage.types import By


@dataclass(eq=False)
class GroupDisplay(Display):
    """A statistic of eta in each group, with its bootstrap interval, the most exposed group on top.

    Examples
    --------
    >>> import seepage
    >>> from seepage.display import GroupDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=2.0)
    >>> GroupDisplay.from_leakage(leak, X["sex"]).plot().names
    [1.0, 2.0]
    """

    names: list[Hashable]
    counts: NDArray[np.int64]
    values: Array
    low: Array
    high: Array
    statistic: str
    confidence: float

    @classmethod
    def from_leakage(
        cls, leak: Leakage, groups: By = None, *, statistic: str = "mean", confidence: float = 0.95
    ) -> "GroupDisplay":
        """Compare groups of people.

        Parameters
        ----------
        leak : Leakage
            What was measured.
        groups : array-like of shape (n,), or str
            As for `Leakage.by_group`.
        statistic : {"mean", "median", "max"}, default="mean"
            What to compare.
        confidence : float, default=0.95
            The share of resamples that an interval covers.
        """
        return cls.from_groups(leak.by_group(groups, confidence=confidence), statistic=statistic)

    @classmethod
    def from_groups(cls, groups: GroupLeakage, *, statistic: str = "mean") -> "GroupDisplay":
        """Take what `Leakage.by_group` returned.

        Parameters
        ----------
        groups : GroupLeakage
            The groups.
        statistic : {"mean", "median", "max"}, default="mean"
            What to compare.
        """
        if statistic not in ("mean", "median", "max"):
            raise InputError(f"statistic must be 'mean', 'median' or 'max', not {statistic!r}.")
        table = nw.from_native(groups.frame, eager_only=True)
        values = table[statistic].to_numpy()
        order = np.argsort(-values, kind="stable")
        low, high = (table[f"{statistic}_{end}"].to_numpy()[order] for end in ("low", "high"))
        names, counts = table["group"].to_list(), table["count"].to_numpy()[order]
        return cls([names[i] for i in order], counts, values[order], low, high, statistic, groups.confidence)

    def _size(self) -> tuple[float, float]:
        return 4.8, 0.9 + 0.28 * len(self.names)

    def _draw(self, ax: "_drawing.Axes") -> None:
        rows = np.arange(len(self.names))
        # A bootstrap interval of a maximum may leave the maximum itself out.
        reach = np.maximum([self.values - self.low, self.high - self.values], 0.0)
        ax.errorbar(self.values, rows, xerr=reach, fmt="o", color=_drawing.BLUE, capsize=2.5, markersize=5)
        labels = [f"{_drawing.clipped(name)} ({count:,})" for name, count in zip(self.names, self.counts, strict=True)]
        _drawing.listed(ax, labels)
        _drawing.guided(ax, "x")
        ax.set_xlabel(f"{self.statistic} eta, with {100 * self.confidence:.4g}% interval")
