"""The largest eigenvalue of many symmetric matrices that are known by their products alone, all at once.

Lanczos's steps, with every direction kept orthogonal to all before it: the largest eigenvalue of the three diagonals
that they leave comes within the last residual of one of the matrix, and from below.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A residual of this share of the eigenvalue leaves an error of about its square.
_RESIDUAL = 1e-8


def largest(product: Callable[[Array], Array], count: int, size: int) -> Array:
    """Return the largest eigenvalue of each of `count` positive semidefinite matrices of shape (size, size).

    Parameters
    ----------
    product : callable
        Takes a vector for each matrix, shape (count, size), and returns each matrix times its vector.
    count, size : int
    """
    # The same directions for everybody: the result of a row does not depend on who is scored with it.
    start = np.random.default_rng(0).normal(size=size)
    vector = np.tile(start / np.linalg.norm(start), (count, 1))
    basis = [vector]
    diagonal: list[Array] = []
    beside: list[Array] = []
    found = np.zeros(count)
    for step in range(size):
        image = product(basis[-1])
        diagonal.append(np.einsum("nv,nv->n", image, basis[-1]))
        for _ in range(2):
            for known in basis:
                image -= np.einsum("nv,nv->n", image, known)[:, None] * known
        length = np.linalg.norm(image, axis=1)
        m = len(diagonal)
        if step % 4 == 3 or step + 1 == size or m < 3:
            small = np.zeros((count, m, m))
            for i in range(m):
                small[:, i, i] = diagonal[i]
                if i + 1 < m:
                    small[:, i, i + 1] = small[:, i + 1, i] = beside[i]
            values, vectors = np.linalg.eigh(small)
            found = values[:, -1]
            if (length * np.abs(vectors[:, -1, -1]) <= _RESIDUAL * found).all():
                break
        beside.append(length)
        basis.append(image / np.where(length > 0, length, 1.0)[:, None])
    return found
