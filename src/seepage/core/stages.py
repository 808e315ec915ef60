"""Stages: everything that is fitted to rows, one after the other.

Each stage is a vector t, and an equation that its terms over the rows, and a constant, satisfy (eq. 1.7):

    Sum     t = sum_i s(t, z_i) + c(t)      a mean, a variance, a filled cell, a Hessian, a dispersion, a cell's total
    Root    0 = sum_i s(t, z_i) + c(t)      coefficients, and whatever else solves estimating equations

Terms and constants are functions written in NumPy; dual numbers differentiate them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Values = Mapping[str, Any]
"""Arrays by name: the stages' values, or the columns of a batch of rows."""


@dataclass(frozen=True)
class Sum:
    """A sum over the rows; its terms depend on the stages before it.

    Attributes
    ----------
    name : str
    terms : callable
        Of the stages' values and of a batch of rows: one vector a row, shape (n, size).
    constant : callable, optional
        Of the stages' values: a vector that no row decides.
    """

    name: str
    terms: Callable[[Values, Values], Any]
    constant: Callable[[Values], Any] | None = None


@dataclass(frozen=True)
class Root(Sum):
    """A root of a sum over the rows; its terms depend on the root, and on the stages before it.

    Attributes
    ----------
    start : array
        Where Newton's method begins.
    """

    start: Any = None


class Rows:
    """Batches of rows.

    Parameters
    ----------
    batches : callable
        Returns an iterator over batches: arrays by name, of equal length.
    """

    def __init__(self, batches: Callable[[], Iterator[Values]]) -> None:
        self.batches: Final = batches

    @classmethod
    def of(cls, size: int = 4096, **columns: Any) -> "Rows":
        """Return rows in memory, in batches of `size`."""
        arrays = {name: np.asarray(column) for name, column in columns.items()}
        count = len(next(iter(arrays.values())))

        def batches() -> Iterator[Values]:
            for start in range(0, count, size):
                yield {name: array[start : start + size] for name, array in arrays.items()}

        return cls(batches)

    def total(self, of: Callable[[Values], Any]) -> Any:
        """Return the sum of a function over all batches."""
        return sum(map(of, self.batches()))

    def each(self, of: Callable[[Values], Any]) -> Any:
        """Return a function's values for all rows, in their order."""
        return np.concatenate([of(batch) for batch in self.batches()])
