"""How exactly numbers are printed: what an attacker can count."""

from dataclasses import dataclass

import numpy as np

from seepage._tables import Array
from seepage.attackers._printed import Printed
from seepage.errors import InputError

# A normal variable in steps of delta standard deviations has this entropy over delta, in bits: sqrt(2 pi e).
_NORMAL = 4.13
# By rule, numbers are printed to a tenth of their standard error.
_RULE = 0.1
# A number of so many steps has the digits that computers hold, and nobody rounded it.
_ALL = 1e13


@dataclass(frozen=True, eq=False)
class Digits:
    """The step in which each number is printed."""

    steps: Array
    rule: str
    """How that was said."""
    exact: bool = False
    """Whether all digits that a computer holds were given."""

    @classmethod
    def of(cls, digits: int | str | None, printed: Printed, written: int | None = None) -> "Digits":
        """Return the steps of numbers, given decimals, significant digits, or the rule; of counts it is one.

        Parameters
        ----------
        digits : int, str or None
            Decimals; "3 significant"; or None for multiples of 1, 2 or 5 of at least a tenth of a standard error.
        printed : Printed
            The numbers.
        written : int, optional
            The decimals of a table that was given, which stand for `digits` where nobody says.
        """
        steps, rule = cls._steps(written if digits is None else digits, printed.values, printed.sampling)
        shown = np.where(printed.whole, 1.0, steps)
        if digits is None and written is None:
            return cls(shown, rule)
        if digits is None:
            rule += " as in the table that was given, unless digits= says otherwise"
        return cls(shown, rule, bool((np.abs(printed.values) > _ALL * steps)[~printed.whole].any()))

    @staticmethod
    def _steps(digits: int | str | None, values: Array, sampling: Array) -> tuple[Array, str]:
        if digits is None:
            return _round_up(_RULE * sampling), "printed to a tenth of a standard error"
        if isinstance(digits, str):
            count, _, word = digits.partition(" ")
            if not count.isdigit() or word != "significant" or int(count) < 1:
                raise InputError(f'digits is a number of decimals or such as "3 significant", not {digits!r}.')
            size = np.floor(np.log10(np.maximum(np.abs(values), 1e-300)))
            return 10.0 ** (size - int(count) + 1), f"printed to {count} significant digits"
        if isinstance(digits, bool) or not isinstance(digits, int):
            raise InputError(f'digits is a number of decimals or such as "3 significant", not {digits!r}.')
        return np.full(len(values), 10.0**-digits), f"printed to {digits} decimals"

    def printed(self, values: Array) -> Array:
        """Return the numbers as they are printed."""
        return np.asarray(np.round(values / self.steps) * self.steps)

    def bits(self, sampling: Array) -> float:
        """Return how many bits all of the numbers are (B of condition 3)."""
        with np.errstate(divide="ignore"):
            each = np.log2(_NORMAL * sampling / self.steps)
        return float(np.maximum(each[sampling > 0], 0.0).sum())


def _round_up(sizes: Array) -> Array:
    """Return the smallest 1, 2 or 5 times a power of ten that is not below each size."""
    power = 10.0 ** np.floor(np.log10(np.maximum(sizes, 1e-300)))
    times = sizes / power
    return np.asarray(power * np.select([times <= 1 + 1e-12, times <= 2, times <= 5], [1.0, 2.0, 5.0], 10.0))
