"""H21 figure 4: eta against two simpler scores, the loss and the norm of the gradient (MNIST, linear regression)."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

import seepage
from experiments._prepared import images
from experiments._result import Result
from experiments._style import BLUE, ORANGE, letter
from experiments._work import Work

VERSION = 2
"""2: the statistics of many samples of the paper's size as well."""
_SHOWN = 2_000
_SAMPLES = 50


def run(*, quick: bool, work: Work) -> Result:
    """Measure one model; it is quick as it is."""
    del quick, work
    data = images("mnist")
    labels = data.labels("linear")
    model = data.model("linear").fit(data.train, labels)
    eta = seepage.measure(model, data.train, labels, noise_scale=1.0).information.examples()["eta"]
    residual = model.predict(data.train) - labels
    others = {
        "loss": 0.5 * residual**2,
        "gradient norm": np.abs(residual) * np.linalg.norm(data.train, axis=1),
    }
    numbers = {
        name: {"pearson": np.corrcoef(values, eta)[0, 1], "spearman": spearmanr(values, eta).statistic}
        for name, values in others.items()
    }
    low, high = eta <= np.quantile(eta, 0.1), eta >= np.quantile(eta, 0.9)
    for name, values in others.items():
        # Whether a low eta implies a low score, and whether a high one leaves the score open.
        numbers[name]["rank_of_score"] = {
            "median": np.median(values),
            "largest among the tenth with the lowest eta": (values < values[low].max()).mean(),
            "smallest and largest among the tenth with the highest": [
                (values < values[high].min()).mean(),
                (values <= values[high].max()).mean(),
            ],
        }
    # The paper looks at 2,000 images drawn at random: so do we, many times.
    random = np.random.default_rng(1)
    drawn = [random.permutation(len(eta))[:_SHOWN] for _ in range(_SAMPLES)]
    for name, values in others.items():
        numbers[name]["samples"] = {
            "spearman": [spearmanr(values[rows], eta[rows]).statistic for rows in drawn],
            **{
                key: [extreme(eta[rows], values[rows], key) for rows in drawn]
                for key in ("highest rank of the low tenth", "lowest rank of the high tenth")
            },
        }
        numbers[name]["share of the low tenth above the median"] = (values[low] > np.median(values)).mean()
    numbers["images"] = len(eta)
    figure, axes = plt.subplots(1, 2, figsize=(6.5, 2.9), sharey=True)
    sample = np.random.default_rng(0).permutation(len(eta))[:_SHOWN]
    labeled = {"loss": r"loss $\ell(\theta \cdot x, y)$", "gradient norm": r"gradient norm $|\nabla_\theta \ell|$"}
    for mark, panel, (name, values) in zip("ab", axes, others.items(), strict=True):
        for i, (color, marker) in enumerate(((BLUE, "o"), (ORANGE, "^"))):
            part = sample[data.classes[sample] == i]
            panel.scatter(
                values[part], eta[part], s=6, color=color, marker=marker, alpha=0.5, linewidths=0, label=f"digit {i}"
            )
        panel.set_xlabel(labeled[name])
        letter(panel, mark, f"rank correlation {numbers[name]['spearman']:.2f}")
    axes[0].set_ylabel(r"$\eta$")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, markerscale=2)
    lines = [
        f"{name}: rank correlation with eta {found['spearman']:.3f}; ranks {found['rank_of_score']}"
        for name, found in numbers.items()
        if name in others
    ]
    return Result({"": figure}, numbers, lines)


def extreme(eta: np.ndarray, values: np.ndarray, which: str) -> float:
    """Return the rank, from 0 to 1, of the highest score in the tenth with the lowest eta, or of the reverse."""
    if which.startswith("highest"):
        return float((values < values[eta <= np.quantile(eta, 0.1)].max()).mean())
    return float((values < values[eta >= np.quantile(eta, 0.9)].min()).mean())
