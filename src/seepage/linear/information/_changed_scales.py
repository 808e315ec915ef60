"""Stages before the coefficients with some rows exchanged: filled cells, means, and deviations.

In units of the old scaler the new one changes the penalty on a feature by (s'/s)^2, that on an absolute value by s'/s,
and noise of covariance Sigma to L Sigma L^T. L has s/s' on its diagonal, and takes the move of the mean to the
intercept.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seepage.linear.information._scales import Scales
from seepage.linear.rows import Batch
from seepage.meaning import TwoNormals

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ChangedScales:
    """Scalers and imputers of many datasets, each with rows of one person exchanged."""

    scales: Scales
    stretch: Array
    """s' / s of each feature, shape (n, features)."""
    lean: Array
    """Share of a feature's coefficient that goes to the intercept, shape (n, features)."""
    filled: Array
    """Change of the mean in filled cells, shape (n, features with such cells)."""

    @classmethod
    def of(cls, scales: Scales | None, before: Batch, after: Batch, rows: int = 1) -> "ChangedScales | None":
        """Return the changes when rows of `before` become those of `after`, so many a dataset; None without any."""
        if scales is None:
            return None
        at = np.union1d(np.flatnonzero(scales.share), scales.filled)
        old, new = (scales.standardized(batch, at) for batch in (before, after))
        if (old == new).all():
            return None
        weight = scales.weights(before, at)
        gap, moved, grown = (
            part.reshape(-1, rows, len(at)).sum(axis=1)
            for part in (new - old, weight * (new - old), weight * (new**2 - old**2))
        )
        # Cells that hold the mean of the others move by their share of the gap, and the scaler with them.
        filled, share, weight = gap / scales.having[at], scales.share[at], scales.filled_mean[at]
        moved = share * (moved + weight * gap)
        grown = share * (grown + (2 * scales.filled_deviation[at] + weight * filled) * gap)
        variance = np.where(scales.deviates[at], np.maximum(1.0 + grown - moved**2, 1e-300), 1.0)
        stretch, lean = np.ones((len(gap), scales.width)), np.zeros((len(gap), scales.width))
        stretch[:, at] = np.sqrt(variance)
        lean[:, at] = -np.where(scales.centered[at], scales.factor[at] * moved, 0.0) / stretch[:, at]
        if before.intercept:
            lean -= scales.shift * (1.0 / stretch - 1.0)
        places = np.searchsorted(at, scales.filled)
        return cls(scales, stretch, lean, filled[:, places] * scales.factor[scales.filled])

    def penalties(self, penalty: Array) -> Array:
        """Return the penalties of each dataset, shape (n, p, outputs)."""
        found = np.repeat(penalty[None], len(self.stretch), axis=0)
        found[:, : self.scales.width] *= self.stretch[:, :, None] ** 2
        return found

    def stretched(self, absolute: Array) -> Array:
        """Return the penalties on absolute values of each dataset, shape (n, p)."""
        found = np.repeat(absolute[None], len(self.stretch), axis=0)
        found[:, : self.scales.width] *= self.stretch
        return found

    def take(self, people: slice) -> "ChangedScales":
        """Return some of the datasets."""
        return replace(self, stretch=self.stretch[people], lean=self.lean[people], filled=self.filled[people])

    def information(self) -> Array:
        """Return the square of the distance between the two noises, to first order (eq. 2.17), shape (n,)."""
        deviation, mean = 1.0 - self.stretch, self.lean
        moved = np.flatnonzero((deviation != 0).any(axis=0) | (mean != 0).any(axis=0))
        shape = self.scales.noise_shape(moved)
        if shape is None:
            return np.asarray(self.scales.published * (2 * deviation**2 + mean**2).sum(axis=1))
        return np.asarray(((np.hstack([deviation[:, moved], mean[:, moved]]) @ shape.root().T) ** 2).sum(axis=1))

    def releases(self, moves: Array) -> TwoNormals:
        """Return the releases before and after, in units of the noise before.

        Parameters
        ----------
        moves : ndarray of shape (n, outputs * p)
            How the means move, in these units.
        """
        scales, n = self.scales, len(moves)
        turn = np.repeat(np.eye(scales.size)[None], n, axis=0)
        turn[:, np.arange(scales.width), np.arange(scales.width)] = 1.0 / self.stretch
        if scales.intercept:
            turn[:, -1, : scales.width] += self.lean
        if scales.covariance is None:
            # Each output has noise of its own, and all alike, in every basis of the outputs.
            alike = moves.shape[1] == len(scales.lean) * scales.size
            outputs = len(scales.lean) if alike else scales.published
            values, axes = np.linalg.eigh(turn @ turn.transpose(0, 2, 1))
            seen = moves[:, : outputs * scales.size].reshape(n, outputs, -1) @ axes
            still, rest = np.zeros((n, (scales.published - outputs) * scales.size)), moves[:, outputs * scales.size :]
            shift = np.hstack([seen.reshape(n, -1), still, rest])
            return TwoNormals(shift, np.hstack([np.tile(values, max(scales.published, outputs)), np.ones(rest.shape)]))
        root = np.linalg.cholesky(scales.covariance)
        whole = np.repeat(np.eye(len(root))[None], n, axis=0)
        for at in (slice(i * scales.size, (i + 1) * scales.size) for i in range(scales.published)):
            whole[:, at, at] = turn
        half = np.linalg.solve(root, whole @ root)
        return TwoNormals.between(moves, half @ half.transpose(0, 2, 1))
