"""Differential privacy of the same release."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr

from seepage._facts import Assumption
from seepage.errors import InputError


@dataclass(frozen=True)
class Guarantee:
    """A guarantee that holds for everybody alike, in the worst case over all data."""

    renyi: float
    """Epsilon of Renyi differential privacy at order 2, for replacing a record by another."""
    epsilon: float
    delta: float
    assumptions: tuple[Assumption, ...]


def check_delta(delta: float) -> None:
    """Refuse a delta that is no probability between 0 and 1: at 0 Gaussian noise gives no guarantee at all."""
    if not 0 < delta < 1:
        raise InputError(
            f"delta is the probability with which the guarantee may fail: above 0 and below 1, for example 1e-5, not "
            f"{delta!r}."
        )


def output_perturbation(
    *, sensitivity: float, noise_scale: float, delta: float, assumptions: Sequence[Assumption] = ()
) -> Guarantee:
    """Return the guarantee of publishing parameters of this L2 sensitivity with Gaussian noise.

    Renyi epsilon at order 2 is sensitivity^2 / noise_scale^2 (eq. 5.10). (Guo et al. 2022, section 7.1, state its
    square root.)

    Examples
    --------
    >>> from seepage.meaning import output_perturbation
    >>> n, penalty, noise = 12_665, 1e-2, 1e-2
    >>> found = output_perturbation(sensitivity=2 / (n * penalty), noise_scale=noise, delta=1e-5)
    >>> round(found.renyi, 2)
    2.49
    """
    ratio = sensitivity / noise_scale
    return Guarantee(ratio**2, gaussian_epsilon(ratio, delta), delta, tuple(assumptions))


def gaussian_epsilon(ratio: float, delta: float) -> float:
    """Return the smallest epsilon of (epsilon, delta) for a Gaussian mechanism, exactly (eq. 5.11).

    Parameters
    ----------
    ratio : float
        Sensitivity over noise scale.
    delta : float
        The probability with which the guarantee may fail.
    """
    check_delta(delta)

    def excess(epsilon: float) -> float:
        # delta(epsilon) of the Gaussian mechanism, with the product of a huge and a tiny number in logarithms.
        first = float(ndtr(ratio / 2 - epsilon / ratio))
        return first - float(np.exp(min(epsilon + float(log_ndtr(-ratio / 2 - epsilon / ratio)), 0.0))) - delta

    if ratio == 0 or excess(0.0) <= 0:
        return 0.0
    # Imported here: it would double the time that importing the library takes.
    from scipy.optimize import brentq

    upper = 1.0
    while excess(upper) > 0:
        upper *= 2
    return float(brentq(excess, 0.0, upper, xtol=1e-12))


def reconstruction_floor(
    renyi: float, diameters: ArrayLike, *, mean_slopes: ArrayLike = 1.0, bias: ArrayLike = 0.0
) -> float:
    """Return the mean squared error per value that a reconstruction has at least (eq. 5.12).

    As it stands it is for unbiased guesses: whoever always guesses the middle of the interval has no more than a
    quarter of its square. What is known of a guess that is biased can be given, as in `biased_floor`, which takes the
    Fisher information in place of epsilon.

    Parameters
    ----------
    renyi : float
        Epsilon of Renyi differential privacy at order 2, for *replacing* a record by another: that for adding or
        removing one is smaller, and does not do.
    diameters : array-like
        The length of the interval that each value lies in.
    mean_slopes : array-like, default=1.0
        How much the mean of the guess of each value moves with the value, at least, anywhere in its interval.
    bias : array-like, default=0.0
        The mean of the guess of each value minus the value.

    Examples
    --------
    >>> from seepage.meaning import reconstruction_floor
    >>> round(reconstruction_floor(2.0, [100.0]), 1)
    391.3
    >>> round(reconstruction_floor(2.0, [100.0], mean_slopes=0.5, bias=10.0), 1)
    197.8
    """
    widths, slopes, off = (np.asarray(each, dtype=np.float64) for each in (diameters, mean_slopes, bias))
    with np.errstate(over="ignore"):
        return float(np.mean((slopes * widths) ** 2 / 4 / np.expm1(renyi) + off**2))
