"""What becomes of a scaler, and of the noise behind it, when one record takes another value.

Seen in the units of the old scaler, the new one changes the penalty on a feature by (s'/s)^2, that on an absolute value
by s'/s, and nothing else of the fit, and makes noise of another shape: L Sigma L^T with L = 1 + sum_f b_f e_f^T, where
b_f has the entry s/s' - 1 at feature f and takes the move of the mean to the intercept.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seepage.linear.information._scales import Scales
from seepage.linear.rows import Batch
from seepage.meaning import TwoNormals

Array = NDArray[np.float64]

# Of the longest of some directions, what others add to them by rounding.
_SPANNED = 1e-13


@dataclass(frozen=True, eq=False)
class ChangedScales:
    """Of many records that change, each in data of its own: the features whose scaler moves."""

    features: NDArray[np.intp]
    """Shape (n, r); those that fewer records change are there all the same."""
    stretch: Array
    """s' / s, shape (n, r)."""
    lean: Array
    """What of a feature's coefficient goes to the intercept, shape (n, r)."""
    moved: Array
    """By how much the mean moves, in old deviations, shape (n, r)."""
    filled: Array
    """By how much cells that hold the mean of the others move, in old deviations, shape (n, r)."""

    @classmethod
    def of(cls, scales: Scales | None, before: Batch, after: Batch, rows: int = 1) -> "ChangedScales | None":
        """Return what moves when each row of `before` becomes that row of `after`; None where nothing does.

        So many `rows` in a row change in the same data.
        """
        touched = np.empty(0, dtype=np.intp) if scales is None else np.flatnonzero(scales.share)
        if scales is None or not len(touched) or not len(before):
            return None
        old, new = (scales.standardized(batch, touched) for batch in (before, after))
        changed = (old != new).reshape(-1, rows, len(touched)).any(axis=1)
        most = int(changed.sum(axis=1).max())
        if not most:
            return None
        at = np.argsort(~changed, axis=1, kind="stable")[:, :most]
        features, each = touched[at], np.repeat(at, rows, axis=0)
        old, new = np.take_along_axis(old, each, axis=1), np.take_along_axis(new, each, axis=1)
        weight = np.take_along_axis(scales.weights(before, touched), each, axis=1)
        gap, moved, grown = (
            part.reshape(-1, rows, most).sum(axis=1)
            for part in (new - old, weight * (new - old), weight * (new**2 - old**2))
        )
        # Cells that hold the mean of the others move by their share of the gap, and the scaler with them.
        filled, share, weight = gap / scales.having[features], scales.share[features], scales.filled_mean[features]
        moved = share * (moved + weight * gap)
        grown = share * (grown + (2 * scales.filled_deviation[features] + weight * filled) * gap)
        variance = 1.0 + grown - moved**2
        stretch = np.where(scales.deviates[features], np.sqrt(np.maximum(variance, 1e-300)), 1.0)
        shrunk = 1.0 / stretch - 1.0
        mean = np.where(scales.centered[features], scales.factor[features] * moved, 0.0)
        shift = scales.shift[features] if before.intercept else 0.0
        return cls(features, stretch, -shift * shrunk - mean * (1.0 + shrunk), moved, filled)

    def take(self, rows: slice | NDArray[np.bool_] | NDArray[np.intp]) -> "ChangedScales":
        """Return some of the records."""
        return replace(
            self,
            features=self.features[rows],
            stretch=self.stretch[rows],
            lean=self.lean[rows],
            moved=self.moved[rows],
            filled=self.filled[rows],
        )

    def rows(self, batch: Batch) -> Batch:
        """Return rows in the units of the new scaler, of a single change."""
        features = batch.features
        found = features.copy() if isinstance(features, np.ndarray) else np.asarray(features.toarray())
        found[:, self.features[0]] = found[:, self.features[0]] / self.stretch[0] + self.lean[0]
        return replace(batch, features=found)

    def reading(self, reading: sparse.csr_array) -> sparse.csr_array:
        """Return how features in those units move with each coordinate, of a single change."""
        return sparse.csr_array(sparse.diags_array(self.factors(reading.shape[0])) @ reading)

    def factors(self, size: int) -> Array:
        """Return what features in those units are of the old ones, of a single change."""
        each = np.ones(size)
        each[self.features[0]] = 1.0 / self.stretch[0]
        return each

    def parameters(self, theta: Array) -> Array:
        """Return parameters in those units, shape (p, outputs), of a single change."""
        found = theta.copy()
        found[self.features[0]] *= self.stretch[0][:, None]
        if self.lean[0].any():
            found[-1] -= self.lean[0] @ found[self.features[0]]
        return found

    def scales(self, scales: Scales, *, intercept: bool) -> Scales:
        """Return what a value does to the new scaler, of a single change."""
        at, stretch = self.features[0], self.stretch[0]
        center = scales.center.copy()
        center[at] = (center[at] + np.where(scales.centered[at], 0.0, self.moved[0])) / stretch
        # What is filled in sums to as much as before, less what the mean moved by.
        deviation = scales.filled_deviation.copy()
        deviation[at] = (deviation[at] + scales.filled_mean[at] * (self.filled[0] - self.moved[0])) / stretch
        shift = scales.shift
        if not intercept:
            # Without an intercept nothing takes up what is added behind the scaler: it is divided like the rest.
            shift = shift.copy()
            shift[at] /= stretch
        return replace(scales, center=center, shift=shift, filled_deviation=deviation)

    def penalties(self, penalty: Array) -> Array:
        """Return by how much the penalty on each feature changes, shape (n, r, outputs)."""
        return np.asarray(penalty[self.features] * (self.stretch**2 - 1.0)[:, :, None])

    def penalty(self, person: int, penalty: Array) -> Array:
        """Return all penalties, shape (p, outputs), in the data of one of the records."""
        found = penalty.copy()
        found[self.features[person]] *= self.stretch[person][:, None] ** 2
        return found

    def absolute(self, person: int, absolute: Array) -> Array:
        """Return all penalties on absolute values, shape (p,), in the data of one of the records."""
        found = absolute.copy()
        found[self.features[person]] *= self.stretch[person]
        return found

    def told_apart(self, moves: Array, scales: Scales) -> TwoNormals:
        """Return the releases before and after, in units of the noise before.

        With  L Sigma L^T = Sigma + 2 U W U^T  and V = Sigma^(-1/2) U, the two differ in the span of V, and in one more
        direction the means do alone.

        Parameters
        ----------
        moves : ndarray of shape (n, outputs * p)
            How the means move, in units of the old noise.
        scales : Scales
            The scaler.
        """
        directions, weights = self._difference(scales)
        seen, copies = self._along(moves, scales)
        values, axes = np.linalg.eigh(directions)
        kept = values > _SPANNED * values[:, -1:]
        root = axes * np.sqrt(np.where(kept, values, 0.0))[:, None]
        # V = X root^T, X having orthonormal columns: there 2 V W V^T is 2 root^T W root.
        more, turn = np.linalg.eigh(2.0 * root.transpose(0, 2, 1) @ weights @ root)
        into = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)[:, :, None] * axes.transpose(0, 2, 1)
        shift = np.einsum("nji,njk,nok->noi", turn, into, seen)
        rest = np.einsum("np,np->n", moves, moves) - np.einsum("noi,noi->n", shift, shift)
        # Outputs that are published and do not move have another noise all the same.
        still = np.zeros((len(moves), (copies - shift.shape[1]) * shift.shape[2]))
        ratio = np.tile(1.0 + more, (1, copies))
        return TwoNormals(
            np.column_stack([shift.reshape(len(moves), -1), still, np.sqrt(np.maximum(rest, 0.0))]),
            np.column_stack([ratio, np.ones(len(moves))]),
        )

    @property
    def _shrunk(self) -> Array:
        """By how much a coefficient shrinks: s / s' - 1."""
        return np.asarray(1.0 / self.stretch - 1.0)

    def _everywhere(self, scales: Scales) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, Array]:
        """Return where the features and their intercepts stand among all outputs, and the entries of b_f there."""
        first, (n, r) = np.arange(scales.published) * scales.size, self.stretch.shape
        at = (first[:, None] + self.features[:, None, :]).reshape(n, -1)
        again = (1, scales.published)
        return at, np.repeat(first + scales.size - 1, r), np.tile(self._shrunk, again), np.tile(self.lean, again)

    def _along(self, moves: Array, scales: Scales) -> tuple[Array, int]:
        """Return V^T times each move, output by output where they have noise alike, and how many such are published."""
        shrunk, n = self._shrunk, len(moves)
        if scales.covariance is None:
            # The same in every basis of the outputs; what is fitted beside them comes after, and has no feature.
            alike = moves.shape[1] == len(scales.lean) * scales.size
            outputs = len(scales.lean) if alike else scales.published
            each = moves[:, : outputs * scales.size].reshape(n, outputs, -1)
            own = np.take_along_axis(each, np.broadcast_to(self.features[:, None], (n, outputs, shrunk.shape[1])), 2)
            # b^T Sigma^-1 and e^T, of each output.
            along = shrunk[:, None] * own + self.lean[:, None] * each[:, :, -1:]
            return np.concatenate([along, own], axis=2), scales.published
        root = np.linalg.cholesky(scales.covariance)
        gap, pulled = moves @ root.T, np.linalg.solve(root.T, moves.T).T
        at, last, by, to = self._everywhere(scales)
        own = np.take_along_axis(gap, at, axis=1)[:, None]
        along = (by * np.take_along_axis(pulled, at, axis=1) + to * pulled[:, last])[:, None]
        return np.concatenate([along, own], axis=2), 1

    def _difference(self, scales: Scales) -> tuple[Array, Array]:
        """Return U^T Sigma^-1 U and W with  (Sigma + L Sigma L^T) / 2 = Sigma + U W U^T,  U the b_f and Sigma e_f."""
        shrunk = self._shrunk
        n, r = shrunk.shape
        same = np.eye(r)
        if scales.covariance is None:
            # Each output has noise of its own, and all alike: in units of it,
            steep = shrunk[:, :, None] * shrunk[:, None, :] * same + self.lean[:, :, None] * self.lean[:, None, :]
            crossed, own = shrunk[:, :, None] * same, np.broadcast_to(same, (n, r, r))
        else:
            inverse = np.linalg.inv(scales.covariance)
            at, last, by, to = self._everywhere(scales)
            # b^T Sigma^-1 b, e^T b and e^T Sigma e, for every pair of features and outputs.
            steep = by[:, :, None] * inverse[at[:, :, None], at[:, None, :]] * by[:, None, :]
            mixed = by[:, :, None] * inverse[at[:, :, None], last] * to[:, None, :]
            steep = steep + mixed + mixed.transpose(0, 2, 1)
            steep += to[:, :, None] * inverse[last[:, None], last] * to[:, None, :]
            crossed = by[:, :, None] * np.eye(len(last))
            own = scales.covariance[at[:, :, None], at[:, None, :]]
        size = crossed.shape[1]
        unit, nothing = np.broadcast_to(np.eye(size), crossed.shape), np.zeros_like(crossed)
        # The 2 r directions in which they differ.
        directions = np.block([[steep, crossed.transpose(0, 2, 1)], [crossed, own]])
        return directions, 0.5 * np.block([[own, unit], [unit, nothing]])
