"""How often intervals hold the truth: eight ways of training whose information is known exactly, a thousand times each.

Weights move along the same path in every repetition, so that each person's information matrix of each step is known, by
explicit Jacobians; what a repetition draws is who is visited when, and in which direction.
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

from seepage.network import poisson_factors
from seepage.network._estimator import estimate
from seepage.network._schedule import Stretches
from seepage.network._visits import Visits

Array = NDArray[np.float64]
PEOPLE, VALUES = 30, 6
SETTINGS: dict[str, tuple[int, float | None, float, int]] = {
    "no sampling, weights at rest": (60, None, 0.0, 4),
    "no sampling, a trend": (60, None, 2.0, 4),
    "no sampling, a trend, fewer visits": (60, None, 2.0, 3),
    "no sampling, a strong trend": (100, None, 8.0, 4),
    "secret sampling": (60, 0.2, 0.5, 4),
    "secret sampling, rare": (100, 0.02, 0.5, 4),
    # Of the constants of the estimate only those of neighbors were chosen with a look at these two.
    "secret sampling, a trend, more visits": (80, 0.1, 3.0, 6),
    "no sampling, a trend, five visits": (150, None, 1.0, 5),
}
"""Steps, rate of sampling, learning rate, visits to each person."""


@dataclass(frozen=True)
class Study:
    """What repetitions showed."""

    bias: float
    bias_error: float
    coverage: float
    """Of the information, by 1.96 standard errors."""
    coverage_dfil: float
    """Of dfil, by 1.96 of its own."""


def matrices(steps: int, rate: float | None, learning_rate: float, people: int = PEOPLE) -> Array:
    """Return every person's information matrix of every step, shape (steps, people, values, values)."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(VALUES, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    x = torch.randn(people, VALUES).double()
    y = x[:, :3].argmax(1)
    weights = {name: p.detach() for name, p in model.named_parameters()}
    found = []
    for _ in range(steps):

        def published(one: torch.Tensor, label: torch.Tensor, at: dict[str, torch.Tensor] = weights) -> torch.Tensor:
            def loss(moved: dict[str, torch.Tensor]) -> torch.Tensor:
                return F.cross_entropy(functional_call(model, moved, (one[None],)), label[None])

            slopes = grad(loss)(at)
            gradient = torch.cat([g.flatten() for g in slopes.values()])
            return gradient * (1 / (gradient.norm() + 1e-6)).clamp(max=1.0)

        gradients, jacobians = vmap(published)(x, y), vmap(jacrev(published))(x, y)
        matrix = jacobians.mT @ jacobians
        if rate is not None:
            norms = gradients.norm(dim=1)
            across, along = (torch.tensor(k)[:, None, None] for k in poisson_factors(rate, norms.numpy()))
            radial = jacobians.mT @ (gradients / norms[:, None])[:, :, None]
            matrix = rate * (across * matrix + (along - across) * radial @ radial.mT)
        found.append(matrix.numpy())
        slopes = grad(lambda p: F.cross_entropy(functional_call(model, p, (x,)), y))(weights)
        weights = {name: p - learning_rate * slopes[name] for name, p in weights.items()}
    return np.array(found)


def study(name: str, seeds: int, people: int = PEOPLE) -> Study:
    """Repeat the visits of one setting."""
    steps, rate, learning_rate, sweeps = SETTINGS[name]
    exact = matrices(steps, rate, learning_rate, people)
    truth = np.trace(exact, axis1=2, axis2=3).sum(0)
    stretches = Stretches(steps, sweeps)
    lengths = [float(stretches.start(s + 1) - stretches.start(s)) for s in range(sweeps)]
    taken = np.tile(lengths, (people, 1))
    traces, errors = [], []
    for seed in range(seeds):
        random, visits = np.random.default_rng(seed), Visits(people, 1)
        for stretch in range(sweeps):
            for step, parts in stretches.visits(stretch, np.arange(people), 16, random).items():
                for rows in parts:
                    w = random.integers(0, 2, (len(rows), VALUES)) * 2.0 - 1
                    value = np.einsum("ni,nij,nj->n", w, exact[step][rows], w)[:, None]
                    visits.add(rows, step, stretch, value, value)
        found = estimate(visits.arrays(), stretches, np.ones(steps), taken, taken)
        traces.append(found.traces[:, 0])
        errors.append(np.sqrt(found.variance[:, 0]))
    estimates, error = np.array(traces), np.array(errors)
    total = estimates.sum(1) / truth.sum()
    root, root_error = np.sqrt(estimates), error / (2 * np.sqrt(estimates))
    return Study(
        float(total.mean() - 1),
        float(total.std() / np.sqrt(seeds)),
        float((np.abs(estimates - truth) <= 1.96 * error).mean()),
        float((np.abs(root - np.sqrt(truth)) <= 1.96 * root_error).mean()),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks coverage")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--state", type=Path, help="a file of what was found, so that nothing is done again")
    options = parser.parse_args(sys.argv[2:])
    known = json.loads(options.state.read_text()) if options.state and options.state.exists() else {}
    print(f"{'':40}{'bias':>10}{'coverage':>12}{'of dfil':>12}   at nominal 95%, {options.seeds} repetitions")
    for name in SETTINGS:
        key = f"{name}, {options.seeds}"
        if key not in known:
            known[key] = asdict(study(name, options.seeds))
            if options.state:
                options.state.write_text(json.dumps(known))
        found = Study(**known[key])
        print(f"{name:40}{found.bias:>+10.1%}{found.coverage:>12.1%}{found.coverage_dfil:>12.1%}", flush=True)
