"""What each layer of an update carries about each person, before any noise.

Layer l of a person's clipped gradient is g_l = c(|grad|) grad_l, the norm being that of all layers. When the person's
values move along w, with s = |grad|, p = grad . grad' and u = c'(s) p/s,

    g_l' = c grad_l' + u grad_l,     |g_l'|^2 = c^2 |grad_l'|^2 + 2 c u grad_l . grad_l' + u^2 |grad_l|^2,

whose mean over Gaussian w, or sum over single values w, is the layer's share of the information, in units of the noise:
the shares of all layers add up to that of the update.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.autograd import forward_ad

from seepage._tables import Array
from seepage.errors import InputError, UnsupportedError
from seepage.federated._confidence import factors, looks
from seepage.federated._training import LocalTraining
from seepage.network import _layers
from seepage.network._clipping import Clipping, clipping_of
from seepage.network._losses import Loss, check_shares, per_example
from seepage.network._susceptibility import squared_norms
from seepage.network._tangents import Carrier, Move, Products

Tensor = torch.Tensor
Examples = tuple[Tensor, Tensor]
Settled = Callable[[Array, Array], NDArray[np.bool_]]
"""Given an upper and a lower limit of the information of each person and layer, tell about whom enough is known."""

EXACT = 64
"""The values of a person, at most, each of which is moved by itself; more are moved together, at random."""
_BATCH = 256


@dataclass(frozen=True, eq=False)
class Signal:
    """What the layers of an update carry about each measured person, as if the noise on gradients had size one.

    Attributes
    ----------
    layers : tuple of str
        Their names.
    information : array of shape (people measured for it, layers)
        Trace of the Fisher information per private value: the square of dFIL; exact, or an unbiased estimate.
    upper : array of shape (people measured for it, layers)
        What it is at most, for each person in all but one of a hundred rounds: what limits are held against.
    susceptibility : array of shape (people measured for it, layers)
        Norm of the derivative of the squared gradient in the person's values.
    """

    layers: tuple[str, ...]
    information: Array
    upper: Array
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
    settled: Settled,
    generator: torch.Generator,
) -> Signal:
    """Measure people at the given weights, whose mean stands for the round.

    Parameters
    ----------
    people : mapping from "dfil" and "susceptibility" to examples and labels
        Whom to measure each for.
    of : int
        How many people take part in the round.
    probes : int
        Random directions, at most, for people with more than `EXACT` values.
    settled : callable
        About whom enough is known with fewer.
    """
    _layers.check(model)
    for x, y in people.values():
        _check(x, y)
    rule = None if training.max_grad_norm is None else clipping_of("hard", training.max_grad_norm)
    layers = tuple(name for name, _ in _layers.units(model))
    carriers, susceptibility = [], []
    for state in weights:
        model.load_state_dict(dict(state))
        if not _layers.is_separable(model, (people["dfil"][0][:_BATCH],), {}):
            raise UnsupportedError("The network's output for an example changes with the others in the batch.")
        with torch.no_grad():
            for some, labels in _batches(*people["dfil"]):
                check_shares(loss, model(some), labels, len(some))
        carriers.append(Carrier(model))
        slopes = [_susceptibility(model, loss, *b, rule, layers) for b in _batches(*people["susceptibility"])]
        susceptibility.append(np.concatenate(slopes))
    # In how many of the steps a person who takes part does so: nobody in a fraction of one.
    rounds = math.ceil(training.steps * training.batch_size / of)
    x, y = people["dfil"]
    values = x[0].numel()

    def squares(rows: NDArray[np.int64], moves: Sequence[Move]) -> Array:
        """Return the sum over moves of |g_l'|^2, per value, over the round, of these people."""
        batches = _batches(x[rows], y[rows])
        found = [
            np.concatenate([_squares(carrier, loss, *batch, rule, layers, moves) for batch in batches])
            for carrier in carriers
        ]
        return rounds * np.mean(found, 0) / values

    everyone = np.arange(len(x))
    if values <= EXACT:
        information = squares(everyone, [partial(_single, place) for place in range(values)])
        return Signal(layers, information, information, rounds * np.mean(susceptibility, 0))
    information, upper = _until_settled(squares, everyone, probes, settled, generator)
    return Signal(layers, information, upper, rounds * np.mean(susceptibility, 0))


