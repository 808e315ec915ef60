"""The row-local pass for models with one output: J_i = [ r K + a u tau^T ,  b u ]  (eq. 2.7).

K = G T and tau = T^T theta are the same for all rows, so that one search serves for the largest eigenvalue, and sums
over single rows for the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from seepage.linear.information._geometry import Geometry
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch
from seepage.linear.spectra import top_eigenvalues

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OneSlope:
    """Scores rows whose features all have one slope: a multiple of K, and a direction u of the row's own."""

    moved: Array
    """K, shape (published, k)."""
    tau: Array
    """Shape (k,)."""

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """D in descending order and Q, with K K^T = Q diag(D) Q^T (eq. 3.1)."""
        values, vectors = eigh(self.moved @ self.moved.T)
        return np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])

    @property
    def vectors(self) -> Array:
        """Q, by which rows are turned to where K K^T is diagonal."""
        return self._spectrum[1]

    @cached_property
    def _fixed(self) -> Array:
        """The rotated v = Q^T K tau."""
        return np.asarray(self.vectors.T @ (self.moved @ self.tau))

    def examples(self, turned: Array, r: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace (eq. 2.8) of each row's information.

        Parameters
        ----------
        turned : ndarray of shape (n, published)
            Q^T u.
        r, a, b : ndarray of shape (n,)
        """
        diagonal, _ = self._spectrum
        c = a**2 * float(self.tau @ self.tau) + b**2
        top, norms, inner = _top(diagonal, turned, self._fixed, r**2, c, a * r, row_is_g=True)
        trace = r**2 * diagonal.sum() + 2.0 * a * r * inner + c * norms
        return top, np.maximum(trace, 0.0)

    def attributes(self, u: Array, r: Array, a: Array, blocks: Sequence[NDArray[np.intp]]) -> Array:
        """Return the largest eigenvalue of each attribute's block of each row's information."""
        tau, norms, inner = self.tau, np.einsum("ij,ij->i", u, u), u @ self.moved
        squares = np.einsum("ij,ij->j", self.moved, self.moved)
        found = np.zeros((len(u), len(blocks)))
        single = [i for i, block in enumerate(blocks) if len(block) == 1]
        if single:
            at = np.concatenate([blocks[i] for i in single])
            # I_jj = r^2 |k_j|^2 + 2 a r tau_j (k_j . u) + a^2 tau_j^2 |u|^2  (eq. 2.9)
            value = (2.0 * a * r)[:, None] * tau[at] * inner[:, at]
            value += (r**2)[:, None] * squares[at]
            value += (a**2 * norms)[:, None] * tau[at] ** 2
            found[:, single] = np.maximum(value, 0.0)
        for i, block in enumerate(blocks):
            if len(block) > 1:
                diagonal, vectors = self._spectrum_of(i, block)
                rows, fixed = inner[:, block] @ vectors, vectors.T @ tau[block]
                found[:, i], _, _ = _top(diagonal, rows, fixed, r**2, a**2 * norms, a * r, row_is_g=False)
        return found

    def _spectrum_of(self, attribute: int, block: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the spectrum of an attribute's columns of K."""
        if attribute not in self._spectra:
            columns = self.moved[:, block]
            values, vectors = eigh(columns.T @ columns)
            self._spectra[attribute] = np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])
        return self._spectra[attribute]

    @cached_property
    def _spectra(self) -> dict[int, tuple[Array, Array]]:
        return {}

    def gram(self, u: Array, r: Array) -> Array:
        """Return the sum over rows of (r K + u tau^T)(r K + u tau^T)^T."""
        crossed = np.outer(self.moved @ self.tau, r @ u)
        found = float(r @ r) * (self.moved @ self.moved.T) + crossed + crossed.T
        return np.asarray(found + float(self.tau @ self.tau) * (u.T @ u))


@dataclass(frozen=True, eq=False)
class OneMargin:
    """Scores rows of a model with one output."""

    geometry: Geometry

    @cached_property
    def _slope(self) -> OneSlope:
        return OneSlope(self.geometry.moved, self.geometry.tau[:, 0])

    @cached_property
    def _projection(self) -> Array:
        """The matrix that turns x into its rotated u = Q^T G x."""
        return np.ascontiguousarray(self.geometry.response.T @ self._slope.vectors)

    def examples(self, batch: Batch) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        batch = self.geometry.frame.rows(batch)
        return self._slope.examples(batch.project(self._projection), *self._slopes(batch))

    def attributes(self, batch: Batch) -> Array:
        """Return the largest eigenvalue of each attribute's block of each row's information, then the label's."""
        geometry = self.geometry
        batch = geometry.frame.rows(batch)
        u, (r, a, b) = batch.project(geometry.response.T), self._slopes(batch)
        found = self._slope.attributes(u, r, a, geometry.blocks)
        if geometry.public_label:
            return found
        # I_yy  (eq. 2.10)
        return np.column_stack([found, b**2 * np.einsum("ij,ij->i", u, u)])

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
    top_eigenvalues(diagonal, np.ascontiguousarray(rows), fixed, scale, alpha, beta, row_is_g, top, norms, inner)
    return np.maximum(top, 0.0), norms, inner
