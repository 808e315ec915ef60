"""How a client turns the records of its people into an update."""

import math
from dataclasses import dataclass

from seepage.errors import InputError


@dataclass(frozen=True, kw_only=True)
class LocalTraining:
    """What a client does between receiving weights and sending its own.

    Each local step takes the gradients of a batch of people, clips each to `max_grad_norm`, adds them up, adds Gaussian
    noise of standard deviation ``noise_multiplier * max_grad_norm``, divides by `batch_size` and moves the weights.

    Parameters
    ----------
    steps : int
        Local steps a round.
    batch_size : int
        People in a step (expected, if drawn by Poisson sampling): what the sum of gradients is divided by.
    max_grad_norm : float or None
        The norm that each person's gradient is clipped to; None if it is not.
    noise_multiplier : float
        The noise on the sum, in units of `max_grad_norm`; 0 for none.
    learning_rate : float or None
        Of plain gradient descent. None for any other optimizer: what a round gives away is then measured all the same,
        but noise cannot be added to the finished update to meet a limit, nor its presence be checked.

    Examples
    --------
    >>> import seepage
    >>> private = seepage.federated.LocalTraining(
    ...     steps=20, batch_size=50, max_grad_norm=1.0, noise_multiplier=1.0, learning_rate=0.5
    ... )
    >>> private.noise_scale
    1.0
    """

    steps: int
    batch_size: int
    max_grad_norm: float | None
    noise_multiplier: float
    learning_rate: float | None

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size"):
            value = getattr(self, name)
            if not (isinstance(value, int) and value > 0):
                raise InputError(f"{name} must be a positive whole number, not {value!r}.")
        for name in ("max_grad_norm", "learning_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"{name} must be a positive number or None, not {value!r}.")
        if not 0 <= self.noise_multiplier < math.inf:
            raise InputError(f"noise_multiplier must be 0 or a positive number, not {self.noise_multiplier!r}.")
        if self.noise_multiplier > 0 and self.max_grad_norm is None:
            raise InputError(
                "noise_multiplier is in units of max_grad_norm, which is None: give the norm that gradients are "
                "clipped to."
            )

    @property
    def noise_scale(self) -> float:
        """The standard deviation of the noise on each step's sum of gradients."""
        return self.noise_multiplier * (self.max_grad_norm or 0.0)

    @property
    def stride(self) -> float | None:
        """How far independent noise of size one on every step's sum of gradients moves the weights in a round.

        Steps of rate r add r/B times their noise, and T of them add up to sqrt(T) r/B. Noise of size e on the finished
        update therefore counts like noise of size e/stride on each step's sum.
        """
        if self.learning_rate is None:
            return None
        return math.sqrt(self.steps) * self.learning_rate / self.batch_size
