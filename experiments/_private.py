"""Private SGD with the smooth clipping of Guo et al. (2022), seeded: step by step, from any step on."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F  # noqa: N812

from seepage.network import Mechanism

Tensor = torch.Tensor


def mechanism(noise: float, norm: float) -> Mechanism:
    """Return the step of Guo et al. (2022): smooth clipping to about C, noise of `noise` C."""
    return Mechanism(noise_multiplier=noise, max_grad_norm=norm, clipping="smooth")


SMOOTH = mechanism(1.0, 1.0).rule.sensitivity
"""The largest norm that a smoothly clipped gradient can have, in units of C, rounded up."""


def kappa(sample_rate: float, noise_multiplier: float, delta: float) -> float:
    """Return kappa of Guo et al. (2022) as the paper prints it, which fails with probability `delta` in each step.

    For all T steps and n people to hold, the paper asks for delta = 1 / (n T). Its epsilon is the classical one of the
    Gaussian mechanism between two gradients, clipped smoothly to at most 1.115 C each.
    """
    epsilon = 1.115 * 2 * math.sqrt(2 * math.log(1.25 / delta)) / noise_multiplier
    return sample_rate / (sample_rate + (1 - sample_rate) * math.exp(-epsilon))


class PrivateSGD:
    """Training whose batches and noise depend on the seed and the number of the step alone.

    The model is a `Sequential` of convolutions, linear layers and layers without parameters. Each step draws everybody
    with probability `rate` (Poisson sampling), clips each gradient smoothly to C and adds noise of standard deviation
    `noise` C to the sum, both as `seepage.network.Mechanism` has them, divides by the expected size of a batch and
    moves by `step_size`, with momentum. Without noise (None) it neither clips nor adds any.
    """

    def __init__(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        *,
        rate: float,
        noise: float | None,
        norm: float,
        step_size: float,
        momentum: float = 0.5,
        loss: nn.Module | None = None,
        seed: int = 0,
    ) -> None:
        self.model, self.x, self.y, self.seed = model, x, y, seed
        self.rate, self.mechanism = rate, None if noise is None else mechanism(noise, norm)
        self.loss = nn.CrossEntropyLoss() if loss is None else loss
        self.optimizer = torch.optim.SGD(model.parameters(), lr=step_size, momentum=momentum)
        self.step = 0

    def drawn(self, step: int) -> Tensor:
        """Return who is in the batch of a step."""
        random = np.random.default_rng([self.seed, step])
        return torch.from_numpy(np.flatnonzero(random.random(len(self.x)) < self.rate))

    def advance(self) -> None:
        """Take one step."""
        rows = self.drawn(self.step)
        noise = torch.Generator().manual_seed(1_000_003 * self.seed + self.step)
        expected = self.rate * len(self.x)
        self.optimizer.zero_grad()
        if self.mechanism is None:
            (self.loss(self.model(self.x[rows]), self.y[rows]) * (len(rows) / expected)).backward()
        else:
            clipped = self._clipped(rows, self.mechanism.rule.factor)
            for parameter, total in zip(self.model.parameters(), clipped, strict=True):
                added = torch.randn(parameter.shape, generator=noise) * self.mechanism.noise_scale
                parameter.grad = (total + added) / expected
        self.optimizer.step()
        self.step += 1

    def _clipped(self, rows: Tensor, factor_of: Callable[[Tensor], Tensor]) -> list[Tensor]:
        """Return the sum of these people's gradients times their factors, weights and bias of each layer in turn."""
        uses: list[tuple[nn.Conv2d | nn.Linear, Tensor, Tensor]] = []
        value = self.x[rows]
        with torch.enable_grad():
            for layer in self.model:
                if isinstance(layer, nn.Conv2d | nn.Linear):
                    given, value = (
                        value,
                        functional_call(layer, {name: p.detach() for name, p in layer.named_parameters()}, (value,)),
                    )
                    value = value if value.requires_grad else value.requires_grad_()
                    uses.append((layer, given.detach(), value))
                else:
                    value = layer(value)
            # The losses of a batch, added up: CrossEntropyLoss and MSELoss take means.
            total = self.loss(value, self.y[rows]) * max(len(rows), 1)
            backs = torch.autograd.grad(total if len(rows) else value.sum(), [out for _, _, out in uses])
        parts = [_sent(layer, given, back) for (layer, given, _), back in zip(uses, backs, strict=True)]
        norms = torch.stack([square for square, _ in parts]).sum(0).sqrt()
        factor = factor_of(norms)
        return [each for _, add in parts for each in add(factor)]

    def state(self) -> dict[str, object]:
        """Return what is needed to go on."""
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step}

    def restore(self, state: dict[str, object]) -> None:
        """Go on where `state` was taken."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]


def _sent(layer: nn.Conv2d | nn.Linear, given: Tensor, back: Tensor) -> tuple[Tensor, Callable[[Tensor], list[Tensor]]]:
    """Return the squared norm of each example's gradient of a layer, and how to add them up with factors."""
    if isinstance(layer, nn.Linear):
        squares = back.square().sum(1) * (given.square().sum(1) + 1)
        return squares, lambda factor: [(back * factor[:, None]).T @ given, factor @ back]
    (height, width), (down, right) = layer.kernel_size, layer.stride
    around = F.pad(given, (layer.padding[1], layer.padding[1], layer.padding[0], layer.padding[0]))
    windows = around.unfold(2, height, down).unfold(3, width, right).permute(0, 2, 3, 1, 4, 5)
    weights = torch.bmm(back.flatten(2), windows.flatten(3).flatten(1, 2)).flatten(1)
    biases = back.sum((2, 3))
    squares = weights.square().sum(1) + biases.square().sum(1)
    return squares, lambda factor: [(factor @ weights).view_as(layer.weight), factor @ biases]


def glorot(model: nn.Module, seed: int) -> nn.Module:
    """Draw the weights as the code of Guo et al. (2022) does: Glorot's normal, biases normal of scale 0.01."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for layer in model.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                inside, outside = nn.init._calculate_fan_in_and_fan_out(layer.weight)
                layer.weight.normal_(0, math.sqrt(2 / (inside + outside)), generator=random)
                layer.bias.normal_(0, 0.01, generator=random)
    return model
