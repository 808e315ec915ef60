"""The best attacker against page, certificate, model card and scale together, person by person.

The attacker knows every record but one value of one person. For each of 21 candidates they fit the model, choose the
noise scale as its owner did, count and judge the page anew, all of it from nothing but the changed data; and they know
the noise. What they see of two candidates differs by d units of noise, or in a word that carries none: the scale on its
grid, whether there is a page, or which numbers stand on it. Words that differ tell with certainty. The certificate
promises that no guess of the attribute is better than +- f, so d may be |c - x| / f at most: 1 is the promise.

    python -m benchmarks attack                        diabetes 150, IWPC 40, Adult 10 people
    python -m benchmarks attack diabetes 10            fewer

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
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline

import seepage
from seepage._amounts import up_to_grid
from seepage.datasets import adult_features, complete_adult, iwpc_features, load_adult, load_iwpc
from seepage.leakage import Leakage
from seepage.report.count import contents_of, counted, logarithms

PEOPLE = {"diabetes": 150, "iwpc": 40, "adult": 10}
CANDIDATES = 21
RESERVE = 1.1
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """A model to publish with a promise about some attributes."""

    model: Any
    X: pd.DataFrame
    y: Any
    floors: dict[str, float]
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Published:
    """All that an attacker sees, before its noise."""

    words: tuple[Any, ...]
    """What carries no noise: the scale, and what stands on the page."""
    parameters: Array
    """In units of the noise."""
    numbers: Array
    """Of the page, in units of theirs."""


def _diabetes() -> Setting:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = X.astype(float)
    return Setting(Ridge(alpha=1.0).fit(X, y), X, y, {"age": 10.0, "bmi": 4.0}, ("sex",))


def _iwpc() -> Setting:
    found = load_iwpc()
    X, y = found.data, found.target
    model = make_pipeline(iwpc_features(X, dropped="first"), Ridge(alpha=1e-2 * len(y), fit_intercept=False))
    return Setting(model.fit(X, y), X, y, {"age": 1.0, "height": 1.0}, ("race",))


def _adult() -> Setting:
    found = load_adult()
    X, y = complete_adult(found.data, found.target)
    logistic = LogisticRegression(C=1 / (1e-3 * len(y)), fit_intercept=False, tol=1e-6, max_iter=1000)
    model = make_pipeline(adult_features(X, dropped="first"), logistic).fit(X, y)
    numbers = ["age", "education-num", "hours-per-week"]
    return Setting(model, X.astype(dict.fromkeys(numbers, float)), y, {"age": 20.0, "hours-per-week": 20.0}, ("sex",))


SETTINGS: dict[str, Callable[[], Setting]] = {"diabetes": _diabetes, "iwpc": _iwpc, "adult": _adult}


def published(setting: Setting, X: pd.DataFrame) -> Published:
    """Return what would be published about some rows, from nothing but them.

    Preprocessing is public, so that it stays as it is.
    """
    model = setting.model
    if isinstance(model, Pipeline):
        before, last = model[:-1], model[-1]
        model = Pipeline([*before.steps, ("model", clone(last).fit(before.transform(X), setting.y))])
    else:
        model = clone(model).fit(X, setting.y)
    leak = seepage.measure(model, X, setting.y, noise_scale=1.0)
    policy = seepage.Policy(error_floor=setting.floors)
    # The smallest scale of the grid with a tenth in reserve: without, one person may decide which step it comes to.
    scale = up_to_grid(RESERVE * max(policy.factors(leak).values()))
    leak = seepage.measure(model, X, setting.y, noise_scale=scale)
    information = leak.information
    contents = contents_of(information, policy=policy, groups=X[list(setting.groups)], smallest_group=10)
    numbers = np.empty(0)
    shown: tuple[Any, ...] = ()
    if contents is not None:
        both = seepage.compose([leak, Leakage(counted(information, contents))])
        numbers = contents.values(logarithms(information, contents.attributes)) / contents.noise
        shown = contents.attributes, tuple((group.grouping, group.name) for group in contents.groups)
    else:
        both = leak
    met = not policy.shortfalls(both)
    parameters = information.geometry.parameters.ravel() / scale
    return Published((len(X), scale, met, shown), parameters, numbers)


def people_of(setting: Setting, count: int) -> list[int]:
    """Return the people to attack: half of them those with the largest leverage, the others by chance."""
    leak = seepage.measure(setting.model, setting.X, setting.y, noise_scale=1.0)
    exposed = np.argsort(-np.asarray(leak.examples["eta"]), kind="stable")
    others = np.random.default_rng(0).permutation(len(setting.X))
    half = (count + 1) // 2
    return list(dict.fromkeys([*exposed[:half].tolist(), *others.tolist()]))[:count]


def attacks(setting: Setting, person: int, truth: Published) -> Iterator[tuple[str, float, float, bool]]:
    """Yield, for each attribute and candidate, the distance over the promise, and whether words tell it apart."""
    for name, floor in setting.floors.items():
        column = setting.X[name].to_numpy(dtype=float)
        low, high = column.min(), column.max()
        for value in np.linspace(low, high, CANDIDATES):
            length = abs(value - column[person])
            if length < 1e-9 * (high - low):
                continue
            X = setting.X.copy()
            X.loc[X.index[person], name] = value
            other = published(setting, X)
            if other.words != truth.words:
                yield name, float(value), np.inf, True
                continue
            moved = np.linalg.norm(other.parameters - truth.parameters)
            distance = float(np.hypot(moved, np.linalg.norm(other.numbers - truth.numbers)))
            yield name, float(value), distance / length * floor, False


def attacked(name: str, count: int, state: dict[str, Any], keep: Callable[[], None]) -> None:
    """Attack some people of one data set, and print the best of all attacks."""
    setting = SETTINGS[name]()
    truth = published(setting, setting.X)
    for person in people_of(setting, count):
        key = f"{name} {person}"
        if key not in state:
            tried = list(attacks(setting, person, truth))
            state[key] = {
                "tried": len(tried),
                "told by words": sum(words for *_, words in tried),
                "reached": max((each for _, _, each, words in tried if not words), default=0.0),
            }
            keep()
    found = [state[f"{name} {person}"] for person in people_of(setting, count)]
    reached = np.array([each["reached"] for each in found])
    print(
        f"{name}: {len(found)} people, {sum(each['tried'] for each in found):,} candidates, scale {truth.words[1]:g}: "
        f"the best attack reached {reached.max():.3f} of the promise (median {np.median(reached):.3f}; an error of at "
        f"least {1 / reached.max():.2f} times the floor is left); {sum(each['told by words'] for each in found)} "
        "candidates are told by words",
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
        attacked(name, count, state, keep)
