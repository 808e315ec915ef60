"""Derivatives of features in a person's private values: T, and behind a bend T_i, which differs from row to row."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seepage.linear.columns import Curves

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reach:
    """Features that some private coordinates reach.

    Methods count features by their place in `features`: a feature that no value reaches moves with nobody.
    """

    reading: sparse.csr_array
    """T of all parameters, shape (p, k)."""
    curves: Curves | None
    """The entries that differ from row to row, which are zero in `reading`."""

    @cached_property
    def features(self) -> NDArray[np.intp]:
        """The parameter of each feature."""
        bent = np.empty(0, dtype=np.intp) if self.curves is None else self.curves.features
        return np.union1d(self.reading.tocoo().row, bent).astype(np.intp)

    @cached_property
    def straight(self) -> Array:
        """T of the features, shape (features, k)."""
        return np.asarray(self._straight.toarray())

    @cached_property
    def _straight(self) -> sparse.csr_array:
        return self.reading[self.features].tocsr()

    @cached_property
    def _spans(self) -> list[tuple[int, slice, NDArray[np.intp]]]:
        """Each coordinate that reaches a bend, the places of its entries, and their features."""
        if self.curves is None:
            return []
        at, places = self.curves.coordinates, np.searchsorted(self.features, self.curves.features)
        starts = np.flatnonzero(np.r_[True, np.diff(at) != 0]) if len(at) else np.empty(0, dtype=np.intp)
        return [
            (int(at[start]), slice(int(start), int(stop)), places[start:stop])
            for start, stop in pairwise([*starts.tolist(), len(at)])
        ]

    def entries(self, bent: Array | None) -> Array | None:
        """Return the entries of T_i that differ from row to row, from the coordinates that reach bends."""
        return None if self.curves is None or bent is None else self.curves.at(bent)

    def each(self, values: Array, entries: Array | None) -> Array:
        """Return T_i^T times an array of each row, from shape (n, features, m) to (n, k, m)."""
        n, features, m = values.shape
        found = self._straight.T @ values.transpose(1, 0, 2).reshape(features, n * m)
        found = np.ascontiguousarray(np.asarray(found).reshape(-1, n, m).transpose(1, 0, 2))
        if entries is not None:
            for coordinate, at, places in self._spans:
                found[:, coordinate] += np.einsum("nf,nfm->nm", entries[:, at], values[:, places])
        return found

    def broken(self, directions: Array, entries: Array) -> list[Array]:
        """Return the part of each bent coordinate's column of T_i along some directions of the parameters."""
        return [entries[:, at] @ directions[self.features[places]] for _, at, places in self._spans]

    def to_features(self, vectors: Array) -> Array:
        """Return T times a vector of each row, from shape (n, k) to (n, features)."""
        return np.asarray((self._straight @ vectors.T).T)

    def to_coordinates(self, vectors: Array) -> Array:
        """Return T^T times a vector of each row, from shape (n, features) to (n, k)."""
        return np.asarray((self._straight.T @ vectors.T).T)
