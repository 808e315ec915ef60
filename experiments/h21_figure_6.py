"""H21 figure 6: eta, test error, and two attacks over penalty and noise (IWPC, VKORC1, squared loss)."""

from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

import seepage
from experiments._prepared import people
from experiments._result import Result
from experiments._style import GRAY, SERIES, letter
from experiments._work import Work

VERSION = 1
_PENALTIES = (1e-5, 1e-3, 1e-1, 1.0)
_KINDS = ("white-box", "white-box with prior", "black-box")
_SCALES = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1, 2e-1, 5e-1, 1.0)
_CLAIMED = 1e-3
"""The mean eta that the paper says protects against both attackers at little cost."""


def measure(penalty: float, quick: bool) -> dict[str, Any]:
    """Attack one model at all noise scales, and at the one that brings the mean eta to what is claimed to be enough."""
    data, scales, trials = people("iwpc"), _SCALES, 100
    if quick:
        data, scales, trials = data.first(800), _SCALES[::5], 10
    shares = data.train[data.attribute].value_counts(normalize=True).to_dict()
    model = data.model(penalty, "first").fit(data.train, data.labels)
    eta = _leak(model, data, 1.0).information.attributes()[data.attribute]
    settings = []
    for scale in (*scales, eta.mean() / _CLAIMED):
        leak, errors = _leak(model, data, scale), _test_error(model, data, scale, trials)
        each = {
            "penalty": penalty,
            "noise_scale": scale,
            "mean_eta": eta.mean() / scale,
            "test_error": errors.mean(),
            "test_error_sd": errors.std(),
        }
        for kind, prior in (("white-box", None), ("white-box with prior", shares), ("black-box", None)):
            hits = _accuracy(leak, data.attribute, kind.split()[0], trials, prior)
            each[kind], each[f"{kind} sd"] = hits.mean(), hits.std()
        settings.append(each)
    predicted = model.predict(data.test)
    return {
        "settings": settings[:-1],
        "claimed": {**settings[-1], "test_error_without_noise": np.mean((predicted - data.test_labels) ** 2)},
        "eta": eta,
        "people": len(data.labels),
        "trials": trials,
        "prior": max(shares.values()),
    }


def run(*, quick: bool, work: Work) -> Result:
    """Attack at 64 settings and 100 trials; `quick` takes 800 people, 16 settings and 10 trials."""
    done = work.pieces(
        {f"penalty {penalty:g}{' quick' * quick}": partial(measure, penalty, quick) for penalty in _PENALTIES}
    )
    settings = [each for piece in done.values() for each in piece["settings"]]
    first = next(iter(done.values()))
    eta = [each["mean_eta"] for each in settings]
    ranks = {kind: spearmanr(eta, [each[kind] for each in settings]).statistic for kind in _KINDS}
    errors = spearmanr([each["test_error"] for each in settings], [each["black-box"] for each in settings]).statistic
    strongest, weakest = settings[int(np.argmax(eta))], settings[int(np.argmin(eta))]
    claimed = [piece["claimed"] for piece in done.values()]
    histograms = {each["penalty"]: np.array(piece["eta"]) for each, piece in zip(claimed, done.values(), strict=True)}
    numbers = {
        "people": first["people"],
        "trials": first["trials"],
        "prior": first["prior"],
        "rank_correlation_with_mean_eta": ranks,
        "rank_correlation_of_black_box_with_test_error": errors,
        "mean_eta_of_a_thousandth": claimed,
        "settings": settings,
        "eta_at_scale_1": {
            str(penalty): {"mean": eta.mean(), "quantiles": np.quantile(eta, [0, 0.05, 0.5, 0.95, 1])}
            for penalty, eta in histograms.items()
        },
    }
    lines = [
        f"rank correlation of accuracy with mean eta over {len(settings)} settings: white-box "
        f"{ranks['white-box']:.3f} (with the prior {ranks['white-box with prior']:.3f}), black-box "
        f"{ranks['black-box']:.3f}; of black-box accuracy with the test error {errors:.3f}",
        f"white-box accuracy {strongest['white-box']:.3f} at mean eta {strongest['mean_eta']:.3g}, "
        f"{weakest['white-box']:.3f} (with the prior {weakest['white-box with prior']:.3f}) at "
        f"{weakest['mean_eta']:.3g}; majority {first['prior']:.3f}",
    ]
    lines += [
        f"mean eta {_CLAIMED:g}, lambda {each['penalty']:g}: noise {each['noise_scale']:.3g}, test error "
        f"{each['test_error_without_noise']:.3g} -> {each['test_error']:.3g}, white-box {each['white-box']:.3f}, "
        f"black-box {each['black-box']:.3f}"
        for each in claimed
    ]
    return Result({"": _draw(histograms, settings, first["prior"])}, numbers, lines)


