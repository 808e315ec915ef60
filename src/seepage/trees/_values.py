"""Which values of one attribute lead a person to the same leaves: what is left to an attacker who knows all else.

Whoever knows everybody else subtracts them from the leaves, and sees in which leaf of each tree the person is. Left are
the values with which the person would be in the same leaf of every tree that drew the person.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.trees._structure import Structure


def in_intervals(
    structure: Structure, leaves: NDArray[np.int32], drawn: NDArray[np.bool_], feature: int, values: Array
) -> NDArray[np.bool_]:
    """Return which of the values are left of each person, for a number: paths are intervals.

    Parameters
    ----------
    structure : Structure
    leaves : array of shape (people, trees)
    drawn : array of shape (people, trees)
        Whether a tree drew a person.
    feature : int
    values : array
        Those that occur, in rising order, the missing one last.
    """
    low, high, missing = _bounds(structure, feature)
    lowest = np.where(drawn, low[leaves], -np.inf).max(axis=1)
    highest = np.where(drawn, high[leaves], np.inf).min(axis=1)
    may_miss = np.asarray((missing[leaves] | ~drawn).all(axis=1))
    compared = structure.compared(values)
    if structure.strict:
        left = (compared >= lowest[:, None]) & (compared < highest[:, None])
    else:
        left = (compared > lowest[:, None]) & (compared <= highest[:, None])
    return np.asarray(np.where(np.isnan(compared), may_miss[:, None], left))


def _bounds(structure: Structure, feature: int) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return between which values of a feature each node is reached, and whether with a missing one."""
    count = len(structure.feature)
    low, high, missing = np.full(count, -np.inf), np.full(count, np.inf), np.ones(count, dtype=bool)
    nodes = structure.roots
    while len(nodes := nodes[~structure.is_leaf[nodes]]):
        left, right = structure.left[nodes], structure.right[nodes]
        here = structure.feature[nodes] == feature
        threshold, misses = structure.threshold[nodes], structure.missing_left[nodes]
        low[left], high[right] = low[nodes], high[nodes]
        high[left] = np.where(here, np.minimum(high[nodes], threshold), high[nodes])
        low[right] = np.where(here, np.maximum(low[nodes], threshold), low[nodes])
        missing[left] = missing[nodes] & (~here | misses)
        missing[right] = missing[nodes] & (~here | ~misses)
        nodes = np.concatenate([left, right])
    return low, high, missing


def by_trying(
    leaves_with: Callable[[object], NDArray[np.int32]],
    leaves: NDArray[np.int32],
    drawn: NDArray[np.bool_],
    values: NDArray[np.generic],
) -> NDArray[np.bool_]:
    """Return the same for any attribute, by giving everybody one value after the other.

    Parameters
    ----------
    leaves_with : callable
        Of a value: the leaves of everybody with it.
    leaves, drawn
        As for `in_intervals`.
    values : array
        Those that occur.
    """
    return np.stack([((leaves_with(value) == leaves) | ~drawn).all(axis=1) for value in values.tolist()], axis=1)
