"""Leakage compared between groups of people."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._errors import InputError
from seepage._tables import Frame, column_values, frame

Array = NDArray[np.float64]
_STATISTICS: dict[str, Callable[[Array], Any]] = {"mean": np.mean, "median": np.median, "max": np.max}


@dataclass(frozen=True, eq=False)
class GroupLeakage:
    """Count, mean, median and largest eta of each group, with bootstrap intervals.

    Attributes
    ----------
    frame : data frame
        One row a group, in the library of the data: `count`, and each statistic with its interval.
    confidence : float
        The share of resamples that an interval covers.
    """

    values: Array
    labels: NDArray[Any]
    library: str
    confidence: float
    resamples: int
    seed: int

    @classmethod
    def of(
        cls, values: Array, groups: Any, library: str, *, confidence: float, resamples: int, seed: int
    ) -> "GroupLeakage":
        """Check the group labels and hold them with the values."""
        labels = column_values(groups)
        if labels.ndim != 1 or len(labels) != len(values):
            raise InputError(
                f"by_group needs a group label for each of the {len(values)} people, not shape {labels.shape}."
            )
        if len(labels) == 0:
            raise InputError("by_group was given no people.")
        if any(label is None or label != label for label in labels.tolist()):
            raise InputError("by_group was given a missing group label. Give the people without a group a name.")
        if not 0 < confidence < 1:
            raise InputError(f"confidence must be between 0 and 1, not {confidence!r}.")
        return cls(values, labels, library, confidence, resamples, seed)

    @cached_property
    def _groups(self) -> tuple[list[Hashable], list[Array]]:
        names, index = np.unique(self.labels, return_inverse=True)
        return names.tolist(), [self.values[index == i] for i in range(len(names))]

    @cached_property
    def _resampled(self) -> dict[str, Array]:
        """Each statistic of each group in each resample, shape (groups, resamples)."""
        random = np.random.default_rng(self.seed)
        _, groups = self._groups
        found = {name: np.empty((len(groups), self.resamples)) for name in _STATISTICS}
        for i, group in enumerate(groups):
            for j in range(self.resamples):
                drawn = group[random.integers(len(group), size=len(group))]
                for name, statistic in _STATISTICS.items():
                    found[name][i, j] = statistic(drawn)
        return found

    def _interval(self, draws: Array) -> tuple[Array, Array]:
        tail = (1 - self.confidence) / 2
        return np.quantile(draws, tail, axis=-1), np.quantile(draws, 1 - tail, axis=-1)

    @cached_property
    def frame(self) -> Frame:
        names, groups = self._groups
        columns: dict[str, Any] = {"group": names, "count": [len(group) for group in groups]}
        for name, statistic in _STATISTICS.items():
            columns[name] = np.array([statistic(group) for group in groups])
            columns[f"{name}_low"], columns[f"{name}_high"] = self._interval(self._resampled[name])
        return frame(columns, self.library)

    def difference(self, statistic: str = "mean") -> tuple[float, float, float]:
        """Return the largest minus the smallest group's statistic, with the ends of its interval."""
        return self._between(statistic, lambda high, low: high - low)

    def ratio(self, statistic: str = "mean") -> tuple[float, float, float]:
        """Return the largest over the smallest group's statistic, with the ends of its interval."""
        return self._between(statistic, lambda high, low: high / low)

    def _between(self, statistic: str, compare: Any) -> tuple[float, float, float]:
        if statistic not in _STATISTICS:
            raise InputError(f"statistic must be one of {list(_STATISTICS)}, not {statistic!r}.")
        _, groups = self._groups
        point = np.array([_STATISTICS[statistic](group) for group in groups])
        # The same two groups are compared in every resample: which is largest was decided by the data.
        high, low = int(point.argmax()), int(point.argmin())
        draws = self._resampled[statistic]
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = self._interval(compare(draws[high], draws[low]))
            return float(compare(point[high], point[low])), float(ends[0]), float(ends[1])

    def __repr__(self) -> str:
        return f"GroupLeakage({len(self._groups[0])} groups)\n{self.frame}"
