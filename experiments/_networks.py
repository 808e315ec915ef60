"""The networks and images of the experiments."""

from typing import Any, Literal

import torch
from torch import nn

from seepage.datasets import load_mnist, load_pneumonia

Tensor = torch.Tensor


def guo_network() -> nn.Module:
    """Return the network of Guo et al. (2022) for MNIST: two convolutions, tanh, 26,010 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3), nn.Tanh(), nn.AvgPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2), nn.Tanh(), nn.AvgPool2d(2, 1),
        nn.Flatten(), nn.Linear(512, 32), nn.Tanh(), nn.Linear(32, 10),
    )  # fmt: skip


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


def pneumonia(subset: Literal["train", "test"]) -> tuple[Tensor, Tensor]:
    """Return chest X-rays of 28 x 28, and 1 for pneumonia."""
    return _tensors(load_pneumonia(subset=subset))


def _tensors(found: Any) -> tuple[Tensor, Tensor]:
    images = torch.tensor(found.data, dtype=torch.float32).reshape(-1, 1, 28, 28)
    return images, torch.tensor(found.target, dtype=torch.int64)
