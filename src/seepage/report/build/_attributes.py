"""What each attribute's holder may take for granted: error floors, and success rates of categories."""

from collections.abc import Collection, Mapping

import numpy as np

from seepage._errors import MinimizerError, UnansweredError
from seepage._facts import Number, personal, public
from seepage.leakage import Distribution, Information, Sketch
from seepage.meaning import success_rate, van_trees_floor, variance_left
from seepage.report._document import CategoryAttribute, Floor, NumberAttribute, Rate, Silence
from seepage.report._edition import Edition

# Beyond this many people, refits of every category for everybody take longer than a reader waits.
_MOST_REFITTED = 10_000


def numbers(
    information: Information, edition: Edition, *, units: Mapping[str, str], deviations: Mapping[str, Number]
) -> tuple[NumberAttribute, ...]:
    """Return the attributes that are numbers, the one that the release says most about first."""
    found = [
        _number(name, known.sketched(), edition, units.get(name), deviations.get(name))
        for name, known in information.distributions("attributes").items()
        if name not in information.categorical
    ]
    # Floors in different units have no order; what is left of a variance has.
    return tuple(sorted(found, key=_left))


def _left(entry: NumberAttribute) -> tuple[float, ...]:
    lefts = [floor.variance_left for floor in reversed(entry.floors)]
    return tuple(left.value for left in lefts if left is not None) or (2.0,)


def _number(
    name: str, known: Distribution, edition: Edition, unit: str | None, deviation: Number | None
) -> NumberAttribute:
    floors = []
    for share in edition.shares(known.count):
        eta = edition.at_most(known, share)
        assert eta is not None
        left, with_prior = None, None
        if deviation is not None:
            variance = deviation.value**2
            left = personal(_down_to_percent(float(variance_left(eta, variance))))
            with_prior = personal(edition.down(float(van_trees_floor(eta, variance))))
        floor = personal(edition.down(1 / eta)) if eta > 0 else None
        floors.append(Floor(public(share), floor, with_prior, left))
    shown = None if deviation is None else Number(edition.near(deviation.value), deviation.origin)
    return NumberAttribute(name, unit, shown, tuple(floors), None if floors else Silence("few", None))


def categories(information: Information, edition: Edition, *, named: Collection[str]) -> tuple[CategoryAttribute, ...]:
    """Return the attributes that are categories, the one that is told best first."""
    found = [
        _category(information, name, edition)
        if name in named or information.count <= _MOST_REFITTED
        else CategoryAttribute(name, (), Silence("slow", None))
        for name in information.attribute_names
        if name in information.categorical
    ]
    return tuple(sorted(found, key=lambda entry: -entry.rates[-1].success_rate.value if entry.rates else 0.0))


def _category(information: Information, name: str, edition: Edition) -> CategoryAttribute:
    try:
        distance = information.distances(name, None).farthest()
    except (UnansweredError, MinimizerError) as reason:
        return CategoryAttribute(name, (), silence(reason, edition))
    known = Sketch.of(distance)
    rates = []
    for share in edition.shares(known.count):
        at_most = edition.at_most(known, share)
        assert at_most is not None
        rate = 1 - _down_to_percent(1 - float(success_rate(at_most)))
        rates.append(Rate(public(share), personal(round(rate, 4))))
    return CategoryAttribute(name, tuple(rates), None if rates else Silence("few", None))


def silence(reason: Exception, edition: Edition) -> Silence:
    """Return why something is not told; what went wrong may tell of few people."""
    return Silence("withheld", None) if edition.is_public else Silence("unanswered", str(reason))


def _down_to_percent(share: float) -> float:
    return float(np.floor(100 * share + 1e-9) / 100)
