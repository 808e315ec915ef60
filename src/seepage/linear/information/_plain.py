"""The row-local pass for models whose features nothing was fitted on.

With A = G^T G in blocks A_cd (q x q) for each pair of outputs, and s_j = S tau_j, the information about the
coordinates j and l is (eq. 2.13)

    I_jl = sum_cd (rho_c T_j + s_jc x)^T A_cd (rho_d T_l + s_ld x),

and a coordinate of the label has s = a column of B and no T. No Jacobian is held: x enters through Q_cd = x^T A_cd x
and E_c = sum_d rho_d T^T A_dc x alone, as

    I = sum_cd rho_c rho_d T^T A_cd T  +  E^T s^T + s E  +  s Q s^T.

For eta of everybody with one output no such pieces are made: J_i = [ r K + a u tau^T ,  b u ]  (eq. 2.7), with K = G T
and tau = T^T theta the same for all rows, so that one compiled search serves for the largest eigenvalue.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from seepage.linear.information._geometry import Geometry
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch
from seepage.linear.spectra import largest_by_products, top_eigenvalues, tops_of_all

Array = NDArray[np.float64]

# Numbers in the largest temporary, rows x outputs x outputs x features. The matrix that rows are multiplied by can be
# larger than any cache: few rows at a time would wait for it.
_MOST_NUMBERS = 2**23
# Up to this many values a whole matrix is cheaper than a search by products.
_SMALL = 64


class Pieces(NamedTuple):
    """What the information of some rows is made of."""

    rho: Array
    """Shape (n, outputs)."""
    s: Array
    """Of the coordinates, then of the label's, shape (n, outputs, values)."""
    e: Array
    """Shape (n, outputs, k)."""
    q: Array
    """Shape (n, outputs, outputs)."""


