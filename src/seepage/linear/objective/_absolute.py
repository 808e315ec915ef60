"""The exact minimizer under a penalty on absolute values, and which coefficients it keeps at zero.

With g the gradient of all that is smooth (eq. 2.1), theta minimizes  smooth + sum_j L_j |theta_j|  if (eq. 2.25)

    g_k = -L_k sign(theta_k)  where theta_k is not zero,     |g_m| <= L_m  where it is.

As long as no sign changes, the penalty adds a constant to the gradient: once the signs are found, `minimize` does the
rest, on the active columns alone.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.errors import MinimizerError
from seepage.linear.objective._losses import NewtonSums
from seepage.linear.objective._minimizer import (
    ActiveSet,
    Departure,
    Evaluate,
    Minimizer,
    Problem,
    Promise,
    check_fit,
    check_sums,
    minimize,
    not_unique,
)
from seepage.linear.objective._signs import BEYOND, MOST_STEPS, Smooth, settled_signs, with_absolute
from seepage.linear.rows import Frame

# What rounding may leave after all, before which coefficients are zero counts as undecided.
_UNDECIDED = 1e-6
# What is left of a column that is a combination of others.
_NOTHING = 1e-10


def minimize_absolute(
    problem: Problem,
    evaluate: Evaluate,
    names: tuple[str, ...],
    frame: Frame,
    *,
    start_is_fit: bool = True,
    precision: type[np.float32] | type[np.float64] = np.float64,
) -> Minimizer:
    """Return the exact minimizer and its active set; arguments as of `minimize`."""
    penalty, absolute = problem.penalty[:, 0], problem.absolute[:, 0]
    start = frame.position(problem.parameters)[:, 0]
    theta, kept = _signs(problem, evaluate, frame)
    if not len(kept):
        raise MinimizerError(
            f"All coefficients of this {problem.estimator} are zero, and it has no intercept: what it says about "
            "anybody begins where one of them is not. Fit with a smaller penalty."
        )
    found = _restricted(problem, evaluate, names, frame, theta, kept, precision)
    theta = frame.position(found.parameters)[:, 0]
    sums = evaluate(theta[:, None], frame)
    here = Smooth.of(sums, penalty, theta)
    signs = np.where(absolute > 0, np.sign(theta), 0.0)
    # From the frame to the parameters themselves.
    back = np.eye(len(theta))
    if frame.center is not None:
        back[-1, :-1] = frame.center
    active = ActiveSet(
        indices=kept,
        signs=signs,
        absolute=absolute,
        gradient=back.T @ here.gradient,
        hessian=back.T @ here.hessian @ back,
        differing=int(((start != 0) != (theta != 0))[absolute > 0].sum()),
    )
    _check_decided(problem, active, names)
    gap = start - theta
    size = max(float(theta @ here.hessian @ theta), 0.0)
    departure = Departure.of(np.sqrt(max(float(gap @ here.hessian @ gap), 0.0)), size, len(kept), sums)
    if start_is_fit:
        at_start = Smooth.of(evaluate(start[:, None], frame), penalty, start)
        excess = with_absolute(at_start, absolute, start) - with_absolute(here, absolute, theta)
        none = _without_features(here, penalty, theta, problem.intercept) if problem.loss.quadratic else 0.0
        check_fit(problem, departure, Promise(np.inf, excess / none if none > 0 else np.inf))
    return replace(found, distance=departure.distance, active=active)


def minimum_absolute(problem: Problem, evaluate: Evaluate, names: tuple[str, ...], frame: Frame) -> Array:
    """Return the parameters that minimize, shape (p, 1), wherever they are; arguments as of `minimize`."""
    theta, kept = _signs(problem, evaluate, frame)
    if not len(kept):
        return frame.parameters(theta[:, None])
    return _restricted(problem, evaluate, names, frame, theta, kept, np.float64).parameters


def _signs(problem: Problem, evaluate: Evaluate, frame: Frame) -> tuple[Array, NDArray[np.intp]]:
    """Return a position near the minimizer, of its signs, and the active set."""
    penalty, absolute = problem.penalty[:, 0], problem.absolute[:, 0]
    checked = False

    def smooth(theta: Array) -> Smooth:
        nonlocal checked
        sums = evaluate(theta[:, None], frame)
        # A step that leaves the loss's domain is turned back.
        if not checked or np.isfinite(sums.value):
            check_sums(sums)
        checked = True
        return Smooth.of(sums, penalty, theta)

    start = frame.position(problem.parameters)[:, 0]
    theta = settled_signs(smooth, absolute, start, quadratic=problem.loss.quadratic)
    if theta is None:
        raise MinimizerError(
            f"Newton's method found no minimizer of this {problem.estimator}'s objective on this data within "
            f"{MOST_STEPS} steps. Most often the columns have very different scales: scale them (StandardScaler), and "
            "fit again."
        )
    return theta, np.flatnonzero((theta != 0) | (absolute == 0))


def _without_features(here: Smooth, penalty: Array, theta: Array, intercept: bool) -> float:
    """Return twice the loss of the best model of a constant alone: the squares that solvers measure what is left by."""
    value = here.value - 0.5 * float(penalty @ theta**2)
    gradient, hessian = here.gradient - penalty * theta, here.hessian - np.diag(penalty)
    value += -float(gradient @ theta) + 0.5 * float(theta @ hessian @ theta)
    if intercept and hessian[-1, -1] > 0:
        value -= 0.5 * float((gradient - hessian @ theta)[-1]) ** 2 / hessian[-1, -1]
    return 2 * value


def _restricted(
    problem: Problem,
    evaluate: Evaluate,
    names: tuple[str, ...],
    frame: Frame,
    theta: Array,
    kept: NDArray[np.intp],
    precision: type[np.float32] | type[np.float64],
) -> Minimizer:
    """Return the minimizer among the parameters that are zero outside the active set, where the signs stay."""
    size, own = problem.size, kept.tolist()
    selection = np.eye(size)[:, kept]
    features = kept[kept < size - problem.intercept]
    whole = frame.parameters(theta[:, None])
    inner = replace(
        problem,
        parameters=whole[kept],
        penalty=problem.penalty[kept],
        absolute=problem.absolute[kept],
        intercept=bool(problem.intercept and kept[-1] == size - 1),
    )

    def seen(position: Array, within: Frame) -> NewtonSums:
        axes = selection if within.axes is None else selection @ within.axes
        return evaluate(position, Frame(frame.center, axes))

    center = None if frame.center is None else frame.center[features]
    found = minimize(inner, seen, tuple(names[i] for i in own), Frame(center), start_is_fit=False, precision=precision)
    if found.undecided.size:
        raise not_unique(found.units * np.abs(found.undecided).max(axis=1), found.names, problem.estimator)
    axes = selection if found.frame.axes is None else selection @ found.frame.axes
    return replace(
        found,
        frame=Frame(frame.center, axes),
        undecided=np.empty((size, 0)),
        units=selection @ found.units,
        names=names,
    )


def _check_decided(problem: Problem, active: ActiveSet, names: tuple[str, ...]) -> None:
    """Refuse a minimizer of which rounding decides what is zero."""
    inactive = np.setdiff1d(np.arange(len(active.signs)), active.indices)
    beyond = np.abs(active.gradient[inactive]) > active.absolute[inactive] * (1 + _UNDECIDED)
    if beyond.any():
        raise MinimizerError(
            f"Rounding decides whether the coefficient of {names[inactive[beyond][0]]!r} in this {problem.estimator} "
            "is zero: some columns are nearly combinations of others. Drop one of them, or fit with a stronger penalty."
        )
    at_bound = inactive[np.abs(active.gradient[inactive]) >= active.absolute[inactive] * (1 - BEYOND)]
    for i in at_bound.tolist():
        own = active.hessian[np.ix_(active.indices, active.indices)]
        share = np.linalg.lstsq(own, active.hessian[active.indices, i], rcond=None)[0]
        left = active.hessian[i, i] - active.hessian[active.indices, i] @ share
        if left <= _NOTHING * active.hessian[i, i]:
            direction = np.zeros(len(names))
            direction[i], direction[active.indices] = 1.0, -share
            raise not_unique(direction * np.sqrt(active.hessian.diagonal()), names, problem.estimator)
        raise MinimizerError(
            f"The coefficient of {names[i]!r} in this {problem.estimator} is zero, and would not be with any less of a "
            "penalty: at such a point the minimizer has no derivative. Fit with a slightly different penalty."
        )
    lost = [i for i in active.indices.tolist() if active.absolute[i] > 0 and active.signs[i] == 0]
    if lost:
        raise MinimizerError(
            f"The coefficient of {names[lost[0]]!r} in this {problem.estimator} is zero but for rounding. Fit with a "
            "slightly different penalty."
        )
