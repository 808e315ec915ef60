"""The figures of the experiments with networks."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from experiments._style import BLUE, GRAY, GREEN, ORANGE, PINK

WAYS = {
    "no credit": (ORANGE, "no credit for sampling"),
    "kappa": (GREEN, "kappa of Guo et al."),
    "exact": (BLUE, "exact for Poisson sampling"),
    "renyi": (PINK, "Renyi bound, for everybody"),
}
SHAPES = {
    ("code", 32.0): ("o", "C = 32"),
    ("code", 16.0): ("D", "C = 16"),
    ("code", 8.0): ("s", "C = 8"),
    ("code", 4.0): ("v", "C = 4"),
    ("code", 2.0): ("P", "C = 2"),
    ("code", 1.0): ("X", "C = 1"),
    ("printed", 32.0): ("^", "C = 32, network as printed"),
    ("color", 1.0): ("o", "C = 1"),
}
LOWEST = 1e-8
"""Bounds below are drawn here: they promise nothing, whatever they are."""


def draw_guo(done: dict[str, Any], floors: Any, pictures: Any, value_range: float = 1.0) -> dict[str, Figure]:
    """Draw the floors of the most exposed and of the median image over accuracy, and the images at both ends."""
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 4.4), sharey=True)
    drawn = set()
    for axis, which, title in zip(
        axes, ("smallest", "median"), ("(a) most exposed image", "(b) median image"), strict=True
    ):
        for way, (color, _) in WAYS.items():
            points = []
            for each in done.values():
                shape = (each["setting"]["network"], each["setting"]["norm"])
                drawn.add(shape)
                run = [
                    (100 * r["test_accuracy"], r["renyi_floor"] if way == "renyi" else floors(r)[way][which])
                    for r in each["readings"]
                ]
                points += run
                accuracy, floor = zip(*run, strict=True)
                # Where kappa is 1 its points are those without credit: larger ones, around them.
                size = 6.0 if way == "no credit" else 3.5
                face = "none" if way == "no credit" else color
                axis.plot(
                    accuracy, np.maximum(floor, LOWEST), SHAPES[shape][0], color=color, ms=size, mfc=face, mew=0.9
                )
            axis.step(*_best(points), where="pre", color=color, lw=0.9, ls="--")
        axis.axhline(1.0, color=GRAY, lw=0.9)
        axis.axhline(value_range**2 / 4, color=GRAY, lw=0.9, ls=":")
        axis.set_yscale("log")
        axis.set_title(title, loc="left")
        axis.set_xlabel("test accuracy (%)")
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("smallest mean squared error per pixel\nof an unbiased guess")
    lines = [
        *((plt.Line2D([], [], color=color, ls="--"), label) for color, label in WAYS.values()),
        (plt.Line2D([], [], color=GRAY, lw=0.9), "perfect privacy in the paper"),
        (plt.Line2D([], [], color=GRAY, lw=0.9, ls=":"), "guessing gray"),
        *(
            (plt.Line2D([], [], color=GRAY, ls="", marker=marker), label)
            for shape, (marker, label) in SHAPES.items()
            if shape in drawn
        ),
    ]
    figure.legend(*zip(*lines, strict=True), loc="outside lower center", ncols=3)
    return {"": figure, "images": _draw_extremes(done, pictures)}


def _best(points: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Return the frontier: the largest floor among all runs that are at least so accurate."""
    order = sorted(points)
    best = np.maximum.accumulate([floor for _, floor in order[::-1]])[::-1]
    return [accuracy for accuracy, _ in order], np.maximum(best, LOWEST).tolist()


def _draw_extremes(done: dict[str, Any], pictures: Any) -> Figure:
    """Draw the ten most and the ten least exposed images of the first run, at its first reading."""
    reading = next(iter(done.values()))["readings"][0]
    rows = {"most exposed": reading["most"], "least exposed": reading["least"]}
    figure, axes = plt.subplots(2, 10, figsize=(7.2, 1.9), squeeze=False)
    for line, (title, listed) in zip(axes, rows.items(), strict=True):
        for axis in line:
            axis.set_axis_off()
        for axis, row in zip(line, listed, strict=False):
            axis.imshow(np.moveaxis(np.asarray(pictures[int(row)]), 0, -1), cmap="gray_r")
        line[0].set_axis_on()
        line[0].set_xticks([])
        line[0].set_yticks([])
        line[0].spines[:].set_visible(False)
        line[0].set_ylabel(title, fontsize=8)
    return figure


def draw_regression(runs: list[dict[str, Any]], informative: int) -> Figure:
    """Draw both measures of every column, means over seeds with their spread."""
    figure, axis = plt.subplots(figsize=(6.5, 2.9))
    place = np.arange(len(runs[0]["fil"]))
    for shift, key, label, color in (
        (-0.2, "susceptibility", "susceptibility", BLUE),
        (0.2, "fil", "root information", ORANGE),
    ):
        values = np.array([np.array(run[key]) / run[key][informative] for run in runs])
        axis.bar(place + shift, values.mean(0), 0.4, yerr=values.std(0), capsize=1.5, label=label, color=color)
    axis.set_yscale("log")
    axis.set_xticks(place)
    axis.set_xlabel(f"column (only {informative} tells the target)")
    axis.set_ylabel(f"relative to column {informative}")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def draw_maps(pair: dict[str, dict[str, Any]]) -> Figure:
    """Draw the images of the lowest and the highest susceptibility with their maps, without and with privacy."""
    shown = list(pair["plain"]["shown"])
    figure, axes = plt.subplots(2, 2 * len(shown), figsize=(1.3 * 2 * len(shown), 3.2), squeeze=False)
    for line, (kind, title) in zip(
        axes, (("plain", "without privacy"), ("private", "with privacy (1, 1e-5)")), strict=True
    ):
        for place, which in enumerate(shown):
            each = pair[kind]["shown"][which]
            picture, heat = line[2 * place], line[2 * place + 1]
            picture.imshow(each["image"], cmap="gray")
            reach = np.abs(each["map"]).max() or 1.0
            heat.imshow(each["map"], cmap="RdBu_r", vmin=-reach, vmax=reach)
            picture.set_title(which, fontsize=8)
            heat.set_title(f"norm {each['norm']:.1e}", fontsize=8)
            for axis in (picture, heat):
                axis.set_xticks([])
                axis.set_yticks([])
        line[0].set_ylabel(title, fontsize=8)
    return figure
