"""Gradient inversion of many images at once, each sent and attacked alone.

The steps are those of `seepage.attacks.GradientInversion`, which attacks one image after the other: each has a search
of its own, with its own starts, and signed Adam treats every pixel by itself. Together they take a tenth of the time.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from experiments._work import Work
from seepage.attacks import GradientInversion

Tensor = torch.Tensor
CHECKPOINT = 250


@dataclass(frozen=True, eq=False)
class Standardized:
    """A network behind the standardization of its pixels, so that the attacked inputs lie between 0 and 1."""

    network: nn.Sequential
    mean: float
    deviation: float

    def __call__(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.deviation

    def module(self) -> nn.Module:
        """Return both as one network, for those that take one image at a time."""
        return nn.Sequential(_Shift(self.mean, self.deviation), *self.network)


class _Shift(nn.Module):
    def __init__(self, mean: float, deviation: float) -> None:
        super().__init__()
        self.mean, self.deviation = mean, deviation

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.deviation


def gradients(model: Standardized, x: Tensor, y: Tensor) -> Tensor:
    """Return the gradient of each image's own loss, a row an image, weights and bias of each layer in turn.

    It can be differentiated by the images.
    """
    value, uses = model(x), []
    for layer in model.network:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            given, value = value, layer(value)
            uses.append((layer, given, value))
        else:
            value = layer(value)
    loss = F.cross_entropy(value, y, reduction="sum")
    backs = torch.autograd.grad(loss, [out for _, _, out in uses], create_graph=True)
    parts: list[Tensor] = []
    for (layer, given, _), back in zip(uses, backs, strict=True):
        if isinstance(layer, nn.Linear):
            parts += [(back[:, :, None] * given[:, None, :]).flatten(1), back]
        else:
            windows = F.unfold(given, layer.kernel_size, padding=layer.padding, stride=layer.stride)
            parts += [torch.bmm(back.flatten(2), windows.transpose(1, 2)).flatten(1), back.sum((2, 3))]
    return torch.cat(parts, dim=1)


def invert(
    model: Standardized, attack: GradientInversion, sent: Tensor, y: Tensor, seeds: list[int], work: Work, key: str
) -> tuple[Tensor, Tensor]:
    """Return the best guess for each image from what was sent about it, a row an image, and its cosine similarity."""
    low, high = attack.bounds
    starts = []
    for seed in seeds:
        random = torch.Generator().manual_seed(seed)
        starts += [torch.randn(1, 1, 28, 28, generator=random) for _ in range(attack.restarts)]
    x = ((low + high) / 2 + (high - low) / 4 * torch.cat(starts)).clamp(low, high).requires_grad_()
    sent, y = (each.repeat_interleave(attack.restarts, dim=0) for each in (sent, y))
    optimizer = torch.optim.Adam([x], lr=attack.learning_rate)
    drops = [attack.steps * eighths // 8 for eighths in (3, 5, 7)]
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, drops, gamma=0.1)
    first = 0
    if (saved := work.load(key)) is not None:
        first = saved["step"]
        with torch.no_grad():
            x.copy_(saved["x"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
    for step in range(first, attack.steps):
        objective = 1 - _similarity(model, sent, x, y) + attack.total_variation * _total_variation(x)
        (slope,) = torch.autograd.grad(objective.sum(), x)
        x.grad = slope.sign()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            x.clamp_(low, high)
        if step % CHECKPOINT == CHECKPOINT - 1:
            state: dict[str, Any] = {"step": step + 1, "x": x.detach(), "optimizer": optimizer.state_dict()}
            work.save(key, {**state, "schedule": schedule.state_dict()})
            work.say(f"{key}: step {step + 1} of {attack.steps}")
    work.save(key, None)
    similarity = _similarity(model, sent, x, y).detach().view(len(seeds), -1)
    best = similarity.argmax(dim=1)
    rows = torch.arange(len(seeds))
    return x.detach().view(len(seeds), attack.restarts, 1, 28, 28)[rows, best], similarity[rows, best]


def _similarity(model: Standardized, sent: Tensor, x: Tensor, y: Tensor) -> Tensor:
    would = gradients(model, x, y)
    size, norm = (part.square().sum(dim=1).clamp(min=1e-30).sqrt() for part in (would, sent))
    return (would * sent).sum(dim=1) / (size * norm)


def _total_variation(x: Tensor) -> Tensor:
    down, right = (x[..., 1:, :] - x[..., :-1, :]).abs(), (x[..., :, 1:] - x[..., :, :-1]).abs()
    return down.mean(dim=(1, 2, 3)) + right.mean(dim=(1, 2, 3))
