"""Guess some values of a person from the noisy gradients of private training."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LeastSquares:
    """Take the values whose clipped gradients are nearest to what was published, over all steps together.

    The attacker knows the weights of every step, everybody else, who takes part, and all of a person's records but
    these values. No unbiased guess is better where noise is little, so that the floor is reached.

    Parameters
    ----------
    values : sequence of int
        Which values of each record are not known, by their place in the flattened input.

    Examples
    --------
    >>> import seepage
    >>> seepage.attacks.LeastSquares(values=[0, 2])
    LeastSquares(values=[0, 2])
    """

    values: Sequence[int]
