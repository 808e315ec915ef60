"""Estimates of the information of all steps, from visits at some of them.

Training gives away v_it about person i in step t, drawn or not. Each person is visited a few times, once in each
stretch of the training, at a step drawn uniformly from the stretch and independently of all that happens there. So
(steps in the stretch) x v is an unbiased estimate of the stretch's sum. What moves for everybody alike, the trend mu_t,
need not be left to chance (eq. 8.8):

    sum over t of R mu_t  +  (steps in the stretch) (v - R mu),

R being the person's ratio to the trend in the *other* stretches and mu the trend among *other* people: whatever they
are, the estimate stays unbiased; the better they are, the less is left to chance. Given the trend it is a weighted sum
of the person's own visits, which say how far off it may be.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from seepage.network._schedule import Stretches
from seepage.network._state import Table

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_TINY = 1e-150
# Parts of the people; the trend of each comes from the others.
_FOLDS = 10
# Visits that the trend at a step is taken from, at most and at least.
_WINDOW = (24, 200)
# Visits' worth of everybody's ratio to the trend in the ratio of one person.
_PRIOR = 1.0


@dataclass(frozen=True, eq=False)
class Estimate:
    """The information about each person and group, and how far off the sum over groups may be."""

    traces: Array
    plain: Array
    """The same without credit for sampling."""
    variance: Array
    """Of the sum over groups, shape (people,)."""
    doubt: Array
    """The variance by which to set an upper limit of that sum: what chance may have hidden counts too."""
    largest: tuple[float, float]
    """The largest trace of those that half of the visits put first: by that half, and by the other half."""


def estimate(
    visits: Table,
    stretches: Stretches,
    scales: Array,
    taken: Array,
    plain_taken: Array,
    summed: Callable[[Array], Array] = lambda values: values,
) -> Estimate:
    """Estimate the sum over all steps from the visits.

    Parameters
    ----------
    scales : array of shape (steps,)
        What information in each step is known to be proportional to: one over the squared noise.
    taken : array of shape (records, stretches)
        The steps of each stretch that count for each record: those so far, or those it was drawn into.
    plain_taken : array of the same shape
        The same for numbers without credit for sampling.
    summed : callable
        Adds up over the records of each person. A step moves by J_1 dx_1 + J_2 dx_2 + ... with the values of several
        records: the trace of J^T J is the sum of theirs, whether they are in the same steps or not. Each is visited at
        steps and in directions of its own, so that variances add up too.
    """
    # A gradient that overflows says nothing that can be added: such a record counts as known without limit.
    lost = ~np.isfinite(visits["value"].sum(axis=1))
    unlimited = np.zeros((len(taken), 1))
    unlimited[visits["person"][lost]] = np.inf
    visits = visits | {name: np.where(lost[:, None], 0.0, visits[name]) for name in ("value", "plain")}
    groups = range(visits["value"].shape[1])

    def group(value: Array) -> _Group:
        return _Group(visits, stretches, scales, taken, value)

    traces = np.stack([group(visits["value"][:, g]).total for g in groups], 1)
    plain = np.stack([stretch_sums(visits, plain_taken, visits["plain"][:, g]) for g in groups], 1)
    # Groups are visited at the same steps: their errors go together, and only the sum shows how.
    together, square = group(visits["value"].sum(1)), traces.sum(1) ** 2
    variance, doubt = (
        np.divide(2 * square, degrees, out=together.usual**2, where=square > 0) for degrees in together.freedom()
    )
    traces, plain = summed(traces + unlimited), summed(plain + unlimited)
    return Estimate(traces, plain, summed(variance), summed(doubt), _largest(visits, taken, summed))


class _Group:
    """The estimate for one group of private values."""

    def __init__(self, visits: Table, stretches: Stretches, scales: Array, taken: Array, value: Array) -> None:
        self.person, self.step, self.value, self.taken = visits["person"], visits["step"], value, taken
        self.people, self.scales = len(taken), scales
        self.at = (self.person, visits["stretch"])
        self.bounds = [stretches.start(s) for s in range(taken.shape[1] + 1)]
        # Any fixed division will do: who is visited when is drawn independently of it.
        self.fold = np.arange(self.people) % min(_FOLDS, max(self.people, 1))

        self._estimate()

    def _estimate(self) -> None:
        self._mu, sums = self._trend()
        trend = self._mu
        count, value, mu, mu_squares = (self._table(x) for x in (np.ones_like(trend), self.value, trend, trend**2))
        visited = count > 0
        share = 1 / np.maximum(count, 1)
        value, mu = value * share, mu * share
        counted = np.where(visited, self.taken, 0.0)
        # What the trend says of each stretch beyond what the visit there stands for.
        left = sums - counted * mu
        # A ratio to the trend is worth little where the trend was low: everybody's counts as much as some visits more,
        # unless the person's is far lower. Most people's are, if few have much, and would be drowned in it.
        typical = self.value.sum() / max(trend.sum(), _TINY)
        others, of_others = mu.sum(1, keepdims=True) - mu, value.sum(1, keepdims=True) - value
        prior = np.where(of_others < typical * others / 2, 0.0, _PRIOR * trend.mean())
        ratio = left / (others + prior)
        weights = np.where(visited, counted + ratio.sum(1, keepdims=True) - ratio, 0.0)
        total = (weights * value).sum(1) + typical * (prior * ratio).sum(1)
        # A ratio of sums can be thrown off by a visit or two; the plain sum over visits then stands alone.
        plain = (counted * value).sum(1)
        self.total = np.where(total > 0.1 * plain, total, plain)
        spread = (weights**2 * mu_squares * share**2).sum(1) + (np.where(visited, 0.0, sums) ** 2).sum(1)
        square = (weights * mu).sum(1) ** 2
        self._worth = np.divide(square, spread, out=np.ones_like(square), where=spread > 0)
        # Somebody of whom visits found nothing may have been missed: what is usual is how much that may be.
        self.usual = typical * sums.sum(1)

    def freedom(self) -> tuple[Array, Array]:
        """Return degrees of freedom of everybody's estimate, and those by which to set its upper limit."""
        ratio = self.value / self._mu
        each = np.stack([np.bincount(self.person, ratio**power, self.people) for power in range(3)]).astype(np.float64)
        count, total, squares = each
        shares = np.divide(squares, total**2, out=np.zeros_like(total), where=total > 0)
        return freedom(total / np.maximum(count, 1), count, shares, self._worth)

    def _trend(self) -> tuple[Array, Array]:
        """Return the trend at each visit, and its sum over the steps that count, for each person and stretch."""
        scale = self.scales[self.step]
        expected = np.ones_like(self.value)
        for _ in range(2):
            # Each person's visits, as multiples of their own level: who was visited early or late must not tell on it.
            total, weight = (np.bincount(self.person, x, self.people) for x in (self.value / scale, expected))
            level = total / np.maximum(weight, _TINY)
            known = level[self.person] > 0
            shape = np.divide(self.value / scale, level[self.person], out=np.zeros_like(self.value), where=known)
            expected = _smooth(self.step[known], shape[known], len(self.scales))[self.step]
        at_visit, sums = np.empty_like(self.value), np.zeros_like(self.taken)
        for fold in range(self.fold.max(initial=0) + 1):
            own = self.fold[self.person] == fold
            among = known & ~own if (known & ~own).any() else known
            curve = self.scales * _smooth(self.step[among], shape[among], len(self.scales))
            at_visit[own] = curve[self.step[own]]
            running = np.concatenate([[0.0], np.cumsum(curve)])
            ends = np.minimum(self.bounds, len(curve))
            lengths = np.maximum(np.diff(ends), 1)
            mine = self.fold == fold
            sums[mine] = self.taken[mine] * (np.diff(running[ends]) / lengths)
        return at_visit, sums

    def _table(self, values: Array) -> Array:
        found = np.zeros_like(self.taken)
        np.add.at(found, self.at, values)
        return found


