"""G22, beyond the paper: least squares on the noisy gradients of its network, against the floors (MNIST, 50 people)."""

import warnings
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import chi2

from experiments._least_squares import PrivateSteps
from experiments._networks import guo_network, mnist
from experiments._private import glorot, mechanism
from experiments._result import Result
from experiments._style import BLUE, ORANGE
from experiments._work import Work

VERSION = 2
PEOPLE = 50
# Two pixels side by side in the middle of the image, which all but the attacked person's are known of.
PIXELS = (14 * 28 + 13, 14 * 28 + 14)
NOISE, NORM, STEP_SIZE = 0.01, 1.0, 0.5
# Steps, and how often they are done anew.
SETTINGS = {"one step": (1, 60), "a run of 3 steps": (3, 20)}


def attacked(steps: int, trials: int, people: int) -> dict[str, Any]:
    """Return errors and floors of each person and pixel."""
    x, y = (part[:people] for part in mnist("train"))
    training = PrivateSteps(
        glorot(guo_network(), 0), (x, y), mechanism(NOISE, NORM), PIXELS, steps=steps, step_size=STEP_SIZE
    )
    errors, floors = training.guesses(trials)
    squares = errors**2 / floors
    ratio = np.sqrt(squares.mean(axis=0)).ravel()
    # People of one run share its noise, and pixels side by side are told by the same part of it: runs are independent,
    # people and pixels are not.
    each = squares.mean(axis=(1, 2))
    return {
        "floor": np.sqrt(floors).ravel(),
        "error_over_floor": ratio,
        "steps": steps,
        "trials": trials,
        "people": people,
        "mean_square_over_floor": each.mean(),
        "its_standard_error": each.std(ddof=1) / np.sqrt(trials),
        # How often guesses at the floor are as good as the best of these, however many pixels there are.
        "p_value": min(1.0, len(ratio) * float(chi2.cdf(trials * ratio.min() ** 2, trials))),
    }


def run(*, quick: bool, work: Work) -> Result:
    """Attack one step and a run."""
    warnings.simplefilter("ignore")
    people = 6 if quick else PEOPLE
    todo = {name: (steps, 6 if quick else trials) for name, (steps, trials) in SETTINGS.items()}
    done = work.pieces(
        {f"{name}, {trials} times": partial(attacked, steps, trials, people) for name, (steps, trials) in todo.items()}
    )
    figure, panels = plt.subplots(1, len(done), figsize=(7.2, 2.9), sharey=True, squeeze=False)
    lines = []
    for panel, (name, each) in zip(panels[0], done.items(), strict=True):
        floor, trials = np.array(each["floor"]), each["trials"]
        ratio = np.array(each["error_over_floor"])[np.argsort(floor)]
        # Sums of squared errors are chi-square distributed.
        ends = [ratio * np.sqrt(trials / chi2.ppf(level, trials)) for level in (0.975, 0.025)]
        panel.errorbar(
            np.arange(len(ratio)),
            ratio,
            [ratio - ends[0], ends[1] - ratio],
            fmt="o",
            ms=2.5,
            lw=0.7,
            color=BLUE,
            label="95% interval",
        )
        panel.axhline(1, color=ORANGE, label="floor")
        panel.set_title(name.split(",")[0])
        panel.set_xlabel(f"pixels of {each['people']} people, by floor")
        lines.append(
            f"{name}: error over floor {ratio.min():.2f} to {ratio.max():.2f}; its mean square is "
            f"{each['mean_square_over_floor']:.2f} +- {1.96 * each['its_standard_error']:.2f}; floors {min(floor):.2f} "
            f"to {max(floor):.2f}; p-value of the smallest {each['p_value']:.2f}"
        )
    panels[0][0].set_ylabel("error of least squares, over floor")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return Result({"": figure}, {"settings": done}, lines)
