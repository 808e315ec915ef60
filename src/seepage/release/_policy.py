"""What a release must achieve before it may be published."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from seepage._errors import InputError
from seepage.leakage import Distribution, Leakage, Values
from seepage.meaning import distance_for


@dataclass(frozen=True)
class Shortfall:
    """A target that a release misses."""

    target: str
    factor: float
    """By how much the noise scale must grow to meet it."""


@dataclass(frozen=True)
class Policy:
    """Targets that a release must meet.

    Parameters
    ----------
    error_floor : mapping from attribute to float, optional
        The standard error, in the attribute's unit, that no unbiased guess may fall below.
    success_rate : mapping from attribute to float, optional
        For categories: how often the best attacker may tell the true value from any other at equal odds, in (0.5, 1).
    eta : float, optional
        The largest information about any direction of a person's values.
    quantile : float, default=1.0
        The share of people for whom each target must hold.

    Examples
    --------
    >>> import seepage
    >>> policy = seepage.Policy(error_floor={"age": 5.0}, success_rate={"diagnosis": 0.6})
    >>> policy.sentences()[0]
    "Everyone's age: no unbiased guess has a standard error below 5."
    >>> policy.sentences()[1]
    "Everyone's diagnosis: no attacker tells it from another value more than 60% of the time at equal odds."
    """

    error_floor: Mapping[str, float] = field(default_factory=dict)
    success_rate: Mapping[str, float] = field(default_factory=dict)
    eta: float | None = None
    quantile: float = 1.0

    def __post_init__(self) -> None:
        for name, floor in self.error_floor.items():
            if not 0 < floor < np.inf:
                raise InputError(f"The error floor of {name!r} must be positive, not {floor!r}.")
        for name, rate in self.success_rate.items():
            if not 0.5 < rate < 1:
                raise InputError(
                    f"The success rate of {name!r} must be between 0.5 (guessing) and 1 (certainty), not {rate!r}."
                )
        if self.eta is not None and not 0 < self.eta < np.inf:
            raise InputError(f"eta must be positive, not {self.eta!r}.")
        if not 0 < self.quantile <= 1:
            raise InputError(f"quantile is a share of people, above 0 and up to 1, not {self.quantile!r}.")
        for name in ("error_floor", "success_rate"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only views cannot be pickled; what they show can.
        return Policy, (dict(self.error_floor), dict(self.success_rate), self.eta, self.quantile)

    @classmethod
    def of(cls, targets: "Policy | Mapping[str, Any]") -> "Policy":
        """Accept the arguments of a policy wherever one is expected."""
        if isinstance(targets, cls):
            return targets
        try:
            return cls(**targets)  # type: ignore[arg-type]
        except TypeError:
            raise InputError(f"A policy has error_floor, success_rate, eta and quantile, not {targets!r}.") from None

    @property
    def is_empty(self) -> bool:
        """Whether there is no target at all."""
        return not (self.error_floor or self.success_rate or self.eta)

    def sentences(self) -> list[str]:
        """Return the targets in words."""
        return [sentence for sentence, *_ in self.targets()]

    def targets(self) -> Iterator[tuple[str, str, str | None, float]]:
        """Yield each target in words, its kind, its attribute (None for eta) and its limit."""
        who = "Everyone's" if self.quantile == 1 else f"At least {100 * self.quantile:.4g}% of people's"
        for name, floor in self.error_floor.items():
            yield f"{who} {name}: no unbiased guess has a standard error below {floor:g}.", "error_floor", name, floor
        for name, rate in self.success_rate.items():
            limit = f"no attacker tells it from another value more than {100 * rate:.4g}% of the time at equal odds"
            yield f"{who} {name}: {limit}.", "success_rate", name, rate
        if self.eta is not None:
            yield f"{who} values: eta is at most {self.eta:g}.", "eta", None, self.eta

    def factors(self, leak: Leakage) -> dict[str, float]:
        """Return, for each target in words, the smallest factor on the noise scale that meets it."""
        return {words: self._needed(leak, kind, name) for words, kind, name, _ in self.targets()}

    def shortfalls(self, leak: Leakage) -> list[Shortfall]:
        """Return the targets that a release misses."""
        # A calibrated scale meets its tightest target to rounding.
        return [Shortfall(target, factor) for target, factor in self.factors(leak).items() if factor > 1 + 1e-9]

    def _needed(self, leak: Leakage, kind: str, name: str | None) -> float:
        """Return the factor on the noise scale that is needed: everything scales with its inverse (eq. 7.1)."""
        information = leak.information
        if name is None:
            assert self.eta is not None
            return self._reached(information.distributions("examples")["eta"]) / self.eta
        if name not in information.attribute_names:
            raise InputError(f"There is no private attribute {name!r}. There are {list(information.attribute_names)}.")
        if kind == "success_rate":
            farthest = Values(information.distances(name, None).farthest())
            return self._reached(farthest) / distance_for(self.success_rate[name])
        if name in information.categorical:
            raise InputError(f"{name!r} is a category and has no standard error; set a success_rate for it instead.")
        return self._reached(information.distributions("attributes")[name]) * self.error_floor[name]

    def _reached(self, known: Distribution) -> float:
        """Return what the stated share of people do not exceed."""
        if self.quantile == 1:
            return known.largest
        rank = int(np.ceil(self.quantile * known.count * (1 - 1e-12))) - 1
        # The largest is exact; another quantile is taken at the far end of its error.
        return min(float(known.ranked(np.array(rank))) / (1 - known.relative_error), known.largest)
