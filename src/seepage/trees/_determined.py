"""Outcomes that the leaf equations determine.

An outcome is determined, whatever the outcomes of the other people are, if and only if the person's unit vector lies in
the row space of the equations: if the diagonal of the projection onto it is 1. A combination of leaves then adds up to
the outcome. It is computed and checked here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.execution.storage import followed
from seepage.trees._equations import LeafEquations

# The whole row space is computed up to this number of people, or of leaves if they are fewer.
DIRECT: Final = 2_500
# Singular values below this share of the largest are zero.
_ZERO: Final = 1e-10
# The largest difference between a combination and the person's unit vector.
_UNIT: Final = 1e-7
_BLOCK: Final = 256
# Of the iteration: eigenvectors of its preconditioner, multiplications, steps, and a Rayleigh quotient that is zero.
_EIGENVECTORS, _PRODUCTS, _STEPS, _SINGULAR = 300, 2e11, (100, 2_000), 1e-12


@dataclass(frozen=True, eq=False)
class Determined:
    """Outcomes of people, and the errors with which combinations of leaves give them.

    Attributes
    ----------
    people : array of int
    projection : array
        Diagonal of the projection onto the row space: 1 if determined. Of a sample it is a lower bound, and missing
        where the iteration did not converge.
    within : array
        Bound on the difference between the combination of the file's numbers and the outcome, by their rounding;
        infinite if the outcome is not determined.
    """

    people: NDArray[np.intp]
    projection: Array
    within: Array


def determined(equations: LeafEquations, sample: NDArray[np.intp]) -> Determined:
    """Return the outcomes that are determined: of all people, or of a sample of many.

    Parameters
    ----------
    equations : LeafEquations
    sample : array of int
        The people to look at if there are too many for all.
    """
    equations = equations.scaled()
    return _of_all(equations) if min(equations.matrix.shape) <= DIRECT else _of_some(equations, sample)


def _of_all(equations: LeafEquations) -> Determined:
    size, right = _row_space(equations)
    projection = np.minimum((right**2).sum(axis=1), 1.0)
    within = np.full(len(projection), np.inf)
    near = np.flatnonzero(projection > 1 - _UNIT)
    for start in range(0, len(near), _BLOCK):
        people = near[start : start + _BLOCK]
        # (A^T A)^+ A^T, the rows of these people.
        combination = np.asarray(equations.matrix @ (right @ (right[people] / size**2).T))
        within[people] = _checked(equations, people, combination)[0]
    return Determined(np.arange(len(projection)), projection, within)


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
    positive = size > _ZERO * size.max(initial=0.0)
    return size[positive], right[positive].T


def _checked(equations: LeafEquations, people: NDArray[np.intp], combination: Array) -> tuple[Array, Array]:
    """Return how far combinations of leaves, shape (leaves, people), may be from outcomes, and the squared misses."""
    miss = np.asarray(equations.matrix.T @ combination)
    miss[people, np.arange(len(people))] -= 1.0
    # The attacker knows the range of the outcomes, and corrects for its middle.
    half_range = np.ptp(equations.outcome) / 2
    within = equations.rounding @ np.abs(combination) + half_range * np.abs(miss).sum(axis=0)
    return np.where(np.abs(miss).max(axis=0) <= _UNIT, within, np.inf), (miss**2).sum(axis=0)


def _of_some(equations: LeafEquations, sample: NDArray[np.intp]) -> Determined:
    """Return the same of a sample, by iteration for all of it at once."""
    norm = np.sqrt((equations.matrix**2).sum(axis=0))
    size = np.where(norm > 0, 1.0 / np.where(norm > 0, norm, 1.0), 0.0)
    scaled = sp.csr_array(equations.matrix @ sp.diags_array(size))
    transposed = sp.csr_array(scaled.T)
    unit = np.zeros((len(size), len(sample)))
    unit[sample, np.arange(len(sample))] = 1.0
    steps = int(np.clip(_PRODUCTS / (2 * scaled.nnz * len(sample)), *_STEPS))
    solution, singular = _solve(lambda vectors: transposed @ (scaled @ vectors), unit, steps)
    within, missed = _checked(equations, sample, np.asarray(scaled @ solution) * size[sample])
    lower = np.where(singular, np.clip(1.0 - missed, 0.0, 1.0), np.nan)
    return Determined(sample, np.where(np.isfinite(within), 1.0, lower), within)


def _solve(gram: Callable[[Array], Any], unit: Array, steps: int) -> tuple[Array, NDArray[np.bool_]]:
    """Solve G x = e for several e by conjugate residuals, and return which of them have no solution.

    The preconditioner shrinks the largest eigenvalues of G, which is known by its products with vectors.
    """
    random = np.random.default_rng(0)
    count = min(_EIGENVECTORS, len(unit) // 4)
    basis = scipy.linalg.qr(gram(random.normal(size=(len(unit), count))), mode="economic", check_finite=False)[0]
    values, vectors = scipy.linalg.eigh(basis.T @ gram(basis))
    basis = basis @ vectors
    share = (1.0 - values[0] / values)[:, None]

    def precondition(vectors: Array) -> Array:
        return np.asarray(vectors - basis @ (share * (basis.T @ vectors)))

    solution, residual = np.zeros(unit.shape), unit.copy()
    ahead = direction = precondition(residual)
    curved = curved_direction = gram(ahead)
    curvature = (ahead * curved).sum(axis=0)
    percent = 0
    with followed("combining leaves", 100) as watch:
        for _ in range(steps):
            error = np.abs(residual).max(axis=0)
            singular = (error > _UNIT) & (curvature <= _SINGULAR * (ahead**2).sum(axis=0))
            converged = singular | (error <= _UNIT / 10)
            if converged.all():
                break
            digits = np.log(error[~converged].max()) / np.log(_UNIT / 10)
            watch(max(int(100 * digits) - percent, 0))
            percent = max(int(100 * digits), percent)
            shrunk = precondition(curved_direction)
            # Columns that have converged stay as they are.
            length = np.where(converged, 0.0, curvature / np.maximum((curved_direction * shrunk).sum(axis=0), 1e-300))
            solution += length * direction
            residual -= length * curved_direction
            ahead = ahead - length * shrunk
            curved = gram(ahead)
            following = (ahead * curved).sum(axis=0)
            ratio = following / np.maximum(curvature, 1e-300)
            direction, curved_direction = ahead + ratio * direction, curved + ratio * curved_direction
            curvature = following
    return solution, singular
