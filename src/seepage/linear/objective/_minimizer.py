"""The exact minimizer near a fitted model, and whether the two belong together."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, lapack

from seepage._errors import MinimizerError
from seepage.linear.objective._estimators import Problem
from seepage.linear.objective._sums import NewtonSums

Array = NDArray[np.float64]

# How far a model may be from the minimizer, in standard errors of its own parameters, before we say that it was not
# fitted on this data. A closed-form fit is off by rounding alone; one row too many moves it by 1/sqrt(n).
_ALLOWED = {"direct": 1e-4, "iterative": 0.05, "stochastic": 0.5}
_MOST_STEPS = 60
_SETTLED = 1e-11
_SINGULAR = 1e-13


@dataclass(frozen=True, eq=False)
class Minimizer:
    """The parameters at which the gradient vanishes, and the curvature there."""

    parameters: Array
    """Shape (p, outputs)."""
    hessian_inverse: Array
    """Shape (outputs * p, outputs * p), output by output."""
    distance: float
    """How far the given parameters were, in standard errors (eq. 4.2)."""
    steps: int


def minimize(
    problem: Problem,
    evaluate: Callable[[Array], NewtonSums],
    names: tuple[str, ...],
    *,
    start_is_fit: bool = True,
) -> Minimizer:
    """Take Newton steps (eq. 4.1) from the given parameters to the exact minimizer.

    Parameters
    ----------
    problem : Problem
        The objective, and where to start.
    evaluate : callable
        Returns the sums over all rows at some parameters.
    names : tuple of str
        What the parameters of one output are called, for messages.
    start_is_fit : bool, default=True
        Whether the start claims to be the minimizer already, so that being far from it is an error.
    """
    parameters, penalty = problem.parameters, problem.penalty
    first: tuple[float, float] | None = None
    previous = np.inf
    step = np.zeros_like(parameters)
    shrunk = 0
    for steps in range(_MOST_STEPS):
        sums = evaluate(parameters)
        value = sums.value + 0.5 * float((penalty * parameters**2).sum())
        if not value <= previous + 1e-9 * abs(previous) + 1e-300 and steps > 0:
            # The step overshot (or left the loss's domain): go back half of it.
            shrunk += 1
            if shrunk > 40:
                break
            step = 0.5 * step
            parameters = parameters - step
            continue
        previous = value
        _check_sums(problem, sums)
        gradient = sums.gradient + penalty * parameters
        hessian = sums.hessian + np.diag(penalty.T.ravel())
        factor, scale = _factor(hessian, names, problem)
        step = -(scale * cho_solve(factor, scale * gradient.T.ravel())).reshape(parameters.T.shape).T
        decrement = np.sqrt(max(-float((step * gradient).sum()), 0.0))
        size = float(parameters.T.ravel() @ hessian @ parameters.T.ravel())
        noise = sums.slope_squares / sums.curvature * parameters.size if sums.curvature > 0 else 0.0
        if first is None:
            diagonal = hessian.diagonal()
            unit = np.sqrt(noise + 1e-12 * max(size, 0.0))
            distance = decrement / unit if unit > 0 else (0.0 if decrement == 0 else np.inf)
            first = distance, float(np.abs(gradient).max()) / sums.weight
        parameters = parameters + step
        # Toward infinity the curvature fades and with it the decrement; a step measured at the start does not.
        strides = float(np.sqrt(diagonal @ step.T.ravel() ** 2))
        scale_of_all = np.sqrt(max(size, 0.0) + noise)
        settled = decrement <= _SETTLED * scale_of_all and strides <= 1e3 * _SETTLED * scale_of_all
        if problem.loss.quadratic or settled:
            if start_is_fit:
                _check_fit(problem, *first)
            inverse = scale[:, None] * cho_solve(factor, np.diag(scale))
            return Minimizer(parameters, 0.5 * (inverse + inverse.T), first[0], steps + 1)
    raise MinimizerError(
        f"Newton's method found no minimizer of this {problem.estimator}'s objective on this data within {_MOST_STEPS} "
        "steps. Most often the loss has no finite minimizer (the classes are separable in some direction, or a rare "
        "level has only zeros): add a penalty and fit again."
    )


def _check_sums(problem: Problem, sums: NewtonSums) -> None:
    if sums.weight <= 0:
        raise MinimizerError("All sample weights are zero: no row was used, so there is nothing to measure.")
    if not (np.isfinite(sums.gradient).all() and np.isfinite(sums.hessian).all()):
        raise MinimizerError(
            "The sums over the rows overflow float64 at the model's parameters: the values of X, y or the coefficients "
            "are too large for this loss. Rescale the columns and fit again."
        )
    if sums.trailing == 0 and sums.count > 0 and not problem.penalty[: problem.size - problem.intercept].any():
        raise MinimizerError(
            "The classes are perfectly separated by the model and there is no penalty, so the loss has no finite "
            "minimizer: the coefficients are wherever the solver stopped. Fit with a penalty (for example C=1.0)."
        )


def _factor(hessian: Array, names: tuple[str, ...], problem: Problem) -> tuple[tuple[Array, bool], Array]:
    """Return the Cholesky factor of the Hessian with unit diagonal, and the scale that made it so."""
    diagonal = hessian.diagonal()
    flat = np.flatnonzero(~(diagonal > 0))
    if flat.size:
        raise _not_unique([names[int(flat[0]) % len(names)]], problem)
    scale = 1.0 / np.sqrt(diagonal)
    unit = hessian * scale[:, None] * scale
    try:
        factor = cho_factor(unit, lower=True)
        condition, _ = lapack.dpocon(factor[0], np.abs(unit).sum(axis=0).max(), uplo="L")
    except LinAlgError:
        condition = 0.0
    if condition < _SINGULAR:
        weakest = eigh(unit, subset_by_index=[0, 0])[1][:, 0]
        guilty = [names[i % len(names)] for i in np.argsort(-np.abs(weakest)) if abs(weakest[i]) > 0.1]
        raise _not_unique(list(dict.fromkeys(guilty))[:6], problem)
    return factor, scale


def _not_unique(columns: list[str], problem: Problem) -> MinimizerError:
    listed = ", ".join(repr(column) for column in columns)
    return MinimizerError(
        f"The minimizer of this {problem.estimator}'s objective is not unique: the features {listed} are exactly or "
        "nearly collinear (or constant), and no penalty decides between their coefficients. Drop one of them (a "
        "one-hot encoder with an intercept needs drop='first'), or fit with a penalty."
    )


def _check_fit(problem: Problem, distance: float, gradient: float) -> None:
    allowed = _ALLOWED[problem.precision]
    # A tolerance on the gradient is a promise that a solver keeps even where the objective is flat.
    if distance <= allowed or gradient <= 2 * problem.gradient_promise:
        return
    raise MinimizerError(
        f"This {problem.estimator} is not the minimizer of its objective on this data: its parameters are "
        f"{distance:.3g} standard errors away (allowed: {allowed:g}). Either it was fitted on other rows, with other "
        "weights or another penalty (pass X, y and sample_weight exactly as in fit), or its solver stopped early: fit "
        "again with a smaller tol and a larger max_iter."
    )
