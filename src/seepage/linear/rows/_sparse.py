"""The Gram matrix of sparse rows, which is dense."""

import numba
import numpy as np
from scipy import sparse

from seepage._tables import Array


def sparse_gram(features: sparse.csr_array, weights: Array) -> Array:
    """Return X^T diag(weights) X, touching only pairs of numbers that are there."""
    found = np.zeros((features.shape[1], features.shape[1]))
    _add_pairs(features.indptr, features.indices, features.data, weights, found)
    return found


@numba.njit(cache=True, nogil=True)
def _add_pairs(starts, columns, values, weights, found):  # type: ignore[no-untyped-def]
    for row in range(weights.shape[0]):
        for i in range(starts[row], starts[row + 1]):
            scaled = weights[row] * values[i]
            line = found[columns[i]]
            for j in range(starts[row], starts[row + 1]):
                line[columns[j]] += scaled * values[j]
