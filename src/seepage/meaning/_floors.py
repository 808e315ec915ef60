"""From information to the smallest error an attacker can have."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# The share of a variance that is as good as all of it.
_NEARLY_ALL = 0.99


def unbiased_floor(eta: ArrayLike) -> Array:
    """Return 1/eta: the smallest standard deviation of any unbiased guess (eq. 5.1).

    Examples
    --------
    >>> from seepage.meaning import unbiased_floor
    >>> float(unbiased_floor(0.25))
    4.0
    """
    with np.errstate(divide="ignore"):
        return 1.0 / np.asarray(eta, dtype=np.float64)


def says_nothing(left: float) -> bool:
    """Return whether a release says nothing about a value: a baseline guess does as well, to one percent.

    Parameters
    ----------
    left : float
        The share of the variance that is left to whoever saw the release; NaN if it is not known.

    Examples
    --------
    >>> from seepage.meaning import GaussianPrior, says_nothing
    >>> age = GaussianPrior(13.1**2)
    >>> says_nothing(age.left(1 / 193.0)), says_nothing(age.left(1 / 48.0))  # floors, in years
    (True, False)
    """
    return bool(left >= _NEARLY_ALL)


def beyond_range(floor: ArrayLike, length: float) -> Array:
    """Return the floor, infinite where it exceeds half the length of the interval that the value is known to lie in.

    The middle of the interval is never off by more than that, so such a bound says nothing beyond the range itself
    (eq. 5.5).
    """
    values = np.asarray(floor, dtype=np.float64)
    return np.where(values > length / 2, np.inf, values)


def biased_floor(information: Array, mean_slope: Array, bias: Array) -> float:
    """Return the smallest mean squared error per value of an attack with this bias (eq. 5.2).

    Parameters
    ----------
    information : ndarray of shape (k, k)
        The Fisher information about the k values.
    mean_slope : ndarray of shape (k, k)
        The Jacobian of the attack's mean in the values.
    bias : ndarray of shape (k,)
        The attack's mean minus the values.
    """
    spread = mean_slope @ np.linalg.pinv(information) @ mean_slope.T
    return float((np.trace(spread) + bias @ bias) / len(bias))
