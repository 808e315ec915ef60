"""Losses of generalized linear models: minus the log likelihoods of all families with all links, up to a term of y.

A link is the mean mu of a margin m. Where log(mu) and log(1 - mu) of the mean would lose digits far out, the link gives
them itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, log_expit, log_ndtr, ndtr

from seepage.errors import InputError
from seepage.linear.objective._losses import Loss

Array = NDArray[np.float64]

LINKS: dict[str, Callable[[Any, float], Any]] = {
    "identity": lambda m, _: m,
    "log": lambda m, _: np.exp(m),
    "logc": lambda m, _: -np.expm1(m),
    "logit": lambda m, _: expit(m),
    "probit": lambda m, _: ndtr(m),
    "cauchit": lambda m, _: np.arctan2(1.0, -m) / np.pi,
    "cloglog": lambda m, _: -np.expm1(-np.exp(m)),
    "loglog": lambda m, _: np.exp(-np.exp(-m)),
    "power": lambda m, power: m ** (1 / power),
    "negative binomial": lambda m, alpha: np.exp(m) / (-alpha * np.expm1(m)),
}
"""The mean of a margin, by the name of the link; a power has its exponent, and the negative binomial's link alpha."""

_LOGS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    # log(mu) and log(1 - mu).
    "log": (lambda m: m, lambda m: np.log(-np.expm1(m))),
    "logc": (lambda m: np.log(-np.expm1(m)), lambda m: m),
    "logit": (log_expit, lambda m: log_expit(-m)),
    "probit": (log_ndtr, lambda m: log_ndtr(-m)),
    "cauchit": (lambda m: np.log(np.arctan2(1.0, -m) / np.pi), lambda m: np.log(np.arctan2(1.0, m) / np.pi)),
    "cloglog": (lambda m: np.log(-np.expm1(-np.exp(m))), lambda m: -np.exp(m)),
    "loglog": (lambda m: -np.exp(-m), lambda m: np.log(-np.expm1(-np.exp(-m)))),
}

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
class Likelihood(Loss):
    """Minus the log likelihood of a family with a link, up to terms of the label alone.

    Attributes
    ----------
    family : str
        "gaussian", "binomial", "poisson", "gamma", "inverse gaussian", "negative binomial" or "tweedie".
    link : str
        "identity", "log", "logc", "logit", "probit", "cauchit", "cloglog", "loglog", "power" or "negative binomial".
    parameter : float
        The power of a Tweedie family; alpha of a negative binomial one.
    link_parameter : float
        The exponent of a power link; alpha of the negative binomial's own link.
    expected : bool
        Whether the curvature is that of labels that equal their means, and so never negative.
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

    @property
    def variance_power(self) -> float:
        """Which power of the mean the variance is, of a family of which it is one."""
        return VARIANCE_POWERS.get(self.family, self.parameter)

    @property
    def self_concordant(self) -> bool:  # type: ignore[override]
        # With a log link, a sum of e^((2 - q) m) and e^((1 - q) m) with weights that are not negative.
        return self.link == "log" and self.family in ("poisson", "gamma", "tweedie") and 1 <= self.variance_power <= 2

    def mean(self, m: Any) -> Any:
        """Return the mean of some margins."""
        with np.errstate(all="ignore"):
            return LINKS[self.link](m, self.link_parameter)

    def formula(self, m: Any, y: Any) -> Any:
        if self.family == "gaussian":
            return 0.5 * (y - self.mean(m)) ** 2
        log = self._log_mean(m)
        if self.family == "binomial":
            rest = _LOGS[self.link][1](m) if self.link in _LOGS else np.log1p(-self.mean(m))
            return -(y * log + (1 - y) * rest)
        if self.family == "negative binomial":
            return (y + 1 / self.parameter) * np.logaddexp(0.0, np.log(self.parameter) + log) - y * log
        q = self.variance_power
        rise = log if q == 2 else np.exp((2 - q) * log) / (2 - q)
        fall = log if q == 1 else np.exp((1 - q) * log) / (1 - q)
        return rise - y * fall

    @property
    def estimates_dispersion(self) -> bool:  # type: ignore[override]
        return self.family not in ("binomial", "negative binomial") and self.variance_power != 1

    @property
    def expectation(self) -> "Likelihood":
        return replace(self, expected=True)

    def curvature(self, m: Any, y: Any) -> Any:
        return super().curvature(m, self.mean(m) if self.expected else y)

    def side(self, y: Array) -> Array:
        # A label at an end of the means is never reached: the slope keeps its sign.
        if self.link == "power":
            # On either side of zero such a link goes its own way.
            return np.zeros_like(y)
        low = self.family != "gaussian" or self.link not in ("identity", "logc")
        high = self.family == "binomial" or self.link in ("logit", "probit", "cauchit", "cloglog", "loglog", "logc")
        return np.asarray((-1.0 if self.link == "logc" else 1.0) * (1.0 * (high & (y >= 1.0)) - (low & (y <= 0.0))))

    def _log_mean(self, m: Any) -> Any:
        return _LOGS[self.link][0](m) if self.link in _LOGS else np.log(self.mean(m))


@dataclass(frozen=True)
class NegativeBinomial(Loss):
    """The negative binomial loss whose alpha is fitted with the coefficients.

    Its margins are m, the logarithm of the mean mu, and alpha, which is the same for all rows. With a power of 0 for a
    variance of mu + alpha mu^2, of 1 for mu + alpha mu, and s = mu^power / alpha, the loss of a count y is

        -log G(s + y) + log G(s) + s log(1 + mu / s) + y log(s + mu) - y m.
    """

    power: float
    margins = 2

    def formula(self, m: Any, alpha: Any, y: Any) -> Any:
        # Beyond zero alpha has no logarithm, and a step there is turned back. Zero times m would be differentiated.
        size = np.exp((self.power * m if self.power else 0.0) - np.log(alpha))
        mean = np.exp(m)
        found = gammaln(size) - gammaln(size + y) + size * np.log1p(mean / size)
        return found + y * np.log(size + mean) - y * m

    def falling(self, labels: Array) -> tuple[Array, NDArray[np.bool_]]:
        # Zeros ask for ever smaller means, whatever alpha is; of a margin that is the same for all rows nothing more is
        # asked than that it stays.
        zero = labels[:, 0] == 0
        cone = np.tile(np.diag([-1.0, 1.0]), (len(labels), 1, 1))
        return cone, np.column_stack([~zero, np.ones(len(labels), dtype=bool)])
