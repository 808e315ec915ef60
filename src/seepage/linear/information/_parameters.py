"""Published parameters of a linear model whose rows are in memory: their values, noise, and refits.

Vectors of parameters are output by output, the intercept of each output last.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._noise import GaussianNoise
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._refit import Refit
from seepage.linear.objective import Loss
from seepage.linear.rows import Batch, InMemory

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PublishedParameters:
    """Parameters that are published with noise."""

    rows: InMemory
    geometry: Geometry
    penalty: Array
    """Shape (p, outputs)."""
    basis: Array
    """What is published is parameters @ basis.T, shape (published outputs, outputs)."""
    estimator: Any
    """The fitted model, without the steps before it."""
    noise: GaussianNoise

    @property
    def loss(self) -> Loss:
        return self.geometry.loss

    @property
    def values(self) -> Array:
        """The exact parameters, shape (outputs * p,)."""
        return self.geometry.parameters.T.ravel()

    @property
    def selects(self) -> bool:
        """Whether a penalty keeps parameters at zero."""
        return self.geometry.minimizer.active is not None

    @property
    def is_white(self) -> bool:
        """Whether the noise on all parameters is independent and of one scale."""
        return isinstance(self.geometry.whitening, float)

    @property
    def is_rescaled(self) -> bool:
        """Whether steps before the model were fitted on the same rows."""
        return self.geometry.scales is not None

    @property
    def bends(self) -> bool:
        """Whether a step before the model is not affine."""
        return self.geometry.curves is not None

    @property
    def takes_columns(self) -> bool:
        """Whether every feature is a private column as it is."""
        width, reading = len(self.penalty) - self.rows.reading.intercept, self.geometry.reading
        return reading.shape[1] == width and bool(abs(reading[:width] - np.eye(width)).max() == 0)

    def margins(self, batch: Batch) -> Array:
        """Return the margins of some rows, shape (n, outputs)."""
        return np.asarray(batch.margins(self.geometry.parameters))

    def in_noise_units(self, moves: Array) -> Array:
        """Return moves of the parameters in units of the noise on what is published."""
        return self.geometry.in_noise_units(moves)

    def from_noise_units(self, moves: Array) -> Array:
        """Return moves of the parameters that are given in units of the noise."""
        whitening = self.geometry.whitening
        return np.asarray(moves / whitening if isinstance(whitening, float) else moves @ np.linalg.inv(whitening).T)

    @cached_property
    def refit(self) -> Refit:
        """Steps and refits with rows of single people exchanged."""
        return Refit(self.rows, self.geometry, self.penalty)

    def loss_in_noise_units(self) -> Array:
        """Return the Hessian of the sum of losses, without the penalty, of parameters in units of the noise."""
        hessian = np.linalg.inv(self.geometry.minimizer.hessian_inverse) - np.diag(self.penalty.T.ravel())
        unit = self.from_noise_units(np.eye(len(hessian)))
        return np.asarray(unit @ hessian @ unit.T)

    def rescaled(self, features: Array, weights: Array | None) -> tuple[Array, Array, Array]:
        """Return features behind a scaler fitted anew, and how coefficients there become those of the old features.

        Returns
        -------
        features : ndarray of shape (n, features)
        factors : ndarray of shape (features,)
            Of each coefficient.
        shares : ndarray of shape (features,)
            Share of each coefficient, before it is multiplied, that the intercept takes up.
        """
        features, scales = features.copy(), self.geometry.scales
        assert scales is not None
        factors, shares = np.ones(features.shape[1]), np.zeros(features.shape[1])
        for f in np.flatnonzero(scales.share):
            weight, factor, shift = weights if scales.weighted[f] else None, scales.factor[f], scales.shift[f]
            column = (features[:, f] - shift) / factor
            mean = np.average(column, weights=weight)
            deviation = np.sqrt(np.average((column - mean) ** 2, weights=weight)) if scales.deviates[f] else 1.0
            middle = mean if scales.centered[f] else 0.0
            features[:, f] = factor * (column - middle) / deviation + shift
            factors[f], shares[f] = 1 / deviation, shift - (factor * middle + shift) / deviation
        return features, factors, shares
