"""Amounts as people read them: bytes, seconds, and numbers of a few digits, or on a grid, that err on the safe side."""

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


def up_to_grid(value: float) -> float:
    """Return the smallest of 1, 2 and 5 times powers of ten that is not below a positive number.

    A grid that is fixed before the data are seen: of what the digits of the number would tell about somebody, nothing
    is left but which of its points it came to.
    """
    if value <= 0 or not isfinite(value):
        return value
    exact = _snapped(value)
    decade = exact.adjusted()
    steps = (Decimal(digit).scaleb(decade) for digit in (1, 2, 5, 10))
    return float(next(step for step in steps if step >= exact))


def on_grid(value: float) -> bool:
    """Return whether a number is on the grid; 0.1 * 2, whatever its last bit is, is 0.2."""
    return value > 0 and isfinite(value) and Decimal(repr(up_to_grid(value))) == _snapped(value)


def _snapped(value: float) -> Decimal:
    """Return a number without the digits that arithmetic leaves behind."""
    return Decimal(repr(rounded(value, 12, "near")))


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
