"""Information about people from their rows, each scored by itself: several rows of one person count as one."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Column, which
from seepage.leakage._information import Distances, GatheredInformation, Unlike
from seepage.leakage._people import PeopleInMemory
from seepage.leakage.owners import Owners, Several, largest
from seepage.leakage.types import Move, Variance, Who
from seepage.meaning import EmpiricalPrior


@dataclass(frozen=True, eq=False, kw_only=True)
class InformationOfRows(GatheredInformation):
    """Exact information about people in memory, of whom some may have several rows."""

    people: PeopleInMemory

    @property
    @abstractmethod
    def _rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def _values(self) -> Array | int:
        """Number of private values of all rows, or of each."""

    @property
    @abstractmethod
    def _examples_of_rows(self) -> dict[str, Array]:
        """Eta and dfil of each row."""

    @abstractmethod
    def _gram(self, rows: NDArray[np.bool_] | None, attribute: str | None) -> Array:
        """Return the products of slopes of some rows with themselves, added up; of one attribute, if it is named."""

    @abstractmethod
    def _several(self, attribute: str | None) -> Several:
        """Return what is known of people with several rows; of one attribute, if it is named."""

    @abstractmethod
    def _column(self, attribute: str) -> Column:
        """Return the value of each row."""

    def _has(self, attribute: str) -> NDArray[np.bool_]:
        """Return which rows have a value of an attribute."""
        return np.ones(self._rows, dtype=bool)

    @property
    def _sloped(self) -> Sequence[str]:
        """The attributes that have derivatives."""
        return self.attribute_names

    @cached_property
    def owners(self) -> Owners | None:
        """Person of each row, if some people have several."""
        person, ids = self.people.person, self.people.ids
        return None if person is None or ids is None else Owners(person, len(ids))

    @property
    def count(self) -> int:
        return self._rows if self.owners is None else self.owners.count

    @cached_property
    def private_values(self) -> Array | int:
        return self._values if self.owners is None else self._examples_of_people[1]

    @cached_property
    def _examples_of_people(self) -> tuple[dict[str, Array], Array]:
        """Eta and dfil of people with several rows, and how many values dfil is the mean over."""
        return self._several(None).examples(self._examples_of_rows, np.broadcast_to(self._values, self._rows))

    def examples(self) -> dict[str, Array]:
        return self._examples_of_rows if self.owners is None else self._examples_of_people[0]

    def joint_information_loss(self, who: Who, attribute: str | None) -> float:
        people = self.people.mask(who, self.count)
        if self.owners is None:
            return largest(self._gram(people, attribute))
        return self._several(attribute).joint_information_loss(self._gram(self.owners.rows(people), attribute), people)

    def _repeats(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Return how many more rows of each person say the same value of each attribute again."""
        assert self.owners is not None
        return np.column_stack([self.owners.repeats(self._column(name), self._has(name)) for name in names])

    def variances(self) -> dict[str, Variance]:
        found = {name: self._known(name).var(axis=0) for name in self._sloped if name not in self.categorical}
        # A label of several targets has a variance for each.
        return {name: tuple(each.tolist()) if each.ndim else float(each) for name, each in found.items()}

    def spreads(self, attribute: str) -> tuple[EmpiricalPrior, ...]:
        return tuple(map(EmpiricalPrior.of, np.atleast_2d(self._known(attribute).T)))

    def _known(self, attribute: str) -> Array:
        """Return the values of all rows that have one."""
        return np.asarray(self._column(attribute)[self._has(attribute)], dtype=np.float64)

    def _refitted(self, attribute: str, values: Sequence[Hashable], mover: Callable[[Hashable], Move]) -> Distances:
        """Return how far what is published moves with each value that a person could have, refit by refit."""
        from seepage.execution.storage import followed

        changing = self._changing(attribute)
        # The first of several rows in which a value is repeated stands for all.
        absent = np.ones(self._rows, dtype=bool)
        absent[[rows[0] for rows in changing]] = False
        truth = np.where(absent, -1, which(tuple(values), self._column(attribute)))
        distance = np.where(absent[:, None], np.nan, np.zeros((len(absent), len(values))))
        unlike: list[Unlike] = []
        with followed(f"refitting with other values of {attribute}", len(values) * len(changing)) as watch:
            for j, value in enumerate(values):
                move = mover(value)
                for rows in changing:
                    if truth[rows[0]] != j:
                        distance[rows[0], j], pair = move(rows)
                        if pair is not None:
                            unlike.append(Unlike.with_value(rows[:1], j, pair))
                    watch(1)
        none = absent if absent.any() else None
        # All pairs at once, which a distance from a noise that is not larger finds.
        return Distances(tuple(values), truth, distance, self.people.person, none, Unlike.together(unlike)).at(1.0)

    def _changing(self, attribute: str) -> list[NDArray[np.intp]]:
        """Return the rows in which a value changes at once: one, or all that a person repeats it in."""
        has = self._has(attribute)
        if self.owners is None:
            return [*np.flatnonzero(has)[:, None]]
        again = (self._repeats([attribute])[:, 0] > 0)[self.owners.person] & has
        return [*np.flatnonzero(has & ~again)[:, None], *self.owners.each(again)]
