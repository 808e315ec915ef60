"""What each attribute's holder may take for granted: error floors, and success rates of categories."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from seepage._errors import InputError, MinimizerError, UnansweredError
from seepage.leakage import Distribution, Leakage, Sketch
from seepage.meaning import success_rate, van_trees_floor, variance_left
from seepage.report._edition import Edition
from seepage.report.build._sources import distributions

# Beyond this many people, refits of every category for everybody take longer than a reader waits.
_MOST_REFITTED = 10_000


def attributes(
    leak: Leakage,
    edition: Edition,
    *,
    units: Mapping[str, str],
    deviations: Mapping[str, float],
    categories: Collection[str],
) -> list[dict[str, Any]]:
    """Return one entry an attribute, the one that the release says most about first."""
    information = leak.information
    for name in (*units, *categories):
        if name not in information.attribute_names:
            raise InputError(f"There is no private attribute {name!r}. There are {list(information.attribute_names)}.")
    numbers = [
        _number(name, known, edition, units.get(name), deviations.get(name))
        for name, known in distributions(leak, "attributes").items()
        if name not in information.categorical
    ]
    # Floors in different units have no order; what is left of a variance has.
    numbers.sort(key=_left)
    found = [
        _category(leak, name, edition, refitted=name in categories or information.count <= _MOST_REFITTED)
        for name in information.attribute_names
        if name in information.categorical
    ]
    found.sort(key=lambda entry: -entry["values"][-1]["success_rate"] if entry["values"] else 0.0)
    return numbers + found


def _left(entry: Mapping[str, Any]) -> tuple[float, ...]:
    lefts = [value["variance_left"] for value in reversed(entry["values"])]
    return (2.0,) if not lefts or lefts[0] is None else tuple(lefts)


def _number(
    name: str, known: Distribution, edition: Edition, unit: str | None, deviation: float | None
) -> dict[str, Any]:
    values = []
    for share in edition.shares(known.count):
        eta = edition.at_most(known, share)
        assert eta is not None
        left, floor = None, None
        if deviation is not None:
            left = _down_to_percent(float(variance_left(eta, deviation**2)))
            floor = edition.down(float(van_trees_floor(eta, deviation**2)))
        values.append(
            {
                "share": share,
                "floor": edition.down(1 / eta) if eta > 0 else None,
                "floor_with_prior": floor,
                "variance_left": left,
            }
        )
    return {
        "name": name,
        "kind": "number",
        "unit": unit,
        "deviation": None if deviation is None else edition.near(deviation),
        "values": values,
        "reason": None if values else _too_few(edition),
    }


def _category(leak: Leakage, name: str, edition: Edition, *, refitted: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "kind": "category", "unit": None, "deviation": None, "values": []}
    if not refitted:
        return entry | {
            "reason": f"Exact refits for {leak.information.count:,} people take a while: ask with categories=[...]."
        }
    try:
        distance = leak.information.distances(name, None).farthest()
    except (UnansweredError, MinimizerError) as reason:
        return entry | {"reason": untold(reason, edition)}
    known = Sketch.of(distance)
    for share in edition.shares(known.count):
        at_most = edition.at_most(known, share)
        assert at_most is not None
        rate = 1 - _down_to_percent(1 - float(success_rate(at_most)))
        entry["values"].append({"share": share, "success_rate": round(rate, 4)})
    return entry | {"reason": None if entry["values"] else _too_few(edition)}


def untold(reason: Exception, edition: Edition) -> str:
    """Return why something is not told; what went wrong may tell of few people."""
    return "This could not be found; the internal edition says why." if edition.is_public else str(reason)


def _too_few(edition: Edition) -> str:
    return f"Too few people: this edition speaks of no fewer than {edition.smallest_group}."


def _down_to_percent(share: float) -> float:
    return float(np.floor(100 * share + 1e-9) / 100)
