"""One output as a linear map of another that prints the same numbers: whoever is in both is looked at from one place.

Two fits of one kind move alike with whoever is in both, but for where each fit is: b_i = M a_i, with M near the ratio
of their curvatures. What M leaves is a trace of the difference of places, not noise that anybody hides in.
"""

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers._crowd import Held
from seepage.attackers._output import Output
from seepage.attackers._printed import Looked, Printed
from seepage.attackers._slopes import Formed, Slopes

# People to a number from which on a map between outputs is known from those who are in both.
_TIMES = 5
# Singular values below this share of the largest are what rounding leaves.
_ROUNDING = 1e-10
# Shares of a column below this are nothing else.
_NOTHING = 1e-9


def same_numbers(one: Output, other: Output) -> bool:
    """Return whether two outputs print the same numbers of the same attributes, with enough people in both."""
    first, second = one.printed, other.printed
    both = int(((one.rows >= 0) & (other.rows >= 0)).sum())
    return (
        first.names == second.names
        and {name: len(block) for name, block in first.blocks.items()}
        == {name: len(block) for name, block in second.blocks.items()}
        and both >= _TIMES * len(first.names)
    )


def mapped(output: Output, place: Output) -> Printed:
    """Return what an output prints, with whoever is in another one too looked at from there.

    Parameters
    ----------
    output : Output
        Whose people are looked at.
    place : Output
        From where.
    """
    own, their = output.printed, place.printed
    both = (output.rows >= 0) & (place.rows >= 0)
    here, there = output.rows[both], place.rows[both]
    at = np.full(own.moves.count, -1, dtype=np.intp)
    at[here] = there
    # What everybody moves is held in memory: over files there is no such map.
    assert isinstance(own.moves, Held)
    assert isinstance(their.moves, Held)
    turn = _map(their.moves.values[there], own.moves.values[here])
    if turn is None:
        return own
    moves = own.moves.values.copy()
    moves[here] = their.moves.values[there] @ turn

    def slopes(of_own: Slopes, of_their: Slopes, seen: NDArray[np.bool_]) -> Slopes:
        found = np.array(of_own.formed())
        found[seen] = np.einsum("kav,ac->kcv", of_their.formed(), turn, optimize=True)
        return Formed(found)

    def jacobian(people: NDArray[np.intp]) -> Slopes:
        seen = at[people] >= 0
        return slopes(own.jacobian(people), their.jacobian(at[people][seen]), seen)

    def shifted(people: NDArray[np.intp], attribute: str, by: Array) -> Slopes:
        seen = at[people] >= 0
        return slopes(own.shifted(people, attribute, by), their.shifted(at[people][seen], attribute, by[seen]), seen)

    def changed(people: NDArray[np.intp], attribute: str, value: Hashable) -> Array:
        seen = at[people] >= 0
        found = np.array(own.changed(people, attribute, value))
        found[seen] = their.changed(at[people][seen], attribute, value) @ turn
        return found

    return replace(own, **Looked(Held(moves), jacobian, shifted, changed)._asdict())


def _map(known: Array, wanted: Array) -> Array | None:
    """Return the matrix by which some moves come nearest to others; None if it leaves nothing of them."""
    scale, size = (np.sqrt((each**2).sum(axis=0)) for each in (known, wanted))
    scale, size = (np.where(each > 0, each, 1.0) for each in (scale, size))
    known, wanted = known / scale, wanted / size
    found = np.linalg.lstsq(known, wanted, rcond=_ROUNDING)[0]
    # What is nothing but rounding would move numbers that hold still, where the least move is seen.
    found[np.abs(found) < _NOTHING] = 0.0
    if np.abs(known @ found - wanted).max(initial=0.0) < _NOTHING:
        return None
    return np.asarray(found / scale[:, None] * size)
