"""Privacy amplification: the share of a step's information that secret sampling leaves.

Given all else, a step with Poisson sampling at rate q publishes N(g, s^2) with probability q and N(0, s^2) otherwise.
What an example in the batch then gives away is multiplied, across its gradient and along it, by (eqs. 8.9 and 8.10)

    k_perp = E post(t),   k_par = E t^2 post(t),   post(t) = 1 / (1 + (1-q)/q exp(-(r t + r^2/2))),   t ~ N(0, 1),

with r = |g|/s. Both are q at r = 0 and tend to 1 as r or q grows. No failure probability is involved.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from opacus.accountants.analysis.rdp import compute_rdp
from scipy import integrate
from scipy.interpolate import CubicSpline
from scipy.special import expit
from scipy.stats import binom

from seepage.errors import InputError

Array = NDArray[np.float64]

# The integrands are analytic and fall like exp(-t^2/2): the trapezoidal rule converges geometrically. The nearest pole
# is pi/r off the real line, which the spacing has to resolve for the largest r that a table holds.
_REACH = 12.0
_NODES = 1201
# Of the table in r: a cubic spline is then within 1e-9 of the integrals (the tests ask for 1e-6).
_SPACING = 0.01


def poisson_factors(sample_rate: float, ratio: ArrayLike) -> tuple[Array, Array]:
    """Return k_perp and k_par: the share of an in-batch example's information that secret Poisson sampling leaves.

    Parameters
    ----------
    sample_rate : float
        The probability with which each example is in a batch.
    ratio : array-like
        The norm of the example's clipped gradient over the standard deviation of the noise.

    Returns
    -------
    k_perp, k_par : arrays
        The factor for movements of the gradient across it, and along it.

    Examples
    --------
    >>> import seepage.network
    >>> k_perp, k_par = seepage.network.poisson_factors(0.01, [0.0, 1.0])
    >>> k_perp.round(4).tolist(), k_par.round(4).tolist()
    ([0.01, 0.0257], [0.01, 0.0472])
    """
    _check_rate(sample_rate)
    r = np.abs(np.asarray(ratio, dtype=np.float64))[..., None]
    t = np.linspace(-_REACH, _REACH, _NODES)
    weight = np.exp(-0.5 * t * t)
    weight /= weight.sum()
    post = np.ones_like(r * t) if sample_rate == 1 else expit(r * t + 0.5 * r * r + _log_odds(sample_rate))
    return post @ weight, post @ (weight * t * t)


def without_replacement_factor(batch_size: int, people: int, ratio: ArrayLike) -> Array:
    """Return the share of an in-batch example's information that a secret batch of fixed size leaves at most.

    Of n people B are drawn without replacement. Whoever else is in the batch may be known but for one place: either
    the example has it, with probability B/n, or one other person j. The step then publishes one of two Gaussians as
    far apart as their gradients, which is Poisson sampling with the gradient of j in the place of none; not to know j
    tells no more. No failure probability is involved, and the factor holds in every direction.

    Parameters
    ----------
    batch_size, people : int
        B and n.
    ratio : array-like
        The largest distance between the example's clipped gradient and anybody else's, over the standard deviation of
        the noise: at most 2 over the noise multiplier, and 2.2306 over it with smooth clipping.

    Returns
    -------
    array
        The share of each ratio.

    Examples
    --------
    >>> import seepage.network
    >>> seepage.network.without_replacement_factor(600, 60_000, [0.0, 1.0, 4.0]).round(3).tolist()
    [0.01, 0.047, 0.782]
    """
    if not 0 < batch_size <= people:
        raise InputError(f"batch_size must be between 1 and the number of people, {people!r}, not {batch_size!r}.")
    r = np.abs(np.asarray(ratio, dtype=np.float64))
    # Somebody may be nearer than the farthest: the largest factor up to there, at the next point of a grid.
    grid = np.arange(0.0, min(r.max(initial=0.0), 40.0) + 2 * _SPACING, _SPACING)
    largest = np.maximum.accumulate(np.maximum(*poisson_factors(batch_size / people, grid)))
    return np.minimum(largest[np.minimum(np.ceil(r / _SPACING - 1e-9).astype(int), len(grid) - 1)], 1.0)


def step_factors(sample_rate: float, batches: int, ratio: ArrayLike) -> tuple[Array, Array]:
    """Return what a whole step leaves of a person's information, drawn or not, across the gradient and along it.

    Of one batch it is q k_perp and q k_par. A step may add up several batches, each drawn anew; the person is then in
    j of them with binomial probability, the step publishes N(j g, s^2), and with u the coordinate along g, in units of
    s, the factors are

        E ( E[j | u]^2 ),     E ( E[j (u - j r) | u]^2 ).
    """
    r = np.abs(np.asarray(ratio, dtype=np.float64))
    if batches == 1:
        k_perp, k_par = poisson_factors(sample_rate, r)
        return sample_rate * k_perp, sample_rate * k_par
    j = np.arange(batches + 1)
    chance = binom.pmf(j, batches, sample_rate)
    t = np.linspace(-_REACH, _REACH, _NODES)
    weight = np.exp(-0.5 * t * t)
    weight /= weight.sum()
    across, along = np.zeros_like(r), np.zeros_like(r)
    for drawn, probability in zip(j, chance, strict=True):
        # From the component in which the person was drawn so often.
        u = t + drawn * r[..., None]
        exponent = j * r[..., None, None] * u[..., None] - 0.5 * (j * r[..., None, None]) ** 2
        post = chance * np.exp(exponent - exponent.max(-1, keepdims=True))
        post /= post.sum(-1, keepdims=True)
        across += probability * ((post @ j) ** 2 @ weight)
        along += probability * (((post * j * (u[..., None] - j * r[..., None, None])).sum(-1)) ** 2 @ weight)
    return across, along


@dataclass(frozen=True, eq=False)
class StepFactors:
    """Both factors of a whole step for one rate, tabulated."""

    reach: float
    perpendicular: CubicSpline
    parallel: CubicSpline

    def __call__(self, ratio: Array) -> tuple[Array, Array]:
        """Return the factors at |g|/s."""
        inside = np.minimum(ratio, self.reach)
        return self.perpendicular(inside), self.parallel(inside)


@lru_cache(maxsize=64)
def tabulated(sample_rate: float, batches: int = 1) -> StepFactors:
    """Return the factors of one rate as a table; beyond its end they no longer change to twelve digits."""
    _check_rate(sample_rate)
    # post(-8) is 1 to within exp(-8 r) once r^2/2 - 8 r exceeds the odds against.
    reach = 8.0 + math.sqrt(64.0 + 2.0 * max(0.0, -_log_odds(sample_rate)) + 60.0)
    grid = np.arange(0.0, reach + _SPACING, _SPACING)
    parts = [step_factors(sample_rate, batches, some) for some in np.array_split(grid, 64)]
    perpendicular, parallel = (np.concatenate([part[i] for part in parts]) for i in range(2))
    return StepFactors(float(grid[-1]), CubicSpline(grid, perpendicular), CubicSpline(grid, parallel))


@lru_cache(maxsize=256)
def replacement_divergence(sample_rate: float, noise_multiplier: float) -> float:
    """Return the Renyi divergence of order 2 between a step with one record and with another in its place (eq. 5.13).

    Opacus's is that between a step with the record and without it. With r = 1/noise multiplier, P and Q the mixtures
    of N(0, 1) with N(r, 1) and with N(-r, 1), which are the two clipped gradients farthest apart,

        log ( 1 + integral of (P - Q)^2 / Q ).

    Without sampling it is (2 r)^2.
    """
    _check_rate(sample_rate)
    if not 0 < noise_multiplier < math.inf:
        raise InputError(f"noise_multiplier must be a positive number, not {noise_multiplier!r}.")
    r = 1 / noise_multiplier
    if sample_rate == 1:
        return 4 * r * r
    # (P - Q)^2 / Q is largest around 3 r in the worst case, N(r)^2 / N(-r).
    x = np.linspace(-12 - 3 * r, 12 + 3 * r, 40_001)
    log_density = [-0.5 * (x - mean) ** 2 for mean in (r, -r, 0.0)]
    highest = np.logaddexp(np.log(sample_rate) + log_density[1], np.log1p(-sample_rate) + log_density[2])
    ratios = [np.exp(log_density[i] + log_density[j] - highest) for i, j in ((0, 0), (0, 1), (1, 1))]
    integrand = sample_rate**2 * (ratios[0] - 2 * ratios[1] + ratios[2])
    return float(np.log1p(integrate.trapezoid(integrand, x) / math.sqrt(2 * math.pi)))


def renyi_losses(ratio: Array, sample_rate: float | None, batches: int = 1) -> Array:
    """Return a person's own Renyi divergence in one step at each order, shape (people, orders).

    With r the norm of the published gradient over the noise, the divergence of order a is a r^2 / 2 without secret
    sampling (Feldman and Zrnic 2021), and with it that of the subsampled Gaussian mechanism with noise 1 / r.

    Parameters
    ----------
    ratio : array of shape (people,)
        The norm of each person's clipped gradient over the standard deviation of the noise.
    sample_rate : float or None
        The rate of secret Poisson sampling, if it is secret.
    batches : int
        Batches that the step adds up, each drawn anew: a person is then counted as in all of them or in none.
    """
    orders = np.asarray(ORDERS)
    if sample_rate is None or sample_rate == 1:
        return np.asarray(0.5 * orders * (batches * ratio[:, None]) ** 2)
    rate = -math.expm1(batches * math.log1p(-sample_rate))
    grid, logarithms = _renyi_table(rate)
    # Between points of the grid the logarithm is taken to be straight in that of the ratio: it is convex, so above.
    at = np.log(np.clip(batches * ratio, grid[0], grid[-1]))
    found = np.exp(np.stack([np.interp(at, np.log(grid), column) for column in logarithms.T], 1))
    return np.where(batches * ratio[:, None] > grid[-1], 0.5 * orders * (batches * ratio[:, None]) ** 2, found)


ORDERS = (1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0, 48.0, 64.0, 128.0)
"""Of Renyi divergences."""


@lru_cache(maxsize=16)
def _renyi_table(rate: float) -> tuple[Array, Array]:
    grid = np.geomspace(1e-2, 10.0, 61)
    rows = [compute_rdp(q=rate, noise_multiplier=1 / r, steps=1, orders=list(ORDERS)) for r in grid]
    return grid, np.log(np.maximum(np.array(rows, dtype=np.float64), 1e-300))


def epsilons(losses: Array, delta: float) -> Array:
    """Return epsilon at a delta, given Renyi divergences of shape (people, orders); the conversion is Opacus's."""
    orders = np.asarray(ORDERS)
    found = losses - (math.log(delta) + np.log(orders)) / (orders - 1) + np.log((orders - 1) / orders)
    return np.maximum(found.min(axis=1), 0.0)


def _log_odds(sample_rate: float) -> float:
    return math.log(sample_rate) - math.log1p(-sample_rate) if sample_rate < 1 else math.inf


def _check_rate(sample_rate: float) -> None:
    if not 0 < sample_rate <= 1:
        raise InputError(f"sample_rate must be a probability above 0, not {sample_rate!r}.")
