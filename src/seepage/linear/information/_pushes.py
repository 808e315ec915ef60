"""Jacobians of some rows, kept in the parts that they are made of.

In units of the noise, the published numbers move with a unit of feature f of row i by

    sum_k d_ikf R_kf  +  sum_l (c_il . theta_f) u_il,

and with the row's label by  sum_l b_il u_il. R and theta are the same for all rows: R holds F^(1/2) A^-1, the response
of the solved equations (A) as far as the release shows it (F). A few numbers a row are then enough for products,
diagonals and, where there are few values, whole matrices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seepage.core.eigenvalues import largest_by_products, largest_of_factors
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


# Up to this many values a whole matrix is cheaper than a search by products with it.
_SMALL = 12


@dataclass(frozen=True, eq=False)
class Pushes:
    """Derivatives of all published numbers in each private value of some rows."""

    reach: Reach
    entries: Array | None
    """Entries of T_i that differ from row to row, shape (n, entries)."""
    columns: Array
    """R, shape (K, features, m)."""
    slopes: Array
    """d, shape (n, K, features), or (n, K, 1) where it is the same for all features."""
    theta: Array
    """Shape (features, outputs)."""
    bend: Array
    """c, shape (n, L, outputs)."""
    pushed: Array
    """u, shape (n, L, m)."""
    label: Array
    """b, shape (n, L, label values); none where the label is public."""
    apart: Array | None = None
    """Numbers of which each moves with one feature alone: derivatives, shape (n, numbers, features)."""
    formed: Array | None = None
    """Numbers that are known by their derivatives in features, shape (n, features, numbers)."""
    formed_label: Array | None = None
    """Their derivatives in the label, shape (n, label values, numbers)."""
    lacking: NDArray[np.bool_] | None = None
    """Values that a row lacks, shape (n, k)."""
    is_formed: bool = False
    """Whether all matrices are formed: the terms of a Jacobian would cancel if its square were multiplied out."""

    @property
    def values(self) -> int:
        """Number of private values."""
        return int(self.reach.reading.shape[1] + self.label.shape[2])

    @property
    def _forms(self) -> bool:
        return self.is_formed or self.entries is not None or self.formed is not None

    def whole(self) -> Array:
        """Return J^T by private values and labels, shape (n, values, numbers)."""
        if self.slopes.shape[2] == 1:
            by_feature = np.tensordot(self.slopes[:, :, 0], self.columns, 1)
        else:
            by_feature = np.einsum("nkf,kfm->nfm", self.slopes, self.columns, optimize=True)
        by_feature += (self.theta @ self.bend.transpose(0, 2, 1)) @ self.pushed
        by_label = self.label.transpose(0, 2, 1) @ self.pushed
        if self.apart is not None:
            n, numbers, features = self.apart.shape
            spread = np.zeros((n, features, numbers, features))
            at = np.arange(features)
            spread[:, at, :, at] = self.apart.transpose(2, 0, 1)
            by_feature = np.concatenate([by_feature, spread.reshape(n, features, numbers * features)], axis=2)
            by_label = np.pad(by_label, ((0, 0), (0, 0), (0, numbers * features)))
        if self.formed is not None and self.formed_label is not None:
            by_feature = np.concatenate([by_feature, self.formed], axis=2)
            by_label = np.concatenate([by_label, self.formed_label[:, : by_label.shape[1]]], axis=2)
        found = self.reach.each(by_feature, self.entries)
        if self.lacking is not None:
            found[self.lacking] = 0.0
        return np.concatenate([found, by_label], axis=1)

    def beside(self, columns: Array, slopes: Array) -> "Pushes":
        """Return the same with more numbers, which move by  sum_k d_ikf R_kf  alone."""
        m, more = self.columns.shape[2], columns.shape[2]
        return replace(
            self,
            columns=np.concatenate(
                [np.pad(self.columns, ((0, 0), (0, 0), (0, more))), np.pad(columns, ((0, 0), (0, 0), (m, 0)))]
            ),
            slopes=np.concatenate([self.slopes, slopes], axis=1),
            pushed=np.pad(self.pushed, ((0, 0), (0, 0), (0, more))),
        )

    def examples(self) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        if self._forms or self.values <= _SMALL:
            moved = self.whole()
            return largest_of_factors(moved), np.einsum("nvm,nvm->n", moved, moved)
        squares = self._squares()
        trace = squares.sum(axis=1, where=True if self.lacking is None else ~self.lacking)
        label = self.label.transpose(0, 2, 1) @ self.pushed
        trace += np.einsum("nbm,nbm->n", label, label)
        return largest_by_products(self._product, len(trace), self.values), trace

    def attributes(self, blocks: Sequence[NDArray[np.intp]]) -> Array:
        """Return the largest eigenvalue of each attribute's part of each row's information, the label's last.

        Parameters
        ----------
        blocks : sequence of ndarray of int
            The coordinates of each attribute.
        """
        found = np.zeros((len(self.pushed), len(blocks) + (self.label.shape[2] > 0)))
        k, single = self.reach.reading.shape[1], [i for i, block in enumerate(blocks) if len(block) == 1]
        several = [i for i, block in enumerate(blocks) if len(block) > 1]
        at = np.concatenate([blocks[i] for i in single]) if single else np.empty(0, dtype=np.intp)
        if self._forms or several:
            moved = self.whole()
            found[:, single] = np.einsum("nvm,nvm->nv", moved[:, at], moved[:, at])
            for i in several:
                found[:, i] = largest_of_factors(moved[:, blocks[i]])
            label = moved[:, k:]
        else:
            found[:, single] = self._squares()[:, at]
            label = self.label.transpose(0, 2, 1) @ self.pushed
        if self.label.shape[2]:
            found[:, -1] = largest_of_factors(label)
        return found

    def _squares(self) -> Array:
        """Return the information about each coordinate, where T is the same for all rows, shape (n, k)."""
        straight = self.reach.straight
        if not straight.size or (np.count_nonzero(straight, axis=0) != 1).any():
            moved = self.whole()[:, : straight.shape[1]]
            return np.asarray(np.einsum("nvm,nvm->nv", moved, moved))
        features = np.abs(straight).argmax(axis=0)
        return np.asarray(self._squares_of_features()[:, features] * straight[features, np.arange(len(features))] ** 2)

    def _squares_of_features(self) -> Array:
        """Return the length of J for a unit of each feature, squared: each product once for all rows, or features."""
        found = np.zeros((len(self.pushed), len(self.theta)))
        if self.apart is not None:
            found += np.einsum("naf,naf->nf", self.apart, self.apart)
        crossed = np.einsum("nlo,fo->nlf", self.bend, self.theta, optimize=True)
        for k in range(self.slopes.shape[1]):
            for j in range(k + 1):
                shared = np.einsum("fm,fm->f", self.columns[k], self.columns[j])
                if shared.any():
                    found += (1 if j == k else 2) * shared * self.slopes[:, k] * self.slopes[:, j]
            for i in range(crossed.shape[1]):
                found += 2 * self.slopes[:, k] * crossed[:, i] * (self.pushed[:, i] @ self.columns[k].T)
        inner = self.pushed @ self.pushed.transpose(0, 2, 1)
        for i in range(crossed.shape[1]):
            for j in range(i + 1):
                found += (1 if i == j else 2) * inner[:, i, j, None] * crossed[:, i] * crossed[:, j]
        return np.maximum(found, 0.0)

    def _product(self, vectors: Array) -> Array:
        """Return J^T J times a vector a row."""
        k = self.reach.reading.shape[1]
        known = 1.0 if self.lacking is None else ~self.lacking
        features = self.reach.to_features(vectors[:, :k] * known)
        along = np.einsum("nlo,no->nl", self.bend, features @ self.theta)
        along += np.einsum("nlb,nb->nl", self.label, vectors[:, k:])
        moved = np.einsum("nl,nlm->nm", along, self.pushed)
        for d, column in zip(self.slopes.transpose(1, 0, 2), self.columns, strict=True):
            moved += (d * features) @ column
        # Back again, by the transpose.
        back = np.einsum("nm,nlm->nl", moved, self.pushed)
        found = np.einsum("nl,nlo->no", back, self.bend) @ self.theta.T
        for d, column in zip(self.slopes.transpose(1, 0, 2), self.columns, strict=True):
            found += d * (moved @ column.T)
        if self.apart is not None:
            found += np.einsum("naf,naf->nf", self.apart, self.apart) * features
        label = np.einsum("nl,nlb->nb", back, self.label)
        return np.concatenate([self.reach.to_coordinates(found) * known, label], axis=1)
