"""Equations at their solution: how people's rows move what is published of it.

With A the derivative of all equations by theta and R what is published, a value x of a person moves it by

    J = -R A^-1 d psi / d x        (eq. 12.6)

and everybody's own equations move it by  -R A^-1 psi, which is what hides a person where no noise is added.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Column, Table
from seepage.attackers.rows import contrasts
from seepage.equations._psi import Differentiation, Psi

# Of a standard error: where the last step of a solution ends, and how many steps it may take.
_CLOSE, _MOST = 1e-10, 60


def bread(psi: Psi, theta: Array, table: Table, by_theta: Sequence[Differentiation]) -> Array:
    """Return A, the derivative of the sum of all equations by theta."""
    each = (step.slope(psi.along_theta(theta, table, i)).sum(axis=1) for i, step in enumerate(by_theta))
    return np.column_stack([*each])


@dataclass(frozen=True, eq=False)
class PrivateColumn:
    """One private column: how equations move with it, and its levels if it is a category."""

    at: int
    """Which column it is."""
    step: Differentiation | None
    """None for a category whose values are only told apart."""
    levels: tuple[Hashable, ...] | None

    @property
    def width(self) -> int:
        """How many numbers it is."""
        return 1 if self.step is not None or self.levels is None else contrasts(self.levels).shape[1]


@dataclass(frozen=True, eq=False)
class Solved:
    """Equations and the rows at which they are solved."""

    psi: Psi
    table: Table
    theta: Array
    by_theta: tuple[Differentiation, ...]
    """How derivatives by each parameter are taken."""
    unit: NDArray[np.intp] | None
    """Which rows have equations that move together, by place: those of a person, or a cluster; None where each row is
    by itself."""
    clusters: bool
    """Whether several people may be one unit."""
    published: NDArray[np.intp]
    """Which parameters."""
    inverse: Array
    """A^-1."""
    private: Mapping[str, PrivateColumn] = field(default_factory=dict)

    @property
    def reach(self) -> Array:
        """From equations to what is published: -R A^-1."""
        return np.asarray(-self.inverse[self.published])

    @property
    def leverage(self) -> Array:
        """How much of A each row is."""
        each = (step.slope(self.psi.along_theta(self.theta, self.table, i)) for i, step in enumerate(self.by_theta))
        return np.asarray(sum(self.inverse[i] @ one for i, one in enumerate(each)))

    @cached_property
    def equations(self) -> Array:
        """Psi of everybody, at the solution."""
        return self.psi.numbers(self.theta, self.table)

    @property
    def moves(self) -> Array:
        """How each row moves what is published, shape (rows, numbers)."""
        return np.asarray((self.reach @ self.equations).T)

    @cached_property
    def errors(self) -> Array:
        """The robust standard error of each parameter."""
        moved = self.inverse @ self.together(self.equations)
        return np.asarray(np.sqrt((moved**2).sum(axis=1)))

    def together(self, equations: Array) -> Array:
        """Add up the equations of rows that move together."""
        if self.unit is None:
            return equations
        found = np.zeros((len(equations), int(self.unit.max()) + 1))
        np.add.at(found.T, self.unit, equations.T)
        return found

    @cached_property
    def slots(self) -> NDArray[np.intp]:
        """Which row of its unit each row is: one row of every unit can be moved at once."""
        if self.unit is None:
            return np.zeros(len(self.table), dtype=np.intp)
        order = np.argsort(self.unit, kind="stable")
        starts = np.unique(self.unit[order], return_index=True)[1]
        found = np.empty(len(order), dtype=np.intp)
        found[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        return found

    @cached_property
    def slopes(self) -> Array:
        """How what is published moves with the private values of each row, shape (rows, numbers, values)."""
        return self.slopes_of(self.table)

    def slopes_of(self, table: Table, only: str | None = None) -> Array:
        """Return the same of rows that stand for these, with other values; of one column, and zeros, if it is named."""
        found = np.zeros((len(table), len(self.published), sum(each.width for each in self.private.values())))
        start = 0
        for name, values in self.private.items():
            for slot in range(int(self.slots.max()) + 1 if only in (None, name) else 0):
                some = self.slots == slot
                for i, moved in enumerate(self._moved(table, values, some)):
                    seen = self.reach @ self.together(moved)
                    found[some, :, start + i] = seen.T[some if self.unit is None else self.unit[some]]
            start += values.width
        return found

    def _moved(self, table: Table, values: PrivateColumn, some: NDArray[np.bool_]) -> list[Array]:
        """Return how psi moves with each number of a column, in one row of each unit; of a category, by eq. 12.7."""
        if values.step is not None:
            return [values.step.slope(self.psi.along_column(self.theta, table, values.at, some.astype(np.float64)))]
        assert values.levels is not None
        column = table.column_at(values.at)
        each = [
            self.psi.numbers(self.theta, table.with_column(values.at, replaced(column, some, level)))
            for level in values.levels
        ]
        return [np.tensordot(contrast, each, axes=1) for contrast in contrasts(values.levels).T]

    def of(self, rows: NDArray[np.intp]) -> "Solved":
        """Return the rows of some units by themselves, at the same solution."""
        unit = None if self.unit is None else np.unique(self.unit[rows], return_inverse=True)[1].astype(np.intp)
        return replace(self, table=Table(self.table.picked(rows), self.table.names), unit=unit)

    def changed(self, people: Sequence[NDArray[np.intp]], name: str, value: Hashable) -> Array:
        """Return how what is published moves if a column takes a value in all rows of one of some people at a time.

        It is to first order in one person among many. The rows of each person are given; people of one unit are moved
        one after the other.
        """
        at, found = self.private[name].at, np.zeros((len(people), len(self.published)))
        own = np.array([rows[0] if self.unit is None else self.unit[rows[0]] for rows in people])
        turn = np.array([int((own[:i] == each).sum()) for i, each in enumerate(own)]) if self.clusters else 0 * own
        for now in range(int(turn.max(initial=-1)) + 1):
            some = np.flatnonzero(turn == now)
            rows = np.concatenate([people[int(i)] for i in some])
            every = rows if self.unit is None else np.flatnonzero(np.isin(self.unit, own[some]))
            part = self.of(every)
            column = replaced(part.table.column_at(at), np.isin(every, rows), value)
            moved = self.psi.numbers(self.theta, part.table.with_column(at, column)) - part.equations
            place = np.arange(len(some)) if self.unit is None else np.searchsorted(np.unique(own[some]), own[some])
            found[some] = (self.reach @ part.together(moved)).T[place]
        return found

    def theta_without(self, rows: NDArray[np.intp]) -> Array:
        """Return where the others would have left the solution, whose rows are all but these: one step of Newton."""
        own = Table(self.table.picked(rows), self.table.names)
        matrix = np.linalg.inv(self.inverse) - bread(self.psi, self.theta, own, self.by_theta)
        return np.asarray(self.theta + np.linalg.solve(matrix, self.equations[:, rows].sum(axis=1)))

    def refitted(self, table: Table) -> Array:
        """Return the solution with other rows, by chords from the one that there is; NaN where none was found."""
        theta, last = self.theta, np.inf
        with np.errstate(all="ignore"):
            for _ in range(_MOST):
                step = self.inverse @ self.psi(theta, table).sum(axis=1)
                theta = theta - step
                size = float(np.max(np.abs(step) / self.errors))
                if not size < 10.0:
                    break
                if size <= _CLOSE or (size < 1e3 * _CLOSE and size >= last):
                    return np.asarray(theta, dtype=np.float64)
                last = size
        return np.full_like(self.theta, np.nan)

    def with_value(self, rows: NDArray[np.intp], name: str, value: Hashable) -> Array:
        """Return the exact solution where a column has another value in some rows, all at once."""
        at, some = self.private[name].at, np.isin(np.arange(len(self.table)), rows)
        return self.refitted(self.table.with_column(at, replaced(self.table.column_at(at), some, value)))


def replaced(column: Column, some: NDArray[np.bool_], value: Hashable) -> Column:
    """Return a column with one value in some rows, in a type that holds it."""
    if column.dtype.kind in "biuf" and isinstance(value, int | float | np.number | np.bool_):
        return np.where(some, value, column)
    found = column.astype(object)
    found[some] = value
    return found
