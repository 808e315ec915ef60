"""Who is at risk when somebody has an event, and sums over these sets.

With margins m_k = x_k . beta and e_k = w_k exp(m_k), every event is a term l of the log partial likelihood with a
weight W_l, shares pi_kl = e_k / sum e over its risk set, and the mean x_l of the rows by these shares. In Breslow's
form people who have their event at the same time share one term, whose weight is that of all of them; in Efron's each
of d has a term of their mean weight, in which the tied people count for 1 - m/d with m = 0, ..., d - 1. Then (eqs. 2.22
and 2.24), with a_i = sum_l W_l pi_il,

    U = sum_i w_i delta_i x_i - sum_l W_l x_l,      H = -dU/dbeta = sum_i a_i x_i x_i^T - sum_l W_l x_l x_l^T,
    dU/dx_i = A_i Id + v_i beta^T,      A_i = w_i delta_i - a_i,      v_i = - sum_l W_l pi_il (x_i - x_l).

Rows stand stratum by stratum, the latest time first. Risk sets then only grow, and what a row has a share in is all
that comes after it: two passes of additions, one down and one up, whatever the number of people.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Rows whose products are in the processor's cache.
_ROWS = 2**13


@dataclass(frozen=True, eq=False)
class RiskSets:
    """The order in which risk sets grow."""

    order: NDArray[np.intp]
    """The rows, stratum by stratum, the latest time first."""
    starts: NDArray[np.intp]
    """Where the rows of each time of each stratum begin, and where the last end."""
    fresh: NDArray[np.bool_]
    """Which of these times is the first of a stratum."""
    times: Array
    """These times."""
    event: NDArray[np.bool_]
    """Who has an event, in the order of the rows."""
    efron: bool

    @classmethod
    def of(cls, time: Array, event: NDArray[np.bool_], stratum: NDArray[np.intp], *, efron: bool) -> "RiskSets":
        """Put the rows in order."""
        order = np.lexsort((-time, stratum))
        ordered, of = time[order], stratum[order]
        other = np.r_[True, of[1:] != of[:-1]]
        begins = other | np.r_[True, ordered[1:] != ordered[:-1]]
        starts = np.flatnonzero(begins)
        return cls(order, np.append(starts, len(order)), other[starts], ordered[starts], event[order], efron)

    def flipped(self, rows: NDArray[np.intp]) -> "RiskSets":
        """Return the same with the other status of some rows."""
        event = self.event.copy()
        event[np.isin(self.order, rows)] ^= True
        return replace(self, event=event)

    @cached_property
    def deaths(self) -> NDArray[np.intp]:
        """How many events there are at each time."""
        return np.add.reduceat(self.event.astype(np.intp), self.starts[:-1])

    @cached_property
    def strata(self) -> NDArray[np.intp]:
        """Where each stratum begins."""
        return self.starts[:-1][self.fresh]


class Sums(NamedTuple):
    """The log partial likelihood at some coefficients, with its two derivatives, and each row's part in them."""

    value: float
    gradient: Array
    hessian: Array
    """With the sign that makes it positive."""
    martingale: Array
    """A_i, in the order of the rows."""
    pull: Array
    """v_i, shape (n, p)."""


