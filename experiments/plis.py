"""Privacy loss-input susceptibility (Mueller et al. 2022): synthetic regression, MNIST and chest X-rays."""

import warnings
from typing import Any

import numpy as np
import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import seepage.network
from experiments._figures import draw_maps, draw_regression
from experiments._networks import guo_network, mnist, pneumonia
from experiments._result import Result

Tensor = torch.Tensor
NOISE, NORM = 1.0, 1.0
KINDS = ("plain", "before clipping", "published")


def regression(steps: int) -> dict[str, Any]:
    """Train privately on ten columns of which one tells the target; measure each column in two ways."""
    torch.manual_seed(0)
    people = 2000
    x = torch.randn(people, 10)
    y = 2 * x[:, :1] + 0.1 * torch.randn(people, 1)
    model, loss = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1)), nn.MSELoss()
    columns = {f"x{j}": [j] for j in range(10)}
    accountant = seepage.network.FisherAccountant(
        model, loss, ids=range(people), label="public", groups=columns, seed=0
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.5)
    sampler = seepage.network.PoissonSampler(people, sample_rate=0.1, steps=steps)
    module, optimizer, loader = accountant.attach(
        PrivacyEngine(),
        model=model,
        optimizer=optimizer,
        data_loader=DataLoader(TensorDataset(x, y), batch_sampler=sampler),
        epochs=1,
        noise_multiplier=NOISE,
        max_grad_norm=NORM,
    )
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss(module(inputs), targets).backward()
        optimizer.step()
    with torch.no_grad():
        explained = 1 - float(loss(model.eval()(x), y) / y.var())
    found = seepage.network.susceptibility(model, loss, x, y, noise_scale=NOISE * NORM, max_grad_norm=NORM)
    susceptibility = np.sqrt((found.values**2).mean(0))
    information = np.array(
        [np.sqrt((eta**2).mean()) for eta in list(accountant.information().attributes().values())[:10]]
    )
    return {
        "explained_variance": explained,
        "susceptibility": susceptibility.tolist(),
        "eta": information.tolist(),
        "correlation": float(np.corrcoef(susceptibility, information)[0, 1]),
    }


def train(images: Tensor, labels: Tensor, model: nn.Module, *, private: bool, steps: int) -> nn.Module:
    """Train on images, with or without differential privacy."""
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.15 if private else 0.1, momentum=0.5)
    sampler = seepage.network.PoissonSampler(len(images), sample_rate=min(1.0, 300 / len(images)), steps=steps)
    loader: Any = DataLoader(TensorDataset(images, labels), batch_sampler=sampler)
    module: Any = model
    if private:
        module, optimizer, loader = PrivacyEngine().make_private(
            module=model,
            optimizer=optimizer,
            data_loader=loader,
            noise_multiplier=NOISE,
            max_grad_norm=NORM,
            poisson_sampling=False,
        )
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss(module(inputs), targets).backward()
        optimizer.step()
    if private:
        module.remove_hooks()
    return model.eval()


def atypicality(images: Tensor, labels: Tensor) -> np.ndarray:
    """Return how far each image is from those of its class: the mean distance to its ten nearest neighbors there."""
    flat = images.flatten(1)
    found = np.zeros(len(images))
    for label in labels.unique():
        rows = torch.nonzero(labels == label).ravel()
        distances = torch.cdist(flat[rows], flat[rows])
        found[rows.numpy()] = distances.topk(11, largest=False).values[:, 1:].mean(1).numpy()
    return found


def images_of(name: str, images: Tensor, labels: Tensor, test: tuple[Tensor, Tensor], steps: int) -> dict[str, Any]:
    """Return susceptibility of images under training with and without privacy."""
    loss = nn.CrossEntropyLoss()
    mean, deviation = images.mean(), images.std()
    images, test = (images - mean) / deviation, ((test[0] - mean) / deviation, test[1])
    far = atypicality(images, labels)
    found: dict[str, Any] = {"name": name, "images": images, "labels": labels}
    models = {}
    for private in (False, True):
        torch.manual_seed(0)
        models[private] = train(images, labels, guo_network(), private=private, steps=steps)
    for key, private, scale, norm in (
        ("plain", False, None, None),
        ("before clipping", True, None, None),
        ("published", True, NOISE * NORM, NORM),
    ):
        model = models[private]
        maps = seepage.network.susceptibility(model, loss, images, labels, noise_scale=scale, max_grad_norm=norm)
        with torch.no_grad():
            accuracy = float((model(test[0]).argmax(1) == test[1]).float().mean())
            wrong = (model(images).argmax(1) != labels).numpy()
        norms = maps.norm()
        high = norms >= np.quantile(norms, 0.95)
        rank = np.corrcoef(norms.argsort().argsort(), far.argsort().argsort())[0, 1]
        found[key] = {
            "maps": maps,
            "accuracy": accuracy,
            "wrong_high": float(wrong[high].mean()),
            "wrong_rest": float(wrong[~high].mean()),
            "distance_high": float(far[high].mean()),
            "distance_rest": float(far[~high].mean()),
            "rank_correlation": float(rank),
            "share_clipped": float((maps.privacy_loss > 0.999 * (norm / scale) ** 2).mean())
            if private and norm
            else 0.0,
        }
    return found


def run(*, quick: bool) -> Result:
    """Run the three parts."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    steps, count = (30, 300) if quick else (500, 3000)
    numbers: dict[str, Any] = {"regression": regression(steps)}
    figures = {"regression": draw_regression(numbers["regression"])}
    lines = [f"correlation of susceptibility and eta over columns: {numbers['regression']['correlation']:.3f}"]
    sets = {"mnist": (mnist("train"), mnist("test")), "pneumonia": (pneumonia("train"), pneumonia("test"))}
    for name, ((images, labels), test) in sets.items():
        found = images_of(name, images[:count], labels[:count], test, steps)
        figures[name] = draw_maps(found)
        numbers[name] = {kind: {k: v for k, v in found[kind].items() if k != "maps"} for kind in KINDS}
        lines += [f"{name}, {kind}: {numbers[name][kind]}" for kind in KINDS]
    return Result(figures, numbers, lines)
