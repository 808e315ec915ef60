"""The error of attackers who use averages, against others who are drawn anew.

    python -m benchmarks others [--people 20] [--redraws 1000] [--only diabetes] [--state others.json]
    python -m benchmarks others --enumerate | --fourier | --hostile | --trained

Of each data set some people are attacked by somebody who knows everything about them but one value, k of the others
completely, and of the rest the population: the rest are drawn anew from the others, the model is fitted again by plain
Newton steps, and its table printed. Before somebody who knows everybody's covariates outcomes are drawn from the model.
The best linear guess from such tables errs by so much, which is held against what `seepage.measure` says without having
drawn anybody. A cell is one value of one person before one attacker. With `--state` a run that was interrupted
continues where it was.

How a table moves with a value depends on who the others are. The answer is about the table that there is, and so is
the guess: it goes by how that one moves, found by fitting it again. Beside it stands a guess that goes by how tables
move in the mean over redraws. Where a value hardly moves this table and moves others more, that one is nearer than the
answer: it is about other tables.

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
from statsmodels.duration.hazard_regression import PHReg

import seepage
from benchmarks._redrawn import FAMILIES, Tables, informations, slopes
from experiments.datasets import load_adult, load_iwpc

Array = NDArray[np.float64]

_LOWEST, _LOW, _HIGH = 0.85, 0.9, 1.2
# Of so many redraws it is known well enough how tables move in the mean over all.
_SLOPES = 40
# Who is known is drawn so many times: what guesses are worth in the mean over that is held against the answer.
HELD = 4


@dataclass(frozen=True)
class Case:
    """People, and a model of them."""

    name: str
    X: pd.DataFrame
    y: pd.Series | pd.DataFrame
    """Of survival the time and whether there was an event."""
    family: str
    model: object
    penalty: float = 0.0

    @property
    def tables(self) -> Tables:
        """What is printed of the model where rows are weighed anew."""
        X, y = self.X.to_numpy(float), self.y.to_numpy(float)
        if self.family == "Cox":
            return Tables("Cox", X, y, np.full(X.shape[1], self.penalty))
        labels = np.eye(3)[y.astype(int)] if self.family == "multinomial" else y[:, None]
        Z = np.column_stack([X, np.ones(len(X))])
        return Tables(self.family, Z, labels, np.append(np.full(X.shape[1], self.penalty), 0.0))

    def measured(self) -> "seepage.SamplingLeakage":
        """Return what the library says of it."""
        if self.family == "Cox":
            return seepage.measure(PHReg(self.y.iloc[:, 0], self.X, status=self.y.iloc[:, 1]).fit(disp=0))
        return seepage.measure(self.model.fit(self.X, self.y), self.X, self.y)  # type: ignore[attr-defined]

    @property
    def values(self) -> list[list[int]]:
        """Which values of a person each attribute is, those of the outcome last."""
        width = self.X.shape[1]
        label = {"Cox": [], "multinomial": [[width, width + 1]]}.get(self.family, [[width]])
        return [*([i] for i in range(width)), *label]

    @property
    def called(self) -> str:
        return "ridge" if self.family == "squares" and self.penalty else self.family

    @property
    def names(self) -> list[str]:
        return [*self.X.columns, *(() if self.family == "Cox" else [str(self.y.name)])]


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
        "Poisson",
        PoissonRegressor(alpha=0, tol=1e-12, max_iter=10_000),
    )
    yield Case(
        "drawn, gamma",
        X,
        pd.Series(rng.gamma(3.0, np.exp(margin) / 3.0), name="cost"),
        "gamma",
        GammaRegressor(alpha=0, tol=1e-12, max_iter=10_000),
    )
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"])
    margins = np.column_stack([np.zeros(600), X @ [0.5, -0.4, 0.0] + 0.2, X @ [-0.3, 0.2, 0.4]])
    share = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    ward = pd.Series((rng.random(600)[:, None] > share.cumsum(axis=1)).sum(axis=1), name="ward")
    yield Case("drawn, multinomial", X, ward, "multinomial", logistic)
    yield Case(
        "drawn, multinomial ridge", X, ward, "multinomial", LogisticRegression(C=1.0, tol=1e-12, max_iter=10_000), 1.0
    )
    X = pd.DataFrame(rng.normal(size=(500, 4)), columns=["a", "b", "c", "d"])
    X["d"] = (X["d"] > 0).astype(float)
    week = rng.exponential(np.exp(-(X @ [0.5, -0.4, 0.0, 0.4])))
    until = rng.exponential(1.5, 500)
    outcome = pd.DataFrame({"week": np.minimum(week, until), "arrest": (week <= until).astype(int)})
    # Of people who are drawn twice both have their events together, which is one term for each.
    yield Case("drawn, Cox", X, outcome, "Cox", PHReg)


def _stored(rng: np.random.Generator) -> Iterator[Case]:
    """Yield samples of people from public data, if they are here: numbers and two-valued columns of theirs."""
    if os.environ.get("SEEPAGE_DATA") is None:
        return
    patients = load_iwpc()
    at = rng.choice(len(patients.data), 1000, replace=False)
    X = patients.data.select_dtypes("number").iloc[at].reset_index(drop=True)
    y = pd.Series(np.asarray(patients.target)[at], name="dose")
    yield Case("warfarin (IWPC), ridge", X, y, "squares", Ridge(alpha=10.0), 10.0)
    adults = load_adult()
    at = rng.choice(len(adults.data), 1500, replace=False)
    X = adults.data.iloc[at][["age", "education-num", "hours-per-week"]].astype(float).reset_index(drop=True)
    X["male"] = (adults.data["sex"].iloc[at].to_numpy() == "Male").astype(float)
    X = (X - X.mean()) / X.std()
    y = pd.Series(np.asarray(adults.target)[at].astype(int), name="rich")
    yield Case("Adult, logistic", X, y, "logistic", LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000))


def attacked(
    case: Case, known: int | str, people: int, redraws: int, rng: np.random.Generator
) -> list[dict[str, object]]:
    """Return what attackers reached over what was said, one entry a cell."""
    said = case.measured().against(known).attributes
    tables = case.tables
    start = tables.fitted()
    cells: list[dict[str, object]] = []
    for i in rng.choice(len(case.X), people, replace=False):
        own, there = np.array([i]), np.ones((1, len(case.X)))
        there[:, i] = 0.0
        at_release = slopes(tables, there, own, start)
        squares = np.zeros((2, len(case.names)))
        for _ in range(HELD):
            weights, labels = _drawn(case, tables, start, known, int(i), redraws // HELD, rng)
            some = slice(0, _SLOPES // HELD)
            mean = slopes(tables, weights[some], own, start, None if labels is None else labels[some])
            found = tables(weights, own, start, labels=labels)
            for k, slope in enumerate((at_release, mean)):
                reached = informations(found, slope)
                squares[k] += [np.linalg.eigvalsh(reached[np.ix_(block, block)])[-1] / HELD for block in case.values]
        for name, square in zip(case.names, squares.T, strict=True):
            answer = float(said.iloc[i][name])
            # Where nothing protects, no attack is needed.
            ratio, average = answer / np.sqrt(square) if np.isfinite(answer) else (answer, answer)
            cell = {"family": case.called, "person": int(i), "value": name, "known": known}
            cells.append({**cell, "ratio": float(ratio), "average": float(average)})
    return cells


def _drawn(
    case: Case, tables: Tables, start: Array, known: int | str, person: int, redraws: int, rng: np.random.Generator
) -> tuple[Array, Array | None]:
    """Return how often each of the others is drawn, and everybody's outcomes if these are drawn instead."""
    rest = np.delete(np.arange(len(case.X)), person)
    weights = np.ones((redraws, len(case.X)))
    weights[:, person] = 0.0
    if isinstance(known, str):
        return weights, _outcomes(tables, start, redraws, rng)
    held = rng.permutation(rest)[:known]
    weights[:, rest] = rng.multinomial(len(rest) - known, np.full(len(rest), 1 / len(rest)), size=redraws)
    weights[:, held] += 1.0
    return weights, None


