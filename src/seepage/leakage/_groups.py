"""Leakage compared between groups of people."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seepage._errors import InputError
from seepage._tables import Frame, column_values, frame
from seepage.leakage._distribution import Distribution

Array = NDArray[np.float64]
_STATISTICS: dict[str, Callable[[Array], Any]] = {"mean": np.mean, "median": np.median, "max": np.max}


class Group(Protocol):
    """The values of one group of people."""

    @property
    def count(self) -> int:
        """The number of people."""
        ...

    def statistics(self) -> Mapping[str, float]:
        """Return mean, median and largest value."""
        ...

    def resampled(self, random: np.random.Generator, resamples: int) -> Mapping[str, Array]:
        """Return each statistic in each resample."""
        ...


@dataclass(frozen=True, eq=False)
class Values:
    """A group whose values are in memory."""

    values: Array

    @property
    def count(self) -> int:
        return len(self.values)

    def statistics(self) -> dict[str, float]:
        return {name: float(statistic(self.values)) for name, statistic in _STATISTICS.items()}

    def resampled(self, random: np.random.Generator, resamples: int) -> dict[str, Array]:
        found = {name: np.empty(resamples) for name in _STATISTICS}
        for j in range(resamples):
            drawn = self.values[random.integers(self.count, size=self.count)]
            for name, statistic in _STATISTICS.items():
                found[name][j] = statistic(drawn)
        return found


@dataclass(frozen=True, eq=False)
class Sketched:
    """A group of which only the distribution is known.

    The bootstrap needs no more: the k-th smallest of n values drawn from a distribution is its quantile at a share that
    is Beta(k, n + 1 - k) distributed, and a mean of many values is normal.
    """

    distribution: Distribution

    @property
    def count(self) -> int:
        return self.distribution.count

    def statistics(self) -> dict[str, float]:
        known = self.distribution
        return {"mean": known.mean, "median": known.quantile(0.5), "max": known.largest}

    def resampled(self, random: np.random.Generator, resamples: int) -> dict[str, Array]:
        known, middle = self.distribution, (self.count + 1) // 2
        return {
            "mean": random.normal(known.mean, known.deviation / np.sqrt(self.count), resamples),
            "median": known.ranked(np.floor(self.count * random.beta(middle, self.count + 1 - middle, resamples))),
            "max": known.ranked(np.floor(self.count * random.beta(self.count, 1, resamples))),
        }


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

    names: tuple[Hashable, ...]
    groups: tuple[Group, ...]
    library: str
    confidence: float
    resamples: int
    seed: int

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise InputError(f"confidence must be between 0 and 1, not {self.confidence!r}.")

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
        names, index = np.unique(labels, return_inverse=True)
        parts = tuple(Values(values[index == i]) for i in range(len(names)))
        return cls(tuple(names.tolist()), parts, library, confidence, resamples, seed)

    @cached_property
    def _points(self) -> dict[str, Array]:
        found = [group.statistics() for group in self.groups]
        return {name: np.array([statistics[name] for statistics in found]) for name in _STATISTICS}

    @cached_property
    def _resampled(self) -> dict[str, Array]:
        """Each statistic of each group in each resample, shape (groups, resamples)."""
        random = np.random.default_rng(self.seed)
        found = [group.resampled(random, self.resamples) for group in self.groups]
        return {name: np.array([draws[name] for draws in found]) for name in _STATISTICS}

    def _interval(self, draws: Array) -> tuple[Array, Array]:
        tail = (1 - self.confidence) / 2
        return np.quantile(draws, tail, axis=-1), np.quantile(draws, 1 - tail, axis=-1)

    @cached_property
    def frame(self) -> Frame:
        columns: dict[str, Any] = {"group": list(self.names), "count": [group.count for group in self.groups]}
        for name in _STATISTICS:
            columns[name] = self._points[name]
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
        point = self._points[statistic]
        # The same two groups are compared in every resample: which is largest was decided by the data.
        high, low = int(point.argmax()), int(point.argmin())
        draws = self._resampled[statistic]
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = self._interval(compare(draws[high], draws[low]))
            return float(compare(point[high], point[low])), float(ends[0]), float(ends[1])

    def __repr__(self) -> str:
        return f"GroupLeakage({len(self.names)} groups)\n{self.frame}"
