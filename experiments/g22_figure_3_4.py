"""G22 figures 3 and 4: reconstructed images, and their error against its floor (MNIST 0/1, logistic regression)."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

import seepage
from experiments._result import Result
from experiments._style import BLUE, GRAY, ORANGE, RED, letter
from seepage.datasets import load_mnist

_PENALTY, _SCALE = 1e-2, 1e-5
_SHOWN = 8
# People at a time: each holds a 784 x 784 matrix while its attack is verified.
_BLOCK = 50


def run(*, quick: bool) -> Result:
    """Reconstruct 200 images from 10,000 releases; `quick` takes 2,000 to train on, 12 people, 300 draws, one model."""
    digits = load_mnist(digits=(0, 1))
    X, y = digits.data, digits.target
    attacked, trials = 200, 10_000
    if quick:
        X, y, attacked, trials = X[:2_000], y[:2_000], 12, 300
    people = np.sort(np.random.default_rng(0).permutation(len(y))[:attacked])
    prior = float(X.var(axis=0).mean())
    numbers, lines, frames = {"people": attacked, "trials": trials, "prior_variance": prior}, [], {}
    for intercept in (False,) if quick else (False, True):
        leak = _leak(X, y, intercept)
        frame = pd.concat(
            [
                seepage.verify(leak, seepage.attacks.Reconstruction(people[at : at + _BLOCK]), trials=trials).frame
                for at in range(0, attacked, _BLOCK)
            ]
        )
        name = "with intercept" if intercept else "without intercept"
        frames[name] = frame
        numbers[name] = _summary(frame, prior)
        numbers[name]["error_without_noise"] = _without_noise(leak, X, people)
        found = numbers[name]
        lines += [
            f"{name}: rank correlation of error and floor {found['spearman']:.3f}; without noise the largest error is "
            f"{found['error_without_noise']:.1g}",
            f"{found['floor_below_prior']} floors below the prior variance {prior:.3f}: rank correlation "
            f"{found['spearman_below_prior']:.3f}, smallest error "
            f"{found['smallest_error_over_floor_below_prior']:.2f} floors",
            f"{found['below']} of {attacked} below the floor of unbiased attacks",
        ]
        if not intercept:
            pictures = _reconstructed(leak, X, trials=min(trials, 200))
    return Result({"errors": _errors(frames, prior), "images": _pictures(*pictures)}, numbers, lines)


def _leak(X, y, intercept):
    model = LogisticRegression(C=1 / (_PENALTY * len(y)), fit_intercept=intercept, tol=1e-8, max_iter=1000).fit(X, y)
    return seepage.measure(model, X, y, noise_scale=_SCALE, public_label=True)


def _without_noise(leak, X, people):
    attack = seepage.attacks.Reconstruction(people).fit(leak)
    return float(((attack.guess(attack.exact()) - X[people]) ** 2).mean(axis=1).max())


def _summary(frame, prior):
    # Whether bias explains the rest is not asked: the bound for a bias that is measured on the same draws as the error
    # holds by itself, whatever the information is.
    tight = frame["floor"] < prior
    return {
        "spearman": spearmanr(frame["floor"], frame["error"]).statistic,
        "spearman_below_prior": spearmanr(frame["floor"][tight], frame["error"][tight]).statistic,
        "below": int(frame["below"].sum()),
        "floor_below_prior": int(tight.sum()),
        "below_among_those": int((frame["below"] & tight).sum()),
        "smallest_error_over_floor_below_prior": float((frame["error"] / frame["floor"])[tight].min()),
        "floors_above_their_error": np.sort(frame["floor"][frame["floor"] > frame["error"]]),
        "share_with_standard_error_above_half": float((frame["standard_error"] > 0.5 * frame["error"]).mean()),
        "median_error_over_floor_below_prior": float((frame["error"] / frame["floor"])[tight].median()),
        "floor": frame["floor"].to_numpy(),
        "error": frame["error"].to_numpy(),
        "standard_error": frame["standard_error"].to_numpy(),
    }


def _reconstructed(leak, X, trials):
    """Return the images with the lowest and highest floors, each as it is, from one release, and on average."""
    floor = 1 / leak.information.examples()["dfil"] ** 2
    order = np.argsort(floor)
    shown = np.r_[order[:_SHOWN], order[-_SHOWN:]]
    attack = seepage.attacks.Reconstruction(shown).fit(leak)
    guesses = np.concatenate([guess for guess, _ in attack.draws(trials=trials, seed=0)])
    return X[shown], guesses[0], guesses.mean(axis=0), floor[shown], trials


def _errors(frames, prior):
    figure, axes = plt.subplots(
        1, len(frames), figsize=(3.4 * len(frames), 3.5), sharex=True, sharey=True, squeeze=False
    )
    axes = axes[0]
    for mark, panel, (name, frame) in zip("ab", axes, frames.items(), strict=False):
        below = frame["below"].to_numpy()
        for part, color, marker, label in (
            (~below, BLUE, "o", "one image"),
            (below, RED, "v", "below the floor"),
        ):
            if part.any():
                panel.scatter(
                    frame["floor"][part],
                    frame["error"][part],
                    s=11,
                    color=color,
                    marker=marker,
                    alpha=0.7,
                    linewidths=0,
                    label=label,
                )
        ends = np.array([frame["floor"].min() / 2, frame["floor"].max() * 2])
        panel.plot(ends, ends, color="black", linewidth=1, label="floor")
        panel.axvline(prior, color=ORANGE, linewidth=1.2, label="guessing the mean image")
        panel.axvline(1.0, color=GRAY, linewidth=1, linestyle=":", label="whole range of a pixel")
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel(r"floor, $1 / \mathrm{dFIL}^2$")
        letter(panel, mark, name)
    axes[0].set_ylabel("mean squared error of the attack")
    handles = {}
    for panel in axes:
        handles.update(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2 if len(frames) == 1 else 3)
    return figure


def _pictures(truth, once, mean, floor, trials):
    figure = plt.figure(figsize=(6.5, 5.2))
    halves = figure.subfigures(2, 1)
    for half, part, title in zip(halves, (slice(_SHOWN), slice(_SHOWN, None)), ("lowest", "highest"), strict=True):
        half.suptitle(f"The {_SHOWN} images with the {title} floor", fontsize=9, x=0.01, ha="left")
        axes = half.subplots(3, _SHOWN)
        rows = (("original", truth[part]), ("one\nrelease", once[part]), (f"mean of\n{trials}", mean[part]))
        for row, (label, images) in zip(axes, rows, strict=True):
            for panel, image in zip(row, images, strict=True):
                panel.imshow(image.clip(0, 1).reshape(28, 28), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
                panel.set_xticks([])
                panel.set_yticks([])
                panel.spines[:].set_visible(False)
            row[0].set_ylabel(label, fontsize=8)
        for panel, value in zip(axes[0], floor[part], strict=True):
            panel.set_title(_power(value), fontsize=8, pad=2)
    return figure


def _power(value):
    """Return a number as it is written in print."""
    exponent = int(np.floor(np.log10(value)))
    return rf"${value / 10**exponent:.1f} \cdot 10^{{{exponent}}}$"
