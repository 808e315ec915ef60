"""What solves equations, printed without noise: how each person moves it, and what is known of them beforehand."""

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Table
from seepage.attackers import Formed, Held, Printed, Slopes, guessed
from seepage.attackers.owned import Owned
from seepage.attackers.rows import EqualRecords, rare_values
from seepage.equations._information import EquationsInformation


def printed_of(information: EquationsInformation) -> Printed:
    """Return what is printed of equations, and how it moves with everybody's values."""
    solved, person = information.solved, information.people.person
    count, names = len(solved.table), solved.psi.names
    columns = {name: solved.table.column(name) for name in solved.private}
    owned = Owned.of(person, count, information.blocks, columns)
    features = _features(solved.table)
    records = EqualRecords.of(np.column_stack([*features.values()]))
    numbers = [name for name in solved.private if name not in information.categorical]

    def jacobian(people: NDArray[np.intp]) -> Slopes:
        return owned.side_by_side(people, lambda rows: Formed(solved.slopes[rows]))

    def shifted(people: NDArray[np.intp], attribute: str, by: Array) -> Slopes:
        if solved.unit is not None:
            # What somebody's value would do elsewhere, among the rows of a cluster, is taken to be what it does here.
            return jacobian(people)
        part, at = solved.of(people), solved.private[attribute].at
        moved = part.table.with_column(at, part.table.column_at(at).astype(np.float64) + by)
        # Of other attributes nobody asks there.
        return Formed(part.slopes_of(moved, attribute))

    def changed(people: NDArray[np.intp], attribute: str, value: Hashable) -> Array:
        return solved.changed([owned.of_person(int(each)) for each in people], attribute, value)

    def elsewhere(one: int) -> Held:
        # How numbers follow stays as it is, for the person and the others alike.
        there = solved.theta_without(owned.of_person(one))
        return Held(owned.summed((solved.reach @ solved.psi(there, solved.table)).T))

    def guesses() -> dict[str, tuple[Array, Array]]:
        if person is not None:
            return {}
        rest = {name: [each for other, each in features.items() if other != name] for name in numbers}
        every = {name: np.column_stack([*known, np.empty((count, 0))]) for name, known in rest.items()}
        return {name: guessed(columns[name].astype(np.float64), known) for name, known in every.items()}

    # Which column of two values is an outcome is not known: all parameters may rest on whoever has one of them.
    two = {name: each.levels for name, each in solved.private.items() if len(each.levels or ()) == 2}
    outcomes = {*two, *(f"{name} = {each[1]}" for name, each in two.items() if each)}
    values = rare_values(np.column_stack([*features.values()]), [*features], solved.unit)
    levels = (replace(each, coefficients=len(names)) if each.name in outcomes else each for each in values)
    return Printed(
        names=tuple(names[i] for i in solved.published),
        values=solved.theta[solved.published],
        whole=np.zeros(len(solved.published), dtype=bool),
        moves=Held(owned.summed(solved.moves)),
        blocks=owned.blocks,
        jacobian=jacobian,
        shifted=shifted,
        changed=changed,
        elsewhere=None if solved.clusters else elsewhere,
        guesses=guesses,
        levels=tuple(levels),
        record_bits=records.bits,
        scatter=lambda: None,
        parameters=len(names),
        leverages=lambda: owned.summed(solved.leverage[:, None])[:, 0],
        twice=records.entered_twice(person),
    )


def _features(table: Table) -> dict[str, Array]:
    """Return what is known of a row as numbers: of a category one column for each level but the first."""
    found = {}
    for i, name in enumerate(table.names):
        column = table.column_at(i)
        if column.dtype.kind in "biuf":
            found[name] = column.astype(np.float64)
            continue
        levels, place = np.unique(column.astype(str), return_inverse=True)
        if 1 < len(levels) <= len(column) / 2:
            found |= {f"{name} = {level}": (place == i).astype(np.float64) for i, level in enumerate(levels[1:], 1)}
    return found
