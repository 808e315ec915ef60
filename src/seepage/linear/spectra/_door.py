"""Largest eigenvalues of many positive semidefinite matrices; the algorithm follows from how a matrix is known.

Rows of a model with one output, or with several, have kernels of their own: one sweep there gives the traces as well.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from seepage._tops import tops_of_matrices
from seepage.linear.rows import one_threaded_blas
from seepage.linear.spectra._lanczos import largest_by_products

Array = NDArray[np.float64]

# Up to this size whole matrices, side by side, are cheaper than a search by products.
_SMALL = 64


def largest_of_factors(moved: Array) -> Array:
    """Return the largest eigenvalue of each J^T J, from all J^T of shape (n, values, numbers)."""
    n, values, moves = moved.shape
    if not values or not moves:
        return np.zeros(n)
    if min(values, moves) <= _SMALL:
        flat = moved if values <= moves else np.ascontiguousarray(moved.transpose(0, 2, 1))
        return np.maximum(tops_of_matrices(flat @ flat.transpose(0, 2, 1)), 0.0)

    def product(vectors: Array) -> Array:
        return np.asarray(np.einsum("nvp,np->nv", moved, np.einsum("nvp,nv->np", moved, vectors)))

    return largest_by_products(product, n, values)


def largest_of_sandwich(outer: Array, inner: Array) -> float:
    """Return the largest eigenvalue of  outer inner outer^T, which is not formed where it is large."""
    size = len(outer)
    if size > _SMALL:
        product = LinearOperator((size, size), matvec=lambda w: outer @ (inner @ (outer.T @ w)), dtype=np.float64)
        start = np.random.default_rng(0).normal(size=size)
        try:
            with one_threaded_blas():
                return float(eigsh(product, k=1, which="LA", v0=start, ncv=14, tol=1e-13, return_eigenvectors=False)[0])
        except ArpackNoConvergence:
            pass
    return max(float(np.linalg.eigvalsh(outer @ inner @ outer.T)[-1]), 0.0)
