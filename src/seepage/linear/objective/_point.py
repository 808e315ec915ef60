"""The objective with its penalty, and what is held still: sums over rows become something to take a step from."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from seepage._tables import Array
from seepage.linear.objective._sums import NewtonSums


@dataclass(frozen=True, eq=False)
class Point:
    """The objective (eq. 2.1) with its two derivatives at a position."""

    sums: NewtonSums
    """Its part that is of rows."""
    value: float
    gradient: Array
    """Shape (q, outputs)."""
    hessian: Array
    """Shape (outputs * q, outputs * q), output by output."""

    @classmethod
    def of(
        cls,
        sums: NewtonSums,
        position: Array,
        penalty: Array,
        *,
        axes: Array | None = None,
        push: Array | float = 0.0,
        free: NDArray[np.bool_] | None = None,
    ) -> "Point":
        """Add a penalty to sums over rows.

        Parameters
        ----------
        sums : NewtonSums
        position : ndarray of shape (q, outputs)
        penalty : ndarray of shape (p, outputs)
            P, the factor on half of each square.
        axes : ndarray of shape (p, q), optional
            Those of the frame that the position is in.
        push : ndarray of shape (p, outputs), optional
            What penalties on absolute values add to the gradient while no sign changes.
        free : ndarray of bool, shape (p, outputs), optional
            Which parameters move, in a frame without axes, if not all do.
        """
        plain = position if axes is None else axes @ position
        value = sums.value + float(((0.5 * penalty * plain + push) * plain).sum())
        pull = penalty * plain + push
        gradient = sums.gradient + (pull if axes is None else axes.T @ pull)
        return cls(sums, value, *held_still(gradient, sums.hessian + penalty_hessian(penalty, axes), free))


def penalty_hessian(penalty: Array, axes: Array | None) -> Array:
    """Return what a penalty of shape (p, outputs) adds to the Hessian in a frame of some axes."""
    if axes is None:
        return np.diag(penalty.T.ravel())
    return np.asarray(block_diag(*(axes.T @ (column[:, None] * axes) for column in penalty.T)))


def held_still(gradient: Array, hessian: Array, free: NDArray[np.bool_] | None) -> tuple[Array, Array]:
    """Return a gradient of shape (p, outputs) and a Hessian by which no parameter moves that is not free."""
    if free is None:
        return gradient, hessian
    flat = free.T.ravel()
    return np.where(free, gradient, 0.0), np.where(np.outer(flat, flat), hessian, np.diag(~flat))
