"""H21 figure 7: equalizing flattens the attack over deciles of leakage (IWPC and Adult, squared loss).

H21 equalizes the linearized eta of the one-hot columns, which depends on the level that the encoding drops; beside it
stands the exact distance to the nearest other value, which does not.
"""

import matplotlib.pyplot as plt
import numpy as np

import seepage
from experiments._prepared import people
from experiments._result import Result
from experiments._style import SERIES, letter

_PENALTY = {"iwpc": 1e-2, "adult": 1e-3}
_SCALE = 1e-3
_ITERATIONS = (0, 2, 10)
_TITLE = {"iwpc": "IWPC", "adult": "Adult"}


def run(*, quick: bool) -> Result:
    """Equalize two data sets in four ways and attack with 100 draws; `quick` takes 20 draws and a part of Adult."""
    curves, numbers, lines = {}, {}, []
    for name in ("iwpc", "adult"):
        data, scale = people(name), _SCALE
        if quick and name == "adult":
            # Fewer people leak more each: noise in proportion keeps the attack where it is.
            scale *= len(data.labels) / 2_000
            data = data.first(2_000)
        for target in ("linearized", "exact"):
            for dropped in ("first", "last"):
                found = _equalized(data, target, dropped, scale, trials=20 if quick else 100)
                curves[name, target, dropped] = found["accuracy_by_decile"]
                ranges = {step: max(by) - min(by) for step, by in found["accuracy_by_decile"].items()}
                row = f"{name}, {target}, {dropped} level dropped"
                numbers[row] = {**found, "range_over_deciles": ranges}
                lines.append(
                    f"{row}: range over deciles {ranges[0]:.2f} -> {ranges[10]:.2f}, mean accuracy "
                    f"{found['accuracy'][0]:.3f} -> {found['accuracy'][10]:.3f}, test error "
                    f"{found['test_error'][0]:.3f} -> {found['test_error'][10]:.3f}"
                )
    return Result({"": _draw(curves)}, numbers, lines)


def _equalized(data, target, dropped, scale, trials):
    """Run H21's algorithm 1 for ten iterations, and attack some of them."""
    weights = np.ones(len(data.labels))
    kept = {"accuracy_by_decile": {}, "accuracy": {}, "test_error": {}, "spread": {}}
    deciles = None
    for step in range(max(_ITERATIONS) + 1):
        model = data.model(_PENALTY[data.name], dropped)
        model.fit(data.train, data.labels, ridge__sample_weight=weights)
        leak = seepage.measure(model, data.train, data.labels, noise_scale=scale, sample_weight=weights)
        if target == "linearized":
            exposure = leak.information.attributes()[data.attribute]
        else:
            exposure = leak.information.distances(data.attribute, None).nearest()
        if deciles is None:
            # People stay in the decile that they are in before any reweighting.
            deciles = np.argsort(np.argsort(exposure)) * 10 // len(exposure)
        if step in _ITERATIONS:
            attack = seepage.attacks.AttributeInversion(data.attribute).fit(leak)
            success = np.asarray(attack.evaluate(trials=trials)["success"])
            kept["accuracy_by_decile"][step] = [float(success[deciles == d].mean()) for d in range(10)]
            kept["accuracy"][step] = float(success.mean())
            kept["test_error"][step] = _test_error(model, data)
            kept["spread"][step] = float(exposure.std() / exposure.mean())
        weights = weights / exposure
        weights *= len(weights) / weights.sum()
    return kept


def _test_error(model, data):
    predicted = model.predict(data.test)
    if data.name == "iwpc":
        return float(np.mean((predicted - data.test_labels) ** 2))
    return float(np.mean((predicted > 0) != (data.test_labels > 0)))


def _draw(curves):
    figure, axes = plt.subplots(2, 4, figsize=(6.8, 3.7), sharex=True, sharey="row")
    for mark, panel, ((name, target, dropped), by_step) in zip("abcdefgh", axes.flat, curves.items(), strict=True):
        for (step, accuracy), (color, marker) in zip(by_step.items(), SERIES, strict=False):
            panel.plot(np.arange(1, 11), accuracy, color=color, marker=marker, label=f"iteration {step}")
        what = r"linearized $\eta$" if target == "linearized" else "exact distance"
        letter(panel, mark, f"{what}\n({dropped} level dropped)" if name == "iwpc" else "")
        panel.set_xticks([1, 4, 7, 10])
    for panel, name in zip(axes[:, 0], _TITLE.values(), strict=True):
        panel.set_ylabel(f"{name}\nshare guessed right")
    figure.supxlabel("decile of the leakage before equalizing", fontsize=9)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
