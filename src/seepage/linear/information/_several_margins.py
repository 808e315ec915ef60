"""The row-local pass for models with several outputs (softmax, several targets).

With A = G^T G in blocks A_cd (q x q) for each pair of outputs, and s_j = S tau_j, the information about the
coordinates j and l is (eq. 2.13)

    I_jl = sum_cd (rho_c T_j + s_jc x)^T A_cd (rho_d T_l + s_ld x),

and a coordinate of the label has s = a column of B and no T. No Jacobian is held: x enters through Q_cd = x^T A_cd x
and E_c = sum_d rho_d T^T A_dc x alone, as

    I = sum_cd rho_c rho_d T^T A_cd T  +  E^T s^T + s E  +  s Q s^T.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage.linear.information._geometry import Geometry
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch
from seepage.linear.spectra import Wide, products_of_pairs, tops_of_all

Array = NDArray[np.float64]

# Numbers in the largest temporary, rows x outputs x outputs x features. The matrix that rows are multiplied by can be
# larger than any cache: few rows at a time would wait for it.
_MOST_NUMBERS = 2**23
# Up to this many values a whole matrix is cheaper than a search in a part of it.
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
class SeveralMargins:
    """Scores rows of a model with several outputs."""

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

    @cached_property
    def _wide(self) -> Wide:
        return Wide.of(self._within, self.geometry.outputs)

    @cached_property
    def _wide_blocks(self) -> dict[int, Wide]:
        """For each attribute of very many coordinates, what finds its largest eigenvalues."""
        wide = {i: block for i, block in enumerate(self.geometry.blocks) if len(block) > _SMALL}
        return {i: Wide.of(self._within[:, at[:, None], at], self.geometry.outputs) for i, at in wide.items()}

    def examples(self, batch: Batch) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        values = self.geometry.values
        top, trace = np.zeros(len(batch)), np.zeros(len(batch))
        if not values:
            return top, trace
        for rows, pieces in self._pieces(batch):
            if values <= _SMALL:
                pairs = products_of_pairs(pieces.rho)
                tops_of_all(pairs, self._within, pieces.s, pieces.e, pieces.q, top[rows], trace[rows])
            else:
                top[rows], trace[rows] = self._wide.tops(pieces.rho, pieces.s, pieces.e, pieces.q)
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
        if len(at) > _SMALL:
            return self._wide_blocks[attribute].tops(pieces.rho, s, e, pieces.q)[0]
        within = np.ascontiguousarray(self._within[:, at[:, None], at])
        top, trace = np.empty(len(s)), np.empty(len(s))
        tops_of_all(products_of_pairs(pieces.rho), within, s, e, pieces.q, top, trace)
        return top

    def _diagonal(self, pieces: Pieces, at: NDArray[np.intp]) -> Array:
        """Return the diagonal entries of the coordinates `at`, shape (n, len(at))."""
        # Taking columns out copies them: rarely are they not all there are, and in order.
        whole = len(at) == pieces.e.shape[2] and (at == np.arange(len(at))).all()
        s, e = (pieces.s[:, :, : len(at)], pieces.e) if whole else (pieces.s[:, :, at], pieces.e[:, :, at])
        found = products_of_pairs(pieces.rho) @ self._within[:, at, at]
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
        top, trace = np.empty(len(pieces.s)), np.empty(len(pieces.s))
        outputs = self.geometry.outputs
        none, blocks = np.empty((len(top), outputs, 0)), np.empty((len(self._within), 0, 0))
        label = np.ascontiguousarray(pieces.s[:, :, k:])
        tops_of_all(products_of_pairs(pieces.rho), blocks, label, none, pieces.q, top, trace)
        return top


def _row_products(batch: Batch, vectors: Array) -> Array:
    """Return the inner products of each [x, 1] with its own vectors, shape (n, vectors)."""
    return np.asarray((vectors @ batch.augmented()[:, :, None])[:, :, 0])
