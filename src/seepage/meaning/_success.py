"""From the distance of two releases to how often an attacker tells them apart."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri


def success_rate(distance: ArrayLike, odds: ArrayLike = 1.0) -> NDArray[np.float64]:
    """Return how often the best attacker tells value A from value B, all else known.

    The release is Gaussian around the one or the other minimizer, `distance` noise units apart, so the likelihood ratio
    test is best and its success is known exactly (eqs. 5.7 and 5.8).

    Parameters
    ----------
    distance : array-like
        The distance of the two minimizers in units of the noise; NaN where it could not be found, and so is the rate.
    odds : array-like, default=1.0
        Prior odds of A to B.

    Examples
    --------
    >>> from seepage.meaning import success_rate
    >>> round(float(success_rate(0.0)), 3), round(float(success_rate(2.0)), 3)
    (0.5, 0.841)
    >>> round(float(success_rate(0.0, odds=3.0)), 3)  # guessing the likelier one
    0.75
    """
    d, ratio = np.broadcast_arrays(np.asarray(distance, dtype=np.float64), np.asarray(odds, dtype=np.float64))
    share = ratio / (1.0 + ratio)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shift = np.log(ratio) / d
        tested = share * ndtr(d / 2 + shift) + (1 - share) * ndtr(d / 2 - shift)
    # A distance that could not be found is no small one.
    return np.where((d > 0) | np.isnan(d), tested, np.maximum(share, 1 - share))


def distance_for(rate: float, odds: float = 1.0) -> float:
    """Return the distance at which the best attacker succeeds this often; 0 if guessing alone does as well."""
    if odds == 1.0:
        return 2.0 * float(ndtri(rate))
    if success_rate(0.0, odds) >= rate:
        return 0.0
    # Imported here: it would double the time that importing the library takes.
    from scipy.optimize import brentq

    return float(
        brentq(lambda d: float(success_rate(d, odds)) - rate, 1e-9, 2.0 * float(ndtri(rate)) + 1e-6, xtol=1e-13)
    )
