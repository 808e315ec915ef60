"""Tables of numbers that are listed one by one, each a statistic of a column in one cell."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Data, Frame, default_library, frame
from seepage.aggregates import CellGrouping, Made, Records, Series, TableEstimator, made_of


class TableNumber(NamedTuple):
    """A number of a table.

    Attributes
    ----------
    statistic : "count", "mean", "sum" or "sd"
        Of a level the sum is a number of people and the mean a share.
    column : str or None
        None for a count of the people in the cell.
    level : hashable, optional
        A value of a category.
    cell : tuple of (str, hashable)
        Columns and their values; empty for everybody.
    """

    statistic: str
    column: str | None
    level: Hashable | None
    cell: tuple[tuple[str, Hashable], ...]

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that make its cell."""
        return tuple(name for name, _ in self.cell)


class NumberTable(TableEstimator):
    """A table of listed numbers.

    Parameters
    ----------
    numbers : sequence of TableNumber
    where : str, optional
        The people it is about, as `Aggregate` takes it.

    Attributes
    ----------
    frame_ : data frame
        One row a number: `name` and `value`.
    """

    def __init__(self, *, numbers: Sequence[TableNumber], where: str | None = None) -> None:
        self.numbers = numbers
        self.where = where

    def _made(self, X: Data) -> Made:
        cells = dict.fromkeys(each.by for each in self.numbers)
        by = tuple(dict.fromkeys(name for names in cells for name in names))
        of = tuple(dict.fromkeys(each.column for each in self.numbers if each.column is not None))
        categories = [each.column for each in self.numbers if each.column is not None and each.level is not None]
        records = Records.of(X, (*of, *by), [*by, *categories], self.where)
        # The cells of most columns come first: they say how many cells hold nobody.
        groups = {names: CellGrouping.of(records, names) for names in sorted(cells, key=len, reverse=True)}
        series = [each for names, group in groups.items() for each in self._series(records, names, group)]
        return made_of(records, of, by, series, self.where)

    def _series(self, records: Records, by: tuple[str, ...], group: CellGrouping) -> list[Series]:
        """Return the numbers of some cells, those of one statistic together."""
        masks: dict[tuple[str, str | None, Hashable | None], NDArray[np.bool_]] = {}
        places = {key: place for place, key in enumerate(group.keys)}
        for each in self.numbers:
            key = tuple(value for _, value in each.cell)
            if each.by == by and key in places:
                mask = masks.setdefault((each.statistic, each.column, each.level), np.zeros(len(places), dtype=bool))
                mask[places[key]] = True
        found = []
        for (statistic, column, value), mask in masks.items():
            level = None if value is None or column is None else records.place(column, value)
            of = "" if column is None else f" of {column}" + ("" if value is None else f" = {value}")
            word = statistic if level is None else {"sum": "number", "mean": "share"}[statistic]
            found.append(Series(statistic, column, level, f"{word}{of}", group, mask))
        return found

    def _shown(self, made: Made) -> Frame:
        values: Array = made.numbers.values(made.numbers.at)
        columns = {"name": list(made.numbers.names), "value": values.tolist()}
        return frame(columns, made.numbers.records.table.library or default_library())
