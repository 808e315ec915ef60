"""What a release would do to the promises of a ledger."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from seepage._amounts import up_to_grid
from seepage._tables import Array
from seepage.leakage import GatheredInformation, Leakage
from seepage.ledger._books import Books
from seepage.ledger._buckets import BucketSums
from seepage.ledger._charges import Units, charges, ids_of
from seepage.ledger._state import State

SLACK = 1e-9
"""Rounding of sums: a release that exactly meets a promise must not miss it by the last digit."""


@dataclass(frozen=True, eq=False)
class Preview:
    """What a release would do to the promises of a ledger.

    Attributes
    ----------
    fits : bool
        Whether every promise would still hold.
    factor : float
        By how much the noise must grow for it to fit, rounded up on a fixed grid; infinite if no noise is enough.
    short : mapping from str to int
        How many people would fall below each promise.
    forgotten : int
        How many of its people were forgotten, and must not be in any further release.
    """

    fits: bool
    factor: float
    short: Mapping[str, int]
    forgotten: int

    def sentences(self) -> list[str]:
        """Return it in words."""
        if self.fits:
            return ["Every promise would still hold."]
        lines = [
            f"{_people(count)} would be left with less than the promise about {what}."
            for what, count in self.short.items()
        ]
        if self.forgotten:
            lines.append(
                f"{_people(self.forgotten)} must not be in any further release: who was forgotten counts as spent."
            )
        if self.short:
            enough = np.isfinite(self.factor)
            lines.append(
                f"Noise {self.factor:g} times as large would fit."
                if enough
                else "No noise is enough: somebody's budget is spent. Leave out whoever has none left."
            )
        return lines


def previewed(books: Books, leak: Leakage, units: Units, state: State) -> Preview:
    """Return what a release would do on top of some state."""
    short: dict[str, int] = {}
    factor, forgotten = 1.0, 0
    gone = books.gone(state)
    for names, columns in charges(leak, books.names, units):
        part = BucketSums.joined(books.who(names, state), columns)
        forgotten += int(np.isin(part.names, gone).sum())
        spent = books.found(part.names, state.balances)
        for what, most in books.most.items():
            charge, left = part.columns.get(what), most * (1 + SLACK) - spent.column(what)
            if charge is None:
                continue
            over = charge > left
            if over.any():
                shown = what.removeprefix("attribute ")
                short[shown] = short.get(shown, 0) + int(over.sum())
                factor = max(factor, _needed(books, leak, what, charge, left, units))
    return Preview(not short and not forgotten, factor if factor == 1.0 else up_to_grid(factor), short, forgotten)


def _needed(books: Books, leak: Leakage, what: str, charge: Array, left: Array, units: Units) -> float:
    """Return by how much the noise must grow until a charge is at most what is left."""
    if (left[charge > 0] <= 0).any():
        return np.inf
    information = leak.information
    if not information.stays:
        return float(np.sqrt(np.max(charge[charge > 0] / left[charge > 0])))
    if not isinstance(information, GatheredInformation) or information.noise is None or len(left) < information.count:
        # Of two ids of one person it is not known how they fall together.
        return np.inf
    name = what.removeprefix("attribute ")
    # In the order of the people, not of their names.
    left = left[np.argsort(np.argsort(books.names.of(ids_of(leak)), kind="stable"), kind="stable")]

    def fits(factor: float) -> bool:
        kind: Literal["examples", "attributes"] = "examples" if what == "eta" else "attributes"
        eta = np.nan_to_num(information.column_at(kind, name, factor))
        scale = units.most() if what == "eta" else units.squared(name)
        return bool((eta**2 * scale <= left).all())

    if not fits(np.inf):
        return np.inf
    high = 2.0
    while not fits(high):
        high *= 2
    low = high / 2
    for _ in range(30):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return float(high)


def _people(count: int) -> str:
    return "One person" if count == 1 else f"{count:,} people"
