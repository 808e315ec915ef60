"""What R, Stata and statsmodels call families and links."""

import re

from seepage._near import did_you_mean
from seepage.errors import InputError, UnsupportedError
from seepage.linear.objective import CANONICAL, LINKS

COX = "cox"
"""Cox's proportional hazards, as glmnet calls them."""
_FAMILIES = {
    **{family: family for family in CANONICAL},
    COX: COX,
    "normal": "gaussian",
    "quasibinomial": "binomial",
    "bernoulli": "binomial",
    "quasipoisson": "poisson",
    "igaussian": "inverse gaussian",
    "nbinomial": "negative binomial",
}
# What models are called by those who do not call them by their family.
_MEANT = {
    "logistic": "binomial",
    "logit": "binomial",
    "probit": "binomial",
    "linear": "gaussian",
    "ols": "gaussian",
    "lm": "gaussian",
    "count": "poisson",
    "coxph": COX,
    "survival": COX,
}
_WITH_PARAMETER = ("power", "negative binomial")
_LINKS = {
    **{name: (name, 1.0) for name in LINKS if name not in _WITH_PARAMETER},
    "inverse": ("power", -1.0),
    "reciprocal": ("power", -1.0),
    "inverse squared": ("power", -2.0),
    "1/mu^2": ("power", -2.0),
    "sqrt": ("power", 0.5),
}


def family_of(name: str) -> str:
    """Return what a family is called here."""
    plain = _plain(name)
    if re.fullmatch(r"negative binomial\(.*\)", plain):
        raise UnsupportedError(
            f"family is {name!r}, whose theta was estimated from the same rows: how it moves with them is not measured "
            'yet. With a theta that is known: family = "negative binomial" and parameter = 1/theta.'
        )
    if plain not in _FAMILIES:
        known = list(dict.fromkeys(_FAMILIES.values()))
        raise InputError(
            f"family is {name!r}, which is none that is known. {_nearest(plain)}Those that are: {', '.join(known)}."
        )
    return _FAMILIES[plain]


def _nearest(plain: str) -> str:
    return f"Did you mean {_MEANT[plain]!r}? " if plain in _MEANT else did_you_mean(plain, _FAMILIES)


def link_of(name: str, parameter: float | None) -> tuple[str, float]:
    """Return what a link is called here, and its parameter."""
    plain = _plain(name)
    if plain in _WITH_PARAMETER:
        if parameter is None:
            raise InputError(f"link is {name!r}, which needs link_parameter besides: its exponent, or alpha.")
        return plain, parameter
    if match := re.fullmatch(r"mu\^(-?[0-9.]+)", plain):
        return "power", float(match[1])
    if plain not in _LINKS:
        raise InputError(
            f"link is {name!r}, which is none that is known. {did_you_mean(plain, _LINKS)}Those that are: "
            f"{', '.join(_LINKS)}, power."
        )
    return _LINKS[plain]


def _plain(name: str) -> str:
    return name.strip().lower().replace(".", " ").replace("_", " ") if not name.startswith("mu^") else name.strip()
