"""What a release must achieve about one attribute, or about all."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from seepage._facts import Number

# Words that are one fewer with one of them.
_PLURALS = ("years", "months", "weeks", "days", "hours", "minutes", "seconds", "points", "euros", "dollars", "pounds")
TargetKind = Literal["error_floor", "success_rate", "eta"]


@dataclass(frozen=True)
class Target:
    """One target of a policy.

    Attributes
    ----------
    kind : {"error_floor", "success_rate", "eta"}
        What is limited.
    attribute : str or None
        Of which attribute; None for eta, which is about all of them.
    limit : Number
        The limit: a standard error that no unbiased guess may fall below, or a rate or an eta that may not be exceeded.
    quantile : Number
        The share of people for whom it must hold.
    """

    kind: TargetKind
    attribute: str | None
    limit: Number
    quantile: Number

    def sentence(self, called: Callable[[str], str] = str, unit: str | None = None) -> str:
        """Return the target in words, the attribute written as `called` says, and its limit in a unit."""
        share, limit = self.quantile.value, self.limit.value
        who = "Everyone's" if share == 1 else f"At least {100 * share:.4g}% of people's"
        what = "values" if self.attribute is None else called(self.attribute)
        said = {
            "error_floor": f"no unbiased guess has a standard error below {limit:g}{_in_unit(limit, unit)}",
            "success_rate": f"no attacker can tell it more than {100 * limit:.4g}% of the time at equal odds",
            "eta": f"eta is at most {limit:g}",
        }[self.kind]
        return f"{who} {what}: {said}."

    @staticmethod
    def missing(factor: float) -> str:
        """Return what a release lacks that asks for this factor on its noise, in words."""
        if isfinite(factor):
            return f"That takes {factor:g} times the noise."
        return (
            "No noise is enough: what was learned from these rows, by a scaler, an imputer or the rule of a shape, is "
            "seen in the shape of the noise, which does not fade as the noise grows; nor do standard errors, if they "
            "are published. Give such steps public constants, fit on more people, take a shape that does not follow "
            'the rows (shape="isotropic"), or give standard errors more noise of their own '
            "(RobustCovariance(scale=1.0, variances=0.5))."
        )

    @staticmethod
    def is_met(factor: float) -> bool:
        """Return whether a release meets a target that asks for this factor on its noise."""
        # A calibrated scale meets its tightest target to rounding.
        return factor <= 1 + 1e-9


def _in_unit(limit: float, unit: str | None) -> str:
    if not unit:
        return ""
    return f" {unit[:-1] if limit == 1 and unit in _PLURALS else unit}"
