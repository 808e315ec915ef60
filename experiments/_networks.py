"""The networks and images of the experiments."""

from typing import Any, Literal

import torch
from torch import nn

from experiments.datasets import load_cifar10, load_mnist, load_pneumonia

Tensor = torch.Tensor
COLOR_MEANS, COLOR_DEVIATIONS = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


class MeanOfFour(nn.Module):
    """Average pooling of 2 x 2 with stride 1, in a third of the time that `AvgPool2d` takes on a processor."""

    def forward(self, x: Tensor) -> Tensor:
        rows = x[..., 1:, :] + x[..., :-1, :]
        return (rows[..., 1:] + rows[..., :-1]) / 4


def guo_network() -> nn.Sequential:
    """Return the network for MNIST in the code of Guo et al. (2022): windows of 8 and 4, 26,010 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3), nn.Tanh(), MeanOfFour(),
        nn.Conv2d(16, 32, 4, stride=2), nn.Tanh(), MeanOfFour(),
        nn.Flatten(), nn.Linear(512, 32), nn.Tanh(), nn.Linear(32, 10),
    )  # fmt: skip


def guo_printed_network() -> nn.Sequential:
    """Return the network for MNIST as table 1 of Guo et al. (2022) prints it: windows of 3, 30,762 parameters.

    The table has a tanh after the last layer too, which their code does not have, and which is left out here.
    """
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2, padding=2), nn.Tanh(), MeanOfFour(),
        nn.Conv2d(16, 32, 3, stride=2), nn.Tanh(), MeanOfFour(),
        nn.Flatten(), nn.Linear(800, 32), nn.Tanh(), nn.Linear(32, 10),
    )  # fmt: skip


def guo_color_network() -> nn.Sequential:
    """Return the network for CIFAR-10 as table 2 of Guo et al. (2022) prints it: 550,570 parameters."""
    layers: list[nn.Module] = []
    channels = 3
    for filters in (32, 64, 128):
        for _ in range(2):
            layers += [nn.Conv2d(channels, filters, 3, padding=1), nn.Tanh()]
            channels = filters
        layers.append(nn.AvgPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 128), nn.Tanh(), nn.Linear(128, 10))


def group_norm_network() -> nn.Module:
    """Return a network with group norms and a million parameters, for images of 28 x 28."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, stride=2, padding=1), nn.GroupNorm(8, 32), nn.GELU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.GroupNorm(8, 64), nn.GELU(),
        nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.GroupNorm(8, 128), nn.GELU(),
        nn.Flatten(), nn.Linear(2048, 440), nn.GELU(), nn.Linear(440, 10),
    )  # fmt: skip


def mnist(subset: Literal["train", "test"]) -> tuple[Tensor, Tensor]:
    """Return the images, pixels between 0 and 1, and their digits."""
    return _tensors(load_mnist(subset=subset))


def planes_and_cars(subset: Literal["train", "test"]) -> tuple[Tensor, Tensor]:
    """Return two classes of CIFAR-10, standardized by channel as in the code of Guo et al. (2022)."""
    found = load_cifar10(subset=subset)
    pixels = torch.tensor(found.images, dtype=torch.float32).permute(0, 3, 1, 2) / 255
    means, deviations = (torch.tensor(values)[:, None, None] for values in (COLOR_MEANS, COLOR_DEVIATIONS))
    return ((pixels - means) / deviations).contiguous(), torch.tensor(found.target, dtype=torch.int64)


def pneumonia(subset: Literal["train", "test"]) -> tuple[Tensor, Tensor]:
    """Return chest X-rays of 28 x 28, and 1 for pneumonia."""
    return _tensors(load_pneumonia(subset=subset))


def _tensors(found: Any) -> tuple[Tensor, Tensor]:
    images = torch.tensor(found.data, dtype=torch.float32).reshape(-1, 1, 28, 28)
    return images, torch.tensor(found.target, dtype=torch.int64)
