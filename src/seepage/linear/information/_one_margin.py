"""The row-local pass for models with one output: S_i = r^2 K K^T + a r (u v^T + v u^T) + c u u^T (eq. 2.7)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from seepage.linear.information._geometry import Geometry
from seepage.linear.information._spectrum import top_eigenvalues
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OneMargin:
    """Scores rows of a model with one output."""

    geometry: Geometry

    @cached_property
    def _projection(self) -> Array:
        """The matrix that turns x into its rotated u = Q^T G x."""
        _, vectors = self.geometry.spectrum
        return np.ascontiguousarray(self.geometry.response.T @ vectors)

    @cached_property
    def _fixed(self) -> Array:
        """The rotated v = Q^T K tau."""
        _, vectors = self.geometry.spectrum
        return np.asarray(vectors.T @ (self.geometry.moved @ self.geometry.tau[:, 0]))

    def examples(self, batch: Batch) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace (eq. 2.8) of each row's information."""
        geometry = self.geometry
        batch = geometry.frame.rows(batch)
        diagonal, _ = geometry.spectrum
        r, a, b = self._slopes(batch)
        tau_squares = float(geometry.tau[:, 0] @ geometry.tau[:, 0])
        c = a**2 * tau_squares + b**2
        top, norms, inner = _top(diagonal, batch.project(self._projection), self._fixed, r**2, c, a * r, row_is_g=True)
        trace = r**2 * diagonal.sum() + 2.0 * a * r * inner + c * norms
        return top, np.maximum(trace, 0.0)

    def attributes(self, batch: Batch) -> Array:
        """Return the largest eigenvalue of each attribute's block of each row's information, then the label's."""
        geometry = self.geometry
        batch = geometry.frame.rows(batch)
        tau = geometry.tau[:, 0]
        u = batch.project(geometry.response.T)
        r, a, b = self._slopes(batch)
        norms = np.einsum("ij,ij->i", u, u)
        inner = u @ geometry.moved
        squares = np.einsum("ij,ij->j", geometry.moved, geometry.moved)
        found = np.zeros((len(batch), len(geometry.blocks) + (not geometry.public_label)))
        single = [i for i, block in enumerate(geometry.blocks) if len(block) == 1]
        if single:
            at = np.concatenate([geometry.blocks[i] for i in single])
            # I_jj = r^2 |k_j|^2 + 2 a r tau_j (k_j . u) + a^2 tau_j^2 |u|^2  (eq. 2.9)
            value = (2.0 * a * r)[:, None] * tau[at] * inner[:, at]
            value += (r**2)[:, None] * squares[at]
            value += (a**2 * norms)[:, None] * tau[at] ** 2
            found[:, single] = np.maximum(value, 0.0)
        for i, (diagonal, vectors) in self._block_spectra.items():
            block = geometry.blocks[i]
            rows = inner[:, block] @ vectors
            found[:, i], _, _ = _top(diagonal, rows, vectors.T @ tau[block], r**2, a**2 * norms, a * r, row_is_g=False)
        if not geometry.public_label:
            # I_yy  (eq. 2.10)
            found[:, -1] = b**2 * norms
        return found

    @cached_property
    def _block_spectra(self) -> dict[int, tuple[Array, Array]]:
        """For each attribute of several coordinates, the spectrum of its columns of K."""
        spectra = {}
        for i, block in enumerate(self.geometry.blocks):
            if len(block) > 1:
                columns = self.geometry.moved[:, block]
                values, vectors = eigh(columns.T @ columns)
                spectra[i] = np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])
        return spectra

    def _slopes(self, batch: Batch) -> tuple[Array, Array, Array]:
        margins = batch.margins(self.geometry.position)
        slope, curvature, label_slope = derivatives(batch, self.geometry.loss, margins)
        b = label_slope[:, 0, 0]
        return slope[:, 0], curvature[:, 0, 0], np.zeros_like(b) if self.geometry.public_label else b


def _top(
    diagonal: Array, rows: Array, fixed: Array, scale: Array, alpha: Array, beta: Array, *, row_is_g: bool
) -> tuple[Array, Array, Array]:
    """Run the compiled kernel; return the top eigenvalues, |row|^2 and row . fixed."""
    count = len(rows)
    top, norms, inner = np.empty(count), np.empty(count), np.empty(count)
    top_eigenvalues(diagonal, rows, fixed, scale, alpha, beta, row_is_g, top, norms, inner)
    return np.maximum(top, 0.0), norms, inner
