"""Privacy loss over the whole of training, and who is left out of a step before theirs grows too large.

Given the weights, a step publishes about person i the gradient g_i with noise of scale s: a privacy loss of |g_i|^2 /
s^2 (eq. 9.1). Losses of steps add up (eq. 9.3), also where each step depends on what the ones before published, if
whoever would exceed their limit is left out of the step (Feldman and Zrnic 2021). So do their derivatives in the
person's values, the weights being given.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from seepage.errors import InputError
from seepage.network._losses import Loss
from seepage.network._susceptibility import Susceptibility, susceptibility

Tensor = torch.Tensor
Array = NDArray[np.float64]


class PrivacyLossFilter:
    """Add up each person's privacy loss over training, and say before each step who may take part.

    For steps in which everybody who may does take part: there is no credit for sampling. What it knows is personal
    data.

    Parameters
    ----------
    model, loss
        The network that is trained, and its loss.
    x, y : tensors
        The people: examples, and their labels.
    noise_scale : float
        The standard deviation of the noise on the sum of gradients.
    max_grad_norm : float or None
        The norm that gradients are clipped to; None if they are not.
    clipping : {"hard", "smooth"}, default="smooth"
        How they are clipped.
    privacy_loss : float, default=inf
        Nobody's privacy loss over all steps exceeds this: ``|g|^2 / noise_scale^2``, added up. Renyi differential
        privacy of order a is then a/2 times it.
    susceptibility : float, default=inf
        Whoever's susceptibility in a step (the norm of the derivative of that step's privacy loss) exceeds this is left
        out of the step. A rule of thumb for atypical people, which promises nothing by itself.
    batch_size : int, default=256
        People at once: memory only.

    Examples
    --------
    >>> import seepage.network
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> model, loss = torch.nn.Linear(3, 1), torch.nn.MSELoss()
    >>> x, y = torch.randn(50, 3), torch.randn(50, 1)
    >>> limits = seepage.network.PrivacyLossFilter(
    ...     model, loss, x, y, noise_scale=2.0, max_grad_norm=1.0, privacy_loss=1.0
    ... )
    >>> counts = [int(limits.admit().sum()) for _ in range(10)]  # before each step; train with those who are admitted
    >>> counts[0], counts[-1] < 50, bool(limits.privacy_loss.max() <= 1.0)
    (50, True, True)
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        x: Tensor,
        y: Tensor,
        *,
        noise_scale: float,
        max_grad_norm: float | None,
        clipping: str = "smooth",
        privacy_loss: float = float("inf"),
        susceptibility: float = float("inf"),
        batch_size: int = 256,
    ) -> None:
        if noise_scale is None:
            raise InputError("noise_scale must be a positive number: without noise every privacy loss is infinite.")
        for name, value in (("privacy_loss", privacy_loss), ("susceptibility", susceptibility)):
            if not value > 0:
                raise InputError(f"{name} must be a positive limit, not {value!r}.")
        self.model, self.loss, self.x, self.y = model, loss, x, y
        self.noise_scale, self.max_grad_norm, self.clipping = noise_scale, max_grad_norm, clipping
        self.limit, self.most_susceptible, self.batch_size = privacy_loss, susceptibility, batch_size
        self.steps = 0
        """The steps that people were admitted to."""
        self.privacy_loss: Array = np.zeros(len(x))
        """Of each person, over the steps that they were admitted to."""
        self._values: Array = np.zeros(tuple(x.shape))

    def admit(self) -> NDArray[np.bool_]:
        """Return who may take part in the next step, at the weights of the moment, and count it for them."""
        found = susceptibility(
            self.model,
            self.loss,
            self.x,
            self.y,
            noise_scale=self.noise_scale,
            max_grad_norm=self.max_grad_norm,
            clipping=self.clipping,
            batch_size=self.batch_size,
        )
        after = self.privacy_loss + found.privacy_loss
        admitted = (after <= self.limit) & (found.norm() <= self.most_susceptible)
        self.privacy_loss = np.where(admitted, after, self.privacy_loss)
        self._values[admitted] += found.values[admitted]
        self.steps += 1
        return np.asarray(admitted)

    @property
    def susceptibility(self) -> Susceptibility:
        """What drives each person's privacy loss over all steps so far, the weights of each step being given."""
        return Susceptibility(self._values.copy(), self.privacy_loss.copy(), self.noise_scale, self.max_grad_norm)

    def __repr__(self) -> str:
        return f"PrivacyLossFilter({len(self.x)} people, {self.steps} steps, largest {self.privacy_loss.max():.3g})"
