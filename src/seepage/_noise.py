"""The noise that is added to what is published."""

from dataclasses import InitVar, dataclass, replace
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage._shapes import FromPublicRows, PerUnit, RobustCovariance, Shape, checked_scale
from seepage.errors import InputError, UnsupportedError


@dataclass(frozen=True, eq=False)
class GaussianNoise:
    """Gaussian noise on the published parameters.

    Parameters
    ----------
    scale : float, optional
        Standard deviation of independent noise on every parameter.
    covariance : array-like of shape (m, m), optional
        Covariance over the m published parameters: for each output in turn its coefficients (in feature order), then
        its intercept.
    shape : Shape, optional
        A rule by which the covariance is made from the model and its rows when they are measured, as
        `seepage.calibrate` returns it; `covariance` is then what it came to. Give `scale`, `covariance` or this.
    gap : float, optional
        How many times the excess loss of the best of all shapes this noise may cost at most, as `seepage.calibrate`
        found it: the gap to the dual of the program that makes the best shape.
    standard_errors : float, optional
        So many standard errors of each coefficient, short for ``shape=RobustCovariance(scale=...)``.

    Examples
    --------
    >>> import seepage
    >>> seepage.release.GaussianNoise(scale=0.05)
    GaussianNoise(scale=0.05)
    >>> seepage.release.GaussianNoise(covariance=[[0.01, 0.0], [0.0, 0.04]])
    GaussianNoise(covariance=<2 x 2>)
    >>> seepage.release.GaussianNoise(shape=seepage.release.RobustCovariance(scale=0.25, variances=0.2))
    GaussianNoise(standard_errors=0.25)
    >>> seepage.release.GaussianNoise(standard_errors=0.25)
    GaussianNoise(standard_errors=0.25)
    """

    scale: float | None = None
    covariance: ArrayLike | None = None
    shape: Shape | None = None
    gap: float | None = None
    standard_errors: InitVar[float | None] = None

    def __post_init__(self, standard_errors: float | None) -> None:
        if standard_errors is not None:
            if self.scale is not None or self.covariance is not None or self.shape is not None:
                raise InputError("GaussianNoise takes either standard_errors= or another noise, not both.")
            object.__setattr__(self, "shape", RobustCovariance(scale=standard_errors))
        if self.shape is not None:
            if not isinstance(self.shape, Shape):
                raise InputError(
                    f"shape must be a rule of seepage.release with a scale, such as RobustCovariance(scale=1.0), not "
                    f"{self.shape!r}. By their names seepage.calibrate chooses them: calibrate(leak, ..., shape=...)."
                )
            if self.scale is not None:
                raise InputError("GaussianNoise takes either scale= or shape=, which has a scale of its own.")
            if self.covariance is None and isinstance(self.shape, FromPublicRows):
                object.__setattr__(self, "covariance", _checked_covariance(self.shape.base) * self.shape.scale**2)
        elif (self.scale is None) == (self.covariance is None):
            raise InputError(
                "GaussianNoise takes scale=, standard_errors=, shape= or covariance=, exactly one of them."
            )
        if self.scale is not None:
            object.__setattr__(self, "scale", checked_scale(self.scale))
        elif self.covariance is not None:
            object.__setattr__(self, "covariance", _checked_covariance(self.covariance))

    def _repr_html_(self) -> str:
        facts = [("noise", repr(self))]
        if self.shape is not None:
            facts.append(("covariance", "made from the rows" if self.follows_rows else "public"))
        if self.gap is not None:
            facts.append(("price", f"at most {self.gap:.3g} times the loss of the best of all shapes"))
        return f"<dl>{''.join(f'<dt>{term}</dt><dd>{escape(text)}</dd>' for term, text in facts)}</dl>"

    def __repr__(self) -> str:
        gap = "" if self.gap is None else f", gap={self.gap:.3g}"
        if self.scale is not None:
            return f"GaussianNoise(scale={self.scale!r}{gap})"
        if isinstance(self.shape, RobustCovariance):
            return f"GaussianNoise(standard_errors={self.shape.scale!r}{gap})"
        if self.shape is not None:
            return f"GaussianNoise(shape={type(self.shape).__name__}(scale={self.shape.scale!r}){gap})"
        size = len(np.asarray(self.covariance))
        return f"GaussianNoise(covariance=<{size} x {size}>)"

    @property
    def follows_rows(self) -> bool:
        """True if the covariance is a function of the private rows."""
        return self.shape is not None and self.shape.follows_rows

    def whiten(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Sigma^(-1/2) times `matrix`: the same release, in units of its noise."""
        if self.scale is not None:
            return matrix / self.scale
        covariance = np.asarray(self.known())
        if covariance.shape[0] != matrix.shape[0]:
            raise InputError(
                f"The noise covariance is {covariance.shape[0]} x {covariance.shape[0]}, but the model publishes "
                f"{matrix.shape[0]} parameters (for each output its coefficients, then its intercept)."
            )
        from scipy.linalg import cholesky, solve_triangular

        return np.asarray(solve_triangular(cholesky(covariance, lower=True), matrix, lower=True))

    def colored(self, white: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return independent numbers of deviation one as noise of this covariance, in the same shape."""
        if self.scale is not None:
            return np.asarray(self.scale * white)
        return np.asarray((np.linalg.cholesky(self.known()) @ white.ravel()).reshape(white.shape))

    def known(self) -> NDArray[np.float64]:
        """Return the covariance, or say that it is yet to be made."""
        if self.covariance is None:
            raise InputError(
                f"The covariance of {self!r} is made from a model and its rows: measure them with this noise, and read "
                "that of the measurement (leak.information.noise)."
            )
        return np.asarray(self.covariance)

    def scaled(self, factor: float) -> "GaussianNoise":
        """Return the same noise with every standard deviation multiplied by `factor`.

        How near it is to the best of all shapes was found for the scale that it had, and is not known of another.
        """
        if self.scale is not None:
            return replace(self, scale=self.scale * factor, gap=None)
        covariance = None if self.covariance is None else np.asarray(self.covariance) * factor**2
        shape = None if self.shape is None else self.shape.at(self.shape.scale * factor)
        return replace(self, covariance=covariance, shape=shape, gap=None)


def given_noise(noise: GaussianNoise, names: tuple[str, ...], called: str) -> GaussianNoise:
    """Return a noise on some numbers with its covariance, if it has one; refuse those that take it from the rows.

    Parameters
    ----------
    noise : GaussianNoise
    names : tuple of str
        What carries it.
    called : str
        What models are called for which nothing else is counted.
    """
    if noise.follows_rows:
        raise UnsupportedError(
            f"Noise that takes its shape from the rows is not counted for {called} yet. Give a scale, units of what is "
            f"published (calibrate(..., shape={{{names[0]!r}: 10.0}})), a covariance, or one that was made from public "
            "rows (FromPublicRows of seepage.release)."
        )
    if isinstance(noise.shape, PerUnit):
        noise = replace(noise, covariance=noise.shape.covariance(names, False, 1))
    noise.whiten(np.eye(len(names)))
    return noise


def one_standard_error(measured: GaussianNoise) -> GaussianNoise:
    """Return noise of one standard error, whose noise on variances is that of a measurement in standard errors."""
    shape = measured.shape
    return (
        GaussianNoise(shape=shape.at(1.0))
        if isinstance(shape, RobustCovariance)
        else GaussianNoise(standard_errors=1.0)
    )


def as_noise(noise_scale: float | GaussianNoise | None) -> GaussianNoise:
    """Accept a standard deviation wherever a noise is expected."""
    if noise_scale is None:
        raise InputError(
            "noise_scale is None: a release without noise carries infinite information about everyone in the data. "
            "Give the standard deviation of the noise you will add to the published parameters; measured at any "
            "noise, seepage.release.suggest(leak) shows what some give and cost."
        )
    return noise_scale if isinstance(noise_scale, GaussianNoise) else GaussianNoise(scale=noise_scale)


def _checked_covariance(covariance: ArrayLike | None) -> NDArray[np.float64]:
    try:
        matrix = np.array(covariance, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("The noise covariance must be a matrix of numbers.") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"The noise covariance must be a square matrix, not an array of shape {matrix.shape}.")
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0):
        raise InputError("The noise covariance must be symmetric and finite.")
    deviations = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    # In units of its deviations: coefficients of columns in other units have noise of other sizes, and are not tied.
    correlations = (
        matrix / np.where(deviations > 0, deviations, 1.0) / np.where(deviations > 0, deviations, 1.0)[:, None]
    )
    eigenvalues = np.linalg.eigvalsh(correlations)
    if not deviations.all() or eigenvalues[0] <= 1e-14 * eigenvalues[-1]:
        raise InputError(
            "The noise covariance is singular: some combination of the parameters would be published without noise, "
            "and so carry infinite information."
        )
    matrix.setflags(write=False)
    return matrix
