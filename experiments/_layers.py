"""Data, networks and properties of the experiments on which layer gives a client away (Mo, Borovykh et al. 2021)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt
from torch import nn

from experiments.datasets import adult_features, complete_adult, load_adult, load_cifar10, load_lfw, load_mnist

Tensor = torch.Tensor
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class People:
    """A task, and a property that is not the task."""

    title: str
    x: Tensor
    y: Tensor
    has: NDArray[np.int8]
    """1 with the property, 0 without, -1 for neither (in no batch of the attack)."""


@dataclass(frozen=True, eq=False)
class Client:
    """Somebody's share of the people."""

    people: People
    rows: Rows
    random: np.random.Generator

    def batch(self, size: int) -> tuple[Tensor, Tensor]:
        """Draw a batch of training."""
        return self._of(self.random.choice(self.rows, size, replace=False))

    def with_property(self, size: int, share: float) -> tuple[Tensor, Tensor]:
        """Draw a batch of which so many have the property, half from each class of the task.

        Batches with and without have the same classes in the same shares: the task does not tell the property.
        """
        with_it = round(share * size / 2)
        chosen = [
            self.random.choice(self._pool(has, label), number, replace=False)
            for label in (0, 1)
            for has, number in ((1, with_it), (0, size // 2 - with_it))
        ]
        return self._of(np.concatenate(chosen))

    def _pool(self, has: int, label: int) -> Rows:
        labels = self.people.y.numpy()[self.rows]
        return self.rows[(self.people.has[self.rows] == has) & (labels == label)]

    def _of(self, rows: Rows) -> tuple[Tensor, Tensor]:
        return self.people.x[rows], self.people.y[rows]


def network(name: str, shape: tuple[int, ...], seed: int) -> nn.Sequential:
    """Return one of the paper's three networks as printed, with ReLU, for inputs of a shape and two classes.

    Convolutions are not padded, and weights start as Glorot's uniform: so in the code of the attack (Melis et al.
    2019), which the paper follows; it says nothing of either itself.
    """
    if name == "FCNet":
        found = _connected(int(np.prod(shape)), [32] * 8)
    else:
        filters, pooled = ((16, 32, 64), 3) if name == "AlexNet" else ((16, 16, 16, 16, 32, 32, 64, 64), 3)
        found = _convolutions(shape, filters, pooled, [256] if name == "AlexNet" else [256, 128])
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for layer in found:
            if isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.xavier_uniform_(layer.weight, generator=random)
                layer.bias.zero_()
    # Channels side by side in memory: on a processor half of the time.
    return found.to(memory_format=torch.channels_last)


def _convolutions(shape: tuple[int, ...], filters: tuple[int, ...], pooled: int, hidden: list[int]) -> nn.Sequential:
    """Convolutions of 3 x 3, the last `pooled` of them with max-pooling of 2 x 2, then fully connected layers."""
    found = nn.Sequential()
    channels = shape[0]
    for i, number in enumerate(filters, 1):
        found.add_module(f"conv{i}", nn.Conv2d(channels, number, 3))
        # The largest of four, then ReLU, is ReLU of each, then the largest: the same, with less to do.
        if i > len(filters) - pooled:
            found.add_module(f"pool{i}", nn.MaxPool2d(2))
        found.add_module(f"relu{i}", nn.ReLU())
        channels = number
    with torch.no_grad():
        inputs = found(torch.zeros(1, *shape)).numel()
    for name, layer in _connected(inputs, hidden).named_children():
        found.add_module(name, layer)
    return found


def _connected(inputs: int, hidden: list[int]) -> nn.Sequential:
    found = nn.Sequential()
    found.add_module("flat", nn.Flatten())
    for i, units in enumerate([*hidden, 2], 1):
        found.add_module(f"fc{i}", nn.Linear(inputs, units))
        if i <= len(hidden):
            found.add_module(f"relu_fc{i}", nn.ReLU())
        inputs = units
    return found


def people(name: str, most: int | None = None) -> People:
    """Return faces, digits, planes and cars, or the census; at most so many."""
    some = np.random.default_rng(0).permutation
    if name == "lfw":
        faces = load_lfw()
        rows = some(np.flatnonzero(faces.target >= 0))[:most]
        pictures = faces.images[rows].astype(np.float32)[:, None]
        return _pictures("LFW: gender; bright or dark photograph", pictures, faces.target[rows], _brightness(pictures))
    if name == "mnist":
        digits = load_mnist()
        rows = some(len(digits.target))[:most]
        thick = np.array([_thickness(picture) for picture in digits.images[rows]])
        pictures = digits.images[rows].astype(np.float32)[:, None]
        return _pictures("MNIST: parity; thick or thin strokes", pictures, digits.target[rows] % 2, thick)
    if name == "cifar":
        found = load_cifar10()
        rows = some(len(found.target))[:most]
        pictures = found.images[rows].astype(np.float32).transpose(0, 3, 1, 2)
        title = "CIFAR-10: plane or car; bright or dark photograph"
        return _pictures(title, pictures, found.target[rows], _brightness(pictures))
    raw = load_adult()
    table, income = complete_adult(raw.data, raw.target)
    rows = some(len(income))[:most]
    sex = (table["sex"].to_numpy()[rows] == "Female").astype(np.int8)
    # Sex is what the attacker is after: the network does not see it.
    seen = table.drop(columns=["sex"])
    encoded = np.asarray(adult_features(seen, dropped="last").fit_transform(seen))[rows]
    x, y = torch.tensor(encoded, dtype=torch.float32), torch.tensor(income[rows], dtype=torch.int64)
    return People("Adult: income; sex", x, y, sex)


def _pictures(title: str, pictures: NDArray[np.float32], labels: Any, score: NDArray[Any]) -> People:
    x = torch.tensor((pictures - pictures.mean()) / pictures.std())
    return People(title, x, torch.tensor(np.asarray(labels), dtype=torch.int64), _terciles(score))


def _brightness(pictures: NDArray[np.float32]) -> NDArray[Any]:
    return np.asarray(pictures.mean(axis=(1, 2, 3)))


def _terciles(values: NDArray[Any]) -> NDArray[np.int8]:
    low, high = np.quantile(values, [1 / 3, 2 / 3])
    return np.where(values >= high, 1, np.where(values <= low, 0, -1)).astype(np.int8)


def _thickness(picture: NDArray[np.uint8]) -> float:
    """Return how deep the ink is: the mean distance of inked pixels from the paper."""
    ink = np.pad(picture > 127, 1)
    return float(distance_transform_edt(ink)[ink].mean()) if ink.any() else 0.0
