"""The numbers of a table as estimating equations: what each person moves them by, to first order.

With the people counted w times each, a mean of v in a cell is sum w v / sum w, so that whoever is in it moves it by
(v - mean) / n; a sum by v, a count by 1, and a standard deviation s by ((v - mean)^2 - s^2) / (2 s (n - 1)).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.aggregates._cells import CellGrouping
from seepage.aggregates._records import MISSING, Records, Values

OTHER_CELLS = "people in any other cell"


class RecordNumbers(ABC):
    """What is printed of some records."""

    records: Records

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What each number is."""

    @property
    @abstractmethod
    def whole(self) -> NDArray[np.bool_]:
        """Which of them are counts of people."""

    @abstractmethod
    def fitted(self, weights: Array) -> Any:
        """Return what is needed of people who are there as often as weights say."""

    @abstractmethod
    def values(self, fitted: Any) -> Array:
        """Return the numbers."""

    @abstractmethod
    def moves(self, fitted: Any, values: Values, count: int) -> Array:
        """Return what some people move them by, shape (count, numbers)."""

    @abstractmethod
    def slopes(self, fitted: Any, values: Values, count: int, name: str) -> Array:
        """Return how they move with a column of numbers of some people, shape (count, numbers)."""

    @cached_property
    def at(self) -> Any:
        """What is needed of the people as they are."""
        return self.fitted(np.ones(len(self.records)))


class CellMoments(NamedTuple):
    """Of each cell."""

    size: Array
    total: Array
    mean: Array
    deviation: Array


