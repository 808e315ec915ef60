"""What a model would print of people who are drawn anew: many fits at once, by Newton steps from the one there is.

Whoever is drawn twice is a row of weight two, so that all draws have the same rows. One person's own row is apart from
them, since an attacker's question changes it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seepage._tables import Array
from seepage.errors import UnansweredError
from seepage.linear.information import ERRORS
from seepage.linear.objective import penalty_hessian
from seepage.linear.printed._numbers import Numbers
from seepage.linear.rows import Batch

# Numbers in the largest temporary.
_MOST_NUMBERS = 2**22
_STEPS = 50
_CLOSE = 1e-9
# Nobody who was drawn has some value: there is no such fit.
_SINGULAR = 1e-11


@dataclass(frozen=True, eq=False)
class Redrawn:
    """The numbers that a model prints, where rows are weighed anew."""

    numbers: Numbers
    whole: Batch
    """All rows."""

    @classmethod
    def of(cls, numbers: Numbers, whole: Batch) -> "Redrawn":
        """Refuse what is not fitted anew."""
        found = cls(numbers, whole)
        if whole.missing:
            raise UnansweredError("Some cells were filled in with means of these rows, which are not drawn anew.")
        if numbers.geometry.scales is not None and numbers.problem.penalty.any():
            raise UnansweredError(
                "The penalty is on columns that were standardized with these rows, and a scaler is not drawn anew. Fit "
                "on columns that are scaled by public constants, or without a penalty."
            )
        if numbers.problem.beside:
            raise UnansweredError("A model with a parameter beside its coefficients is not drawn anew.")
        return found

    @cached_property
    def _rows(self) -> Batch:
        return self.numbers.geometry.frame.rows(self.whole)

    @cached_property
    def _design(self) -> Array:
        return self._rows.augmented()

    @cached_property
    def _squares(self) -> Array:
        return np.asarray(np.einsum("ni,nj->nij", self._design, self._design).reshape(len(self._design), -1))

    @cached_property
    def _read(self) -> Array:
        """From the position to the coefficients that are printed."""
        geometry = self.numbers.geometry
        matrix = geometry.frame.matrix(len(geometry.parameters))
        return np.asarray(self.numbers.read @ np.kron(np.eye(geometry.outputs), matrix))

    def __call__(self, weights: Array, own: Batch | None = None) -> Array:
        """Return the numbers of each draw, shape (draws, numbers); NaN where there is no fit.

        Parameters
        ----------
        weights : ndarray of shape (draws, n)
            How often each row was drawn.
        own : Batch, optional
            One more row in each draw.
        """
        row = None if own is None else self.numbers.geometry.frame.rows(own)
        outputs = self.numbers.geometry.outputs
        step, found = max(_MOST_NUMBERS // (len(self._design) * (outputs**2 + 3)), 1), []
        for start in range(0, len(weights), step):
            at = slice(start, start + step)
            found.append(self._some(weights[at], None if row is None else row.take(at)))
        return np.concatenate(found)

    def _some(self, weights: Array, own: Batch | None) -> Array:
        geometry, loss = self.numbers.geometry, self.numbers.geometry.loss
        draws, (n, q), c = len(weights), self._design.shape, geometry.outputs
        x = None if own is None else own.augmented()
        weight, drawn = weights * self._rows.every_weight, weights
        labels = np.broadcast_to(self._rows.labels, (draws, *self._rows.labels.shape))
        if own is not None:
            weight, drawn = np.column_stack([weight, own.every_weight]), np.column_stack([drawn, np.ones(draws)])
            labels = np.concatenate([labels, own.labels[:, None]], axis=1)
        flat = np.ascontiguousarray(labels).reshape(-1, labels.shape[2])
        rows = weight.shape[1]
        position = np.repeat(geometry.position[None], draws, axis=0)
        penalty = penalty_hessian(self.numbers.problem.penalty, geometry.frame.axes)

        def margins() -> Array:
            found = np.empty((draws, rows, c))
            found[:, :n] = np.einsum("nq,dqc->dnc", self._design, position, optimize=True)
            if self._rows.offset is not None:
                found[:, :n, 0] += self._rows.offset
            if own is not None and x is not None:
                found[:, n] = np.einsum("dq,dqc->dc", x, position)
                if own.offset is not None:
                    found[:, n, 0] += own.offset
            return found.reshape(-1, c)

        def slopes() -> tuple[Array, Array]:
            found = loss.derivatives(margins(), flat)
            slope = weight[:, :, None] * found.slope.reshape(draws, rows, c)
            bend = weight[:, :, None, None] * found.curvature.reshape(draws, rows, c, c)
            pulled = np.einsum("dnc,nq->dcq", slope[:, :n], self._design, optimize=True)
            bent = np.einsum("dncb,ns->dcbs", bend[:, :n], self._squares, optimize=True).reshape(draws, c, c, q, q)
            if x is not None:
                pulled = pulled + slope[:, n, :, None] * x[:, None, :]
                bent = bent + np.einsum("dcb,di,dj->dcbij", bend[:, n], x, x)
            return pulled.reshape(draws, -1), bent.transpose(0, 1, 3, 2, 4).reshape(draws, c * q, c * q) + penalty

        with np.errstate(all="ignore"):
            for _ in range(_STEPS):
                slope, bend = slopes()
                at = position.transpose(0, 2, 1).reshape(draws, -1)
                inverse = _inverse(bend)
                step = np.einsum("dij,dj->di", inverse, slope + at @ penalty)
                position = position - step.reshape(draws, c, q).transpose(0, 2, 1)
                moved = np.abs(step) / np.sqrt(np.einsum("dii->di", inverse))
                if not (moved > _CLOSE).any():
                    break
            found = self._numbers(position, _inverse(slopes()[1]), margins(), weight, drawn, flat)
        found[(moved > 1e-4).any(axis=1)] = np.nan
        return found

    def _numbers(
        self, position: Array, inverse: Array, margins: Array, weight: Array, drawn: Array, labels: Array
    ) -> Array:
        """Return what is printed of fits."""
        numbers, draws = self.numbers, len(position)
        parts = [position.transpose(0, 2, 1).reshape(draws, -1) @ self._read.T]
        dispersed, phi = numbers.geometry.loss.dispersed(margins, labels), np.ones((draws, 1))
        if dispersed is not None:
            square = dispersed.square.reshape(draws, weight.shape[1], -1)
            free = numbers.count - numbers.geometry.minimizer.position.size
            phi = np.einsum("dn,dnk->dk", weight, square) / free
        if ERRORS in numbers.published:
            squared = np.einsum("kp,dpq,kq->dk", self._read, inverse, self._read, optimize=True)
            parts.append(np.sqrt(np.maximum(squared, 0.0) * phi.mean(axis=1, keepdims=True)))
        if numbers._dispersions:
            parts.append(phi)
        if numbers._classes is not None:
            codes = numbers.problem.labels.codes
            assert codes is not None
            counted = labels.reshape(draws, weight.shape[1], -1) - codes[0]
            # From a label's numbers to which class it is; of the first, nothing.
            unit = np.linalg.lstsq(codes - codes[0], np.eye(len(codes))[:, 1:], rcond=None)[0]
            parts.append(np.einsum("dn,dnl,lk->dk", drawn, counted, unit, optimize=True))
        return np.concatenate(parts, axis=1)


def _inverse(matrices: Array) -> Array:
    """Return inverses, NaN where there is none."""
    scale = np.sqrt(np.maximum(np.einsum("dii->di", matrices), 1e-300))
    scaled = matrices / scale[:, :, None] / scale[:, None, :]
    known = np.isfinite(scaled).all(axis=(1, 2))
    values, vectors = np.linalg.eigh(np.where(known[:, None, None], scaled, 0.0))
    values = np.where(known[:, None] & (values[:, :1] > _SINGULAR * values[:, -1:]), values, np.nan)
    found = np.einsum("dik,dk,djk->dij", vectors, 1 / values, vectors, optimize=True)
    return np.asarray(found / scale[:, :, None] / scale[:, None, :])