@dataclass(frozen=True, eq=False)
class Cohort:
    """People who were followed: their features and weights, in the order of the risk sets."""

    risk: RiskSets
    features: Array
    """Less an origin, of which nothing here depends, shape (n, p)."""
    weights: Array

    @classmethod
    def of(cls, risk: RiskSets, features: Array, weights: Array | None, origin: Array) -> "Cohort":
        """Put the rows in order."""
        each = np.ones(len(features)) if weights is None else weights[risk.order]
        return cls(risk, np.ascontiguousarray(features[risk.order] - origin), each)

    def with_rows(self, places: NDArray[np.intp], features: Array) -> "Cohort":
        """Return the same with other features, less the origin, at some places of the order."""
        changed = self.features.copy()
        changed[places] = features
        return replace(self, features=changed)

    def _shares(self, beta: Array) -> tuple[Array, Array]:
        """Return margins less the largest of each stratum, and e."""
        margins = self.features @ beta
        strata = self.risk.strata
        largest = np.maximum.reduceat(margins, strata)
        margins = margins - np.repeat(largest, np.diff(np.append(strata, len(margins))))
        return margins, self.weights * np.exp(margins)

    def slope(self, beta: Array) -> tuple[float, Array]:
        """Return the log partial likelihood and U."""
        margins, e = self._shares(beta)
        p, risk = len(beta), self.risk
        gradient = np.zeros(p)
        nothing = np.empty((0, p))
        value = _down(
            self.features, margins, e, self.weights, risk.event, risk.starts, risk.fresh, risk.efron, False,
            gradient, np.empty((0, 0)), nothing, nothing, nothing[:, :0], nothing[:, :0],
        )  # fmt: skip
        return float(value), gradient

    def at(self, beta: Array) -> Sums:
        """Return all that is known at some coefficients."""
        margins, e = self._shares(beta)
        p, risk, n = len(beta), self.risk, len(self.features)
        gradient, spread = np.zeros(p), np.zeros((p, p))
        times = int((risk.deaths > 0).sum())
        tied = int((risk.deaths > 1).sum()) if risk.efron else 0
        whole, ties = np.zeros((times, p)), np.zeros((tied, p))
        whole_share, ties_share = np.zeros((times, 1)), np.zeros((tied, 1))
        value = _down(
            self.features, margins, e, self.weights, risk.event, risk.starts, risk.fresh, risk.efron, True,
            gradient, spread, whole, ties, whole_share, ties_share,
        )  # fmt: skip
        share, pull = np.empty(n), np.empty((n, p))
        _up(
            self.features, e, risk.event, risk.starts, risk.fresh, risk.efron,
            whole, ties, whole_share, ties_share, share, pull,
        )  # fmt: skip
        hessian = -spread
        for start in range(0, n, _ROWS):
            at = slice(start, start + _ROWS)
            scaled = self.features[at] * np.sqrt(share[at])[:, None]
            hessian += scaled.T @ scaled
        martingale, pulls = np.empty(n), np.empty((n, p))
        martingale[risk.order] = self.weights * risk.event - share
        pulls[risk.order] = pull
        return Sums(float(value), gradient, 0.5 * (hessian + hessian.T), martingale, pulls)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _down(  # type: ignore[no-untyped-def]
    x, margins, e, w, event, starts, fresh, efron, everything, gradient, spread, whole, ties, whole_share, ties_share
):
    """Return the log partial likelihood, adding up risk sets from the latest time; fill its slope.

    With `everything`, also sum_l W_l x_l x_l^T, and for each time with events the sums over its terms of W / S and of
    W / S times the mean, S being the sum over the risk set: for all at risk in `whole`, for those who are tied in
    `ties`, whose part in each term is smaller.
    """
    p = x.shape[1]
    s1, d1, mean = np.zeros(p), np.zeros(p), np.zeros(p)
    s0, value, at, tied = 0.0, 0.0, 0, 0
    for g in range(len(fresh)):
        if fresh[g]:
            s0 = 0.0
            s1[:] = 0.0
        d0, weight, deaths = 0.0, 0.0, 0
        d1[:] = 0.0
        for i in range(starts[g], starts[g + 1]):
            s0 += e[i]
            for j in range(p):
                s1[j] += e[i] * x[i, j]
            if event[i]:
                deaths += 1
                weight += w[i]
                d0 += e[i]
                value += w[i] * margins[i]
                for j in range(p):
                    d1[j] += e[i] * x[i, j]
                    gradient[j] += w[i] * x[i, j]
        if deaths == 0:
            continue
        terms = deaths if efron else 1
        each = weight / terms
        for term in range(terms):
            fraction = term / terms
            total = s0 - fraction * d0
            share = each / total
            value -= each * np.log(total)
            for j in range(p):
                mean[j] = (s1[j] - fraction * d1[j]) / total
                gradient[j] -= each * mean[j]
            if everything:
                whole_share[at, 0] += share
                for j in range(p):
                    whole[at, j] += share * mean[j]
                    for k in range(j + 1):
                        spread[j, k] += each * mean[j] * mean[k]
                if terms > 1:
                    ties_share[tied, 0] += (1.0 - fraction) * share
                    for j in range(p):
                        ties[tied, j] += (1.0 - fraction) * share * mean[j]
        at += 1
        tied += terms > 1
    if everything:
        for j in range(p):
            for k in range(j):
                spread[k, j] = spread[j, k]
    return value


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _up(  # type: ignore[no-untyped-def]
    x, e, event, starts, fresh, efron, whole, ties, whole_share, ties_share, share, pull
):
    """Fill each row's share in all terms, a_i, and its pull v_i, adding up terms from the earliest time."""
    p, groups = x.shape[1], len(fresh)
    mean, own = np.zeros(p), np.zeros(p)
    total, at, tied = 0.0, len(whole), len(ties)
    for g in range(groups - 1, -1, -1):
        if g == groups - 1 or fresh[g + 1]:
            total = 0.0
            mean[:] = 0.0
        deaths = 0
        for i in range(starts[g], starts[g + 1]):
            deaths += event[i]
        several = efron and deaths > 1
        before = total
        if several:
            tied -= 1
            for j in range(p):
                own[j] = mean[j] + ties[tied, j]
        if deaths > 0:
            at -= 1
            total += whole_share[at, 0]
            for j in range(p):
                mean[j] += whole[at, j]
        for i in range(starts[g], starts[g + 1]):
            if several and event[i]:
                share[i] = e[i] * (before + ties_share[tied, 0])
                for j in range(p):
                    pull[i, j] = e[i] * own[j] - share[i] * x[i, j]
            else:
                share[i] = e[i] * total
                for j in range(p):
                    pull[i, j] = e[i] * mean[j] - share[i] * x[i, j]
