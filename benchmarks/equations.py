"""A doubly robust effect of 100,000 people with 20 columns, of which nothing but the effect is published.

    python -m benchmarks equations
    python -m benchmarks equations --attack [--redraws 300] [--only doubly_robust]

The second attacks the seven estimators of the page on any estimator, whose other people are drawn anew.
"""

import argparse
import resource
import sys
import time

import numpy as np
import pandas as pd

import seepage
from benchmarks._estimators import attack
from seepage.models import Equations

PEOPLE, COLUMNS = 100_000, 18


def _people() -> tuple[pd.DataFrame, list[str]]:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(PEOPLE, COLUMNS)), columns=[f"x{i}" for i in range(COLUMNS)])
    covariates = [*frame.columns]
    chance = 1 / (1 + np.exp(-0.2 * frame.to_numpy().sum(axis=1) / np.sqrt(COLUMNS)))
    frame["treated"] = (random.random(PEOPLE) < chance).astype(int)
    frame["outcome"] = frame[covariates].sum(axis=1) + 2.0 * frame["treated"] + random.normal(size=PEOPLE)
    return frame, covariates


def main() -> None:
    """Print what measuring takes, or what attackers reach."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks equations")
    parser.add_argument("--attack", action="store_true")
    parser.add_argument("--redraws", type=int, default=300)
    parser.add_argument("--only", nargs="*")
    asked = parser.parse_args(sys.argv[2:])
    if asked.attack:
        attack(asked.only, asked.redraws)
    else:
        cost()


def cost() -> None:
    """Print what measuring takes."""
    frame, covariates = _people()

    def psi(theta: np.ndarray, rows: pd.DataFrame) -> np.ndarray:
        w = np.column_stack([rows[name] for name in covariates] + [np.ones(len(rows))])
        a, y, q = rows["treated"].to_numpy(), rows["outcome"].to_numpy(), w.shape[1]
        share, line = 1 / (1 + np.exp(-(w @ theta[1 : q + 1]))), w @ theta[q + 1 : -1]
        rest = y - line - theta[-1] * a
        effect = theta[-1] + a * rest / share - (1 - a) * rest / (1 - share) - theta[0]
        return np.vstack([effect, w.T * (a - share), w.T * rest, a * rest])

    theta = _solved(psi, frame)
    start = time.process_time()
    equations = Equations(psi, theta, names=["effect", *(f"nuisance {i}" for i in range(len(theta) - 1))])
    leak = seepage.measure(equations, frame, published=["effect"], noise_scale=0.001)
    smallest = leak.error_floor()["outcome"].min()
    noised = time.process_time() - start
    start = time.process_time()
    error = seepage.measure(equations, frame, published=["effect"]).error_floor(prior="data")["outcome"].min()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{PEOPLE:,} people, {len(frame.columns)} columns, {len(theta)} equations, 1 number published")
    print(f"with noise: {noised:.1f} s of one core (smallest floor of an outcome {smallest:.3g})")
    print(f"without noise: {time.process_time() - start:.1f} s of one core (smallest error {error:.3g})")
    print(f"largest memory: {memory:.2f} GB")


def _solved(psi, frame: pd.DataFrame) -> np.ndarray:
    """Return the solution by Newton's steps, whose derivatives are complex steps."""
    theta = np.zeros(2 * (COLUMNS + 1) + 2)
    for _ in range(7):
        step = np.eye(len(theta)) * 1e-30j
        slope = np.column_stack([psi(theta + each, frame).sum(axis=1).imag / 1e-30 for each in step])
        theta = theta - np.linalg.solve(slope, psi(theta, frame).sum(axis=1))
    return theta


if __name__ == "__main__":
    main()
