"""The largest eigenvalue of many symmetric matrices that are known by their products alone, all at once.

Lanczos's steps, with every direction kept orthogonal to all before it: the largest eigenvalue of the three diagonals
that they leave comes within the last residual of one of the matrix, and from below.
"""

from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

from seepage._tops import tops_of_diagonals

Array = NDArray[np.float64]

# A residual of this share of the eigenvalue leaves an error of about its square.
_RESIDUAL = 1e-8
# Directions that are made room for at a time.
_ROOM = 16
# Reassociation lets the sums use vector instructions; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


def largest_by_products(product: Callable[[Array], Array], count: int, size: int) -> Array:
    """Return the largest eigenvalue of each of `count` positive semidefinite matrices of shape (size, size).

    Parameters
    ----------
    product : callable
        Takes a vector for each matrix, shape (count, size), and returns each matrix times its vector.
    count, size : int
    """
    # The same directions for everybody: the result of a row does not depend on who is scored with it.
    start = np.random.default_rng(0).normal(size=size)
    basis = np.empty((min(_ROOM, size + 1), count, size))
    basis[0] = start / np.linalg.norm(start)
    diagonal, beside = np.zeros((count, size)), np.zeros((count, size))
    found, residual = np.zeros(count), np.empty(count)
    for step in range(size):
        if step + 1 == len(basis):
            basis = np.concatenate([basis, np.empty((min(len(basis), size + 1 - len(basis)), count, size))])
        image = np.ascontiguousarray(product(basis[step]))
        _next(image, basis, step, diagonal, beside)
        if step % 2 or step + 1 == size:
            _ritz(diagonal, beside, step + 1, found, residual)
            if (residual <= _RESIDUAL * found).all():
                break
    return np.maximum(found, 0.0)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _next(image, basis, step, diagonal, beside):  # type: ignore[no-untyped-def]
    """Add what is orthogonal to all directions so far of each image to the basis, and note the three diagonals."""
    n, size = image.shape
    for i in range(n):
        row = image[i]
        for again in range(2):
            for j in range(step, -1, -1):
                known = basis[j, i]
                inner = 0.0
                for k in range(size):
                    inner += row[k] * known[k]
                if again == 0 and j == step:
                    diagonal[i, step] = inner
                for k in range(size):
                    row[k] -= inner * known[k]
        total = 0.0
        for k in range(size):
            total += row[k] * row[k]
        length = np.sqrt(total)
        beside[i, step] = length
        inverse = 1.0 / length if length > 0.0 else 1.0
        following = basis[step + 1, i]
        for k in range(size):
            following[k] = row[k] * inverse


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _ritz(diagonal, beside, m, found, residual):  # type: ignore[no-untyped-def]
    """Fill in the largest eigenvalue of each one's three diagonals, and how far it may be from one of the matrix."""
    n = diagonal.shape[0]
    down, across, scales = np.zeros((m, n)), np.zeros((m, n)), np.zeros(n)
    for i in range(n):
        for j in range(m):
            scales[i] = max(scales[i], diagonal[i, j] + beside[i, j])
        if scales[i] > 0.0:
            for j in range(m):
                down[j, i], across[j, i] = diagonal[i, j] / scales[i], beside[i, j] / scales[i]
    tops_of_diagonals(down, across, np.empty((10, n)), found)
    for i in range(n):
        if not scales[i] > 0.0:
            found[i], residual[i] = 0.0, 0.0
            continue
        top = found[i] * scales[i]
        # Its vector, from the last entry up: the pivots on the way are those of what lies below, and positive.
        pivot, entry, total = top - diagonal[i, m - 1], 1.0, 1.0
        for j in range(m - 2, -1, -1):
            if not beside[i, j] > 0.0 or total > 1e200:
                # Nothing of it reaches the last entry.
                total = np.inf
                break
            entry *= pivot / beside[i, j]
            total += entry * entry
            pivot = top - diagonal[i, j] - beside[i, j] * beside[i, j] / pivot
        found[i], residual[i] = top, beside[i, m - 1] / np.sqrt(total)
