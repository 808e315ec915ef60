"""The best attacker against model, page, certificate and scale together, person by person.

The attacker knows every record but one value of one person. For each of 21 candidates they fit the model and judge it
anew, all of it from nothing but the changed data; and they know the noise. What they see of two candidates differs by d
units of noise, or in a word that carries none: whether the policy is met. Words that differ tell with certainty. The
certificate promises that no unbiased guess of the attribute is better than +- f, so d may be |c - x| / f at most: 1 is
the promise.

The noise scale is given. How many candidates would be told by one that was chosen by `calibrate`, on its grid, is
printed beside: where the most exposed person decides it, it is about them. "scale" draws data sets and asks how often
the posterior of an age is narrower than promised once the scale is known too, calibrated on the grid.

    python -m benchmarks attack                        diabetes 150, IWPC 40, Adult 10 people; a table 442; 150 worlds
    python -m benchmarks attack diabetes 10            fewer

"table" is a least squares fit of diabetes that is printed with intervals: noise in standard errors, and robust standard
errors with noise of their own. There both releases are normal with covariances of their own, written down here once
more; d is that of two normals with one covariance and the same Bhattacharyya distance.

What was tried is kept in --state FILE (attack.json by default), and not tried again.
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline

import seepage
from benchmarks._scale import attacked_scale
from experiments.datasets import adult_features, complete_adult, iwpc_features, load_adult, load_iwpc
from seepage._amounts import up_to_grid

PEOPLE = {"diabetes": 150, "iwpc": 40, "adult": 10, "table": 442, "scale": 150}
CANDIDATES = 21
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """A model to publish with a promise about some attributes."""

    model: Any
    X: pd.DataFrame
    y: Any
    floors: dict[str, float]


@dataclass(frozen=True)
class Published:
    """All that an attacker sees, before its noise."""

    words: tuple[Any, ...]
    """What carries no noise, on the page and in the certificate: how many people, and whether the policy is met."""
    calibrated: float
    """The scale that `calibrate` would have chosen."""
    parameters: Array
    """In units of the noise."""


def _diabetes() -> Setting:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = X.astype(float)
    return Setting(Ridge(alpha=1.0).fit(X, y), X, y, {"age": 10.0, "bmi": 4.0})


def _iwpc() -> Setting:
    found = load_iwpc()
    X, y = found.data, found.target
    model = make_pipeline(iwpc_features(X, dropped="first"), Ridge(alpha=1e-2 * len(y)))
    return Setting(model.fit(X, y), X, y, {"age": 1.0, "height": 1.0})


def _adult() -> Setting:
    found = load_adult()
    X, y = complete_adult(found.data, found.target)
    logistic = LogisticRegression(C=1 / (1e-3 * len(y)), tol=1e-6, max_iter=1000)
    features = adult_features(X, dropped="first").fit(X)
    scaler = features.named_transformers_["numbers"]
    scaler.mean_, scaler.scale_ = (
        np.array([float(f"{each:.2g}") for each in constants]) for constants in (scaler.mean_, scaler.scale_)
    )
    model = Pipeline([("features", features), ("model", logistic.fit(features.transform(X), y))])
    numbers = ["age", "education-num", "hours-per-week"]
    return Setting(model, X.astype(dict.fromkeys(numbers, float)), y, {"age": 20.0, "hours-per-week": 20.0})


SETTINGS: dict[str, Callable[[], Setting]] = {"diabetes": _diabetes, "iwpc": _iwpc, "adult": _adult}


def published(setting: Setting, X: pd.DataFrame, scale: float) -> Published:
    """Return what would be published about some rows, from nothing but them.

    Preprocessing is public and stays as it is: an encoder with given levels, a scaler with constants of two digits.
    """
    model = setting.model
    if isinstance(model, Pipeline):
        before, last = model[:-1], model[-1]
        model = Pipeline([*before.steps, ("model", clone(last).fit(before.transform(X), setting.y))])
    else:
        model = clone(model).fit(X, setting.y)
    leak = seepage.measure(model, X, setting.y, noise_scale=scale)
    information, policy = leak.information, seepage.Policy(error_floor=setting.floors)
    calibrated = up_to_grid(scale * max(policy.factors(leak).values()))
    words = len(X), not policy.violations(leak)
    return Published(words, calibrated, information.geometry.parameters.ravel() / scale)


def scale_of(setting: Setting) -> float:
    """Return a scale for the setting, one step of the grid above the smallest that is enough."""
    leak = seepage.measure(setting.model, setting.X, setting.y, noise_scale=1.0)
    enough = up_to_grid(max(seepage.Policy(error_floor=setting.floors).factors(leak).values()))
    return up_to_grid(1.1 * enough)


def people_of(setting: Setting, count: int) -> list[int]:
    """Return the people to attack: those most exposed through what is promised, or at all; then others by chance."""
    leak = seepage.measure(setting.model, setting.X, setting.y, noise_scale=1.0)
    promised = np.max([np.asarray(leak.attributes[name]) * floor for name, floor in setting.floors.items()], axis=0)
    exposed = np.argsort(-promised, kind="stable").tolist()
    influential = np.argsort(-np.asarray(leak.examples["eta"]), kind="stable").tolist()
    others = np.random.default_rng(0).permutation(len(setting.X)).tolist()
    quarter = max(count // 4, 1)
    return list(dict.fromkeys([*exposed[:quarter], *influential[:quarter], *others]))[:count]


@dataclass(frozen=True)
class Attack:
    """One candidate: the distance over the promise, and whether words, or a calibrated scale, tell it apart."""

    attribute: str
    value: float
    reached: float
    by_words: bool
    by_scale: bool


def attacks(setting: Setting, person: int, truth: Published, scale: float) -> Iterator[Attack]:
    """Yield an attack for each attribute and candidate."""
    for name, floor in setting.floors.items():
        column = setting.X[name].to_numpy(dtype=float)
        low, high = column.min(), column.max()
        for value in np.linspace(low, high, CANDIDATES):
            length = abs(value - column[person])
            if length < 1e-9 * (high - low):
                continue
            X = setting.X.copy()
            X.loc[X.index[person], name] = value
            other = published(setting, X, scale)
            reached = float(np.linalg.norm(other.parameters - truth.parameters)) / length * floor
            by_words = other.words != truth.words
            yield Attack(name, float(value), reached, by_words, other.calibrated != truth.calibrated)


def attacked(name: str, count: int, state: dict[str, Any], keep: Callable[[], None]) -> None:
    """Attack some people of one data set, and print the best of all attacks."""
    setting = SETTINGS[name]()
    scale = scale_of(setting)
    truth = published(setting, setting.X, scale)
    for person in people_of(setting, count):
        key = f"{name} {person}"
        if key not in state:
            tried = list(attacks(setting, person, truth, scale))
            state[key] = {
                "tried": len(tried),
                "by words": sum(each.by_words for each in tried),
                "by scale": sum(each.by_scale for each in tried),
                "reached": max(each.reached for each in tried),
            }
            keep()
    found = [state[f"{name} {person}"] for person in people_of(setting, count)]
    reached = np.array([each["reached"] for each in found])
    words, scales = (sum(each[what] for each in found) for what in ("by words", "by scale"))
    print(
        f"{name}: {len(found)} people, {sum(each['tried'] for each in found):,} candidates, scale {scale:g}: the best "
        f"attack reached {reached.max():.3f} of the promise (median person {np.median(reached):.3f}), an error of "
        f"{1 / reached.max():.2f} times the floor or more; {words} candidates are told by words, and {scales} would be "
        "by a calibrated scale",
        flush=True,
    )


@dataclass(frozen=True)
class Table:
    """A printed table before its noise: coefficients, and the logarithms of their robust variances."""

    mean: Array
    covariance: Array

    @classmethod
    def of(cls, X: Array, y: Array, noise: seepage.release.RobustCovariance) -> "Table":
        """Fit by least squares, from nothing but the rows."""
        design = np.column_stack([X, np.ones(len(X))])
        n, p = design.shape
        inverse = np.linalg.inv(design.T @ design)
        theta = inverse @ design.T @ y
        gradients = design * (y - design @ theta)[:, None]
        robust = n / (n - p) * inverse @ gradients.T @ gradients @ inverse
        covariance = np.zeros((2 * p, 2 * p))
        covariance[:p, :p] = noise.scale**2 * robust
        covariance[p:, p:] = noise.variances**2 * np.eye(p)
        return cls(np.concatenate([theta, np.log(np.diag(robust))]), covariance)

    def apart(self, other: "Table") -> float:
        """Return how far apart two tables are, in units of noise."""
        middle, shift = 0.5 * (self.covariance + other.covariance), other.mean - self.mean
        logarithms = [np.linalg.slogdet(each)[1] for each in (middle, self.covariance, other.covariance)]
        squares = shift @ np.linalg.solve(middle, shift) + 4 * (logarithms[0] - 0.5 * (logarithms[1] + logarithms[2]))
        return float(np.sqrt(max(squares, 0.0)))


def attacked_table(count: int) -> None:
    """Attack a table with intervals about some people, and print the best of all attacks."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X, floors = X.astype(float), {"age": 5.0, "bmi": 2.0, "bp": 10.0}
    model, both = LinearRegression().fit(X, y), ["coefficients", "standard errors"]
    start = seepage.release.GaussianNoise(standard_errors=1.0)
    leak = seepage.measure(model, X, y, noise_scale=start, published=both)
    shape = seepage.calibrate(leak, error_floor=floors).shape
    assert isinstance(shape, seepage.release.RobustCovariance)
    rows, labels, reached, tried = X.to_numpy(), np.asarray(y, dtype=float), [], 0
    truth = Table.of(rows, labels, shape)
    for person in range(min(count, len(rows))):
        best = 0.0
        for name, floor in floors.items():
            at = X.columns.get_loc(name)
            for value in np.linspace(rows[:, at].min(), rows[:, at].max(), CANDIDATES):
                length = abs(value - rows[person, at])
                if length < 1e-9:
                    continue
                other = rows.copy()
                other[person, at] = value
                best, tried = max(best, truth.apart(Table.of(other, labels, shape)) / length * floor), tried + 1
        reached.append(best)
    print(
        f"table: {len(reached)} people, {tried:,} candidates, {shape.scale:g} standard errors, {shape.variances:g} on "
        f"variances: the best attack reached {max(reached):.3f} of the promise (median person "
        f"{np.median(reached):.3f}), an error of {1 / max(reached):.2f} times the floor or more",
        flush=True,
    )


def main() -> None:
    """Attack what the command line names."""
    arguments = sys.argv[2:]
    state_file = Path(arguments.pop(arguments.index("--state") + 1) if "--state" in arguments else "attack.json")
    arguments = [each for each in arguments if each != "--state"]
    chosen = {arguments[0]: int(arguments[1]) if len(arguments) > 1 else PEOPLE[arguments[0]]} if arguments else PEOPLE
    state = json.loads(state_file.read_text()) if state_file.exists() else {}

    def keep() -> None:
        state_file.write_text(json.dumps(state))

    for name, count in chosen.items():
        if name == "table":
            attacked_table(count)
        elif name == "scale":
            attacked_scale(count)
        else:
            attacked(name, count, state, keep)
