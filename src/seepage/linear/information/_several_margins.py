"""The row-local pass for models with several outputs (softmax, several targets).

With A = G^T G in blocks A_cd (p x p) for each pair of outputs, and s_j = S tau_j, the information about the
coordinates j and l is (eq. 2.13)

    I_jl = sum_cd (rho_c T_j + s_jc x)^T A_cd (rho_d T_l + s_ld x).

No Jacobian is held: x enters through x^T A_cd x and through E_d = sum_c rho_c T^T A_cd x alone.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage.linear.information._geometry import Geometry
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch

Array = NDArray[np.float64]

# Numbers in the largest temporary: rows x coordinates x coordinates.
_MOST_NUMBERS = 2**22


@dataclass(frozen=True, eq=False)
class SeveralMargins:
    """Scores rows of a model with several outputs."""

    geometry: Geometry

    @cached_property
    def _metric(self) -> Array:
        """A, shape (outputs, p, outputs, p)."""
        p, outputs = self.geometry.parameters.shape
        return (self.geometry.response.T @ self.geometry.response).reshape(outputs, p, outputs, p)

    @cached_property
    def _across(self) -> Array:
        """A_cd T, shape (p, outputs, outputs, k): turns x into every T^T A_cd x at once."""
        outputs, p = self._metric.shape[:2]
        flat = self._metric.transpose(1, 0, 2, 3).reshape(-1, p)
        return np.asarray(flat @ self.geometry.reading).reshape(p, outputs, outputs, -1)

    @cached_property
    def _within(self) -> Array:
        """T^T A_cd T, shape (outputs, outputs, k, k)."""
        outputs, p = self._metric.shape[:2]
        k = self._across.shape[-1]
        flat = self.geometry.reading.T @ self._across.reshape(p, -1)
        return np.asarray(flat).reshape(k, outputs, outputs, k).transpose(1, 2, 0, 3)

    def examples(self, batch: Batch) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        size = self.geometry.values
        top, trace = np.empty(len(batch)), np.empty(len(batch))
        for rows, pieces in self._pieces(batch, size):
            information = self._information(pieces, np.arange(self.geometry.reading.shape[1]), with_label=True)
            top[rows] = np.linalg.eigvalsh(information)[:, -1] if size else 0.0
            trace[rows] = np.trace(information, axis1=1, axis2=2)
        return np.maximum(top, 0.0), np.maximum(trace, 0.0)

    def attributes(self, batch: Batch) -> Array:
        """Return the largest eigenvalue of each attribute's block of each row's information, then the label's."""
        geometry = self.geometry
        found = np.zeros((len(batch), len(geometry.blocks) + (not geometry.public_label)))
        single = [i for i, block in enumerate(geometry.blocks) if len(block) == 1]
        at = np.concatenate([geometry.blocks[i] for i in single]) if single else np.empty(0, dtype=np.intp)
        for rows, pieces in self._pieces(batch, max(max(map(len, geometry.blocks), default=1), 1)):
            found[rows, single] = self._diagonal(pieces, at)
            for i, block in enumerate(geometry.blocks):
                if len(block) > 1:
                    information = self._information(pieces, block, with_label=False)
                    found[rows, i] = np.linalg.eigvalsh(information)[:, -1]
            if not geometry.public_label:
                found[rows, -1] = np.linalg.eigvalsh(self._label(pieces))[:, -1]
        return np.maximum(found, 0.0)

    def _pieces(self, batch: Batch, size: int):  # type: ignore[no-untyped-def]
        """Yield slices of rows with (rho, s, B, E, x^T A x)."""
        geometry = self.geometry
        outputs, k = geometry.outputs, geometry.reading.shape[1]
        slope, curvature, label_slope = derivatives(batch, geometry.loss, batch.project(geometry.parameters))
        sensitivity = np.einsum("ncd,jd->njc", curvature, geometry.tau)
        step = max(_MOST_NUMBERS // max(size**2, outputs**2 * max(k, 1), batch.width), 1)
        for start in range(0, len(batch), step):
            rows = slice(start, start + step)
            part = Batch(batch.features[rows], batch.labels[rows], None, batch.intercept)
            rho = slope[rows]
            across = part.project(self._across.reshape(batch.width, -1)).reshape(len(part), outputs, outputs, k)
            turned = np.einsum("nd,ncdk->nck", rho, across)
            quadratic = np.empty((len(part), outputs, outputs))
            for c in range(outputs):
                for d in range(outputs):
                    half = part.project(np.ascontiguousarray(self._metric[c, :, d, :]))
                    quadratic[:, c, d] = _row_products(part, half)
            yield rows, (rho, sensitivity[rows], label_slope[rows], turned, quadratic)

    def _information(self, pieces: tuple[Array, ...], at: NDArray[np.intp], *, with_label: bool) -> Array:
        """Return the information about the coordinates `at` (and the label), shape (n, size, size)."""
        rho, sensitivity, label_slope, turned, quadratic = pieces
        s: Array = sensitivity[:, at]
        e: Array = turned[:, :, at]
        outer = (rho[:, :, None] * rho[:, None, :]).reshape(len(rho), -1)
        within = self._within[:, :, at[:, None], at].reshape(outer.shape[1], -1)
        information = (outer @ within).reshape(len(rho), len(at), len(at))
        mixed = np.einsum("ndj,nld->njl", e, s)
        information += mixed + mixed.transpose(0, 2, 1) + s @ quadratic @ s.transpose(0, 2, 1)
        if self.geometry.public_label or not with_label:
            return information
        size = len(at) + self.geometry.outputs
        whole = np.empty((len(rho), size, size))
        whole[:, : len(at), : len(at)] = information
        border = e.transpose(0, 2, 1) @ label_slope + s @ quadratic @ label_slope
        whole[:, : len(at), len(at) :] = border
        whole[:, len(at) :, : len(at)] = border.transpose(0, 2, 1)
        whole[:, len(at) :, len(at) :] = self._label(pieces)
        return whole

    def _diagonal(self, pieces: tuple[Array, ...], at: NDArray[np.intp]) -> Array:
        """Return the diagonal entries of the coordinates `at`, shape (n, len(at))."""
        rho, sensitivity, _, turned, quadratic = pieces
        s: Array = sensitivity[:, at]
        e: Array = turned[:, :, at]
        outer = (rho[:, :, None] * rho[:, None, :]).reshape(len(rho), -1)
        within = self._within[:, :, at, at].reshape(outer.shape[1], -1)
        return np.asarray(outer @ within + 2.0 * np.einsum("ndj,njd->nj", e, s) + ((s @ quadratic) * s).sum(axis=2))

    def _label(self, pieces: tuple[Array, ...]) -> Array:
        _, _, label_slope, _, quadratic = pieces
        return np.asarray(label_slope.transpose(0, 2, 1) @ quadratic @ label_slope)


def _row_products(batch: Batch, half: Array) -> Array:
    """Return the inner product of each [x, 1] with its row of `half`."""
    inner = half[:, :-1] if batch.intercept else half
    if isinstance(batch.features, np.ndarray):
        product = np.einsum("ij,ij->i", batch.features, inner)
    else:
        product = np.asarray(batch.features.multiply(inner).sum(axis=1)).ravel()
    return np.asarray(product + half[:, -1] if batch.intercept else product)
