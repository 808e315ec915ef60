"""Two normal distributions whose means and covariances differ, and how often the best test tells them apart.

With L the logarithm of their likelihood ratio, min(a, b) = sqrt(a b) exp(-|log a/b| / 2), so the error of the best test
at odds e^-t of the one to the other is (eq. 4.5)

    error = sqrt(P_a P_b) rho E exp(-|L - t| / 2),     rho = integral of sqrt(p_a p_b),

the mean being over the normal distribution p_a^(1/2) p_b^(1/2) / rho. There L is a quadratic form, whose characteristic
function psi is known, and the error is a Fourier series: that of exp(-|x| / 2), cut off at |x| = P / 2, has the terms
(1 - (-1)^k e^(-P / 4)) / (P (1/4 + u_k^2)),  u_k = 2 pi k / P. Both of its remainders are bounded:

    outside the period   at most P(|L - t| > P / 2), by Chernoff's bound,
    beyond term K        at most |psi(u_K)| / (pi u_K) (1 + e^(-P / 4)), as |psi| falls.

They are taken off the error, so that a rate is never below the best test's, and above it by less than 1e-9 unless the
series was cut short.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri_exp

Array = NDArray[np.float64]

# What is left of the mean outside the period.
_OUTSIDE = 1e-12
# What is left of the series beyond its last term, beside its sum.
_BEYOND = 1e-10
# The tilts of Chernoff's bound that are tried, beside the one that is best for a normal L.
_TILTS = np.geomspace(2.0**-6, 2.0, 15)
# A tilt comes this near to where its moment is infinite.
_NEAR = 0.999
# Terms of the series: at first, and at most.
_TERMS, _MOST_TERMS = 32, 2**13
# Numbers in the largest temporary.
_MOST_NUMBERS = 2**21


@dataclass(frozen=True, eq=False)
class TwoNormals:
    """Pairs of normal distributions, N(0, Id) and N(shift, diag(ratio)), each in axes of its own.

    Parameters
    ----------
    shift : ndarray of shape (n, axes)
        How far the means are apart, in units of the first one's noise.
    ratio : ndarray of shape (n, axes)
        The second one's variance over the first one's.
    """

    shift: Array
    ratio: Array

    @classmethod
    def between(cls, moves: Array, covariances: Array) -> "TwoNormals":
        """Return the pairs of N(0, Id) with N(move, covariance).

        Parameters
        ----------
        moves : ndarray of shape (n, p)
        covariances : ndarray of shape (n, p, p)
            NaN where there is none.
        """
        known = np.isfinite(covariances).all(axis=(1, 2)) & np.isfinite(moves).all(axis=1)
        shift, ratio = np.full_like(moves, np.nan), np.full_like(moves, np.nan)
        values, vectors = np.linalg.eigh(covariances[known])
        shift[known] = np.einsum("nij,ni->nj", vectors, moves[known])
        ratio[known] = np.where(values > 0, values, np.nan)
        return cls(shift, ratio)

    @classmethod
    def together(cls, parts: "Sequence[TwoNormals]") -> "TwoNormals":
        """Return all pairs of several, in order."""
        axes = max((part.shift.shape[1] for part in parts), default=0)
        # An axis along which nothing differs tells nothing.
        wide = [part.beside(part.without_axes(axes - part.shift.shape[1])) for part in parts]
        shift, ratio = np.concatenate([part.shift for part in wide]), np.concatenate([part.ratio for part in wide])
        return cls(shift, ratio)

    def without_axes(self, axes: int) -> "TwoNormals":
        """Return as many pairs that are alike along so many axes."""
        return TwoNormals(np.zeros((len(self.shift), axes)), np.ones((len(self.shift), axes)))

    def beside(self, other: "TwoNormals") -> "TwoNormals":
        """Return each pair with another one that is independent of it: who sees both, sees one of more axes."""
        shift, ratio = np.hstack([self.shift, other.shift]), np.hstack([self.ratio, other.ratio])
        return TwoNormals(shift, ratio)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> "TwoNormals":
        """Return some of the pairs."""
        return TwoNormals(self.shift[rows], self.ratio[rows])

    def at(self, factor: float) -> "TwoNormals":
        """Return the pairs with every deviation larger by a factor, which may be infinite."""
        return TwoNormals(self.shift / factor, self.ratio)

    def length(self) -> Array:
        """Return how far apart two normals with one covariance are that have the same Bhattacharyya distance."""
        middle = 0.5 * (1.0 + self.ratio)
        squares = self.shift**2 / middle + 4.0 * (np.log(middle) - 0.5 * np.log(self.ratio))
        return np.asarray(np.sqrt(np.maximum(squares.sum(axis=1), 0.0)))

    def distance(self) -> Array:
        """Return how far apart two normals with one covariance are that are told apart as often, at equal odds."""
        error = self._log_error(np.zeros(len(self.shift)))
        # Of two that are alike to rounding.
        return np.asarray(np.maximum(-2.0 * ndtri_exp(np.minimum(error, np.log(0.5))), 0.0))

    def success_rate(self, odds: ArrayLike = 1.0) -> Array:
        """Return how often the best test tells the first from the second, at odds of the first to the second."""
        ratio = np.broadcast_to(np.asarray(odds, dtype=np.float64), len(self.shift))
        share = ratio / (1.0 + ratio)
        error = np.exp(self._log_error(-np.log(ratio)))
        # Who guesses the likelier one errs no more often than this.
        return np.asarray(1.0 - np.minimum(error, np.minimum(share, 1.0 - share)))

    def _log_error(self, threshold: Array) -> Array:
        """Return the logarithm of the best test's error, at odds e^-threshold."""
        found = np.full(len(self.shift), np.nan)
        known = np.flatnonzero(np.isfinite(self.shift).all(axis=1) & np.isfinite(self.ratio).all(axis=1))
        step = max(_MOST_NUMBERS // max(self.shift.shape[1] * _TERMS, 1), 1)
        for start in range(0, len(known), step):
            some = known[start : start + step]
            found[some] = _Forms.of(self.take(some), threshold[some]).log_error()
        return found


@dataclass(frozen=True, eq=False)
class _Forms:
    """The logarithms of likelihood ratios of some pairs, under the distribution between the two."""

    squares: Array
    """Of the shifts, shape (n, axes)."""
    middle: Array
    """c, half the sum of both variances."""
    more: Array
    """e, the second variance less the first."""
    logarithm: Array
    """Of the ratio."""
    threshold: Array

    @classmethod
    def of(cls, pairs: TwoNormals, threshold: Array) -> "_Forms":
        more = pairs.ratio - 1.0
        return cls(pairs.shift**2, 1.0 + 0.5 * more, more, np.log(pairs.ratio), threshold)

    def take(self, rows: NDArray[np.intp]) -> "_Forms":
        return _Forms(*(each[rows] for each in vars(self).values()))

    def log_error(self) -> Array:
        period, series = self._period(), np.empty(len(self.squares))
        # The first term, whose characteristic function is 1.
        series[:] = 4.0 * -np.expm1(-period / 4.0) / period
        never = self._never()
        left, beyond, done = np.flatnonzero(~never), np.zeros(len(series)), 1
        while len(left):
            size = _TERMS if done == 1 else done - 1
            forms, own = self.take(left), period[left]
            for some in self._chunks(len(left), size):
                at = left[some]
                added, beyond[at] = forms.take(some)._terms(own[some], done, size)
                series[at] += added
            done += size
            left = left[beyond[left] > _BEYOND * series[left]] if done <= _MOST_TERMS else left[:0]
        mean = np.maximum(series - beyond - _OUTSIDE, np.finfo(float).tiny)
        # sqrt(P_a P_b), with P_a / P_b = e^-t.
        prior = -0.5 * self.threshold - np.log1p(np.exp(-self.threshold))
        guessed = -np.log1p(np.exp(np.abs(self.threshold)))
        return np.where(never, guessed, prior + self._affinity() + np.log(mean))

    def _chunks(self, count: int, terms: int) -> Iterator[NDArray[np.intp]]:
        step = max(_MOST_NUMBERS // max(self.squares.shape[1] * terms, 1), 1)
        for start in range(0, count, step):
            yield np.arange(start, min(start + step, count))

    def _affinity(self) -> Array:
        """Return log rho."""
        each = 0.25 * self.logarithm - 0.5 * np.log(self.middle) - self.squares / (8.0 * self.middle)
        return np.asarray(each.sum(axis=1))

    def _terms(self, period: Array, first: int, count: int) -> tuple[Array, Array]:
        """Return the sum of some terms, those of -k with those of k, and no less than what all later ones add up to."""
        k = np.arange(first, first + count)
        u = 2.0 * np.pi * k / period[:, None]
        decay, phase = np.zeros_like(u), np.zeros_like(u)
        for square, c, e, log in zip(self.squares.T, self.middle.T, self.more.T, self.logarithm.T, strict=True):
            square, c, e, log = (each[:, None] for each in (square, c, e, log))
            bent = (u * e / c) ** 2
            spread = 1.0 + bent
            far = (0.25 + u**2) * square / (2.0 * c * spread)
            decay -= 0.25 * np.log1p(bent) + far - square / (8.0 * c)
            phase += 0.5 * (u * log - np.arctan(u * e / c)) + far * u * e / c
        size, ends = np.exp(decay), np.exp(-period / 4.0)
        cut = 1.0 - np.where(k % 2, -1.0, 1.0) * ends[:, None]
        terms = 2.0 * cut * size * np.cos(phase - u * self.threshold[:, None]) / (0.25 + u**2)
        beyond = size[:, -1] * (1.0 + ends) / (np.pi * u[:, -1])
        return terms.sum(axis=1) / period, beyond

    def _never(self) -> NDArray[np.bool_]:
        """Return where no release comes as far as the threshold: the likelier one beforehand is it afterwards too.

        What the best test is then better by is at most  rho E exp(s (L - t))  for every s >= 1/2, for t above 0.
        """
        found, sign = np.zeros(len(self.squares), dtype=bool), np.sign(self.threshold)
        last, best = self._tilts()
        for tilt in _TILTS:
            by = np.minimum(tilt * best, last)
            moment = self._log_moment(sign * by) - by * np.abs(self.threshold)
            found |= (by >= 0.5) & (moment <= np.log(_OUTSIDE)) & (sign != 0)
        return found

    def _tilts(self) -> tuple[Array, Array]:
        """Return the largest tilt whose moment there is, and the best one if L were normal."""
        slope = (self.more / self.middle) ** 2
        variance = (0.5 * slope + self.squares / self.middle * (1.0 - 0.25 * slope)).sum(axis=1)
        with np.errstate(divide="ignore"):
            last = _NEAR * (self.middle / np.abs(self.more)).min(axis=1, initial=np.inf)
        return last, np.sqrt(-2.0 * np.log(_OUTSIDE) / np.maximum(variance, 1e-300))

    def _period(self) -> Array:
        """Return P such that next to nothing is outside of it."""
        last, best = self._tilts()
        reach = np.zeros(len(best))
        for sign in (1.0, -1.0):
            nearest = np.full(len(best), np.inf)
            for tilt in _TILTS:
                by = np.minimum(tilt * best, last)
                moment = self._log_moment(sign * by) - sign * by * self.threshold
                nearest = np.minimum(nearest, (moment - np.log(0.5 * _OUTSIDE)) / by)
            reach = np.maximum(reach, nearest)
        return 2.0 * reach

    def _log_moment(self, by: Array) -> Array:
        """Return log E e^(by L)."""
        s = by[:, None]
        grown = self.middle + s * self.more
        each = 0.5 * (s * self.logarithm - np.log1p(s * self.more / self.middle))
        each -= 0.5 * self.squares * ((0.25 - s**2) / grown - 0.25 / self.middle)
        return np.asarray(each.sum(axis=1))
