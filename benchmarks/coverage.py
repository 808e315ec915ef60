"""How often intervals hold the truth: ways of training whose information is known exactly, hundreds of times each.

Weights move along the same path in every repetition, so that each person's information matrix of each step is known, by
explicit Jacobians; what a repetition draws is who is visited when, and in which direction. The first ways are trainings
with Opacus and an accountant attached; in the others visits alone are drawn, with nothing trained.
"""

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.func import functional_call, grad, jacrev, vmap
from torch.nn import functional as F  # noqa: N812

from benchmarks._private_runs import PRIVATE_RUNS
from seepage.network import poisson_factors
from seepage.network._estimator import Estimate, estimate, limits
from seepage.network._schedule import Schedule, Stretches
from seepage.network._state import RunState

Array = NDArray[np.float64]
PEOPLE, TOGETHER = 100, 16


@dataclass(frozen=True)
class Setting:
    """A way of training."""

    steps: int
    learning_rate: float
    visits: int = 4
    rate: float | None = None
    """Of secret sampling."""
    values: int = 6
    batches: int | None = None
    """Of an epoch, where everybody is in one of them and it is known in which; else everybody is in every step."""


SETTINGS = {
    "secret sampling, few values": Setting(60, 0.5, rate=0.2),
    "secret sampling, many values": Setting(60, 0.5, rate=0.2, values=40),
    "secret sampling, rare": Setting(100, 0.5, rate=0.02),
    "secret sampling, a trend, more visits": Setting(80, 3.0, visits=6, rate=0.1),
    "shuffled batches, few values": Setting(60, 0.5, batches=5),
    "shuffled batches, many values": Setting(60, 0.5, values=40, batches=5),
    "all in all steps, weights at rest": Setting(60, 0.0),
    "all in all steps, a trend": Setting(60, 2.0),
    "all in all steps, a trend, fewer visits": Setting(60, 2.0, visits=3),
    "all in all steps, a trend, five visits": Setting(150, 1.0, visits=5),
    "all in all steps, a strong trend": Setting(100, 8.0),
}


