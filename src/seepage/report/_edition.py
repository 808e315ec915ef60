"""Who a report is for, and so what it may say.

The publishable edition keeps to one rule, from which the rest follows: apart from counts, which are rounded, every
number in it is a mean over at least `smallest_group` people, and the `smallest_group` most exposed people of whom it
speaks enter none. Whatever one extreme person's values are, they change nothing.
"""

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Literal, get_args

import numpy as np

from seepage._errors import InputError
from seepage.leakage import Distribution

EditionName = Literal["internal", "publishable"]

# Shares of people that a reader can picture; the last that enough people are beyond is shown.
_SHARES = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)


@dataclass(frozen=True)
class Edition:
    """What may be said, and how finely."""

    name: EditionName
    smallest_group: int

    def __post_init__(self) -> None:
        if self.name not in get_args(EditionName):
            raise InputError(f'edition must be "internal" or "publishable", not {self.name!r}.')
        if self.smallest_group < 2:
            raise InputError(f"smallest_group must be at least 2, not {self.smallest_group!r}: one person is no group.")

    @property
    def is_public(self) -> bool:
        return self.name == "publishable"

    @property
    def digits(self) -> int:
        """How many significant digits a value has."""
        return 2 if self.is_public else 3

    def shares(self, count: int) -> tuple[float, ...]:
        """Return the shares of people for whom something is said: half, most, and as many as may be."""
        if not self.is_public:
            return (0.5, 0.95, 1.0)
        supported = [share for share in _SHARES if self._last(share, count) is not None]
        return tuple(share for share in supported if share in (0.5, 0.95, supported[-1]))

    def widest(self, count: int) -> float:
        """Return the largest share of people for whom something may be said."""
        return max(self.shares(count), default=0.5)

    def rounded_count(self, count: int) -> int:
        """Return a count, in steps of the smallest group where one more or less would tell of one person."""
        step = self.smallest_group
        return step * round(count / step) if self.is_public else count

    def at_most(self, values: Distribution, share: float) -> float | None:
        """Return a value that at least this share of people do not exceed; None if too few people are beyond."""
        last = self._last(share, values.count)
        if last is None:
            return None
        first = _rank(share, values.count)
        known = values.ranked(np.arange(first, last + 1, dtype=np.float64))
        # The sketch is within its error of the truth; the largest value is exact.
        slack = 1.0 if first == values.count - 1 else 1.0 + values.relative_error
        return float(known.mean()) * slack

    def middle(self, values: Distribution, share: float) -> float | None:
        """Return a quantile as it is, neither above nor below; None if too few people are beyond."""
        rank, reach = _rank(share, values.count), self.smallest_group // 2 if self.is_public else 0
        first, last = rank - reach, rank + reach
        if min(first, values.count - 1 - last) < (self.smallest_group if self.is_public else 0):
            return None
        return float(values.ranked(np.arange(first, last + 1, dtype=np.float64)).mean())

    def _last(self, share: float, count: int) -> int | None:
        """Return the last rank of the mean that stands for a quantile, the first being the quantile's own."""
        first = _rank(share, count)
        if not self.is_public:
            return first
        # As many again are more exposed than anybody in the mean.
        last = first + self.smallest_group - 1
        return last if last + self.smallest_group <= count - 1 else None

    def near(self, value: float) -> float:
        """Round to the digits of this edition."""
        return _to_digits(value, self.digits, round)

    def up(self, value: float) -> float:
        """Round to the digits of this edition, away from zero: for what is at most so large."""
        return _to_digits(value, self.digits, ceil)

    def down(self, value: float) -> float:
        """Round to the digits of this edition, towards zero: for what is at least so large."""
        return _to_digits(value, self.digits, floor)


def _rank(share: float, count: int) -> int:
    return max(ceil(share * count * (1 - 1e-12)) - 1, 0)


def _to_digits(value: float, digits: int, whole: object) -> float:
    if value == 0 or not np.isfinite(value):
        return value
    places = digits - 1 - floor(log10(abs(value)))
    scaled = value * 10.0**places
    nearest = round(scaled)
    # What is a round number but for its last bits stays that number.
    kept = nearest if abs(scaled - nearest) < 1e-9 * abs(scaled) else whole(scaled)  # type: ignore[operator]
    return float(f"{kept / 10.0**places:.{digits}g}")
