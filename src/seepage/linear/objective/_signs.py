"""Which coefficients a penalty on absolute values keeps at zero, and the signs of the others.

Proximal Newton steps find the signs: each minimizes the second-order model with the absolute values as they are, by
feature-sign search (Lee et al. 2006), which ends after finitely many solutions of linear equations.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from seepage._tables import Array
from seepage.linear.objective._losses import NewtonSums
from seepage.linear.objective._minimizer import Point, UnitFactor, descended

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
