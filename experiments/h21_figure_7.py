"""H21 figure 7: equalizing an attribute's leakage flattens the attack over deciles (IWPC and Adult, squared loss).

H21 equalizes the linearized eta of the one-hot columns, which depends on the level that the encoding drops; beside it
stands the exact distance to the nearest other value, which does not.
"""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np

import seepage
from experiments._prepared import people
from experiments._result import Result
from experiments._style import SERIES, letter
from experiments._work import Work

VERSION = 1
_PENALTY = {"iwpc": 1e-2, "adult": 1e-3}
_SCALE = 1e-3
_ITERATIONS = (0, 2, 10)
_TITLE = {"iwpc": "IWPC", "adult": "Adult"}
_WAYS = [
    (name, target, dropped)
    for name in ("iwpc", "adult")
    for target in ("linearized", "exact")
    for dropped in ("first", "last")
]


def run(*, quick: bool, work: Work) -> Result:
    """Equalize two data sets in four ways and attack with 100 draws; `quick` takes 20 draws and a part of Adult."""
    todo = {
        f"{name}, {target}, {dropped} level dropped{', quick' * quick}": partial(equalize, name, target, dropped, quick)
        for name, target, dropped in _WAYS
    }
    numbers, lines = {"trials": trials(quick)}, []
    for key, found in work.pieces(todo).items():
        row = key.removesuffix(", quick")
        ranges = {step: max(by) - min(by) for step, by in found["accuracy_by_decile"].items()}
        numbers[row] = {**found, "range_over_deciles": ranges}
        lines.append(
            f"{row}: range over deciles "
            + " -> ".join(f"{ranges[str(step)]:.2f}" for step in _ITERATIONS)
            + f", mean accuracy {found['accuracy']['0']:.3f} -> {found['accuracy']['10']:.3f}, spread of the leakage "
            + " -> ".join(f"{found['spread'][step]:.3f}" for step in _ITERATIONS)
            + f", test error {found['test_error']['0']:.3f} -> {found['test_error']['10']:.3f}"
        )
    return Result({"": _draw(numbers)}, numbers, lines)


def trials(quick):
    """Return how often everybody is attacked."""
    return 20 if quick else 100


def equalize(name, target, dropped, quick):
    """Run H21's algorithm 1 for ten iterations, and attack some of them."""
    data, scale, draws = people(name), _SCALE, trials(quick)
    if quick and name == "adult":
        # Fewer people leak more each: noise in proportion keeps the attack where it is.
        scale *= len(data.labels) / 2_000
        data = data.first(2_000)
    weights = np.ones(len(data.labels))
    kept = {"accuracy_by_decile": {}, "deviation_by_decile": {}, "accuracy": {}, "test_error": {}, "spread": []}
    deciles = None
    for step in range(max(_ITERATIONS) + 1):
        model = data.model(_PENALTY[data.name], dropped)
        model.fit(data.train, data.labels, ridge__sample_weight=weights)
        leak = seepage.measure(model, data.train, data.labels, noise_scale=scale, sample_weight=weights)
        if target == "linearized":
            exposure = leak.information.attributes()[data.attribute]
        else:
            exposure = leak.information.distances(data.attribute, None).nearest()
        kept["spread"].append(exposure.std() / exposure.mean())
        if deciles is None:
            # People stay in the decile that they are in before any reweighting.
            deciles = np.argsort(np.argsort(exposure)) * 10 // len(exposure)
        if step in _ITERATIONS:
            attack = seepage.attacks.AttributeInversion(data.attribute).fit(leak)
            guesses = np.concatenate([guess for _, guess, _ in attack.draws(trials=draws, seed=0)])
            right = guesses == attack.truth_[:, None]
            by_trial = np.array([right[deciles == d].mean(axis=0) for d in range(10)])
            kept["accuracy_by_decile"][step] = by_trial.mean(axis=1)
            kept["deviation_by_decile"][step] = by_trial.std(axis=1)
            kept["accuracy"][step] = right.mean()
            kept["test_error"][step] = _test_error(model, data)
        weights = weights / exposure
        weights *= len(weights) / weights.sum()
    return kept


def _test_error(model, data):
    predicted = model.predict(data.test)
    if data.name == "iwpc":
        return float(np.mean((predicted - data.test_labels) ** 2))
    return float(np.mean((predicted > 0) != (data.test_labels > 0)))


def _draw(numbers):
    figure, axes = plt.subplots(2, 5, figsize=(7.6, 4.6))
    for line, name in enumerate(_TITLE):
        spread = axes[line, 0]
        rows = [(target, dropped) for each, target, dropped in _WAYS if each == name]
        every = [
            value
            for target, dropped in rows
            for by in numbers[f"{name}, {target}, {dropped} level dropped"]["accuracy_by_decile"].values()
            for value in by
        ]
        low, high = min(every), max(every)
        for place, (target, dropped) in enumerate(rows):
            found = numbers[f"{name}, {target}, {dropped} level dropped"]
            color, marker = SERIES[place]
            label = f"{target}, {dropped} level dropped"
            spread.semilogy(range(len(found["spread"])), found["spread"], color=color, marker=marker, label=label)
            panel = axes[line, place + 1]
            for step, (color, marker) in zip(_ITERATIONS, SERIES, strict=False):
                panel.errorbar(
                    np.arange(1, 11),
                    found["accuracy_by_decile"][str(step)],
                    yerr=found["deviation_by_decile"][str(step)],
                    color=color,
                    marker=marker,
                    capsize=1.5,
                    elinewidth=0.7,
                    label=f"iteration {step}",
                )
            panel.set_xticks([1, 4, 7, 10])
            panel.set_ylim(low - 0.05, high + 0.05)
            if place:
                panel.tick_params(labelleft=False)
            letter(panel, "bcdeghij"[4 * line + place], f"{target},\n{dropped} dropped" if line == 0 else "")
        letter(spread, "af"[line], "spread of\nthe leakage" if line == 0 else "")
        spread.set_ylabel(f"{_TITLE[name]}\nsd / mean")
        axes[line, 1].set_ylabel("share guessed right")
    axes[1, 0].set_xlabel("iteration")
    axes[1, 2].set_xlabel("decile of the leakage before equalizing", x=1)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, title="a, f")
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside upper center", ncols=3, title="b to e, g to j")
    return figure
