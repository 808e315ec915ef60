"""Rows of people in tables of few digits: no value tells whose it is, and two or three beside each other do."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.inspection._exact import FEWEST, Hits, hashed
from seepage.inspection._people import MeasuredColumn

# Of longer tables the first rows are looked at, and of wider ones the first columns.
_ROWS, _COLUMNS = 200_000, 64
_SAMPLE = 2_048
_SHUFFLES = 8
# Columns of a table whose rows follow each other in one array.
_INTERLEAVED = 8
# So many new rows are expected where none is by chance.
_NEW = 20
# A column of a table is one of the people's where nearly all of its values are values of that.
_INSIDE = 0.95


@dataclass(eq=False)
class NeighborColumns:
    """Columns of one table, which come one after the other."""

    where: str = ""
    names: list[str] = field(default_factory=list)
    columns: "list[NDArray[Any]]" = field(default_factory=list)

    @classmethod
    def of(cls, where: str, rows: "NDArray[Any]") -> "NeighborColumns":
        """Take the rows of an array for columns, if they are not too many for that."""
        few = rows if len(rows) <= _COLUMNS else rows[:0]
        return cls(where, [""] * len(few), [each[:_ROWS] for each in few])

    @classmethod
    def interleaved(cls, where: str, values: "NDArray[Any]") -> "Iterator[NeighborColumns]":
        """Yield the tables whose rows may follow each other in an array, behind a beginning or before an end."""
        for width in range(2, min(_INTERLEAVED, len(values) // FEWEST) + 1):
            rest = len(values) % width
            for part in (values[rest:], *([values[:-rest]] if rest else [])):
                yield cls.of(where, part.reshape(-1, width).T)

    def takes(self, array: "NDArray[Any]") -> bool:
        """Return whether an array can be a column of the same table."""
        return array.ndim == 1 and (not self.columns or len(array) == len(self.columns[0]))

    def add(self, where: str, array: "NDArray[Any]") -> None:
        """Take one more."""
        self.where = self.where or where
        if len(self.columns) < _COLUMNS:
            self.names.append(where.rpartition(".")[2])
            self.columns.append(array[:_ROWS])


class PeopleRows:
    """The people's columns, to be found beside each other in whatever order."""

    def __init__(self, numbers: tuple[MeasuredColumn, ...]) -> None:
        self._numbers = [each for each in numbers if len(each.distinct) > 1 and not each.is_progression]

    def found(self, columns: "list[NDArray[Any]]", names: list[str]) -> Hits | None:
        """Return whose rows a table holds, more often than one whose columns were shuffled would."""
        if len(columns) < 2 or len(columns[0]) < FEWEST:
            return None
        matched = self._matched(columns, names)
        if len(matched) < 2:
            return None
        mine = hashed(each.values for each, _ in matched)
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
        return Hits(tuple(each.name for each, _ in matched), people)

    def _matched(self, columns: "list[NDArray[Any]]", names: list[str]) -> list[tuple[MeasuredColumn, Array]]:
        """Return which of the people's columns those of a table are: of that name, or of the nearest spread."""
        found: dict[str, tuple[MeasuredColumn, Array]] = {}
        for name, values in zip(names, columns, strict=True):
            some = np.sort(_doubles(values[np.isfinite(values)][:_SAMPLE]))
            if len(some) < FEWEST or some[0] == some[-1]:
                continue
            near = [
                (each.name != name, _apart(some, each), each)
                for each in self._numbers
                if each.name not in found and float(np.isin(some, each.distinct).mean()) >= _INSIDE
            ]
            if near:
                best = min(near, key=lambda one: one[:2])[2]
                found[best.name] = (best, _doubles(values) + 0.0)
        return list(found.values())


def _doubles(values: "NDArray[Any]") -> Array:
    """Return numbers as doubles of the same decimals: 22.3 in single precision is 22.3."""
    short = values.dtype.kind == "f" and values.dtype.itemsize < 8
    return (values.astype(str) if short else values).astype(np.float64)


def _apart(some: Array, column: MeasuredColumn) -> float:
    """Return the largest difference of two distribution functions."""
    every = np.sort(column.values[np.isfinite(column.values)])
    share = np.searchsorted(every, some, "right") / len(every)
    return float(np.abs(share - np.arange(1, len(some) + 1) / len(some)).max())
