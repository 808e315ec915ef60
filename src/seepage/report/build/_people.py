"""The most exposed people, under names that only the owner can resolve."""

import hmac
from collections.abc import Iterable, Sequence

import numpy as np

from seepage._errors import UnansweredError
from seepage._facts import personal
from seepage.leakage import Leakage
from seepage.leakage._information import Summarized
from seepage.report._document import Person, PersonFloor
from seepage.report._edition import Edition
from seepage.report.build._sources import identifiers


def pseudonyms(key: bytes, people: Iterable[str]) -> list[str]:
    """Return names that are the same for the same person under the same key, and say nothing without it."""
    return [_pseudonym(key, each) for each in people]


def _pseudonym(key: bytes, person: str) -> str:
    digest = hmac.new(key, person.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
    return "-".join((digest[:4], digest[4:8], digest[8:12]))


def most_exposed(
    leak: Leakage, edition: Edition, key: bytes, *, count: int, median: float, attributes: Sequence[str]
) -> tuple[Person, ...]:
    """Return the people with the largest eta, with the floors of some attributes where these are at hand."""
    information = leak.information
    if isinstance(information, Summarized):
        return _of_files(leak, edition, key, count, median)
    eta = information.examples()["eta"]
    rows = np.argpartition(-eta, count)[:count] if len(eta) > count else np.arange(len(eta))
    rows = rows[np.argsort(-eta[rows], kind="stable")]
    columns = information.attributes()
    entries = []
    for row, name in zip(rows.tolist(), pseudonyms(key, identifiers(leak, rows)), strict=True):
        floors = []
        for attribute in attributes:
            known = float(columns[attribute][row])
            floors.append(PersonFloor(attribute, personal(edition.down(1 / known)) if known > 0 else None))
        entries.append(_person(name, float(eta[row]), median, edition, floors))
    return tuple(entries)


def _of_files(leak: Leakage, edition: Edition, key: bytes, count: int, median: float) -> tuple[Person, ...]:
    found = leak.most_exposed(count)
    ids = getattr(leak.people, "ids", None)
    try:
        columns = [found.column(name).to_pylist() for name in ([ids] if ids else ["file", "row"])]
    except KeyError as missing:
        raise UnansweredError(f"The most exposed people have no {missing}.") from None
    names = pseudonyms(key, (":".join(map(str, parts)) for parts in zip(*columns, strict=True)))
    etas = found.column("eta").to_pylist()
    return tuple(_person(name, eta, median, edition, ()) for name, eta in zip(names, etas, strict=True))


def _person(name: str, eta: float, median: float, edition: Edition, floors: Sequence[PersonFloor]) -> Person:
    times = personal(round(eta / median, 1)) if median > 0 else None
    return Person(name, personal(edition.up(eta)), times, tuple(floors))
