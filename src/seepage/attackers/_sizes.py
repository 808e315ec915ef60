"""Groups whose size everybody knows: arms, strata, sites, cases and controls.

Where a design says how many people are in each group, they are no part of the noise. How many there are is one more
number that is printed, as the number in each class of an outcome is; given it, the others scatter within their groups.
"""

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Column
from seepage.attackers._crowd import Held, Moves
from seepage.attackers._printed import Level, Printed
from seepage.attackers._slopes import Formed, Slopes
from seepage.errors import InputError, UnansweredError


def with_known_size(printed: Printed, name: str, values: Column, encoded: bool) -> Printed:
    """Return what is printed, with how many people have each value of a column.

    Parameters
    ----------
    printed : Printed
    name : str
        The column.
    values : ndarray of shape (people,)
    encoded : bool
        Whether the model sees a column for each of them.
    """
    levels, place = np.unique(values, return_inverse=True)
    if len(levels) < 2 or len(levels) > len(values) / 2:
        raise InputError(
            f"known_group_sizes names {name!r}, which has {len(levels)} values among {len(values)} people: a column of "
            "groups has two or more, and several people in each."
        )
    unit = np.eye(len(levels))[:, 1:]
    counted, more = unit[place], len(levels) - 1
    slope = _slope(printed, name, levels, encoded)

    def beside(slopes: Slopes) -> Slopes:
        found = np.zeros((len(slopes), more, slopes.width))
        if slope is not None:
            found[:, :, printed.blocks[name]] = slope
        return Formed(np.concatenate([slopes.formed(), found], axis=1))

    def among(moves: Moves) -> Moves:
        return Held(np.column_stack([moves.of(np.arange(moves.count)), counted]))

    def moved(people: NDArray[np.intp], value: Hashable) -> Array:
        return np.asarray(unit[levels == value].sum(axis=0) - counted[people])

    def changed(people: NDArray[np.intp], attribute: str, value: Hashable) -> Array:
        found = printed.changed(people, attribute, value)
        count = moved(people, value) if attribute == name else np.zeros((len(people), more))
        return np.concatenate([found, count], axis=1)

    def scatter() -> tuple[float, Held] | None:
        found = printed.outcomes
        if found is None:
            return None
        moves = found[1].of(np.arange(found[1].count))
        # Who is in which group is a covariate.
        return found[0], Held(np.column_stack([moves, np.zeros((len(moves), more))]))

    elsewhere = printed.elsewhere
    return replace(
        printed,
        names=(*printed.names, *(f"number with {level} as {name}" for level in levels[1:].tolist())),
        values=np.append(printed.values, counted.sum(axis=0)),
        whole=np.append(printed.whole, np.ones(more, dtype=bool)),
        moves=among(printed.moves),
        jacobian=lambda people: beside(printed.jacobian(people)),
        shifted=lambda people, attribute, by: beside(printed.shifted(people, attribute, by)),
        changed=changed,
        elsewhere=None if elsewhere is None else lambda person: among(elsewhere(person)),
        levels=(
            *printed.levels,
            *(Level(name, level, int((place == i).sum()), 1, place == i) for i, level in enumerate(levels.tolist())),
        ),
        scatter=scatter,
        form=None,
    )


def _slope(printed: Printed, name: str, levels: Column, encoded: bool) -> Array | None:
    """Return how the numbers in each group but the first move with the values of the column; None if it is public."""
    if name not in printed.blocks:
        return None
    size, count = len(printed.blocks[name]), len(levels)
    if encoded and size == count - 1:
        # Levels are orthonormal numbers, which leave out what all of them have in common.
        return np.asarray(np.eye(size) - 1.0 / (count + np.sqrt(count)))
    if not encoded and size == 1 and count == 2 and levels.dtype.kind in "iufb":
        low, high = np.asarray(levels, dtype=np.float64)
        return np.array([[1.0 / (high - low)]])
    raise UnansweredError(
        f"{name!r} is private, and it is not known how the number of people in each of its {count} groups moves with "
        "it. Leave it out of attributes=, or out of known_group_sizes=."
    )
