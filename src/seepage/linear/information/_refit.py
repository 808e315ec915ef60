"""The exact minimizer with one person's record changed, for many people at once.

Replacing row (x, y) by (x', y') changes the Hessian by a matrix of rank two per output and the gradient by a vector in
the same span: with V = [x, x'], E = diag(-a, a') and c = [-r, r'] (eq. 4.3),

    (H + V E V^T)^-1 V c = H^-1 V (I + E N)^-1 c,     N = V^T H^-1 V.

For squared loss that one step is the refit. Otherwise it is the first of a few Newton steps that keep this Hessian and
renew the gradient over all rows; their error shrinks by a factor of the order of the change itself.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from seepage._errors import MinimizerError
from seepage.linear.information._geometry import Geometry
from seepage.linear.objective import Loss, VectorLoss, derivatives
from seepage.linear.rows import Batch, RowsInMemory, in_threads

Array = NDArray[np.float64]

_MOST_STEPS = 50
_SETTLED = 1e-10
# People at a time: their margins on a batch of rows are one matrix.
_PEOPLE = 1024


@dataclass(frozen=True, eq=False)
class Refit:
    """Refits a model with single records changed."""

    rows: RowsInMemory
    geometry: Geometry
    penalty: Array
    """Shape (p, outputs)."""

    def moves(self, before: Batch, after: Batch) -> Array:
        """Return by how much the minimizer moves when each row of `before` becomes that row of `after`.

        Returns
        -------
        ndarray of shape (n, outputs * p)
            Output by output. Row i belongs to a dataset in which only record i changed.
        """
        found = np.empty((len(before), self.geometry.hessian_inverse.shape[0]))
        for start in range(0, len(before), _PEOPLE):
            at = np.arange(start, min(start + _PEOPLE, len(before)))
            swap = _Swap.of(before.take(at), after.take(at), self.geometry)
            found[at] = -swap.solve(swap.gradient)
            if not self.geometry.loss.quadratic:
                found[at] = self._settle(swap, found[at])
        return found

    def distances(self, before: Batch, after: Batch) -> Array:
        """Return the length of each move in units of the noise."""
        return np.asarray(np.linalg.norm(self.geometry.in_noise_units(self.moves(before, after)), axis=1))

    def _settle(self, swap: "_Swap", moved: Array) -> Array:
        """Take Newton steps with the gradient over all rows until each person's move is settled."""
        outputs, p = self.geometry.outputs, self.geometry.parameters.shape[0]
        start = self.geometry.parameters.T.ravel()
        # Rounding in the gradient over all rows leaves the parameters uncertain by this much.
        rounding = 1e-15 * float(np.linalg.norm(start))
        active = np.arange(len(moved))
        previous = np.full(len(moved), np.inf)
        for _ in range(_MOST_STEPS):
            theta = (start + moved[active]).reshape(len(active), outputs, p)
            step = swap.solve_vector(self._gradient(theta) + swap.correction(theta, active), active)
            moved[active] -= step
            length = np.linalg.norm(step, axis=1)
            if not (length <= 10 * previous[active]).all():
                break
            previous[active] = length
            reach = np.linalg.norm(moved[active], axis=1)
            active = active[length > _SETTLED * reach + rounding]
            if not len(active):
                return moved
        raise MinimizerError(
            f"Refitting with one record changed did not settle for {len(active)} people: the data has so few rows that "
            "one record moves the model far. Fit with a stronger penalty."
        )

    def _gradient(self, theta: Array) -> Array:
        """Return the gradient of the unchanged objective at each of many parameters, shape (m, outputs * p)."""
        m, outputs, p = theta.shape
        columns = np.ascontiguousarray(theta.reshape(m * outputs, p).T)

        def part(span: slice) -> Array:
            batch = self.rows.read(span)
            margins = batch.project(columns).reshape(len(batch), m, outputs)
            slopes = _many_slopes(self.geometry.loss, margins, batch.labels)
            if batch.weights is not None:
                slopes = slopes * batch.weights[:, None, None]
            return batch.total(slopes.reshape(len(batch), m * outputs))

        total = reduce(np.add, in_threads(part, self.rows.spans()))
        return np.asarray((total.T.reshape(m, outputs, p) + self.penalty.T * theta).reshape(m, outputs * p))


