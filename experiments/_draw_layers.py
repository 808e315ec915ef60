"""Draw what each layer gives away, over seeds."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from experiments._style import GRAY, SERIES

_TITLES = {"maxima": "maxima (Melis et al.)", "entries": "entries", "sketch": "signed sketch"}
_READINGS = {
    "label, fro": "to the label",
    "output, fro": "to the output",
    "label, fro, neurons": "to the label, by neurons",
}


def draw_layers(found: dict[str, Any]) -> Figure:
    """Draw the attack's AUC in three ways, usable information and sensitivity over the layers of each network."""
    figure, axes = plt.subplots(len(found), 3, figsize=(7.2, 2.1 * len(found) + 0.6), squeeze=False)
    for number, (line, each) in enumerate(zip(axes, found.values(), strict=True)):
        place = np.arange(len(each["layers"]))
        for axis, keys, title in zip(
            line,
            (
                {f"auc {kind}": each["auc"][kind] for kind in _TITLES},
                {key: each[f"information: {key}"] for key in ("forest, held out", "logistic, held out")},
                {_READINGS[key]: each[f"relative sensitivity: {key}"] for key in _READINGS},
            ),
            ("AUC of the attack", "usable information (nats)", "sensitivity over its largest"),
            strict=True,
        ):
            for shift, (key, values), (color, marker) in zip((-0.15, 0.0, 0.15), keys.items(), SERIES, strict=False):
                half = np.nan_to_num(np.array(values["half_width"], dtype=float))
                label = _TITLES.get(key.removeprefix("auc "), key)
                axis.errorbar(
                    place + shift, values["mean"], yerr=half, fmt=marker, color=color, capsize=1.5, label=label
                )
            many = len(place) > 5
            axis.set_xticks(place, each["layers"], rotation=60 if many else 0, fontsize=7 if many else 8)
            axis.grid(alpha=0.25, axis="y")
            if title.startswith("AUC"):
                axis.axhline(0.5, color=GRAY, lw=0.8, ls=":")
                # Intervals of few seeds reach beyond what an AUC can be.
                low, high = axis.get_ylim()
                axis.set_ylim(max(low, 0.0), min(high, 1.05))
            if number == 0:
                axis.set_title(title)
        name = each["title"].split(":")[0]
        seeds = "1 seed" if each["seeds"] == 1 else f"{each['seeds']} seeds"
        line[0].set_ylabel(f"{name}, {each['network']}\n({seeds})", fontsize=8)
    for axis in axes[-1]:
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.32), fontsize=7)
    return figure
