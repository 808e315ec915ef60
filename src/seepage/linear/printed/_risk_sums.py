"""How each row moves the coefficients and standard errors that a Cox model prints.

A person is in the risk sets of everybody before, so that what they do is not their own event's term alone. Write
Q = H^-1, e_i = w_i exp(x_i . beta), u_ij = x_i . q_j, and u_l and V_l for the mean and variance of u over the risk set
of term l, of weight W_l and sum S_l. A row that counted a little more would move coefficient j by the residual of Lin
and Wei, times Q,

    w_i delta_i (u_ij - u_l(i)) - e_i (A_i u_ij - a_ij),      A = sum_l W_l / S_l,  a = sum_l W_l u_l / S_l,

the sums being over the terms in whose risk set the row is, in Efron's form by its part in them. The j-th standard error
is sqrt(Q_jj) with d sqrt(Q_jj) = - q_j^T dH q_j / (2 sqrt(Q_jj)), and q_j^T H q_j is the sum of W_l V_l. Row i moves it
through log e_i by e_i g_ij,

    g_ij = A_i u_ij^2 - 2 a_ij u_ij + b_ij,      b = sum_l W_l (u_l^2 - V_l) / S_l,

through its own event by w_i V_l(i), and through its features by e_i (2 (A_i u_ij - a_ij) q_j + g_ij beta). As beta
moves everybody's margin, q_j^T (dH / dbeta) q_j = sum_i e_i g_ij x_i.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.linear.survival import SurvivalFit


@dataclass(frozen=True, eq=False)
class RiskSums:
    """What the sums over risk sets leave for each row."""

    fit: SurvivalFit
    margins: Array
    """e, in the order in which rows were given."""
    terms: Array
    """A, a and b of each row, shape (n, 1 + 2 p)."""
    mean: Array
    """That of the term of a row's own event, shape (n, p)."""
    variance: Array
    """The same."""

    @classmethod
    def of(cls, fit: SurvivalFit) -> "RiskSums":
        """Add up over risk sets, stratum by stratum."""
        cohort, risk = fit.cohort, fit.risk
        u = cohort.features @ fit.minimum.inverse
        _, e = cohort._shares(fit.minimum.beta)
        terms, mean, variance = np.zeros((len(u), 1 + 2 * u.shape[1])), np.zeros_like(u), np.zeros_like(u)
        groups = np.append(np.flatnonzero(risk.fresh), len(risk.fresh))
        for first, last in pairwise(groups):
            starts = risk.starts[first : last + 1]
            at = slice(starts[0], starts[-1])
            terms[at], mean[at], variance[at] = _summed(
                u[at], e[at], cohort.weights[at], risk.event[at], starts - starts[0], efron=risk.efron
            )
        back = np.empty_like(risk.order)
        back[risk.order] = np.arange(len(back))
        return cls(fit, e[back], terms[back], mean[back], variance[back])

    @property
    def errors(self) -> Array:
        """The standard errors."""
        return np.sqrt(self.fit.minimum.inverse.diagonal())

    def _looked(self, rows: NDArray[np.intp], features: Array) -> "_Looked":
        """Return what some rows, perhaps with other features, are made of."""
        minimum, p = self.fit.minimum, len(self.errors)
        before, x = self.fit.features[rows] - self.fit.origin, features - self.fit.origin
        e = self.margins[rows] * np.exp((x - before) @ minimum.beta)
        u, share = x @ minimum.inverse, self.terms[rows, :1]
        mean, rest = self.terms[rows, 1 : 1 + p], self.terms[rows, 1 + p :]
        return _Looked(u, e[:, None] * (share * u - mean), e[:, None] * (share * u**2 - 2 * mean * u + rest))

    @cached_property
    def _through(self) -> Array:
        """How q_j^T H q_j moves with the coefficients, shape (p, p)."""
        looked = self._looked(np.arange(len(self.margins)), self.fit.features)
        return np.asarray(looked.bent.T @ (self.fit.features - self.fit.origin))

    def moves(self, rows: NDArray[np.intp], features: Array) -> tuple[Array, Array]:
        """Return what some rows, perhaps with other features, move coefficients and standard errors by."""
        looked = self._looked(rows, features)
        weights = np.ones(len(rows)) if self.fit.rows.weights is None else self.fit.rows.weights[rows]
        own = (weights * self.fit.outcomes.event[rows])[:, None]
        coefficients = own * (looked.along - self.mean[rows]) - looked.pulled
        square = own * self.variance[rows] + looked.bent + coefficients @ self._through.T
        return coefficients, -0.5 / self.errors * square

    def slopes(self, rows: NDArray[np.intp], coefficients: Array, reading: Array) -> Array:
        """Return how standard errors move with values of some rows, shape (n, p, k), given how coefficients do."""
        looked, minimum = self._looked(rows, self.fit.features[rows]), self.fit.minimum
        along, margin = minimum.inverse @ reading, minimum.beta @ reading
        direct = 2 * looked.pulled[:, :, None] * along + looked.bent[:, :, None] * margin
        return np.asarray(-0.5 / self.errors[:, None] * (direct + self._through @ coefficients))


class _Looked(NamedTuple):
    """What a row's part in the sums is made of, shape (n, p) each."""

    along: Array
    """u."""
    pulled: Array
    """e (A u - a)."""
    bent: Array
    """e g."""


def _summed(
    u: Array, e: Array, weights: Array, event: NDArray[np.bool_], starts: NDArray[np.intp], *, efron: bool
) -> tuple[Array, Array, Array]:
    """Return the sums of each row of a stratum, latest first, with mean and variance of its own event's term."""
    p, powers = u.shape[1], np.column_stack([e, e[:, None] * u, e[:, None] * u**2])
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    at_risk = np.cumsum(np.add.reduceat(powers, starts[:-1]), axis=0)
    tied = np.add.reduceat(powers * event[:, None], starts[:-1])
    weight, deaths = (np.add.reduceat(each * event, starts[:-1]) for each in (weights, np.ones(len(u))))
    count = np.where(deaths > 0, deaths if efron else 1, 0).astype(np.intp)
    of = np.repeat(np.arange(len(count)), count)
    fraction = ((np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)) / np.maximum(count, 1)[of])[:, None]
    sums = at_risk[of] - fraction * tied[of]
    mean = sums[:, 1 : 1 + p] / sums[:, :1]
    variance = sums[:, 1 + p :] / sums[:, :1] - mean**2
    share = (weight / np.maximum(count, 1))[of, None] / sums[:, :1]
    each = np.column_stack([share, share * mean, share * (mean**2 - variance)])
    whole, part = np.zeros((len(count) + 1, each.shape[1])), np.zeros((len(count), each.shape[1]))
    np.add.at(whole, of, each)
    np.add.at(part, of, (1 - fraction) * each)
    own = np.zeros((len(count), 2 * p))
    np.add.at(own, of, np.column_stack([mean, variance]) / np.maximum(count, 1)[of, None])
    # Whoever is at risk at a time was at risk at all that came before.
    until = np.cumsum(whole[::-1], axis=0)[::-1]
    found = until[group]
    if efron:
        found[event] = (until[1:] + part)[group[event]]
    return found, own[group, :p], own[group, p:]
