"""H21 table 1 and figure 5: eta and test accuracy of linear and logistic regression, before and while equalizing."""

from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import seepage
from experiments._prepared import images
from experiments._result import Result
from experiments._style import BLUE, ORANGE, SERIES, letter
from experiments._work import Work

VERSION = 1
# Mean and standard deviation of eta, test accuracy in percent, as printed.
PAPER = {
    "mnist linear": (0.040, 0.014, 100.0),
    "mnist linear, equalized": (0.047, 0.000, 99.8),
    "mnist logistic": (0.027, 0.012, 99.8),
    "mnist logistic, equalized": (0.024, 0.000, 99.7),
    "cifar linear": (0.26, 0.08, 79.8),
    "cifar linear, equalized": (0.30, 0.00, 80.7),
    "cifar logistic": (0.32, 0.15, 79.9),
    "cifar logistic, equalized": (0.25, 0.00, 79.1),
}
ITERATIONS = 15


def measure(name: str, kind: str) -> dict[str, Any]:
    """Run H21's algorithm 1 for fifteen iterations; return each iteration's eta, and accuracy at both ends."""
    data = images(name)
    labels = data.labels(kind)
    weights = np.ones(len(labels))
    means, spreads, accuracies, first = [], [], [], None
    for _ in range(ITERATIONS + 1):
        model = data.model(kind).fit(data.train, labels, sample_weight=weights)
        leak = seepage.measure(model, data.train, labels, noise_scale=1.0, sample_weight=weights)
        eta = leak.information.examples()["eta"]
        first = eta if first is None else first
        means.append(eta.mean())
        spreads.append(eta.std())
        accuracies.append(100 * data.accuracy(model))
        weights = weights / eta
        weights *= len(weights) / weights.sum()
    return {
        "mean": means,
        "sd": spreads,
        "accuracy": accuracies,
        "root_mean_square": np.sqrt((first**2).mean()),
        "mean_by_class": [first[data.classes == c].mean() for c in (0, 1)],
    }


def run(*, quick: bool, work: Work) -> Result:
    """Measure and equalize four models; `quick` leaves out CIFAR-10."""
    kinds = [(name, kind) for name in (("mnist",) if quick else ("mnist", "cifar")) for kind in ("linear", "logistic")]
    found = work.pieces({f"{name} {kind}": partial(measure, name, kind) for name, kind in kinds})
    rows = {}
    for key, each in found.items():
        for suffix, at in (("", 0), (", equalized", -1)):
            rows[f"{key}{suffix}"] = {part: each[part][at] for part in ("mean", "sd", "accuracy")}
    lines = [
        f"{row:28s} eta {each['mean']:.4f} +- {each['sd']:.4f}, test accuracy {each['accuracy']:.2f}%   "
        f"(paper {PAPER[row][0]:.3g} +- {PAPER[row][1]:.2g}, {PAPER[row][2]:.1f}%)"
        for row, each in rows.items()
    ]
    lines += [
        f"{key}: mean by class {each['mean_by_class'][0]:.4f} and {each['mean_by_class'][1]:.4f}, root mean square "
        f"{each['root_mean_square']:.4f}; sd below 1% of the mean after "
        f"{int(np.argmax(np.array(each['sd']) < 0.01 * np.array(each['mean'])))} iterations"
        for key, each in found.items()
    ]
    numbers = {
        "rows": rows,
        "paper": {row: dict(zip(("mean", "sd", "accuracy"), each, strict=True)) for row, each in PAPER.items()},
        "iterations": found,
    }
    return Result({"": _draw(rows, found)}, numbers, lines)


def _draw(rows, found):
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.5, 3.0), width_ratios=(1.25, 1))
    listed = list(reversed(rows))
    for place, row in enumerate(listed):
        for shift, (mean, spread), form, color, label in (
            (0.14, (rows[row]["mean"], rows[row]["sd"]), "o", BLUE, "here"),
            (-0.14, PAPER[row][:2], "s", ORANGE, "paper"),
        ):
            label = label if place == 0 else None
            left.errorbar(mean, place + shift, xerr=spread, fmt=form, color=color, capsize=2, label=label)
    left.set_yticks(range(len(listed)), [_title(row) for row in listed])
    left.set_xscale("log")
    left.set_xlabel(r"$\eta$ at $\sigma = 1$, mean $\pm$ standard deviation")
    left.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    left.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5] if len(rows) > 4 else [0.02, 0.03, 0.04, 0.05])
    left.minorticks_off()
    letter(left, "a", "table 1")
    for (name, each), (color, marker) in zip(found.items(), SERIES, strict=False):
        right.semilogy(np.arange(ITERATIONS + 1), each["sd"], color=color, marker=marker, label=_title(name))
    right.set_xticks(range(0, ITERATIONS + 1, 5))
    right.set_xlabel("iteration")
    right.set_ylabel(r"standard deviation of $\eta$")
    letter(right, "b", "figure 5")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=2)
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=2)
    return figure


def _title(row):
    return row.replace("mnist", "MNIST").replace("cifar", "CIFAR-10")
