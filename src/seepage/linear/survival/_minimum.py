"""The coefficients at which a penalized partial likelihood is largest, and whether a fitted model is there."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from seepage.errors import MinimizerError
from seepage.linear.objective import UnitFactor, descended, in_units, not_unique
from seepage.linear.survival._risk import Cohort, Sums

Array = NDArray[np.float64]

# How far a model may be from the minimizer, in standard errors of its own coefficients: what solvers leave is less.
_ALLOWED = 0.05
_MOST_STEPS = 100
# From here one more step is exact up to rounding: Newton's steps shrink by squares.
_NEAR = 1e-7
# How far a step from there may move a logarithm of somebody's hazard: toward infinity each step moves it by about one.
_FAR = 1e-2
# The condition of the Hessian, its diagonal scaled to one, from which rounding would be most of what is told.
_COLLINEAR = 1e10


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the objective is smallest, and the curvature there."""

    beta: Array
    inverse: Array
    """Of the Hessian, the penalty's part included."""
    sums: Sums
    penalty: Array
    """The factor on half of each squared coefficient, shape (p,)."""
    distance: float
    """How far the given coefficients were, in standard errors."""
    condition: float


def minimized(
    cohort: Cohort, start: Array, penalty: Array, names: tuple[str, ...], *, estimator: str, start_is_fit: bool
) -> Minimum:
    """Return the minimizer near some coefficients; refuse those of a fit that are not near it.

    Parameters
    ----------
    cohort : Cohort
        The rows.
    start : ndarray of shape (p,)
        Where to begin.
    penalty : ndarray of shape (p,)
        The factor on half of each squared coefficient.
    names : tuple of str
        What the features are called.
    estimator : str
        What the model is called.
    start_is_fit : bool
        Whether the coefficients are those of a fit, which must be near.
    """

    def at(there: Array) -> tuple[float, None]:
        return -penalized(*cohort.slope(there), there, penalty)[0], None

    beta, sums, distance = start, cohort.at(start), None
    for _ in range(_MOST_STEPS):
        if not (np.isfinite(sums.gradient).all() and np.isfinite(sums.hessian).all()):
            # Hazards that differ by more than float64 can hold.
            break
        here, gradient = penalized(sums.value, sums.gradient, beta, penalty)
        inverse, condition = _inverse(sums.hessian + np.diag(penalty), names, estimator)
        step = inverse @ gradient
        decrement = float(np.sqrt(max(float(gradient @ step), 0.0)))
        if distance is None:
            distance = float(decrement / np.sqrt(len(beta)))
            if start_is_fit and distance > _ALLOWED:
                raise _elsewhere(estimator, distance)
        if decrement <= _NEAR:
            if float(np.abs(cohort.features @ step).max()) > _FAR:
                # The slope fades toward infinity, and the steps do not.
                break
            beta = beta + step
            sums = cohort.at(beta)
            inverse, condition = _inverse(sums.hessian + np.diag(penalty), names, estimator)
            return Minimum(beta, inverse, sums, penalty, distance, condition)
        moved = descended(at, beta, beta + step, -here + 1e-12 * abs(here))
        if moved is None:
            break
        beta, _ = moved
        sums = cohort.at(beta)
    raise MinimizerError(
        f"No minimizer of this {estimator}'s objective was found: some combination of the columns tells in which order "
        "people have their events, so that coefficients grow without end. Drop columns, or fit with a penalty."
    )


def penalized(value: float, gradient: Array, beta: Array, penalty: Array) -> tuple[float, Array]:
    """Return a log partial likelihood and its gradient with the penalty."""
    return value - 0.5 * float(penalty @ beta**2), gradient - penalty * beta


def _inverse(hessian: Array, names: tuple[str, ...], estimator: str) -> tuple[Array, float]:
    """Return the inverse of a Hessian and its condition; refuse columns that nothing decides between."""
    diagonal = hessian.diagonal()
    if not (diagonal > 0).all():
        raise not_unique((~(diagonal > 0)).astype(np.float64), names, estimator)
    values, vectors = np.linalg.eigh(in_units(hessian)[0])
    if values[0] * _COLLINEAR <= values[-1]:
        raise not_unique(vectors[:, 0], names, estimator)
    try:
        found = UnitFactor.of(hessian).inverse()
    except LinAlgError:
        raise not_unique(vectors[:, 0], names, estimator) from None
    return found, float(values[-1] / values[0])


def _elsewhere(estimator: str, distance: float) -> MinimizerError:
    return MinimizerError(
        f"This {estimator} is not the minimizer of its objective on this data: its coefficients are {distance:.3g} "
        f"standard errors away (allowed: {_ALLOWED:g}). Either it was fitted on other rows, with other weights, strata "
        "or another penalty (pass everything exactly as in fit), or it already carries noise, or its solver stopped "
        "early: fit again with a smaller tolerance.",
        distance,
    )