@dataclass(frozen=True)
class Study:
    """What repetitions showed."""

    bias: float
    """Of the sum over people, as a share of it."""
    bias_error: float
    coverage: float
    """Of 95% intervals."""
    above: float
    """How often the truth was above the interval, of the tenth of people who are most exposed."""
    error: float
    """The standard error that was reported, over the real one, of half of the people."""
    reach: float
    """The upper limit of dfil over dfil, of half of the people."""
    reach_most: float
    """The upper limit of dfil over the truth, of half of the ten most exposed people."""

    @classmethod
    def of(cls, truth: Array, found: Array, errors: Array, low: Array, high: Array) -> "Study":
        """Sum repetitions up, each a row: dfil of everybody, its standard error and its limits."""
        most = np.argsort(-truth)[: len(truth) // 10]
        total = (found**2).sum(1) / (truth**2).sum()
        return cls(
            float(total.mean() - 1),
            float(total.std() / np.sqrt(len(found))),
            float(((low <= truth) & (truth <= high)).mean()),
            float((truth > high)[:, most].mean()),
            float(np.median(errors.mean(0) / found.std(0, ddof=1))),
            float(np.median(high / found)),
            float(np.median((high / truth)[:, np.argsort(-truth)[:10]])),
        )


def matrices(setting: Setting, people: int = PEOPLE) -> Array:
    """Return every person's information matrix of every step, shape (steps, people, values, values)."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(setting.values, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    x = torch.randn(people, setting.values).double()
    y = x[:, :3].argmax(1)
    weights = {name: p.detach() for name, p in model.named_parameters()}
    found = []
    for _ in range(setting.steps):

        def published(one: torch.Tensor, label: torch.Tensor, at: dict[str, torch.Tensor] = weights) -> torch.Tensor:
            def loss(moved: dict[str, torch.Tensor]) -> torch.Tensor:
                return F.cross_entropy(functional_call(model, moved, (one[None],)), label[None])

            slopes = grad(loss)(at)
            gradient = torch.cat([g.flatten() for g in slopes.values()])
            return gradient * (1 / (gradient.norm() + 1e-6)).clamp(max=1.0)

        gradients, jacobians = vmap(published)(x, y), vmap(jacrev(published))(x, y)
        matrix = jacobians.mT @ jacobians
        if setting.rate is not None:
            norms = gradients.norm(dim=1)
            across, along = (torch.tensor(k)[:, None, None] for k in poisson_factors(setting.rate, norms.numpy()))
            radial = jacobians.mT @ (gradients / norms[:, None])[:, :, None]
            matrix = setting.rate * (across * matrix + (along - across) * radial @ radial.mT)
        found.append(matrix.numpy())
        slopes = grad(lambda p: F.cross_entropy(functional_call(model, p, (x,)), y))(weights)
        weights = {name: p - setting.learning_rate * slopes[name] for name, p in weights.items()}
    return np.array(found)


def visited(setting: Setting, exact: Array, taken: Array, random: np.random.Generator) -> Estimate:
    """Visit everybody once more, as an accountant does, and estimate."""
    people = exact.shape[1]
    state, schedule = RunState(people, 1), Schedule(people, np.arange(people), setting.visits, random)
    schedule.begin(setting.steps, TOGETHER, 0, 1)
    assert schedule.stretches is not None
    for step in range(setting.steps):
        for rows in schedule.due(step, state.exposure):
            w = random.integers(0, 2, (len(rows), setting.values)) * 2.0 - 1
            value = np.einsum("ni,nij,nj->n", w, exact[step][rows], w)[:, None]
            state.add("visits", rows, step, schedule.stretch(step), value, value)
    return estimate(state.table("visits"), schedule.stretches, np.ones(setting.steps), taken, taken)


def study(name: str, seeds: int, people: int = PEOPLE) -> Study:
    """Repeat the visits of one setting."""
    setting = SETTINGS[name]
    exact = matrices(setting, people)
    part = np.ones((setting.steps, people))
    if setting.batches is not None:
        random = np.random.default_rng(0)
        epochs = [random.permutation(people) % setting.batches for _ in range(setting.steps // setting.batches)]
        part = np.concatenate([each == np.arange(setting.batches)[:, None] for each in epochs]).astype(np.float64)
    truth = (part * np.trace(exact, axis1=2, axis2=3)).sum(0)
    stretches = Stretches(setting.steps, setting.visits)
    ends = [stretches.start(s) for s in range(setting.visits)]
    taken = np.add.reduceat(part, ends).T
    found = [visited(setting, exact, taken, np.random.default_rng(seed)) for seed in range(seeds)]
    estimates, variance, doubt = (
        np.array(each) for each in zip(*((f.traces[:, 0], f.variance, f.doubt) for f in found), strict=True)
    )
    low, high = limits(estimates, variance, doubt)
    return Study.of(*map(np.sqrt, (truth, estimates, variance / estimates / 4, low, high)))


def studied(name: str, seeds: int) -> Study:
    """Train with Opacus as often, with another seed of the accountant each time."""
    truth, weights = PRIVATE_RUNS[name].exact()
    found = [PRIVATE_RUNS[name].accounted(seed, weights) for seed in range(seeds)]
    columns = ("dfil", "dfil_standard_error", "dfil_low", "dfil_high")
    return Study.of(truth, *(np.array([each[column] for each in found]) for column in columns))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks coverage")
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--state", type=Path, help="a file of what was found, so that nothing is done again")
    options = parser.parse_args(sys.argv[2:])
    known = json.loads(options.state.read_text()) if options.state and options.state.exists() else {}
    heads = ("bias", "coverage", "above, most", "error", "reach", "reach, most")
    print(f"{'':40}" + "".join(f"{head:>13}" for head in heads) + f"   at nominal 95%, {options.seeds} repetitions")
    for name in (*PRIVATE_RUNS, *SETTINGS):
        key = f"{name}, {options.seeds}"
        if key not in known:
            known[key] = asdict((studied if name in PRIVATE_RUNS else study)(name, options.seeds))
            if options.state:
                options.state.write_text(json.dumps(known))
        found = Study(**known[key])
        shares = f"{found.bias:>+13.1%}{found.coverage:>13.1%}{found.above:>13.1%}"
        print(f"{name:40}{shares}{found.error:>13.2f}{found.reach:>13.3g}{found.reach_most:>13.3g}", flush=True)
