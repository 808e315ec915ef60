"""What each attribute's holder may take for granted: error floors, and success rates of categories."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from seepage._facts import Number, given, personal, public
from seepage.errors import MinimizerError, UnansweredError
from seepage.leakage import (
    Distribution,
    Information,
    PriorKnowledge,
    Sketch,
    ToldCategory,
    before,
    deviations,
    told_apart,
)
from seepage.leakage.types import Prior
from seepage.meaning import success_rate
from seepage.report._document import CategoryAttribute, Floor, NumberAttribute, Rate, Silence
from seepage.report._edition import SHARES, at_most, down, down_to_percent, near, up_to_percent

# Beyond this many people, refits of every category for everybody take longer than a reader waits.
_MOST_REFITTED = 10_000
_JUMPS = "The release moves with it by jumps, and not smoothly: no floor is known, which is no safety."


def numbers(information: Information, *, units: Mapping[str, str], prior: Prior) -> tuple[NumberAttribute, ...]:
    """Return the attributes that are numbers, the one that the release says most about first."""
    origin = given if isinstance(prior, Mapping) else personal
    baseline = {name: origin(deviation) for name, deviation in deviations(information, prior).items()}
    found = [
        NumberAttribute(name, units.get(name), None, (), Silence("unanswered", _JUMPS))
        if name in information.without_slope
        else _number(
            NumberAttribute(name, units.get(name), baseline.get(name), (), None),
            known.sketched(),
            before(information, prior, name) if name in baseline else None,
        )
        for name, known in information.distributions("attributes").items()
        if name not in information.categorical
    ]
    # Floors in different units have no order; what is left of a variance has.
    return tuple(sorted(found, key=_left))


def _left(entry: NumberAttribute) -> tuple[float, ...]:
    lefts = [floor.remaining_variance for floor in reversed(entry.floors)]
    return tuple(left.value for left in lefts if left is not None) or (2.0,)


def _number(entry: NumberAttribute, known: Distribution, prior: PriorKnowledge | None) -> NumberAttribute:
    floors = []
    for share in SHARES:
        eta = at_most(known, share)
        left, with_prior = None, None
        if prior is not None:
            left = personal(down_to_percent(float(prior.left(eta))))
            with_prior = personal(down(float(prior.floor(eta))))
        floor = personal(down(1 / eta)) if eta > 0 else None
        floors.append(Floor(public(share), floor, with_prior, left))
    baseline = entry.deviation
    shown = None if baseline is None else Number(near(baseline.value), baseline.origin)
    return replace(entry, deviation=shown, floors=tuple(floors))


@dataclass(frozen=True, eq=False)
class Categories:
    """What is known of the attributes that are categories.

    Attributes
    ----------
    entries : tuple of CategoryAttribute
        The one that is told best first.
    told : mapping from str to ToldCategory
        How far the release moves with the category of each person, of those that were refitted.
    """

    entries: tuple[CategoryAttribute, ...]
    told: Mapping[str, ToldCategory]


def categories(information: Information, *, named: Collection[str]) -> Categories:
    """Return what is known of the attributes that are categories."""
    entries, told = [], {}
    for name in information.attribute_names:
        if name not in information.categorical:
            continue
        if name not in named and information.count > _MOST_REFITTED and not information.ranks(name):
            entries.append(CategoryAttribute(name, (), Silence("slow", None)))
            continue
        try:
            told[name] = told_apart(information, name)
        except (UnansweredError, MinimizerError) as reason:
            entries.append(CategoryAttribute(name, (), Silence("unanswered", str(reason))))
        else:
            entries.append(_category(name, told[name]))
    entries.sort(key=lambda entry: -entry.rates[-1].success_rate.value if entry.rates else 0.0)
    return Categories(tuple(entries), told)


def _category(name: str, told: ToldCategory) -> CategoryAttribute:
    # Whoever lacks a category has none that could be told.
    has = ~np.isnan(told.far)
    known, exact = Sketch.of(told.far[has]), bool(told.exact[has].all())
    rates = [(share, up_to_percent(float(success_rate(at_most(known, share))))) for share in SHARES]
    return CategoryAttribute(name, tuple(Rate(public(share), personal(rate), exact) for share, rate in rates), None)
