"""Questions to a ledger about people."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.ledger._sums import bucket_of

if TYPE_CHECKING:
    from seepage.ledger._books import View

_ATTRIBUTE = "attribute "

Of = TypeVar("Of")


def balance(view: "View", names: NDArray[np.void]) -> dict[str, Array]:
    """Return the error floor of each attribute, eta and trace, of people."""
    sums = view.sums_of(names)
    with np.errstate(divide="ignore"):
        floors: dict[str, Array] = {name: 1 / np.sqrt(column) for name, column in _attributes(sums.columns).items()}
    return {**floors, "eta": np.sqrt(sums.column("eta")), "trace": sums.column("trace")}


def closest(view: "View") -> dict[str, float]:
    """Return the smallest error floor of each attribute, and the largest eta, of all people."""
    largest: dict[str, float] = {}
    for bucket in view.hashes:
        for name, column in view.sums(bucket).columns.items():
            largest[name] = max(largest.get(name, 0.0), float(column.max(initial=0.0)))
    floors = {name: 1 / np.sqrt(sum_) if sum_ > 0 else np.inf for name, sum_ in _attributes(largest).items()}
    return {**floors, "eta": float(np.sqrt(largest.get("eta", 0.0)))}


def history(view: "View", names: NDArray[np.void]) -> dict[str, Array]:
    """Return the error floor of each attribute after each release."""
    bucket, place = bucket_of(names), {entry.number: row for row, entry in enumerate(view.debits)}
    costs: dict[str, Array] = {}
    for number, part, sums in view.parts(buckets=np.unique(bucket).tolist()):
        at = np.flatnonzero(bucket == part)
        for name, column in _attributes(sums.of_people(names[at]).columns).items():
            costs.setdefault(name, np.zeros((len(place), len(names))))[place[number], at] = column
    with np.errstate(divide="ignore"):
        return {name: 1 / np.sqrt(np.cumsum(cost, axis=0)) for name, cost in costs.items()}


def _attributes(columns: Mapping[str, Of]) -> dict[str, Of]:
    return {name.removeprefix(_ATTRIBUTE): one for name, one in columns.items() if name.startswith(_ATTRIBUTE)}
