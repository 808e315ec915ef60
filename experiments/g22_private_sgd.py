"""Private SGD on MNIST (Guo et al. 2022, figure 5): accuracy against what it gives away about each image."""

import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import TensorDataset

import seepage.network
from experiments._criterion import around_median
from experiments._figures import draw_guo
from experiments._networks import (
    COLOR_DEVIATIONS,
    guo_color_network,
    guo_network,
    guo_printed_network,
    mnist,
    planes_and_cars,
)
from experiments._private import SMOOTH, PrivateSGD, glorot, kappa
from experiments._result import Result
from experiments._work import Work

VERSION = 4
"""4: the median image is that of a random sample with visits of its own, as the most exposed have; 1 to 3 are gone."""
NETWORKS = {"code": guo_network, "printed": guo_printed_network, "color": guo_color_network}
"""Windows of 8 and 4, as in the authors' code; windows of 3, as in their table 1; that of table 2, for CIFAR-10."""
IMAGES = {"code": mnist, "printed": mnist, "color": planes_and_cars}
RANGE = {"code": 1.0, "printed": 1.0, "color": 1 / max(COLOR_DEVIATIONS)}
"""How far the values of a pixel can be apart; of three channels, the one with the least."""
EVERY = 50
"""Steps between the weights that are kept, at which the most exposed are visited once more."""
CHECKPOINT = 250
MINUTES = 5
"""A checkpoint is taken after so many steps, and after so much time."""


@dataclass(frozen=True)
class Setting:
    """One configuration of table 3."""

    noise: float
    step_size: float
    norm: float
    network: str = "code"
    seed: int = 0
    readings: tuple[int, ...] = (1000,)
    """The steps after which accuracy and information are read."""
    people: int = 60_000
    batch: int = 600
    stretch: int = 500
    """Everybody is visited once in so many steps."""
    most: int = 60
    """How many of the most exposed are visited once more."""
    probes: int = 4
    sample: int = 200
    """How many people drawn at random are visited once more as well, for the median."""

    @property
    def run(self) -> str:
        """The name of the training run, wherever it is read."""
        return f"{self.network}-sigma{self.noise:g}-step{self.step_size:g}-c{self.norm:g}-seed{self.seed}"

    @property
    def key(self) -> str:
        """The name of the piece."""
        return f"{self.run}-{self.readings[-1]}"


