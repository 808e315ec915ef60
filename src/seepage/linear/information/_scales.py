"""Columns that were standardized, or filled in, by means of the same rows: preprocessing that is part of the fit.

Published without its scaler, a model is in raw units, beta = A theta, and so is its noise, A Sigma A^T: both move with
the rows that the scaler was fitted on (eqs. 2.15 to 2.17).
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage.linear.rows import Batch

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

    def moves(self, batch: Batch, features: NDArray[np.intp]) -> MovedScales:
        """Return by how much the values of some features move the scaler."""
        weight, share = self.weights(batch, features), self.share[features]
        z = self.standardized(batch, features)
        deviation = (weight * z + self.filled_deviation[features]) * share / self.factor[features]
        deviation[:, ~self.deviates[features]] = 0.0
        mean = np.where(self.centered[features], (weight + self.filled_mean[features]) * share, 0.0)
        if batch.intercept:
            mean -= self.shift[features] * deviation
        return MovedScales(deviation, mean)

    def own(self, batch: Batch, features: NDArray[np.intp], fill: Array) -> MovedScales:
        """Return by how much each row itself moves the scaler: what its moments would lack without it, to first order.

        Parameters
        ----------
        batch : Batch
        features : ndarray of int
        fill : ndarray of shape (features,)
            The mean of each feature over the rows that have a value of it, with which the others were filled in.
        """
        weight, share, factor = self.weights(batch, features), self.share[features], self.factor[features]
        z, beyond = self.standardized(batch, features), batch.columns(features) - fill
        deviation = share * (0.5 * weight * (z**2 - 1.0) + self.filled_deviation[features] * beyond / factor)
        deviation[:, ~self.deviates[features]] = 0.0
        pulled = share * (weight * z * factor + self.filled_mean[features] * beyond)
        mean = np.where(self.centered[features], pulled, 0.0)
        if batch.intercept:
            mean -= self.shift[features] * deviation
        return MovedScales(deviation, mean)

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
