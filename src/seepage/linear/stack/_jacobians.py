"""The Jacobians of some rows, kept in the parts that they are made of.

In units of the noise, what is published moves with a unit of feature f of row i by

    sum_k d_ikf R_kf  +  sum_l (c_il . theta_f) u_il,

and with the row's label by  sum_l b_il u_il. R and theta are the same for all rows: R holds F^(1/2) A^-1, by which the
equations that were solved answer (A), as far as the release shows it (F). Few numbers a row are then enough for
products, diagonals and, where there are few values, whole matrices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seepage.linear.spectra import Factors, Matrices, Operators, largest
from seepage.linear.stack._reach import Reached

Array = NDArray[np.float64]

# Up to this many values a whole matrix is cheaper than a search by products with it.
_SMALL = 12


@dataclass(frozen=True, eq=False)
class RowJacobians:
    """How all that is published moves with each value of some rows."""

    reached: Reached
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
    """b, shape (n, L, label values)."""
    labels: int
    """How many numbers a private label is; none where it is public."""
    apart: Array | None = None
    """Numbers of which each moves with one feature alone: how fast, shape (n, numbers, features)."""
    formed: Array | None = None
    """Numbers whose derivatives by features are simply there, shape (n, features, numbers)."""
    formed_label: Array | None = None
    """Their derivatives by the label, shape (n, label values, numbers)."""
    cancel: bool = False
    """Whether the terms of a Jacobian would cancel if they were multiplied out, so that it is formed."""

    @property
    def _is_formed(self) -> bool:
        """Whether there is nothing to gain from parts."""
        return self.cancel or self.reached.slopes is not None or self.formed is not None

    @property
    def values(self) -> int:
        """How many private values there are."""
        return self.reached.coordinates + self.labels

    def whole(self) -> Array:
        """Return J^T by private values and labels, shape (n, values, numbers)."""
        k, (n, _, m), labels = self.reached.coordinates, self.pushed.shape, self.labels
        found = np.zeros((n, self.values, m))
        if self.slopes.shape[2] == 1:
            for d, column in zip(self.slopes[:, :, 0].T, self.columns, strict=True):
                self.reached.add_scaled(d, column, found[:, :k])
        elif self.columns.size:
            found[:, :k] = self.reached.each(np.einsum("nkf,kfm->nfm", self.slopes, self.columns, optimize=True))
        # (T_i^T theta) c^T u, row by row.
        found[:, :k] += (self.reached.fixed(self.theta) @ self.bend.transpose(0, 2, 1)) @ self.pushed
        found[:, k:] = self.label[:, :, :labels].transpose(0, 2, 1) @ self.pushed
        beside = [found]
        if self.apart is not None:
            features = self.apart.shape[2]
            spread = np.zeros((n, features, self.apart.shape[1], features))
            at = np.arange(features)
            spread[:, at, :, at] = self.apart.transpose(2, 0, 1)
            own = self.reached.each(spread.reshape(n, features, features * self.apart.shape[1]))
            beside.append(np.concatenate([own, np.zeros((n, labels, own.shape[2]))], axis=1))
        if self.formed is not None and self.formed_label is not None:
            own = self.reached.each(self.formed)
            beside.append(np.concatenate([own, self.formed_label[:, :labels]], axis=1))
        return np.concatenate(beside, axis=2)

    def beside(self, columns: Array, slopes: Array) -> "RowJacobians":
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

    def of(self, coordinates: NDArray[np.intp]) -> "RowJacobians":
        """Return those by some of the coordinates, the label being public."""
        reach = self.reached.reach.of(coordinates)
        chosen = _places(self.reached.reach.features, reach.features)
        slopes = self.reached.slopes
        if slopes is not None and reach.curves is not None and self.reached.reach.curves is not None:
            every = {int(entry): i for i, entry in enumerate(self.reached.reach.curves.chosen)}
            slopes = slopes[:, [every[int(entry)] for entry in reach.curves.chosen]]
        return replace(
            self,
            reached=Reached(reach, slopes),
            columns=self.columns[:, chosen],
            slopes=self.slopes if self.slopes.shape[2] == 1 else self.slopes[:, :, chosen],
            theta=self.theta[chosen],
            labels=0,
            apart=None if self.apart is None else self.apart[:, :, chosen],
            formed=None if self.formed is None else self.formed[:, chosen],
        )

    def examples(self) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        if self._is_formed:
            moved = self.whole()
            return largest(Factors(moved)), np.einsum("nvm,nvm->n", moved, moved)
        if self.values <= _SMALL:
            information = self._information()
            return largest(Matrices(information)), np.trace(information, axis1=1, axis2=2)
        every = np.arange(self.reached.coordinates)
        trace = self.of_coordinates(every).sum(axis=1)
        if self.labels:
            label = self._of_label()
            trace += np.einsum("nbm,nbm->n", label, label)
        return largest(Operators(self._product, len(trace), self.values)), trace

    def attributes(self, blocks: Sequence[NDArray[np.intp]], chosen: Sequence[int]) -> Array:
        """Return the largest eigenvalue of the information about some of the attributes, shape (n, chosen).

        Parameters
        ----------
        blocks : sequence of ndarray of int
            The coordinates of each attribute.
        chosen : sequence of int
            Which attributes; the number after the last stands for the label.
        """
        single = [i for i in chosen if i < len(blocks) and len(blocks[i]) == 1]
        found = {}
        if single:
            squares = self.of_coordinates(np.concatenate([blocks[i] for i in single]))
            found = dict(zip(single, squares.T, strict=True))
        for i in chosen:
            if i == len(blocks):
                found[i] = largest(Factors(self._of_label()))
            elif len(blocks[i]) > 1:
                found[i] = self.of(blocks[i])._tops()
            elif not len(blocks[i]):
                found[i] = np.zeros(len(self.pushed))
        return np.column_stack([found[i] for i in chosen]) if len(chosen) else np.zeros((len(self.pushed), 0))

    def of_coordinates(self, at: NDArray[np.intp]) -> Array:
        """Return the information about single coordinates, shape (n, coordinates)."""
        own = self.of(at) if len(at) < self.reached.coordinates else self
        if own._is_formed:
            moved = replace(own, labels=0).whole()
            found = np.einsum("nvm,nvm->nv", moved, moved)
        else:
            found = own._squares()
        return np.asarray(found if own is not self else found[:, at])

    def _squares(self) -> Array:
        """Return the information about each coordinate, where T is the same for all rows."""
        straight = self.reached.reach.straight
        entries = np.count_nonzero(straight, axis=0)
        found = np.zeros((len(self.pushed), straight.shape[1]))
        several, one = np.flatnonzero(entries > 1), np.flatnonzero(entries == 1)
        if len(several):
            moved = self.of(several).whole()
            found[:, several] = np.einsum("nvm,nvm->nv", moved, moved)
        if len(one):
            features = np.abs(straight[:, one]).argmax(axis=0)
            found[:, one] = self._squares_of_features()[:, features] * straight[features, one] ** 2
        return found

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

    def _tops(self) -> Array:
        if self.reached.slopes is None and self.values <= _SMALL and not self.labels:
            return largest(Matrices(self._information()))
        return largest(Factors(self.whole()))

    def _information(self) -> Array:
        moved = replace(self, apart=None).whole()
        found = moved @ moved.transpose(0, 2, 1)
        if self.apart is not None:
            k, straight = self.reached.coordinates, self.reached.reach.straight
            squares = np.einsum("naf,naf->nf", self.apart, self.apart)
            found[:, :k, :k] += straight.T @ (squares[:, :, None] * straight)
        return np.asarray(found)

    def _product(self, vectors: Array) -> Array:
        """Return J^T J times a vector a row."""
        k = self.reached.coordinates
        features, b = self.reached.to_features(vectors[:, :k]), self.label[:, :, : self.labels]
        along = np.einsum("nlo,no->nl", self.bend, features @ self.theta)
        along += np.einsum("nlb,nb->nl", b, vectors[:, k:])
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
        return np.concatenate([self.reached.to_coordinates(found), np.einsum("nl,nlb->nb", back, b)], axis=1)

    def _of_label(self) -> Array:
        """Return J^T by the label alone, shape (n, labels, numbers)."""
        return replace(self.of(np.empty(0, dtype=np.intp)), labels=self.labels).whole()


def _places(whole: NDArray[np.intp], some: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return where some numbers stand among others."""
    place = {int(each): i for i, each in enumerate(whole)}
    return np.array([place[int(each)] for each in some], dtype=np.intp)
