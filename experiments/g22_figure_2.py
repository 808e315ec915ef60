"""G22 figure 2: the floor 1/dFIL^2 on the error of reconstructing each image (MNIST 0/1, logistic regression)."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import seepage
from experiments._result import Result
from experiments._style import BLUE, GRAY, ORANGE, RED
from experiments._work import Work
from experiments.datasets import load_mnist
from seepage import meaning

VERSION = 1
_PENALTY = _SCALE = 1e-2
_DRAWS = 10


def run(*, quick: bool, work: Work) -> Result:
    """Measure one model on all 784 pixels, the label public; it is quick as it is."""
    del quick, work
    train, test = load_mnist(digits=(0, 1)), load_mnist(digits=(0, 1), subset="test")
    n = len(train.target)
    model = LogisticRegression(C=1 / (_PENALTY * n), fit_intercept=False, tol=1e-6, max_iter=1000)
    model.fit(train.data, train.target)
    leak = seepage.measure(model, train.data, train.target, noise_scale=_SCALE, public_label=True)
    floor = 1 / leak.information.examples()["dfil"] ** 2
    noise = _SCALE * np.random.default_rng(0).standard_normal((_DRAWS, train.data.shape[1]))
    accuracy = np.mean((test.data @ (model.coef_ + noise).T > 0) == (test.target == 1)[:, None], axis=0)
    unit = meaning.output_perturbation(sensitivity=2 / (n * _PENALTY), noise_scale=_SCALE, delta=1e-5)
    honest = leak.information.guarantee(1e-5, None)
    pixels = [1.0] * 784
    numbers = {
        "floor_quantiles": dict(
            zip(("0", "5", "50", "95", "100"), np.quantile(floor, [0, 0.05, 0.5, 0.95, 1]), strict=True)
        ),
        "blind_guess": train.data.var(axis=0).mean(),
        "share_of_floors_below_blind_guess": float(np.mean(floor < train.data.var(axis=0).mean())),
        "share_of_floors_below_1": float(np.mean(floor < 1)),
        "test_accuracy_of_releases": accuracy.mean(),
        "renyi_epsilon_unit_inputs": unit.renyi,
        "renyi_epsilon_in_the_paper": float(np.sqrt(unit.renyi)),
        "renyi_floor_unit_inputs": meaning.reconstruction_floor(unit.renyi, pixels),
        "renyi_floor_with_the_papers_epsilon": meaning.reconstruction_floor(float(np.sqrt(unit.renyi)), pixels),
        "largest_input_norm": float(np.linalg.norm(train.data, axis=1).max()),
        "renyi_epsilon_true_inputs": honest.renyi,
        "renyi_floor_true_inputs": meaning.reconstruction_floor(honest.renyi, pixels),
    }
    lines = [
        f"1/dFIL^2: smallest {floor.min():.3g}, median {np.median(floor):.3g}, largest {floor.max():.3g}",
        f"blind guess {numbers['blind_guess']:.3f}",
        f"Renyi floor {numbers['renyi_floor_unit_inputs']:.4f} if inputs had norm 1 (with the paper's epsilon "
        f"{numbers['renyi_floor_with_the_papers_epsilon']:.3f})",
        f"Renyi floor {numbers['renyi_floor_true_inputs']:.1g} with their norm of up to "
        f"{numbers['largest_input_norm']:.1f}",
    ]
    figure, panel = plt.subplots(figsize=(6.0, 3.1))
    bins = np.logspace(np.log10(floor.min()), np.log10(floor.max()), 100)
    panel.hist(floor, bins=bins, color=BLUE, alpha=0.75)
    panel.set_xscale("log")
    panel.set_xlim(left=0.01)
    for at, color, style, words in (
        (numbers["renyi_floor_unit_inputs"], RED, "--", "Rényi bound (inputs of norm 1)"),
        (numbers["blind_guess"], ORANGE, "-", "guessing the mean image"),
        (1.0, GRAY, ":", "whole range of a pixel"),
    ):
        panel.axvline(at, color=color, linestyle=style, linewidth=1.3, label=words)
    panel.set_xlabel(r"floor on the mean squared error of a pixel, $1 / \mathrm{dFIL}^2$")
    panel.set_ylabel("images")
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return Result({"": figure}, numbers, lines)