@dataclass(frozen=True, eq=False)
class Plain:
    """Scores rows of a model whose features nothing was fitted on."""

    geometry: Geometry

    @cached_property
    def _metric(self) -> Array:
        """A, shape (outputs, q, outputs, q)."""
        response, (q, outputs) = self.geometry.sharp.response, self.geometry.sharp.position.shape
        return (response.T @ response).reshape(outputs, q, outputs, q)

    @cached_property
    def _products(self) -> Array:
        """A, shape (q, outputs * outputs * q): turns x into every A_dc x at once."""
        outputs, q = self._metric.shape[:2]
        return np.ascontiguousarray(self._metric.transpose(1, 0, 2, 3).reshape(q, outputs * outputs * q))

    @cached_property
    def _within(self) -> Array:
        """T^T A_cd T for c <= d, the second added to its mirror image, shape (pairs, k, k)."""
        outputs, read = self.geometry.outputs, self.geometry.sharp.read
        found = []
        for c in range(outputs):
            for d in range(c, outputs):
                block = np.asarray((read.T @ (read.T @ self._metric[c, :, d, :]).T).T)
                found.append(block if c == d else block + block.T)
        return np.array(found)

    @cached_property
    def _read(self) -> Any:
        """T, dense where it is small: there a sparse product costs more than it computes."""
        read = self.geometry.sharp.read
        return read.toarray() if not isinstance(read, np.ndarray) and max(read.shape) <= _SMALL else read

    def examples(self, batch: Batch) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        values = self.geometry.values
        if self.geometry.outputs == 1:
            return self._examples_of_one_margin(batch)
        top, trace = np.zeros(len(batch)), np.zeros(len(batch))
        if not values:
            return top, trace
        for rows, pieces in self._pieces(batch):
            top[rows], trace[rows] = tops_and_traces(self._within, *pieces)
        return np.maximum(top, 0.0), np.maximum(trace, 0.0)

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """D in descending order and Q, with K K^T = Q diag(D) Q^T (eq. 3.1)."""
        moved = self.geometry.moved
        values, vectors = eigh(moved @ moved.T)
        return np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])

    @cached_property
    def _turning(self) -> tuple[Array, Array]:
        """The matrix that turns x into Q^T G x, and Q^T K tau."""
        geometry, vectors = self.geometry, self._spectrum[1]
        fixed = vectors.T @ (geometry.moved @ geometry.tau[:, 0])
        return np.ascontiguousarray(geometry.response.T @ vectors), fixed

    def _examples_of_one_margin(self, batch: Batch) -> tuple[Array, Array]:
        """Return the same of a model with one output, by one product of the rows and one compiled search."""
        geometry, (diagonal, _), (turning, fixed) = self.geometry, self._spectrum, self._turning
        batch = geometry.frame.rows(batch)
        slope, curvature, label_slope = derivatives(batch, geometry.loss, batch.margins(geometry.position))
        r, a, b = slope[:, 0], curvature[:, 0, 0], 0.0 if geometry.public_label else label_slope[:, 0, 0]
        c = a**2 * float(geometry.tau[:, 0] @ geometry.tau[:, 0]) + b**2
        top, norms, inner = np.empty(len(batch)), np.empty(len(batch)), np.empty(len(batch))
        turned = np.ascontiguousarray(batch.project(turning))
        top_eigenvalues(diagonal, turned, fixed, r**2, c, a * r, True, top, norms, inner)
        trace = r**2 * diagonal.sum() + 2.0 * a * r * inner + c * norms
        return np.maximum(top, 0.0), np.maximum(trace, 0.0)

    def attributes(self, batch: Batch) -> Array:
        """Return the largest eigenvalue of each attribute's block of each row's information, then the label's."""
        geometry = self.geometry
        k = geometry.reading.shape[1]
        found = np.zeros((len(batch), len(geometry.blocks) + (not geometry.public_label)))
        single = [i for i, block in enumerate(geometry.blocks) if len(block) == 1]
        at = np.concatenate([geometry.blocks[i] for i in single]) if single else np.empty(0, dtype=np.intp)
        for rows, pieces in self._pieces(batch):
            found[rows, single] = self._diagonal(pieces, at)
            for i, block in enumerate(geometry.blocks):
                if len(block) > 1:
                    found[rows, i] = self._block(pieces, i)
            if not geometry.public_label:
                found[rows, -1] = self._label(pieces, k)
        return np.maximum(found, 0.0)

    def _pieces(self, batch: Batch) -> Iterator[tuple[slice, Pieces]]:
        """Yield slices of rows with what their information is made of."""
        geometry, at = self.geometry, self.geometry.sharp
        q, outputs = at.position.shape
        batch = at.frame.rows(batch)
        slope, curvature, label_slope = derivatives(batch, geometry.loss, batch.margins(at.position))
        s = np.tensordot(curvature, geometry.tau, ([2], [1]))
        if not geometry.public_label:
            s = np.concatenate([s, label_slope], axis=2)
        step = max(_MOST_NUMBERS // (outputs**2 * q), 1)
        for start in range(0, len(batch), step):
            rows = slice(start, start + step)
            part = batch.take(rows)
            products = part.project(self._products).reshape(len(part), outputs, outputs, q)
            turned = slope[rows, :1, None] * products[:, :, 0]
            for d in range(1, outputs):
                turned += slope[rows, d, None, None] * products[:, :, d]
            e = np.asarray(turned.reshape(-1, q) @ self._read).reshape(len(part), outputs, -1)
            quadratic = _row_products(part, products.reshape(len(part), -1, q)).reshape(len(part), outputs, outputs)
            yield rows, Pieces(slope[rows], s[rows], e, quadratic)

    def _block(self, pieces: Pieces, attribute: int) -> Array:
        """Return the largest eigenvalue of the information about one attribute."""
        at = self.geometry.blocks[attribute]
        s, e = np.ascontiguousarray(pieces.s[:, :, at]), np.ascontiguousarray(pieces.e[:, :, at])
        return tops_and_traces(np.ascontiguousarray(self._within[:, at[:, None], at]), pieces.rho, s, e, pieces.q)[0]

    def _diagonal(self, pieces: Pieces, at: NDArray[np.intp]) -> Array:
        """Return the diagonal entries of the coordinates `at`, shape (n, len(at))."""
        # Taking columns out copies them: rarely are they not all there are, and in order.
        whole = len(at) == pieces.e.shape[2] and (at == np.arange(len(at))).all()
        s, e = (pieces.s[:, :, : len(at)], pieces.e) if whole else (pieces.s[:, :, at], pieces.e[:, :, at])
        found = _products_of_pairs(pieces.rho) @ self._within[:, at, at]
        for c in range(s.shape[1]):
            # Q s + 2 E, output by output: products of small matrices for each row cost more than they compute.
            turned = 2.0 * e[:, c]
            for d in range(s.shape[1]):
                turned += pieces.q[:, c, d, None] * s[:, d]
            turned *= s[:, c]
            found += turned
        return np.asarray(found)

    def _label(self, pieces: Pieces, k: int) -> Array:
        """Return the largest eigenvalue of the information about the label, whose coordinates begin at k."""
        none, blocks = np.empty((len(pieces.s), self.geometry.outputs, 0)), np.empty((len(self._within), 0, 0))
        return tops_and_traces(blocks, pieces.rho, np.ascontiguousarray(pieces.s[:, :, k:]), none, pieces.q)[0]


def tops_and_traces(within: Array, rho: Array, s: Array, e: Array, q: Array) -> tuple[Array, Array]:
    """Return the largest eigenvalue and the trace of each row's information.

    Parameters
    ----------
    within : ndarray of shape (pairs, k, k)
    rho, s, e, q : ndarray
        As in `Pieces`.
    """
    pairs, (count, _, values), k = _products_of_pairs(rho), s.shape, within.shape[1]
    top, trace = np.empty(count), np.empty(count)
    if values <= _SMALL:
        tops_of_all(pairs, within, s, e, q, top, trace)
        return top, trace
    trace = ((q @ s) * s).sum(axis=(1, 2)) + 2.0 * (s[:, :, :k] * e).sum(axis=(1, 2))
    trace += pairs @ np.trace(within, axis1=1, axis2=2)
    step = max(_MOST_NUMBERS // k**2, 1)
    for start in range(0, count, step):
        some = slice(start, start + step)
        inner, own, reached = np.tensordot(pairs[some], within, 1), s[some], e[some]

        def product(
            vectors: Array, inner: Array = inner, s: Array = own, e: Array = reached, q: Array = q[some]
        ) -> Array:
            seen, column = s @ vectors[:, :, None], vectors[:, :k, None]
            found = s.transpose(0, 2, 1) @ (q @ seen + e @ column)
            found[:, :k] += e.transpose(0, 2, 1) @ seen + inner @ column
            return np.asarray(found[:, :, 0])

        top[some] = largest_by_products(product, len(inner), values)
    return top, trace


def _products_of_pairs(rho: Array) -> Array:
    """Return rho_c rho_d for c <= d, shape (n, pairs)."""
    first, second = np.triu_indices(rho.shape[1])
    return np.asarray(rho[:, first] * rho[:, second])


def _row_products(batch: Batch, vectors: Array) -> Array:
    """Return the inner products of each [x, 1] with its own vectors, shape (n, vectors)."""
    return np.asarray((vectors @ batch.augmented()[:, :, None])[:, :, 0])
