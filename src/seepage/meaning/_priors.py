"""An attacker's knowledge before the release, and the smallest error after it.

The release tells a value v like the observation  y = v + z / eta  with standard Gaussian z. The best guess is the mean
of the posterior, and its mean squared error, the Bayes error, is the mean over y of the posterior's variance (eq. 5.4).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Values closer than this share of their standard deviation are kept as two with the same first three moments. With two
# of such widths to the noise or more, the Bayes error is that of the values themselves, to a hundred-thousandth.
_FINE, _WIDTHS = 2.0**-11, 2.0
# Farther than so many noises nothing is seen of a value; the integral over what is seen has so many points a noise.
_REACH, _POINTS = 7.0, 8
# Points whose distances to all values in reach are in memory at a time.
_BATCH = 128
# Beyond how many etas a table is made; its steps in log eta, at most and at least; how far off it may be.
_FEW, _STEP, _FINEST, _OFF = 32, 0.2, 1e-3, 2e-4
# A share of the variance that is as good as none.
_NONE = 1e-10


@dataclass(frozen=True)
class GaussianPrior:
    """A value that is held to be Gaussian, with a variance that is stated.

    Examples
    --------
    >>> from seepage.meaning import GaussianPrior
    >>> float(GaussianPrior(9.0).floor(0.0))  # a release that says nothing leaves the prior
    3.0
    """

    variance: float

    @property
    def deviation(self) -> float:
        """The error of a guess without the release."""
        return float(np.sqrt(self.variance))

    def floor(self, eta: ArrayLike) -> Array:
        """Return the smallest root mean square error of a guess by an attacker with this prior (eq. 5.3).

        Of all priors of the same variance the Gaussian one leaves the largest error: it is no floor for another.
        """
        with np.errstate(divide="ignore"):
            # As a sum of information: a prior of infinite variance leaves 1/eta.
            return np.asarray(1.0 / np.sqrt(np.square(np.asarray(eta, dtype=np.float64)) + 1.0 / self.variance))

    def left(self, eta: ArrayLike) -> Array:
        """Return the share of the prior variance that is left after the release."""
        information = np.square(np.asarray(eta, dtype=np.float64))
        with np.errstate(invalid="ignore"):
            told = self.variance * information
        # A release that says nothing leaves everything, also of an infinite variance.
        return np.asarray(1.0 / (1.0 + np.where(information == 0, 0.0, told)))


@dataclass(frozen=True, eq=False)
class EmpiricalPrior:
    """A value that is held to be one of those that people have, each as likely as it is frequent.

    Attributes
    ----------
    values : ndarray
        The different values, in order. Of those in one narrow bin there are two, with the same first three moments.
    counts : ndarray
        How many people have each.
    width : float
        The width of the bins, a power of two; nothing is told of errors below two of them.

    Examples
    --------
    >>> from seepage.meaning import EmpiricalPrior, GaussianPrior
    >>> two_humps = EmpiricalPrior.of([0.0, 0.0, 10.0, 10.0])
    >>> round(float(two_humps.floor(0.4)), 2), round(float(GaussianPrior(25.0).floor(0.4)), 2)
    (1.31, 2.24)
    """

    values: Array
    counts: Array
    width: float

    @classmethod
    def of(cls, values: ArrayLike, deviation: float | None = None) -> "EmpiricalPrior":
        """Return how some values are spread.

        Parameters
        ----------
        values : array-like of shape (n,)
            One a person.
        deviation : float, optional
            The standard deviation of all values, if these are a part of them.
        """
        known = np.asarray(values, dtype=np.float64)
        spread = float(known.std()) if deviation is None else deviation
        width = float(2.0 ** np.floor(np.log2(_FINE * spread))) if spread > 0 else 0.0
        distinct, counts = np.unique(known, return_counts=True)
        return cls(*_condensed(distinct, counts.astype(np.float64), width), width)

    def __add__(self, other: "EmpiricalPrior") -> "EmpiricalPrior":
        values, place = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([self.counts, other.counts])).astype(np.float64)
        return EmpiricalPrior(*_condensed(values, counts, self.width), self.width)

    @cached_property
    def _centered(self) -> tuple[Array, Array]:
        """The values from their mean, and the share of people with each."""
        share = self.counts / self.counts.sum()
        # In two steps: far from zero, the first mean is off by its last bits.
        from_first = self.values - self.values[0]
        return from_first - share @ from_first, share

    @cached_property
    def deviation(self) -> float:
        """The error of a guess without the release."""
        values, share = self._centered
        return float(np.sqrt(share @ values**2))

    def floor(self, eta: ArrayLike) -> Array:
        """Return the root mean square error of the posterior mean, which no guess beats; rounded down (eq. 5.4).

        The mean is over the prior: over whom the value may belong to. Of somebody with a common value the same guess
        errs less, of somebody with a rare one more. Errors below a thousandth of the standard deviation are told as 0.

        Parameters
        ----------
        eta : array-like
            The square root of the information about the value, taken to be the same whatever the value is.
        """
        asked = np.asarray(eta, dtype=np.float64)
        found = np.where(np.isnan(asked), np.nan, 0.0)
        found[asked == 0] = self.deviation
        # Also where the variance is 0: nothing is told then, as there is nothing to tell.
        within = (asked > 0) & (_WIDTHS * self.width * asked <= 1) & (self.width > 0)
        distinct, place = np.unique(asked[within], return_inverse=True)
        if len(distinct):
            squares = self._table(distinct) if len(distinct) > _FEW else self._errors(distinct)[0]
            found[within] = ((1 - _OFF) * np.sqrt(squares))[place]
        return found

    def left(self, eta: ArrayLike) -> Array:
        """Return the share of the prior variance that is left after the release; of no variance, all of it."""
        floor = self.floor(eta)
        return np.square(floor / self.deviation) if self.deviation > 0 else np.where(np.isnan(floor), np.nan, 1.0)

    def _errors(self, etas: Array) -> tuple[Array, Array]:
        """Return the mean squared errors at some etas, and their slopes in log eta."""
        values, share = self._centered
        found = np.array([_bayes(values * eta, share) for eta in etas])
        # d error / d eta^2 = -E[variance^2] (Guo, Wu, Shamai and Verdu, 2011).
        return found[:, 0] / etas**2, -2 * found[:, 1] / etas**2

    def _table(self, etas: Array) -> Array:
        """Return the mean squared errors at many etas, by cubics in log eta through errors and slopes at a few."""
        asked, least = np.log(etas), _NONE * self.deviation**2
        nodes = np.linspace(asked[0], asked[-1], int((asked[-1] - asked[0]) / _STEP) + 2)
        errors, slopes = self._errors(np.exp(nodes))
        halved = errors[:-1] > least
        while halved.any():
            middles = (nodes[1:] + nodes[:-1])[halved] / 2
            found = self._errors(np.exp(middles))
            # Halved again wherever the cubic so far is off in the middle, or is none.
            off = ~(np.abs(found[0] / _cubic(middles, nodes, errors, slopes) - 1) < _OFF)
            at = np.flatnonzero(halved) + 1
            nodes = np.insert(nodes, at, middles)
            errors, slopes = np.insert(errors, at, found[0]), np.insert(slopes, at, found[1])
            at += np.arange(len(at))
            halved = np.zeros(len(nodes) - 1, dtype=bool)
            halved[at], halved[at - 1] = off, off
            halved &= (errors[:-1] > least) & (np.diff(nodes) > _FINEST)
        # More information leaves no larger error: where no cubic is, the end of the step is the floor.
        after = errors[np.clip(np.searchsorted(nodes, asked), 1, len(nodes) - 1)]
        return np.where(after > 0, _cubic(asked, nodes, errors, slopes), after)


def _cubic(asked: Array, nodes: Array, errors: Array, slopes: Array) -> Array:
    """Return errors in between: their logarithm as a cubic (Hermite), never beyond the errors at either side."""
    after = np.clip(np.searchsorted(nodes, asked), 1, len(nodes) - 1)
    step = nodes[after] - nodes[after - 1]
    t = (asked - nodes[after - 1]) / step
    # Errors of 0 have no logarithm, and nothing is found beside them.
    with np.errstate(divide="ignore", invalid="ignore"):
        logs, slopes = np.log(errors), slopes / errors
        cubic = (
            (1 + 2 * t) * (1 - t) ** 2 * logs[after - 1]
            + t**2 * (3 - 2 * t) * logs[after]
            + t * (1 - t) ** 2 * step * slopes[after - 1]
            - t**2 * (1 - t) * step * slopes[after]
        )
    return np.clip(np.exp(cubic), errors[after], errors[after - 1])


def _condensed(values: Array, counts: Array, width: float) -> tuple[Array, Array]:
    """Return fewer values in order: of each bin at most two, with its count, mean, variance and third moment."""
    if width == 0:
        return values, counts
    starts = np.flatnonzero(np.append(True, np.diff(np.floor(values / width)) > 0))
    held = np.diff(np.append(starts, len(values)))
    crowded = held > 2
    if not crowded.any():
        return values, counts
    bin_of = np.repeat(np.arange(len(starts)), held)
    total, lowest, highest = np.add.reduceat(counts, starts), values[starts], values[starts + held - 1]
    mean = lowest + np.add.reduceat(counts * (values - lowest[bin_of]), starts) / total
    apart = values - mean[bin_of]
    second, third = (np.add.reduceat(counts * apart**power, starts) / total for power in (2, 3))
    cube = second**1.5
    half = np.divide(third, 2 * cube, out=np.zeros_like(third), where=cube > 0)[:, None]
    # The nodes and weights of Gauss: two values with the first three moments, among those that were there.
    root, sides = np.sqrt(1 + half**2), np.array([-1.0, 1.0])
    nodes = np.clip(mean[:, None] + np.sqrt(second)[:, None] * (half + sides * root), lowest[:, None], highest[:, None])
    shares = total[:, None] * (1 - sides * half / root) / 2
    alone = ~crowded[bin_of]
    every = np.append(nodes[crowded].ravel(), values[alone])
    order = np.argsort(every, kind="stable")
    return every[order], np.append(shares[crowded].ravel(), counts[alone])[order]


def _bayes(values: Array, share: Array) -> tuple[float, float]:
    """Return the means of the posterior's variance and of its square, in units of the noise (trapezoidal rule)."""
    values, share = _condensed(values, share, 1 / _WIDTHS)
    mean, square = 0.0, 0.0
    for seen, near in _seen(values):
        center = values[near].mean()
        around, weight = values[near] - center, share[near]
        likely = np.exp(-0.5 * np.square(seen[:, None] - center - around)) * weight
        density = likely.sum(axis=1)
        variance = np.maximum(likely @ around**2 / density - np.square(likely @ around / density), 0.0)
        mean += density @ variance
        square += density @ variance**2
    scale = 1 / (_POINTS * np.sqrt(2 * np.pi))
    return float(mean * scale), float(square * scale)


def _seen(values: Array) -> Iterator[tuple[Array, slice]]:
    """Yield points where more than one value may be behind what is seen, and the values in reach of them."""
    ends = np.append(np.flatnonzero(np.diff(values) > 2 * _REACH), len(values) - 1)
    starts = np.append(0, ends[:-1] + 1)
    # A value without another in reach is known for certain, and adds nothing.
    starts, ends = starts[ends > starts], ends[ends > starts]
    counts = np.ceil((values[ends] - values[starts] + 2 * _REACH) * _POINTS).astype(np.intp) + 1
    begin = np.cumsum(counts) - counts
    points = np.repeat(values[starts] - _REACH, counts)
    points += (np.arange(len(points)) - np.repeat(begin, counts)) / _POINTS
    for at in range(0, len(points), _BATCH):
        some = points[at : at + _BATCH]
        first, last = np.searchsorted(values, [some[0] - 2 * _REACH, some[-1] + 2 * _REACH])
        yield some, slice(int(first), int(last))
