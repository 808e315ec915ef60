"""Guarantees of a stated (epsilon, delta) for each person, without data and for every mechanism."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seepage.errors import InputError

Array = NDArray[np.float64]
Neighbors = Literal["add or remove", "replace"]


@dataclass(frozen=True)
class EpsilonMeaning:
    """Guarantees that follow from (epsilon, delta)-differential privacy alone (eqs. 5.14 to 5.17).

    They hold for every attacker who knows all other records and the mechanism, and for every mechanism with this
    epsilon and delta. A mechanism that is known, such as output perturbation, has better ones.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee.
    neighbors : "add or remove" or "replace"
        The two data sets that it compares: with a record and without it, or with a record and with another in its
        place. Opacus states the first. The second is between two values of one person.
    """

    epsilon: float
    delta: float
    neighbors: Neighbors

    @cached_property
    def membership_advantage(self) -> float:
        """Largest true positive rate less false positive rate of a guess whether the record was used."""
        false, true = self._neighboring
        return float(np.max(true - false))

    def success_rate(self, odds: float = 1.0) -> float:
        """Return the largest share of right guesses between two values of a person.

        Parameters
        ----------
        odds : float, default=1.0
            Prior odds of the one value to the other.
        """
        if not odds > 0:
            raise InputError(f"odds are prior odds of one value to the other, above 0, not {odds!r}.")
        share = odds / (1 + odds)
        false, true = self._values
        return float(np.max(share * true + (1 - share) * (1 - false)))

    def reconstruction_rate(self, baseline: float) -> float:
        """Return the largest probability that a guess of a whole record, or a value, is a success.

        Parameters
        ----------
        baseline : float
            Probability that the best guess without the release is a success: 0.1 for one of ten equally likely values.
        """
        if not 0 <= baseline <= 1:
            raise InputError(f"baseline is a probability between 0 and 1, not {baseline!r}.")
        return float(np.interp(baseline, *self._neighboring))

    def error_floor(self, width: float, *, unbiased: bool = False) -> float:
        """Return the smallest error of a guess of a value that is known to lie in an interval.

        It is a root mean squared error, averaged over the two ends of the interval.

        Parameters
        ----------
        width : float
            Length of the interval, in the value's unit: 60 for ages between 30 and 90.
        unbiased : bool, default=False
            Whether only guesses without bias are meant, whose floor is higher. By default all guesses are.
        """
        if not width > 0:
            raise InputError(f"width is the length of the interval of the value, above 0, not {width!r}.")
        false, true = (np.diff(rates, prepend=0.0) for rates in self._values)
        distinct = float(np.sum((true - false) ** 2 / np.maximum(true + false, 1e-300)) / 2)
        with np.errstate(divide="ignore"):
            squared = np.float64(1.0) / distinct - 1 if unbiased else 1 - distinct
        return float(width / 2 * np.sqrt(max(squared, 0.0)))

    @cached_property
    def _neighboring(self) -> tuple[Array, Array]:
        """Corners of the best test between two neighbors: false and true positive rates."""
        odds = np.exp(np.float64(min(self.epsilon, 700.0)))
        middle = (1 - self.delta) / (1 + odds)
        return np.array([0.0, middle, 1 - self.delta, 1.0]), np.array([self.delta, 1 - middle, 1.0, 1.0])

    @cached_property
    def _values(self) -> tuple[Array, Array]:
        """The same between two values of one person: two steps, if a step removes or adds the record."""
        if self.neighbors == "replace":
            return self._neighboring
        false, true = self._neighboring
        # Corners of the second step, and the rates at which the first step reaches them.
        before = np.interp(false, true[:3], false[:3])
        corners = np.unique(np.concatenate([[0.0], before[false >= true[0]], false]))
        return corners, np.interp(np.interp(corners, false, true), false, true)


def from_epsilon(epsilon: float, delta: float, *, neighbors: Neighbors) -> EpsilonMeaning:
    """Return what a stated (epsilon, delta) means for each person.

    Parameters
    ----------
    epsilon, delta : float
        Of differential privacy. A delta of 0 is pure differential privacy.
    neighbors : "add or remove" or "replace"
        The two data sets that the guarantee compares. Opacus and most accountants of private training state "add or
        remove".

    Examples
    --------
    >>> from seepage.meaning import from_epsilon
    >>> stated = from_epsilon(1.0, 1e-5, neighbors="add or remove")
    >>> round(stated.membership_advantage, 3), round(stated.success_rate(), 3)
    (0.462, 0.816)
    >>> round(stated.reconstruction_rate(0.01), 3)  # one record of a hundred that are equally likely
    0.027
    >>> round(stated.error_floor(60.0), 1)  # of an age between 30 and 90, in years
    21.6
    """
    if not epsilon >= 0:
        raise InputError(f"epsilon is a number of at least 0, not {epsilon!r}.")
    if delta is None or not 0 <= delta < 1:
        raise InputError(f"delta is a probability of at least 0 and below 1, for example 1e-5, not {delta!r}.")
    if neighbors not in ("add or remove", "replace"):
        raise InputError(
            f'neighbors is "add or remove" or "replace", not {neighbors!r}.\n'
            'Opacus and most accountants of private training state "add or remove".'
        )
    return EpsilonMeaning(float(epsilon), float(delta), neighbors)