def _check(x: Tensor, y: Tensor) -> None:
    if not x.is_floating_point():
        raise UnsupportedError("x must be floating-point numbers: what cannot move a little has no derivative.")
    if len(x) == 0 or len(x) != len(y):
        raise InputError(f"The data of a round must be examples and as many labels, not {len(x)} and {len(y)}.")


def _batches(x: Tensor, y: Tensor) -> list[Examples]:
    return [(x[start : start + _BATCH], y[start : start + _BATCH]) for start in range(0, len(x), _BATCH)]


def _until_settled(
    squares: Callable[[NDArray[np.int64], Sequence[Move]], Array],
    everyone: NDArray[np.int64],
    probes: int,
    settled: Settled,
    generator: torch.Generator,
) -> tuple[Array, Array]:
    """Return an unbiased estimate of everybody's information, and an upper limit of it, from random directions."""
    going, taken = everyone, 0
    total = first = upper = lower = np.zeros(0)
    for directions, doubt in looks(probes).items():
        found = squares(going, [partial(_gaussian, generator)] * (directions - taken))
        above, below = factors(directions, doubt)
        if taken == 0:
            total, first = found, found / directions
            upper, lower = above * first, below * first
        else:
            total[going] += found
            upper[going], lower[going] = above * total[going] / directions, below * total[going] / directions
        taken, going = directions, going[~settled(upper, lower)[going]]
        if len(going) == 0:
            break
    # Whose estimate is low is asked no further: over all directions, the mean over people would err downwards.
    return first, upper


def _squares(
    carrier: Carrier,
    loss: Loss,
    x: Tensor,
    y: Tensor,
    rule: Clipping | None,
    layers: tuple[str, ...],
    moves: Sequence[Move],
) -> Array:
    """Return the sum over moves of |g_l'|^2, shape (people, layers)."""
    total = torch.zeros(len(layers), len(x), dtype=torch.float64)
    for move in moves:
        found = Products(len(x))
        carrier.carry(lambda network: per_example(loss, network(x), y, len(x)), move, len(x), found.measure)
        found.total()
        # A layer that this batch did not use has no gradient.
        nothing = torch.zeros(3, len(x), dtype=torch.float64)
        total += _moved(torch.stack([found.layers.get(name, nothing).cpu() for name in layers]), rule)
    return total.numpy().T


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
            found[:, place] = torch.linalg.vector_norm(slope.reshape(len(x), -1).double(), dim=1).cpu().numpy()
    return found


def _gaussian(generator: torch.Generator, _: str, values: Tensor) -> Tensor:
    # Not random signs: of two values that move a gradient alike, opposite ones show nothing.
    direction = torch.randn(values.shape, generator=generator, dtype=values.dtype)
    return forward_ad.make_dual(values.detach(), direction.to(values.device))


def _single(place: int, _: str, values: Tensor) -> Tensor:
    direction = torch.zeros_like(values).reshape(len(values), -1)
    direction[:, place] = 1.0
    return forward_ad.make_dual(values.detach(), direction.view_as(values))


def parameters_of(model: nn.Module) -> dict[str, tuple[str, ...]]:
    """Return the names of the trained parameters of each layer, as a state dict has them."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {
        layer: tuple(names[id(p)] for p in unit.parameters() if p.requires_grad and id(p) in names)
        for layer, unit in _layers.units(model)
    }


def some_of(examples: Examples, people: int | None, generator: torch.Generator) -> Examples:
    """Return so many people at random; all of them if None."""
    x, y = examples
    if people is None or people >= len(x):
        return x, y
    chosen = torch.randperm(len(x), generator=generator)[:people]
    return x[chosen], y[chosen]
