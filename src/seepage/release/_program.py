"""The best of all shapes, as a convex program.

Noise of covariance Sigma costs the fit  tr(H Sigma) / 2  of its loss, and hides a move g of the parameters if
g^T Sigma^-1 g <= 1. Among all covariances that hide some moves, the one that costs least solves (eq. 7.4)

    minimize  tr(H Sigma)   subject to   g^T Sigma^-1 g <= 1  for all g,

which is convex in the inverse of Sigma. Its dual asks for weights w of the moves,

    maximize  (tr (H^1/2 M H^1/2)^1/2)^2,     M = sum w g g^T,     w >= 0,  sum w = 1,

and any weights bound the cost of every shape from below. They grow where a move is hidden least, w <- w g^T Sigma^-1 g,
until few moves are left that matter, on which Newton's method within a barrier comes to the last digits.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular

from seepage._tables import Array

_MOST_ROUNDS = 20
# Steps that grow weights before the first Newton steps, and between them.
_GROWING = 60
_NEWTON_STEPS = 80
# Moves that are this near to the bound may matter.
_NEAR = 0.1
_MOST_MOVES = 600
# An eigenvalue below this share of the largest is rounding: no move has a part in its direction.
_NOTHING = 1e-13


@dataclass(frozen=True, eq=False)
class Program:
    """The cheapest covariance that hides some moves.

    Attributes
    ----------
    covariance : ndarray of shape (p, p)
        It meets every constraint.
    cost : float
        tr(H Sigma).
    bound : float
        What no shape can cost less than.
    """

    covariance: Array
    cost: float
    bound: float

    @property
    def gap(self) -> float:
        """How far the cost can be above the smallest there is, as a share of it."""
        return self.cost / self.bound - 1.0


def best_shape(moves: Array, hessian: Array, *, tolerance: float = 1e-7, rounds: int = _MOST_ROUNDS) -> Program:
    """Return the cheapest covariance that hides some moves.

    Parameters
    ----------
    moves : ndarray of shape (m, p)
        What is to be hidden, each in units of what may be seen of it.
    hessian : ndarray of shape (p, p)
        What noise costs; positive definite.
    tolerance : float
        The gap at which to stop.
    rounds : int
        After so many rounds it stops wherever it is; the gap tells where that is.
    """
    root = cholesky(0.5 * (hessian + hessian.T), lower=True)
    # Here the Hessian is the identity.
    unit = np.asarray(moves @ root)
    weights = np.full(len(unit), 1.0 / len(unit))
    for _ in range(_GROWING):
        weights = _grown(unit, weights)
    state = _State.of(unit, weights)
    best = state
    for _ in range(rounds):
        if best.largest - 1.0 <= tolerance:
            break
        matters = np.flatnonzero((state.seen > state.largest * (1 - _NEAR)) | (weights > 1e-4 * weights.max()))
        if len(matters) > _MOST_MOVES:
            matters = matters[np.argsort(-(state.seen * (1 + weights / weights.max()))[matters])[:_MOST_MOVES]]
        weights = np.zeros(len(unit))
        weights[matters] = _polished(unit[matters], np.maximum(state.weights[matters], 1e-6 / len(matters)), tolerance)
        state = _State.of(unit, weights)
        if state.value**2 * state.largest < best.value**2 * best.largest or state.value > best.value:
            best = state
        # Moves that were left out and turn out to matter come in.
        weights = _grown(unit, 0.9 * state.weights + 0.1 * state.seen**8 / (state.seen**8).sum())
        state = _State.of(unit, weights)
    back = solve_triangular(root, np.eye(len(root)), lower=True)
    covariance = best.largest * back.T @ best.covariance() @ back
    cost = best.value**2 * best.largest
    return Program(0.5 * (covariance + covariance.T), cost, best.value**2)


@dataclass(frozen=True, eq=False)
class _State:
    """Weights, and the covariance that goes with them, where the Hessian is the identity."""

    weights: Array
    values: Array
    """The roots of the eigenvalues of M."""
    vectors: Array
    seen: Array
    """g^T Sigma^-1 g of each move; the weighted mean of them is 1."""

    @classmethod
    def of(cls, moves: Array, weights: Array) -> "_State":
        squares, vectors = eigh((moves.T * weights) @ moves)
        kept = squares > _NOTHING * squares[-1]
        values, vectors = np.sqrt(squares[kept]), vectors[:, kept]
        turned = moves @ vectors
        seen = (turned**2 / values).sum(axis=1) / values.sum()
        return cls(weights, values, vectors, seen)

    @property
    def value(self) -> float:
        return float(self.values.sum())

    @property
    def largest(self) -> float:
        return float(self.seen.max())

    def covariance(self) -> Array:
        return np.asarray(self.value * (self.vectors * self.values) @ self.vectors.T)


def _grown(moves: Array, weights: Array) -> Array:
    found = weights * _State.of(moves, weights).seen
    return np.asarray(found / found.sum())


def _polished(moves: Array, start: Array, tolerance: float) -> Array:
    """Return the weights of a few moves that solve the dual among them, by Newton's method within a barrier."""
    weights = start / start.sum()
    barrier = 0.1 * _State.of(moves, weights).value / len(weights)
    for _ in range(_NEWTON_STEPS):
        state = _State.of(moves, weights)
        gradient = 0.5 * state.seen * state.value + barrier / weights
        turned = moves @ state.vectors
        pairs = (turned[:, :, None] * turned[:, None, :]).reshape(len(moves), -1)
        sums = state.values[:, None] + state.values
        scale = 0.5 / (state.values[:, None] * state.values * sums)
        hessian = (pairs * scale.ravel()) @ pairs.T + np.diag(barrier / weights**2)
        # Along sum w = 1.
        solved = np.linalg.solve(hessian, np.column_stack([gradient, np.ones(len(weights))]))
        step = solved[:, 0] - solved[:, 1] * (solved[:, 0].sum() / solved[:, 1].sum())
        rise = float(gradient @ step)
        negative = step < 0
        length = min(1.0, 0.95 * float(np.min(-weights[negative] / step[negative], initial=np.inf)))

        def objective(at: Array, mu: float = barrier) -> float:
            return _State.of(moves, at).value + mu * float(np.log(at).sum())

        now = objective(weights)
        while length > 1e-12 and objective(weights + length * step) < now + 1e-4 * length * rise - 1e-13 * abs(now):
            length *= 0.5
        weights = weights + length * step
        weights = weights / weights.sum()
        if rise < 0.1 * barrier * len(weights):
            if barrier * len(weights) < 0.1 * tolerance * state.value:
                break
            barrier *= 0.1
    return np.asarray(weights)
