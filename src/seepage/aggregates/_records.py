"""What a table is made of: for each person numbers, and categories as places among their levels."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._baseline import bits_of, left_of
from seepage._near import did_you_mean, several
from seepage._tables import Array, Column, Data, Table, missing_in, plain
from seepage._where import holds, kept
from seepage.errors import InputError

Values = Mapping[str, NDArray[Any]]
"""Of some people: numbers, and places among the levels of a category."""


@dataclass(frozen=True, eq=False)
class Records:
    """The people of a table, one row each."""

    table: Table
    """The rows as they were given."""
    rows: NDArray[np.intp]
    """Which of these the table is about."""
    columns: Mapping[str, Column]
    levels: Mapping[str, tuple[Hashable, ...]]
    """Of each category."""
    values: Values

    @classmethod
    def of(cls, data: Data, names: Sequence[str], grouping: Sequence[str], where: str | None) -> "Records":
        """Read the columns of a table.

        Parameters
        ----------
        data : data frame
        names : sequence of str
            All columns that it needs.
        grouping : sequence of str
            Those whose every value is a level.
        where : str or None
            For whom it is.
        """
        table = Table.of(data)
        if not table.is_frame:
            raise InputError(
                f"A table is made of a data frame with the columns {several(list(names))}; {type(data).__name__} was "
                "given."
            )
        rows = kept(where, table)
        columns: dict[str, Column] = {}
        levels: dict[str, tuple[Hashable, ...]] = {}
        values: dict[str, NDArray[Any]] = {}
        for name in names:
            if name not in table.names:
                raise InputError(
                    f"There is no column {name!r}. {did_you_mean(name, table.names)}The columns are: "
                    f"{several(list(table.names))}."
                )
            whole = plain(table.column(name))
            column = whole[rows]
            empty = int(missing_in(column).sum())
            if empty:
                raise InputError(
                    f"{name!r} is missing for {empty:,} of {len(rows):,} people, and a table says nothing of those "
                    "whom it leaves out. Drop these rows first, or fill them in."
                )
            columns[name] = column
            # The levels are those of all rows: a table also says which of them no row inside the filter has.
            present = ~missing_in(whole)
            found = _levels(whole[present], name in grouping)
            if found is None:
                values[name] = np.asarray(column, dtype=np.float64)
            else:
                # A level that the filter itself excludes is no news.
                found = found[~np.isin(found, whole[present & ~holds(where, table, name)])]
                levels[name] = tuple(found.tolist())
                values[name] = np.searchsorted(found, column).astype(np.intp)
        return cls(table, rows, columns, levels, values)

    def __len__(self) -> int:
        return len(self.rows)

    def of_people(self, people: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
        """Return the values of some people."""
        return {name: column[people] for name, column in self.values.items()}

    def place(self, name: str, value: object) -> int:
        """Return which level of a category a value is; one more than the last if it is none of them."""
        known = self.levels[name]
        return known.index(value) if value in known else len(known)

    def together(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Return a place for each person that those with the same values of some categories share."""
        found = np.zeros(len(self), dtype=np.intp)
        for name in names:
            wide = found * len(self.levels[name]) + self.values[name]
            found = np.unique(wide, return_inverse=True)[1].astype(np.intp)
        return found

    @property
    def bits(self) -> float:
        """The entropy of one record, as far as these people show it."""
        found = np.zeros(len(self), dtype=np.intp)
        for column in self.values.values():
            place = np.unique(column, return_inverse=True)[1]
            found = np.unique(found * len(self) + place, return_inverse=True)[1].astype(np.intp)
        return bits_of(np.unique(found, return_counts=True)[1])

    @cached_property
    def features(self) -> Mapping[str, Array]:
        """Each column as numbers: of a category one for each level but the first."""
        return {
            name: np.eye(len(self.levels[name]))[column][:, 1:] if name in self.levels else column[:, None]
            for name, column in self.values.items()
        }

    def guess(self, name: str) -> tuple[Array, float]:
        """Return how far a number is from a guess that knows the person's other values, and its deviation."""
        known = [each for other, each in self.features.items() if other != name]
        return left_of(self.values[name], np.column_stack([*known, np.empty((len(self), 0))]))


def _levels(column: Column, grouping: bool) -> Column | None:
    """Return the values of a category; None for a column of numbers."""
    if column.dtype.kind == "b":
        return np.array([False, True])
    if column.dtype.kind in "mM" and not grouping:
        raise InputError("Dates have no mean here: make years of them, or classes, first.")
    found = np.unique(column)
    if column.dtype.kind not in "iuf":
        return found
    if set(found.tolist()) <= {0, 1} and not grouping:
        return np.array([0, 1], dtype=column.dtype)
    return found if grouping or len(found) <= 2 else None
