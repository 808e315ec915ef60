"""What damped Newton steps are made of: equations in units of the diagonal, and as much of a step as goes down."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from seepage._tables import Array

Place = TypeVar("Place")

_MOST_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class UnitFactor:
    """The Cholesky factor of a matrix whose diagonal is scaled to one."""

    unit: Array
    """The scaled matrix, without a shift."""
    scale: Array
    lower: Array

    @classmethod
    def of(cls, matrix: Array, shift: float = 0.0) -> "UnitFactor":
        """Return the factor of a matrix, with a shift of the scaled one; LinAlgError where that is not positive."""
        unit, scale = in_units(matrix)
        return cls(unit, scale, cho_factor(unit + shift * np.eye(len(unit)) if shift else unit, lower=True)[0])

    def solve(self, right: Array) -> Array:
        """Return what the matrix makes the right side of."""
        return np.asarray(self.scale * cho_solve((self.lower, True), self.scale * right))

    def inverse(self) -> Array:
        """Return the inverse of the matrix, symmetric to the last digit."""
        found = self.scale[:, None] * cho_solve((self.lower, True), np.diag(self.scale))
        return np.asarray(0.5 * (found + found.T))


def in_units(matrix: Array, diagonal: Array | None = None) -> tuple[Array, Array]:
    """Return a matrix in units of a diagonal, its own unless another is given, and the scale; zeros stay zero."""
    size = matrix.diagonal() if diagonal is None else diagonal
    scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
    return np.asarray(matrix * scale[:, None] * scale), scale


def descended(
    at: Callable[[Array], tuple[float, Place]], start: Array, target: Array, highest: float, slope: float = 0.0
) -> tuple[Array, Place] | None:
    """Return where a step toward a target, halved as often as it takes, is low enough; None if it is nowhere.

    Parameters
    ----------
    at : callable
        Returns the objective somewhere, and whatever else the caller wants to keep of that place.
    start, target : ndarray
        A whole step ends at the target to the last digit.
    highest : float
        What is low enough beside the start.
    slope : float, default=0.0
        How much lower it must be after a whole step, below zero; after a share of it, by that share.
    """
    share, there = 1.0, target
    for _ in range(_MOST_HALVINGS):
        value, place = at(there)
        if value <= highest + share * slope:
            return there, place
        # The step overshot, or left where the objective is defined.
        share *= 0.5
        there = start + share * (target - start)
    return None
