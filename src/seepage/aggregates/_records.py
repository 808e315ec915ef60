"""What a table is made of: for each person numbers, and categories as places among their levels."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._baseline import bits_of
from seepage._facts import Assumption
from seepage._near import did_you_mean, several
from seepage._tables import Array, Column, Data, Table, missing_in, plain
from seepage._where import holds, kept
from seepage.attackers import guessed
from seepage.errors import InputError

# Place of a missing value among the levels of a category.
MISSING = -1
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
            whole = table.column(name)
            present = ~missing_in(whole)
            known, empty = plain(whole[present]), ~present[rows]
            column = plain(whole[rows]) if present[rows].all() else whole[rows]
            columns[name] = column
            # The levels are those of all rows: a table also says which of them no row inside the filter has.
            found = _levels(known, name in grouping)
            if found is None:
                values[name] = _numbers(column, empty)
            else:
                # A level that the filter itself excludes is no news.
                found = found[~np.isin(found, known[~holds(where, table, name)[present]])]
                levels[name] = tuple(found.tolist())
                values[name] = np.full(len(column), MISSING, dtype=np.intp)
                values[name][~empty] = np.searchsorted(found, plain(column[~empty]))
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
            wide = found * (len(self.levels[name]) + 1) + self.values[name] - MISSING
            found = np.unique(wide, return_inverse=True)[1].astype(np.intp)
        return found

    def present(self, name: str) -> NDArray[np.bool_]:
        """Return the people whose value of a column is not missing."""
        column = self.values[name]
        return column != MISSING if name in self.levels else ~np.isnan(column)

    @property
    def remarks(self) -> tuple[Assumption, ...]:
        """State what is assumed of missing values."""
        is_complete = all(self.present(name).all() for name in self.values)
        return () if is_complete else (Assumption("missing", "Which values are missing is known."),)

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
        """Columns as numbers: of a category one for each level but the first; missing values as the mean."""
        found = {}
        for name, column in self.values.items():
            number = np.eye(len(self.levels[name]))[column][:, 1:] if name in self.levels else column[:, None]
            present = self.present(name)
            mean = number[present].mean(axis=0) if present.any() else 0.0
            found[name] = np.where(present[:, None], number, mean)
        return found

    def guess(self, name: str) -> tuple[Array, Array]:
        """Return how far a number is above a guess from the person's other values, and the deviation of that."""
        known = [each for other, each in self.features.items() if other != name]
        present, left, deviations = self.present(name), np.zeros(len(self)), np.zeros(len(self))
        design = np.column_stack([*known, np.empty((len(self), 0))])
        left[present], deviations[present] = guessed(self.values[name][present], design[present])
        deviations[~present] = np.median(deviations[present])
        return left, deviations


def _numbers(column: Column, empty: NDArray[np.bool_]) -> Array:
    found = np.full(len(column), np.nan)
    found[~empty] = np.asarray(column[~empty], dtype=np.float64)
    return found


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
