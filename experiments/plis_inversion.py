"""Susceptibility and gradient inversion (Mueller et al. 2022, table 1 and figure 3) on chest X-rays."""

import warnings
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from scipy.stats import spearmanr
from torch import nn

import seepage.network
from experiments._inversion import GradientInversion
from experiments._networks import pneumonia
from experiments._result import Result
from experiments._style import BLUE, ORANGE
from experiments._work import Work
from experiments.plis import Images, trained

VERSION = 3
REGION = 4
"""Pixels along the side of a region: 49 regions of an X-ray."""
LOSS = nn.CrossEntropyLoss()
NOISE, NORM, WEIGHT = 1.0, 1.0, 0.02
COUNT = 24
AT_ONCE = 8
"""Images a piece."""
PAPER = {"low": (0.8536, 0.7323), "high": (0.9912, 0.7779)}
"""SSIM and HaarPSI of two images, as printed."""


def chosen(norms: np.ndarray, count: int) -> np.ndarray:
    """Return images at evenly spaced ranks of susceptibility: the ends first, then between, so that a part is even."""
    order = np.argsort(norms)
    places = [
        0.0,
        1.0,
        *(sum(int(bit) / 2 ** (k + 1) for k, bit in enumerate(f"{i:b}"[::-1])) for i in range(1, count)),
    ]
    return order[[round(place * (len(order) - 1)) for place in places[:count]]]


class Standardized(nn.Module):
    """A network behind the standardization of its pixels, so that the attacked inputs lie between 0 and 1."""

    def __init__(self, network: nn.Module, mean: float, deviation: float) -> None:
        super().__init__()
        self.network, self.mean, self.deviation = network, mean, deviation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the network's output."""
        return self.network((x - self.mean) / self.deviation)


def attacked(setting: Images, kind: str, attack: GradientInversion, places: range, count: int) -> list[dict[str, Any]]:
    """Train without protection; attack some of the images at even ranks of susceptibility, each alone."""
    torch.set_num_threads(1)
    x, y = (part[: setting.people] for part in pneumonia("train"))
    model = Standardized(trained(setting)[0], float(x.mean()), float(x.std()))
    maps = seepage.network.susceptibility(model, LOSS, x, y, noise_scale=None, max_grad_norm=None)
    norms = maps.norm(spectral=True)
    rows = chosen(norms, count)[places.start : places.stop]
    norm = NORM if kind == "private" else None
    guesses, scores = attack.evaluate(model, x[rows], y[rows], norm=norm, noise=NOISE, seed=places.start)
    found = []
    for place, row in enumerate(rows):
        truth, guess = x[row, 0].double().numpy(), guesses[place, 0]
        found.append(
            {
                "row": int(row),
                "label": int(y[row]),
                "norm": float(norms[row]),
                "rank": float((norms < norms[row]).mean()),
                **{name: float(values[place]) for name, values in scores.items()},
                "regions": spearmanr(
                    regions(np.abs(maps.values[row, 0])).ravel(), regions((truth - guess) ** 2).ravel()
                ).statistic,
                "image": truth,
                "guess": guess,
            }
        )
    return found


def regions(picture: np.ndarray) -> np.ndarray:
    """Return the mean over each region."""
    side = len(picture) // REGION
    return picture.reshape(side, REGION, side, REGION).mean((1, 3))


def interval(a: np.ndarray, b: np.ndarray) -> list[float]:
    """Return a 95% interval of the rank correlation, by drawing images anew."""
    random = np.random.default_rng(0)
    draws = random.integers(0, len(a), (2000, len(a)))
    return np.nanquantile([spearmanr(a[rows], b[rows]).statistic for rows in draws], [0.025, 0.975]).tolist()


def run(*, quick: bool, work: Work) -> Result:
    """Attack images at even ranks of susceptibility; some of them clipped and with noise as well."""
    warnings.simplefilter("ignore")
    training, count, steps, restarts = (12, 3, 60, 1) if quick else (300, COUNT, 3000, 2)
    setting = Images("pneumonia", False, training, 60 if quick else 300, people=300 if quick else None)
    attack = GradientInversion(steps=steps, restarts=restarts, total_variation=WEIGHT)
    todo = {
        f"{kind}-{steps}-{restarts}-{number}-{start}": partial(attacked, setting, kind, attack, places, number)
        for kind, number in (("private", min(count, AT_ONCE)), ("bare", count))
        for start in range(0, number, AT_ONCE)
        for places in [range(start, min(start + AT_ONCE, number))]
    }
    done = work.pieces(todo)
    numbers: dict[str, Any] = {"steps": steps, "restarts": restarts, "total_variation": WEIGHT, "paper": PAPER}
    lines, groups = [], {}
    for kind in ("bare", "private"):
        runs = [each for key, found in done.items() if key.startswith(kind) for each in found]
        runs.sort(key=lambda each: each["norm"])
        if not runs:
            continue
        groups[kind] = runs
        norms = np.array([each["norm"] for each in runs])
        numbers[kind] = {"images": len(runs), "susceptibility": norms, "regions": [each["regions"] for each in runs]}
        for score in ("ssim", "haarpsi"):
            values = np.array([each[score] for each in runs])
            enough = len(runs) > 2
            numbers[kind][score] = {
                "each": values,
                "least_susceptible": values[0],
                "most_susceptible": values[-1],
                "place_of_the_most_susceptible": int((values > values[-1]).sum()) + 1,
                "mean": values.mean(),
                "rank_correlation": spearmanr(norms, values).statistic if enough else None,
                "interval": interval(norms, values) if enough else None,
            }
        lines.append(f"{kind}: {numbers[kind]}")
    return Result({"": draw(groups)} if "bare" in groups else {}, numbers, lines)


def draw(groups: dict[str, list[dict[str, Any]]]) -> Figure:
    """Draw both scores over susceptibility, and the two ends with their reconstructions."""
    figure = plt.figure(figsize=(8.0, 3.4))
    left, right = figure.subfigures(1, 2, width_ratios=(1.5, 1))
    for axis, score, title in zip(
        left.subplots(1, 2, sharey=True), ("ssim", "haarpsi"), ("SSIM", "HaarPSI"), strict=True
    ):
        for kind, color, marker, label in (
            ("bare", BLUE, "o", "from the gradient"),
            ("private", ORANGE, "s", "clipped, with noise"),
        ):
            runs = groups.get(kind, [])
            axis.plot([e["norm"] for e in runs], [e[score] for e in runs], marker, color=color, label=label)
        axis.set_xscale("log")
        axis.set_ylim(-0.1, 1.05)
        axis.set_xlabel("susceptibility of the image")
        axis.set_title(f"{title} of its reconstruction")
        axis.grid(alpha=0.25)
    left.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    axes = right.subplots(2, 2)
    for line, (at, name) in enumerate(((0, "least susceptible"), (-1, "most susceptible"))):
        each = groups["bare"][at]
        titles = ("image", f"SSIM {each['ssim']:.2f}, HaarPSI {each['haarpsi']:.2f}")
        for axis, picture, title in zip(axes[line], (each["image"], each["guess"]), titles, strict=True):
            axis.imshow(picture, cmap="gray", vmin=0, vmax=1)
            axis.set_title(title, fontsize=8)
            axis.set_xticks([])
            axis.set_yticks([])
        axes[line, 0].set_ylabel(name, fontsize=8)
    return figure
