"""What a release would do to the promises of a ledger."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seepage._amounts import up_to_grid
from seepage.leakage import GatheredInformation, Leakage
from seepage.ledger._books import Books
from seepage.ledger._buckets import BucketSums, Spool
from seepage.ledger._charges import Units, ids_of
from seepage.ledger._spooled import charged
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


def beyond(books: Books, charge: BucketSums, spent: BucketSums) -> dict[str, NDArray[np.bool_]]:
    """Return whom a charge takes beyond each promise, where the same people have spent so much before.

    Who owes nothing new is not among them, whatever they have spent.
    """
    found = {}
    for what, most in books.most.items():
        new = charge.column(what)
        found[what] = (new > 0) & (spent.column(what) + new > most * (1 + SLACK))
    return found


def previewed(books: Books, leak: Leakage, units: Units, spool: Spool, state: State) -> Preview:
    """Return what a release would do on top of some state."""
    short: dict[str, int] = {}
    ratios: dict[str, float] = {}
    forgotten, gone = 0, books.gone(state)
    for bucket, charge in charged(books, spool, state):
        forgotten += int(np.isin(charge.names, gone).sum())
        spent = books.sums(state.balances.get(bucket)).of_people(charge.names)
        for what, over in beyond(books, charge, spent).items():
            if over.any():
                left = books.most[what] * (1 + SLACK) - spent.column(what)[over]
                with np.errstate(divide="ignore"):
                    ratio = np.where(left > 0, charge.column(what)[over] / left, np.inf)
                short[what] = short.get(what, 0) + int(over.sum())
                ratios[what] = max(ratios.get(what, 1.0), float(ratio.max()))
    needed = [_needed(books, leak, what, ratio, units, state) for what, ratio in ratios.items()]
    factor = max(needed, default=1.0)
    named = {what.removeprefix("attribute "): count for what, count in short.items()}
    return Preview(not short and not forgotten, factor if factor == 1.0 else up_to_grid(factor), named, forgotten)


def _needed(books: Books, leak: Leakage, what: str, ratio: float, units: Units, state: State) -> float:
    """Return by how much the noise must grow until charges, at most so many times what is left, fit into it."""
    information = leak.information
    if not np.isfinite(ratio):
        return np.inf
    if not information.stays:
        return float(np.sqrt(ratio))
    if not isinstance(information, GatheredInformation) or information.noise is None:
        return np.inf
    names = books.who(books.names.of(ids_of(leak)), state)
    if len(np.unique(names)) < len(names):
        # Of two ids of one person it is not known how they fall together.
        return np.inf
    name = what.removeprefix("attribute ")
    spent = books.found(names, state.balances).column(what)
    left = np.maximum(books.most[what] * (1 + SLACK) - spent, 0.0)

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
