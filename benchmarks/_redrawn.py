"""Tables of models of people who are drawn anew, many at once, by plain Newton steps that share nothing with seepage.

A person who is drawn twice is a row of weight two: all draws have the same rows, and their fits are products of
matrices. One person's own rows stand apart, since their values are changed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

Array = NDArray[np.float64]

# Numbers in the largest temporary.
_MOST_NUMBERS = 2**22
_STEPS = 60
# Of what is drawn nobody may have some value: there is no such table.
_SINGULAR = 1e-11


@dataclass(frozen=True)
class Family:
    """A loss, as plainly as it can be written: slope and curvature in the margins, and the dispersion."""

    slope: Callable[[Array, Array], Array]
    """Of margins (..., outputs) and labels (..., values) of a row, shape (..., outputs)."""
    curvature: Callable[[Array, Array], Array]
    """Shape (..., outputs, outputs)."""
    drawn: Callable[[np.random.Generator, Array, float], Array] | None = None
    """Outcomes of rows, given margins and dispersion."""
    pearson: Callable[[Array, Array], Array] | None = None
    basis: Array | None = None
    """From outputs to the coefficients that are printed, shape (printed, outputs); as they are if None."""
    counts: bool = False
    """Whether people are counted by outcome."""


def _one(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda m, y: function(m[..., 0], y[..., 0])[..., None, None]


def _yes(rng: np.random.Generator, m: Array, phi: float) -> Array:
    return (rng.random(m.shape) < 1 / (1 + np.exp(-m))).astype(float)


# Orthonormal numbers of three classes, whose coefficients sum to zero.
THREE = np.linalg.qr(np.column_stack([np.ones(3), np.eye(3)[:, 1:]]))[0][:, 1:]


def _share_slope(m: Array, y: Array) -> Array:
    return np.asarray((softmax(m @ THREE.T, axis=-1) - y) @ THREE)


def _share_curvature(m: Array, y: Array) -> Array:
    share = softmax(m @ THREE.T, axis=-1)
    mean = share @ THREE
    whole = share @ np.einsum("kc,kd->kcd", THREE, THREE).reshape(3, -1)
    return np.asarray(whole.reshape(*mean.shape, 2) - mean[..., :, None] * mean[..., None, :])


FAMILIES = {
    "squares": Family(
        lambda m, y: m - y,
        _one(lambda m, y: np.ones_like(m)),
        lambda rng, m, phi: m + np.sqrt(phi) * rng.normal(size=m.shape),
        lambda m, y: (y - m) ** 2,
    ),
    "logistic": Family(
        lambda m, y: 1 / (1 + np.exp(-m)) - y, _one(lambda m, y: 1 / (2 + np.exp(m) + np.exp(-m))), _yes, counts=True
    ),
    "Poisson": Family(
        lambda m, y: np.exp(m) - y,
        _one(lambda m, y: np.exp(m)),
        lambda rng, m, phi: rng.poisson(np.exp(m)).astype(float),
    ),
    "gamma": Family(
        lambda m, y: 1 - y * np.exp(-m),
        _one(lambda m, y: y * np.exp(-m)),
        lambda rng, m, phi: rng.gamma(1 / phi, phi * np.exp(m)),
        lambda m, y: (y * np.exp(-m) - 1) ** 2,
    ),
    "multinomial": Family(_share_slope, _share_curvature, basis=THREE, counts=True),
}


@dataclass(frozen=True)
class Tables:
    """A model of some rows, and what is printed of it where they are weighed anew."""

    family: str
    Z: Array
    """With a column of ones, if there is an intercept; shape (n, q)."""
    labels: Array
    """One number a row; of classes one for each; of survival the time and whether there was an event."""
    penalty: Array

    @property
    def outputs(self) -> int:
        return 2 if self.family == "multinomial" else 1

    @property
    def size(self) -> int:
        """How many coefficients stand first in a table."""
        return self.Z.shape[1] * self.outputs

    def fitted(self) -> Array:
        """Return the coefficients of all rows, shape (q, outputs)."""
        table = self(np.ones((1, len(self.Z))), np.empty(0, dtype=int), np.zeros((self.Z.shape[1], self.outputs)))
        return np.asarray(table[0, : self.size].reshape(self.outputs, -1).T)

    def __call__(
        self,
        weights: Array,
        own: NDArray[np.intp],
        start: Array,
        rows: Array | None = None,
        values: Array | None = None,
        labels: Array | None = None,
    ) -> Array:
        """Return the tables, shape (draws, numbers); NaN where there is none.

        Parameters
        ----------
        weights : ndarray of shape (draws, n)
            How often each row was drawn, beside a person's own.
        own : ndarray of int, shape (k,)
            The rows of one person, which are there once.
        start : ndarray of shape (q, outputs)
            Coefficients from where steps begin.
        rows, values : ndarray of shape (draws, k, q) and (draws, k, labels), optional
            What the person's rows are; as they are if None.
        labels : ndarray of shape (draws, n, labels), optional
            Everybody's labels, if they are not what they are.
        """
        draws = len(weights)
        rows = np.broadcast_to(self.Z[own], (draws, len(own), self.Z.shape[1])) if rows is None else rows
        values = np.broadcast_to(self.labels[own], (draws, *self.labels[own].shape)) if values is None else values
        made = self._hazards if self.family == "Cox" else self._table
        numbers = len(self.Z) * (self.Z.shape[1] ** 2 if self.family == "Cox" else self.outputs**2 + 3)
        step, found = max(_MOST_NUMBERS // numbers, 1), []
        for at in (slice(i, i + step) for i in range(0, draws, step)):
            some = np.concatenate([weights[at], np.ones((len(rows[at]), len(own)))], axis=1)
            found.append(made(some, start, rows[at], values[at], None if labels is None else labels[at]))
        return np.concatenate(found)

    def _table(self, weights: Array, start: Array, rows: Array, values: Array, labels: Array | None) -> Array:
        family, draws, q, c = FAMILIES[self.family], len(weights), self.Z.shape[1], self.outputs
        labels = np.broadcast_to(self.labels, (draws, *self.labels.shape)) if labels is None else labels
        y = np.concatenate([labels, values], axis=1)
        squares = np.einsum("ni,nj->nij", self.Z, self.Z).reshape(len(self.Z), -1)
        theta, penalty = np.repeat(start[None], draws, axis=0), np.tile(self.penalty, c)

        def margins() -> Array:
            shared = np.einsum("nq,dqc->dnc", self.Z, theta, optimize=True)
            return np.concatenate([shared, np.einsum("dkq,dqc->dkc", rows, theta)], axis=1)

        def hessian(m: Array) -> Array:
            bend = weights[:, :, None, None] * family.curvature(m, y)
            shared, own = bend[:, : len(self.Z)], bend[:, len(self.Z) :]
            whole = np.einsum("dncb,ns->dcbs", shared, squares, optimize=True).reshape(draws, c, c, q, q)
            whole = whole + np.einsum("dkcb,dki,dkj->dcbij", own, rows, rows)
            return np.asarray(whole.transpose(0, 1, 3, 2, 4).reshape(draws, c * q, c * q) + np.diag(penalty))

        def step(m: Array) -> Array:
            slope = weights[:, :, None] * family.slope(m, y)
            pull = np.einsum("dnc,nq->dcq", slope[:, : len(self.Z)], self.Z, optimize=True)
            pull = pull + np.einsum("dkc,dkq->dcq", slope[:, len(self.Z) :], rows)
            flat = theta.transpose(0, 2, 1).reshape(draws, -1)
            moved = _solved(hessian(m), pull.reshape(draws, -1) + penalty * flat)
            return moved.reshape(draws, c, q).transpose(0, 2, 1)

        for _ in range(_STEPS):
            moved = step(margins())
            theta = theta - moved
            if not (np.abs(moved) > 1e-10 * np.maximum(1.0, np.abs(theta))).any():
                break
        m = margins()
        found = [theta.transpose(0, 2, 1).reshape(draws, -1)]
        phi = np.ones(draws)
        if family.pearson is not None:
            phi = (weights * family.pearson(m, y)[:, :, 0]).sum(axis=1) / (weights.sum(axis=1) - theta[0].size)
        # Attackers may look at logarithms of what is positive: linear guesses from these are nearer.
        if not self.penalty.any():
            inverse = _inverse(hessian(m)).reshape(draws, c, q, c, q)
            basis = np.eye(c) if family.basis is None else family.basis
            squared = np.einsum("kc,kb,dcjbj->dkj", basis, basis, inverse).reshape(draws, -1)
            found.append(0.5 * np.log(phi[:, None] * squared))
        if family.pearson is not None:
            found.append(np.log(phi[:, None]))
        if family.counts:
            counted = np.einsum("dn,dnk->dk", weights, y)
            found.append(counted[:, 1:] if counted.shape[1] > 1 else counted)
        return np.concatenate(found, axis=1)

    def _hazards(self, weights: Array, start: Array, rows: Array, values: Array, labels: Array | None) -> Array:
        """Return the table of a Cox model; those whose events are together share one term (Breslow)."""
        draws = len(weights)
        x = np.concatenate([np.broadcast_to(self.Z, (draws, *self.Z.shape)), rows], axis=1)
        time, event = np.concatenate([self.labels, values[0]]).T
        # Whoever is at risk at a time stands before its last row.
        order = np.argsort(-time, kind="stable")
        x, w, event = x[:, order], weights[:, order], event[order]
        last = np.searchsorted(-time[order], -time[order], side="right") - 1
        squares = x[:, :, :, None] * x[:, :, None, :]
        beta, errors = np.repeat(start[None, :, 0], draws, axis=0), np.empty((draws, 0))
        for _ in range(_STEPS):
            e = w * np.exp(np.einsum("dnq,dq->dn", x, beta))
            # Before the first who was drawn nobody is at risk, and nobody has an event.
            total = np.maximum(np.cumsum(e, axis=1)[:, last], 1e-300)
            mean = np.cumsum(e[:, :, None] * x, axis=1)[:, last] / total[:, :, None]
            square = np.cumsum(e[:, :, None, None] * squares, axis=1)[:, last] / total[:, :, None, None]
            had = w * event
            pull = -np.einsum("dn,dnq->dq", had, x - mean) + self.penalty * beta
            hessian = np.einsum("dn,dnij->dij", had, square - mean[..., :, None] * mean[..., None, :])
            inverse = _inverse(hessian + np.diag(self.penalty))
            if not self.penalty.any():
                errors = 0.5 * np.log(np.einsum("dii->di", inverse))
            moved = np.einsum("dij,dj->di", inverse, pull)
            beta = beta - moved
            if not (np.abs(moved) > 1e-10 * np.maximum(1.0, np.abs(beta))).any():
                break
        return np.column_stack([beta, errors, (w * event).sum(axis=1)])


def slopes(tables: Tables, weights: Array, own: NDArray[np.intp], start: Array, labels: Array | None = None) -> Array:
    """Return how tables move in the mean with each value of a person, (values, numbers), by fitting them again.

    The values are the columns that are not constant, and what a label has; of classes orthonormal numbers of them. Of
    survival nothing is asked about the outcome.
    """
    Z, y = tables.Z, tables.labels
    moves: list[tuple[Array, Array, float]] = []
    for k in np.flatnonzero(Z.std(axis=0) > 0):
        moves.append((np.eye(Z.shape[1])[k], np.zeros(y.shape[1]), 1e-4 * float(Z[:, k].std())))
    if tables.family == "multinomial":
        moves += [(np.zeros(Z.shape[1]), along, 1e-4) for along in THREE.T]
    elif tables.family != "Cox":
        moves.append((np.zeros(Z.shape[1]), np.ones(1), 1e-4 * float(y.std())))
    draws, signs = len(weights), [(move, sign) for move in moves for sign in (1.0, -1.0)]
    rows = np.concatenate([np.repeat(Z[own][None] + s * h * z, draws, axis=0) for (z, _, h), s in signs])
    values = np.concatenate([np.repeat(y[own][None] + s * h * label, draws, axis=0) for (_, label, h), s in signs])
    again = None if labels is None else np.tile(labels, (len(signs), 1, 1))
    found = tables(np.tile(weights, (len(signs), 1)), own, start, rows, values, again)
    ends = found.reshape(len(moves), 2, draws, -1)
    steps = np.array([h for _, _, h in moves])
    return np.asarray(np.nanmean(ends[:, 0] - ends[:, 1], axis=1) / (2 * steps[:, None]))


def informations(tables: Array, slope: Array) -> Array:
    """Return the information of the best linear guess of values from such tables, shape (values, values)."""
    told = tables[np.isfinite(tables).all(axis=1)]
    scale = told.std(axis=0)
    # What is the same in all tables tells nothing.
    kept = scale > 1e-12 * np.abs(told).max(axis=0)
    told, seen = told[:, kept] / scale[kept], slope[:, kept] / scale[kept]
    values, vectors = np.linalg.eigh(np.cov(told.T))
    some = values > 1e-10 * values[-1]
    seen = seen @ vectors[:, some] / np.sqrt(values[some])
    count, q = len(told), int(some.sum())
    return np.asarray(seen @ seen.T * (count - q - 2) / (count - 1))


def _solved(matrices: Array, right: Array) -> Array:
    return np.einsum("dij,dj->di", _inverse(matrices), right)


def _inverse(matrices: Array) -> Array:
    """Return inverses, NaN where there is none."""
    scale = np.sqrt(np.maximum(np.einsum("dii->di", matrices), 1e-300))
    scaled = matrices / scale[:, :, None] / scale[:, None, :]
    scaled = np.where(np.isfinite(scaled).all(axis=(1, 2))[:, None, None], scaled, 0.0)
    values, vectors = np.linalg.eigh(scaled)
    values = np.where(values[:, :1] > _SINGULAR * values[:, -1:], values, np.nan)
    found = np.einsum("dik,dk,djk->dij", vectors, 1 / values, vectors, optimize=True)
    return np.asarray(found / scale[:, :, None] / scale[:, None, :])
