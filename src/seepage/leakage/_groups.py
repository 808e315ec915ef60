"""Leakage compared between groups of people."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage import pages
from seepage._tables import Array, Column, Frame, frame
from seepage.errors import InputError
from seepage.leakage._distribution import Distribution, Values

_STATISTICS = ("mean", "median", "max")
# More groups than this, named by numbers, are looked at twice.
_MOST_NUMBERS = 20


def split(values: Array, labels: Column) -> dict[Hashable, Distribution]:
    """Return the values of each group, the groups in order."""
    names, codes = _coded(labels)
    # Sixteen bits sort in linear time.
    order = np.argsort(codes.astype(np.int16) if len(names) < 2**15 else codes, kind="stable")
    parts = np.split(values[order], np.cumsum(np.bincount(codes, minlength=len(names)))[:-1])
    return {names[i]: Values.of(parts[i]) for i in _in_order(names)}


def _coded(labels: Column) -> tuple[list[Hashable], NDArray[np.integer]]:
    """Return each label once, and for each person which it is."""
    if labels.dtype.kind not in "OU":
        _refuse_missing(labels.dtype.kind in "fc" and bool(np.isnan(labels).any()))
        found, index = np.unique(labels, return_inverse=True)
        return found.tolist(), index
    # Imported here: `import seepage` does without it.
    import pyarrow as pa

    try:
        coded = pa.array(labels, from_pandas=True).dictionary_encode()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise InputError("by_group was given labels of several types: make them all text, or all numbers.") from None
    _refuse_missing(coded.null_count > 0)
    return coded.dictionary.to_pylist(), coded.indices.to_numpy()


def _in_order(names: list[Hashable]) -> NDArray[np.intp]:
    ordered = np.empty(len(names), dtype=object)
    ordered[:] = names
    return np.argsort(ordered, kind="stable")


def refuse_numbers(groups: Mapping[Hashable, Distribution]) -> None:
    """Refuse groups by a measurement: nearly everybody would be alone in theirs.

    Parameters
    ----------
    groups : mapping from group to Distribution
        The groups.
    """
    names = list(groups)
    if len(names) <= _MOST_NUMBERS or not all(isinstance(name, float | int) for name in names):
        return
    people = sum(group.count for group in groups.values())
    # Whole numbers may be codes, of a ward or a year; as long as there are several people to each.
    if all(float(name).is_integer() for name in names if isinstance(name, float | int)) and people >= 5 * len(names):
        return
    shown = ", ".join(repr(name) for name in names[:3])
    raise InputError(
        f"These groups are {len(names)} different numbers ({shown}, ...) of {people} people: measurements, not groups. "
        "Cut them into a few classes first, for example by_group(pandas.cut(values, 4).astype(str))."
    )


def _refuse_missing(missing: bool) -> None:
    if missing:
        raise InputError("by_group was given a missing group label. Give the people without a group a name.")


@dataclass(frozen=True, eq=False)
class GroupLeakage:
    """Count, mean, median and largest eta of each group, with bootstrap intervals.

    Attributes
    ----------
    groups : mapping from group to Distribution
        How eta is distributed in each group.
    frame : data frame
        One row a group, in the library of the data: `count`, and each statistic with its interval.
    confidence : float
        The share of resamples that an interval covers.
    """

    groups: Mapping[Hashable, Distribution]
    library: str
    confidence: float = 0.95
    resamples: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.resamples, int) or self.resamples < 1:
            raise InputError(f"resamples must be a positive whole number, not {self.resamples!r}.")
        if not 0 < self.confidence < 1:
            raise InputError(f"confidence must be between 0 and 1, not {self.confidence!r}.")

    @cached_property
    def _points(self) -> dict[str, Array]:
        found = [group.statistics() for group in self.groups.values()]
        return {name: np.array([statistics[name] for statistics in found]) for name in _STATISTICS}

    @cached_property
    def _resampled(self) -> dict[str, Array]:
        """Each statistic of each group in each resample, shape (groups, resamples)."""
        random = np.random.default_rng(self.seed)
        found = [group.resampled(random, self.resamples) for group in self.groups.values()]
        return {name: np.array([draws[name] for draws in found]) for name in _STATISTICS}

    def _interval(self, draws: Array) -> tuple[Array, Array]:
        tail = (1 - self.confidence) / 2
        return np.quantile(draws, tail, axis=-1), np.quantile(draws, 1 - tail, axis=-1)

    @cached_property
    def frame(self) -> Frame:
        columns: dict[str, object] = {
            "group": list(self.groups),
            "count": [group.count for group in self.groups.values()],
        }
        for name in _STATISTICS:
            columns[name] = self._points[name]
            columns[f"{name}_low"], columns[f"{name}_high"] = self._interval(self._resampled[name])
        return frame(columns, self.library)

    def difference(self, statistic: str = "mean") -> tuple[float, float, float]:
        """Return the largest minus the smallest group's statistic, with the ends of its interval."""
        return self._between(statistic, np.subtract)

    def ratio(self, statistic: str = "mean") -> tuple[float, float, float]:
        """Return the largest over the smallest group's statistic, with the ends of its interval."""
        return self._between(statistic, np.divide)

    def _between(self, statistic: str, compare: Callable[[Array, Array], Array]) -> tuple[float, float, float]:
        if statistic not in _STATISTICS:
            raise InputError(f"statistic must be one of {list(_STATISTICS)}, not {statistic!r}.")
        point = self._points[statistic]
        # The same two groups are compared in every resample: which is largest was decided by the data.
        high, low = int(point.argmax()), int(point.argmin())
        draws = self._resampled[statistic]
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = self._interval(compare(draws[high], draws[low]))
            return float(compare(point[high], point[low])), float(ends[0]), float(ends[1])

    def section(self) -> pages.Section:
        """Return the groups as a section of a document."""
        columns = []
        for name in _STATISTICS:
            ends = zip(self._points[name], *self._interval(self._resampled[name]), strict=True)
            columns.append([f"{point:.3g} ({low:.3g} to {high:.3g})" for point, low, high in ends])
        people = [f"{group.count:,}" for group in self.groups.values()]
        rows = zip([pages.name(str(group)) for group in self.groups], people, *columns, strict=True)
        caption = f"eta of each group, with intervals of {self.confidence:.0%}"
        table = pages.Grid.of(caption, ["group", "people", *_STATISTICS], rows)
        return pages.Section("Exposure by group", tables=(table,))

    def _repr_html_(self) -> str:
        return pages.snippet(pages.Document("Groups", "", (self.section(),)))

    def __repr__(self) -> str:
        return f"GroupLeakage({len(self.groups)} groups)\n{self.frame}"
