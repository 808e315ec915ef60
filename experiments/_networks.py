"""The networks and images of the experiments."""

import gzip
import os
from pathlib import Path

import numpy as np
import torch
from torch import nn

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


def data_home() -> Path:
    """Return the folder of public data sets."""
    return Path(os.environ["SEEPAGE_DATA"])


def mnist(part: str) -> tuple[Tensor, Tensor]:
    """Return the images ("train" or "t10k"), pixels between 0 and 1, and their digits."""
    images = _idx(data_home() / "mnist" / f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
    digits = _idx(data_home() / "mnist" / f"{part}-labels-idx1-ubyte.gz", 8)
    return torch.from_numpy(images.astype(np.float32) / 255), torch.from_numpy(digits.astype(np.int64))


def _idx(path: Path, header: int) -> np.ndarray:
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), dtype=np.uint8)[header:]


def pneumonia(part: str) -> tuple[Tensor, Tensor]:
    """Return PneumoniaMNIST ("train", "val" or "test"): chest X-rays of 28 x 28, and 1 for pneumonia."""
    with np.load(data_home() / "pneumoniamnist_28.npz") as stored:
        images, labels = stored[f"{part}_images"], stored[f"{part}_labels"]
    return torch.from_numpy(images.astype(np.float32) / 255).unsqueeze(1), torch.from_numpy(labels.ravel()).long()
