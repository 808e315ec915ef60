"""People in leaves, and values that follow from a threshold."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.trees._structure import Structure

# Of a threshold: how far it may be from the middle of two values.
_MIDDLE: Final = 1e-6


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of all trees that have people.

    Attributes
    ----------
    tree, people : array of int
        Which tree, and how many different people of those that it drew.
    pure : array of bool
        Whether all of them have the same outcome.
    smallest : array of int
        Number of people in the smallest leaf of each person; all people if no tree drew the person.
    certain : array of bool
        Whether all people in some leaf of the person have the same outcome.
    """

    tree: NDArray[np.intp]
    people: NDArray[np.intp]
    pure: NDArray[np.bool_]
    smallest: NDArray[np.intp]
    certain: NDArray[np.bool_]


def leaves_of(structure: Structure, leaves: NDArray[np.int32], drawn: NDArray[np.bool_], y: Array) -> Leaves:
    """Count the people in each leaf.

    Parameters
    ----------
    structure : Structure
    leaves, drawn : array of shape (people, trees)
    y : array of shape (people, columns)
        The outcomes.
    """
    person, tree = np.nonzero(drawn)
    nodes, place = np.unique(leaves[person, tree], return_inverse=True)
    people = np.bincount(place)
    _, code = np.unique(y, axis=0, return_inverse=True)
    code = code.ravel()
    least, most = np.full(len(nodes), len(y)), np.full(len(nodes), -1)
    np.minimum.at(least, place, code[person])
    np.maximum.at(most, place, code[person])
    smallest = np.full(len(y), len(y), dtype=np.intp)
    np.minimum.at(smallest, person, people[place])
    pure = least == most
    certain = np.bincount(person, pure[place], minlength=len(y)) > 0
    return Leaves(np.searchsorted(structure.ends, nodes, side="right"), people, pure, smallest, certain)


@dataclass(frozen=True, eq=False)
class ThresholdValues:
    """Values that stand alone beside a threshold: twice the threshold less the neighbor's value is the value."""

    person: NDArray[np.intp]
    feature: NDArray[np.intp]
    threshold: Array
    neighbor: Array


def near_thresholds(
    structure: Structure, X: Array, leaves: NDArray[np.int32], drawn: NDArray[np.bool_]
) -> ThresholdValues:
    """Return whose value alone is the nearest to a threshold on its side, where that is the middle of two values.

    Parameters
    ----------
    structure : Structure
    X : array of shape (people, features)
    leaves, drawn : array of shape (people, trees)
    """
    X = structure.compared(X)
    parts = list[tuple[NDArray[np.intp], NDArray[np.intp], Array, Array]]()
    for tree, root in enumerate(structure.roots):
        person = np.flatnonzero(drawn[:, tree])
        node = np.full(len(person), root)
        while len(person):
            inner = ~structure.is_leaf[node]
            person, node = person[inner], node[inner]
            feature, threshold = structure.feature[node], structure.threshold[node]
            value = X[person, feature]
            known = ~np.isnan(value)
            left = np.where(known, value <= threshold, structure.missing_left[node])
            parts.append(_alone(person[known], node[known], value[known], left[known], structure))
            node = np.where(left, structure.left[node], structure.right[node])
    person, feature, threshold, neighbor = (np.concatenate(item) for item in zip(*parts, strict=True))
    _, first = np.unique(np.stack([person, feature]), axis=1, return_index=True)
    return ThresholdValues(person[first], feature[first], threshold[first], neighbor[first])


def _alone(
    person: NDArray[np.intp], node: NDArray[np.intp], value: Array, left: NDArray[np.bool_], structure: Structure
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, Array]:
    nodes, place = np.unique(node, return_inverse=True)
    below, above = np.full(len(nodes), -np.inf), np.full(len(nodes), np.inf)
    np.maximum.at(below, place[left], value[left])
    np.minimum.at(above, place[~left], value[~left])
    threshold = structure.threshold[nodes]
    with np.errstate(invalid="ignore"):
        middle = np.abs(threshold - (below + above) / 2) <= _MIDDLE * np.maximum(above - below, 1e-300)
    nearest = np.where(left, below[place], above[place])
    near = (value == nearest) & middle[place]
    # Two people with the same value hide each other.
    alone = np.bincount(2 * place[near] + left[near], minlength=2 * len(nodes)) == 1
    unique = near & alone[2 * place + left]
    other = np.where(left, above[place], below[place])
    return person[unique], structure.feature[node[unique]], structure.threshold[node[unique]], other[unique]
