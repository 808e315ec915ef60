"""H21 figures 5 and 6: eta, test error, and two attacks over penalty and noise (IWPC, VKORC1, squared loss)."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

import seepage
from experiments._prepared import people
from experiments._result import Result
from experiments._style import GRAY, SERIES, letter

_PENALTIES = (1e-5, 1e-3, 1e-1, 1.0)
_KINDS = ("white-box", "white-box with prior", "black-box")
_SCALES = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1, 2e-1, 5e-1, 1.0)


def run(*, quick: bool) -> Result:
    """Attack at 64 settings, 100 draws a person; `quick` takes 800 people, 20 settings and 20 draws."""
    data, scales, trials = people("iwpc"), _SCALES, 100
    if quick:
        data, scales, trials = data.first(800), _SCALES[::4] + _SCALES[-1:], 20
    shares = data.train[data.attribute].value_counts(normalize=True).to_dict()
    histograms, settings = {}, []
    for penalty in _PENALTIES:
        model = data.model(penalty, "first").fit(data.train, data.labels)
        eta_at_one = _leak(model, data, 1.0).information.attributes()[data.attribute]
        histograms[penalty] = eta_at_one
        for scale in scales:
            leak = _leak(model, data, scale)
            errors = _test_error(model, data, scale, trials)
            settings.append(
                {
                    "penalty": penalty,
                    "noise_scale": scale,
                    "mean_eta": eta_at_one.mean() / scale,
                    "test_error": errors.mean(),
                    "test_error_sd": errors.std(),
                    "white-box": _accuracy(leak, data.attribute, "white-box", trials),
                    "white-box with prior": _accuracy(leak, data.attribute, "white-box", trials, shares),
                    "black-box": _accuracy(leak, data.attribute, "black-box", trials),
                }
            )
    prior = max(shares.values())
    eta = [each["mean_eta"] for each in settings]
    ranks = {kind: spearmanr(eta, [each[kind] for each in settings]).statistic for kind in _KINDS}
    strongest, weakest = settings[int(np.argmax(eta))], settings[int(np.argmin(eta))]
    numbers = {
        "people": len(data.labels),
        "trials": trials,
        "prior": prior,
        "rank_correlation_with_mean_eta": ranks,
        "settings": settings,
        "eta_at_scale_1": {
            str(penalty): {"mean": eta.mean(), "quantiles": np.quantile(eta, [0, 0.05, 0.5, 0.95, 1])}
            for penalty, eta in histograms.items()
        },
    }
    lines = [
        f"rank correlation of accuracy with mean eta over {len(settings)} settings: white-box "
        f"{ranks['white-box']:.3f} (with the prior {ranks['white-box with prior']:.3f}), black-box "
        f"{ranks['black-box']:.3f}",
        f"white-box accuracy {strongest['white-box']:.3f} at mean eta {strongest['mean_eta']:.3g}, "
        f"{weakest['white-box']:.3f} (with the prior {weakest['white-box with prior']:.3f}) at "
        f"{weakest['mean_eta']:.3g}; majority {prior:.3f}",
    ]
    return Result({"": _draw(histograms, settings, prior)}, numbers, lines)


def _leak(model, data, scale):
    return seepage.measure(model, data.train, data.labels, noise_scale=scale)


def _accuracy(leak, attribute, kind, trials, prior=None):
    attack = seepage.attacks.AttributeInversion(attribute, kind=kind, prior=prior).fit(leak)
    return float(attack.evaluate(trials=trials)["success"].mean())


def _test_error(model, data, scale, trials):
    """Return the mean squared error on the test set of each of many releases."""
    features, ridge = model[:-1].transform(data.test), model[-1]
    noise = scale * np.random.default_rng(0).standard_normal((trials, features.shape[1]))
    predicted = features @ (ridge.coef_ + noise).T
    return np.mean((predicted - data.test_labels[:, None]) ** 2, axis=0)


def _draw(histograms, settings, prior):
    figure, axes = plt.subplots(2, 2, figsize=(6.5, 4.8))
    (eta_panel, error_panel), (white, black) = axes
    for (penalty, eta), (color, marker) in zip(histograms.items(), SERIES, strict=True):
        label = rf"$\lambda = 10^{{{round(np.log10(penalty))}}}$"
        counts, edges = np.histogram(np.log10(eta), bins=35)
        eta_panel.plot(10 ** ((edges[1:] + edges[:-1]) / 2), counts, color=color, label=label)
        chosen = [each for each in settings if each["penalty"] == penalty]
        across = [each["mean_eta"] for each in chosen]
        style = {"color": color, "marker": marker, "label": label}
        error_panel.plot(across, [each["test_error"] for each in chosen], **style)
        white.plot(across, [each["white-box"] for each in chosen], **style)
        white.plot(across, [each["white-box with prior"] for each in chosen], color=color, linestyle=":", linewidth=1)
        black.plot(across, [each["black-box"] for each in chosen], **style)
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
        panel.axhline(prior, color=GRAY, linestyle="--", linewidth=1)
        panel.set_ylim(0.25, 1.02)
        panel.set_ylabel("share guessed right")
    white.annotate("majority", (0.98, prior - 0.04), xycoords=("axes fraction", "data"), color=GRAY, ha="right")
    eta_panel.legend()
    letter(eta_panel, "a", "information by penalty")
    letter(error_panel, "b", "utility")
    letter(white, "c", "white-box attack (dotted: with the prior)")
    letter(black, "d", "black-box attack")
    return figure
