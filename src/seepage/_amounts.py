"""Amounts as people read them: bytes, seconds, and numbers of a few digits that err on the safe side."""

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_UP, Decimal
from math import isfinite
from typing import Literal

_WAYS = {"near": ROUND_HALF_EVEN, "up": ROUND_UP, "down": ROUND_DOWN}


def rounded(value: float, digits: int, way: Literal["near", "up", "down"]) -> float:
    """Return a number of a few digits: the nearest, or one that is not below (not above) in size."""
    if value == 0 or not isfinite(value):
        return value
    exact = Decimal(repr(float(value)))
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=_WAYS[way]))


def size(count: float) -> str:
    """Return a number of bytes in words."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            break
        count /= 1000
    return f"{count:.3g} {unit}"


def clock(seconds: float) -> str:
    """Return a time as a clock shows it, hours only if there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
