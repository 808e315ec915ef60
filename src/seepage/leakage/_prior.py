"""Knowledge of an attribute before a release."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from seepage._tables import Array
from seepage.errors import InputError, UnansweredError
from seepage.leakage._information import Information
from seepage.leakage.types import Prior, Variance
from seepage.meaning import EmpiricalPrior, GaussianPrior


@dataclass(frozen=True, eq=False)
class PriorKnowledge:
    """Knowledge of an attribute before the release.

    Of several numbers (the label of a model with several targets) each is guessed by somebody who knows the others, and
    what is told is about the one that can be guessed best: eta is at least the information about each.
    """

    each: tuple[EmpiricalPrior | GaussianPrior, ...]

    @property
    def deviation(self) -> float:
        """The error of a guess without the release."""
        return min(prior.deviation for prior in self.each)

    def floor(self, eta: ArrayLike) -> Array:
        """Return the smallest root mean square error of a guess by somebody who knows this and sees the release."""
        return np.asarray(np.min([prior.floor(eta) for prior in self.each], axis=0))

    def left(self, eta: ArrayLike) -> Array:
        """Return the share of the variance that is left after the release."""
        return np.asarray(np.min([prior.left(eta) for prior in self.each], axis=0))


def before(information: Information, prior: Prior, attribute: str) -> PriorKnowledge | None:
    """Return what is known of an attribute before the release; None if nothing is.

    Parameters
    ----------
    information : Information
        What was measured.
    prior : "data" or mapping from attribute to variance, optional
        What is known, as `variances` has checked it.
    attribute : str
        One that is a number.
    """
    if isinstance(prior, Mapping):
        return PriorKnowledge((GaussianPrior(float(prior[attribute])),)) if attribute in prior else None
    return None if prior is None else PriorKnowledge(information.spreads(attribute))


def check_names(information: Information, names: Iterable[str]) -> None:
    """Refuse a name that is no private attribute."""
    for name in names:
        if name not in information.attribute_names:
            raise InputError(f"There is no private attribute {name!r}. There are {list(information.attribute_names)}.")


def check_numbers(information: Information, names: Iterable[str]) -> None:
    """Refuse a name that is no private attribute, or one whose values are categories."""
    listed = list(names)
    check_names(information, listed)
    for name in listed:
        if name in information.categorical:
            raise InputError(
                f"{name!r} is a category, which has no variance and no range; ask for its success_rate(). If it is a "
                f"number, measure with numbers=[{name!r}]."
            )


def checked_lengths(information: Information, interval: Mapping[str, tuple[float, float]] | None) -> dict[str, float]:
    """Return how long the interval of each attribute is."""
    if interval is None:
        return {}
    if not isinstance(interval, Mapping):
        raise InputError(f"interval must be a mapping from attribute to (low, high), not {interval!r}.")
    check_numbers(information, interval)
    lengths = {}
    for name, ends in interval.items():
        try:
            low, high = map(float, ends)
        except (TypeError, ValueError):
            raise InputError(f"The interval of {name!r} must be (low, high), not {ends!r}.") from None
        if not low < high:
            raise InputError(f"The interval of {name!r} must begin below its end, not be {ends!r}.")
        lengths[name] = high - low
    return lengths


def variances(information: Information, prior: Prior) -> Mapping[str, Variance]:
    """Return the variance of each attribute before the release, those of the data or those given."""
    if prior is None:
        return {}
    if isinstance(prior, str):
        if prior != "data":
            raise InputError(f'prior must be "data" or a mapping from attribute to variance, not {prior!r}.')
        return information.variances()
    if not isinstance(prior, Mapping):
        raise InputError(f'prior must be "data" or a mapping from attribute to variance, not {prior!r}.')
    check_numbers(information, prior)
    for name, variance in prior.items():
        if not isinstance(variance, Real):
            raise InputError(f"The prior variance of {name!r} must be a number, not {variance!r}.")
        if not variance > 0:
            raise InputError(f"The prior variance of {name!r} must be positive, not {variance!r}.")
    return prior


def deviations(information: Information, prior: Prior) -> dict[str, float]:
    """Return the standard deviation of each attribute before the release, where it is known and not zero.

    Parameters
    ----------
    information : Information
        What was measured.
    prior : "data" or mapping from attribute to variance, optional
        What is known before; None for nothing.
    """
    try:
        known = variances(information, prior)
    except UnansweredError:
        # People in files, whose variances nobody counted.
        return {}
    smallest = {name: float(np.min(variance)) for name, variance in known.items()}
    return {name: variance**0.5 for name, variance in smallest.items() if variance > 0}
