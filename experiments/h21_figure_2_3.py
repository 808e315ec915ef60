"""H21 figures 2 and 3: eta by class, and the images that leak most and least."""

import matplotlib.pyplot as plt
import numpy as np

import seepage
from experiments._prepared import CLASSES, images
from experiments._result import Result
from experiments._style import BLUE, ORANGE, letter
from experiments._work import Work

VERSION = 2
"""2: the classes of the images at both ends."""
_SHOWN = 8
_TITLE = {"mnist": "MNIST", "cifar": "CIFAR-10"}


def run(*, quick: bool, work: Work) -> Result:
    """Measure four models; `quick` leaves out CIFAR-10."""
    found = {}
    for name in ("mnist",) if quick else ("mnist", "cifar"):
        data = images(name)
        for kind in ("linear", "logistic"):
            model = data.model(kind).fit(data.train, data.labels(kind))
            leak = seepage.measure(model, data.train, data.labels(kind), noise_scale=1.0)
            found[name, kind] = leak.information.examples()["eta"]
            work.say(f"{name} {kind} is measured")
    numbers = {}
    for (name, kind), eta in found.items():
        data, order = images(name), np.argsort(eta)
        numbers[f"{name} {kind}"] = {
            "mean": eta.mean(),
            "mean_by_class": {c: eta[data.classes == i].mean() for i, c in enumerate(CLASSES[name])},
            "largest": eta[order[::-1][:_SHOWN]],
            "largest_rows": order[::-1][:_SHOWN],
            "largest_classes": [CLASSES[name][i] for i in data.classes[order[::-1][:_SHOWN]]],
            "smallest": eta[order[:_SHOWN]],
            "smallest_rows": order[:_SHOWN],
            "smallest_classes": [CLASSES[name][i] for i in data.classes[order[:_SHOWN]]],
        }
    lines = []
    for name in dict.fromkeys(name for name, _ in found):
        for count in (100, 500):
            top = [set(np.argsort(found[name, kind])[-count:].tolist()) for kind in ("linear", "logistic")]
            numbers[f"{name} shared among the {count} largest"] = len(top[0] & top[1])
            lines.append(
                f"{name}: {len(top[0] & top[1])} of the {count} largest eta are the same images in both models"
            )
    lines += [
        f"{row}: mean eta by class " + ", ".join(f"{c} {m:.4f}" for c, m in values["mean_by_class"].items())
        for row, values in numbers.items()
        if isinstance(values, dict)
    ]
    return Result({"histograms": _histograms(found), "images": _pictures(found)}, numbers, lines)


def _histograms(found):
    names = list(dict.fromkeys(name for name, _ in found))
    figure, axes = plt.subplots(len(names), 2, figsize=(6.5, 2.2 * len(names)), squeeze=False)
    for place, ((name, kind), eta) in enumerate(found.items()):
        panel, classes = axes.flat[place], images(name).classes
        bins = np.linspace(eta.min(), np.quantile(eta, 0.999), 70)
        for i, (color, line) in enumerate(((BLUE, "--"), (ORANGE, ":"))):
            part, label = eta[classes == i], CLASSES[name][i]
            panel.hist(part, bins=bins, color=color, alpha=0.55, label=label)
            panel.axvline(part.mean(), color=color, linestyle=line, linewidth=1.5)
        panel.set_xlabel(r"$\eta$ of one image")
        if kind == "linear":
            panel.set_ylabel("images")
            panel.legend(loc="upper right")
        letter(panel, "abcd"[place], f"{_TITLE[name]}, {kind} regression")
    return figure


def _pictures(found):
    figure = plt.figure(figsize=(6.5, 1.95 * len(found)))
    parts = figure.subfigures(len(found), 1, squeeze=False).flat
    for part, ((name, kind), eta) in zip(parts, found.items(), strict=True):
        order, pictures = np.argsort(eta), images(name).pictures
        part.suptitle(f"{_TITLE[name]}, {kind} regression", fontsize=9, x=0.01, ha="left")
        axes = part.subplots(2, _SHOWN)
        for row, (label, rows) in enumerate(
            (("largest $\\eta$", order[::-1][:_SHOWN]), ("smallest $\\eta$", order[:_SHOWN]))
        ):
            for panel, person in zip(axes[row], rows, strict=True):
                panel.imshow(pictures[person], cmap="gray", interpolation="nearest")
                panel.set_xticks([])
                panel.set_yticks([])
                panel.spines[:].set_visible(False)
                panel.set_title(f"{eta[person]:#.3g}", fontsize=8, pad=2)
            axes[row, 0].set_ylabel(label, fontsize=8)
    return figure
