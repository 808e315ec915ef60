"""The most exposed people, under names that only the owner can resolve."""

import hmac
from collections.abc import Iterable, Mapping

from seepage._facts import personal
from seepage.leakage import Information, Through, ToldCategory, exposed_through
from seepage.report._document import Channel, Person
from seepage.report._edition import down, near, up, up_to_percent


def pseudonyms(key: bytes, people: Iterable[object]) -> list[str]:
    """Return names that are the same for the same person under the same key, and say nothing without it."""
    return [_pseudonym(key, str(each)) for each in people]


def _pseudonym(key: bytes, person: str) -> str:
    digest = hmac.new(key, person.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
    return "-".join((digest[:4], digest[4:8], digest[8:12]))


def most_exposed(
    information: Information,
    key: bytes,
    *,
    count: int,
    median: float,
    units: Mapping[str, str],
    categories: Mapping[str, ToldCategory],
) -> tuple[Person, ...]:
    """Return the people with the largest eta, each with the attribute through which they are exposed most."""
    found = information.top(count)
    names = pseudonyms(key, found.rows.tolist() if found.people.ids is None else found.people.ids)
    through = exposed_through(information, found.rows, categories)
    return tuple(
        _person(name, eta, median, channel, units)
        for name, eta, channel in zip(names, found.columns["eta"].tolist(), through, strict=True)
    )


def _person(name: str, eta: float, median: float, through: Through | None, units: Mapping[str, str]) -> Person:
    times = personal(round(eta / median, 1)) if median > 0 else None
    return Person(name, personal(up(eta)), times, None if through is None else _channel(through, units))


def _channel(through: Through, units: Mapping[str, str]) -> Channel:
    if through.success_rate is not None:
        return Channel(through.attribute, None, None, None, personal(up_to_percent(through.success_rate)))
    if through.floor is None or through.baseline is None:
        return Channel(through.attribute, None, None, None, None)
    floor, baseline = personal(down(through.floor)), personal(near(through.baseline))
    return Channel(through.attribute, units.get(through.attribute), floor, baseline, None)
