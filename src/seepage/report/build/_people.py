"""The most exposed people, under names that only the owner can resolve."""

import hmac
from collections.abc import Iterable, Mapping, Sequence

from seepage._errors import UnansweredError
from seepage._facts import personal
from seepage.leakage import Information
from seepage.report._document import Person, PersonFloor
from seepage.report._edition import down, up


def pseudonyms(key: bytes, people: Iterable[object]) -> list[str]:
    """Return names that are the same for the same person under the same key, and say nothing without it."""
    return [_pseudonym(key, str(each)) for each in people]


def _pseudonym(key: bytes, person: str) -> str:
    digest = hmac.new(key, person.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
    return "-".join((digest[:4], digest[4:8], digest[8:12]))


def most_exposed(
    information: Information, key: bytes, *, count: int, median: float, attributes: Sequence[str]
) -> tuple[Person, ...]:
    """Return the people with the largest eta, with the floors of some attributes where these are at hand."""
    found = information.top(count)
    rows, etas = found.rows.tolist(), found.columns["eta"].tolist()
    try:
        columns = information.attributes()
        known = {name: columns[name][found.rows].tolist() for name in attributes}
    except UnansweredError:
        known = {}
    return tuple(
        _person(name, etas[i], median, {attribute: values[i] for attribute, values in known.items()})
        for i, name in enumerate(pseudonyms(key, rows if found.people.ids is None else found.people.ids))
    )


def _person(name: str, eta: float, median: float, known: Mapping[str, float]) -> Person:
    times = personal(round(eta / median, 1)) if median > 0 else None
    floors = [PersonFloor(each, personal(down(1 / one)) if one > 0 else None) for each, one in known.items()]
    return Person(name, personal(up(eta)), times, tuple(floors))
