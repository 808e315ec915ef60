"""Where the stated training leads without its noise, which is what an update is held against."""

import math
from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from seepage.federated._signal import Examples, some_of
from seepage.federated._training import LocalTraining
from seepage.network import Update

Tensor = torch.Tensor
Weights = dict[str, Tensor]


def expected_move(
    model: nn.Module,
    loss: Callable[..., Tensor],
    state: Mapping[str, Tensor],
    examples: Examples,
    training: LocalTraining,
    generator: torch.Generator,
) -> dict[str, NDArray[np.float64]]:
    """Return about how far the stated training moves each weight without noise.

    In strides of several steps. One is short enough if the change of the gradient along it moves the weights by less
    than half of what the noise of its steps does; as gradients are followed in a straight line between its ends, little
    of that is missed. Where a single step changes them by more, each is taken. People are drawn for each, so many that
    their chance is below a fortieth of the noise, or twice as many as its steps have.
    """
    if training.learning_rate is None or training.noise_scale == 0:
        return {}
    model.load_state_dict(dict(state))
    rule = Update(max_grad_norm=training.max_grad_norm)
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    weights = {name: p.detach().clone() for name, p in trained.items()}
    start, rate = weights, training.learning_rate
    size, batch = sum(p.numel() for p in trained.values()), training.batch_size
    noise = training.noise_scale / batch * math.sqrt(size)
    # A step's mean over b people is off by C / sqrt(b) at most, all weights together, and its noise is that above.
    people = min(2.0, 40 * batch / (training.noise_multiplier**2 * size))

    def gradient(at: Weights, steps: int) -> Weights:
        with torch.no_grad():
            for name, p in trained.items():
                p.copy_(at[name])
        some = some_of(examples, max(batch, math.ceil(people * steps * batch)), generator)
        return rule.of(model, loss, *some)

    here, steps, taken = gradient(weights, 1), 8, 0
    while taken < training.steps:
        steps = min(steps, training.steps - taken)
        there = gradient({name: w - rate * steps * here[name] for name, w in weights.items()}, steps)
        change = math.sqrt(sum(float((there[name] - g).double().square().sum()) for name, g in here.items()))
        # Of the noise that the steps add, sqrt(steps) rate noise; of the change, half of steps rate change.
        share = math.sqrt(steps) * change / (2 * noise)
        if share > 0.5 and steps > 1:
            steps //= 2
            continue
        # The sum over the steps of gradients that go from here to there.
        moved = {name: steps * g + (steps - 1) / 2 * (there[name] - g) for name, g in here.items()}
        weights = {name: w - rate * moved[name] for name, w in weights.items()}
        here, taken = there, taken + steps
        if share < 0.25:
            steps *= 2
    return {name: (start[name] - w).double().cpu().numpy() for name, w in weights.items()}
