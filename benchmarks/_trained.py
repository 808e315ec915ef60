"""Attackers who are trained on ten thousand simulated releases, trees and networks, beside what is said of them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, RidgeCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

import seepage
from benchmarks.others import Case

Array = NDArray[np.float64]

TRAINING, TEST = 10_000, 2_000
# Accuracy is a share: of so many tests it is known to half a percent.
LABEL_TEST = 8_000


@dataclass(frozen=True)
class Cell:
    """One value of one person, before somebody who knows a share of the others, or as many as are claimed."""

    case: Case
    person: int
    value: str
    known: float | None

    @property
    def name(self) -> str:
        return f"{self.case.name}, {self.value} of {self.person}, {'most' if self.known is None else self.known}"


def cells(seed: int = 0) -> Iterator[Cell]:
    """Yield what is guessed: numbers first, then labels."""
    rng = np.random.default_rng(seed)
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    diabetes = Case("diabetes", X[["age", "bmi", "bp", "s5"]], y, "squares", LinearRegression())
    n = 400
    X = pd.DataFrame(np.column_stack([rng.normal(size=(n, 2)), rng.exponential(size=n)]), columns=["a", "b", "c"])
    margin = 0.8 * X["a"] - 0.5 * X["b"] + 0.3 * X["c"] - 0.3
    yes = pd.Series((rng.random(n) < 1 / (1 + np.exp(-margin))).astype(int), name="yes")
    logistic = Case("logistic", X, yes, "logistic", LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000))
    count = pd.Series(rng.poisson(np.exp(0.5 * margin)), name="count")
    poisson = Case("Poisson", X, count, "Poisson", PoissonRegressor(alpha=0, tol=1e-12, max_iter=10_000))
    exposed = {case.name: _most_exposed(case) for case in (diabetes, logistic, poisson)}
    for known in (0.0, 0.5, None):
        yield Cell(diabetes, exposed["diabetes"]["target"], "target", known)
        yield Cell(diabetes, exposed["diabetes"]["bmi"], "bmi", known)
        yield Cell(logistic, exposed["logistic"]["a"], "a", known)
        yield Cell(poisson, exposed["Poisson"]["c"], "c", known)
    for known in (0.0, 0.5, None):
        yield Cell(logistic, exposed["logistic"]["yes"], "yes", known)
        yield Cell(logistic, int(rng.integers(n)), "yes", known)


def _most_exposed(case: Case) -> dict[str, int]:
    """Return of each value who is most exposed among those about whom something is claimed when most is known."""
    leak = case.measured()
    found = leak.against(_most(leak)).attributes
    return {
        str(name): int(np.nanargmax(np.where(np.isfinite(found[name]), found[name], np.nan)))
        for name in [*case.X.columns, case.y.name]
    }


def _most(leak: seepage.Leakage) -> int:
    others = leak.information.crowd.count - 1
    return max(others - int(np.ceil(leak.information.claims.fewest)), 0)


def _releases(cell: Cell, known: int, values: Array, rng: np.random.Generator) -> Array:
    """Return a release for each value of the person, of others who are drawn anew each time."""
    case, i = cell.case, cell.person
    tables, own = case.tables, np.array([cell.person])
    rest = np.delete(np.arange(len(case.X)), i)
    weights = np.zeros((len(values), len(case.X)))
    weights[:, rest] = rng.multinomial(len(rest) - known, np.full(len(rest), 1 / len(rest)), size=len(values))
    weights[:, rng.permutation(rest)[:known]] += 1.0
    rows = np.repeat(tables.Z[own][None], len(values), axis=0)
    labels = np.repeat(tables.labels[own][None], len(values), axis=0)
    if cell.value == case.y.name:
        labels[:, 0, 0] = values
    else:
        rows[:, 0, list(case.X.columns).index(cell.value)] = values
    return tables(weights, own, tables.fitted(), rows, labels)


def tried(cell: Cell, training: int = TRAINING, test: int = TEST, seed: int = 0) -> dict[str, object]:
    """Train attackers on one cell and return what they reached beside what was said."""
    leak = cell.case.measured()
    others = len(cell.case.X) - 1
    known = _most(leak) if cell.known is None else int(cell.known * others)
    said = leak.against(known)
    rng = np.random.default_rng([seed, cell.person, known])
    if cell.value in leak.information.categorical:
        return _told(cell, said, known, training, max(test, LABEL_TEST if test == TEST else test), rng)
    floor = float(said.error_floor(prior="data")[cell.value].iloc[cell.person])
    printed = leak.information.printed
    value = cell.case.y if cell.value == cell.case.y.name else cell.case.X[cell.value]
    guess = float(value.iloc[cell.person]) - float(printed.guessed[cell.value][cell.person])
    deviation = printed.deviations[cell.value]
    values = guess + deviation * rng.normal(size=training + test)
    releases = _releases(cell, known, values, rng)
    target = (values - guess) / deviation
    seen = StandardScaler().fit(releases[:training]).transform(releases)
    held = training * 9 // 10
    attackers = {
        "linear": RidgeCV(np.logspace(-3, 3, 7)),
        "trees": HistGradientBoostingRegressor(max_iter=200, learning_rate=0.05, early_stopping=True, random_state=0),
        "network": MLPRegressor(
            hidden_layer_sizes=(32,), alpha=1e-2, early_stopping=True, max_iter=100, random_state=0
        ),
    }
    errors = {}
    for name, model in attackers.items():
        model.fit(seen[:held], target[:held])
        rest = (model.predict(seen[held:]) - target[held:]) ** 2
        errors[name] = float(rest[: training - held].mean()), rest[training - held :]
    best = min(errors, key=lambda name: errors[name][0])
    # A network or trees that learned only the noise are beside the point: who is best beforehand is taken.
    reached = errors[best][1]
    z = (reached.mean() - (floor / deviation) ** 2) / (reached.std() / np.sqrt(len(reached)))
    return {
        "cell": cell.name,
        "kind": "error",
        "prior": deviation,
        "said": floor,
        "reached": {name: deviation * float(np.sqrt(rest.mean())) for name, (_, rest) in errors.items()},
        "best": best,
        "z": float(z),
    }


def _told(
    cell: Cell, said: seepage.Leakage, known: int, training: int, test: int, rng: np.random.Generator
) -> dict[str, object]:
    found = said.success_rate(cell.value)
    rate = float(found["success_rate"].iloc[cell.person])
    values = rng.integers(0, 2, training + test).astype(float)
    releases = _releases(cell, known, values, rng)
    seen = StandardScaler().fit(releases[:training]).transform(releases)
    attackers = {
        "linear": LogisticRegression(max_iter=1000),
        "trees": HistGradientBoostingClassifier(max_iter=200, learning_rate=0.05, early_stopping=True, random_state=0),
        "network": MLPClassifier(
            hidden_layer_sizes=(32,), alpha=1e-2, early_stopping=True, max_iter=100, random_state=0
        ),
    }
    held = training * 9 // 10
    right = {}
    for name, model in attackers.items():
        model.fit(seen[:held], values[:held])
        good = model.predict(seen[held:]) == values[held:]
        right[name] = float(good[: training - held].mean()), float(good[training - held :].mean())
    best = max(right, key=lambda name: right[name][0])
    return {
        "cell": cell.name,
        "kind": "rate",
        "said": rate,
        "reached": {name: share for name, (_, share) in right.items()},
        "best": best,
        "z": float((rate - right[best][1]) / np.sqrt(0.25 / test)),
    }
