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


def van_trees_floor(eta: ArrayLike, variance: ArrayLike) -> Array:
    """Return the smallest root mean square error of any guess by an attacker with a Gaussian prior.

    The van Trees inequality (eq. 5.3), MSE >= 1 / (eta^2 + 1/variance), with the information at the realized value in
    place of its mean over the prior: exact where the information does not depend on the value, an approximation
    elsewhere.

    Examples
    --------
    >>> from seepage.meaning import van_trees_floor
    >>> float(van_trees_floor(0.0, 9.0))  # a release that says nothing leaves the prior
    3.0
    """
    with np.errstate(divide="ignore"):
        # As a sum of information: a prior of infinite variance leaves 1/eta.
        return 1.0 / np.sqrt(
            np.square(np.asarray(eta, dtype=np.float64)) + 1.0 / np.asarray(variance, dtype=np.float64)
        )


def variance_left(eta: ArrayLike, variance: ArrayLike) -> Array:
    """Return the share of the prior variance that is left after the release, 1 / (1 + variance eta^2) (eq. 5.4)."""
    information = np.square(np.asarray(eta, dtype=np.float64))
    with np.errstate(invalid="ignore"):
        told = np.asarray(variance, dtype=np.float64) * information
    # A release that says nothing leaves everything, also of an infinite variance.
    return 1.0 / (1.0 + np.where(information == 0, 0.0, told))


def says_nothing(floor: float, blind: float) -> bool:
    """Return whether a floor is so high that the release says nothing: a blind guess does as well, to one percent.

    Of the variance of an attribute, more than 99% is then left to whoever saw the release (eq. 5.4).

    Parameters
    ----------
    floor : float
        The smallest standard error of any unbiased guess.
    blind : float
        The standard deviation of the attribute over all people; NaN if it is not known.

    Examples
    --------
    >>> from seepage.meaning import says_nothing
    >>> says_nothing(193.0, 13.1), says_nothing(48.0, 13.1)  # of an age, in years
    (True, False)
    """
    # floor^2 / (floor^2 + blind^2) is the share that is left.
    return floor == np.inf or floor > blind * (_NEARLY_ALL / (1 - _NEARLY_ALL)) ** 0.5


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
