"""The cells of a table: people with the same values of some columns."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from seepage.aggregates._records import MISSING, Records, Values

EVERYBODY = "all"


@dataclass(frozen=True, eq=False)
class CellGrouping:
    """The cells of some columns, as far as somebody is in them."""

    by: tuple[str, ...]
    levels: tuple[tuple[Hashable, ...], ...]
    cells: NDArray[np.intp]
    """Sorted, by place among all that there could be."""

    @classmethod
    def of(cls, records: Records, by: Sequence[str]) -> "CellGrouping":
        """Look for the cells that hold somebody."""
        levels = tuple(records.levels[name] for name in by)
        empty = cls(tuple(by), levels, np.empty(0, dtype=np.intp))
        flat = empty._flat(records.values, len(records))
        return cls(empty.by, levels, np.unique(flat[flat >= 0]))

    def _flat(self, values: Values, count: int) -> NDArray[np.intp]:
        found = np.zeros(count, dtype=np.intp)
        for name, known in zip(self.by, self.levels, strict=True):
            # A value that nobody has is one more.
            flat = found * (len(known) + 1) + values[name]
            found = np.where((found < 0) | (values[name] == MISSING), MISSING, flat)
        return found

    def cell(self, values: Values, count: int) -> NDArray[np.intp]:
        """Return the cell of some people; -1 for one that holds nobody."""
        flat = self._flat(values, count)
        place = np.minimum(np.searchsorted(self.cells, flat), len(self.cells) - 1)
        return np.where(self.cells[place] == flat, place, -1)

    def is_elsewhere(self, values: Values, count: int) -> NDArray[np.bool_]:
        """Return the people who would be in a cell that holds nobody."""
        return (self._flat(values, count) >= 0) & (self.cell(values, count) < 0)

    @property
    def keys(self) -> list[tuple[Hashable, ...]]:
        """The values of each cell's people."""
        found, rest = [], self.cells
        for known in reversed(self.levels):
            rest, at = np.divmod(rest, len(known) + 1)
            found.append([known[i] for i in at.tolist()])
        return list(zip(*reversed(found), strict=True)) if found else [()]

    @property
    def complete(self) -> bool:
        """Whether every cell that there could be holds somebody."""
        return len(self.cells) == int(np.prod([len(known) for known in self.levels]))

    def words(self, names: Sequence[str]) -> list[str]:
        """Return what each cell is called in a table by some columns."""
        return [
            "".join(f", {name}={dict(zip(self.by, key, strict=True)).get(name, EVERYBODY)}" for name in names)
            for key in self.keys
        ]


def groupings(records: Records, by: Sequence[str], margins: bool) -> tuple[CellGrouping, ...]:
    """Return the cells of a table, and those of its margins if it has some."""
    sizes = range(len(by), -1, -1) if margins else [len(by)]
    return tuple(CellGrouping.of(records, some) for size in sizes for some in combinations(by, size))
