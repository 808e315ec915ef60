"""Noise on the coefficients of a survival model."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seepage._noise import GaussianNoise
from seepage._shapes import PerUnit
from seepage.errors import UnsupportedError
from seepage.linear.survival._fitted import SurvivalFit

Array = NDArray[np.float64]


def made(noise: GaussianNoise, fit: SurvivalFit) -> GaussianNoise:
    """Return a noise with its covariance, if it has one; refuse those that take it from the rows."""
    if isinstance(noise.shape, PerUnit):
        return replace(noise, covariance=noise.shape.covariance(fit.published, False, 1))
    if noise.follows_rows:
        raise UnsupportedError(
            "Noise that takes its shape from the rows is not counted for survival models yet. Give a scale, units of "
            'columns (calibrate(..., shape={"age": 10.0})), a covariance, or one that was made from public rows '
            "(FromPublicRows of seepage.release)."
        )
    return noise


def whitening(noise: GaussianNoise, size: int) -> Array | float:
    """Return Sigma^(-1/2) for so many published numbers."""
    return 1.0 / noise.scale if noise.scale is not None else noise.whiten(np.eye(size))
