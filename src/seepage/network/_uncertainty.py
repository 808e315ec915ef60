"""How far off an estimate from a few visits may be.

A visit falls on a step by chance and looks in a direction by chance: what it finds, as a multiple of the trend, is
skewed, often as much as the square of a normal number. So a person's visits are taken to be gamma distributed with a
shape a: the shares of them in their sum are then Dirichlet distributed, whatever the person's level is, and say what a
is (eq. 8.13). Sums of such visits are near a chi-square whose freedom follows; limits are its quantiles (eq. 8.14).

A person's own visits are too few to say what a is, and people differ: neighbors in level say it. That alone would fail
those who matter most. Whoever is much exposed in a few steps that no visit met seems little exposed, among people whose
visits all look alike. An upper limit has to be one for them too: nobody's is below the level of those whose
estimates chance could have put as low as theirs.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

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
