"""Privacy loss-input susceptibility (Mueller et al. 2022, figures 1 to 3): a regression, digits and chest X-rays."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from opacus.accountants.utils import get_noise_multiplier
from torch import nn

import seepage.network
from experiments._criterion import around_median
from experiments._figures import draw_maps, draw_regression
from experiments._networks import guo_network, mnist, pneumonia
from experiments._private import SMOOTH, PrivateSGD, glorot, mechanism
from experiments._result import Result
from experiments._work import Work

VERSION = 2
"""2: counts of images, and intervals over them."""
Tensor = torch.Tensor
COLUMNS, INFORMATIVE = 13, 9
PEOPLE, STEPS = 5000, 100


def noise_for(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """Return the noise, in units of C, that keeps so many smoothly clipped steps (epsilon, delta)-private."""
    found = get_noise_multiplier(target_epsilon=epsilon, target_delta=delta, sample_rate=rate, steps=steps)
    return SMOOTH * float(found)


def regression(seed: int) -> dict[str, Any]:
    """Train a linear regression privately to (0.2, 1e-3); measure each column in two ways where training ends."""
    random = torch.Generator().manual_seed(seed)
    x = torch.randn(PEOPLE, COLUMNS, generator=random)
    y = 2 * x[:, INFORMATIVE : INFORMATIVE + 1] + 0.1 * torch.randn(PEOPLE, 1, generator=random)
    noise, norm = noise_for(0.2, 1e-3, 1.0, STEPS), 1.0
    model, loss = glorot(nn.Sequential(nn.Linear(COLUMNS, 1)), seed), nn.MSELoss()
    training = PrivateSGD(
        model, x, y, rate=1.0, noise=noise, norm=norm, step_size=0.2, momentum=0.0, loss=loss, seed=seed
    )
    for _ in range(STEPS):
        training.advance()
    step = seepage.network.step_information(model, loss, (x, y), mechanism=mechanism(noise, norm), label="public")
    plis = seepage.network.susceptibility(model, loss, x, y, noise_scale=noise * norm, max_grad_norm=norm)
    # The root of each column's information, as the derivative of what is published over the noise.
    fil = np.sqrt(np.diagonal(step.matrices, axis1=1, axis2=2)).mean(0)
    size = np.abs(plis.values).mean(0)
    others = np.arange(COLUMNS) != INFORMATIVE
    with torch.no_grad():
        explained = 1 - float(loss(model(x), y) / y.var())
    return {
        "explained_variance": explained,
        "noise_multiplier": noise,
        "fil": fil,
        "susceptibility": size,
        "informative_over_largest_other": [each[INFORMATIVE] / each[others].max() for each in (fil, size)],
        "correlation": np.corrcoef(fil, size)[0, 1],
        "correlation_without_the_informative": np.corrcoef(fil[others], size[others])[0, 1],
    }


@dataclass(frozen=True)
class Images:
    """Images to train on, and how."""

    name: str
    private: bool
    steps: int
    batch: int = 600
    measured: int = 2000
    people: int | None = None

    @property
    def key(self) -> str:
        """The name of the piece."""
        return f"{self.name}-{'private' if self.private else 'plain'}-{self.steps}"


def trained(setting: Images) -> tuple[nn.Module, Tensor, Tensor, tuple[Tensor, Tensor], float, float | None]:
    """Return a network, its standardized images, labels and test set, the test accuracy, and its noise."""
    load = mnist if setting.name == "mnist" else pneumonia
    (x, y), test = (part[: setting.people] for part in load("train")), load("test")
    mean, deviation = x.mean(), x.std()
    x, test = (x - mean) / deviation, ((test[0] - mean) / deviation, test[1])
    rate = min(1.0, setting.batch / len(x))
    noise = noise_for(1.0, 1e-5, rate, setting.steps) if setting.private else None
    model = glorot(guo_network(), 0)
    training = PrivateSGD(model, x, y, rate=rate, noise=noise, norm=1.0, step_size=0.5 if setting.private else 0.1)
    for _ in range(setting.steps):
        training.advance()
    with torch.no_grad():
        accuracy = float((model(test[0]).argmax(1) == test[1]).float().mean())
    return model, x, y, test, accuracy, noise


def images(setting: Images) -> dict[str, Any]:
    """Train with or without privacy, and look at what drives the privacy loss of images."""
    torch.set_num_threads(1)
    model, x, y, _, accuracy, noise = trained(setting)
    x, y = x[: setting.measured], y[: setting.measured]
    measure = partial(
        seepage.network.susceptibility,
        model,
        nn.CrossEntropyLoss(),
        noise_scale=noise,
        max_grad_norm=1.0 if setting.private else None,
    )
    with torch.no_grad():
        wrong = (model(x).argmax(1) != y).numpy()
    single = measure(x, y)
    # The length of a clipped gradient hardly moves any more, and its derivative can be as small as 1e-17.
    model.double()
    maps = measure(x.double(), y)
    norms = maps.norm(spectral=True)
    far, high = atypicality(x, y), norms >= np.quantile(norms, 0.95)
    shown = {"lowest": int(np.where(norms > 0, norms, np.inf).argmin()), "highest": int(norms.argmax())}
    found = {
        "accuracy": accuracy,
        "noise_multiplier": noise,
        "norm_quantiles": np.quantile(norms, [0, 0.05, 0.5, 0.95, 1]),
        "spectral_against_whole_norm": rank_correlation(norms, maps.norm()),
        "norm_against_privacy_loss": rank_correlation(norms, maps.privacy_loss),
        "wrong_high": wrong[high].mean(),
        "wrong_rest": wrong[~high].mean(),
        "distance_high": far[high].mean(),
        "distance_rest": far[~high].mean(),
        "images": len(norms),
        "most_susceptible": int(high.sum()),
        "alike_to_neighbors": np.median(neighbors(maps.values[:, 0])),
        "alike_to_neighbors_interval": around_median(neighbors(maps.values[:, 0])),
        "alike_to_neighbors_in_single_precision": np.median(neighbors(single.values[:, 0])),
        "single_against_double_precision": np.median(alike(single.values, maps.values)),
        "shown": {
            which: {
                "row": row,
                "label": int(y[row]),
                "norm": norms[row],
                "image": x[row, 0],
                "map": maps.values[row, 0],
            }
            for which, row in shown.items()
        },
    }
    # Where the subject is: ink on paper. X-rays have no such place.
    if setting.name == "mnist":
        ink = x[:, 0].numpy() > 0
        squares = maps.values[:, 0] ** 2
        share = (squares * ink).sum((1, 2)) / np.maximum(squares.sum((1, 2)), 1e-300)
        found["share_on_ink"], found["share_of_ink"] = np.median(share), ink.mean()
        found["share_on_ink_interval"] = around_median(share)
        found["foreign_images"] = len(pneumonia("test")[0][:200])
        foreign, labels = pneumonia("test")
        foreign = (foreign - foreign.mean()) / foreign.std()
        other = measure(foreign[:200].double(), labels[:200])
        foreign_norms = other.norm(spectral=True)
        found["x_rays_above_the_digits_median"] = (foreign_norms > np.median(norms)).mean()
        found["x_rays_above_95_of_100_digits"] = (foreign_norms > np.quantile(norms, 0.95)).mean()
        row = int(np.argsort(foreign_norms)[len(foreign_norms) // 2])
        found["shown"]["X-ray"] = {
            "row": row,
            "label": int(labels[row]),
            "norm": foreign_norms[row],
            "image": foreign[row, 0],
            "map": other.values[row, 0],
        }
    return found


def neighbors(maps: np.ndarray) -> np.ndarray:
    """Return how alike neighboring pixels of each map are: 1 for smooth maps, 0 for noise."""
    centered = maps - maps.mean((1, 2), keepdims=True)
    beside = (centered[:, :, 1:] * centered[:, :, :-1]).mean((1, 2)) + (centered[:, 1:] * centered[:, :-1]).mean((1, 2))
    return beside / np.maximum(2 * (centered**2).mean((1, 2)), 1e-300)


def alike(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the cosine between each pair of maps."""
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
    return (a * b).sum(1) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-300)


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return Spearman's."""
    return float(np.corrcoef(a.argsort().argsort(), b.argsort().argsort())[0, 1])


