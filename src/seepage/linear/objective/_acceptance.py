"""Whether a fitted model is the minimizer of its objective on this data, or near enough for its solver.

Distances are in units that no column's scale can change. A *standard error* is how uncertain the data leave a
parameter: other rows, weights or another penalty move a model by a good part of one. A *shift* is how far predictions
move, next to the scatter of the labels around them (for a classifier, in log odds): what a solver's tolerance leaves
must be small in it, whatever that was a tolerance on.
"""

from dataclasses import dataclass

import numpy as np

from seepage._tables import Array
from seepage.errors import MinimizerError
from seepage.linear.objective._problem import Problem
from seepage.linear.objective._sums import NewtonSums

# How far a model may be from the minimizer, in standard errors of its own parameters, before we say that it was not
# fitted on this data. A closed-form fit is off by rounding alone; one row too many moves it by 1/sqrt(n).
_ALLOWED = {"direct": 1e-4, "iterative": 0.05, "stochastic": 0.5}
# With very many rows a standard error is less than a solver's tolerance. A model that kept its solver's promise is
# taken if its predictions are right to a tenth of the scatter and it is nearer than one of other rows would be.
_PROMISED = 0.5
_SHIFT = 0.1


@dataclass(frozen=True)
class Promise:
    """What solvers promise of the parameters that they return."""

    gradient: float
    """The largest entry of the mean gradient."""
    residual: float
    """The gradient of a least-squares problem, next to what an iterative solver measures it by."""

    @classmethod
    def kept(cls, gradient: Array, hessian: Array, position: Array, sums: NewtonSums, intercept: bool) -> "Promise":
        """Return what was kept at a position, where the objective has this gradient and Hessian."""
        q, outputs = gradient.shape
        largest = 0.0
        for c in range(outputs):
            block = hessian[c * q : (c + 1) * q, c * q : (c + 1) * q]
            here, start = gradient[:, c], gradient[:, c] - block @ position[:, c]
            if intercept and block[-1, -1] > 0:
                # These solvers center the columns, which takes the intercept out.
                share = block[:-1, -1] / block[-1, -1]
                here, start = here[:-1] - share * here[-1], start[:-1] - share * start[-1]
            unit = max(np.linalg.norm(start), np.sqrt(max(block.trace(), 0.0) * sums.slope_squares))
            largest = max(largest, float(np.linalg.norm(here) / unit) if unit > 0 else 0.0)
        return cls(float(np.abs(gradient).max()) / sums.weight, largest)


@dataclass(frozen=True)
class Departure:
    """How far a model is from the minimizer."""

    distance: float
    """In standard errors (eq. 4.2)."""
    shift: float
    """Of its predictions, in units of the scatter of the labels (eq. 4.6)."""

    @classmethod
    def of(cls, decrement: float, size: float, parameters: int, sums: NewtonSums) -> "Departure":
        """Return the departure with this Newton decrement; `size` is theta^T H theta, whose rounding is no distance."""
        noise = sums.slope_squares / sums.curvature * parameters if sums.curvature > 0 else 0.0
        return cls(
            _over(decrement, np.sqrt(noise + 1e-12 * size)), _over(decrement, np.sqrt(sums.slope_squares + 1e-8 * size))
        )


def _over(decrement: float, unit: float) -> float:
    if unit > 0:
        return float(decrement / unit)
    return 0.0 if decrement == 0 else np.inf


def check_fit(problem: Problem, departure: Departure, promise: Promise) -> None:
    """Refuse a model that is further from the minimizer than its solver explains."""
    allowed = _ALLOWED[problem.precision]
    if departure.distance <= allowed:
        return
    kept = promise.gradient <= 2 * problem.gradient_promise or promise.residual <= 2 * problem.residual_promise
    if kept and departure.distance <= _PROMISED and departure.shift <= _SHIFT:
        return
    way_out = problem.hint or "fit again with a smaller tol and a larger max_iter"
    if kept:
        way_out = (
            "its tolerance is reached early where columns are small: scale them (StandardScaler), or fit again with a "
            "smaller tol"
        )
    raise MinimizerError(
        f"This {problem.estimator} is not the minimizer of its objective on this data: its parameters are "
        f"{departure.distance:.3g} standard errors away (allowed: {allowed:g}). Either it was fitted on other rows, "
        "with other weights or another penalty (pass X, y and sample_weight exactly as in fit), or it already carries "
        f"noise, or its solver stopped early: {way_out}.",
        departure.distance,
    )
