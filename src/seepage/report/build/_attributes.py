"""What each attribute's holder may take for granted: error floors, and success rates of categories."""

from collections.abc import Collection, Mapping

import numpy as np

from seepage._errors import MinimizerError, UnansweredError
from seepage._facts import Number, personal, public
from seepage.leakage import Distribution, Information, Sketch
from seepage.meaning import success_rate, van_trees_floor, variance_left
from seepage.report._document import CategoryAttribute, Floor, NumberAttribute, Rate, Silence
from seepage.report._edition import SHARES, at_most, down, near

# Beyond this many people, refits of every category for everybody take longer than a reader waits.
_MOST_REFITTED = 10_000


def numbers(
    information: Information, *, units: Mapping[str, str], deviations: Mapping[str, Number]
) -> tuple[NumberAttribute, ...]:
    """Return the attributes that are numbers, the one that the release says most about first."""
    found = [
        _number(name, known.sketched(), units.get(name), deviations.get(name))
        for name, known in information.distributions("attributes").items()
        if name not in information.categorical
    ]
    # Floors in different units have no order; what is left of a variance has.
    return tuple(sorted(found, key=_left))


def _left(entry: NumberAttribute) -> tuple[float, ...]:
    lefts = [floor.variance_left for floor in reversed(entry.floors)]
    return tuple(left.value for left in lefts if left is not None) or (2.0,)


def _number(name: str, known: Distribution, unit: str | None, deviation: Number | None) -> NumberAttribute:
    floors = []
    for share in SHARES:
        eta = at_most(known, share)
        left, with_prior = None, None
        if deviation is not None:
            variance = deviation.value**2
            left = personal(_down_to_percent(float(variance_left(eta, variance))))
            with_prior = personal(down(float(van_trees_floor(eta, variance))))
        floor = personal(down(1 / eta)) if eta > 0 else None
        floors.append(Floor(public(share), floor, with_prior, left))
    shown = None if deviation is None else Number(near(deviation.value), deviation.origin)
    return NumberAttribute(name, unit, shown, tuple(floors), None)


def categories(information: Information, *, named: Collection[str]) -> tuple[CategoryAttribute, ...]:
    """Return the attributes that are categories, the one that is told best first."""
    found = [
        _category(information, name)
        if name in named or information.count <= _MOST_REFITTED
        else CategoryAttribute(name, (), Silence("slow", None))
        for name in information.attribute_names
        if name in information.categorical
    ]
    return tuple(sorted(found, key=lambda entry: -entry.rates[-1].success_rate.value if entry.rates else 0.0))


def _category(information: Information, name: str) -> CategoryAttribute:
    try:
        found = information.distances(name, None)
        missing = int(found.unanswered.sum())
        if missing:
            raise UnansweredError(f"The model could not be refitted with another {name} of {missing} people.")
    except (UnansweredError, MinimizerError) as reason:
        return CategoryAttribute(name, (), Silence("unanswered", str(reason)))
    known = Sketch.of(found.farthest())
    rates = []
    for share in SHARES:
        rate = 1 - _down_to_percent(1 - float(success_rate(at_most(known, share))))
        rates.append(Rate(public(share), personal(round(rate, 4))))
    return CategoryAttribute(name, tuple(rates), None)


def _down_to_percent(share: float) -> float:
    return float(np.floor(100 * share + 1e-9) / 100)
