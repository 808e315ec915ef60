"""Privacy loss-input susceptibility: which values of an input drive what its gradient gives away.

The privacy loss of an example is PL = |g|^2 / s^2, g being its gradient as published and s the noise on it. Its
susceptibility is d PL / d x, one number for each value of the input (eq. 9.1; Mueller et al. 2022). Losses of steps
add up (eq. 9.3), even if a step depends on the ones before, provided that people who would exceed their limit are left
out of it (Feldman and Zrnic 2021). So do their derivatives in a person's values, the weights being given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.func import functional_call, grad, grad_and_value, vmap

from seepage._tables import Frame, frame
from seepage.errors import InputError, UnsupportedError
from seepage.meaning import check_delta
from seepage.network import _layers
from seepage.network._amplification import ORDERS, epsilons
from seepage.network._clipping import clipping_of
from seepage.network._composites import Composites
from seepage.network._losses import Loss, check_shares, per_example
from seepage.network._twin import twin

Array = NDArray[np.float64]
Tensor = torch.Tensor
# Gradients of this many numbers exist at once.
_SCRATCH = 2**24


@dataclass(frozen=True, eq=False, repr=False)
class Susceptibility:
    """The derivative of each example's privacy loss in its values.

    It names individuals: secret sampling earns no credit here, and the values are personal data.

    Attributes
    ----------
    values : array of the shape of x
        The derivative of each example's privacy loss in each of its values.
    privacy_loss : array of shape (n,)
        The squared norm of each example's gradient, in units of the noise; without noise, of the gradient itself (the
        gradient signal).
    """

    values: Array
    privacy_loss: Array
    noise_scale: float | None
    max_grad_norm: float | None

    def norm(self, subset: Any = None, *, spectral: bool = False) -> Array:
        """Return the susceptibility of each example as a whole, or of a part of it.

        Parameters
        ----------
        subset : boolean array of the shape of one example, or list of columns, optional
            The values that count; all by default.
        spectral : bool, default=False
            Of images, the largest singular value of the map, which is what the paper takes, in place of the root of
            the sum of squares. Channels stand on top of each other.
        """
        if spectral:
            return self._largest_singular_value(subset)
        flat = self.values.reshape(len(self.values), -1)
        if subset is not None:
            chosen = np.asarray(subset)
            if chosen.dtype == np.bool_ and chosen.shape != self.values.shape[1:]:
                raise InputError(
                    f"subset has shape {chosen.shape}, but one example's values have shape {self.values.shape[1:]}."
                )
            flat = flat[:, chosen.ravel()]
        return np.linalg.norm(flat, axis=1)

    def _largest_singular_value(self, subset: Any) -> Array:
        if self.values.ndim < 3:
            raise InputError(f"A singular value is that of an image, not of values of shape {self.values.shape[1:]}.")
        maps = self.values
        if subset is not None:
            chosen = np.asarray(subset)
            if chosen.dtype != np.bool_ or chosen.shape != maps.shape[1:]:
                raise InputError(
                    f"subset must be a mask of shape {maps.shape[1:]} here, not {chosen.dtype} of {chosen.shape}."
                )
            maps = np.where(chosen, maps, 0.0)
        return np.linalg.norm(maps.reshape(len(maps), -1, maps.shape[-1]), ord=2, axis=(1, 2))

    def ranking(self, names: Sequence[str] | None = None) -> Frame:
        """Return the columns of a table by how much they drive the privacy loss: the root mean square over examples."""
        if self.values.ndim != 2:
            raise InputError(f"A ranking is for rows of a table, not for inputs of shape {self.values.shape[1:]}.")
        if names is None:
            names = [f"x{i}" for i in range(self.values.shape[1])]
        if len(names) != self.values.shape[1]:
            raise InputError(f"{len(names)} names were given for {self.values.shape[1]} columns.")
        size = np.sqrt((self.values**2).mean(0))
        order = np.argsort(-size)
        from importlib.util import find_spec

        columns = {"attribute": [names[i] for i in order], "susceptibility": size[order]}
        return frame(columns, "pandas" if find_spec("pandas") else "pyarrow")

    def __repr__(self) -> str:
        kind = "gradient signal" if self.noise_scale is None else "privacy loss"
        return f"Susceptibility({len(self.values)} examples of shape {self.values.shape[1:]}, of the {kind})"


def susceptibility(
    model: nn.Module,
    loss: Loss,
    x: Tensor,
    y: Tensor,
    *,
    noise_scale: float | None,
    max_grad_norm: float | None,
    clipping: str = "smooth",
    batch_size: int = 256,
) -> Susceptibility:
    """Return how the privacy loss of each example answers to each of its values.

    Parameters
    ----------
    model, loss
        The network, and the loss it is trained with.
    x, y : tensors
        Examples, and their labels.
    noise_scale : float or None
        The standard deviation of the noise on the sum of gradients (``noise_multiplier * max_grad_norm`` of Opacus).
        None without noise: then of the gradient signal.
    max_grad_norm : float or None
        The norm that gradients are clipped to; None if they are not.
    clipping : {"hard", "smooth"}, default="smooth"
        How they are clipped. Hard clipping, which is what Opacus does, gives everybody whose gradient is longer than
        `max_grad_norm` the same privacy loss, whatever their values: their susceptibility is nearly zero, and says
        nothing. The paper asks for a smooth one.
    batch_size : int, default=256
        Examples at once: memory only.

    Examples
    --------
    >>> import seepage.network
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Linear(3, 1)
    >>> x, y = torch.randn(50, 3), torch.randn(50, 1)
    >>> found = seepage.network.susceptibility(
    ...     model, torch.nn.MSELoss(), x, y, noise_scale=1.0, max_grad_norm=1.0
    ... )
    >>> found.values.shape
    (50, 3)
    """
    _layers.check(model)
    if noise_scale is not None and not 0 < noise_scale < float("inf"):
        raise InputError(f"noise_scale must be a positive number, or None without noise, not {noise_scale!r}.")
    if not x.is_floating_point():
        raise UnsupportedError("x must be floating-point numbers: what cannot move a little has no susceptibility.")
    rule = None if max_grad_norm is None else clipping_of(clipping, max_grad_norm)
    network = twin(model).requires_grad_(False)
    weights = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}

    def privacy_loss(one: Tensor, label: Tensor) -> Tensor:
        def of_weights(theta: dict[str, Tensor]) -> Tensor:
            output = functional_call(network, theta, (one.unsqueeze(0),))
            return per_example(loss, output, label.unsqueeze(0), 1).sum()

        squared = torch.stack([g.square().sum() for g in grad(of_weights)(weights).values()]).sum()
        if rule is not None:
            # Away from the kink at zero, where a gradient and its susceptibility vanish together.
            squared = squared * rule.factor(squared.clamp(min=torch.finfo(squared.dtype).tiny).sqrt()) ** 2
        return squared if noise_scale is None else squared / noise_scale**2

    values, losses = [], []
    together = max(1, min(batch_size, _SCRATCH // sum(p.numel() for p in weights.values())))
    for start in range(0, len(x), together):
        inputs, labels = x[start : start + together].detach(), y[start : start + together]
        with torch.no_grad():
            check_shares(loss, network(inputs), labels, len(inputs))
        with Composites() as composites:
            slope, value = vmap(grad_and_value(privacy_loss), randomness="different")(inputs, labels)
        if composites.detached:
            raise UnsupportedError(
                "The network hides its input from derivatives (detach, .data, no_grad): how the gradient moves with it "
                "cannot be followed backwards. FisherAccountant can, forwards."
            )
        values.append(slope.detach())
        losses.append(value.detach())
    return Susceptibility(
        torch.cat(values).double().cpu().numpy(), torch.cat(losses).double().cpu().numpy(), noise_scale, max_grad_norm
    )


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

    def epsilon(self, delta: float) -> Array:
        """Return each person's own epsilon of the steps so far, for adding or removing the person: exact accounting.

        Parameters
        ----------
        delta : float
            The delta of each.
        """
        check_delta(delta)
        return epsilons(0.5 * np.asarray(ORDERS) * self.privacy_loss[:, None], delta)

    @property
    def susceptibility(self) -> Susceptibility:
        """The derivative of each person's privacy loss over all steps so far, the weights of each step being given."""
        return Susceptibility(self._values.copy(), self.privacy_loss.copy(), self.noise_scale, self.max_grad_norm)

    def __repr__(self) -> str:
        return f"PrivacyLossFilter({len(self.x)} people, {self.steps} steps, largest {self.privacy_loss.max():.3g})"
