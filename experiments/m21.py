"""Which layer gives a client's property away (Mo, Borovykh et al. 2021): faces, digits and the census."""

import tempfile
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import nn

from experiments import _style  # noqa: F401
from experiments._layers import Setting, setting
from experiments._result import Result
from seepage.attacks import PropertyInference
from seepage.display import LayerDisplay
from seepage.network import Gradients, collect_gradients, layer_sensitivity, usable_information

LOSS = nn.CrossEntropyLoss()
NAMES = ("lfw", "mnist", "adult")
# What the paper's sensitivity can mean; the first is the one that is drawn.
READINGS = (("label", "fro"), ("label", "l1"), ("label", "max"), ("output", "fro"), ("input", "fro"))
# Numbers that the attack sees of a layer: a narrow sketch would hold wide layers back.
WIDE, NARROW = 4096, 512


def train(found: Setting, steps: int, seed: int) -> tuple[nn.Module, float]:
    """Train on the task for a while, as the rounds before the attacked one; return the accuracy on held-out rows."""
    random = torch.Generator().manual_seed(seed)
    cut = len(found.x) * 4 // 5
    model = found.network
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(steps):
        rows = torch.randint(0, cut, (64,), generator=random)
        optimizer.zero_grad()
        LOSS(model(found.x[rows]), found.y[rows]).backward()
        optimizer.step()
    with torch.no_grad():
        test = slice(cut, cut + 2000)
        accuracy = float((model(found.x[test]).argmax(1) == found.y[test]).float().mean())
    return model.eval(), accuracy


def measure(name: str, found: Setting, *, steps: int, count: int, folds: int, folder: Path) -> dict[str, Any]:
    """Measure each layer in three ways."""
    torch.manual_seed(0)
    model, accuracy = train(found, steps, 0)
    gradients = collect_gradients(model, LOSS, found.batches(count, 1), output=folder / name)
    has = np.arange(count) % 2
    attack = PropertyInference("forest", folds=folds, width=WIDE).fit(gradients, has).evaluate()
    information = usable_information(gradients, has, folds=folds)
    rows = np.random.default_rng(2).choice(np.flatnonzero(found.has >= 0), min(256, count), replace=False)
    sensitivity = {
        (wrt, norm): layer_sensitivity(model, LOSS, found.x[rows], found.y[rows], wrt=wrt, norm=norm, directions=8)
        for wrt, norm in READINGS
    }
    auc, bits = attack["auc"].to_numpy()[:-1], information["usable_information"].to_numpy()
    pairs = {"AUC and usable information": (auc, bits)}
    for (wrt, norm), each in sensitivity.items():
        moved = each["sensitivity"].to_numpy()
        pairs[f"AUC and sensitivity to the {wrt}, {norm}"] = (auc, moved)
        pairs[f"usable information and sensitivity to the {wrt}, {norm}"] = (bits, moved)
    return {
        "accuracy": accuracy,
        "attack": attack,
        "information": information,
        "sensitivity": sensitivity[READINGS[0]],
        "correlations": {key: float(np.corrcoef(a, b)[0, 1]) for key, (a, b) in pairs.items()},
        "narrower": narrower(found, gradients, has, folds),
    }


def narrower(found: Setting, gradients: Gradients, has: np.ndarray, folds: int) -> dict[str, float]:
    """Attack the layers on both sides of the paper's boundary through a sketch that is an eighth as wide."""
    place = gradients.names.index(found.first_connected)
    layers = gradients.names[max(place - 1, 0) : place + 1]
    rows = {layer: gradients.sketch(layer, NARROW, 0).values for layer in layers}
    attack = PropertyInference("forest", folds=folds, width=NARROW).fit(rows, has).evaluate()
    return {str(name): float(auc) for name, auc in zip(attack["name"], attack["auc"], strict=True) if name in layers}


def draw(settings: dict[str, Setting], found: dict[str, Any]) -> Figure:
    """Draw the three measures over the layers of each network."""
    heights = [len(done["sensitivity"]) + 3.0 for done in found.values()]
    figure = plt.figure(figsize=(8.0, 0.24 * sum(heights)))
    for part, (name, done) in zip(
        figure.subfigures(len(found), 1, height_ratios=heights, squeeze=False)[:, 0], found.items(), strict=True
    ):
        display = LayerDisplay.from_frames(
            sensitivity=done["sensitivity"], usable_information=done["information"], attack=done["attack"]
        )
        display.plot(part.subplots())
        part.suptitle(settings[name].title, fontsize=9)
    return figure


def run(*, quick: bool) -> Result:
    """Run the three data sets."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    steps, count, folds, people = (20, 24, 2, 1500) if quick else (250, 360, 5, 8000)
    torch.manual_seed(0)
    settings = {name: setting(name, people) for name in NAMES}
    with tempfile.TemporaryDirectory() as folder:
        found = {
            name: measure(name, each, steps=steps, count=count, folds=folds, folder=Path(folder))
            for name, each in settings.items()
        }
    numbers: dict[str, Any] = {}
    lines = ["The paper: the first fully connected layer after the convolutions leaks most."]
    for name, done in found.items():
        layers = done["sensitivity"]["name"].tolist()
        bits = done["information"]
        numbers[name] = {
            "test_accuracy": done["accuracy"],
            "layers": {
                layer: {
                    "parameters": int(done["sensitivity"]["parameters"][i]),
                    "sensitivity": float(done["sensitivity"]["sensitivity"][i]),
                    "usable_information": float(bits["usable_information"][i]),
                    "usable_information_error": float(bits["standard_error"][i]),
                    "sketch_distortion": float(bits["distortion"][i]),
                    "auc": float(done["attack"]["auc"][i]),
                    "auc_interval": [float(done["attack"][end][i]) for end in ("low", "high")],
                }
                for i, layer in enumerate(layers)
            },
            "auc_of_all_layers": float(done["attack"]["auc"].iloc[-1]),
            "correlations": done["correlations"],
            "auc_with_a_narrower_sketch": done["narrower"],
            "first_connected": settings[name].first_connected,
        }
        ranked = {
            "attack": done["attack"]["auc"][:-1],
            "usable information": bits["usable_information"],
            "sensitivity": done["sensitivity"]["sensitivity"],
        }
        numbers[name]["most"] = {key: layers[int(np.argmax(values))] for key, values in ranked.items()}
        lines.append(f"{settings[name].title}: test accuracy {done['accuracy']:.3f}; most by {numbers[name]['most']}")
        lines += [f"  correlation of {key}: {value:.2f}" for key, value in done["correlations"].items()]
        lines.append(f"  AUC with a sketch of {NARROW} instead of {WIDE}: {done['narrower']}")
        for layer, each in numbers[name]["layers"].items():
            lines.append(
                f"  {layer}: AUC {each['auc']:.3f}, {each['usable_information']:.3f} bits (error "
                f"{each['usable_information_error']:.3f}), sensitivity {each['sensitivity']:.4f}"
            )
    return Result({"": draw(settings, found)}, numbers, lines)
