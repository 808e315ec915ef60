"""Noise on the coefficients of a survival model."""

import numpy as np
from numpy.typing import NDArray

from seepage._noise import GaussianNoise, given_noise
from seepage.linear.survival._fitted import SurvivalFit

Array = NDArray[np.float64]


def made(noise: GaussianNoise, fit: SurvivalFit) -> GaussianNoise:
    """Return a noise with its covariance, if it has one; refuse those that take it from the rows."""
    return given_noise(noise, fit.names, "survival models")


def whitening(noise: GaussianNoise, size: int) -> Array | float:
    """Return Sigma^(-1/2) for so many published numbers."""
    return 1.0 / noise.scale if noise.scale is not None else noise.whiten(np.eye(size))
