"""What is known before a release."""

from collections.abc import Iterable, Mapping

from seepage._errors import InputError, UnansweredError
from seepage.leakage._information import Information
from seepage.leakage.types import Prior


def check_names(information: Information, names: Iterable[str]) -> None:
    """Refuse a name that is no private attribute."""
    for name in names:
        if name not in information.attribute_names:
            raise InputError(f"There is no private attribute {name!r}. There are {list(information.attribute_names)}.")


def variances(information: Information, prior: Prior) -> Mapping[str, float]:
    """Return the variance of each attribute before the release, those of the data or those given."""
    if prior is None:
        return {}
    if isinstance(prior, str):
        if prior != "data":
            raise InputError(f'prior must be "data" or a mapping from attribute to variance, not {prior!r}.')
        return information.variances()
    check_names(information, prior)
    for name, variance in prior.items():
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
    return {name: float(variance) ** 0.5 for name, variance in known.items() if variance > 0}
