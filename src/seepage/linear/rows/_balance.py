"""Class weights that are balanced by the classes' sizes: they move, for everybody, with any one label."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array


class Rebalanced(NamedTuple):
    """By what weights are multiplied when one record changes its class or leaves; NaN if its class is then gone."""

    factors: Array
    """Of each class, shape (n, classes)."""
    old: Array
    """Of the class that the record was in."""
    new: Array
    """Of the class that it comes into."""


@dataclass(frozen=True, eq=False)
class Balance:
    """How the rows of each class weigh as much as those of any other: by W / (classes * size of the class)."""

    sizes: Array
    """Of the classes: how many rows each has, or the sum of their sample weights."""
    by_weight: bool

    def moved(self, old: NDArray[np.intp], new: int | None, weights: Array | None) -> Rebalanced:
        """Return how weights change with one record's class.

        Parameters
        ----------
        old : ndarray of int, shape (n,)
            The class of each record.
        new : int or None
            The class that it comes into, if it does not leave.
        weights : ndarray of shape (n,), optional
            The sample weights of the records.
        """
        rows = np.arange(len(old))
        size = np.ones(len(old)) if weights is None or not self.by_weight else weights
        sizes = np.tile(self.sizes, (len(old), 1))
        sizes[rows, old] -= size
        if new is not None:
            sizes[:, new] += size
        # What is left of the only row of a class is rounding.
        gone = sizes <= 1e-12 * self.sizes
        total = sizes.sum(axis=1, keepdims=True) / self.sizes.sum()
        with np.errstate(divide="ignore"):
            factors = np.where(gone, np.nan, total * self.sizes / sizes)
        return Rebalanced(factors, factors[rows, old], factors[:, 0 if new is None else new])

    def largest(self, sample_weight: float | None) -> float:
        """Return what eq. 5.9 takes for the largest weight, whatever the labels are.

        A class weighs W / classes, and its share of the gradient is that times a mean over its rows. One record moves
        the means of two classes by no more than the bound on a row each, or that of one by twice as much: as if it
        weighed as much as a class. Where the mean itself is weighted, a record may be all of it in both.

        Parameters
        ----------
        sample_weight : float or None
            The largest, if there are any.
        """
        whole = float(self.sizes.sum() / len(self.sizes))
        if sample_weight is None:
            return whole
        return 2 * whole if self.by_weight else sample_weight * whole
