"""Target of a policy about one attribute, or about all."""

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
    unit : str
        The unit of the attribute; empty if none was stated.
    baseline : Number or None
        Of an error floor, the error of a guess without the release, as the policy states it.
    """

    kind: TargetKind
    attribute: str | None
    limit: Number
    quantile: Number
    unit: str = ""
    baseline: Number | None = None

    def sentence(self, called: Callable[[str], str] = str) -> str:
        """Return the target in words, names written as `called` says."""
        share, limit = self.quantile.value, self.limit.value
        who = "Everyone's" if share == 1 else f"At least {100 * share:.4g}% of people's"
        what = "values" if self.attribute is None else called(self.attribute)
        errors = [self._amount(each.value, called) for each in (self.limit, self.baseline) if each is not None]
        said = {
            "error_floor": f"no unbiased guess has a standard error below {'; the baseline is '.join(errors)}",
            "success_rate": f"no attacker can tell it more than {100 * limit:.4g}% of the time at equal odds",
            "eta": f"eta is at most {limit:g}",
        }[self.kind]
        return f"{who} {what}: {said}."

    def _amount(self, value: float, called: Callable[[str], str]) -> str:
        singular = value == 1 and self.unit in _PLURALS
        return f"{value:g} {called(self.unit[:-1] if singular else self.unit)}" if self.unit else f"{value:g}"

    @staticmethod
    def missing(factor: float) -> str:
        """Return what a release lacks that asks for this factor on its noise, in words."""
        if isfinite(factor):
            return f"That takes {factor:g} times the noise."
        return (
            "No noise is enough: a scaler, an imputer or the rule of a shape, fitted on these rows, shows in the shape "
            "of the noise. Give such steps public constants, fit on more people, take "
            'shape="isotropic", or give standard errors more noise of their own (RobustCovariance(variances=0.5)).'
        )

    @staticmethod
    def is_met(factor: float) -> bool:
        """Return whether a release meets a target that asks for this factor on its noise."""
        # A calibrated scale meets its tightest target to rounding.
        return factor <= 1 + 1e-9
