"""The error of attackers who use averages, against others who are drawn anew.

    python -m benchmarks others [--people 20] [--redraws 1000] [--only diabetes] [--state others.json]
    python -m benchmarks others --enumerate | --fourier | --hostile | --trained

Of each data set some people are attacked by somebody who knows everything about them but one value, k of the others
completely, and of the rest the population: the rest are drawn anew from the others, the model is fitted again by a
plain Newton method of this file, and its table printed. The best linear guess from such tables errs by so much, which
is held against what `seepage.measure` says without having drawn anybody. A cell is one value of one person before one
attacker. With `--state` a run that was interrupted continues where it was.

The others count all worlds that a table could have come from, transform characteristic functions, draw data that a
description by averages should not fit, and train trees and networks.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)

import seepage

Array = NDArray[np.float64]

_LOWEST, _LOW, _HIGH = 0.85, 0.9, 1.2
# A guess goes by how tables move in the mean over redraws: of so many of them that is known well enough.
_SLOPES = 60


@dataclass(frozen=True)
class Family:
    """A loss, as plainly as it can be written: slope and curvature in the margin, and the dispersion."""

    slope: Callable[[Array, Array], Array]
    curvature: Callable[[Array, Array], Array]
    pearson: Callable[[Array, Array], Array] | None = None
    counts: bool = False


FAMILIES = {
    "squares": Family(lambda m, y: m - y, lambda m, y: np.ones_like(m), lambda m, y: (y - m) ** 2),
    "logistic": Family(
        lambda m, y: 1 / (1 + np.exp(-m)) - y, lambda m, y: 1 / (2 + np.exp(m) + np.exp(-m)), counts=True
    ),
    "poisson": Family(lambda m, y: np.exp(m) - y, lambda m, y: np.exp(m)),
    "gamma": Family(
        lambda m, y: 1 - y * np.exp(-m), lambda m, y: y * np.exp(-m), lambda m, y: (y * np.exp(-m) - 1) ** 2
    ),
}


def table(Z: Array, y: Array, family: Family, penalty: Array, start: Array) -> Array:
    """Return what is printed: coefficients, standard errors without a penalty, dispersion, number of cases."""
    theta = start.copy()
    for _ in range(50):
        m = Z @ theta
        hessian = (Z * family.curvature(m, y)[:, None]).T @ Z + np.diag(penalty)
        step = np.linalg.solve(hessian, Z.T @ family.slope(m, y) + penalty * theta)
        theta = theta - step
        if np.abs(step).max() < 1e-9 * max(1.0, np.abs(theta).max()):
            break
    m = Z @ theta
    hessian = (Z * family.curvature(m, y)[:, None]).T @ Z + np.diag(penalty)
    phi = 1.0 if family.pearson is None else family.pearson(m, y).sum() / (len(y) - len(theta))
    found = [theta]
    # Attackers may look at logarithms of what is positive: linear guesses from these are nearer.
    if not penalty.any():
        found.append(0.5 * np.log(phi * np.diag(np.linalg.inv(hessian))))
    if family.pearson is not None:
        found.append(np.log([phi]))
    if family.counts:
        found.append(np.array([y.sum()]))
    return np.concatenate(found)


@dataclass(frozen=True)
class Case:
    """People, and a model of them."""

    name: str
    X: pd.DataFrame
    y: pd.Series
    family: str
    model: object
    penalty: float = 0.0

    @property
    def penalties(self) -> Array:
        return np.append(np.full(self.X.shape[1], self.penalty), 0.0)


def cases() -> Iterator[Case]:
    """Yield the data sets with their models."""
    rng = np.random.default_rng(7)
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    yield Case("diabetes, least squares", X, y, "squares", LinearRegression())
    yield Case("diabetes, ridge", X, y, "squares", Ridge(alpha=10.0), 10.0)
    high = (y > 140).astype(int).rename("high")
    scaled = (X - X.mean()) / X.std()
    logistic = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
    yield Case("diabetes, logistic", scaled, high, "logistic", logistic)
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :10]
    X = (X - X.mean()) / X.std()
    yield Case(
        "breast cancer, logistic ridge", X, y, "logistic", LogisticRegression(C=1.0, tol=1e-12, max_iter=10_000), 1.0
    )
    yield from _stored(rng)
    X = pd.DataFrame(rng.normal(size=(500, 4)) * [1, 2, 1, 0.5], columns=["a", "b", "c", "d"])
    X["d"] = (X["d"] > 0).astype(float)
    margin = 0.3 * X["a"] - 0.2 * X["b"] + 0.1 * X["c"] + 0.4 * X["d"] + 0.5
    yield Case(
        "drawn, Poisson",
        X,
        pd.Series(rng.poisson(np.exp(margin)), name="count"),
        "poisson",
        PoissonRegressor(alpha=0, tol=1e-12, max_iter=10_000),
    )
    yield Case(
        "drawn, gamma",
        X,
        pd.Series(rng.gamma(3.0, np.exp(margin) / 3.0), name="cost"),
        "gamma",
        GammaRegressor(alpha=0, tol=1e-12, max_iter=10_000),
    )


def _stored(rng: np.random.Generator) -> Iterator[Case]:
    """Yield samples of people from public data, if they are here: numbers and two-valued columns of theirs."""
    if os.environ.get("SEEPAGE_DATA") is None:
        return
    patients = seepage.datasets.load_iwpc()
    at = rng.choice(len(patients.data), 1000, replace=False)
    X = patients.data.select_dtypes("number").iloc[at].reset_index(drop=True)
    y = pd.Series(np.asarray(patients.target)[at], name="dose")
    yield Case("warfarin (IWPC), ridge", X, y, "squares", Ridge(alpha=10.0), 10.0)
    adults = seepage.datasets.load_adult()
    at = rng.choice(len(adults.data), 1500, replace=False)
    X = adults.data.iloc[at][["age", "education-num", "hours-per-week"]].astype(float).reset_index(drop=True)
    X["male"] = (adults.data["sex"].iloc[at].to_numpy() == "Male").astype(float)
    X = (X - X.mean()) / X.std()
    y = pd.Series(np.asarray(adults.target)[at].astype(int), name="rich")
    yield Case("Adult, logistic", X, y, "logistic", LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000))


def attacked(case: Case, people: int, redraws: int, rng: np.random.Generator) -> list[dict[str, object]]:
    """Return what was said and what attackers reached, one entry a cell."""
    X, y = case.X, case.y
    leak = seepage.measure(case.model.fit(X, y), X, y)
    others, family, penalty = len(X) - 1, FAMILIES[case.family], case.penalties
    most = others - int(np.ceil(leak.information.claims.fewest))
    Z, labels = np.column_stack([X.to_numpy(float), np.ones(len(X))]), y.to_numpy(float)
    start = table(Z, labels, family, penalty, np.zeros(Z.shape[1]))
    theta = start[: Z.shape[1]]
    names = [*X.columns, y.name]
    cells = []
    for known in sorted({0, others // 2, max(most, 0)}):
        said = seepage.Leakage(leak.information.against(known)).attributes
        for i in rng.choice(len(X), people, replace=False):
            rest = np.delete(np.arange(len(X)), i)
            held = rng.permutation(rest)[:known]
            tables, slopes = [], []
            for draw in range(redraws):
                drawn = np.concatenate([held, rng.choice(rest, others - known), [i]]).astype(int)
                tables.append(table(Z[drawn], labels[drawn], family, penalty, theta))
                if draw < _SLOPES:
                    slopes.append(_slopes(case, Z[drawn], labels[drawn], tables[-1][: Z.shape[1]]))
            reached = _errors(np.array(tables), np.mean(slopes, axis=0))
            for name, error in zip(names, reached, strict=True):
                ratio = float(error * said.iloc[i][name])
                cells.append({"case": case.name, "person": int(i), "value": str(name), "known": known, "ratio": ratio})
    return cells


def _slopes(case: Case, Z: Array, labels: Array, theta: Array) -> Array:
    """Return how a table moves with each value of its last person, (values, numbers), by fitting it again."""
    family, penalty = FAMILIES[case.family], case.penalties
    found = []
    for k in range(Z.shape[1]):
        # The last column is one for everybody: the label's turn.
        is_label = k == Z.shape[1] - 1
        step = 1e-4 * (labels.std() if is_label else Z[:, k].std())
        ends = []
        for sign in (1, -1):
            rows, other = Z.copy(), labels.astype(float)
            if is_label:
                other[-1] += sign * step
            else:
                rows[-1, k] += sign * step
            ends.append(table(rows, other, family, penalty, theta))
        found.append((ends[0] - ends[1]) / (2 * step))
    return np.array(found)


def _errors(tables: Array, slopes: Array) -> Array:
    """Return the error of the best linear guess of each value from such tables."""
    scale = tables.std(axis=0)
    count, q = tables.shape
    inverse = np.linalg.inv(np.cov((tables / scale).T)) * (count - q - 2) / (count - 1)
    return np.asarray(1 / np.sqrt(np.einsum("vq,qr,vr->v", slopes / scale, inverse, slopes / scale)))


def main() -> None:
    """Run it and print a line for each data set and attacker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("benchmark")
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--redraws", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path)
    kinds = parser.add_mutually_exclusive_group()
    for kind in ("enumerate", "fourier", "hostile", "trained", "cost"):
        kinds.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.kind == "cost":
        from benchmarks import _cost_of_others

        _cost_of_others.main()
        return
    done: dict[str, list[dict[str, object]]] = {}
    if asked.state is not None and asked.state.exists():
        done = json.loads(asked.state.read_text())
    if asked.kind is not None:
        _others_ways(asked, done)
        return
    for case in cases():
        if asked.only not in case.name:
            continue
        began = time.perf_counter()
        if case.name not in done:
            done[case.name] = attacked(case, asked.people, asked.redraws, np.random.default_rng(asked.seed))
            if asked.state is not None:
                asked.state.write_text(json.dumps(done))
        _line(case.name, done[case.name], time.perf_counter() - began)
    _line("all", [cell for cells in done.values() for cell in cells], 0.0)


