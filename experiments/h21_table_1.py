"""H21 table 1: eta and test accuracy of linear and logistic regression, before and after equalizing."""

import matplotlib.pyplot as plt
import numpy as np

import seepage
from experiments._prepared import images
from experiments._result import Result
from experiments._style import BLUE, GRAY, ORANGE, SERIES, letter

# Mean and standard deviation of eta, test accuracy in percent.
PAPER = {
    "mnist linear": (0.040, 0.014, 100.0),
    "mnist linear, equalized": (0.047, 0.000, 99.8),
    "cifar linear": (0.26, 0.08, 79.8),
    "cifar linear, equalized": (0.30, 0.00, 80.7),
}


def run(*, quick: bool) -> Result:
    """Measure and equalize four models; `quick` leaves out CIFAR-10."""
    rows, histories = {}, {}
    for name in ("mnist",) if quick else ("mnist", "cifar"):
        data = images(name)
        for kind in ("linear", "logistic"):
            equal = seepage.EqualizedLeakage(data.model(kind), noise_scale=1.0).fit(data.train, data.labels(kind))
            plain = data.model(kind).fit(data.train, data.labels(kind))
            leak = seepage.measure(plain, data.train, data.labels(kind), noise_scale=1.0)
            for suffix, measured, fitted in (
                ("", leak, plain),
                (", equalized", equal.leakage_, equal.estimator_),
            ):
                eta = measured.information.examples()["eta"]
                rows[f"{name} {kind}{suffix}"] = (eta.mean(), eta.std(), 100 * data.accuracy(fitted))
            histories[f"{name} {kind}"] = equal.history_
    lines = [
        f"{row:28s} eta {mean:.4f} +- {spread:.4f}, test accuracy {accuracy:.2f}%"
        + (f"   (paper {PAPER[row][0]:.3g} +- {PAPER[row][1]:.2g}, {PAPER[row][2]:.1f}%)" if row in PAPER else "")
        for row, (mean, spread, accuracy) in rows.items()
    ]
    numbers = {
        "rows": {
            row: dict(zip(("mean", "sd", "accuracy"), map(float, found), strict=True)) for row, found in rows.items()
        },
        "paper": {row: dict(zip(("mean", "sd", "accuracy"), found, strict=True)) for row, found in PAPER.items()},
        "spread_by_iteration": histories,
    }
    return Result({"": _draw(rows, histories)}, numbers, lines)


def _draw(rows, histories):
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.5, 2.7), width_ratios=(1.25, 1))
    listed = list(reversed(rows))
    for place, row in enumerate(listed):
        mean, spread, _ = rows[row]
        left.errorbar(
            mean, place + 0.12, xerr=spread, fmt="o", color=BLUE, capsize=2, label="here" if place == 0 else None
        )
        if row in PAPER:
            left.errorbar(
                PAPER[row][0],
                place - 0.12,
                xerr=PAPER[row][1],
                fmt="s",
                color=ORANGE,
                capsize=2,
                label="paper" if row == "mnist linear" else None,
            )
    left.set_yticks(range(len(listed)), [row.replace("mnist", "MNIST").replace("cifar", "CIFAR-10") for row in listed])
    left.set_xscale("log")
    left.set_xlabel(r"$\eta$ at $\sigma = 1$, mean $\pm$ standard deviation")
    left.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    left.set_xticks([0.02, 0.05, 0.1, 0.2, 0.3] if len(rows) > 4 else [0.02, 0.03, 0.04, 0.05])
    left.minorticks_off()
    left.legend(loc="upper left" if len(rows) <= 4 else "lower left")
    letter(left, "a", "table 1")
    for (name, history), (color, marker) in zip(histories.items(), SERIES, strict=False):
        label = name.replace("mnist", "MNIST").replace("cifar", "CIFAR-10")
        right.semilogy(np.arange(len(history)), history, color=color, marker=marker, label=label)
    right.axhline(1e-3, color=GRAY, linewidth=0.8, linestyle=":")
    right.xaxis.get_major_locator().set_params(integer=True)
    right.set_ylim(top=3)
    right.set_xlabel("iteration")
    right.set_ylabel(r"spread of $\eta$ (sd / mean)")
    right.legend()
    letter(right, "b", "equalizing")
    return figure
