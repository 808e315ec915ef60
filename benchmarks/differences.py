"""Several outputs about the same people: whom their differences leave, and how far off simulated attackers are."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

import seepage

PEOPLE = load_diabetes(as_frame=True, scaled=False).frame
DRAWS, SLOPES = 1_200, 200
# The bands of what is said without noise.
LOW, HIGH, LOWEST = 0.9, 1.2, 0.85
Rows = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Regression:
    """Least squares on some columns of some people, with standard errors and dispersion."""

    columns: tuple[str, ...]
    inside: np.ndarray[Any, np.dtype[np.bool_]]

    def measured(self) -> seepage.Leakage:
        """Return what it tells by itself."""
        rows = PEOPLE[self.inside]
        x, y = rows[list(self.columns)], rows["target"]
        return seepage.measure(LinearRegression().fit(x, y), x, y)

    def numbers(self, rows: Rows) -> Rows:
        """Return what it prints of people whose values are given, the outcome last."""
        at = [PEOPLE.columns.get_loc(name) for name in self.columns]
        z, y = np.column_stack([rows[:, at], np.ones(len(rows))]), rows[:, -1]
        inverse = np.linalg.inv(z.T @ z)
        theta = inverse @ (z.T @ y)
        phi = float(np.square(y - z @ theta).sum() / (len(y) - len(theta)))
        return np.concatenate([theta, np.sqrt(phi * np.diag(inverse)), [phi]])


@dataclass(frozen=True)
class Means:
    """Means of some columns by sex."""

    of: tuple[str, ...]
    inside: np.ndarray[Any, np.dtype[np.bool_]]

    def measured(self) -> seepage.Leakage:
        """Return what it tells by itself."""
        rows = PEOPLE[self.inside]
        table = seepage.models.Aggregate(of=list(self.of), by=["sex"], statistics=["mean", "sd"]).fit(rows)
        return seepage.measure(table, rows, attributes=list(self.of))

    def numbers(self, rows: Rows) -> Rows:
        """Return what it prints."""
        sex = rows[:, PEOPLE.columns.get_loc("sex")]
        at = [PEOPLE.columns.get_loc(name) for name in self.of]
        cells = [rows[sex == value][:, at] for value in (1.0, 2.0)]
        return np.concatenate([np.concatenate([cell.mean(axis=0), cell.std(axis=0, ddof=1)]) for cell in cells])


def _pairs() -> dict[str, tuple[Any, Any]]:
    everybody = np.ones(len(PEOPLE), dtype=bool)
    early, few = np.arange(len(PEOPLE)) >= 60, ("age", "bmi", "bp")
    return {
        "nested columns": (Regression(few, everybody), Regression((*few, "s5"), everybody)),
        "a subgroup": (Regression(few, everybody), Regression(few, (PEOPLE["sex"] == 1).to_numpy())),
        "two dates": (Regression(few, everybody), Regression(few, early)),
        "means and a regression": (Regression(few, everybody), Means(("age", "target"), everybody)),
    }


def _attacked(outputs: Sequence[Any], person: int, column: str, random: np.random.Generator) -> float:
    """Return the deviation of the best linear guess of a value, the others of each pattern being drawn anew."""
    values = PEOPLE.to_numpy(dtype=float)
    inside = np.column_stack([output.inside for output in outputs])
    _, kind = np.unique(inside, axis=0, return_inverse=True)
    sex = values[:, PEOPLE.columns.get_loc("sex")]
    # How many people of each sex there are is printed beside means.
    stratum = kind.ravel() * 2 + (sex - 1) * any(isinstance(each, Means) for each in outputs)
    groups = [np.setdiff1d(np.flatnonzero(stratum == each), [person]) for each in np.unique(stratum)]
    at, step = PEOPLE.columns.get_loc(column), 1e-3 * float(PEOPLE[column].std())
    releases, moved = [], []
    for draw in range(DRAWS):
        drawn = np.concatenate([random.choice(each, len(each)) for each in groups])
        told = []
        for shift in (0.0, step) if draw < SLOPES else (0.0,):
            own = values[person].copy()
            own[at] += shift
            parts = []
            for output in outputs:
                rows = values[drawn[output.inside[drawn]]]
                parts.append(output.numbers(np.vstack([rows, own]) if output.inside[person] else rows))
            told.append(np.concatenate(parts))
        releases.append(told[0])
        if len(told) > 1:
            moved.append((told[1] - told[0]) / step)
    found = np.array(releases)
    scale = found.std(axis=0)
    covariance, slope = np.cov((found / scale).T), np.mean(moved, axis=0) / scale
    sizes, axes = np.linalg.eigh(covariance)
    kept = sizes > 1e-9 * sizes[-1]
    seen = axes[:, kept].T @ slope / np.sqrt(sizes[kept])
    # An inverse of so many draws is too large by this.
    return float(1 / np.sqrt(seen @ seen * (DRAWS - kept.sum() - 2) / (DRAWS - 1)))


def _bands(people: int) -> None:
    random, ratios, asked = np.random.default_rng(0), [], 0
    for name, outputs in _pairs().items():
        leak = seepage.compose({f"{name} {i}": output.measured() for i, output in enumerate(outputs)})
        eta, here = leak.attributes, []
        inside = np.column_stack([output.inside for output in outputs])
        rare = np.flatnonzero(~inside.all(axis=1))
        chosen = random.choice(len(PEOPLE), people, replace=False)
        if len(rare):
            chosen[: people // 2] = random.choice(rare, people // 2, replace=False)
        for person in chosen.tolist():
            for column in ("age", "bmi", "bp", "target"):
                if column not in eta:
                    continue
                asked += 1
                answer = 1 / float(eta.loc[person, column])
                if np.isfinite(answer) and answer > 0:
                    here.append(_attacked(outputs, person, column, random) / answer)
        ratios += here
        spread = np.quantile(here, [0.0, 0.05, 0.5, 0.95, 1.0])
        print(f"{name}: attack over answer {np.array2string(spread, precision=2)} of {len(here)} values", flush=True)
    found = np.array(ratios)
    share = float(((found >= LOW) & (found <= HIGH)).mean())
    print(
        f"all: {len(found)} of {asked} claimed; {share:.0%} within {LOW} to {HIGH} (goal 90%); lowest {found.min():.2f}"
    )


def _one_newcomer() -> None:
    columns = tuple(name for name in PEOPLE.columns if name != "target")
    everybody = np.ones(len(PEOPLE), dtype=bool)
    for person in range(0, 40, 8):
        without = np.arange(len(PEOPLE)) != person
        pair = {"441": Regression(columns, without).measured(), "442": Regression(columns, everybody).measured()}
        found = seepage.compose(pair).information.differences()  # type: ignore[attr-defined]
        named = [each.people for each in found]
        print(f"441 and 442 people, newcomer {person}: left to the difference {named}", flush=True)


def _harmless(count: int) -> None:
    """Draw pairs of which every pattern has twice what the conditions ask, and count those that a policy flags."""
    random, flagged = np.random.default_rng(1), 0
    for _ in range(count):
        p = int(random.integers(2, 6))
        # Coefficients, standard errors and the dispersion rest on them; five people each are asked for.
        twice = 2 * 5 * (2 * (p + 1) + 1)
        n = int(random.integers(3 * twice, 6 * twice))
        x = pd.DataFrame(random.normal(size=(n, p)), columns=[f"x{i}" for i in range(p)])
        y = pd.Series(x.to_numpy() @ random.normal(size=p) + random.normal(size=n), name="y")
        out = random.permutation(n) < random.integers(twice, n // 2)
        leaks = {
            name: seepage.measure(LinearRegression().fit(x[kept], y[kept]), x[kept], y[kept])
            for name, kept in (("whole", np.ones(n, dtype=bool)), ("part", ~out))
        }
        floors = 1 / seepage.compose(leaks).attributes.to_numpy()
        deviations = np.append(x.std(), y.std())
        flagged += bool((floors < 0.5 * deviations).any())
    print(f"harmless pairs: {flagged} of {count} flagged (goal at most 2%)", flush=True)


def _cost(people: int) -> None:
    random, parameters = np.random.default_rng(0), 19
    x = pd.DataFrame(random.normal(size=(people, parameters)), columns=[f"x{i}" for i in range(parameters)])
    y = pd.Series(x.to_numpy() @ random.normal(size=parameters) + random.normal(size=people), name="y")
    site = random.integers(0, 6, people)
    masks = [site >= 0, site != 0, site != 1, site > 1, x["x0"].to_numpy() > -1]
    seconds: dict[str, float] = {}

    def timed(what: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        found = work()
        seconds[what] = seconds.get(what, 0.0) + time.perf_counter() - start
        return found

    leaks = {}
    for i, kept in enumerate(masks):
        rows, labels = x[kept], y[kept]
        model = LinearRegression().fit(rows, labels)
        work = partial(seepage.measure, model, rows, labels, published=["coefficients"])
        leaks[f"model {i}"] = leak = timed("one by one", work)
        timed("one by one", lambda leak=leak: leak.attributes)
    together = timed("together", lambda: seepage.compose(leaks))
    timed("together", lambda: together.attributes)
    ratio = seconds["together"] / seconds["one by one"]
    print(f"5 models of 20 parameters, {people:,} people: {ratio:.1f} x one by one ({seconds}), goal 3", flush=True)


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks differences")
    parser.add_argument("--people", type=int, default=10, help="attacked in each pair")
    parser.add_argument("--pairs", type=int, default=200, help="of harmless outputs")
    parser.add_argument("--size", type=int, default=1_000_000, help="people of the cost")
    options = parser.parse_args(sys.argv[2:])
    _one_newcomer()
    _bands(options.people)
    if options.pairs:
        _harmless(options.pairs)
    if options.size:
        _cost(options.size)


if __name__ == "__main__":
    main()
