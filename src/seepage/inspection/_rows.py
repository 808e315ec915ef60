"""Rows of people in tables of few digits: no value says whose it is, and two or three of a row together do."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.inspection._exact import FEWEST, Hits, hashed
from seepage.inspection._people import MeasuredColumn

# Of longer tables the first rows are looked at; wider ones are several tables.
_ROWS, _COLUMNS = 200_000, 64
_SAMPLE = 2_048
_PROBES = 16
_SHUFFLES = 8
# Columns of a table whose rows follow each other in one array.
_INTERLEAVED = 8
# So many new rows are expected where none is by chance.
_NEW = 20
# A column of a table is one of the people's where nearly all of its values are values of that.
_INSIDE = 0.95
# Other units, such as cm and m, or shares and percentages.
SCALES = (1.0, 100.0, 0.01, 10.0, 0.1, 1000.0, 0.001)


@dataclass(eq=False)
class NeighborColumns:
    """Columns of one table."""

    where: str = ""
    names: list[str] = field(default_factory=list)
    columns: "list[NDArray[Any]]" = field(default_factory=list)
    is_guess: bool = False
    """Whether its width is a guess; then its columns are not compared in other units."""

    @classmethod
    def of(cls, where: str, rows: "NDArray[Any]") -> "NeighborColumns":
        """Take the rows of an array for columns, if they are not too many for that."""
        some = rows if len(rows) <= _COLUMNS else rows[:0]
        return cls(where, [""] * len(some), [row[:_ROWS] for row in some])

    @classmethod
    def interleaved(cls, where: str, values: "NDArray[Any]") -> "Iterator[NeighborColumns]":
        """Yield the tables whose rows may follow each other in an array, behind a beginning or before an end."""
        for width in range(2, min(_INTERLEAVED, len(values) // FEWEST) + 1):
            rest = len(values) % width
            for part in (values[rest:], *([values[:-rest]] if rest else [])):
                yield replace(cls.of(where, part.reshape(-1, width).T), is_guess=True)

    @property
    def is_full(self) -> bool:
        """Whether it takes no more columns."""
        return len(self.columns) >= _COLUMNS

    def add(self, where: str, array: "NDArray[Any]") -> None:
        """Take one more column."""
        self.where = self.where or where
        self.names.append(where.rpartition(".")[2])
        self.columns.append(array if len(array) <= _ROWS else array[:_ROWS].copy())


class PeopleRows:
    """The people's columns in several units, to be recognized next to each other in any order."""

    def __init__(self, columns: tuple[MeasuredColumn, ...]) -> None:
        some = [column for column in columns if len(column.distinct) > 1]
        others = [column for column in some if not column.is_text]
        self._in_units = len(some)
        self._columns = [(1.0, column) for column in some]
        self._columns += [(scale, column.scaled(scale, None)) for scale in SCALES[1:] for column in others]
        self._low = np.array([column.distinct[0] for _, column in self._columns])
        self._high = np.array([column.distinct[-1] for _, column in self._columns])

    def hits(self, table: NeighborColumns) -> Hits | None:
        """Return whose rows a table holds, more often than one whose columns were shuffled would."""
        if len(table.columns) < 2 or len(table.columns[0]) < FEWEST:
            return None
        matched = self._matched(table)
        if len(matched) < 2:
            return None
        mine = hashed(column.values for column, _ in matched)
        every, first, theirs = np.unique(mine, return_index=True, return_counts=True)
        # What several people have in common is nobody's.
        keys, first = every[theirs == 1], first[theirs == 1]
        if len(keys) < FEWEST:
            return None
        inside, copies = np.unique(hashed(values for _, values in matched), return_counts=True)
        hit = np.isin(keys, inside)
        rng = np.random.default_rng(0)
        chance = [
            np.isin(keys, hashed(rng.permutation(values) for _, values in matched)).sum() for _ in range(_SHUFFLES)
        ]
        people = len(np.unique(first[hit]))
        places = np.minimum(np.searchsorted(every, inside), len(every) - 1)
        part = bool(np.all((every[places] == inside) & (theirs[places] >= copies)))
        # Of other people, as large a share of rows would be new as is unique here (Good and Turing).
        sure = part and copies.sum() * len(keys) >= _NEW * len(mine)
        if people < FEWEST + (0.0 if sure else 5.0 * float(np.mean(chance))):
            return None
        return Hits(tuple(column.name for column, _ in matched), people)

    def _matched(self, table: NeighborColumns) -> list[tuple[MeasuredColumn, Array]]:
        """Return which of the people's columns those of a table are: of that name, or of the nearest spread."""
        matched: dict[str, tuple[MeasuredColumn, Array]] = {}
        for name, column in zip(table.names, table.columns, strict=True):
            some = np.sort(_doubles(column[np.isfinite(column)][:_SAMPLE]))
            if len(some) < FEWEST or some[0] == some[-1]:
                continue
            probes = some[np.linspace(0, len(some) - 1, _PROBES).astype(int)]
            within = (self._low <= probes[1]) & (self._high >= probes[-2])
            within[self._in_units :] &= not table.is_guess
            near = [
                (known.name != name, scale != 1.0, _distance(some, known), place)
                for place in np.flatnonzero(within).tolist()
                for scale, known in [self._columns[place]]
                if known.name not in matched
                and _share_inside(probes, known.distinct, scale) >= 0.6
                and _share_inside(some, known.distinct, scale) >= _INSIDE
            ]
            if near:
                scale, known = self._columns[min(near)[-1]]
                matched[known.name] = (known, _in_unit(_doubles(column), scale) + 0.0)
        return list(matched.values())


def _doubles(values: "NDArray[Any]") -> Array:
    """Return numbers as doubles of the same decimals: 22.3 in single precision is 22.3."""
    short = values.dtype.kind == "f" and values.dtype.itemsize < 8
    return (values.astype(str) if short else values).astype(np.float64)


def _in_unit(values: Array, scale: float) -> Array:
    """Return values without the last digits, in which a product differs from what is written."""
    return values if scale == 1.0 else np.round(values, 8)


def _share_inside(some: Array, distinct: Array, scale: float) -> float:
    some = _in_unit(some, scale)
    places = np.minimum(np.searchsorted(distinct, some), len(distinct) - 1)
    return float((distinct[places] == some).mean())


def _distance(some: Array, column: MeasuredColumn) -> float:
    """Return the largest difference of two distribution functions."""
    every = np.sort(column.values[np.isfinite(column.values)])
    share = np.searchsorted(every, some, "right") / len(every)
    return float(np.abs(share - np.arange(1, len(some) + 1) / len(some)).max())