def atypicality(x: Tensor, labels: Tensor) -> np.ndarray:
    """Return how far each image is from those of its class: the mean distance to its ten nearest neighbors there."""
    flat = x.flatten(1)
    found = np.zeros(len(x))
    for label in labels.unique():
        rows = torch.nonzero(labels == label).ravel()
        distances = torch.cdist(flat[rows], flat[rows])
        found[rows.numpy()] = distances.topk(min(11, len(rows)), largest=False).values[:, 1:].mean(1).numpy()
    return found


FULL = [
    Images("mnist", False, 400),
    Images("mnist", True, 400),
    Images("pneumonia", False, 300, 300),
    Images("pneumonia", True, 300, 300),
]
QUICK = [Images(name, private, 12, 60, 60, 600) for name in ("mnist", "pneumonia") for private in (False, True)]


def run(*, quick: bool, work: Work) -> Result:
    """Run the three parts."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    seeds = range(1) if quick else range(10)
    todo = {f"regression-seed{seed}": partial(regression, seed) for seed in seeds}
    todo |= {each.key: partial(images, each) for each in (QUICK if quick else FULL)}
    done = work.pieces(todo)
    runs = [each for key, each in done.items() if key.startswith("regression")]
    found = {key.rpartition("-")[0]: each for key, each in done.items() if not key.startswith("regression")}
    names = ("explained_variance", "correlation", "correlation_without_the_informative")
    numbers = {
        "regression": {
            "seeds": len(runs),
            "noise_multiplier": runs[0]["noise_multiplier"],
            **{
                key: [min(r[key] for r in runs), np.median([r[key] for r in runs]), max(r[key] for r in runs)]
                for key in names
            },
            "informative_over_largest_other": np.array([r["informative_over_largest_other"] for r in runs]).min(0),
        },
        **{key: {k: v for k, v in each.items() if k != "shown"} for key, each in found.items()},
    }
    lines = [f"{key}: {each}" for key, each in numbers.items()]
    figures = {"regression": draw_regression(runs, INFORMATIVE)}
    for name in ("mnist", "pneumonia"):
        pair = {kind: found[f"{name}-{kind}"] for kind in ("plain", "private") if f"{name}-{kind}" in found}
        if len(pair) == 2:
            figures[name] = draw_maps(pair)
    return Result(figures, numbers, lines)
