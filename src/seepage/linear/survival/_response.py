"""How a small change of one person's values moves the coefficients of a Cox model, in units of the noise.

With G = Sigma^(-1/2) H^-1 and the features of a row moving by T with its values, the release moves by

    J_i = (G (A_i Id - D_i + v_i beta^T) + c_i beta^T) T                                             (eq. 2.25)

where A_i, the martingale residual, and v_i are sums over risk sets, c_i is how survival at horizons moves directly, if
that is published beside the coefficients (G then has its rows), and D_i is diagonal: a penalty on standardized columns
grows with a value that is far from the mean of its column. It is a score like any other: a diagonal and a direction.
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
from seepage.linear.information import NoiseShape, OneSlope
from seepage.linear.stack import Apart, Reach, RowJacobians, Score
from seepage.linear.stack import Part as Moving

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
    direct: Array | None
    """c, of the horizons, shape (n, horizons)."""
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
    """Of the Hessian, seen through all that is published, shape (p, published)."""
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
        reach = self._reach.of(at)
        return replace(self, reading=reach.reading, blocks=blocks, curves=reach.curves)

    @property
    def values(self) -> int:
        """How many numbers one person's private values are."""
        return int(self.reading.shape[1])

    @cached_property
    def _reach(self) -> Reach:
        return Reach(self.reading, self.curves)

    @cached_property
    def moves(self) -> Array:
        """G, shape (published, p)."""
        return self.in_noise_units(self.inverse).T

    def in_noise_units(self, moves: Array) -> Array:
        """Return each row, a change of the coefficients, in units of the noise."""
        if isinstance(self.whitening, float):
            return np.asarray(moves * self.whitening)
        return np.asarray(moves @ self.whitening.T)

    def _pulled(self, part: HazardRows) -> Array:
        """G v + c, shape (n, published)."""
        pulled = np.asarray(part.pull @ self.moves.T)
        if part.direct is None:
            return pulled
        held = self.inverse.shape[1] - part.direct.shape[1]
        return pulled + self.in_noise_units(np.pad(part.direct, ((0, 0), (held, 0))))

    @cached_property
    def _one_slope(self) -> OneSlope:
        return OneSlope(np.asarray(self.moves @ self.reading), np.asarray(self.reading.T @ self.beta))

    def _is_plain(self, part: HazardRows) -> bool:
        return part.stretch is None and part.deviation is None and self.curves is None

    def examples(self, part: HazardRows) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        if self._is_plain(part):
            one = np.ones(len(part))
            return self._one_slope.examples(self._pulled(part) @ self._one_slope.vectors, part.martingale, one, 0 * one)
        top, trace = np.zeros(len(part)), np.zeros(len(part))
        for at, found in self._parts(part):
            top[at], trace[at] = found.examples()
        return top, trace

    def attributes(self, part: HazardRows) -> Array:
        """Return the largest eigenvalue of each attribute's block of each row's information."""
        if self._is_plain(part):
            return self._one_slope.attributes(self._pulled(part), part.martingale, np.ones(len(part)), self.blocks)
        found = np.zeros((len(part), len(self.blocks)))
        for at, each in self._parts(part):
            found[at] = each.attributes(self.blocks, range(len(self.blocks)))
        return found

    @cached_property
    def _root(self) -> Array | None:
        """Of the noise's own information about all ds/s (eq. 2.17); None for noise of one scale."""
        if self.covariance is None:
            return None
        return NoiseShape.of(self.covariance, self._reach.features[None], None).root()

    def jacobians(self, part: HazardRows) -> RowJacobians:
        """Return the Jacobians of some rows."""
        at, n = self._reach.features, len(part)
        slopes = part.martingale[:, None, None]
        if part.stretch is not None:
            slopes = slopes - part.stretch[:, None, at]
        parts: list[Moving] = [
            Score(
                np.ascontiguousarray(self.moves[:, at].T)[None],
                slopes,
                self.beta[at, None],
                np.ones((n, 1, 1)),
                self._pulled(part)[:, None],
                np.empty((n, 1, 0)),
            )
        ]
        if part.deviation is not None:
            deviation = part.deviation[:, None, at]
            if self._root is None:
                parts.append(Apart(np.sqrt(2.0) * deviation))
            else:
                root = np.ascontiguousarray(self._root[:, : len(at)].T)[None]
                none, of_label = np.empty((n, 0, 1)), np.empty((n, 0, 0))
                parts.append(
                    Score(root, deviation, self.beta[at, None], none, np.empty((n, 0, len(self._root))), of_label)
                )
        return RowJacobians(self._reach.at(part.bent), parts, 0)

    def gram(self, part: HazardRows) -> Array:
        """Return the sum of J J^T over these rows, whose eigenvalues are what the release tells about all of them."""
        if self._is_plain(part):
            return self._one_slope.gram(self._pulled(part), part.martingale)
        total = np.zeros(())
        for _, found in self._parts(part):
            flat = found.whole()
            flat = flat.reshape(-1, flat.shape[2])
            total = total + flat.T @ flat
        return total

    def _parts(self, part: HazardRows) -> Iterator[tuple[slice, RowJacobians]]:
        step = max(_MOST_NUMBERS // max(len(self.moves) * self.values, 1), 16)
        for start in range(0, len(part), step):
            at = slice(start, min(start + step, len(part)))
            yield at, self.jacobians(part.take(at))
