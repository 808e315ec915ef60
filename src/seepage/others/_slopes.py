"""How printed numbers move with the values of some people: for each person a matrix J, numbers by values.

Of a model with one margin J is never formed. With c(x) what belongs to a row, and F, D and U the same for all rows,

    J = f F + D diag(w) U + sum of p t^T,

so that all of J^T J is one product of matrices for the first two, and a few outer products for the rest.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array


class Slopes(ABC):
    """How numbers move with values, of some people."""

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def width(self) -> int:
        """How many values a person has."""

    @abstractmethod
    def take(self, people: NDArray[np.intp]) -> "Slopes":
        """Return those of some of the people."""

    @abstractmethod
    def of(self, values: NDArray[np.intp]) -> "Slopes":
        """Return those by some of the values."""

    @abstractmethod
    def turned(self, matrix: Array) -> "Slopes":
        """Return how combinations of the numbers move, one for each column of a matrix."""

    @abstractmethod
    def plus(self, numbers: Array, values: Array) -> "Slopes":
        """Return J + p t^T, for p of shape (people, numbers) and t of shape (people, values)."""

    @abstractmethod
    def back(self, vectors: Array) -> Array:
        """Return J^T p, from shape (people, numbers) to (people, values)."""

    @abstractmethod
    def along(self, directions: Array) -> Array:
        """Return J d, from shape (people, values, m) to (people, numbers, m)."""

    @abstractmethod
    def grams(self) -> Array:
        """Return J^T J, shape (people, values, values)."""

    @abstractmethod
    def squares(self) -> Array:
        """Return the diagonals of J^T J, shape (people, values)."""

    @abstractmethod
    def formed(self) -> Array:
        """Return J, shape (people, numbers, values)."""


@dataclass(frozen=True, eq=False)
class Formed(Slopes):
    """Matrices that are simply there."""

    values: Array

    def __len__(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        return int(self.values.shape[2])

    def take(self, people: NDArray[np.intp]) -> "Formed":
        return Formed(self.values[people])

    def of(self, values: NDArray[np.intp]) -> "Formed":
        return Formed(self.values[:, :, values])

    def turned(self, matrix: Array) -> "Formed":
        return Formed(np.matmul(matrix.T, self.values))

    def plus(self, numbers: Array, values: Array) -> "Formed":
        return Formed(self.values + numbers[:, :, None] * values[:, None, :])

    def back(self, vectors: Array) -> Array:
        return np.asarray(np.einsum("kqv,kq->kv", self.values, vectors))

    def along(self, directions: Array) -> Array:
        return np.asarray(self.values @ directions)

    def grams(self) -> Array:
        return np.asarray(self.values.swapaxes(1, 2) @ self.values)

    def squares(self) -> Array:
        return np.asarray(np.einsum("kqv,kqv->kv", self.values, self.values))

    def formed(self) -> Array:
        return self.values


@dataclass(frozen=True, eq=False)
class Composed(Slopes):
    """Matrices that are made of what all people share."""

    factor: Array
    """f, shape (people,)."""
    common: Array
    """F, shape (numbers, values)."""
    weights: Array
    """w, shape (people, spread); nothing of it where nothing spreads."""
    spread: Array
    """D, shape (numbers, spread)."""
    reading: Array
    """U, shape (spread, values)."""
    outer: tuple[tuple[Array, Array], ...] = ()
    """p and t, shapes (people, numbers) and (people, values)."""

    def __len__(self) -> int:
        return len(self.factor)

    @property
    def width(self) -> int:
        return int(self.common.shape[1])

    def take(self, people: NDArray[np.intp]) -> "Composed":
        outer = tuple((p[people], t[people]) for p, t in self.outer)
        return replace(self, factor=self.factor[people], weights=self.weights[people], outer=outer)

    def of(self, values: NDArray[np.intp]) -> "Composed":
        outer = tuple((p, t[:, values]) for p, t in self.outer)
        return replace(self, common=self.common[:, values], reading=self.reading[:, values], outer=outer)

    def turned(self, matrix: Array) -> "Composed":
        outer = tuple((p @ matrix, t) for p, t in self.outer)
        return replace(self, common=matrix.T @ self.common, spread=matrix.T @ self.spread, outer=outer)

    def plus(self, numbers: Array, values: Array) -> "Composed":
        return replace(self, outer=(*self.outer, (numbers, values)))

    def back(self, vectors: Array) -> Array:
        found = self._back(vectors)
        for p, t in self.outer:
            found += np.einsum("kq,kq->k", vectors, p)[:, None] * t
        return found

    def _back(self, vectors: Array) -> Array:
        """Return what is not outer products of J^T p."""
        found = self.factor[:, None] * (vectors @ self.common)
        if self.weights.shape[1]:
            found += (self.weights * (vectors @ self.spread)) @ self.reading
        return np.asarray(found)

    def along(self, directions: Array) -> Array:
        found = self.factor[:, None, None] * np.matmul(self.common, directions)
        if self.weights.shape[1]:
            found += np.matmul(self.spread, self.weights[:, :, None] * np.matmul(self.reading, directions))
        for p, t in self.outer:
            found += p[:, :, None] * np.einsum("kv,kvm->km", t, directions)[:, None, :]
        return np.asarray(found)

    @property
    def _pairs(self) -> tuple[Array, Array]:
        """Return products of what belongs to each person, and the lower triangles of J^T J that belong to them."""
        values = self.width
        parts = [(self.factor**2)[:, None]]
        halves = [0.5 * (self.common.T @ self.common)[None]]
        if self.weights.shape[1]:
            a, b = np.triu_indices(self.weights.shape[1])
            parts += [self.weights * self.factor[:, None], self.weights[:, a] * self.weights[:, b]]
            crossed = np.einsum("qv,qk->kv", self.common, self.spread)
            halves.append(crossed[:, :, None] * self.reading[:, None, :])
            inner = (self.spread.T @ self.spread)[a, b] * np.where(a == b, 0.5, 1.0)
            halves.append(inner[:, None, None] * self.reading[a][:, :, None] * self.reading[b][:, None, :])
        half = np.concatenate(halves)
        whole = half + half.swapaxes(1, 2)
        return np.concatenate(parts, axis=1), whole[:, *np.tril_indices(values)]

    def _ends(self) -> tuple[Array, Array]:
        """Return e and t of shape (outer products, people, values): the rest of J^T J is  e t^T + t e^T, added up."""
        ends, others = np.zeros((2, len(self.outer), len(self), self.width))
        for i, (p, t) in enumerate(self.outer):
            others[i] = t
            ends[i] = self._back(p)
            for q, other in self.outer:
                ends[i] += 0.5 * np.einsum("kq,kq->k", p, q)[:, None] * other
        return ends, others

    def grams(self) -> Array:
        # Compiled code is loaded when it is needed.
        from seepage._tops import unpack

        pairs, triangles = self._pairs
        found = np.empty((len(self), self.width, self.width))
        unpack(pairs @ triangles, *self._ends(), found)
        return found

    def squares(self) -> Array:
        pairs, triangles = self._pairs
        found = pairs @ triangles[:, np.cumsum(np.arange(1, self.width + 1)) - 1]
        return np.asarray(found + 2.0 * np.einsum("bkv,bkv->kv", *self._ends()))

    def formed(self) -> Array:
        found = self.factor[:, None, None] * self.common
        if self.weights.shape[1]:
            found += np.matmul(self.spread, self.weights[:, :, None] * self.reading)
        for p, t in self.outer:
            found += p[:, :, None] * t[:, None, :]
        return np.asarray(found)
