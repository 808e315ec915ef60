"""People with several rows: what one of them does is what all their rows do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Column
from seepage.attackers._slopes import Formed, Slopes


@dataclass(frozen=True, eq=False)
class Owned:
    """Whose each row is, and which values of a person are one."""

    person: NDArray[np.intp] | None
    """Of each row; None where each row is a person."""
    count: int
    """The number of rows."""
    values: Mapping[str, NDArray[np.intp]]
    """Which values of a row each attribute is."""
    once: Mapping[str, NDArray[np.bool_]]
    """Of each person, whether all rows say the same of an attribute: it is one value then."""

    @classmethod
    def of(
        cls,
        person: NDArray[np.intp] | None,
        count: int,
        values: Mapping[str, NDArray[np.intp]],
        columns: Mapping[str, Column],
    ) -> "Owned":
        """Look which values are said again."""
        if person is None:
            return cls(None, count, values, {})
        first = np.unique(person, return_index=True)[1]
        once = {}
        for name, column in columns.items():
            flat = column.reshape(len(column), -1)
            differ = (flat != flat[first[person]]).any(axis=1)
            once[name] = np.bincount(person, differ, minlength=len(first)) == 0
        return cls(person, count, values, once)

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """The first row of each person."""
        return np.arange(self.count) if self.person is None else np.unique(self.person, return_index=True)[1]

    @cached_property
    def _order(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        assert self.person is not None
        order = np.argsort(self.person, kind="stable")
        return order, np.append(np.unique(self.person[order], return_index=True)[1], len(order))

    @cached_property
    def _most(self) -> int:
        """The most rows that a person has."""
        return 1 if self.person is None else int(np.diff(self._order[1]).max())

    @cached_property
    def blocks(self) -> dict[str, NDArray[np.intp]]:
        """Which values of a person each attribute is: those of every row."""
        width = sum(map(len, self.values.values()))
        slots = width * np.arange(self._most)[:, None]
        return {name: (slots + block).ravel() for name, block in self.values.items()}

    def of_person(self, person: int) -> NDArray[np.intp]:
        """Return the rows of one person."""
        if self.person is None:
            return np.array([person])
        order, bounds = self._order
        return order[bounds[person] : bounds[person + 1]]

    def summed(self, moves: Array) -> Array:
        """Return what people do, from what rows do."""
        if self.person is None:
            return moves
        found = np.zeros((len(self.first), moves.shape[1]))
        np.add.at(found, self.person, moves)
        return found

    def added(self, people: NDArray[np.intp], of: Callable[[NDArray[np.intp]], Array]) -> Array:
        """Return the sum of a function of rows over those of some people."""
        if self.person is None:
            return of(people)
        rows = [self.of_person(int(each)) for each in people]
        found, bounds = of(np.concatenate(rows)), np.cumsum([0, *map(len, rows)])[:-1]
        return np.asarray(np.add.reduceat(found, bounds, axis=0))

    def side_by_side(self, people: NDArray[np.intp], of: Callable[[NDArray[np.intp]], Slopes]) -> Slopes:
        """Return Jacobians of some people, whose rows' values stand side by side; what all rows say is one value."""
        if self.person is None:
            return of(people)
        rows = [self.of_person(int(each)) for each in people]
        each, width = of(np.concatenate(rows)).formed(), sum(map(len, self.values.values()))
        found = np.zeros((len(people), each.shape[1], width * self._most))
        bounds = np.cumsum([0, *map(len, rows)])
        for k, person in enumerate(people):
            part = each[bounds[k] : bounds[k + 1]]
            for name, block in self.values.items():
                if self.once[name][person]:
                    found[k][:, block] = part[:, :, block].sum(axis=0)
                    continue
                for slot, row in enumerate(part):
                    found[k][:, slot * width + block] = row[:, block]
        return Formed(found)
