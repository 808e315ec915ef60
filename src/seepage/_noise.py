"""The noise that is added to what is published."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage._errors import InputError


@dataclass(frozen=True, eq=False)
class GaussianNoise:
    """Gaussian noise on the published parameters.

    Parameters
    ----------
    scale : float, optional
        Standard deviation of independent noise on every parameter.
    covariance : array-like of shape (m, m), optional
        Covariance over the m published parameters: for each output in turn its coefficients (in feature order), then
        its intercept. Give either this or `scale`.

    Examples
    --------
    >>> import seepage
    >>> seepage.GaussianNoise(scale=0.05)
    GaussianNoise(scale=0.05)
    >>> seepage.GaussianNoise(covariance=[[0.01, 0.0], [0.0, 0.04]])
    GaussianNoise(covariance=<2 x 2>)
    """

    scale: float | None = None
    covariance: ArrayLike | None = None

    def __post_init__(self) -> None:
        if (self.scale is None) == (self.covariance is None):
            raise InputError("GaussianNoise takes either scale= or covariance=, exactly one of them.")
        if self.scale is not None:
            object.__setattr__(self, "scale", _checked_scale(self.scale))
        else:
            object.__setattr__(self, "covariance", _checked_covariance(self.covariance))

    def __repr__(self) -> str:
        if self.scale is not None:
            return f"GaussianNoise(scale={self.scale!r})"
        size = len(np.asarray(self.covariance))
        return f"GaussianNoise(covariance=<{size} x {size}>)"

    def whiten(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Sigma^(-1/2) times `matrix`: the same release, in units of its noise."""
        if self.scale is not None:
            return matrix / self.scale
        covariance = np.asarray(self.covariance)
        if covariance.shape[0] != matrix.shape[0]:
            raise InputError(
                f"The noise covariance is {covariance.shape[0]} x {covariance.shape[0]}, but the model publishes "
                f"{matrix.shape[0]} parameters (for each output its coefficients, then its intercept)."
            )
        from scipy.linalg import cholesky, solve_triangular

        return np.asarray(solve_triangular(cholesky(covariance, lower=True), matrix, lower=True))

    def scaled(self, factor: float) -> "GaussianNoise":
        """Return the same noise with every standard deviation multiplied by `factor`."""
        if self.scale is not None:
            return GaussianNoise(scale=self.scale * factor)
        return GaussianNoise(covariance=np.asarray(self.covariance) * factor**2)


def as_noise(noise_scale: float | GaussianNoise) -> GaussianNoise:
    """Accept a standard deviation wherever a noise is expected."""
    return noise_scale if isinstance(noise_scale, GaussianNoise) else GaussianNoise(scale=noise_scale)


def _checked_scale(scale: object) -> float:
    try:
        value = float(scale)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"noise_scale must be a positive number or a GaussianNoise, not {scale!r}.") from None
    if value == 0:
        raise InputError(
            "noise_scale is 0: a release without noise carries infinite information about everyone in the data. "
            "Give the standard deviation of the noise you will add to the published parameters."
        )
    # Beyond these bounds the square of the scale, which every number contains, leaves float64.
    if not 1e-75 < value < 1e75:
        raise InputError(f"noise_scale must be a positive finite number, not {scale!r}.")
    return value


def _checked_covariance(covariance: ArrayLike | None) -> NDArray[np.float64]:
    try:
        matrix = np.array(covariance, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("The noise covariance must be a matrix of numbers.") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"The noise covariance must be a square matrix, not an array of shape {matrix.shape}.")
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0):
        raise InputError("The noise covariance must be symmetric and finite.")
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] <= 1e-14 * eigenvalues[-1]:
        raise InputError(
            "The noise covariance is singular: some combination of the parameters would be published without noise, "
            "and so carry infinite information."
        )
    matrix.setflags(write=False)
    return matrix