def _others_ways(asked: argparse.Namespace, done: dict[str, list[dict[str, object]]]) -> None:
    """Run what is not the best linear guess on ordinary data, one case after the other, and print each."""
    from benchmarks import _hostile, _trained, _transform, _worlds

    tasks: dict[str, Callable[[], list[dict[str, object]]]] = {}
    if asked.kind == "enumerate":
        tasks["toys"] = lambda: list(_worlds.toys(8, seed=asked.seed))
        for name in _worlds.LATTICES:
            tasks[name] = partial(_listed, _worlds.through_the_door, name, 200, asked.seed)
    elif asked.kind == "fourier":
        for name in _transform.POPULATIONS:
            for unknown in _transform.sizes(name):
                tasks[f"{name}, {unknown}"] = partial(_transform.compared, name, unknown, asked.seed)
    elif asked.kind == "hostile":
        for one in _hostile.hostile(asked.seed):
            tasks[one.case.name] = partial(_hostile.attacked, one, asked.redraws, asked.seed)
    else:
        for cell in _trained.cells(asked.seed):
            tasks[cell.name] = lambda cell=cell: [_trained.tried(cell)]  # type: ignore[misc]
    for name, task in tasks.items():
        if asked.only not in name:
            continue
        began = time.perf_counter()
        key = f"{asked.kind}: {name}"
        if key not in done:
            done[key] = task()
            if asked.state is not None:
                asked.state.write_text(json.dumps(done))
        if asked.kind == "hostile":
            _line(name, done[key], time.perf_counter() - began)
            continue
        rows = [row for row in done[key] if row.get("claimed", True)] or done[key][:1]
        for row in rows if asked.kind != "fourier" else [max(rows, key=_apart)]:
            print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    found = [row for key, rows in done.items() if key.startswith(f"{asked.kind}: ") for row in rows]
    if asked.kind == "hostile":
        _line("all", found, 0.0)
    elif asked.kind == "fourier":
        claimed = [row for row in found if row["claimed"]]
        print(f"claimed {len(claimed)} of {len(found)}, farthest from exact {max(map(_apart, claimed)):.3f}")
    elif asked.kind == "enumerate":
        better = [row["claimed exact"] - row["claimed theory"] for row in found if row["claimed"]]  # type: ignore[operator]
        print(f"claimed {len(better)} of {len(found)} kinds, counting is better by at most {max(better):.3f}")
    else:
        errors = np.array([row["z"] for row in found if row["kind"] == "error"], dtype=float)
        over = [row["reached"][row["best"]] - row["said"] for row in found if row["kind"] == "rate"]  # type: ignore[index]
        print(
            f"errors: {np.mean(errors < -1.645):.0%} of {len(errors)} cells rejected at 5%, "
            f"{np.sum(errors < norm.ppf(0.05 / len(errors)))} after Bonferroni; rates: trained less said "
            f"{min(over, default=0.0):.3f} to {max(over, default=0.0):.3f}"
        )


