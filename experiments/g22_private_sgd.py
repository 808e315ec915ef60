"""Private SGD on MNIST (Guo et al. 2022, section 7.3): accuracy against what it gives away about each person."""

import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import seepage.network
from experiments._figures import draw_guo
from experiments._networks import guo_network, mnist
from experiments._result import Result

NOISE = (0.5, 1.0, 2.0, 5.0)
CLIPPING = (1.0, 4.0)
BATCH, STEPS, SWEEPS = 600, 1000, 4
SHOWN = (1.0, 1.0)
"""The setting whose most and least exposed images are shown: everybody is visited twice as often."""
PARTIAL = Path("results/g22_private_sgd.partial.json")
"""Where the settings that are done are kept until all are."""


def train(noise: float, norm: float, *, people: int, steps: int, sweeps: int) -> tuple[dict[str, Any], np.ndarray]:
    """Train once; return the figures of the run, and dfil of every person."""
    torch.manual_seed(0)
    x, y = (values[:people] for values in mnist("train"))
    model, loss = guo_network(), nn.CrossEntropyLoss()
    # Clipping to C and stepping by 1/C is the same step for gradients that are all clipped.
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4 / norm, momentum=0.5)
    rate = min(1.0, BATCH / people)
    sampler = seepage.network.PoissonSampler(people, sample_rate=rate, steps=steps)
    loader: Any = DataLoader(TensorDataset(x, y), batch_sampler=sampler)
    accountant = seepage.network.FisherAccountant(model, loss, ids=range(people), label="public", sweeps=sweeps, seed=0)
    module, optimizer, loader = accountant.attach(
        PrivacyEngine(),
        model=model,
        optimizer=optimizer,
        data_loader=loader,
        epochs=1,
        noise_multiplier=noise,
        max_grad_norm=norm,
    )
    start = time.perf_counter()
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss(module(inputs), labels).backward()
        optimizer.step()
    examples = accountant.information().examples()
    dfil, plain = examples["dfil"], examples["dfil_unamplified"]
    with torch.no_grad():
        images, digits = mnist("test")
        accuracy = (model.eval()(images).argmax(1) == digits).float().mean().item()
    kappa = seepage.network.guo_factor(rate, noise, 1 / (people * steps))
    figures = {
        "noise_multiplier": noise,
        "max_grad_norm": norm,
        "sweeps": sweeps,
        "test_accuracy": accuracy,
        "dfil_median": float(np.median(dfil)),
        # The largest of many noisy numbers is too large; a high quantile is not.
        "dfil_high": float(np.quantile(dfil, 0.999)),
        "dfil_largest": float(dfil.max()),
        "relative_error_median": float(np.median(examples["dfil_standard_error"] / np.maximum(dfil, 1e-300))),
        "unamplified_median": float(np.median(plain)),
        "unamplified_high": float(np.quantile(plain, 0.999)),
        "kappa": kappa,
        "renyi_epsilon": accountant.renyi_epsilon(),
        "renyi_floor": accountant.renyi_floor(value_range=1.0),
        "minutes": (time.perf_counter() - start) / 60,
    }
    return figures, dfil


def table(runs: list[dict[str, Any]]) -> str:
    """Return the runs as a table in Markdown: floors are mean squared errors per pixel of an unbiased guess."""
    lines = [
        "| noise multiplier | C | test accuracy | floor, median person | floor, one in a thousand "
        "| median with Guo's kappa | Renyi bound | error of dfil |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for run in sorted(runs, key=lambda r: (r["max_grad_norm"], r["noise_multiplier"])):
        guo = 1 / (run["kappa"] * run["unamplified_median"] ** 2)
        lines.append(
            f"| {run['noise_multiplier']:g} | {run['max_grad_norm']:g} | {run['test_accuracy']:.1%} "
            f"| {run['dfil_median'] ** -2:.3g} | {run['dfil_high'] ** -2:.3g} | {guo:.3g} | {run['renyi_floor']:.2g} "
            f"| {run['relative_error_median']:.0%} |"
        )
    return "\n".join(lines)


def run(*, quick: bool) -> Result:
    """Train over the grid; a run that was stopped goes on where it was."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    people, steps = (6000, 20) if quick else (60000, STEPS)
    done: dict[str, Any] = {"steps": steps, "people": people, "runs": [], "shown": None}
    if not quick and PARTIAL.exists():
        done = json.loads(PARTIAL.read_text())
    for norm in CLIPPING:
        for noise in NOISE[1:2] if quick else NOISE:
            if any((each["noise_multiplier"], each["max_grad_norm"]) == (noise, norm) for each in done["runs"]):
                continue
            shown = (noise, norm) == SHOWN
            figures, dfil = train(noise, norm, people=people, steps=steps, sweeps=8 if shown else SWEEPS)
            done["runs"].append(figures)
            if shown:
                order = np.argsort(dfil)
                done["shown"] = {
                    "largest": [(int(i), float(dfil[i])) for i in order[::-1][:20]],
                    "smallest": [(int(i), float(dfil[i])) for i in order[:20]],
                }
            if not quick:
                PARTIAL.parent.mkdir(parents=True, exist_ok=True)
                PARTIAL.write_text(json.dumps(done))
    return Result(draw_guo(done), done, table(done["runs"]).splitlines())