def _leak(model, data, scale):
    return seepage.measure(model, data.train, data.labels, noise_scale=scale)


def _accuracy(leak, attribute, kind, trials, prior):
    """Return the share of people whose value is guessed right, in each trial."""
    attack = seepage.attacks.AttributeInversion(attribute, kind=kind, prior=prior).fit(leak)
    guesses = np.concatenate([guess for _, guess, _ in attack.draws(trials=trials, seed=0)])
    return (guesses == attack.truth_[:, None]).mean(axis=0)


def _test_error(model, data, scale, trials):
    """Return the mean squared error on the test set of each of many releases."""
    features, ridge = model[:-1].transform(data.test), model[-1]
    noise = scale * np.random.default_rng(0).standard_normal((trials, features.shape[1]))
    predicted = features @ (ridge.coef_ + noise).T
    return np.mean((predicted - data.test_labels[:, None]) ** 2, axis=0)


def _draw(histograms, settings, prior):
    figure, axes = plt.subplots(2, 2, figsize=(6.5, 5.4))
    (eta_panel, error_panel), (white, black) = axes
    for (penalty, eta), (color, marker) in zip(histograms.items(), SERIES, strict=True):
        label = rf"$\lambda = 10^{{{round(np.log10(penalty))}}}$"
        counts, edges = np.histogram(np.log10(eta), bins=35)
        eta_panel.plot(10 ** ((edges[1:] + edges[:-1]) / 2), counts, color=color, label=label)
        chosen = [each for each in settings if each["penalty"] == penalty]
        across = [each["mean_eta"] for each in chosen]
        style = {"color": color, "marker": marker, "capsize": 2, "elinewidth": 0.8}
        if penalty == min(histograms):
            # The two smallest penalties nearly agree: open circles around the other's squares.
            style |= {"ms": 6.5, "mfc": "none", "mew": 0.9}
        for panel, key in ((error_panel, "test_error"), (white, "white-box"), (black, "black-box")):
            spread = [each[f"{key}_sd" if key == "test_error" else f"{key} sd"] for each in chosen]
            panel.errorbar(across, [each[key] for each in chosen], yerr=spread, **style)
        white.plot(across, [each["white-box with prior"] for each in chosen], color=color, linestyle=":", linewidth=1)
    for panel in axes.flat:
        panel.set_xscale("log")
        panel.set_xlabel(r"mean $\eta$ of VKORC1")
    eta_panel.set_xlabel(r"$\eta$ of VKORC1 at $\sigma = 1$")
    eta_panel.set_ylabel("patients")
    error_panel.set_ylabel("mean squared test error")
    error_panel.set_yscale("log")
    error_panel.yaxis.set_major_formatter("{x:g}")
    error_panel.yaxis.set_minor_formatter("")
    error_panel.set_yticks([0.5, 1, 2, 5, 10])
    for panel in (white, black):
        line = panel.axhline(prior, color=GRAY, linestyle="--", linewidth=1)
        panel.set_ylim(0.25, 1.05)
        panel.set_ylabel("share guessed right")
    letter(eta_panel, "a", "information by penalty")
    letter(error_panel, "b", "utility")
    letter(white, "c", "white-box attack")
    letter(black, "d", "black-box attack")
    handles, labels = eta_panel.get_legend_handles_labels()
    dotted = plt.Line2D([], [], color=GRAY, linestyle=":", linewidth=1)
    figure.legend(
        [*handles, dotted, line],
        [*labels, "with the prior", "most frequent value"],
        loc="outside lower center",
        ncols=3,
    )
    return figure
