"""How a small change of one person's values moves the coefficients, in units of the noise.

With G = Sigma^(-1/2) H^-1 and the features of a row moving by T with its values, the release moves by

    J_i = (G (A_i Id - D_i + v_i beta^T) + c_i beta^T) T                                             (eq. 2.25)

where A_i and v_i are sums over risk sets, c_i is how survival at horizons moves directly, if that is published beside
the coefficients (G then has its rows), and D_i is diagonal: a penalty on standardized columns grows with a value
that is far from the mean of its column. Without D this is the identity and a rank of one, as for a linear model of one
output, and the same search finds the largest eigenvalue; with it, or where T differs from row to row, each row's
Jacobian is formed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh

from seepage.linear.columns import Curves
from seepage.linear.information import top_eigenvalues, tops

Array = NDArray[np.float64]

# Numbers in the Jacobians of the rows that are worked on at once: they stay in a core's cache.
_MOST_NUMBERS = 2**18


class Part(NamedTuple):
    """What the derivatives of some rows are made of."""

    martingale: Array
    """A, shape (n,)."""
    pull: Array
    """v, shape (n, p)."""
    stretch: Array | None
    """The diagonal of D, shape (n, p)."""
    bent: Array | None
    """The coordinates that reach steps which are not affine, shape (n, coordinates)."""
    direct: Array | None
    """c, of the horizons, shape (n, horizons)."""

    def take(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> "Part":
        """Return some of the rows."""
        return Part(
            self.martingale[rows], self.pull[rows], *(each if each is None else each[rows] for each in self[2:])
        )

    def __len__(self) -> int:
        return len(self.martingale)


@dataclass(frozen=True, eq=False)
class Response:
    """The part of the Jacobians that is the same for all rows, for some private values."""

    beta: Array
    inverse: Array
    """Of the Hessian, seen through all that is published, shape (p, published)."""
    whitening: Array | float
    reading: sparse.csr_array
    """T, shape (p, k)."""
    blocks: tuple[NDArray[np.intp], ...]
    """The coordinates of each attribute."""
    curves: Curves | None
    """The entries of T that differ from row to row, which are zero in `reading`."""

    def of(self, attributes: Sequence[int]) -> "Response":
        """Return the same for some of the attributes."""
        kept = [self.blocks[i] for i in attributes]
        at = np.concatenate([*kept, np.empty(0, dtype=np.intp)])
        ends = np.cumsum([0, *map(len, kept)])
        blocks = tuple(np.arange(start, stop) for start, stop in pairwise(ends))
        curves = None if self.curves is None else self.curves.taken(at)
        return replace(self, reading=self.reading[:, at].tocsr(), blocks=blocks, curves=curves)

    @property
    def values(self) -> int:
        """How many numbers one person's private values are."""
        return int(self.reading.shape[1])

    @cached_property
    def moves(self) -> Array:
        """G, shape (published, p)."""
        return self.in_noise_units(self.inverse).T

    def in_noise_units(self, moves: Array) -> Array:
        """Return each row, a change of the coefficients, in units of the noise."""
        if isinstance(self.whitening, float):
            return np.asarray(moves * self.whitening)
        return np.asarray(moves @ self.whitening.T)

    def _pulled(self, part: Part) -> Array:
        """G v + c, shape (n, published)."""
        pulled = np.asarray(part.pull @ self.moves.T)
        if part.direct is None:
            return pulled
        held = self.inverse.shape[1] - part.direct.shape[1]
        return pulled + self.in_noise_units(np.pad(part.direct, ((0, 0), (held, 0))))

    @cached_property
    def _tau(self) -> Array:
        """T^T beta."""
        return np.asarray(self.reading.T @ self.beta)

    @cached_property
    def _moved(self) -> Array:
        """G T, shape (published, k)."""
        return np.asarray(self.moves @ self.reading)

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        values, vectors = eigh(self._moved @ self._moved.T)
        return np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])

    def _is_plain(self, part: Part) -> bool:
        return part.stretch is None and self.curves is None

    def examples(self, part: Part) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        if not self._is_plain(part):
            top, trace = np.zeros(len(part)), np.zeros(len(part))
            for at, moved in self._parts(part):
                top[at], trace[at] = tops(moved), np.einsum("nvp,nvp->n", moved, moved)
            return np.maximum(top, 0.0), trace
        diagonal, vectors = self._spectrum
        rows = np.ascontiguousarray(self._pulled(part) @ vectors)
        fixed = np.asarray(vectors.T @ (self._moved @ self._tau))
        length = np.full(len(part), float(self._tau @ self._tau))
        square = part.martingale**2
        top, norms, inner = (np.empty(len(part)) for _ in range(3))
        top_eigenvalues(diagonal, rows, fixed, square, length, part.martingale, True, top, norms, inner)
        trace = square * diagonal.sum() + 2.0 * part.martingale * inner + length * norms
        return np.maximum(top, 0.0), np.maximum(trace, 0.0)

    def attributes(self, part: Part) -> Array:
        """Return the largest eigenvalue of each attribute's block of each row's information."""
        found = np.zeros((len(part), len(self.blocks)))
        if not self._is_plain(part) or any(len(block) > 1 for block in self.blocks):
            for at, moved in self._parts(part):
                squares = np.einsum("nvp,nvp->nv", moved, moved)
                for i, block in enumerate(self.blocks):
                    if len(block) == 1:
                        found[at, i] = squares[:, block[0]]
                    elif len(block):
                        found[at, i] = tops(moved[:, block])
            return np.maximum(found, 0.0)
        single = [i for i, block in enumerate(self.blocks) if len(block)]
        each = np.concatenate([*(self.blocks[i] for i in single), np.empty(0, dtype=np.intp)])
        moved, tau, a = self._moved[:, each], self._tau[each], part.martingale
        pulled = self._pulled(part)
        # |A k + tau v|^2 for each coordinate, k being its column of G T.
        value = (a**2)[:, None] * np.einsum("ij,ij->j", moved, moved)
        value += (2.0 * a)[:, None] * tau * (pulled @ moved)
        value += np.einsum("ij,ij->i", pulled, pulled)[:, None] * tau**2
        found[:, single] = np.maximum(value, 0.0)
        return found

    def jacobians(self, part: Part) -> Array:
        """Return J^T of each row, shape (n, values, published)."""
        a, moves, pulled = part.martingale, self.moves, self._pulled(part)
        found = a[:, None, None] * self._moved.T
        found += self._tau[:, None] * pulled[:, None, :]
        if part.stretch is not None:
            features, coordinates = self.reading.tocoo().coords
            for f, j, entry in zip(features, coordinates, self.reading.tocoo().data, strict=True):
                found[:, j] -= entry * part.stretch[:, f, None] * moves[:, f]
        if self.curves is not None:
            assert part.bent is not None
            slopes = self.curves.at(part.bent)
            for entry, (f, j) in enumerate(zip(self.curves.features, self.curves.coordinates, strict=True)):
                own = a if part.stretch is None else a - part.stretch[:, f]
                found[:, j] += (own * slopes[:, entry])[:, None] * moves[:, f]
                found[:, j] += (self.beta[f] * slopes[:, entry])[:, None] * pulled
        return found

    def gram(self, part: Part) -> Array:
        """Return the sum of J J^T over these rows, whose eigenvalues are what the release tells about all of them."""
        total = np.zeros((len(self.moves), len(self.moves)))
        if self._is_plain(part):
            # Sum_i (A T + v tau^T)(A T + v tau^T)^T, seen through G.
            pulled, tau = self._pulled(part), self._tau
            crossed = np.outer(self._moved @ tau, part.martingale @ pulled)
            total += float(part.martingale @ part.martingale) * (self._moved @ self._moved.T)
            total += crossed + crossed.T + float(tau @ tau) * (pulled.T @ pulled)
        else:
            for _, moved in self._parts(part):
                flat = moved.reshape(-1, len(total))
                total += flat.T @ flat
        return total

    def _parts(self, part: Part) -> Iterator[tuple[slice, Array]]:
        step = max(_MOST_NUMBERS // max(len(self.moves) * self.values, 1), 16)
        for start in range(0, len(part), step):
            at = slice(start, min(start + step, len(part)))
            yield at, self.jacobians(part.take(at))
