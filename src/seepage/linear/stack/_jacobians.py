"""The Jacobians of some rows, kept in the parts that they are made of.

In units of the noise, what is published moves with a unit of feature f of row i by

    sum_k d_ikf R_kf  +  sum_l (c_il . theta_f) u_il,

and with the row's label by  sum_l b_il u_il. R and theta are the same for all rows: R holds F^(1/2) A^-1, by which the
equations that were solved answer (A), as far as the release shows it (F). Few numbers a row are then enough for
products, diagonals and, where there are few values, whole matrices.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage.linear.spectra import Factors, Matrices, Operators, largest
from seepage.linear.stack._reach import Reached

Array = NDArray[np.float64]

# Up to this many values a whole matrix is cheaper than a search by products with it.
_SMALL = 12


class Part(ABC):
    """Some of the numbers that move: their Jacobian by the features of each row, and by its label."""

    @abstractmethod
    def jacobian(self, reached: Reached, labels: int) -> Array:
        """Return J^T by private values and labels, shape (n, k + labels, m)."""

    @abstractmethod
    def of_features(self, chosen: NDArray[np.intp]) -> "Part":
        """Return the same by some of the features."""

    @abstractmethod
    def product(self, features: Array, label: Array) -> tuple[Array, Array]:
        """Return J^T J times a vector a row, both in its features and its label."""

    @abstractmethod
    def squares(self) -> Array:
        """Return the length of J for a unit of each feature, squared, shape (n, features)."""

    def gram(self, reached: Reached, labels: int) -> Array:
        """Return J^T J of each row, shape (n, k + labels, k + labels)."""
        moved = self.jacobian(reached, labels)
        return np.asarray(moved @ moved.transpose(0, 2, 1))


@dataclass(frozen=True, eq=False)
class Score(Part):
    """What moves through the score of the fit: diagonals, and a few directions of each row's own."""

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
    """b, shape (n, L, labels)."""

    def of_features(self, chosen: NDArray[np.intp]) -> "Score":
        slopes = self.slopes if self.slopes.shape[2] == 1 else self.slopes[:, :, chosen]
        return replace(self, columns=self.columns[:, chosen], slopes=slopes, theta=self.theta[chosen])

    def jacobian(self, reached: Reached, labels: int) -> Array:
        k, (n, _, m) = reached.coordinates, self.pushed.shape
        found = np.zeros((n, k + labels, m))
        if self.slopes.shape[2] == 1:
            for d, column in zip(self.slopes[:, :, 0].T, self.columns, strict=True):
                reached.add_scaled(d, column, found[:, :k])
        elif self.columns.size:
            found[:, :k] = reached.each(np.einsum("nkf,kfm->nfm", self.slopes, self.columns, optimize=True))
        if self.pushed.shape[1]:
            # (T_i^T theta) c^T u, row by row.
            found[:, :k] += (reached.fixed(self.theta) @ self.bend.transpose(0, 2, 1)) @ self.pushed
            if labels:
                found[:, k:] = self.label.transpose(0, 2, 1) @ self.pushed
        return found

    def product(self, features: Array, label: Array) -> tuple[Array, Array]:
        along = np.einsum("nlo,no->nl", self.bend, features @ self.theta)
        if label.shape[1]:
            along += np.einsum("nlb,nb->nl", self.label, label)
        moved = np.einsum("nl,nlm->nm", along, self.pushed)
        for d, column in zip(self.slopes.transpose(1, 0, 2), self.columns, strict=True):
            moved += (d * features) @ column
        # Back again, by the transpose.
        back = np.einsum("nm,nlm->nl", moved, self.pushed)
        found = np.einsum("nl,nlo->no", back, self.bend) @ self.theta.T
        for d, column in zip(self.slopes.transpose(1, 0, 2), self.columns, strict=True):
            found += d * (moved @ column.T)
        return found, np.einsum("nl,nlb->nb", back, self.label)

    def squares(self) -> Array:
        # Each product once for all rows, or for all features.
        n, terms, _ = self.slopes.shape
        found = np.zeros((n, len(self.theta)))
        crossed = np.einsum("nlo,fo->nlf", self.bend, self.theta, optimize=True)
        for k in range(terms):
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


@dataclass(frozen=True, eq=False)
class Apart(Part):
    """Numbers of which each moves with one feature alone."""

    values: Array
    """How fast, shape (n, numbers, features): each number of each feature is one of its own."""

    def of_features(self, chosen: NDArray[np.intp]) -> "Apart":
        return Apart(self.values[:, :, chosen])

    def jacobian(self, reached: Reached, labels: int) -> Array:
        n, numbers, features = self.values.shape
        spread = np.zeros((n, features, numbers, features))
        at = np.arange(features)
        spread[:, at, :, at] = self.values.transpose(2, 0, 1)
        found = np.zeros((n, reached.coordinates + labels, numbers * features))
        found[:, : reached.coordinates] = reached.each(spread.reshape(n, features, numbers * features))
        return found

    @cached_property
    def _squares(self) -> Array:
        return np.asarray(np.einsum("naf,naf->nf", self.values, self.values))

    def product(self, features: Array, label: Array) -> tuple[Array, Array]:
        return self._squares * features, np.zeros_like(label)

    def squares(self) -> Array:
        return self._squares

    def gram(self, reached: Reached, labels: int) -> Array:
        k, factors = reached.coordinates, reached.reach.factors
        if reached.slopes is not None:
            return super().gram(reached, labels)
        found = np.zeros((len(self.values), k + labels, k + labels))
        if factors is not None:
            at = np.arange(k)
            found[:, at, at] = self._squares * factors**2
        else:
            straight = reached.reach.straight
            found[:, :k, :k] = straight.T @ (self._squares[:, :, None] * straight)
        return found


