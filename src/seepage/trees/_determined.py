"""Whose outcome the leaf equations determine.

A person's outcome is determined, whatever the outcomes of the others are, if and only if the person's unit vector lies
in the row space of the equations: if the diagonal of the projection onto it is 1. A combination of leaves then adds up
to the outcome, and is computed and checked here.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.trees._equations import LeafEquations

# Up to so many people, or leaves if they are fewer, the whole row space is worked out.
MOST: Final = 2_500
# Singular values below this share of the largest are zero.
_ZERO: Final = 1e-10
# How far a combination may be from the person's unit vector.
_UNIT: Final = 1e-7
_BLOCK: Final = 256


@dataclass(frozen=True, eq=False)
class Determined:
    """What is known of the outcomes of some people.

    Attributes
    ----------
    people : array of int
        Who was looked at.
    projection : array
        Their entries of the diagonal of the projection onto the row space: 1 if determined.
    within : array
        How far the combination of the file's numbers can be from the outcome, by their rounding; infinite for whoever
        is not determined.
    rank : int or None
        Of the equations; None where only some people were looked at.
    """

    people: NDArray[np.intp]
    projection: Array
    within: Array
    rank: int | None


def determined(equations: LeafEquations, sample: NDArray[np.intp]) -> Determined:
    """Return whose outcome is determined: of all people, or of a sample where there are many.

    Parameters
    ----------
    equations : LeafEquations
    sample : array of int
        Who is looked at if there are too many people.
    """
    equations = equations.scaled()
    if min(equations.matrix.shape) <= MOST:
        return _of_all(equations)
    found = [_of_one(equations, int(person)) for person in sample]
    projection, within = (np.array(each) for each in zip(*found, strict=True))
    return Determined(sample, projection, within, None)


def _of_all(equations: LeafEquations) -> Determined:
    matrix = equations.matrix
    size, right = _row_space(equations)
    projection = np.minimum((right**2).sum(axis=1), 1.0)
    within = np.full(len(projection), np.inf)
    near = np.flatnonzero(projection > 1 - _UNIT)
    for start in range(0, len(near), _BLOCK):
        people = near[start : start + _BLOCK]
        # (A^T A)^+ A^T, the rows of these people.
        combination = np.asarray(matrix @ (right @ (right[people] / size**2).T)).T
        unit = np.asarray(combination @ matrix)
        unit[np.arange(len(people)), people] -= 1.0
        exact = np.abs(unit).max(axis=1) <= _UNIT
        within[people] = np.where(exact, np.abs(combination) @ equations.rounding, np.inf)
    return Determined(np.arange(len(projection)), projection, within, len(size))


def _row_space(equations: LeafEquations) -> tuple[Array, Array]:
    """Return the singular values that are not zero, and the right singular vectors, shape (people, rank)."""
    matrix = equations.matrix
    leaves, people = matrix.shape
    if leaves > people:
        triangle = np.zeros((0, people))
        step = max(people, 1_000)
        for start in range(0, leaves, step):
            triangle = scipy.linalg.qr(
                np.concatenate([triangle, matrix[start : start + step].toarray()]), mode="r", check_finite=False
            )[0][:people]
        _, size, right = scipy.linalg.svd(triangle, full_matrices=False, check_finite=False)
    else:
        _, size, right = scipy.linalg.svd(matrix.toarray(), full_matrices=False, check_finite=False)
    kept = size > _ZERO * size[0]
    return size[kept], right[kept].T


def _of_one(equations: LeafEquations, person: int) -> tuple[float, float]:
    """Return the same of one person, by iteration."""
    unit = np.zeros(equations.matrix.shape[1])
    unit[person] = 1.0
    combination = scipy.sparse.linalg.lsmr(equations.matrix.T, unit, atol=1e-10, btol=1e-10, conlim=0, maxiter=2_000)[0]
    reached = combination @ equations.matrix
    if np.abs(reached - unit).max() <= _UNIT:
        return 1.0, float(np.abs(combination) @ equations.rounding)
    return float(np.clip(reached[person], 0.0, 1.0)), np.inf
