"""The objective near its minimizer: what all rows say of moves of the parameters, for many moves in one pass.

Where parameters move a little, the gradient is its linear part and the rest, R (eq. 4.4), which is small and is
computed as such: no digits are lost to the gradient that it is a part of.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from seepage.linear.information._geometry import Geometry
from seepage.linear.information._logistic import dense_beyond, sparse_beyond
from seepage.linear.information._preprocessing import with_filled_moved
from seepage.linear.objective import ActiveSet, Logistic, NewtonSums, derivatives, newton_sums
from seepage.linear.rows import Batch, Frame, InMemory, in_threads

Array = NDArray[np.float64]

_PLAIN = Frame()
# Up to so many numbers, features are kept between passes instead of being made from the raw rows again.
_KEPT = 2**27
# Rows at a time: so many numbers of them, within these limits.
_NUMBERS, _ROWS, _MOST_ROWS = 2**20, 1024, 8192
# Features with a smaller share of numbers that are not zero are faster to multiply as sparse ones.
_SPARSE = 0.2
# A product with p^3 numbers costs less than a pass over the rows if p^3 is below so many times their number.
_CUBIC = 8


@dataclass(frozen=True, eq=False)
class Nearby:
    """A fitted model's objective around its minimizer."""

    rows: InMemory
    geometry: Geometry
    penalty: Array
    """Shape (p, outputs)."""
    filled: Array | None = None
    """By how much what an imputer filled in has moved, one entry for each feature with such cells, if it has."""

    @property
    def active(self) -> ActiveSet | None:
        """Which coefficients a penalty on absolute values leaves free, if there is one."""
        return self.geometry.minimizer.active

    def gradient(self, theta: Array) -> Array:
        """Return the gradient of the unchanged objective at each of many parameters.

        Parameters
        ----------
        theta : ndarray of shape (m, outputs, p)

        Returns
        -------
        ndarray of shape (m, outputs * p)
        """

        def part(known: "_Known", margins: Array) -> Array:
            if known.batch.offset is not None:
                margins[:, :, 0] += known.batch.offset[:, None]
            return known.weighted(self.geometry.loss.slopes(margins, known.batch.labels))

        m, outputs, p = theta.shape
        total = self._total(part, theta, in_threads)
        return np.asarray(total + (self.penalty.T * theta).reshape(m, outputs * p))

    def beyond(self, moves: Array, factors: Array | None) -> Array:
        """Return R: the gradient of the data's part after each move, without its value and slope before.

        Parameters
        ----------
        moves : ndarray of shape (m, outputs, p)
            Each person's.
        factors : ndarray of shape (m, classes), optional
            Of class weights, each person's.
        """
        loss = self.geometry.loss

        def part(known: "_Known", margins: Array) -> Array:
            moved = known.weighted(loss.slopes(known.margins[:, None, :] + margins, known.batch.labels))
            if factors is not None:
                moved *= factors.T[known.classes][:, :, None]
            linear = (
                margins * known.curvature if loss.outputs == 1 else np.einsum("nmc,ncd->nmd", margins, known.curvature)
            )
            return np.asarray(moved - known.slope[:, None, :] - linear)

        if factors is not None or not isinstance(loss, Logistic):
            return self._total(part, moves)
        columns = np.ascontiguousarray(moves[:, 0].T)
        total = np.zeros_like(columns)
        for item in self.items:
            self.known_of(item).add_logistic_beyond(columns, total)
        return total.T

    @cached_property
    def cubic(self) -> Array | None:
        """The sum over all rows of w s''(m) / 2 x (x) x (x) x, shape (p, p * p), where it is cheap beside a pass.

        Of logistic loss; R is this times the square of the move, up to the cube of it.
        """
        p = self.geometry.parameters.shape[0]
        if not isinstance(self.geometry.loss, Logistic) or p**3 > _CUBIC * self.rows.count:
            return None

        def of(known: "_Known") -> Array:
            share, rest, weights = known.logistic
            dense = known.batch.augmented()
            scaled = dense * (0.5 * weights * share * rest * (rest - share))[:, None]
            total = np.empty((p, p, p))
            for a in range(p):
                total[a] = (dense * scaled[:, [a]]).T @ dense
            return total.reshape(p, p * p)

        return np.asarray(self.sum(of))

    def _total(self, part: Any, theta: Array, each: Callable[[Any, Any], Any] = map) -> Array:
        """Return the sum over all rows of part(row, margins) (x) row, shape (m, outputs * p)."""
        m, outputs, p = theta.shape
        columns = np.ascontiguousarray(theta.reshape(m * outputs, p).T)

        def of(known: "_Known") -> Array:
            size = len(known.batch)
            with np.errstate(all="ignore"):
                values = part(known, known.batch.project(columns).reshape(size, m, outputs))
                return known.batch.total(values.reshape(size, m * outputs))

        return np.asarray(self.sum(of, each).T.reshape(m, outputs * p))

    def sum(self, of: Callable[["_Known"], Any], each: Callable[[Any, Any], Any] = map) -> Any:
        """Return the sum of a function of all rows; not in threads where people are in threads already."""

        def part(item: "_Known | slice") -> Any:
            return of(self.known_of(item))

        return reduce(add, each(part, self.items))

    @cached_property
    def spans(self) -> list[slice]:
        """Rows that are read at once: more than in other passes, as preprocessing few takes as long as many."""
        size = self.at_once
        return [slice(at, min(at + size, self.rows.count)) for at in range(0, self.rows.count, size)]

    @property
    def at_once(self) -> int:
        """How many rows are read at once."""
        p, outputs = self.geometry.parameters.shape
        return int(max(_ROWS, min(_NUMBERS // p, _MOST_ROWS // outputs)))

    @cached_property
    def items(self) -> "Sequence[_Known | slice]":
        """All rows, some at a time, or where they stand if they are too many to be kept."""
        spans = self.spans
        if self.rows.count * self.geometry.parameters.shape[0] > _KEPT:
            return spans
        return list(in_threads(self.known_of, spans))

    def read(self, span: slice) -> Batch:
        """Return the rows of a span."""
        return self.known_of(self.items[self.spans.index(span)] if span in self.spans else span).batch

    def known_of(self, item: "_Known | slice") -> "_Known":
        """Return what is known of some rows."""
        if isinstance(item, _Known):
            return item
        span, batch = item, self.rows.read(item)
        if self.filled is not None:
            assert self.geometry.scales is not None
            batch = with_filled_moved(batch, self.rows.reading.affine, self.geometry.scales.filled, self.filled)
        if isinstance(batch.features, np.ndarray) and np.count_nonzero(batch.features) < _SPARSE * batch.features.size:
            batch = replace(batch, features=sparse.csr_array(batch.features))
        margins = batch.margins(self.geometry.parameters)
        slope, curvature, _ = derivatives(batch, self.geometry.loss, margins)
        return _Known(batch, margins, slope, curvature, self.rows.classes(span))

    def sums(
        self, position: Array, before: Batch, after: Batch, factors: Array | None, frame: Frame = _PLAIN
    ) -> NewtonSums:
        """Return value, gradient and Hessian of the data's part with some rows exchanged, at a position in a frame."""
        loss = self.geometry.loss

        def of(known: "_Known") -> NewtonSums:
            batch = known.batch
            if factors is not None:
                batch = replace(batch, weights=known.weighted(factors[known.classes]))
            return newton_sums(batch, loss, position, frame)

        whole: NewtonSums = self.sum(of)
        old, new = (newton_sums(batch, loss, position, frame) for batch in (before, after))
        return replace(
            whole,
            value=whole.value - old.value + new.value,
            gradient=whole.gradient - old.gradient + new.gradient,
            hessian=whole.hessian - old.hessian + new.hessian,
        )


@dataclass(frozen=True, eq=False)
class _Known:
    """Some rows of the data, and what the loss has to say of them at the minimizer."""

    batch: Batch
    margins: Array
    slope: Array
    curvature: Array
    classes: NDArray[np.intp] | None

    def weighted(self, values: Array) -> Array:
        """Return values, one or several a row, times the rows' weights."""
        weights = self.batch.weights
        return values if weights is None else values * weights.reshape(-1, *[1] * (values.ndim - 1))

    def add_logistic_beyond(self, moves: Array, total: Array) -> None:
        """Add what these rows contribute to R of logistic loss; moves and total have shape (p, m)."""
        features, (share, rest, weights) = self.batch.features, self.logistic
        if isinstance(features, np.ndarray):
            for start in range(0, len(features), _ROWS):
                at = slice(start, start + _ROWS)
                batch = self.batch.take(at)
                moved = batch.project(moves)
                dense_beyond(moved, share[at], rest[at], weights[at])
                total += batch.total(moved)
            return
        where = features.indptr, features.indices, features.data
        sparse_beyond(*where, self.batch.intercept, moves, share, rest, weights, total)

    @cached_property
    def logistic(self) -> tuple[Array, Array, Array]:
        """The probabilities of both labels, and the weights."""
        m = self.margins[:, 0]
        return expit(m), expit(-m), self.batch.every_weight
