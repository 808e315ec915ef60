"""Susceptibility and gradient inversion (Mueller et al. 2022, table 1 and figure 3) on chest X-rays."""

import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from scipy.stats import spearmanr
from torch import nn

import seepage.network
from experiments._networks import guo_network, pneumonia
from experiments._result import Result
from experiments._style import SERIES
from experiments.plis import train
from seepage.attacks import GradientInversion
from seepage.network import Update

LOSS = nn.CrossEntropyLoss()
NOISE, NORM = 1.0, 1.0
WEIGHTS = (0.002, 0.02, 0.2)
"""Of total variation: how smooth the attacker takes images to be."""


class Standardized(nn.Module):
    """A network behind the standardization of its pixels, so that the attacked inputs lie between 0 and 1."""

    def __init__(self, network: nn.Module, mean: float, deviation: float) -> None:
        super().__init__()
        self.network, self.mean, self.deviation = network, mean, deviation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network((x - self.mean) / self.deviation)


def chosen(norms: np.ndarray, count: int) -> np.ndarray:
    """Return images at evenly spaced ranks of susceptibility, the least first."""
    order = np.argsort(norms)
    return order[np.linspace(0, len(order) - 1, count).round().astype(int)]


def draw(images: Any, rows: np.ndarray, norms: np.ndarray, found: dict[tuple[str, float], Any]) -> Figure:
    """Draw SSIM over susceptibility, and the two ends with their reconstructions."""
    figure = plt.figure(figsize=(8.6, 3.4))
    left, right = figure.subfigures(1, 2, width_ratios=(1.2, 1))
    axis = left.subplots()
    for weight, (color, marker) in zip(WEIGHTS, SERIES, strict=False):
        axis.plot(norms, found["bare", weight].frame["ssim"], marker, color=color, label=f"smoothness {weight:g}")
        axis.plot(norms, found["private", weight].frame["ssim"], marker, color=color, mfc="none")
    axis.set_xscale("log")
    axis.set_ylim(-0.1, 1.25)
    axis.set_yticks(np.arange(0, 1.1, 0.25))
    axis.set_xlabel("susceptibility of the image")
    axis.set_ylabel("SSIM of its reconstruction")
    axis.set_title("filled: from the gradient; open: clipped, with noise")
    axis.legend(loc="upper left", ncol=3, columnspacing=0.8, handletextpad=0.1)
    bare, private = (found[key, WEIGHTS[1]] for key in ("bare", "private"))
    axes = right.subplots(2, 3)
    for line, (at, name) in enumerate(((0, "least susceptible"), (-1, "most susceptible"))):
        shown = (images[rows[at], 0], bare.guesses[at, 0], private.guesses[at, 0])
        # Adding zero turns a rounded -0.0 into 0.0.
        titles = ["image", *(f"SSIM {round(each.frame['ssim'].iloc[at], 2) + 0.0:.2f}" for each in (bare, private))]
        for axis, picture, title in zip(axes[line], shown, titles, strict=True):
            axis.imshow(picture, cmap="gray", vmin=0, vmax=1)
            axis.set_title(title, fontsize=8)
            axis.set_xticks([])
            axis.set_yticks([])
        axes[line, 0].set_ylabel(name, fontsize=8)
    axes[1, 1].set_xlabel("from the gradient", fontsize=8)
    axes[1, 2].set_xlabel("clipped, with noise", fontsize=8)
    return figure


def run(*, quick: bool) -> Result:
    """Train, measure susceptibility, invert, and compare."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    training, people, count, steps = (20, 300, 4, 30) if quick else (200, 3000, 24, 250)
    images, labels = (part[:people] for part in pneumonia("train"))
    mean, deviation = float(images.mean()), float(images.std())
    torch.manual_seed(0)
    network = train((images - mean) / deviation, labels, guo_network(), private=False, steps=training)
    model = Standardized(network, mean, deviation)
    susceptibility = seepage.network.susceptibility(model, LOSS, images, labels, noise_scale=None, max_grad_norm=None)
    norms = susceptibility.norm()
    rows = chosen(norms, count)
    updates = {"bare": Update(), "private": Update(max_grad_norm=NORM, noise_multiplier=NOISE)}
    found = {
        (key, weight): GradientInversion(steps=steps, total_variation=weight)
        .fit(model, LOSS, update=update)
        .evaluate(images[rows], labels[rows])
        for key, update in updates.items()
        for weight in WEIGHTS
    }
    numbers: dict[str, Any] = {"images": count, "susceptibility": norms[rows], "weights": WEIGHTS}
    lines = []
    for (key, weight), each in found.items():
        ssim = each.frame["ssim"].to_numpy()
        rank = spearmanr(norms[rows], ssim)
        numbers.setdefault(key, {})[f"{weight:g}"] = {
            **{column: each.frame[column].to_numpy() for column in ("ssim", "psnr", "mse", "similarity")},
            "ssim_least": float(ssim[0]),
            "ssim_most": float(ssim[-1]),
            "ssim_mean": float(ssim.mean()),
            "rank_correlation": float(rank.statistic),
            "p_value": float(rank.pvalue),
        }
        lines.append(
            f"{key}, total variation {weight:g}: SSIM {ssim[0]:.3f} (least susceptible), {ssim[-1]:.3f} (most), "
            f"{ssim.mean():.3f} on average; rank correlation with susceptibility {rank.statistic:.2f} "
            f"(p = {rank.pvalue:.1g})"
        )
    return Result({"": draw(images, rows, norms[rows], found)}, numbers, lines)