TIMES = (1000, 2000, 3000, 5000)
NOISES, STEPS, NORMS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0), (0.01, 0.03, 0.1), (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Table 3: every combination, 432 of them, which are 108 runs that are read four times."""
FIRST = ((2.0, 8.0), (0.5, 32.0), (1.0, 8.0), (2.0, 4.0), (1.0, 4.0), (0.5, 8.0), (1.0, 32.0), (2.0, 32.0))
"""Noise and C of the runs that come first: around the accuracies that the paper names."""


def grid() -> list[Setting]:
    """Return the whole of table 3, what tells most first; a run that goes on is the same run."""
    first = [Setting(noise, 0.1, norm) for noise, norm in FIRST]
    longer = [Setting(noise, 0.1, norm, readings=TIMES[:2]) for noise, norm in FIRST]
    whole = [Setting(s, step, c, readings=TIMES) for step in reversed(STEPS) for c in reversed(NORMS) for s in NOISES]
    seeds = [Setting(*FIRST[0][:1], 0.1, FIRST[0][1], seed=seed) for seed in range(1, 10)]
    return [*first, *longer, *whole, *seeds]


QUICK = [Setting(1.0, 0.1, 32.0, readings=(8, 16), people=1200, stretch=8, most=5, probes=1, sample=20)]


def train(setting: Setting, work: Work) -> dict[str, Any]:
    """Train once; return what is read at each of the times."""
    torch.set_num_threads(1)
    load, rate = IMAGES[setting.network], min(1.0, setting.batch / setting.people)
    (x, y), test = (values[: setting.people] for values in load("train")), load("test")
    model = glorot(NETWORKS[setting.network](), setting.seed)
    training = PrivateSGD(
        model, x, y, rate=rate, noise=setting.noise, norm=setting.norm, step_size=setting.step_size, seed=setting.seed
    )
    options = {"ids": range(setting.people), "label": "public", "clipping": "smooth"}
    loss, data = nn.CrossEntropyLoss(), TensorDataset(x, y)
    sweeps = 2000 // setting.stretch if setting.readings[-1] >= 1000 else 2
    accountant = seepage.network.FisherAccountant(model, loss, **options, sweeps=sweeps, seed=setting.seed)
    kept: dict[str, Any] = {"weights": [], "readings": [], "most": []}
    saved = work.load(setting.run)
    if saved is not None:
        training.restore(saved["training"])
    # What is read early does not depend on how long training goes on: stretches are of one length.
    accountant.watch(data, steps=sweeps * setting.stretch, batch_size=setting.batch)
    if saved is not None:
        accountant.load_state_dict(saved["accountant"])
        kept = saved["kept"]
    every = min(EVERY, setting.readings[0] // 2)
    step = {"noise_multiplier": setting.noise, "max_grad_norm": setting.norm, "sample_rate": rate}
    last = time.monotonic()
    while training.step < setting.readings[-1]:
        if training.step % every == every // 2:
            kept["weights"].append({name: value.clone() for name, value in model.state_dict().items()})
        training.advance()
        accountant.step(**step)
        if training.step in setting.readings:
            reading, most = read(accountant, model, test, setting, training.step)
            kept["readings"].append(reading)
            kept["most"] = np.union1d(kept["most"], most)
        if training.step % CHECKPOINT == 0 or time.monotonic() - last > 60 * MINUTES:
            last = time.monotonic()
            state = {"training": training.state(), "accountant": accountant.state_dict(), "kept": kept}
            work.save(setting.run, state)
            work.say(f"{setting.key}: step {training.step} of {setting.readings[-1]}")
    # Whoever seems most exposed after a few visits is so in part by chance, and the median of few visits is too low,
    # as traces of single visits are skewed: visit both again, independently, at all weights that were kept.
    chosen = {
        "largest": kept["most"].astype(int),
        "typical": np.random.default_rng([setting.seed, 1]).choice(setting.people, setting.sample, replace=False),
    }
    at = {reading["steps"] // every: reading for reading in kept["readings"]}
    for place, (which, people) in enumerate(chosen.items(), 1):
        again = seepage.network.FisherAccountant(
            model,
            loss,
            **options,
            sweeps=len(kept["weights"]),
            probes=setting.probes,
            people=people,
            seed=setting.seed + place,
        )
        model.load_state_dict(kept["weights"][0])
        again.watch(data, steps=len(kept["weights"]), batch_size=setting.batch)
        for moment, weights in enumerate([*kept["weights"][1:], kept["weights"][-1]], 1):
            model.load_state_dict(weights)
            again.step(**step)
            if moment in at:
                find = largest if which == "largest" else typical
                at[moment].update(find(again.information(), every))
    return {"setting": setting.__dict__, "readings": kept["readings"]}


def read(
    accountant: seepage.network.FisherAccountant,
    model: nn.Module,
    test: tuple[torch.Tensor, torch.Tensor],
    setting: Setting,
    steps: int,
) -> tuple[dict[str, Any], np.ndarray]:
    """Return what is known after so many steps, and who seems most exposed."""
    information = accountant.information()
    examples = information.examples()
    with torch.no_grad():
        accuracy = (model(test[0]).argmax(1) == test[1]).float().mean().item()
    squared, plain = examples["dfil"] ** 2, examples["dfil_unamplified"] ** 2
    error = np.median(examples["dfil_standard_error"] / np.maximum(examples["dfil"], 1e-300))
    order = np.argsort(squared)
    found = {
        "steps": steps,
        "test_accuracy": accuracy,
        "kappa": kappa(min(1.0, setting.batch / setting.people), setting.noise, 1 / (setting.people * steps)),
        "renyi_epsilon": information.renyi,
        "renyi_floor": accountant.renyi_floor(value_range=RANGE[setting.network]),
        # dfil^2 and not dfil: what the floors are one over, and what runs are averaged over.
        # Of few visits, which makes the median too low and a high quantile too high: to compare only.
        "of_few_visits": {
            name: {"median": np.median(values), "high": np.quantile(values, 0.999)}
            for name, values in (("exact", squared), ("plain", plain))
        },
        "relative_error_of_dfil": error,
        "least": order[:10],
    }
    return found, np.union1d(order[-setting.most :], np.argsort(plain)[-setting.most :])


def largest(information: seepage.network.NetworkInformation, every: int) -> dict[str, Any]:
    """Return the largest dfil^2 of all, of visits at weights that stand for `every` steps each."""
    examples, ids = information.examples(), np.asarray(information.people.ids)
    squared, plain = every * examples["dfil"] ** 2, every * examples["dfil_unamplified"] ** 2
    order = np.argsort(-squared)
    error = examples["dfil_standard_error"][order[0]] / examples["dfil"][order[0]]
    return {
        "exact_largest": squared.max(),
        "exact_largest_relative_error": 2 * error,
        "plain_largest": plain.max(),
        "most": ids[order[:10]],
        "most_squared": squared[order[:10]],
    }


def typical(information: seepage.network.NetworkInformation, every: int) -> dict[str, Any]:
    """Return the median of dfil^2 over people drawn at random, with a 95% interval of the median of all."""
    found: dict[str, Any] = {}
    for name, column in (("exact", "dfil"), ("plain", "dfil_unamplified")):
        squared = every * information.examples()[column] ** 2
        found[f"{name}_median"] = np.median(squared)
        found[f"{name}_median_interval"] = around_median(squared)
    return found


def floors(reading: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return the floors of the median and of the most exposed image, in four ways of counting."""
    return {
        way: {
            "median": 1 / (factor * reading[f"{source}_median"]),
            "smallest": 1 / (factor * reading[f"{source}_largest"]),
        }
        for way, source, factor in (
            ("no credit", "plain", 1.0),
            ("kappa", "plain", reading["kappa"]),
            ("without replacement", "plain", reading["without_replacement"]),
            ("exact", "exact", 1.0),
        )
    }


def table(done: dict[str, Any]) -> list[str]:
    """Return the runs as a table in Markdown: floors are mean squared errors per pixel of an unbiased guess."""
    lines = [
        "| network | noise multiplier | step | C | seed | T | test accuracy | smallest floor: no credit, kappa, "
        "without replacement, exact | median floor: the same | Renyi bound | larger of kappa and Renyi |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for each in done.values():
        setting = each["setting"]
        for reading in each["readings"]:
            found = floors(reading)
            cells = (f"{', '.join(f'{found[way][which]:.2g}' for way in found)}" for which in ("smallest", "median"))
            lines.append(
                f"| {setting['network']} | {setting['noise']:g} | {setting['step_size']:g} | {setting['norm']:g} "
                f"| {setting['seed']} | {reading['steps']:,} | {reading['test_accuracy']:.1%} | {' | '.join(cells)} "
                f"| {reading['renyi_floor']:.2g} | {max(found['kappa']['smallest'], reading['renyi_floor']):.2g} |"
            )
    return lines


def with_fixed_batches(done: dict[str, Any]) -> dict[str, Any]:
    """Return the runs with the factor of batches of one size, drawn without replacement, beside kappa."""
    for each in done.values():
        setting = each["setting"]
        factor = seepage.network.without_replacement_factor(
            min(setting["batch"], setting["people"]), setting["people"], 2 * SMOOTH / setting["noise"]
        )
        for reading in each["readings"]:
            reading["without_replacement"] = float(factor)
    return done


def left(before: dict[str, Any], settings: list[Setting]) -> list[Setting]:
    """Return the settings that an earlier result does not hold: a run holds every time up to its last."""
    last = {key: run["readings"][-1]["steps"] for key, run in before.items()}
    return [each for each in settings if last.get(each.run, 0) < each.readings[-1]]


def joined(before: dict[str, Any], done: dict[str, Any]) -> dict[str, Any]:
    """Return the runs of an earlier result and new ones, in the order of the grid; of a run that went on, the longest.

    Names of earlier runs are those of runs, of new ones those of pieces, which say where a run ends.
    """
    found = {**before, **{key.rpartition("-")[0]: each for key, each in done.items()}}
    order = [each.run for each in grid()]
    return dict(sorted(found.items(), key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order)))


def run(*, quick: bool, work: Work) -> Result:
    """Train over a part of the paper's grid, beside the part whose results are there already."""
    warnings.simplefilter("ignore")
    before = {} if quick else work.before.get("runs", {})
    every = work.pieces({each.key: partial(train, each, work) for each in left(before, QUICK if quick else grid())})
    if before:
        work.keep_stamps()
    done = with_fixed_batches(joined(before, every))
    return Result(draw_guo(done, floors, mnist("train")[0]), {"runs": done}, table(done))
