"""Losses of generalized linear models: any family with any link, from a few derivatives of each.

With the mean mu(m) of a margin m and the variance V(mu), the negative log likelihood of a label y has

    slope = -(y - mu) h,     h = mu' / V(mu),

and all other derivatives follow from those of log h: of it a link brings mu''/mu' and mu'''/mu', a family V'/V and
V''/V. Of a share both mu and 1 - mu are kept, so that nothing cancels far out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr, ndtr

from seepage.errors import InputError
from seepage.linear.objective._losses import Loss

Array = NDArray[np.float64]


class Mean(NamedTuple):
    """The mean as a function of the margin."""

    mean: Array
    rest: Array
    """One minus it."""
    slope: Array
    """mu'."""
    second: Array
    """mu'' / mu'."""
    third: Array
    """mu''' / mu'."""


class VarianceFunction(NamedTuple):
    """The variance as a function of the mean."""

    variance: Array
    first: Array
    """V' / V."""
    second: Array
    """V'' / V."""


def _identity(m: Array, _: float) -> Mean:
    zero = np.zeros_like(m)
    return Mean(m, 1 - m, np.ones_like(m), zero, zero)


def _log(m: Array, _: float) -> Mean:
    mean, one = np.exp(m), np.ones_like(m)
    return Mean(mean, -np.expm1(m), mean, one, one)


def _logc(m: Array, _: float) -> Mean:
    rest, one = np.exp(m), np.ones_like(m)
    return Mean(-np.expm1(m), rest, -rest, one, one)


def _logit(m: Array, _: float) -> Mean:
    mean, rest = expit(m), expit(-m)
    tilt = rest - mean
    return Mean(mean, rest, mean * rest, tilt, tilt**2 - 2 * mean * rest)


def _probit(m: Array, _: float) -> Mean:
    return Mean(ndtr(m), ndtr(-m), np.exp(-0.5 * m**2) / np.sqrt(2 * np.pi), -m, m**2 - 1)


def _cauchit(m: Array, _: float) -> Mean:
    spread = 1 + m**2
    mean, rest = np.arctan2(1.0, -m) / np.pi, np.arctan2(1.0, m) / np.pi
    return Mean(mean, rest, 1 / (np.pi * spread), -2 * m / spread, (6 * m**2 - 2) / spread**2)


def _cloglog(m: Array, _: float) -> Mean:
    # mu' = e^m exp(-e^m): log mu' has the slope 1 - e^m.
    rate = np.exp(m)
    rest, tilt = np.exp(-rate), 1 - rate
    return Mean(-np.expm1(-rate), rest, rate * rest, tilt, tilt**2 - rate)


def _loglog(m: Array, _: float) -> Mean:
    rate = np.exp(-m)
    mean, tilt = np.exp(-rate), rate - 1
    return Mean(mean, -np.expm1(-rate), rate * mean, tilt, tilt**2 - rate)


def _power(m: Array, power: float) -> Mean:
    # m = mu^power.
    q = 1 / power
    mean = m**q
    return Mean(mean, 1 - mean, q * m ** (q - 1), (q - 1) / m, (q - 1) * (q - 2) / m**2)


def _negative_binomial(m: Array, alpha: float) -> Mean:
    # m = log(mu / (mu + 1 / alpha)), below zero.
    fall = -np.expm1(m)
    mean = np.exp(m) / (alpha * fall)
    # mu' = mu / fall; with e = e^m / fall, e' = e (1 + e).
    e = np.exp(m) / fall
    return Mean(mean, 1 - mean, mean / fall, 1 + 2 * e, 1 + 6 * e + 6 * e**2)


LINKS: dict[str, Callable[[Array, float], Mean]] = {
    "identity": _identity,
    "log": _log,
    "logc": _logc,
    "logit": _logit,
    "probit": _probit,
    "cauchit": _cauchit,
    "cloglog": _cloglog,
    "loglog": _loglog,
    "power": _power,
    "negative binomial": _negative_binomial,
}
"""The mean of a margin, by the name of the link; a power has its exponent, and the negative binomial's link alpha."""

CANONICAL = {
    "gaussian": ("identity", 1.0),
    "binomial": ("logit", 1.0),
    "poisson": ("log", 1.0),
    "gamma": ("power", -1.0),
    "inverse gaussian": ("power", -2.0),
    "negative binomial": ("log", 1.0),
    "tweedie": ("log", 1.0),
}
"""The families, and the link that each has by default with its parameter."""

VARIANCE_POWERS = {"gaussian": 0.0, "poisson": 1.0, "gamma": 2.0, "inverse gaussian": 3.0}
"""The families whose variance is a power of the mean; that of a Tweedie family is its parameter."""


