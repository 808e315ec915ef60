"""What each layer of an update carries about each person, before any noise.

Layer l of a person's clipped gradient is g_l = c(|grad|) grad_l, the norm being that of all layers. When the person's
values move along w, with s = |grad|, p = grad . grad' and u = c'(s) p/s,

    g_l' = c grad_l' + u grad_l,     |g_l'|^2 = c^2 |grad_l'|^2 + 2 c u grad_l . grad_l' + u^2 |grad_l|^2,

whose mean over random signs w is the layer's share of the information, in units of the noise: the shares of all layers
add up to that of the update.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.autograd import forward_ad

from seepage._errors import InputError, UnsupportedError
from seepage._tables import Array
from seepage.federated._training import LocalTraining
from seepage.network import _layers
from seepage.network._clipping import Clipping, clipping_of
from seepage.network._losses import Loss, per_example
from seepage.network._susceptibility import squared_norms
from seepage.network._tangents import Carrier, Products
from seepage.network._updates import Update

Tensor = torch.Tensor
Examples = tuple[Tensor, Tensor]

_BATCH = 256
# In which the weights are followed to where training without noise would lead.
_STRIDES = 50


@dataclass(frozen=True, eq=False)
class Signal:
    """What the layers of an update carry about each measured person, as if the noise on gradients had size one.

    Attributes
    ----------
    layers : tuple of str
        Their names.
    information : array of shape (people measured for it, layers)
        Trace of the Fisher information per private value: the square of dFIL.
    susceptibility : array of shape (people measured for it, layers)
        Norm of the derivative of the squared gradient in the person's values.
    """

    layers: tuple[str, ...]
    information: Array
    susceptibility: Array


def measure(
    model: nn.Module,
    loss: Loss,
    weights: Iterable[Mapping[str, Tensor]],
    people: Mapping[str, Examples],
    training: LocalTraining,
    *,
    of: int,
    probes: int,
    generator: torch.Generator,
) -> Signal:
    """Measure people at the given weights, whose mean stands for the round.

    Parameters
    ----------
    people : mapping from "dfil" and "susceptibility" to examples and labels
        Whom to measure each for.
    of : int
        How many people take part in the round.
    """
    _layers.check(model)
    for x, y in people.values():
        _check(x, y)
    rule = None if training.max_grad_norm is None else clipping_of("hard", training.max_grad_norm)
    layers = tuple(name for name, _ in _layers.units(model))
    information, susceptibility = [], []
    for state in weights:
        model.load_state_dict(dict(state))
        if not _layers.is_separable(model, (people["dfil"][0][:_BATCH],), {}):
            raise UnsupportedError("The network's output for an example changes with the others in the batch.")
        carrier = Carrier(model)
        squares = [_information(carrier, loss, *b, rule, layers, probes, generator) for b in _batches(*people["dfil"])]
        slopes = [_susceptibility(model, loss, *b, rule, layers) for b in _batches(*people["susceptibility"])]
        information.append(np.concatenate(squares))
        susceptibility.append(np.concatenate(slopes))
    # In how many of the steps a person who takes part does so: nobody in a fraction of one.
    rounds = math.ceil(training.steps * training.batch_size / of)
    values = float(people["dfil"][0][0].numel())
    return Signal(layers, rounds * np.mean(information, 0) / values, rounds * np.mean(susceptibility, 0))


def _check(x: Tensor, y: Tensor) -> None:
    if not x.is_floating_point():
        raise UnsupportedError("x must be floating-point numbers: what cannot move a little has no derivative.")
    if len(x) == 0 or len(x) != len(y):
        raise InputError(f"The data of a round must be examples and as many labels, not {len(x)} and {len(y)}.")


def _batches(x: Tensor, y: Tensor) -> list[Examples]:
    return [(x[start : start + _BATCH], y[start : start + _BATCH]) for start in range(0, len(x), _BATCH)]


def _information(
    carrier: Carrier,
    loss: Loss,
    x: Tensor,
    y: Tensor,
    rule: Clipping | None,
    layers: tuple[str, ...],
    probes: int,
    generator: torch.Generator,
) -> Array:
    """Return the mean over random directions of |g_l'|^2, shape (people, layers)."""
    total = torch.zeros(len(layers), len(x), dtype=torch.float64)
    for _ in range(probes):
        found = Products(len(x))
        carrier.carry(
            lambda network: per_example(loss, network(x), y, len(x)),
            lambda _, values: forward_ad.make_dual(values.detach(), _signs(values, generator)),
            len(x),
            found.measure,
        )
        found.total()
        # A layer that this batch did not use has no gradient.
        nothing = torch.zeros(3, len(x), dtype=torch.float64)
        total += _moved(torch.stack([found.layers.get(name, nothing).cpu() for name in layers]), rule)
    return (total / probes).numpy().T


