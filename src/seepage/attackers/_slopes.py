"""How printed numbers move with the values of some people: for each person a matrix J, numbers by values.

Of a model with one margin J is never formed. With c(x) what belongs to a row, and F, D and U the same for all rows,

    J = f F + D diag(w) U + sum of p t^T,

so that all of J^T J is one product of matrices for the first two, and a few outer products for the rest.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array


class Parted(NamedTuple):
    """Matrices J, numbers by values, as  sum of f S  +  E O."""

    factors: Array
    """f, shape (people, shared)."""
    shared: Array
    """S, shape (shared, numbers, values)."""
    ends: Array
    """E, shape (people, numbers, own)."""
    others: Array
    """O, shape (people, own, values)."""


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

    def stretched(self, factors: Array) -> "Slopes":
        """Return how each number times a factor moves."""
        return self.turned(np.diag(factors))

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

    def parted(self) -> "Parted":
        """Return the same as what all people share, times factors of theirs, and products of their own."""
        whole = self.formed()
        nothing = np.zeros((0, whole.shape[1], whole.shape[2]))
        one = np.broadcast_to(np.eye(whole.shape[2]), (len(whole), whole.shape[2], whole.shape[2]))
        return Parted(np.zeros((len(whole), 0)), nothing, whole, one)

    def safe(self) -> "Slopes":
        """Return the same as matrices of which squares lose no digits that products of parts would."""
        return self


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

    def stretched(self, factors: Array) -> "Formed":
        return Formed(self.values * factors[:, None])

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
class Beside(Slopes):
    """Matrices of several outputs, one below the other; who is not in an output does not move its numbers."""

    parts: tuple[tuple[Slopes, NDArray[np.intp], NDArray[np.intp]], ...]
    """Of each output how its numbers move, of whom, and where their values stand among all."""
    numbers: tuple[int, ...]
    """How many numbers each output has."""
    shape: tuple[int, int]
    """How many people, and how many values, there are."""

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def width(self) -> int:
        return self.shape[1]

    def turned(self, matrix: Array) -> "Formed":
        # What people share is one product of matrices for all outputs, and what is each person's own another.
        rank, first = matrix.shape[1], 0
        factors, shared, ends, others = (list[Array]() for _ in range(4))
        for (slopes, people, values), count in zip(self.parts, self.numbers, strict=True):
            if len(people):
                part = slopes.turned(matrix[first : first + count]).parted()
                factor = np.zeros((len(self), part.factors.shape[1]))
                factor[people] = part.factors
                placed = np.zeros((*part.shared.shape[:2], self.width))
                placed[:, :, values] = part.shared
                outer = np.zeros((len(self), rank, part.ends.shape[2]))
                outer[people] = part.ends
                rest = np.zeros((len(self), part.others.shape[1], self.width))
                rest[np.ix_(people, np.arange(rest.shape[1]), values)] = part.others
                factors.append(factor)
                shared.append(placed)
                ends.append(outer)
                others.append(rest)
            first += count
        if not factors or not rank or not self.width:
            return Formed(np.zeros((len(self), rank, self.width)))
        flat = np.concatenate(shared).reshape(-1, rank * self.width)
        found = (np.concatenate(factors, axis=1) @ flat).reshape(len(self), rank, self.width)
        found += np.matmul(np.concatenate(ends, axis=2), np.concatenate(others, axis=1))
        return Formed(found)

    def formed(self) -> Array:
        return self.turned(np.eye(sum(self.numbers))).values

    def take(self, people: NDArray[np.intp]) -> "Formed":
        return Formed(self.formed()).take(people)

    def of(self, values: NDArray[np.intp]) -> "Beside":
        place = np.full(self.width, -1, dtype=np.intp)
        place[values] = np.arange(len(values))
        parts = []
        for slopes, people, each in self.parts:
            kept = np.flatnonzero(place[each] >= 0)
            parts.append((slopes.of(kept), people, place[each[kept]]))
        return Beside(tuple(parts), self.numbers, (len(self), len(values)))

    def plus(self, numbers: Array, values: Array) -> "Formed":
        return Formed(self.formed()).plus(numbers, values)

    def back(self, vectors: Array) -> Array:
        return Formed(self.formed()).back(vectors)

    def along(self, directions: Array) -> Array:
        return Formed(self.formed()).along(directions)

    def grams(self) -> Array:
        return Formed(self.formed()).grams()

    def squares(self) -> Array:
        return Formed(self.formed()).squares()


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
        return np.concatenate(parts, axis=1), whole[(slice(None), *np.tril_indices(values))]

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
        from seepage.core.eigenvalues import unpack

        pairs, triangles = self._pairs
        found = np.empty((len(self), self.width, self.width))
        unpack(pairs @ triangles, *self._ends(), found)
        return found

    def squares(self) -> Array:
        pairs, triangles = self._pairs
        found = pairs @ triangles[:, np.cumsum(np.arange(1, self.width + 1)) - 1]
        return np.asarray(found + 2.0 * np.einsum("bkv,bkv->kv", *self._ends()))

    def safe(self) -> Formed:
        return Formed(self.formed())

    def parted(self) -> Parted:
        spread = self.spread.T[:, :, None] * self.reading[:, None, :]
        ends = np.zeros((len(self), len(self.common), 0))
        others = np.zeros((len(self), 0, self.width))
        if self.outer:
            ends = np.stack([p for p, _ in self.outer], axis=2)
            others = np.stack([t for _, t in self.outer], axis=1)
        factors = np.column_stack([self.factor, self.weights])
        return Parted(factors, np.concatenate([self.common[None], spread]), ends, others)

    def formed(self) -> Array:
        found = self.factor[:, None, None] * self.common
        if self.weights.shape[1]:
            found += np.matmul(self.spread, self.weights[:, :, None] * self.reading)
        for p, t in self.outer:
            found += p[:, :, None] * t[:, None, :]
        return np.asarray(found)