@dataclass(frozen=True)
class Generalized(Loss):
    """The negative log likelihood of a family with a link, up to terms of the label alone.

    Attributes
    ----------
    family : str
        One of `CANONICAL`.
    link : str
        One of `LINKS`.
    parameter : float
        The power of a Tweedie family; alpha of a negative binomial one.
    link_parameter : float
        The exponent of a power link; alpha of the negative binomial's own link.
    expected : bool
        Whether the curvature is that which is expected of labels with these means, and so never negative.
    """

    family: str
    link: str
    parameter: float = 1.0
    link_parameter: float = 1.0
    expected: bool = False

    def __post_init__(self) -> None:
        if self.family not in CANONICAL:
            raise InputError(f"{self.family!r} is no family that is known. Those that are: {sorted(CANONICAL)}.")
        if self.link not in LINKS:
            raise InputError(f"{self.link!r} is no link that is known. Those that are: {sorted(LINKS)}.")

    def mean(self, m: Array) -> Array:
        """Return the mean of some margins."""
        return self._mean(m).mean

    def _mean(self, m: Array) -> Mean:
        with np.errstate(all="ignore"):
            return LINKS[self.link](m, self.link_parameter)

    def _spread(self, found: Mean) -> VarianceFunction:
        mean = found.mean
        if self.family == "binomial":
            both = mean * found.rest
            return VarianceFunction(both, (found.rest - mean) / both, -2 / both)
        if self.family == "negative binomial":
            grown = 1 + self.parameter * mean
            variance = mean * grown
            return VarianceFunction(variance, (1 + 2 * self.parameter * mean) / variance, 2 * self.parameter / variance)
        power = self.variance_power
        return VarianceFunction(mean**power, power / mean, power * (power - 1) / mean**2)

    @property
    def variance_power(self) -> float:
        """Which power of the mean the variance is, of a family of which it is one."""
        return VARIANCE_POWERS.get(self.family, self.parameter)

    def _inside(self, found: Mean) -> NDArray[np.bool_]:
        """Return which means the family can have: elsewhere the objective is infinite, which turns a step back."""
        inside = np.isfinite(found.mean)
        if self.family != "gaussian":
            inside &= found.mean > 0
        if self.family == "binomial":
            inside &= found.rest > 0
        return np.asarray(inside)

    def side(self, y: Array) -> Array:
        # A label at an end of what the mean can be is never reached: the slope -(y - mu) h keeps its sign.
        if self.link == "power":
            # On either side of zero such a link goes its own way.
            return np.zeros_like(y)
        low = self.family != "gaussian" or self.link not in ("identity", "logc")
        high = self.family == "binomial" or self.link in ("logit", "probit", "cauchit", "cloglog", "loglog", "logc")
        return np.asarray((-1.0 if self.link == "logc" else 1.0) * (1.0 * (high & (y >= 1.0)) - (low & (y <= 0.0))))

    def loss(self, m: Array, y: Array) -> Array:
        found = self._mean(m)
        mean = found.mean
        with np.errstate(all="ignore"):
            if self.family == "binomial":
                value = -(_times_log(y, self._log_mean(m, found)) + _times_log(1 - y, self._log_rest(m, found)))
            elif self.family == "negative binomial":
                grown = np.log1p(self.parameter * mean)
                value = (y + 1 / self.parameter) * grown - y * np.log(mean)
            elif self.family == "gaussian":
                value = 0.5 * (y - mean) ** 2
            else:
                power = self.variance_power
                rise = np.log(mean) if power == 2 else mean ** (2 - power) / (2 - power)
                fall = np.log(mean) if power == 1 else mean ** (1 - power) / (1 - power)
                value = rise - y * fall
        return np.where(self._inside(found), value, np.inf)

    def _log_mean(self, m: Array, found: Mean) -> Array:
        return np.asarray(log_ndtr(m)) if self.link == "probit" else np.log(found.mean)

    def _log_rest(self, m: Array, found: Mean) -> Array:
        return np.asarray(log_ndtr(-m)) if self.link == "probit" else np.log(found.rest)

    def _parts(self, m: Array, y: Array) -> tuple[Array, Array, Array, Array, Mean]:
        """Return y - mu, h, the first two derivatives of h over h, and the mean."""
        found = self._mean(m)
        with np.errstate(all="ignore"):
            spread = self._spread(found)
            h = found.slope / spread.variance
            first = found.second - found.slope * spread.first
            bent = found.third - found.second**2
            bent -= found.slope * found.second * spread.first + found.slope**2 * (spread.second - spread.first**2)
            gap = y * found.rest - (1 - y) * found.mean if self.family == "binomial" else y - found.mean
            return gap, h, first, first**2 + bent, found

    def slope(self, m: Array, y: Array) -> Array:
        gap, h, _, _, _ = self._parts(m, y)
        return -gap * h

    def curvature(self, m: Array, y: Array) -> Array:
        gap, h, first, _, found = self._parts(m, y)
        return h * (found.slope if self.expected else found.slope - gap * first)

    def pearson(self, m: Array, y: Array) -> tuple[Array, Array, Array] | None:
        if self.family in ("binomial", "poisson", "negative binomial"):
            return None
        found = self._mean(m)
        spread, gap = self._spread(found), y - found.mean
        square = gap**2 / spread.variance
        pulled = 2.0 * gap / spread.variance
        return square, -found.slope * (pulled + square * spread.first), pulled

    def label_slope(self, m: Array, y: Array) -> Array:
        return -self._parts(m, y)[1]

    def third(self, m: Array, y: Array) -> Array:
        gap, h, first, second, found = self._parts(m, y)
        return h * (found.slope * (found.second + 2 * first) - gap * second)

    def label_third(self, m: Array, y: Array) -> Array:
        _, h, first, _, _ = self._parts(m, y)
        return -h * first


def _times_log(share: Array, log: Array) -> Array:
    return np.where(share == 0, 0.0, share * log)
