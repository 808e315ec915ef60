"""The figures of the experiments with networks."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from experiments._networks import mnist
from experiments._style import BLUE, ORANGE, SERIES
from seepage.display import SusceptibilityDisplay


def draw_guo(done: dict[str, Any]) -> dict[str, Figure]:
    """Draw accuracy against floors, and the most and least exposed images."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
    for norm, (color, marker) in zip((1.0, 4.0), SERIES, strict=False):
        runs = sorted((r for r in done["runs"] if r["max_grad_norm"] == norm), key=lambda r: r["noise_multiplier"])
        if not runs:
            continue
        accuracy = [100 * r["test_accuracy"] for r in runs]
        median = [r["dfil_median"] ** -2 for r in runs]
        high = [r["dfil_high"] ** -2 for r in runs]
        left.plot(median, accuracy, marker + "-", color=color, label=f"median person, C = {norm:g}")
        left.plot(high, accuracy, marker + "--", mfc="none", color=color, label=f"one in a thousand, C = {norm:g}")
        for x, y, run in zip(median, accuracy, runs, strict=True):
            left.annotate(
                f"$\\sigma$={run['noise_multiplier']:g}", (x, y), textcoords="offset points", xytext=(6, 5), fontsize=8
            )
        noise = [r["noise_multiplier"] for r in runs]
        right.plot(noise, median, marker + "-", color=color, label=f"exact sampling factor, C = {norm:g}")
        guo = [1 / (r["kappa"] * r["unamplified_median"] ** 2) for r in runs]
        right.plot(noise, guo, marker + ":", color=color, label=f"kappa of Guo et al., C = {norm:g}")
    bounds = {r["noise_multiplier"]: r["renyi_floor"] for r in done["runs"]}
    right.plot(sorted(bounds), [bounds[n] for n in sorted(bounds)], "k^-.", label="Renyi bound, for everybody")
    left.set_xscale("log")
    left.set_xlabel("floor: mean squared error per pixel of any unbiased guess")
    left.set_ylabel("test accuracy (%)")
    left.set_title("What a person keeps, and what the model learns")
    left.legend()
    # Beyond a quarter of the squared range no floor says anything: guessing gray does as well.
    for axis, line in ((left, left.axvline), (right, right.axhline)):
        line(0.25, color="gray", lw=0.8)
        axis.grid(alpha=0.25)
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xticks(sorted(bounds), [f"{n:g}" for n in sorted(bounds)])
    right.minorticks_off()
    right.set_xlabel(r"noise multiplier $\sigma$")
    right.set_ylabel("floor of the median person")
    right.set_title("Three ways of counting (gray line: guessing gray)")
    right.legend()
    return {"": figure, **({"images": _draw_extremes(done["shown"])} if done["shown"] else {})}


def _draw_extremes(shown: dict[str, Any]) -> Figure:
    images, _ = mnist("train")
    figure, axes = plt.subplots(2, 10, figsize=(9, 2.4))
    for row, (key, title) in enumerate([("largest", "most exposed"), ("smallest", "least exposed")]):
        for axis, (index, dfil) in zip(axes[row], shown[key], strict=False):
            axis.imshow(images[index, 0], cmap="gray_r")
            axis.set_title(f"{dfil:.2g}", fontsize=8)
            axis.set_xticks([])
            axis.set_yticks([])
        axes[row, 0].set_ylabel(title)
    figure.suptitle("Root information per pixel (dfil) of the ten images at each end", fontsize=9)
    return figure


def draw_regression(found: dict[str, Any]) -> Figure:
    """Draw both measures of every column."""
    figure, axis = plt.subplots(figsize=(5.2, 2.6))
    place = np.arange(len(found["eta"]))
    for shift, key, label, color in (
        (-0.2, "susceptibility", "susceptibility (root mean square)", BLUE),
        (0.2, "eta", "eta accounted along training", ORANGE),
    ):
        values = np.array(found[key])
        axis.bar(place + shift, values / values.max(), 0.4, label=label, color=color)
    axis.set_xticks(place, [f"x{j}" for j in place])
    axis.set_ylabel("relative to the largest")
    axis.set_title(f"Only x0 tells the target: correlation {found['correlation']:.3f}")
    axis.legend()
    return figure


def draw_maps(found: dict[str, Any]) -> Figure:
    """Draw the images of the highest and of typical susceptibility with their maps, without and with privacy."""
    figure = plt.figure(figsize=(9, 8.6))
    for part, (key, title) in zip(
        figure.subfigures(3, 1),
        [
            ("plain", "trained without privacy: gradient signal"),
            ("before clipping", "trained with privacy: gradient signal, before clipping"),
            ("published", "trained with privacy: privacy loss of what is published, clipped and with noise"),
        ],
        strict=True,
    ):
        maps = found[key]["maps"]
        order = np.argsort(maps.norm())
        typical = order[len(order) // 2 : len(order) // 2 + 4]
        rows = [*order[::-1][:4], *typical]
        labels = [int(found["labels"][i]) for i in rows]
        ceiling = np.inf if maps.max_grad_norm is None else (maps.max_grad_norm / maps.noise_scale) ** 2
        clipped = maps.privacy_loss > 0.999 * ceiling
        norms = ["clipped" if clipped[i] else f"{maps.norm()[i]:.1e}" for i in rows]
        titles = [f"label {label}\n{norm}" for norm, label in zip(norms, labels, strict=True)]
        display = SusceptibilityDisplay.from_susceptibility(maps, found["images"], rows=rows, titles=titles)
        display.plot(part.subplots())
        part.suptitle(f"{title} (left four: most susceptible; right four: median)")
    return figure
