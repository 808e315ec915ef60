"""What must hold of every output: a policy, and where it says nothing, a rule for all columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from seepage._near import did_you_mean, several
from seepage.errors import InputError
from seepage.release import Policy
from seepage.request._appetite import RiskAppetite
from seepage.request._people import RequestPeople

Kind = Literal["error_floor", "success_rate"]
# No guess may be nearer than this share of a column's standard deviation, nor right more often than this.
HALF, THREE_QUARTERS = 0.5, 0.75


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets for the columns of the people."""

    people: RequestPeople
    policy: Policy | None
    appetite: RiskAppetite | None = None
    """What ACRO asks, beside the policy."""

    def __post_init__(self) -> None:
        if self.policy is not None and self.policy.eta is not None:
            raise InputError(
                "The policy has a target for eta, which is not held against outputs without noise: set error_floor and "
                "success_rate of columns instead."
            )
        columns = self.people.table.names
        for name in () if self.policy is None else (*self.policy.error_floor, *self.policy.success_rate):
            if name not in columns:
                raise InputError(
                    f"The policy has a target for {name!r}, which is no column of the people. "
                    f"{did_you_mean(name, columns)}Their columns are: {several(columns)}."
                )

    @property
    def spared(self) -> float:
        """The share of people for whom a target need not hold."""
        return 0.0 if self.policy is None else 1.0 - self.policy.quantile

    def of(self, attribute: str, *, category: bool) -> float | None:
        """Return what must hold of an attribute: a rate that is not passed, or an error that is; None if nothing."""
        policy = self.policy or Policy()
        wanted, other = ("success_rate", "error_floor") if category else ("error_floor", "success_rate")
        targets: Mapping[str, float] = getattr(policy, wanted)
        if attribute in targets:
            return float(targets[attribute])
        if attribute in getattr(policy, other):
            kind = "category" if category else "number"
            raise InputError(
                f"The policy sets {other} for {attribute!r}, which is a {kind} in this request: set {wanted} for it."
            )
        if policy.other_attributes == "public":
            return None
        if category:
            return THREE_QUARTERS
        deviation = self.people.deviations.get(attribute)
        return HALF * deviation if deviation else None

    @property
    def words(self) -> str:
        """What is asked, in a sentence or two."""
        if self.appetite is None:
            return self._words
        limits = ", ".join(f"{name} {value:g}" for name, value in self.appetite.limits().items())
        return f"{self._words} ACRO's risk appetite is checked as well: {limits}."

    @property
    def _words(self) -> str:
        rule = (
            "values may not be inferred to less than half their column's standard deviation, nor categories correctly "
            "more than 75% of the time"
        )
        if self.policy is None:
            return f"No {'policy was' if self.appetite is None else 'targets were'} given: {rule}."
        count = len(self.policy.error_floor) + len(self.policy.success_rate)
        named = f"{count} target{'' if count == 1 else 's'} of the policy"
        if self.policy.other_attributes == "public":
            return f"{named}; all other columns are public by its word."
        return f"{named}; of all other columns {rule}."
