"""Stages before the coefficients: filled cells, means and deviations of features, fitted on the same rows.

Published without its scaler, a model is in raw units, beta = A theta, and so is its noise, A Sigma A^T: both move with
the rows that the scaler was fitted on (eqs. 2.15 to 2.17). Stages are solved from three sums over the rows (`stages`):
their derivatives are those of dual numbers, and refits put the sums of exchanged rows in. In units of the old scaler
the new one changes the penalty on a feature by (s'/s)^2, that on an absolute value by s'/s, and noise of covariance
Sigma to L Sigma L^T, with s/s' on the diagonal of L, and the move of the mean in the row of the intercept.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage.core import derivative_along
from seepage.linear.rows import Batch
from seepage.meaning import TwoNormals

Array = NDArray[np.float64]


class MovedScales(NamedTuple):
    """By how much a row's value moves the scaler, for each unit that it moves a feature by, shape (n, features)."""

    deviation: Array
    """ds / s."""
    mean: Array
    """(factor dm - shift ds) / s: by how much the intercept in raw units follows."""


@dataclass(frozen=True, eq=False)
class Scales:
    """What a value does to the scaler and the imputer of its feature, one entry a feature of the model.

    A feature is  factor (z + center) + shift, with z of mean zero and variance one over the rows where it was made so.
    A feature that nothing was fitted on has a `share` of zero.
    """

    deviates: NDArray[np.bool_]
    """Whether the feature was divided by a standard deviation of these rows."""
    centered: NDArray[np.bool_]
    """Whether a mean of these rows was taken away from it, which an intercept takes up."""
    weighted: NDArray[np.bool_]
    """Whether the scaler was given the sample weights."""
    share: Array
    """One over the weight W of all rows that the scaler saw."""
    factor: Array
    shift: Array
    center: Array
    filled_deviation: Array
    """What cells that were filled in with the mean add to  weight z: their sum of it, over the number of the others."""
    filled_mean: Array
    """What they add to the weight: the sum of theirs, over the number of the others."""
    penalty: Array
    """lambda: the penalty's gradient in raw units moves by  2 lambda theta ds / s; shape (features, outputs)."""
    push: Array
    """That of a penalty on absolute values, L sign(theta), which moves by itself times ds / s; same shape."""
    lean: Array
    """The penalty on the intercept, shape (outputs,); most models have none."""
    filled: NDArray[np.intp]
    """The features of which cells were filled in with a mean."""
    having: Array
    """How many rows have a value of each feature: what was filled in is the mean over these."""
    filled_pull: Array
    """What those cells add to the gradient as that mean moves, in the frame, shape (filled, outputs * q)."""
    published: int
    """How many outputs are published, each with noise of its own; none where what its shape tells is not asked for."""
    intercept: bool
    """Whether each of them has one."""
    covariance: Array | None
    """Of the noise, over all published parameters; None for independent noise of one scale."""

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.share)

    @property
    def size(self) -> int:
        """The number of coefficients of one output, with its intercept."""
        return self.width + self.intercept

    def stages(self, features: NDArray[np.intp], cells: Array, sums: Array, squares: Array) -> Array:
        """Solve the stages of some features after changes of their sums of z, weight z and weight z^2 over rows.

        Parameters
        ----------
        features : ndarray of int
        cells, sums, squares : ndarray of shape (n, features)

        Returns
        -------
        ndarray of shape (2, n, features)
            (s' / s)^2, and the change of the mean; where nothing was fitted, 1 and 0.
        """
        share, weight = self.share[features], self.filled_mean[features]
        # Cells that hold the mean of the others move by  cells / having,  and the scaler with them.
        mean = share * (sums + weight * cells)
        filled = 2.0 * self.filled_deviation[features] + weight / self.having[features] * cells
        variance = 1.0 + share * (squares + filled * cells) - mean * mean
        mean = np.where(self.centered[features], self.factor[features], 0.0) * mean
        return np.stack([np.where(self.deviates[features], variance, 1.0), mean])

    def moves(self, batch: Batch, features: NDArray[np.intp]) -> MovedScales:
        """Return the derivatives of the scaler in the values of some features."""
        weight, z = self.weights(batch, features), self.standardized(batch, features)
        unit = np.broadcast_to(1.0 / self.factor[features], z.shape)
        return self._along(batch, features, unit, weight * unit, 2.0 * weight * z * unit)

    def own(self, batch: Batch, features: NDArray[np.intp], fill: Array) -> MovedScales:
        """Return the influence of each row on the scaler.

        Parameters
        ----------
        batch : Batch
        features : ndarray of int
        fill : ndarray of shape (features,)
            The mean of each feature over the rows that have a value of it.
        """
        weight, z = self.weights(batch, features), self.standardized(batch, features)
        beyond = (batch.columns(features) - fill) / self.factor[features]
        return self._along(batch, features, beyond, weight * z, weight * (z**2 - 1.0))

    def _along(self, batch: Batch, features: NDArray[np.intp], *directions: Array) -> MovedScales:
        """Return the derivatives of the scaler along changes of its sums."""
        nothing = np.zeros(directions[0].shape)
        variance, mean = derivative_along(partial(self.stages, features), [nothing] * 3, directions)[1]
        deviation = 0.5 * variance
        return MovedScales(deviation, mean - self.shift[features] * deviation if batch.intercept else mean)

    def pull(self, theta: Array, features: NDArray[np.intp]) -> Array:
        """Return how the penalty's gradient in raw units moves with ds / s of some features, (features, outputs).

        Parameters
        ----------
        theta : ndarray of shape (features, outputs)
            The coefficients of those features.
        features : ndarray of int
            Which they are.
        """
        return np.asarray(2.0 * self.penalty[features] * theta + self.push[features])

    def noise_shape(self, features: NDArray[np.intp]) -> "NoiseShape | None":
        """Return what is needed of the noise's covariance for some features; None for noise of one scale."""
        if self.covariance is None:
            return None
        # Each published output has its coefficients, and the intercept last, if the model has one.
        first = np.arange(self.published)[:, None] * self.size
        return NoiseShape.of(self.covariance, first + features, first[:, 0] + self.width if self.intercept else None)

    def without_shape(self) -> "Scales":
        """Return the same without what the shape of the noise tells."""
        return replace(self, published=0, covariance=None)

    def standardized(self, batch: Batch, features: NDArray[np.intp]) -> Array:
        """Return z of some features, shape (n, features)."""
        return np.asarray(
            (batch.columns(features) - self.shift[features]) / self.factor[features] - self.center[features]
        )

    def weights(self, batch: Batch, features: NDArray[np.intp]) -> Array:
        """Return the scaler's weight of each row, shape (n, features)."""
        each = np.ones((len(batch), 1))
        given = each if batch.sample_weights is None else batch.sample_weights[:, None]
        return np.where(self.weighted[features], given, each)


