"""The exact minimizer under a penalty on absolute values, and which coefficients it keeps at zero.

With g the gradient of all that is smooth (eq. 2.1), theta minimizes  smooth + sum_j L_j |theta_j|  if (eq. 2.25)

    g_k = -L_k sign(theta_k)  where theta_k is not zero,     |g_m| <= L_m  where it is.

Proximal Newton steps find the signs: each minimizes the second-order model with the absolute values as they are, by
feature-sign search (Lee et al. 2006). As long as no sign changes, the penalty adds a constant to the gradient, and
`minimize` does the rest, on the active columns alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from seepage._tables import Array
from seepage.errors import MinimizerError
from seepage.linear.objective._losses import NewtonSums
from seepage.linear.objective._minimizer import (
    ActiveSet,
    Departure,
    Evaluate,
    Minimizer,
    Point,
    Problem,
    Promise,
    UnitFactor,
    check_fit,
    check_sums,
    descended,
    minimize,
    not_unique,
)
from seepage.linear.rows import Frame

MOST_STEPS = 100
# What is left of a step, as a share of all, when signs are taken to be found: the rest is up to Newton's method.
_SETTLED = 1e-7
# Beyond its bound by this share of it, a gradient is not at it by rounding.
BEYOND = 1e-9


@dataclass(frozen=True, eq=False)
class Smooth:
    """All that is smooth in an objective of one output, at some parameters."""

    value: float
    gradient: Array
    """Shape (p,)."""
    hessian: Array
    """Shape (p, p)."""

    @classmethod
    def of(cls, sums: NewtonSums, penalty: Array, theta: Array) -> "Smooth":
        """Add half of the squares, with the factors P of shape (p,), to sums over the rows."""
        point = Point.of(sums, theta[:, None], penalty[:, None])
        return cls(point.value, point.gradient[:, 0], point.hessian)


def settled_signs(smooth: Callable[[Array], Smooth], absolute: Array, start: Array, *, quadratic: bool) -> Array | None:
    """Return parameters that minimize  smooth + sum L |theta|, of the signs of the minimizer; None if none are found.

    Parameters
    ----------
    smooth : callable
        The smooth part at some parameters of shape (p,).
    absolute : ndarray of shape (p,)
        L.
    start : ndarray of shape (p,)
        Where to begin.
    quadratic : bool
        Whether the smooth part is its own second-order model, so that one step is all.
    """

    def at(there: Array) -> tuple[float, Smooth]:
        found = smooth(there)
        return with_absolute(found, absolute, there), found

    theta = start.copy()
    here = smooth(theta)
    for _ in range(MOST_STEPS):
        target = feature_sign_search(here.hessian, here.gradient - here.hessian @ theta, absolute, theta)
        if target is None:
            return None
        if quadratic:
            return target
        step = target - theta
        length = np.sqrt(max(float(step @ here.hessian @ step), 0.0))
        whole = np.sqrt(max(float(target @ here.hessian @ target), 0.0) + 1e-300)
        if length <= _SETTLED * whole and (np.sign(target) == np.sign(theta))[absolute > 0].all():
            return target
        expected = float(here.gradient @ step + absolute @ (np.abs(target) - np.abs(theta)))
        now = with_absolute(here, absolute, theta)
        moved = descended(at, theta, target, now + 1e-12 * abs(now), 1e-4 * expected)
        if moved is None:
            return None
        theta, here = moved
    return None


def feature_sign_search(hessian: Array, linear: Array, absolute: Array, start: Array) -> Array | None:
    """Return the minimizer of  1/2 z^T H z + b^T z + sum L |z|; None where rounding keeps it from being found.

    Parameters
    ----------
    hessian : ndarray of shape (p, p)
        H, positive semidefinite.
    linear, absolute : ndarray of shape (p,)
        b and L. What has no L is never at zero for good.
    start : ndarray of shape (p,)
        Where to begin: the nearer, the fewer solutions of equations.
    """
    z, signs = start.copy(), np.sign(start)
    active = (z != 0) | (absolute == 0)
    units = np.sqrt(np.maximum(hessian.diagonal(), 1e-300))
    for _ in range(10 * len(z) + 100):
        at = np.flatnonzero(active)
        pull = linear[at] + absolute[at] * signs[at]
        target = z.copy()
        if len(at):
            solved = _solution(hessian[np.ix_(at, at)], -pull)
            if solved is None:
                return None
            target[at] = solved
        crossed = at[(absolute[at] > 0) & (np.sign(target[at]) != signs[at])]
        if len(crossed):
            z = _best_on_the_way(hessian, linear, absolute, z, target, at, crossed)
            signs = np.sign(z)
            active = (z != 0) | (absolute == 0)
            continue
        z = target
        gradient = hessian @ z + linear
        rounding = 1e-14 * (np.abs(linear) + np.abs(hessian) @ np.abs(z))
        beyond = np.where(active, 0.0, np.abs(gradient) - absolute * (1 + BEYOND) - rounding)
        if not (beyond > 0).any():
            return z
        worst = int(np.argmax(beyond / units))
        active[worst], signs[worst] = True, -np.sign(gradient[worst])
    return None


def _best_on_the_way(
    hessian: Array, linear: Array, absolute: Array, z: Array, target: Array, at: NDArray[np.intp], crossed: Array
) -> Array:
    """Return the lowest of the points between z and a target at which a coefficient is zero, and the target itself."""
    step = target - z
    inner = hessian[np.ix_(at, at)]
    slope = float(step[at] @ (inner @ z[at] + linear[at]))
    bend = float(step[at] @ inner @ step[at])
    # Nothing moves away from zero against its sign: such a coefficient was not to be let in.
    shares = np.append(np.where(z[crossed] == 0, 0.0, z[crossed] / (z[crossed] - target[crossed])), 1.0)
    points = z[at] + shares[:, None] * step[at]
    values = shares * slope + 0.5 * shares**2 * bend + np.abs(points) @ absolute[at]
    best = int(np.argmin(values))
    found = z.copy()
    found[at] = points[best]
    if best < len(crossed):
        found[crossed[shares[:-1] == shares[best]]] = 0.0
    return found


def _solution(matrix: Array, right: Array) -> Array | None:
    """Return the solution of equations with a matrix that is positive definite, or nearly so."""
    for shift in (0.0, 1e-12, 1e-9):
        try:
            return UnitFactor.of(matrix, shift).solve(right)
        except (LinAlgError, ValueError):
            continue
    return None


def with_absolute(smooth: Smooth, absolute: Array, theta: Array) -> float:
    """Return the objective with its absolute values."""
    return smooth.value + float(absolute @ np.abs(theta))


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
