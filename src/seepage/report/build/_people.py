"""The most exposed people, under names that only the owner can resolve."""

import hmac
from collections.abc import Sequence
from typing import Any

import numpy as np

from seepage._errors import UnansweredError
from seepage.leakage import Leakage
from seepage.leakage._information import Summarized
from seepage.report._edition import Edition
from seepage.report.build._sources import identifiers


def pseudonym(key: bytes, identifier: str) -> str:
    """Return a name that is the same for the same person under the same key, and says nothing without it."""
    digest = hmac.new(key, identifier.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
    return "-".join((digest[:4], digest[4:8], digest[8:12]))


def most_exposed(
    leak: Leakage, edition: Edition, key: bytes, *, count: int, median: float, attributes: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the people with the largest eta, with the floors of some attributes where these are at hand."""
    information = leak.information
    if isinstance(information, Summarized):
        return _of_files(leak, edition, key, count, median)
    eta = information.examples()["eta"]
    rows = np.argpartition(-eta, count)[:count] if len(eta) > count else np.arange(len(eta))
    rows = rows[np.argsort(-eta[rows], kind="stable")]
    columns = information.attributes()
    entries = []
    for row, identifier in zip(rows.tolist(), identifiers(leak, rows), strict=True):
        floors = []
        for name in attributes:
            known = float(columns[name][row])
            floors.append({"name": name, "floor": edition.down(1 / known) if known > 0 else None})
        entries.append(_entry(pseudonym(key, identifier), float(eta[row]), median, edition) | {"floors": floors})
    return entries


def _of_files(leak: Leakage, edition: Edition, key: bytes, count: int, median: float) -> list[dict[str, Any]]:
    found = leak.most_exposed(count)
    ids = getattr(leak.people, "ids", None)
    try:
        columns = [found.column(name).to_pylist() for name in ([ids] if ids else ["file", "row"])]
    except KeyError as missing:
        raise UnansweredError(f"The most exposed people have no {missing}.") from None
    names = [":".join(map(str, parts)) for parts in zip(*columns, strict=True)]
    return [
        _entry(pseudonym(key, name), eta, median, edition) | {"floors": []}
        for name, eta in zip(names, found.column("eta").to_pylist(), strict=True)
    ]


def _entry(name: str, eta: float, median: float, edition: Edition) -> dict[str, Any]:
    return {
        "pseudonym": name,
        "eta": edition.up(eta),
        "times_median": round(eta / median, 1) if median > 0 else None,
    }
