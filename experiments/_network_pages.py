"""The tables of the pages about networks and federated learning, from the files of results."""

import json
from pathlib import Path

from experiments import g22_private_sgd
from experiments._statement import Numbers


def private_sgd(folder: Path) -> str:
    """Return the runs of private SGD, and which of two bounds is the larger."""
    runs = json.loads((folder / "g22_private_sgd.json").read_text())["runs"]
    readings = [reading for run in runs.values() for reading in run["readings"]]
    floors = [g22_private_sgd.floors(reading)["kappa"] for reading in readings]
    renyi = sum(r["renyi_floor"] > each["smallest"] for r, each in zip(readings, floors, strict=True))
    apart = [each["median"] / each["smallest"] for each in floors]
    few = [reading["of_few_visits"]["plain"]["median"] / reading["plain_median"] for reading in readings]
    return "\n".join(
        [
            *g22_private_sgd.table(runs),
            "",
            f"Both bounds of the last columns hold, so that the larger counts: of these {len(readings)} readings it is "
            f"the Renyi bound in {renyi}, and the floor from the largest dFIL in {len(readings) - renyi}. The floor of "
            f"the median image is {min(apart):.0f} to {_thousands(max(apart))} times that of the most exposed one.",
            "",
            "What single visits find is skewed, so that the median over everybody, of the few visits that each has, is "
            f"too low: floors from it would be {1 / max(few):.1f} to {1 / min(few):.0f} times as high as those from "
            "many visits to people drawn at random.",
        ]
    )


def _thousands(value: float) -> str:
    """Return a number with two digits that mean something."""
    return f"{float(f'{value:.2g}'):,.0f}"


def private_sgd_in_color(folder: Path) -> str:
    """Return the runs on two classes of CIFAR-10, and the pictures of them."""
    path = folder / "g22_cifar.json"
    runs = json.loads(path.read_text())["runs"] if path.exists() else {}
    if not runs:
        return "Not run to the end: no network has been trained at these settings yet."
    return "\n".join(
        [
            *g22_private_sgd.table(runs),
            "",
            "![Accuracy against floors, planes and cars](g22_cifar.png)",
            "",
            "![The most and the least exposed planes and cars](g22_cifar_images.png)",
        ]
    )


def layers(folder: Path) -> str:
    """Return what each layer gives away."""
    parts = [
        "| data, network | layer | AUC: maxima | entries | sketch | usable information (nats), held out: forest, "
        "logistic | in sample: forest, logistic | sensitivity over that of the layer with the largest: to the label, "
        "psi by weights | to the output, psi by weights | to the label, psi by neurons |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, each in json.loads((folder / "m21.json").read_text()).items():
        if not isinstance(each, dict) or "layers" not in each:
            continue
        for i, layer in enumerate(each["layers"]):
            cells = [_cell(each["auc"][kind], i, 3) for kind in ("maxima", "entries", "sketch")]
            for how in ("held out", "in sample"):
                cells.append(", ".join(_cell(each[f"information: {f}, {how}"], i, 2) for f in ("forest", "logistic")))
            cells += [
                _cell(each[f"relative sensitivity: {k}"], i, 2)
                for k in ("label, fro", "output, fro", "label, fro, neurons")
            ]
            parts.append(f"| {name} ({each['seeds']}) | {layer} | {' | '.join(cells)} |")
    return "\n".join(parts)


def _cell(values: Numbers, place: int, digits: int) -> str:
    half = values["half_width"][place]
    return f"{values['mean'][place]:.{digits}f}" + (f" ± {half:.{digits}f}" if half is not None else "")


def susceptible(folder: Path) -> str:
    """Return what was found about the susceptibility of images, and the pictures of it."""
    rows = []
    for key, each in json.loads((folder / "plis.json").read_text()).items():
        if "-" in key:
            name, kind = key.split("-")
            rows.append(
                f"| {name} | {'with' if kind == 'private' else 'without'} privacy | {each['accuracy']:.1%} "
                f"| {each['wrong_high']:.0%} / {each['wrong_rest']:.1%} "
                f"| {each['distance_high']:.1f} / {each['distance_rest']:.1f} "
                f"| {each['norm_against_privacy_loss']:.2f} "
                f"| {each['alike_to_neighbors']:.2f} / {each['alike_to_neighbors_in_single_precision']:.2f} |"
            )
    if not rows:
        return "Not run to the end: no network has been trained at these settings yet."
    pictures = [f"plis_{name}.png" for name in ("mnist", "pneumonia") if (folder / f"plis_{name}.png").exists()]
    return "\n".join(
        [
            "| images | trained | test accuracy | misclassified: top 5% / rest | distance to their own class: top 5% / "
            "rest | norm of a map against the privacy loss, rank correlation | correlation of neighboring pixels of a "
            "map: double precision / single |",
            "|---|---|---|---|---|---|---|",
            *rows,
            *(f"\n![maps of susceptibility]({name})" for name in pictures),
        ]
    )


def inversions(folder: Path) -> str:
    """Return how well X-rays were reconstructed, and the picture of it."""
    path = folder / "plis_inversion.json"
    numbers = json.loads(path.read_text()) if path.exists() else {}
    if "bare" not in numbers or "private" not in numbers:
        return "Not run to the end."
    parts = [
        "| what is sent | images | score | mean | least susceptible | most susceptible | rank correlation with "
        "susceptibility (95% interval) | paper: low, high |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, title in (("bare", "the gradient"), ("private", "clipped, with noise")):
        for place, (score, name) in enumerate((("ssim", "SSIM"), ("haarpsi", "HaarPSI"))):
            each = numbers[kind][score]
            paper = ", ".join(f"{numbers['paper'][which][place]:.4f}" for which in ("low", "high"))
            parts.append(
                f"| {title} | {numbers[kind]['images']} | {name} | {round(each['mean'], 2) + 0:.2f} "
                f"| {each['least_susceptible']:.2f} | {each['most_susceptible']:.2f} | {each['rank_correlation']:.2f} "
                f"({each['interval'][0]:.2f} to {each['interval'][1]:.2f}) | {paper if kind == 'bare' else ''} |"
            )
    return "\n".join([*parts, "", "![Reconstructions over susceptibility](plis_inversion.png)"])
