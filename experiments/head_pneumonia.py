"""Beyond the papers: a head on a frozen encoder (X-rays behind a network that knows digits), maps and an attack."""

import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import nn

import seepage
from experiments._networks import mnist, pneumonia
from experiments._result import Result
from experiments._work import Work
from seepage.attacks import AttributeInversion
from seepage.linear import Features, through

VERSION = 1
PEOPLE, FEATURES, PATCH = 60, 8, 4
PENALTY, NOISE, LITTLE = 1.0, 0.1, 1e-4
# A pixel in the middle, over the spine; and how often its guess is tried.
PIXEL, TRIALS = 14 * 28 + 14, 200


class Encoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A network that was trained on other images, as a step before a linear model."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network

    def fit(self, X: Any, y: Any = None) -> "Encoder":
        """Learn nothing."""
        self.network_ = self.network.double().eval().requires_grad_(False)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of images."""
        return self.network_(torch.tensor(np.asarray(X, dtype=float)).reshape(-1, 1, 28, 28)).numpy()

    def slopes(self, X: np.ndarray) -> np.ndarray:
        """Return their derivatives by pixel, feature by feature."""

        def features(pixels: torch.Tensor) -> torch.Tensor:
            return self.network_(pixels.reshape(1, 1, 28, 28))[0]

        return torch.func.vmap(torch.func.jacrev(features))(torch.tensor(X)).reshape(len(X), -1).numpy()


@through.register
def _(step: Encoder, incoming: Features, path: str) -> Features:
    return incoming.bent(step.transform, path, step.slopes)


def encoder(images: int) -> nn.Module:
    """Train a small network on digits, and return what comes before its last layer."""
    x, y = (part[:images] for part in mnist("train"))
    torch.manual_seed(0)
    body = nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2), nn.Tanh(), nn.Conv2d(8, 16, 5, stride=2), nn.Tanh(),
        nn.Flatten(), nn.Linear(256, FEATURES), nn.Tanh(),
    )  # fmt: skip
    network = nn.Sequential(body, nn.Linear(FEATURES, 10))
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(2):
        for rows in torch.randperm(len(x)).split(100):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[rows]), y[rows]).backward()
            optimizer.step()
    return body


def run(*, quick: bool, work: Work) -> Result:
    """Measure some X-rays, draw three with their maps, and attack one pixel of each."""
    del work
    warnings.simplefilter("ignore")
    people = 20 if quick else PEOPLE
    x, y = (part.numpy() for part in pneumonia("train"))
    # Of each class the same number.
    rows = np.sort(np.concatenate([np.flatnonzero(y == label)[: people // 2] for label in (0, 1)]))
    X, labels = x[rows].reshape(len(rows), -1).astype(float), y[rows]
    step = Encoder(encoder(1_000 if quick else 6_000))
    model = make_pipeline(step, LogisticRegression(C=1 / PENALTY, tol=1e-8, max_iter=1000)).fit(X, labels)
    asked = {"public_label": True, "public_preprocessing": ["encoder"]}
    leak = seepage.measure(model, X, labels, noise_scale=NOISE, **asked)
    eta = leak.examples["eta"].to_numpy()
    count = 28 // PATCH
    maps = np.sqrt((leak.attributes.to_numpy() ** 2).reshape(-1, count, PATCH, count, PATCH).mean(axis=(2, 4)))
    little = seepage.measure(model, X, labels, noise_scale=LITTLE, attributes=[f"x{PIXEL}"], **asked)
    found = seepage.verify(little, AttributeInversion(f"x{PIXEL}"), trials=TRIALS)
    ratio = (found.frame["error"] / found.frame["floor"]).to_numpy()
    order = np.argsort(-eta)
    shown = {"most exposed": order[0], "median": order[len(order) // 2], "least exposed": order[-1]}
    figure, panels = plt.subplots(2, len(shown), figsize=(5.6, 3.9))
    for (above, below), (name, person) in zip(panels.T, shown.items(), strict=True):
        above.imshow(X[person].reshape(28, 28), cmap="gray", vmin=0, vmax=1)
        above.set_title(f"{name}\neta {eta[person]:.2f}")
        image = below.imshow(maps[person], cmap="magma", vmin=0)
        figure.colorbar(image, ax=below, shrink=0.8)
        for panel in (above, below):
            panel.set_xticks([])
            panel.set_yticks([])
    panels[0][0].set_ylabel("X-ray")
    panels[1][0].set_ylabel("root mean information\nabout a pixel, by patch")
    lines = [
        f"{len(rows)} people, accuracy {model.score(X, labels):.0%} on them; noise {NOISE:g}: eta {eta.min():.2f} to "
        f"{eta.max():.2f}, of single pixels up to {leak.attributes.to_numpy().max():.3f}",
        f"pixel {PIXEL}, noise {LITTLE:g}, {TRIALS} trials: error over floor {ratio.min():.2f} to {ratio.max():.2f}, "
        f"mean square {np.mean(ratio**2):.3f}; {found.verdict}",
    ]
    numbers = {
        "people": len(rows),
        "accuracy": model.score(X, labels),
        "eta": eta,
        "shown": {name: int(person) for name, person in shown.items()},
        "maps": {name: maps[person] for name, person in shown.items()},
        "attack": {"error_over_floor": ratio, "trials": TRIALS, "holds": found.holds},
    }
    return Result({"images": figure}, numbers, lines)
