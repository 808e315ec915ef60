"""Rounding of the internal edition: three digits, on the safe side."""

from math import ceil

import numpy as np

from seepage._amounts import rounded
from seepage.leakage import Distribution
from seepage.pages import NOTHING, Item, number, percent

SHARES = (0.5, 0.95, 1.0)
"""The shares of people in the tables of the internal edition."""
_DIGITS = 3


def at_most(values: Distribution, share: float) -> float:
    """Return a value that at least this share of people do not exceed."""
    rank = _rank(share, values.count)
    # The sketch is within its error of the truth; the largest value is exact.
    slack = 1.0 if rank == values.count - 1 else 1.0 + values.relative_error
    return middle(values, share) * slack


def middle(values: Distribution, share: float) -> float:
    """Return a quantile as it is, neither above nor below."""
    return float(values.ranked(np.array([_rank(share, values.count)], dtype=np.float64))[0])


def near(value: float) -> float:
    """Round to the nearest."""
    return rounded(_without_last_bits(value), _DIGITS, "near")


def up(value: float) -> float:
    """Round away from zero: for an upper limit."""
    return rounded(_without_last_bits(value), _DIGITS, "up")


def down(value: float) -> float:
    """Round towards zero: for a lower limit."""
    return rounded(_without_last_bits(value), _DIGITS, "down")


def down_to_percent(share: float) -> float:
    """Round a share down to a percent."""
    return float(np.floor(100 * share + 1e-9) / 100)


def up_to_percent(share: float) -> float:
    """Round a share up to a percent."""
    return round(1 - down_to_percent(1 - share), 4)


def plain(value: float | None) -> Item:
    """Return a number as a cell."""
    return Item(NOTHING) if value is None else Item(number(value), value)


def error(value: float | None) -> Item:
    """Return an error as a cell, such as "± 6"."""
    return Item("no limit") if value is None else Item(f"± {number(value)}", value)


def rate(value: float, sign: str = "") -> Item:
    """Return a share as a cell, such as "≈ 60%"."""
    return Item(f"{sign}{percent(value)}", value)


def _rank(share: float, count: int) -> int:
    return max(ceil(share * count * (1 - 1e-12)) - 1, 0)


def _without_last_bits(value: float) -> float:
    """Return the number that a computation meant: a floor of 5 is not written 4.99 for its last bits."""
    return float(f"{value:.10g}")