def _moved(products: Tensor, rule: Clipping | None) -> Tensor:
    """Return |g_l'|^2 from the products of each layer, shape (layers, 3, people)."""
    squared, inner, moving = products.unbind(1)
    if rule is None:
        return moving
    norm = squared.sum(0).sqrt()
    factor = rule.factor(norm)
    turn = torch.where(norm > 0, rule.slope(norm) * inner.sum(0) / norm, torch.zeros_like(norm))
    return (factor**2 * moving + 2 * factor * turn * inner + turn**2 * squared).clamp(min=0.0)


def _susceptibility(
    model: nn.Module, loss: Loss, x: Tensor, y: Tensor, rule: Clipping | None, layers: tuple[str, ...]
) -> Array:
    """Return |d |g_l|^2 / d x|, shape (people, layers)."""
    moved = x.detach().clone().requires_grad_()
    squared = squared_norms(model, loss, moved, y)
    if rule is not None:
        total = torch.stack(list(squared.values())).sum(0)
        factor = rule.factor(total.clamp(min=torch.finfo(total.dtype).tiny).sqrt()) ** 2
        squared = {name: factor * value for name, value in squared.items()}
    found = np.zeros((len(x), len(layers)))
    for place, name in enumerate(layers):
        if name in squared:
            (slope,) = torch.autograd.grad(squared[name].sum(), moved, retain_graph=True)
            found[:, place] = torch.linalg.vector_norm(slope.flatten(1).double(), dim=1).cpu().numpy()
    return found


def _signs(values: Tensor, generator: torch.Generator) -> Tensor:
    bits = torch.randint(0, 2, values.shape, generator=generator, dtype=torch.int8)
    return bits.to(values.device, values.dtype).mul_(2).sub_(1)


def parameters_of(model: nn.Module) -> dict[str, tuple[str, ...]]:
    """Return the names of the trained parameters of each layer, as a state dict has them."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {
        layer: tuple(names[id(p)] for p in unit.parameters() if p.requires_grad and id(p) in names)
        for layer, unit in _layers.units(model)
    }


def expected_move(
    model: nn.Module,
    loss: Loss,
    state: Mapping[str, Tensor],
    examples: Examples,
    training: LocalTraining,
    generator: torch.Generator,
) -> dict[str, NDArray[np.float64]]:
    """Return about how far the stated training moves each weight without noise.

    In a few strides instead of many steps, each over as many people as make chance small: no dearer than training.
    """
    if training.learning_rate is None or training.noise_scale == 0:
        return {}
    model.load_state_dict(dict(state))
    strides = min(training.steps, _STRIDES)
    length = training.learning_rate * training.steps / strides
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    for _ in range(strides):
        some = some_of(examples, max(_BATCH, 4 * training.batch_size), generator)
        found = Update(max_grad_norm=training.max_grad_norm).of(model, loss, *some)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name in found:
                    parameter.sub_(length * found[name])
    return {name: (start[name] - p.detach()).double().cpu().numpy() for name, p in model.named_parameters()}


def some_of(examples: Examples, people: int | None, generator: torch.Generator) -> Examples:
    """Return so many people at random; all of them if None."""
    x, y = examples
    if people is None or people >= len(x):
        return x, y
    chosen = torch.randperm(len(x), generator=generator)[:people]
    return x[chosen], y[chosen]
