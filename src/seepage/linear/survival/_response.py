"""How a small change of one person's values moves the coefficients of a Cox model, in units of the noise.

With G = Sigma^(-1/2) H^-1 and the features of a row moving by T with its values, the release moves by

    J_i = G (A_i Id - D_i + v_i beta^T) T                                                            (eq. 2.24)

where A_i, the martingale residual, and v_i are sums over risk sets, and D_i is diagonal: a penalty on standardized
columns grows with a value that is far from the mean of its column. It is a score like any other: a diagonal and a
direction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seepage.linear.columns import Curves
from seepage.linear.information import NoiseShape, Pushes, Reach

Array = NDArray[np.float64]

# Numbers in the Jacobians of the rows that are worked on at once: they stay in a core's cache.
_MOST_NUMBERS = 2**18


class HazardRows(NamedTuple):
    """What the derivatives of some rows are made of."""

    martingale: Array
    """A, shape (n,)."""
    pull: Array
    """v, shape (n, p)."""
    stretch: Array | None
    """The diagonal of D, shape (n, p)."""
    bent: Array | None
    """The coordinates that reach steps which are not affine, shape (n, coordinates)."""
    deviation: Array | None
    """ds/s of a scaler that was fitted on the same rows, shape (n, p)."""

    def take(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> "HazardRows":
        """Return some of the rows."""
        return HazardRows(
            self.martingale[rows], self.pull[rows], *(each if each is None else each[rows] for each in self[2:])
        )

    def __len__(self) -> int:
        return len(self.martingale)


@dataclass(frozen=True, eq=False)
class Response:
    """The part of the Jacobians that is the same for all rows, for some private values."""

    beta: Array
    inverse: Array
    """Of the Hessian, shape (p, p)."""
    whitening: Array | float
    reading: sparse.csr_array
    """T, shape (p, k)."""
    blocks: tuple[NDArray[np.intp], ...]
    """The coordinates of each attribute."""
    curves: Curves | None
    """The entries of T that differ from row to row, which are zero in `reading`."""
    covariance: Array | None = None
    """Of the noise, where a scaler moves it and it is not of one scale."""

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
    def _reach(self) -> Reach:
        return Reach(self.reading, self.curves)

    @cached_property
    def moves(self) -> Array:
        """G, shape (p, p)."""
        return self.in_noise_units(self.inverse).T

    def in_noise_units(self, moves: Array) -> Array:
        """Return each row, a change of the coefficients, in units of the noise."""
        if isinstance(self.whitening, float):
            return np.asarray(moves * self.whitening)
        return np.asarray(moves @ self.whitening.T)

    def examples(self, part: HazardRows) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        top, trace = np.zeros(len(part)), np.zeros(len(part))
        for at, found in self._parts(part):
            top[at], trace[at] = found.examples()
        return top, trace

    def attributes(self, part: HazardRows) -> Array:
        """Return the largest eigenvalue of each attribute's block of each row's information."""
        found = np.zeros((len(part), len(self.blocks)))
        for at, each in self._parts(part):
            found[at] = each.attributes(self.blocks)
        return found

    @cached_property
    def _root(self) -> Array | None:
        """Of the noise's own information about all ds/s (eq. 2.17); None for noise of one scale."""
        if self.covariance is None:
            return None
        return NoiseShape.of(self.covariance, self._reach.features[None], None).root()

    def jacobians(self, part: HazardRows) -> Pushes:
        """Return the Jacobians of some rows."""
        at, n = self._reach.features, len(part)
        slopes = part.martingale[:, None, None]
        if part.stretch is not None:
            slopes = slopes - part.stretch[:, None, at]
        found = Pushes(
            self._reach,
            self._reach.entries(part.bent),
            np.ascontiguousarray(self.moves[:, at].T)[None],
            slopes,
            self.beta[at, None],
            np.ones((n, 1, 1)),
            (part.pull @ self.moves.T)[:, None],
            np.empty((n, 1, 0)),
        )
        if part.deviation is None:
            return found
        deviation = part.deviation[:, None, at]
        if self._root is None:
            return replace(found, apart=np.sqrt(2.0) * deviation)
        return found.beside(np.ascontiguousarray(self._root[:, : len(at)].T)[None], deviation)

    def gram(self, part: HazardRows) -> Array:
        """Return the sum of J J^T over these rows, whose eigenvalues are what the release tells about all of them."""
        total = np.zeros(())
        for _, found in self._parts(part):
            flat = found.whole()
            flat = flat.reshape(-1, flat.shape[2])
            total = total + flat.T @ flat
        return total

    def _parts(self, part: HazardRows) -> Iterator[tuple[slice, Pushes]]:
        step = max(_MOST_NUMBERS // max(len(self.moves) * self.values, 1), 16)
        for start in range(0, len(part), step):
            at = slice(start, min(start + step, len(part)))
            yield at, self.jacobians(part.take(at))
