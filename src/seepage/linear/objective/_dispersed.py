"""The negative binomial loss whose alpha is fitted with the coefficients.

It has two margins: m, the logarithm of the mean, and a = alpha, which is the same for all rows. With mu = e^m and
s = mu^Q / a (Q = 0 for a variance of mu + a mu^2, Q = 1 for one of mu + a mu), the loss of a count y is

    f(s, mu) = -log G(s + y) + log G(s) - s log s + (s + y) log(s + mu) - y log mu,

up to a term of y alone; its derivatives by (m, a) follow from those by (s, mu).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, polygamma

from seepage.errors import UnansweredError
from seepage.linear.objective._losses import Derivatives, VectorLoss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Dispersed(VectorLoss):
    """The negative log likelihood of a negative binomial count, with alpha as a second margin."""

    power: float
    """Q."""
    outputs = 2

    @property
    def label_values(self) -> int:
        return 1

    def value(self, margins: Array, labels: Array) -> Array:
        alpha, y = margins[:, 1], labels[:, 0]
        with np.errstate(all="ignore"):
            mean = np.exp(margins[:, 0])
            size = mean**self.power / alpha
            found = gammaln(size) - gammaln(size + y) - size * np.log(size) + (size + y) * np.log(size + mean)
            found -= y * margins[:, 0]
        # A step beyond zero is turned back.
        return np.where((alpha > 0) & np.isfinite(found), found, np.inf)

    def derivatives(self, margins: Array, labels: Array) -> Derivatives:
        m, y = margins[:, 0], labels[:, 0]
        # Beyond zero, where the value is infinite, these functions take very long to be nothing.
        alpha = np.where(margins[:, 1] > 0, margins[:, 1], np.nan)
        with np.errstate(all="ignore"):
            mean = np.exp(m)
            s, q = mean**self.power / alpha, self.power
            both = s + mean
            by_s = digamma(s) - digamma(s + y) + np.log1p(mean / s) + (y - mean) / both
            by_mean = (s + y) / both - y / mean
            by_ss = polygamma(1, s) - polygamma(1, s + y) - mean / (s * both) + (mean - y) / both**2
            by_both, by_means = (mean - y) / both**2, y / mean**2 - (s + y) / both**2
            s_y, mean_y = 1 / both - polygamma(1, s + y), 1 / both - 1 / mean
            # s' by m is q s, by a it is -s / a.
            fall = -s / alpha
            slope = np.column_stack([by_mean * mean + by_s * q * s, by_s * fall])
            own = by_means * mean**2 + by_mean * mean + 2 * by_both * mean * q * s + by_ss * (q * s) ** 2
            own += by_s * q**2 * s
            cross = (by_both * mean + by_ss * q * s + by_s * q) * fall
            last = by_ss * fall**2 + by_s * 2 * s / alpha**2
            curvature = np.stack([own, cross, cross, last], axis=1).reshape(-1, 2, 2)
            label_slope = np.column_stack([mean_y * mean + s_y * q * s, s_y * fall])
        return Derivatives(slope, curvature, label_slope[:, :, None])

    def falling(self, labels: Array) -> tuple[Array, NDArray[np.bool_]]:
        # Zeros ask for ever smaller means, whatever alpha is; of a margin that is the same for all rows nothing more is
        # asked than that it stays.
        zero = labels[:, 0] == 0
        cone = np.tile(np.diag([-1.0, 1.0]), (len(labels), 1, 1))
        return cone, np.column_stack([~zero, np.ones(len(labels), dtype=bool)])

    def bend(self, margins: Array, labels: Array, direction: Array) -> Array:
        raise _beyond_second()

    def label_bend(self, margins: Array, labels: Array) -> Array:
        raise _beyond_second()


def _beyond_second() -> UnansweredError:
    return UnansweredError(
        "What needs the third derivatives of a loss is not answered for a negative binomial model whose alpha is "
        "fitted. Fit one with a known alpha."
    )