@dataclass(frozen=True, eq=False)
class Whole(Part):
    """A Jacobian by features that is simply there."""

    values: Array
    """Shape (n, features, m)."""
    label: Array
    """Shape (n, labels, m)."""

    def of_features(self, chosen: NDArray[np.intp]) -> "Whole":
        return replace(self, values=self.values[:, chosen])

    def jacobian(self, reached: Reached, labels: int) -> Array:
        own = reached.each(self.values)
        return np.concatenate([own, self.label], axis=1) if labels else own

    def product(self, features: Array, label: Array) -> tuple[Array, Array]:
        moved = np.einsum("nf,nfm->nm", features, self.values)
        moved += np.einsum("nb,nbm->nm", label, self.label[:, : label.shape[1]])
        back = np.einsum("nm,nbm->nb", moved, self.label[:, : label.shape[1]])
        return np.einsum("nm,nfm->nf", moved, self.values), back

    def squares(self) -> Array:
        return np.asarray(np.einsum("nfm,nfm->nf", self.values, self.values))


@dataclass(frozen=True, eq=False)
class RowJacobians:
    """How all that is published moves with each value of some rows."""

    reached: Reached
    parts: Sequence[Part]
    labels: int
    """How many numbers a private label is; none where it is public."""
    cancel: bool = False
    """Whether the terms of a Jacobian would cancel if they were multiplied out, so that it is formed."""

    @property
    def _formed(self) -> bool:
        """Whether there is nothing to gain from parts."""
        bent = self.reached.slopes is not None or any(isinstance(part, Whole) for part in self.parts)
        return self.cancel or bent

    @property
    def values(self) -> int:
        """How many private values there are."""
        return self.reached.coordinates + self.labels

    def whole(self) -> Array:
        """Return J^T, shape (n, values, m)."""
        return np.concatenate([part.jacobian(self.reached, self.labels) for part in self.parts], axis=2)

    def of(self, coordinates: NDArray[np.intp]) -> "RowJacobians":
        """Return those by some of the coordinates, the label being public."""
        reach = self.reached.reach.of(coordinates)
        chosen = _places(self.reached.reach.features, reach.features)
        slopes = self.reached.slopes
        if slopes is not None and reach.curves is not None and self.reached.reach.curves is not None:
            every = {int(entry): i for i, entry in enumerate(self.reached.reach.curves.chosen)}
            slopes = slopes[:, [every[int(entry)] for entry in reach.curves.chosen]]
        return RowJacobians(Reached(reach, slopes), [part.of_features(chosen) for part in self.parts], 0, self.cancel)

    def examples(self) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        if self._formed:
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
                found[i] = np.zeros(self._count)
        return np.column_stack([found[i] for i in chosen]) if len(chosen) else np.zeros((self._count, 0))

    def of_coordinates(self, at: NDArray[np.intp]) -> Array:
        """Return the information about single coordinates, shape (n, coordinates)."""
        own = self.of(at) if len(at) < self.reached.coordinates else self
        if own._formed:
            moved = replace(own, labels=0).whole()
            found = np.einsum("nvm,nvm->nv", moved, moved)
        else:
            found = own._squares()
        return np.asarray(found if own is not self else found[:, at])

    def _squares(self) -> Array:
        """Return the information about each coordinate, where T is the same for all rows."""
        straight = self.reached.reach.straight
        entries = np.count_nonzero(straight, axis=0)
        found = np.zeros((self._count, straight.shape[1]))
        several, one = np.flatnonzero(entries > 1), np.flatnonzero(entries == 1)
        if len(several):
            moved = self.of(several).whole()
            found[:, several] = np.einsum("nvm,nvm->nv", moved, moved)
        if len(one):
            features = np.abs(straight[:, one]).argmax(axis=0)
            squares = np.zeros((len(found), len(straight)))
            for part in self.parts:
                squares += part.squares()
            found[:, one] = squares[:, features] * straight[features, one] ** 2
        return found

    def _tops(self) -> Array:
        if self.reached.slopes is None and self.values <= _SMALL and not self.labels:
            return largest(Matrices(self._information()))
        return largest(Factors(self.whole()))

    def _information(self) -> Array:
        found = np.zeros((self._count, self.values, self.values))
        for part in self.parts:
            found += part.gram(self.reached, self.labels)
        return found

    def _product(self, vectors: Array) -> Array:
        k = self.reached.coordinates
        features, label = self.reached.to_features(vectors[:, :k]), vectors[:, k:]
        moved, along = np.zeros_like(features), np.zeros_like(label)
        for part in self.parts:
            by_features, by_label = part.product(features, label)
            moved += by_features
            along += by_label[:, : self.labels]
        return np.concatenate([self.reached.to_coordinates(moved), along], axis=1)

    def _of_label(self) -> Array:
        """Return J^T by the label alone, shape (n, labels, m)."""
        nothing = self.reached.reach.of(np.empty(0, dtype=np.intp))
        own = [part.of_features(np.empty(0, dtype=np.intp)) for part in self.parts]
        slopes = None if self.reached.slopes is None else np.empty((self._count, 0))
        return RowJacobians(Reached(nothing, slopes), own, self.labels).whole()

    @property
    def _count(self) -> int:
        part = self.parts[0]
        assert isinstance(part, Score)
        return len(part.pushed)


def _places(whole: NDArray[np.intp], some: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return where some numbers stand among others."""
    place = {int(each): i for i, each in enumerate(whole)}
    return np.array([place[int(each)] for each in some], dtype=np.intp)
