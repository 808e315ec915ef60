"""Data, networks and properties of the experiments on which layer gives a client away."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt
from torch import nn

from seepage.datasets import adult_features, complete_adult, load_adult, load_lfw, load_mnist

Tensor = torch.Tensor


@dataclass(frozen=True, eq=False)
class Setting:
    """One data set of Mo, Borovykh et al. (2021): a task, a property that is not the task, and a network."""

    title: str
    x: Tensor
    y: Tensor
    has: NDArray[np.int8]
    """1 with the property, 0 without, -1 for neither (not in any batch)."""
    network: nn.Module
    first_connected: str
    """The first fully connected layer after the convolutions; the first of all where there are none."""

    size: int
    """Examples in a client's batch."""
    share: float
    """How many of them have the property, in a batch with the property; in one without it nobody has."""

    def batches(self, count: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield batches without and with the property in turn, half of each batch from each class of the task.

        Both kinds have the same classes in the same shares: the task does not tell the property.
        """
        random = np.random.default_rng(seed)
        pools = {(p, c): np.flatnonzero((self.has == p) & (self.y.numpy() == c)) for p in (0, 1) for c in (0, 1)}
        for i in range(count):
            with_it = round(self.share * self.size / 2) if i % 2 else 0
            rows = [
                random.choice(pools[p, c], number, replace=False)
                for c in (0, 1)
                for p, number in ((1, with_it), (0, self.size // 2 - with_it))
            ]
            chosen = np.concatenate(rows)
            yield self.x[chosen], self.y[chosen]


def alexnet(height: int, width: int) -> nn.Module:
    """Return a small network in the manner of AlexNet: five convolutions, three fully connected layers."""
    channels = (1, 16, 32, 48, 32, 32)
    layers: dict[str, nn.Module] = {}
    for i in range(5):
        layers[f"conv{i + 1}"] = nn.Conv2d(channels[i], channels[i + 1], 3, padding=1)
        layers[f"relu{i + 1}"] = nn.ReLU()
        if i in (0, 1, 4):
            layers[f"pool{i + 1}"] = nn.MaxPool2d(2)
            height, width = height // 2, width // 2
    layers["flat"] = nn.Flatten()
    sizes = (channels[-1] * height * width, 128, 64, 2)
    for i in range(3):
        layers[f"fc{i + 1}"] = nn.Linear(sizes[i], sizes[i + 1])
        if i < 2:
            layers[f"relu{i + 6}"] = nn.ReLU()
    model = nn.Sequential()
    for name, layer in layers.items():
        model.add_module(name, layer)
    return model


def connected(inputs: int) -> nn.Module:
    """Return nine fully connected layers."""
    model = nn.Sequential()
    sizes = (inputs, *([64] * 8), 2)
    for i in range(9):
        model.add_module(f"fc{i + 1}", nn.Linear(sizes[i], sizes[i + 1]))
        if i < 8:
            # Nine layers of ReLU at PyTorch's own start hardly learn; tanh does.
            model.add_module(f"tanh{i + 1}", nn.Tanh())
    return model


def setting(name: str, people: int) -> Setting:
    """Return faces, digits or the census, at most so many rows of it."""
    random = np.random.default_rng(0)
    if name == "lfw":
        found = load_lfw()
        rows = random.permutation(np.flatnonzero(found.target >= 0))[:people]
        pictures = found.images[rows].astype(np.float32) / 255
        x, y = torch.tensor(pictures).unsqueeze(1), torch.tensor(found.target[rows])
        has = _terciles(pictures.mean(axis=(1, 2)))
        return Setting(
            "LFW: gender; bright or dark photograph", x - 0.5, y, has, alexnet(*pictures.shape[1:]), "fc1", 16, 0.25
        )
    if name == "mnist":
        digits = load_mnist()
        rows = random.permutation(len(digits.target))[:people]
        pictures = digits.images[rows]
        x, y = torch.tensor(pictures.astype(np.float32) / 255).unsqueeze(1), torch.tensor(digits.target[rows] % 2)
        has = _terciles(np.array([_thickness(picture) for picture in pictures]))
        return Setting("MNIST: parity; thick or thin strokes", x - 0.13, y, has, alexnet(28, 28), "fc1", 16, 0.25)
    raw = load_adult()
    table, income = complete_adult(raw.data, raw.target)
    rows = random.permutation(len(income))[:people]
    sex = (table["sex"].to_numpy()[rows] == "Female").astype(np.int8)
    # Sex is what the attacker is after: the network does not see it.
    seen = table.drop(columns=["sex"])
    encoded = np.asarray(adult_features(seen, dropped="last").fit_transform(seen))[rows]
    x, y = torch.tensor(encoded, dtype=torch.float32), torch.tensor(income[rows], dtype=torch.int64)
    return Setting("Adult: income; sex", x, y, sex, connected(x.shape[1]), "fc1", 32, 0.5)


def _terciles(values: NDArray[Any]) -> NDArray[np.int8]:
    low, high = np.quantile(values, [1 / 3, 2 / 3])
    return np.where(values >= high, 1, np.where(values <= low, 0, -1)).astype(np.int8)


def _thickness(picture: NDArray[np.uint8]) -> float:
    """Return how deep the ink is: the mean distance of inked pixels from the paper."""
    ink = np.pad(picture > 127, 1)
    return float(distance_transform_edt(ink)[ink].mean()) if ink.any() else 0.0
