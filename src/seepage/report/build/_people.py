"""The most exposed people, under names that only the owner can resolve."""

import hmac
from collections.abc import Sequence
from typing import Any

from seepage._errors import UnansweredError
from seepage.leakage import Leakage
from seepage.report._edition import Edition


def pseudonym(key: bytes, identifier: str) -> str:
    """Return a name that is the same for the same person under the same key, and says nothing without it."""
    digest = hmac.new(key, identifier.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
    return "-".join((digest[:4], digest[4:8], digest[8:12]))


def most_exposed(
    leak: Leakage, edition: Edition, key: bytes, *, count: int, median: float, attributes: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the people with the largest eta, with the floors of some attributes where these are at hand."""
    information = leak.information
    found = information.top(count)
    ids = [str(each) for each in found.rows.tolist()] if found.people.ids is None else map(str, found.people.ids)
    try:
        columns = information.attributes()
    except UnansweredError:
        columns, attributes = {}, ()
    known = {name: columns[name][found.rows] for name in attributes}
    entries = []
    for i, (identifier, eta) in enumerate(zip(ids, found.columns["eta"].tolist(), strict=True)):
        floors = [
            {"name": name, "floor": edition.down(1 / float(each[i])) if each[i] > 0 else None}
            for name, each in known.items()
        ]
        entries.append(_entry(pseudonym(key, identifier), eta, median, edition) | {"floors": floors})
    return entries


def _entry(name: str, eta: float, median: float, edition: Edition) -> dict[str, Any]:
    return {
        "pseudonym": name,
        "eta": edition.up(eta),
        "times_median": round(eta / median, 1) if median > 0 else None,
    }
