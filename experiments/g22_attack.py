"""G22, beyond the paper: least squares on the noisy gradients of its network, against the floors (MNIST, 50 people)."""

import warnings
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from torch import nn

import seepage
from experiments._networks import guo_network, mnist
from experiments._private import glorot
from experiments._result import Result
from experiments._style import BLUE, ORANGE
from experiments._work import Work
from seepage.attacks import LeastSquares
from seepage.network import Mechanism, PrivateSteps

VERSION = 1
PEOPLE = 50
# Two pixels side by side in the middle of the image, which all but the attacked person's are known of.
PIXELS = (14 * 28 + 13, 14 * 28 + 14)
NOISE, NORM, STEP_SIZE = 0.01, 1.0, 0.5
# Steps, and how often they are done anew.
SETTINGS = {"one step": (1, 100), "a run of 3 steps": (3, 40)}


def attacked(steps: int, trials: int, people: int) -> dict[str, Any]:
    """Return errors and floors of each person and pixel."""
    x, y = (part[:people] for part in mnist("train"))
    training = PrivateSteps(
        model=glorot(guo_network(), 0),
        loss=nn.CrossEntropyLoss(),
        batch=(x, y),
        mechanism=Mechanism(noise_multiplier=NOISE, max_grad_norm=NORM, clipping="smooth"),
        steps=steps,
        step_size=STEP_SIZE,
    )
    found = seepage.verify(training, LeastSquares(PIXELS), trials=trials)
    columns = ("error", "standard_error", "floor", "biased_floor", "p_value")
    numbers = {name: np.asarray(found.frame[name]) for name in columns}
    ratio = numbers["error"] / numbers["floor"]
    # The mean over people and pixels of (error over floor)^2 is 1 at the floor. Errors of two people in one run share
    # its noise, but the noise has many more directions than they have values.
    squares, count = ratio**2, trials * len(ratio)
    return numbers | {
        "steps": steps,
        "trials": trials,
        "people": people,
        "holds": found.holds,
        "mean_square_over_floor": squares.mean(),
        "its_standard_error": np.sqrt(2 / count) * squares.mean(),
        "smallest": ratio.min(),
        "largest": ratio.max(),
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
        floor = np.array(each["floor"])
        order = np.argsort(floor)
        ratio, error = np.array(each["error"]) / floor, 1.96 * np.array(each["standard_error"]) / floor
        panel.errorbar(
            np.arange(len(order)), ratio[order], error[order], fmt="o", ms=2.5, lw=0.7, color=BLUE, label="95% interval"
        )
        panel.axhline(1, color=ORANGE, label="floor")
        panel.set_title(name.split(",")[0])
        panel.set_xlabel(f"pixels of {each['people']} people, by floor")
        mean = each["mean_square_over_floor"]
        lines.append(
            f"{name}: error over floor {each['smallest']:.2f} to {each['largest']:.2f}; its mean square is "
            f"{mean:.3f} +- {1.96 * each['its_standard_error']:.3f}; floors {min(floor):.2f} to {max(floor):.2f}; "
            f"smallest p-value {min(each['p_value']):.3f} of {len(floor)}; the bound holds: {each['holds']}"
        )
    panels[0][0].set_ylabel("error of least squares, over floor")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return Result({"": figure}, {"settings": done}, lines)