def _smooth(steps: Rows, values: Array, length: int) -> Array:
    """Return a line through the visits around each step, shape (length,); above zero."""
    if not len(values):
        return np.ones(length)
    order = np.argsort(steps, kind="stable")
    x, y = steps[order].astype(np.float64) / length, values[order]
    window = min(len(x), int(np.clip(len(x) // 8, *_WINDOW)))
    at = np.arange(length) / length
    low = np.clip(np.searchsorted(x, at) - window // 2, 0, len(x) - window)
    moments = np.stack([np.ones_like(x), x, y, x * x, x * y])
    running = np.concatenate([np.zeros((5, 1)), np.cumsum(moments, 1)], 1)
    n, sx, sy, sxx, sxy = running[:, low + window] - running[:, low]
    spread = n * sxx - sx**2
    slope = np.divide(n * sxy - sx * sy, spread, out=np.zeros_like(sx), where=spread > 1e-9 * n**2)
    mean = sy / n
    return np.maximum(mean + slope * (at - sx / n), 0.2 * mean.clip(min=1e-300))


def stretch_sums(visits: Table, taken: Array, value: Array) -> Array:
    """Return the sum over stretches of steps times the mean visit; a stretch without one is as the person's others."""
    at = (visits["person"], visits["stretch"])
    total, count = np.zeros_like(taken), np.zeros_like(taken)
    np.add.at(total, at, value)
    np.add.at(count, at, 1.0)
    return (_visit_weights(count, taken) * total).sum(1)


def _visit_weights(count: Array, taken: Array) -> Array:
    """Return how many steps each visit stands for, given how many there are of each person in each stretch."""
    visited = np.where(count > 0, taken, 0.0)
    seen, all_steps = visited.sum(1, keepdims=True), taken.sum(1, keepdims=True)
    return visited / np.maximum(count, 1) * np.divide(all_steps, seen, out=np.zeros_like(seen), where=seen > 0)


def _largest(visits: Table, taken: Array, summed: Callable[[Array], Array]) -> tuple[float, float]:
    """Let half of the visits say who is most exposed, and the other half how exposed they are; both ways round."""
    total = visits["value"].sum(1)
    found = []
    odd = visits["stretch"] % 2 == 1
    halves = []
    for chosen in (odd, ~odd):
        part = {name: visits[name][chosen] for name in ("person", "stretch")}
        halves.append(summed(stretch_sums(part, taken, total[chosen])))
    both = (halves[0] > 0) & (halves[1] > 0)
    for first, second in (halves, halves[::-1]):
        if both.any():
            person = int(np.argmax(np.where(both, first, -1.0)))
            found.append((first[person], second[person]))
    if not found:
        return float("nan"), float("nan")
    return float(np.mean([f for f, _ in found])), float(np.mean([s for _, s in found]))


# People in level, as many below as above, whose visits say how much those of one person vary.
_NEIGHBORS = 10
# Of an interval, below and above.
_TAIL = 0.025
# Degrees of freedom that are told apart; with fewer an upper limit is a hundred orders of magnitude away.
_FREEDOM = np.geomspace(0.02, 1e6, 1200)


def freedom(level: Array, count: Array, shares: Array, worth: Array) -> tuple[Array, Array]:
    """Return degrees of freedom of everybody's estimate, and those by which to set its upper limit; NaN if unknown.

    Parameters
    ----------
    level : array of shape (people,)
        The mean of everybody's visits as multiples of the trend.
    count : array of shape (people,)
        How many there are.
    shares : array of shape (people,)
        The sum of the squared shares of each in the sum of all.
    worth : array of shape (people,)
        How many equal visits an estimate is worth.
    """
    several = (count > 1) & (level > 0)
    if not several.any():
        return np.full(len(level), np.nan), np.full(len(level), np.nan)
    # Of K equal visits this is 1 / (K a + 1) in expectation: none for visits that are all alike, one if one has it all.
    apart = np.where(several, (count * shares - 1) / np.maximum(count - 1, 1), 0.0).clip(0.0, 1.0)
    known = np.where(several, count - 1.0, 0.0)
    alike, varied = (_around(level, known * each, several) for each in (1 - apart, apart * count))
    shape = np.divide(alike, varied, out=np.full_like(alike, np.inf), where=varied > 0)
    degrees = np.maximum(2 * shape * worth, _FREEDOM[0])
    # The lowest estimate that chance leaves to somebody of each level, and the highest level that chance may lower so.
    with np.errstate(divide="ignore"):
        log_level = np.log(level)
    lowest = log_level - _log_reach(degrees)
    order = np.argsort(lowest, kind="stable")
    highest = np.maximum.accumulate(log_level[order])
    place = np.searchsorted(lowest[order], log_level, side="right")
    beyond = np.where(level > 0, highest[np.maximum(place - 1, 0)], -np.inf) - np.where(level > 0, log_level, 0.0)
    return degrees, np.where(beyond > _log_reach(degrees), _freedom_of(beyond), degrees)


def limits(estimate: Array, variance: Array, doubt: Array) -> tuple[Array, Array]:
    """Return the limits of a 95% interval, each of which misses in one of forty cases (eq. 8.14).

    Parameters
    ----------
    estimate, variance : array
        What was estimated, and its variance.
    doubt : array
        The variance by which to set the upper limit.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        below, above = (np.where(each > 0, 2 * estimate**2 / each, np.inf) for each in (variance, doubt))
        low, high = estimate * np.exp(-_log_quantile(below, 1 - _TAIL)), estimate * np.exp(_log_reach(above))
    # Visits that found nothing where others found something do not say how much they missed.
    high = np.where((estimate == 0) & (doubt > 0), np.inf, high)
    unknown = np.isnan(variance)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def _log_quantile(degrees: Array, tail: float) -> Array:
    """Return the logarithm of a quantile of chi-square over its degrees of freedom."""
    shape = np.clip(degrees, _FREEDOM[0], None) / 2
    finite = np.where(np.isfinite(shape), shape, 1.0)
    with np.errstate(divide="ignore"):
        found = np.log(special.gammaincinv(finite, tail) / finite)
    return np.where(np.isfinite(shape), found, np.where(np.isnan(shape), np.nan, 0.0))


def _log_reach(degrees: Array) -> Array:
    """Return how far above an estimate its upper limit is, as a logarithm."""
    return -_log_quantile(degrees, _TAIL)


def _freedom_of(reach: Array) -> Array:
    """Return the degrees of freedom with which an upper limit is that far above an estimate."""
    return np.exp(np.interp(-reach, -_log_reach(_FREEDOM), np.log(_FREEDOM)))


def _around(level: Array, values: Array, among: NDArray[np.bool_]) -> Array:
    """Return the sum of values over everybody's neighbors in level, of those who are among them."""
    order = np.flatnonzero(among)[np.argsort(level[among], kind="stable")]
    running = np.concatenate([[0.0], np.cumsum(values[order])])
    middle = np.searchsorted(level[order], level)
    first = np.clip(middle - _NEIGHBORS // 2, 0, max(len(order) - _NEIGHBORS, 0))
    return running[np.minimum(first + _NEIGHBORS, len(order))] - running[first]
