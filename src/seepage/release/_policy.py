"""What a release must achieve before it may be published."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from types import MappingProxyType
from typing import Literal

import numpy as np

from seepage._facts import given
from seepage._records import Json, fingerprint_of
from seepage.errors import InputError, UnansweredError
from seepage.leakage import Distribution, Information, Leakage, Values, check_names
from seepage.leakage.types import Kind
from seepage.meaning import Target, Untargeted, distance_for, success_rate
from seepage.pages import Document, Section, snippet
from seepage.release._search import smallest_factor

_NEXT_TO_NONE = 1e-20
# People are refitted until so many in a row are this far below a limit, so many at a time.
_IN_A_ROW, _BELOW, _AT_ONCE = 50, 0.02, 200
# Rows times refits: some minutes.
_MOST_WORK = 2**30


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
        The largest information about any direction of a person's values. It is a target for every number; how often
        a category is told takes a success rate.
    quantile : float, default=1.0
        The share of people for whom each target must hold.
    other_attributes : "public", optional
        Declares that the attributes without a target are public. Without it, whoever is told that the policy is met is
        told what has no target too.
    units : mapping from attribute to str, optional
        The units of error floors, which every verdict states.
    baselines : mapping from attribute to float, optional
        The errors of guesses without the release, in the same units: public figures, as no verdict for everybody
        computes one from rows.

    Examples
    --------
    >>> import seepage
    >>> policy = seepage.Policy(error_floor={"age": 5.0}, success_rate={"diagnosis": 0.6})
    >>> policy.sentences()[0]
    "Everyone's age: no unbiased guess has a standard error below 5."
    >>> policy.sentences()[1]
    "Everyone's diagnosis: no attacker can tell it more than 60% of the time at equal odds."
    """

    error_floor: Mapping[str, float] = field(default_factory=dict)
    success_rate: Mapping[str, float] = field(default_factory=dict)
    eta: float | None = None
    quantile: float = 1.0
    other_attributes: Literal["public"] | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    baselines: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what in ("error_floor", "success_rate"):
            targets = getattr(self, what)
            if not isinstance(targets, Mapping):
                raise InputError(
                    f"{what} sets a target for each of some attributes, such as {{'age': 5.0}}, not {targets!r}."
                )
            for name, target in targets.items():
                _check_number(f"The {what.replace('_', ' ')} of {name!r}", target)
        for what in ("eta", "quantile"):
            if getattr(self, what) is not None:
                _check_number(what, getattr(self, what))
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
        if self.other_attributes not in (None, "public"):
            raise InputError(
                'other_attributes is "public", or left out: every verdict then names the attributes without a target. '
                f"It is not {self.other_attributes!r}."
            )
        for what in ("units", "baselines"):
            for name in getattr(self, what):
                if name not in self.error_floor:
                    raise InputError(f"{what} names {name!r}, which has no error floor.")
        for name, baseline in self.baselines.items():
            _check_number(f"The baseline of {name!r}", baseline)
        for name in ("error_floor", "success_rate", "units", "baselines"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views cannot be pickled; what they show can.
        views = (dict(getattr(self, name)) for name in ("units", "baselines"))
        own = dict(self.error_floor), dict(self.success_rate)
        return Policy, (*own, self.eta, self.quantile, self.other_attributes, *views)

    @classmethod
    def of(cls, targets: "Policy | Mapping[str, object]") -> "Policy":
        """Accept the arguments of a policy wherever one is expected.

        An error floor may be a mapping too: `{"age": {"floor": 10, "unit": "years", "baseline": 13}}`.
        """
        if isinstance(targets, cls):
            return targets
        try:
            return cls(**_split(dict(targets)))  # type: ignore[arg-type]
        except TypeError:
            raise InputError(
                f"A policy has error_floor, success_rate, eta, quantile and other_attributes, not {targets!r}."
            ) from None

    @property
    def is_empty(self) -> bool:
        """Whether there is no target at all."""
        return not (self.error_floor or self.success_rate or self.eta)

    def targets(self) -> list[Target]:
        """Return the targets."""
        share = given(float(self.quantile))
        floors = []
        for name, low in self.error_floor.items():
            baseline = given(float(self.baselines[name])) if name in self.baselines else None
            floors.append(Target("error_floor", name, given(float(low)), share, self.units.get(name, ""), baseline))
        rates = [Target("success_rate", name, given(float(rate)), share) for name, rate in self.success_rate.items()]
        return [*floors, *rates, *([] if self.eta is None else [Target("eta", None, given(float(self.eta)), share)])]

    def sentences(self) -> list[str]:
        """Return the targets in words."""
        return [target.sentence() for target in self.targets()]

    def entries(self) -> dict[str, Json]:
        """Return the targets for a machine, as certificates hold them."""
        return {
            "error_floor": {name: float(floor) for name, floor in self.error_floor.items()},
            "success_rate": {name: float(rate) for name, rate in self.success_rate.items()},
            "eta": None if self.eta is None else float(self.eta),
            "quantile": float(self.quantile),
        }

    def fingerprint(self) -> str:
        """Return a short form of the targets that people can compare: reports and certificates name it."""
        return fingerprint_of(self.entries())

    def attributes_without_target(self, leak: Leakage) -> Untargeted:
        """Return the private attributes of a release that have no target."""
        information = leak.information
        named = {*self.error_floor, *self.success_rate}
        if self.eta is not None:
            # Eta is about small changes: it limits neither how often a category is told, nor what moves by jumps.
            named |= {*information.attribute_names} - information.categorical - information.without_slope
        # A group of no values, as a network may have, is nobody's.
        known = {*information.distributions("attributes"), *information.categorical}
        left = tuple(name for name in information.attribute_names if name in known and name not in named)
        return Untargeted(
            left, tuple(name for name in information.outcome if name in left), self.other_attributes == "public"
        )

    def _repr_html_(self) -> str:
        public = ["What has no target is public."] if self.other_attributes else []
        said = (*self.sentences(), *public) or ("No target: every release meets it.",)
        return snippet(Document("Policy of a release", "", (Section("Targets", said),)))

    def factors(self, leak: Leakage) -> dict[Target, float]:
        """Return, for each target, the smallest factor on the noise scale that meets it."""
        return {target: self._needed(leak, target) for target in self.targets()}

    def violations(self, leak: Leakage) -> dict[Target, float]:
        """Return the targets that a release misses, each with the factor by which the noise scale must grow."""
        return {target: factor for target, factor in self.factors(leak).items() if not target.is_met(factor)}

    def _needed(self, leak: Leakage, target: Target) -> float:
        """Return the factor on the noise scale that is needed (eq. 7.1); infinite where no noise is enough."""
        information, name, limit = leak.information, target.attribute, target.limit.value
        if target.kind == "error_floor" and name in information.categorical:
            raise InputError(f"{name!r} is a category and has no standard error; set a success_rate for it instead.")
        if target.kind == "error_floor" and name in information.without_slope:
            raise UnansweredError(
                f"This release moves with {name!r} by jumps, not smoothly: its error floor is not known. Ask how often "
                f"two of its values are told apart: leak.success_rate({name!r}, values=[...]). Or, if an L1 penalty "
                "keeps its coefficients at zero, fit with less of it, or leave the column out of the model."
            )
        most = {"eta": limit, "error_floor": 1.0 / limit, "success_rate": distance_for(limit)}[target.kind]
        if name is not None and self._adds(information, target):
            return _largest_factor(information, name, most)
        if target.kind == "success_rate" and name is not None:
            return self._needed_by_refits(information, name, limit, most)
        return self._factor(information, target.kind, name, most)

    def _factor(self, information: Information, kind: str, name: str | None, most: float) -> float:
        now = self.achieved(information, kind, name)
        if not information.stays or information.noise is None:
            return now / most
        return smallest_factor(partial(self.achieved, information, kind, name), now, most)

    def _needed_by_refits(self, information: Information, name: str, limit: float, most: float) -> float:
        """Return the factor for a success rate, which exact refits decide.

        People are refitted in falling order of their approximate rates until 50 in a row are 0.02 below the limit.
        """
        check_names(information, [name])
        order, count = information.distances(name, None).order(), _AT_ONCE
        while True:
            found = information.refitted(name, order[:count])
            factor = self._factor(information, "success_rate", name, most)
            if factor in (0.0, np.inf):
                return factor
            farthest = found.at(factor).distance[order].max(axis=1)
            below = success_rate(farthest[max(count - _IN_A_ROW, 0) : count]) < limit - _BELOW
            exact = found.exact_records()[order]
            if exact.all() or (exact[:count].all() and below.all()):
                return factor
            if not exact[:count].all() or count * len(found.truth) > _MOST_WORK:
                raise UnansweredError(
                    f"Whether {name!r} meets a success rate of {limit:g} is not known: others may be as exposed as the "
                    f"{int(exact[:count].sum()):,} people who were refitted. Set a limit further above the rates of "
                    "most people, or ask each of several releases by itself."
                )
            count += _AT_ONCE

    def people_refitted(self, leak: Leakage) -> dict[str, int]:
        """Return how many people were refitted for each target that is a success rate: so many at a time, or all.

        How many people lack a value is not in it: it may be published.
        """
        counts = {}
        for name in self.success_rate:
            found = leak.information.distances(name, None)
            exact = found.exact_records()[found.order()]
            counts[name] = leak.information.count if exact.all() else int(exact.sum()) // _AT_ONCE * _AT_ONCE
        return counts

    def _adds(self, information: Information, target: Target) -> bool:
        """Return whether each person's information is a part that shrinks and one that stays, and everyone counts."""
        about_one = target.kind == "error_floor" and self.quantile == 1
        chosen = information.noise is not None and information.gathered is not None
        return about_one and chosen and information.stays

    def achieved(self, information: Information, kind: str, attribute: str | None, factor: float = 1.0) -> float:
        """Return what the stated share of people do not exceed, with noise that is larger by a factor.

        That is eta, of everything or (for an error floor) of one attribute, or for a success rate a distance.
        """
        if attribute is not None:
            check_names(information, [attribute])
        if kind == "success_rate":
            assert attribute is not None
            return self._reached(self._farthest(information, attribute, factor))
        if attribute is None and not information.distributions("examples")["eta"].count:
            raise UnansweredError("Nobody has a private value about which anything is known: no target can be judged.")
        table: Kind = "examples" if attribute is None else "attributes"
        name = attribute or "eta"
        if not information.stays or (factor == 1.0 and information.noise is None):
            return self._reached(information.distributions(table)[name]) / factor
        return self._reached(information.distribution_at(table, name, factor))

    def _reached(self, known: Distribution) -> float:
        """Return what the stated share of people do not exceed."""
        if self.quantile == 1:
            return known.largest
        rank = self._rank(known.count)
        # The largest is exact; another quantile is taken at the far end of its error.
        return min(float(known.ranked(np.array(rank))) / (1 - known.relative_error), known.largest)

    def _farthest(self, information: Information, name: str, factor: float) -> Values:
        """Return each person's distance to the value that is told from theirs most easily, if they have one."""
        found = information.distances(name, None).at(factor)
        far = np.where(found.unanswered, np.inf, found.farthest())
        known = far[~np.isnan(far)]
        missing, count = int(found.unanswered.sum()), len(known)
        # Whose distance is not known counts as farther than anybody.
        if missing > count - 1 - self._rank(count):
            raise UnansweredError(
                f"The model could not be refitted with another {name} of {missing} of {count} people, so whether the "
                f"target is met for them is not known: it counts as missed. Merge rare values of "
                "categories, or fit with a stronger penalty."
            )
        return Values.of(known)

    def _rank(self, count: int) -> int:
        """Return the rank of the person up to whom a target must hold; the least exposed has rank 0."""
        return int(np.ceil(self.quantile * count * (1 - 1e-12))) - 1


def _largest_factor(information: Information, name: str, most: float) -> float:
    """Return the factor on the noise at which  I1 / factor^2 + I2  is within a limit for everybody."""
    check_names(information, [name])
    gathered = information.gathered
    assert gathered is not None
    # With next to no noise all that is seen is the part that shrinks, and nothing cancels.
    seen, stays = (gathered.column_at("attributes", name, factor) ** 2 for factor in (_NEXT_TO_NONE, np.inf))
    known = ~np.isnan(seen)
    moved, room = np.maximum(seen[known] - stays[known], 0.0) * _NEXT_TO_NONE**2, most**2 - stays[known]
    if (room <= 0).any():
        return np.inf
    return float(np.sqrt((moved / room).max(initial=0.0)))


def _split(targets: dict[str, object]) -> dict[str, object]:
    """Return the arguments of a policy, with floors that name their unit and baseline taken apart."""
    floors = targets.get("error_floor")
    if not isinstance(floors, Mapping):
        return targets
    found: dict[str, dict[str, object]] = {"error_floor": {}, "units": {}, "baselines": {}}
    names = {"floor": "error_floor", "unit": "units", "baseline": "baselines"}
    for attribute, given_floor in floors.items():
        entries = given_floor if isinstance(given_floor, Mapping) else {"floor": given_floor}
        if "floor" not in entries or entries.keys() - names.keys():
            raise InputError(
                f"The error floor of {attribute!r} is a number, or has a floor, a unit and a baseline, such as "
                f'{{ floor = 10, unit = "years", baseline = 13 }}, not {given_floor!r}.'
            )
        for entry, value in entries.items():
            found[names[entry]][attribute] = value
    return {**targets, **{name: values for name, values in found.items() if values}}


def _check_number(what: str, value: object) -> None:
    if not isinstance(value, Real):
        raise InputError(f"{what} must be a number, not {value!r}.")