def _listed(function: Callable[..., Iterator[dict[str, object]]], *given: object) -> list[dict[str, object]]:
    return list(function(*given))


def _apart(row: dict[str, object]) -> float:
    return abs(float(row["said"]) / float(row["exact"]) - 1)  # type: ignore[arg-type]


def _line(name: str, cells: list[dict[str, object]], seconds: float) -> None:
    for known in sorted({cell["known"] for cell in cells}) if name != "all" else [None]:
        some = [cell for cell in cells if known is None or cell["known"] == known]
        ratio = np.array([cell["ratio"] for cell in some], dtype=float)
        claimed = ratio[np.isfinite(ratio)]
        inside = np.mean((claimed >= _LOW) & (claimed <= _HIGH)) if len(claimed) else np.nan
        low, middle, high = np.quantile(claimed, [0.05, 0.5, 0.95]) if len(claimed) else [np.nan] * 3
        print(
            f"{name:32s} known {'any' if known is None else known!s:>5}: attack over answer {low:.2f} {middle:.2f} "
            f"{high:.2f}, lowest {claimed.min(initial=np.inf):.2f}, within 0.9 to 1.2: {inside:.0%}, "
            f"claimed {len(claimed) / max(len(ratio), 1):.0%} of {len(ratio)}  ({seconds:.0f} s)",
            flush=True,
        )
