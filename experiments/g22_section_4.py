"""G22, sections 2 to 4: worked examples, and the two theorems beside guesses that are shrunk, whose error is known."""

import matplotlib.pyplot as plt
import numpy as np

from experiments._result import Result
from experiments._style import BLUE, GRAY, ORANGE
from experiments._work import Work
from seepage import meaning

VERSION = 1
WIDTHS = (0.5, 1.0, 2.0, 3.0)
"""Intervals of one value with Gaussian noise of scale 1, whose epsilon of order 2 is their square."""
FACTORS = (0.2, 0.5, 0.8, 1.0)
PLACES = (0.25, 0.75)
"""Where in its interval the value is."""
DRAWS = 200_000


def run(*, quick: bool, work: Work) -> Result:
    """Compute the examples, and shrink unbiased guesses; it is quick as it is."""
    del quick, work
    normal = np.random.default_rng(0).normal(size=DRAWS)
    biased = []
    for width in WIDTHS:
        for factor in FACTORS:
            for place in PLACES:
                value = place * width
                squares = (factor * (value + normal) - value) ** 2
                off = (factor - 1) * value
                biased.append(
                    {
                        "width": width,
                        "factor": factor,
                        "error": squares.mean(),
                        "relative_error": squares.std() / squares.mean() / DRAWS**0.5,
                        "unbiased": meaning.reconstruction_floor(width**2, [width]),
                        "theorem_1": meaning.reconstruction_floor(width**2, [width], mean_slopes=factor, bias=off),
                        "theorem_2": meaning.biased_floor(np.eye(1), np.array([[factor]]), np.array([off])),
                    }
                )
    floor = meaning.reconstruction_floor(2.0, [100.0])
    short = (1.0, 0.1, 0.01, 0.001)
    numbers = {
        "example": {"range": 100.0, "epsilon": 2.0, "floor": floor, "deviation": floor**0.5},
        "tightness": {"widths": short, "ratios": [meaning.reconstruction_floor(w**2, [w]) for w in short]},
        "membership": [{"epsilon": e, "right": 1 / (1 + np.exp(-e)), "advantage": np.tanh(e / 2)} for e in (0.1, 2.0)],
        "biased": biased,
    }
    figure, panel = plt.subplots(figsize=(4.6, 3.2))
    errors = [each["error"] for each in biased]
    for name, color, label in (
        ("theorem_1", ORANGE, "theorem 1, slope and bias"),
        ("theorem_2", BLUE, "theorem 2, slope and bias"),
        ("unbiased", GRAY, "theorem 1, unbiased guesses"),
    ):
        panel.plot([each[name] for each in biased], errors, "o", color=color, ms=4, label=label)
    ends = [1e-4, 2.0]
    panel.plot(ends, ends, color="black", lw=0.9)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("bound on the mean squared error")
    panel.set_ylabel("error of the guess")
    figure.legend(loc="outside lower center", ncols=2)
    lines = [f"theorem 1 on [0, 100] at epsilon 2: {floor:.1f}, deviation {floor**0.5:.1f}"]
    return Result({"": figure}, numbers, lines)
