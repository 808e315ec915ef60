"""One door to the largest eigenvalue. Whoever asks says how the matrix is known, and the algorithm follows from that.

Rows of a model with one output, or with several, have kernels of their own beside this door: one sweep there gives the
traces as well.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from seepage._tops import tops_of_matrices
from seepage.linear.rows import one_threaded_blas
from seepage.linear.spectra._lanczos import largest as _by_products

Array = NDArray[np.float64]

# Up to this size whole matrices, side by side, are cheaper than a search by products.
_SMALL = 64


@dataclass(frozen=True, eq=False)
class Matrices:
    """Many positive semidefinite matrices, shape (n, size, size)."""

    values: Array


@dataclass(frozen=True, eq=False)
class Factors:
    """Many matrices J^T J, known by J^T, shape (n, size, m)."""

    values: Array


@dataclass(frozen=True, eq=False)
class Operators:
    """Many positive semidefinite matrices, known by their products with a vector each, shape (n, size)."""

    product: Callable[[Array], Array]
    count: int
    size: int


@dataclass(frozen=True, eq=False)
class Gram:
    """One positive semidefinite matrix."""

    values: Array


@dataclass(frozen=True, eq=False)
class Sandwich:
    """One matrix  outer inner outer^T, which is not formed where it is large."""

    outer: Array
    inner: Array


def largest(of: Matrices | Factors | Operators | Gram | Sandwich) -> Array:
    """Return the largest eigenvalue of each matrix, none of them negative; of one matrix an array without axes."""
    match of:
        case Matrices(values):
            found = tops_of_matrices(values) if values.shape[1] else np.zeros(len(values))
        case Factors(values):
            found = _of_factors(values)
        case Operators(product, count, size):
            found = _by_products(product, count, size)
        case Gram(values):
            found = np.linalg.eigvalsh(values)[-1]
        case Sandwich(outer, inner):
            found = np.asarray(_of_sandwich(outer, inner))
    return np.maximum(found, 0.0)


def _of_factors(moved: Array) -> Array:
    n, values, moves = moved.shape
    if not values or not moves:
        return np.zeros(n)
    if min(values, moves) <= _SMALL:
        flat = moved if values <= moves else np.ascontiguousarray(moved.transpose(0, 2, 1))
        return tops_of_matrices(flat @ flat.transpose(0, 2, 1))

    def product(vectors: Array) -> Array:
        return np.asarray(np.einsum("nvp,np->nv", moved, np.einsum("nvp,nv->np", moved, vectors)))

    return _by_products(product, n, values)


def _of_sandwich(outer: Array, inner: Array) -> float:
    size = len(outer)
    if size > _SMALL:
        product = LinearOperator((size, size), matvec=lambda w: outer @ (inner @ (outer.T @ w)), dtype=np.float64)
        start = np.random.default_rng(0).normal(size=size)
        try:
            with one_threaded_blas():
                return float(eigsh(product, k=1, which="LA", v0=start, ncv=14, tol=1e-13, return_eigenvectors=False)[0])
        except ArpackNoConvergence:
            pass
    return float(np.linalg.eigvalsh(outer @ inner @ outer.T)[-1])