@dataclass(frozen=True, eq=False)
class NoiseShape:
    """The noise's covariance among some features and the intercept, contracted over outputs as eq. 2.17 asks.

    Each matrix has one row and one column a feature.
    """

    outputs: int
    deviations: Array
    """sum_cd Sigma_cf,dg (Sigma^-1)_cf,dg."""
    mixed: Array
    """sum_cd Sigma_cf,dg (Sigma^-1)_cf,d0, 0 being the intercept."""
    means: Array
    """sum_cd Sigma_cf,dg (Sigma^-1)_c0,d0."""

    @classmethod
    def of(cls, covariance: Array, places: NDArray[np.intp], intercepts: NDArray[np.intp] | None) -> "NoiseShape":
        """Return that of a covariance over all that is published.

        Parameters
        ----------
        covariance : ndarray
        places : ndarray of int, shape (outputs, features)
            Where the coefficients of some features stand in it.
        intercepts : ndarray of int, shape (outputs,), optional
            Where the intercepts do.
        """
        inverse, width = np.linalg.inv(covariance), places.shape[1]
        own = covariance[places[:, :, None, None], places]
        deviations = np.einsum("cjdk,cjdk->jk", own, inverse[places[:, :, None, None], places])
        if intercepts is None:
            nothing = np.zeros((width, width))
            return cls(len(places), deviations, nothing, nothing)
        return cls(
            len(places),
            deviations,
            np.einsum("cjdk,cjd->jk", own, inverse[places[:, :, None], intercepts]),
            np.einsum("cjdk,cd->jk", own, inverse[np.ix_(intercepts, intercepts)]),
        )

    def root(self) -> Array:
        """Return R with  R^T R  the form that eq. 2.17 is in all ds and dm together, deviations first."""
        same = self.outputs * np.eye(len(self.deviations))
        values, vectors = np.linalg.eigh(np.block([[same + self.deviations, self.mixed], [self.mixed.T, self.means]]))
        return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


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
        cells, sums, squares = (
            part.reshape(-1, rows, len(at)).sum(axis=1)
            for part in (new - old, weight * (new - old), weight * (new**2 - old**2))
        )
        stretch, lean = np.ones((len(cells), scales.width)), np.zeros((len(cells), scales.width))
        variance, mean = scales.stages(at, cells, sums, squares)
        stretch[:, at] = np.sqrt(np.maximum(variance, 1e-300))
        lean[:, at] = -mean / stretch[:, at]
        if before.intercept:
            lean -= scales.shift * (1.0 / stretch - 1.0)
        places = np.searchsorted(at, scales.filled)
        filled = (cells / scales.having[at])[:, places] * scales.factor[scales.filled]
        return cls(scales, stretch, lean, filled)

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