def _outcomes(tables: Tables, start: Array, redraws: int, rng: np.random.Generator) -> Array:
    """Return everybody's outcomes as the model draws them, given the covariates."""
    family, margins = FAMILIES[tables.family], tables.Z @ start
    assert family.drawn is not None
    free = len(margins) - start.size
    phi = 1.0 if family.pearson is None else float(family.pearson(margins, tables.labels).sum() / free)
    return family.drawn(rng, np.repeat(margins[None], redraws, axis=0), phi)


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
    found: list[dict[str, object]] = []
    for case in cases():
        if asked.only not in case.name:
            continue
        others, fewest = len(case.X) - 1, case.measured().information.claims.fewest
        attackers: list[int | str] = sorted({0, others // 2, max(others - int(np.ceil(fewest)), 0)})
        if case.family not in ("gamma", "multinomial", "Cox"):
            # How outcomes of these scatter, given the covariates, is not answered.
            attackers.append("covariates")
        for known in attackers:
            began, key = time.perf_counter(), f"{case.name}, {known}"
            if key not in done:
                rng = np.random.default_rng(asked.seed)
                done[key] = attacked(case, known, asked.people, asked.redraws, rng)
                if asked.state is not None:
                    asked.state.write_text(json.dumps(done))
            found += done[key]
            _line(case.name, str(known), done[key], time.perf_counter() - began)
    random = [cell for cell in found if cell["known"] != "covariates"]
    for family in dict.fromkeys(cell["family"] for cell in found):
        _line(str(family), "any", [cell for cell in random if cell["family"] == family])
    _line("all", "any", random)
    _line("all", "covariates", [cell for cell in found if cell["known"] == "covariates"])


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
            for known in sorted({int(cell["known"]) for cell in done[key]}):  # type: ignore[call-overload]
                _line(name, str(known), [cell for cell in done[key] if cell["known"] == known])
            print(f"  ({time.perf_counter() - began:.0f} s)", flush=True)
            continue
        rows = [row for row in done[key] if row.get("claimed", True)] or done[key][:1]
        for row in rows if asked.kind != "fourier" else [max(rows, key=_apart)]:
            print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    found = [row for key, rows in done.items() if key.startswith(f"{asked.kind}: ") for row in rows]
    if asked.kind == "hostile":
        _line("all", "any", found)
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


def _line(name: str, known: str, cells: list[dict[str, object]], seconds: float = 0.0) -> None:
    if not cells:
        return
    ratio = np.array([cell["ratio"] for cell in cells], dtype=float)
    claimed = ratio[np.isfinite(ratio)]
    inside = np.mean((claimed >= _LOW) & (claimed <= _HIGH)) if len(claimed) else np.nan
    low, middle, high = np.quantile(claimed, [0.05, 0.5, 0.95]) if len(claimed) else [np.nan] * 3
    print(
        f"{name:32s} known {known:>10}: attack over answer {low:.2f} {middle:.2f} {high:.2f}, "
        f"lowest {claimed.min(initial=np.inf):.2f}, within 0.9 to 1.2: {inside:.0%}, "
        f"claimed {len(claimed) / len(ratio):.0%} of {len(ratio)}, {np.isinf(ratio).mean():.0%} not protected"
        f"{_average(cells)}"
        f"{f'  ({seconds:.0f} s)' if seconds else ''}",
        flush=True,
    )


def _average(cells: list[dict[str, object]]) -> str:
    found = np.array([cell.get("average", np.nan) for cell in cells], dtype=float)
    found = found[np.isfinite(found)]
    if not len(found):
        return ""
    inside = np.mean((found >= _LOW) & (found <= _HIGH))
    low, middle, high = np.quantile(found, [0.05, 0.5, 0.95])
    return f"; by mean slopes {low:.2f} {middle:.2f} {high:.2f}, lowest {found.min():.2f}, within {inside:.0%}"
