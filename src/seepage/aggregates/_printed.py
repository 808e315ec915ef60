"""From the numbers of a table and its people to what it prints about whom."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._near import did_you_mean, several
from seepage._tables import Array
from seepage.aggregates._numbers import RecordNumbers
from seepage.aggregates._records import MISSING, Values
from seepage.attackers import Check, Formed, Held, Printed, Slopes
from seepage.attackers.rows import contrasts
from seepage.errors import InputError

# What is left of numbers that others determine, of one.
_DETERMINED = 1e-9


@dataclass(frozen=True, eq=False)
class _CellTable:
    """Numbers and their people, as what is printed is asked for."""

    numbers: RecordNumbers
    private: tuple[str, ...]

    @cached_property
    def blocks(self) -> dict[str, NDArray[np.intp]]:
        """Which of a person's values each attribute is: one of a number, of a category one for each level but one."""
        found, start = {}, 0
        for name in self.private:
            width = self._contrasts(name).shape[1] if name in self.numbers.records.levels else 1
            found[name] = np.arange(start, start + width)
            start += width
        return found

    def _contrasts(self, name: str) -> Array:
        """Return how much of each level there is more with each value, shape (levels, values)."""
        return contrasts(self.numbers.records.levels[name])

    def moves(self, fitted: Any, values: Values, count: int) -> Array:
        # Whose cell is empty without them is alone in it, and moves it by all.
        return np.nan_to_num(self.numbers.moves(fitted, values, count))

    def jacobian(self, people: NDArray[np.intp]) -> Slopes:
        return self._slopes(self.numbers.records.of_people(people), len(people))

    def _slopes(self, values: dict[str, NDArray[Any]], count: int) -> Slopes:
        numbers, levels = self.numbers, self.numbers.records.levels
        found = np.zeros((count, len(numbers.names), sum(map(len, self.blocks.values()))))
        for name, block in self.blocks.items():
            if name not in levels:
                found[:, :, block[0]] = numbers.slopes(numbers.at, values, count, name)
                continue
            for level, contrast in enumerate(self._contrasts(name)):
                at = {**values, name: np.full(count, level, dtype=np.intp)}
                found[:, :, block] += self.moves(numbers.at, at, count)[:, :, None] * contrast
            found[:, :, block] *= (values[name] != MISSING)[:, None, None]
        return Formed(found)

    def shifted(self, people: NDArray[np.intp], attribute: str, by: Array) -> Slopes:
        values = self.numbers.records.of_people(people)
        values[attribute] = values[attribute] + by
        return self._slopes(values, len(people))

    def changed(self, people: NDArray[np.intp], attribute: str, value: Hashable) -> Array:
        numbers, values = self.numbers, self.numbers.records.of_people(people)
        before = self.moves(numbers.at, values, len(people))
        after = self.moves(numbers.at, self._with(values, attribute, [value] * len(people)), len(people))
        is_present = self.numbers.records.present(attribute)[people]
        return np.where(is_present[:, None], after - before, 0.0)

    def _with(
        self, values: dict[str, NDArray[Any]], attribute: str, given: Sequence[object]
    ) -> dict[str, NDArray[Any]]:
        records = self.numbers.records
        if attribute in records.levels:
            return {**values, attribute: np.array([records.place(attribute, each) for each in given], dtype=np.intp)}
        return {**values, attribute: np.array(given, dtype=np.float64)}

    def elsewhere(self, person: int) -> Held:
        records = self.numbers.records
        weights = np.ones(len(records))
        weights[person] = 0.0
        found = self.moves(self.numbers.fitted(weights), records.values, len(records))
        first, rest, by = self._determined
        # Totals follow from their cells by the sizes that are printed, with this person among them.
        found[:, rest] = found[:, first] @ by
        return Held(found)

    @cached_property
    def everybody(self) -> Array:
        """What everybody moves."""
        records = self.numbers.records
        return self.moves(self.numbers.at, records.values, len(records))

    @cached_property
    def _determined(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """Some numbers that do not determine each other, those that they do, and how these follow from them."""
        from scipy.linalg import qr, solve_triangular

        scale = np.sqrt((self.everybody**2).sum(axis=0))
        # Counts come first: people move them alike at any fit.
        scale = np.where(scale > 0, scale, 1.0) * np.where(self.numbers.whole, 1e-3, 1.0)
        triangle, order = qr(self.everybody / scale, mode="r", pivoting=True)
        rank = int((np.abs(triangle.diagonal()) > _DETERMINED).sum())
        first, rest = order[:rank], order[rank:]
        by = solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:])
        return first, rest, by * scale[rest] / scale[first][:, None]

    def guesses(self) -> Mapping[str, tuple[Array, Array]]:
        records = self.numbers.records
        return {name: records.guess(name) for name in self.private if name not in records.levels}


def printed_of(
    numbers: RecordNumbers,
    known: Sequence[str],
    attributes: Sequence[str] | None,
    checks: tuple[Check, ...],
) -> Printed:
    """Return what a table prints, and how it moves with the private values of each person.

    Parameters
    ----------
    numbers : Numbers
    known : sequence of str
        The columns that may be private.
    attributes : sequence of str, optional
        Those that are; all of them by default.
    checks : tuple of Check
        What output checkers ask of it.
    """
    for name in attributes or ():
        if name not in known:
            raise InputError(
                f"attributes names {name!r}, of which this table says nothing. {did_you_mean(name, known)}It is about: "
                f"{several(list(known))}."
            )
    private = tuple(name for name in known if attributes is None or name in attributes)
    if not private and known:
        raise InputError(f"attributes is empty: name columns of this table, {several(list(known))}.")
    records, table = numbers.records, _CellTable(numbers, private)
    return Printed(
        names=numbers.names,
        values=numbers.values(numbers.at),
        whole=numbers.whole,
        moves=Held(table.everybody),
        blocks=table.blocks,
        jacobian=table.jacobian,
        shifted=table.shifted,
        changed=table.changed,
        elsewhere=table.elsewhere,
        guesses=table.guesses,
        levels=(),
        record_bits=records.bits,
        scatter=_unmodeled,
        parameters=len(numbers.names),
        leverages=lambda: np.zeros(len(records)),
        # Records of a few columns are alike by chance.
        twice=np.zeros(len(records), dtype=bool),
        checks=checks,
    )


def _unmodeled() -> None:
    """Say that a table has no outcome that its other columns were fitted to."""