@dataclass(frozen=True, eq=False)
class _Swap:
    """Many single-record changes, each with its own low-rank update of one Hessian."""

    before: Batch
    after: Batch
    geometry: Geometry
    lifted: Array
    """H^-1 V, shape (n, outputs * p, 2 * outputs)."""
    capacitance: Array
    """(I + E N)^-1, shape (n, 2 * outputs, 2 * outputs)."""
    weights: Array
    """E, shape (n, 2 * outputs, 2 * outputs)."""
    gradient: Array
    """c, shape (n, 2 * outputs)."""

    @classmethod
    def of(cls, before: Batch, after: Batch, geometry: Geometry) -> "_Swap":
        n, outputs, p = len(before), geometry.outputs, geometry.parameters.shape[0]
        blocks = geometry.hessian_inverse.reshape(outputs * p, outputs, p)
        lifted = np.empty((n, outputs * p, 2 * outputs))
        for side, batch in enumerate((before, after)):
            for c in range(outputs):
                lifted[:, :, side * outputs + c] = batch.project(np.ascontiguousarray(blocks[:, c, :].T))
        old = derivatives(before, geometry.loss, before.project(geometry.parameters))
        new = derivatives(after, geometry.loss, after.project(geometry.parameters))
        weights = np.zeros((n, 2 * outputs, 2 * outputs))
        weights[:, :outputs, :outputs] = -old.curvature
        weights[:, outputs:, outputs:] = new.curvature
        # V^T H^-1 V, shape (n, 2 * outputs, 2 * outputs).
        shaped = lifted.reshape(n, outputs, p, 2 * outputs)
        inner = np.concatenate(
            [np.einsum("na,ncam->ncm", batch.augmented(), shaped) for batch in (before, after)], axis=1
        )
        capacitance = np.linalg.inv(np.eye(2 * outputs) + weights @ inner)
        gradient = np.concatenate([-old.slope, new.slope], axis=1)
        return cls(before, after, geometry, lifted, capacitance, weights, gradient)

    def solve(self, coefficients: Array) -> Array:
        """Return (H + V E V^T)^-1 V c."""
        inner = np.einsum("nij,nj->ni", self.capacitance, coefficients)
        return np.asarray(np.einsum("npi,ni->np", self.lifted, inner))

    def solve_vector(self, vectors: Array, active: NDArray[np.intp]) -> Array:
        """Return (H + V E V^T)^-1 g for any g: H^-1 g - H^-1 V (I + E N)^-1 E V^T H^-1 g."""
        lifted, plain = self.lifted[active], vectors @ self.geometry.hessian_inverse
        seen = np.einsum("npi,np->ni", lifted, vectors)
        inner = np.einsum("nij,njk,nk->ni", self.capacitance[active], self.weights[active], seen)
        return np.asarray(plain - np.einsum("npi,ni->np", lifted, inner))

    def correction(self, theta: Array, active: NDArray[np.intp]) -> Array:
        """Return what the changed record adds to the gradient at its own parameters, shape (m, outputs * p)."""
        total = np.zeros((len(active), theta.shape[1], theta.shape[2]))
        for sign, batch in ((-1.0, self.before), (1.0, self.after)):
            part = batch.take(active)
            dense = part.augmented()
            margins = np.einsum("na,nca->nc", dense, theta)
            slope = derivatives(part, self.geometry.loss, margins).slope
            total += sign * slope[:, :, None] * dense[:, None, :]
        return total.reshape(len(active), -1)


def _many_slopes(loss: VectorLoss, margins: Array, labels: Array) -> Array:
    """Return the slope of each row at each of many parameters, shape (n, m, outputs)."""
    n, m, outputs = margins.shape
    if isinstance(loss, Loss):
        return loss.slope(margins[:, :, 0], labels)[:, :, None]
    return loss.derivatives(margins.reshape(n * m, outputs), np.repeat(labels, m, axis=0)).slope.reshape(n, m, outputs)
