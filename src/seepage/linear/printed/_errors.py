"""Standard errors as functions of the rows: classical, robust, by clusters.

B is the sum over rows of the curvature times x x^T, observed or expected; M is the sum of s s^T x x^T with s the slope
of each row's loss, or of such sums over a cluster. With r the row that reads a coefficient, h = B^-1 r and
u = B^-1 M h,

    classical   v = r . h       dv = -h^T dB h
    robust      v = h^T M h     dv = h^T dM h - 2 h^T dB u

and a standard error is the root of v, times the dispersion or a constant. HC2 and HC3 divide the squares of M by powers
of 1 - l, l = x^T B^-1 x, so that B moves them as well: dv has the further term -tr(Q dB).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.linear.objective import Loss, derivatives
from seepage.linear.results import Covariance
from seepage.linear.rows import Batch


class ErrorDerivatives(NamedTuple):
    """Derivatives of the rows' terms of v."""

    margins: Array
    """Shape (n, coefficients, outputs)."""
    labels: Array
    """Shape (n, coefficients, label values)."""
    along: Array
    """By x . h, shape (n, coefficients, outputs)."""
    through: Array | None
    """By x . u, if errors are robust."""
    rows: Array | None
    """By x where leverages count, shape (n, coefficients, size of x)."""


@dataclass(frozen=True, eq=False)
class Errors:
    """Squares v of standard errors before their factor."""

    loss: Loss
    bread: Loss
    """The loss whose curvature B is made of."""
    covariance: Covariance
    read: Array
    """r in the frame, shape (coefficients, outputs * q)."""
    inverse: Array
    """B^-1, shape (outputs * q, outputs * q)."""
    filling: Array | None = None
    """M h, of robust errors."""
    shifts: Array | None = None
    """Q, of HC2 and HC3, shape (coefficients, q, q)."""
    sums: Array | None = None
    """Scores along h of each cluster, shape (clusters, coefficients)."""

    def fitted(self, rows: Batch, margins: Array) -> "Errors":
        """Return the same with what robust errors sum over all rows."""
        if not self.covariance.is_robust:
            return self
        found, clusters = self, self.covariance.clusters
        if clusters is not None:
            sums = np.zeros((int(clusters.max()) + 1, len(self.read)))
            np.add.at(sums, clusters, self._scores(rows, margins))
            found = replace(self, sums=sums)
        scores, (slope, _, _) = found._scores(rows, margins), derivatives(rows, self.loss, margins)
        weights = found._weights(rows, scores, np.arange(len(rows)))
        filling = np.stack([rows.total(each[:, None] * slope).T.ravel() for each in weights.T])
        shifts = None
        if self._power:
            # The curvature of least squares is one.
            part = self._power * scores**2 * (1 - self._leverage(rows))[:, None] ** (-self._power - 1)
            part *= rows.every_weight[:, None]
            pulled = rows.augmented() @ self.inverse
            shifts = np.stack([(pulled * each[:, None]).T @ pulled for each in part.T])
        return replace(found, filling=filling, shifts=shifts)

    @property
    def _power(self) -> int:
        return {"HC2": 1, "HC3": 2}.get(self.covariance.kind, 0)

    @cached_property
    def along(self) -> Array:
        """The vectors h, shape (coefficients, outputs * q)."""
        return np.asarray(self.read @ self.inverse)

    @cached_property
    def through(self) -> Array:
        """The vectors u."""
        assert self.filling is not None
        return np.asarray(self.filling @ self.inverse)

    @property
    def values(self) -> Array:
        """V of each coefficient."""
        vectors = self.through if self.covariance.is_robust else self.along
        return np.asarray(np.maximum(np.einsum("kq,kq->k", self.read, vectors), 0.0))

    def terms(self, rows: Batch, margins: Array, places: NDArray[np.intp] | None) -> Array:
        """Return what each row adds to v, shape (n, coefficients)."""
        curvature, along = derivatives(rows, self.bread, margins).curvature, self._projected(rows, self.along)
        if not self.covariance.is_robust:
            return np.asarray(-np.einsum("ncd,nkc,nkd->nk", curvature, along, along, optimize=True))
        scores, through = self._scores(rows, margins), self._projected(rows, self.through)
        found = scores * self._weights(rows, scores, places)
        found -= 2.0 * np.einsum("ncd,nkc,nkd->nk", curvature, along, through, optimize=True)
        if self.shifts is not None:
            x = rows.augmented()
            found -= rows.every_weight[:, None] * np.einsum("nq,kqr,nr->nk", x, self.shifts, x, optimize=True)
        return np.asarray(found)

    def derivatives(self, rows: Batch, margins: Array, places: NDArray[np.intp] | None) -> ErrorDerivatives:
        """Return the derivatives of the terms; h, u and everything that is summed over rows are constant."""
        along, weight = self._projected(rows, self.along), rows.every_weight
        own, bread = derivatives(rows, self.loss, margins), derivatives(rows, self.bread, margins)
        labels = np.zeros((*along.shape[:2], self.loss.label_values))
        by_margin, robust = np.zeros(along.shape), self.covariance.is_robust
        other = 2.0 * self._projected(rows, self.through) if robust else along
        if not self.bread.quadratic:
            for i, unit in enumerate(np.eye(self.loss.outputs)):
                bend = self.bread.bend(margins, rows.labels, unit) * weight[:, None, None]
                by_margin[:, :, i] -= np.einsum("ncd,nkc,nkd->nk", bend, along, other, optimize=True)
            label_bend = self.bread.label_bend(margins, rows.labels) * weight[:, None, None, None]
            labels -= np.einsum("ncdv,nkc,nkd->nkv", label_bend, along, other, optimize=True)
        if not robust:
            by_along = -2.0 * np.einsum("ncd,nkd->nkc", bread.curvature, along, optimize=True)
            return ErrorDerivatives(by_margin, labels, by_along, None, None)
        scores = self._scores(rows, margins)
        twice = 2.0 * self._weights(rows, scores, places)[:, :, None]
        by_margin += twice * np.einsum("ncd,nkc->nkd", own.curvature, along, optimize=True)
        labels += twice * np.einsum("ncv,nkc->nkv", own.label_slope, along, optimize=True)
        by_along = twice * own.slope[:, None] - np.einsum("ncd,nkd->nkc", bread.curvature, other, optimize=True)
        by_through = -2.0 * np.einsum("ncd,nkd->nkc", bread.curvature, along, optimize=True)
        return ErrorDerivatives(by_margin, labels, by_along, by_through, self._by_rows(rows, scores))

    def _by_rows(self, rows: Batch, scores: Array) -> Array | None:
        """Return derivatives by x through its leverage."""
        if self.shifts is None:
            return None
        x = rows.augmented()
        part = self._power * scores**2 * (1 - self._leverage(rows))[:, None] ** (-self._power - 1)
        found = part[:, :, None] * (x @ self.inverse)[:, None] - np.einsum("nq,kqr->nkr", x, self.shifts)
        return np.asarray(2.0 * rows.every_weight[:, None, None] * found)

    def _projected(self, rows: Batch, vectors: Array) -> Array:
        """Return x . h for each row, coefficient and output, shape (n, coefficients, outputs)."""
        blocks = vectors.reshape(len(self.read), self.loss.outputs, -1)
        return np.stack([rows.project(np.ascontiguousarray(block.T)) for block in blocks.transpose(1, 0, 2)], axis=2)

    def _scores(self, rows: Batch, margins: Array) -> Array:
        """Return the scores along h, shape (n, coefficients)."""
        slope = derivatives(rows, self.loss, margins).slope
        return np.asarray(np.einsum("nc,nkc->nk", slope, self._projected(rows, self.along)))

    def _weights(self, rows: Batch, scores: Array, places: NDArray[np.intp] | None) -> Array:
        """Return what scores are multiplied by in M: themselves, or those of their cluster."""
        clusters = self.covariance.clusters
        if self.sums is not None and clusters is not None:
            assert places is not None
            return np.asarray(self.sums[clusters[places]])
        return scores if not self._power else scores * (1 - self._leverage(rows))[:, None] ** -float(self._power)

    def _leverage(self, rows: Batch) -> Array:
        x = rows.augmented()
        return np.asarray(rows.every_weight * np.einsum("nq,qr,nr->n", x, self.inverse, x))