@dataclass(frozen=True, eq=False)
class Series:
    """One statistic of one column, in each cell."""

    statistic: str
    """Count, sum, mean or sd; of a category's level the sum is a number of people and the mean a share."""
    column: str | None
    level: int | None
    title: str
    grouping: CellGrouping
    printed: NDArray[np.bool_] | None = None
    """The cells of which it is printed; None for all of them."""

    def measured(self, values: Values, count: int) -> Array:
        """Return what is averaged."""
        if self.column is None:
            return np.ones(count)
        column = values[self.column]
        if self.level is not None:
            return np.where(column == MISSING, np.nan, (column == self.level).astype(np.float64))
        if self.statistic != "count":
            return np.asarray(column)
        return np.where(column == MISSING if column.dtype.kind == "i" else np.isnan(column), np.nan, 1.0)

    def inside(self, values: Values, count: int) -> tuple[NDArray[np.intp], Array]:
        """Return the cell of some people, -1 if their value is missing, and what is averaged."""
        x = self.measured(values, count)
        return np.where(np.isnan(x), -1, self.grouping.cell(values, count)), x

    def moments(self, records: Records, weights: Array) -> CellMoments:
        """Return the moments of each cell."""
        cell, x = self.inside(records.values, len(records))
        some = cell >= 0
        cell, x, weights = cell[some], x[some], weights[some]
        count = len(self.grouping.cells)
        size = np.asarray(np.bincount(cell, weights, count), dtype=np.float64)
        total = np.asarray(np.bincount(cell, weights * x, count), dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = total / size
            squares = np.bincount(cell, weights * (x - mean[cell]) ** 2, count)
            # What rounding leaves of people who are all alike is nothing.
            squares = np.where(squares <= 1e-26 * size * mean**2, 0.0, squares)
            return CellMoments(size, total, mean, np.where(size > 1, np.sqrt(squares / (size - 1)), np.nan))

    def value(self, moments: CellMoments) -> Array:
        """Return the numbers of all cells."""
        found = {"count": moments.size, "sum": moments.total, "mean": moments.mean, "sd": moments.deviation}
        return found[self.statistic]

    def move(self, moments: CellMoments, cell: NDArray[np.intp], x: Array) -> Array:
        """Return what people in cells move the numbers of these by."""
        size, mean, deviation = moments.size[cell], moments.mean[cell], moments.deviation[cell]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.statistic == "mean":
                return np.asarray((x - mean) / size)
            if self.statistic == "sd":
                found = ((x - mean) ** 2 - deviation**2) / (2.0 * deviation * (size - 1))
                return np.where(deviation > 0, found, np.abs(x - mean) / np.sqrt(size))
        return x

    def slope(self, moments: CellMoments, cell: NDArray[np.intp], x: Array) -> Array:
        """Return how these move with what is averaged."""
        size, mean, deviation = moments.size[cell], moments.mean[cell], moments.deviation[cell]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.statistic == "mean":
                return np.asarray(1.0 / size)
            if self.statistic == "sd":
                # Of people who are all alike it has a kink: whoever moves, moves it up.
                return np.where(deviation > 0, (x - mean) / ((size - 1) * deviation), 1.0 / np.sqrt(size))
        return np.ones(len(cell))

    @property
    def counts(self) -> bool:
        """Whether these are numbers of people."""
        return self.statistic == "count" or (self.statistic == "sum" and self.level is not None)

    @property
    def discrete(self) -> bool:
        """Whether these are numbers of people, or shares of them."""
        return self.statistic == "count" or self.level is not None


@dataclass(frozen=True, eq=False)
class TableNumbers(RecordNumbers):
    """The numbers of a table."""

    records: Records
    by: tuple[str, ...]
    series: tuple[Series, ...]

    @cached_property
    def _places(self) -> list[NDArray[np.intp]]:
        """Of each series, where its cells stand among the numbers; -1 for what nobody can print."""
        found, start = [], 0
        for each, moments in zip(self.series, self.at, strict=True):
            printed = np.isfinite(each.value(moments)) & (True if each.printed is None else each.printed)
            found.append(np.where(printed, start + np.cumsum(printed) - 1, -1))
            start += int(printed.sum())
        return found

    @cached_property
    def _more(self) -> int:
        """Whether there could be cells that hold nobody: that these are not printed says so."""
        return int(not self.series[0].grouping.complete)

    @cached_property
    def _count(self) -> int:
        return sum(int((each >= 0).sum()) for each in self._places) + self._more

    @cached_property
    def names(self) -> tuple[str, ...]:
        found = [
            each.title + cell
            for each, places in zip(self.series, self._places, strict=True)
            for cell, at in zip(each.grouping.words(self.by), places, strict=True)
            if at >= 0
        ]
        return (*found, *[OTHER_CELLS] * self._more)

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        found = np.zeros(self._count, dtype=bool)
        for each, places in zip(self.series, self._places, strict=True):
            found[places[places >= 0]] = each.counts
        found[self._count - self._more :] = True
        return found

    def fitted(self, weights: Array) -> tuple[CellMoments, ...]:
        return tuple(each.moments(self.records, weights) for each in self.series)

    def values(self, fitted: Sequence[CellMoments]) -> Array:
        found = np.zeros(self._count)
        for each, moments, places in zip(self.series, fitted, self._places, strict=True):
            found[places[places >= 0]] = each.value(moments)[places >= 0]
        return found

    def moves(self, fitted: Sequence[CellMoments], values: Values, count: int) -> Array:
        found = np.zeros((count, self._count))
        for each, moments, places in zip(self.series, fitted, self._places, strict=True):
            cell, x = each.inside(values, count)
            people, at = self._reached(cell, places)
            found[people, at] = each.move(moments, cell[people], x[people])
        if self._more:
            found[:, -1] = self.series[0].grouping.is_elsewhere(values, count)
        return found

    def slopes(self, fitted: Sequence[CellMoments], values: Values, count: int, name: str) -> Array:
        found = np.zeros((count, self._count))
        for each, moments, places in zip(self.series, fitted, self._places, strict=True):
            if each.column == name and each.level is None:
                cell, x = each.inside(values, count)
                people, at = self._reached(cell, places)
                found[people, at] = each.slope(moments, cell[people], x[people])
        return found

    @staticmethod
    def _reached(cell: NDArray[np.intp], places: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return who is in a cell that is printed, and where that stands."""
        at = np.where(cell >= 0, places[cell], -1)
        people = np.flatnonzero(at >= 0)
        return people, at[people]
