"""Privacy loss-input susceptibility: which values of an input drive what its gradient gives away.

The privacy loss of an example is PL = |g|^2 / s^2, g being its gradient as published and s the noise on it. Its
susceptibility is d PL / d x, one number for each value of the input (eq. 9.1; Mueller et al. 2022).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils import _pytree as pytree

from seepage._tables import Frame, frame
from seepage.errors import InputError, UnsupportedError
from seepage.network import _ghost, _layers
from seepage.network._clipping import clipping_of
from seepage.network._composites import Composites
from seepage.network._ghost import Call
from seepage.network._losses import Loss, check_shares, per_example
from seepage.network._twin import twin

Array = NDArray[np.float64]
Tensor = torch.Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Susceptibility:
    """What drives the privacy loss of each example.

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
    values, losses = [], []
    for start in range(0, len(x), batch_size):
        some = slice(start, start + batch_size)
        moved = x[some].detach().clone().requires_grad_()
        squared = _squared_norms(model, loss, moved, y[some])
        if rule is not None:
            # Away from the kink at zero, where a gradient and its susceptibility vanish together.
            norm = squared.clamp(min=torch.finfo(squared.dtype).tiny).sqrt()
            squared = squared * rule.factor(norm) ** 2
        scaled = squared if noise_scale is None else squared / noise_scale**2
        (found,) = torch.autograd.grad(scaled.sum(), moved)
        values.append(found.detach())
        losses.append(scaled.detach())
    return Susceptibility(
        torch.cat(values).double().cpu().numpy(), torch.cat(losses).double().cpu().numpy(), noise_scale, max_grad_norm
    )


def _squared_norms(model: nn.Module, loss: Loss, x: Tensor, y: Tensor) -> Tensor:
    """Return |grad|^2 of each example, differentiable in the inputs."""
    network = twin(model)
    calls: list[Call] = []
    outputs: list[Tensor] = []
    handles: list[Any] = []

    def tap(name: str, unit: nn.Module) -> None:
        trained = {k: p for k, p in unit.named_parameters() if p.requires_grad}

        def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Tensor) -> None:
            if not any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in pytree.tree_leaves((args, kwargs))):
                _refuse_hidden(name)
            calls.append(Call(name, unit, trained, args, kwargs, [None] * (len(args) + len(kwargs))))
            outputs.append(output)

        handles.append(unit.register_forward_hook(hook, with_kwargs=True))

    for name, unit in list(_layers.units(network)):
        tap(name, unit)
    network.requires_grad_(False)
    with torch.enable_grad(), Composites() as composites:
        output = network(x)
        with torch.no_grad():
            check_shares(loss, output, y, len(x))
        losses = per_example(loss, output, y, len(x))
        for handle in handles:
            handle.remove()
        if composites.detached:
            _refuse_hidden("")
        backs = torch.autograd.grad(losses.sum(), outputs, create_graph=True)
        uses: dict[tuple[int, ...], list[tuple[Call, Tensor]]] = {}
        for call, back in zip(calls, backs, strict=True):
            uses.setdefault(tuple(id(p) for p in call.parameters.values()), []).append((call, back))
        counted = Counter(place for key in uses for place in key)
        found = []
        for key, several in uses.items():
            call, back = several[0]
            if max(counted[place] for place in key) > 1 or (len(several) > 1 and not _layers.is_linear(call.unit)):
                raise UnsupportedError(
                    f"The layer {call.name!r} shares a part of its parameters, or is used more than once and is not "
                    "linear; susceptibility needs such parameters used once."
                )
            if len(several) > 1:
                call = _ghost.joined([use for use, _ in several])
                back = _ghost.over_positions([(b, b) for _, b in several])[0]
            found.append(_ghost.squared_norm(call, back))
        return torch.stack(found).sum(0)


def _refuse_hidden(name: str) -> None:
    raise UnsupportedError(
        f"The network hides its input from derivatives{f' before the layer {name!r}' if name else ''} (detach, .data, "
        "no_grad): how the gradient moves with it cannot be followed backwards. FisherAccountant can, forwards."
    )
