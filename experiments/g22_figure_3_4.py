"""G22 figures 3 and 4: every image reconstructed, and its error against its floor (MNIST 0/1, logistic regression)."""

from functools import cache, partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import chdtr, expit, lambertw
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

import seepage
from experiments._result import Result
from experiments._style import BLUE, GRAY, ORANGE, RED, letter
from experiments._work import Work
from experiments.datasets import load_mnist

VERSION = 1
_PENALTY, _SCALE = 1e-2, 1e-5
_SHOWN = 8
# Releases in a piece, and at a time: each of them is attacked for everybody.
_BLOCK, _TOGETHER = 1_000, 50
# How often one of all images is called below its floor by chance.
_FALSE_ALARMS = 0.01
_KINDS = ("without intercept", "with intercept")


def run(*, quick: bool, work: Work) -> Result:
    """Reconstruct everybody from 10,000 releases of two models; `quick` takes 2,000 people, 300 releases, one model."""
    trained, trials, kinds = (2_000, 300, _KINDS[:1]) if quick else (None, 10_000, _KINDS)
    X, _ = _digits(trained)
    prior = float(X.var(axis=0).mean())
    size = min(_BLOCK, trials)
    todo = {
        f"{kind}-every image-{size}-{block}": partial(_attacked, trained, kind, size, block)
        for block in range(trials // size)
        for kind in kinds
    }
    done = work.pieces(todo)
    numbers, lines, frames = {"people": len(X), "prior_variance": prior}, [], {}
    for name in kinds:
        parts = [each for key, each in done.items() if key.startswith(name)]
        if not parts:
            continue
        leak = _leak(trained, name)
        frames[name] = _frame(leak, parts, size * len(parts))
        found = numbers[name] = {"trials": size * len(parts), **_summary(frames[name], prior)}
        some = np.random.default_rng(0).permutation(len(X))[:100]
        found["error_without_noise"] = _without_noise(leak, X, some)
        lines += [
            f"{name}, {found['trials']} releases: rank correlation of error and floor {found['spearman']:.3f}; without "
            f"noise the largest error is {found['error_without_noise']:.1g}",
            f"{found['floor_below_prior']} floors below the prior variance {prior:.3f}: rank correlation "
            f"{found['spearman_below_prior']:.3f}, smallest error "
            f"{found['smallest_error_over_floor_below_prior']:.2f} floors",
            f"{found['below']} of {len(X)} below the floor of unbiased attacks; smallest floor above its error "
            f"{found['smallest_floor_above_its_error']}",
        ]
    pictures = _reconstructed(_leak(trained, kinds[0]), X, trials=min(trials, 200))
    return Result({"errors": _errors(frames, prior), "images": _pictures(*pictures)}, numbers, lines)


@cache
def _digits(count):
    digits = load_mnist(digits=(0, 1))
    return digits.data[:count], digits.target[:count]


@cache
def _leak(count, kind):
    X, y = _digits(count)
    intercept = kind == "with intercept"
    model = LogisticRegression(C=1 / (_PENALTY * len(y)), fit_intercept=intercept, tol=1e-8, max_iter=1000).fit(X, y)
    return seepage.measure(model, X, y, noise_scale=_SCALE, public_label=True)


def _attacked(count, kind, trials, block):
    """Return the sums of everybody's errors and of their squares, over so many releases."""
    X, y = _digits(count)
    start = _leak(count, kind).information.geometry.parameters[:, 0]
    random = np.random.default_rng([0, block])
    sums, squares = np.zeros(len(X)), np.zeros(len(X))
    for first in range(0, trials, _TOGETHER):
        noise = _SCALE * random.standard_normal((min(_TOGETHER, trials - first), len(start)))
        errors = errors_of_everybody(start + noise, X, y, _PENALTY * len(X))
        sums += errors.sum(axis=0)
        squares += (errors**2).sum(axis=0)
    return {"sums": sums, "squares": squares}


def errors_of_everybody(theta, X, y, strength):
    """Return the mean squared error of `seepage.attacks.Reconstruction` for each release and each person.

    With g the gradient of the objective at the release and a the slope of the loss at a record x, the attack guesses
    (a x - g) / s: s is the slope at the root of an equation, or with an intercept the last entry of the numerator. Its
    error needs products of x, g and theta only, and no vector for each pair of a release and a person.
    """
    width = X.shape[1]
    intercept = theta.shape[1] > width
    margin = theta[:, :width] @ X.T + (theta[:, width:] if intercept else 0.0)
    slope = expit(margin) - y
    gradient = slope @ X + strength * theta[:, :width]
    cross, whole, own = gradient @ X.T, (gradient**2).sum(axis=1)[:, None], (X**2).sum(axis=1)
    if intercept:
        scale = slope - slope.sum(axis=1)[:, None]
    else:
        # m slope(m, y) = theta . (a x - g), with n = m for a 1 and -m for a 0: n expit(-n) = -theta . (a x - g).
        target = (theta * gradient).sum(axis=1)[:, None] - slope * margin
        size = 0.5 * np.log(slope**2 * own - 2 * slope * cross + whole)
        typical = 0.5 * np.log(own).mean()
        tails = [expit(-root) for root in _roots(target)]
        # Both roots give records of one direction: the attacker takes the one of the likelier length.
        odd = [np.abs(size - np.log(tail) - typical) for tail in tails]
        scale = (1 - 2 * y) * np.where(odd[1] < odd[0], tails[1], tails[0])
    excess = slope / scale - 1
    return (excess**2 * own - 2 * excess * cross / scale + whole / scale**2) / width


def _roots(target):
    """Return the two n with n expit(-n) = t: n = t - W(-t e^t), on both branches of Lambert's function."""
    turn = 1.2784645427610738
    top = turn * expit(-turn)
    inside = np.minimum(target, top)
    inner = np.maximum(-inside * np.exp(inside), -np.exp(-1.0))
    small = np.where(target < top, inside - lambertw(inner, 0).real, turn)
    with np.errstate(divide="ignore", invalid="ignore"):
        large = inside - lambertw(inner, -1).real
    return small, np.where((target > 0) & (target <= top), large, np.nan)


def _without_noise(leak, X, people):
    attack = seepage.attacks.Reconstruction(people).fit(leak)
    return float(((attack.guess(attack.exact()) - X[people]) ** 2).mean(axis=1).max())


def _frame(leak, parts, trials):
    """Return floor and error of everybody, and who is below by more than chance."""
    floor = 1 / leak.information.examples()["dfil"] ** 2
    sums, squares = (np.sum([part[name] for part in parts], axis=0) for name in ("sums", "squares"))
    error = sums / trials
    # At the floor errors are squares of Gaussian numbers; the pixels of an image count as one.
    chance = chdtr(trials, trials * np.minimum(error / floor, 1e6))
    return pd.DataFrame(
        {
            "floor": floor,
            "error": error,
            "standard_error": np.sqrt(np.maximum(squares / trials - error**2, 0) / trials),
            "below": chance < _FALSE_ALARMS / len(floor),
        }
    )


def _summary(frame, prior):
    # Whether bias explains the rest is not asked: the bound for a bias that is measured on the same draws as the error
    # holds by itself, whatever the information is.
    tight, above = frame["floor"] < prior, frame["floor"] > frame["error"]
    return {
        "spearman": spearmanr(frame["floor"], frame["error"]).statistic,
        "spearman_below_prior": spearmanr(frame["floor"][tight], frame["error"][tight]).statistic,
        "below": int(frame["below"].sum()),
        "floor_below_prior": int(tight.sum()),
        "floor_below_one": int((frame["floor"] < 1).sum()),
        "smallest_error_over_floor_below_prior": float((frame["error"] / frame["floor"])[tight].min()),
        "smallest_error_over_floor_below_one": float((frame["error"] / frame["floor"])[frame["floor"] < 1].min()),
        "floors_above_their_error": int(above.sum()),
        "smallest_floor_above_its_error": float(frame["floor"][above].min()) if above.any() else None,
        "share_with_standard_error_above_half": float((frame["standard_error"] > 0.5 * frame["error"]).mean()),
        "median_error_over_floor_below_prior": float((frame["error"] / frame["floor"])[tight].median()),
        "floor_quantiles": frame["floor"].quantile([0, 0.25, 0.5, 0.75, 1]).to_numpy(),
        "error_quantiles": frame["error"].quantile([0, 0.25, 0.5, 0.75, 1]).to_numpy(),
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
                    s=11 if len(frame) < 1000 else 3,
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
