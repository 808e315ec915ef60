"""Attackers against the estimators of the page on any estimator, whose other people are drawn anew.

Of each estimator a few people are attacked by somebody who knows everything about them but one value, k of the others
completely, and of the rest the population: the rest are drawn anew from the others, and the equations are solved again
by steps that share nothing with seepage. The best linear guess goes by how this solution moves with the value, found by
solving again; its error is held against what `seepage.measure` says without having drawn anybody.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import seepage
from seepage.models import Equations

Array = NDArray[np.float64]

_PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "any-estimator.md"
# What of each estimator is published, and the column of people with several rows.
_PUBLISHED = {
    "doubly_robust": (["effect"], None),
    "weighted": (["treated", "untreated"], None),
    "standardized": (["treated", "untreated"], None),
    "surveyed": (["intercept", "age", "smokes"], None),
    "instrumented": (["effect"], None),
    "counted": (["intercept", "age", "smokes"], None),
    "repeated": (["intercept", "age", "smokes"], "person"),
}
_QUANTILES = (0.05, 0.3, 0.6, 0.9, 1.0)
LOWEST, LOW, HIGH = 0.85, 0.9, 1.2


class Cell(NamedTuple):
    """One value of one person before one attacker."""

    estimator: str
    attribute: str
    known: int
    ratio: float
    """The attacker's error over the answer; NaN where nothing is claimed."""


@dataclass(frozen=True, eq=False)
class _Solution:
    """Equations of people, and what is printed of them where rows are weighed anew."""

    equations: Equations
    frame: pd.DataFrame
    person: NDArray[np.intp]
    inverse: Array

    @classmethod
    def of(cls, equations: Equations, frame: pd.DataFrame, person: NDArray[np.intp]) -> "_Solution":
        theta, step = np.asarray(equations.theta, dtype=float), 1e-5
        slope = [
            (equations.psi(theta + each, frame) - equations.psi(theta - each, frame)).sum(axis=1) / (2 * step)
            for each in np.eye(len(theta)) * step
        ]
        return cls(equations, frame, person, np.linalg.inv(np.column_stack(slope)))

    def solved(self, frame: pd.DataFrame, weights: Array) -> Array:
        """Return theta where people are there as often as weights say; NaN where none is found."""
        theta, rows = np.asarray(self.equations.theta, dtype=float), weights[self.person]
        with np.errstate(all="ignore"):
            for _ in range(300):
                step = self.inverse @ (self.equations.psi(theta, frame) @ rows)
                theta = theta - step
                if np.abs(step).max() <= 1e-10 * max(1.0, float(np.abs(theta).max())):
                    return np.asarray(theta)
        return np.full_like(theta, np.nan)

    def moved(self, person: int, attribute: str) -> Array:
        """Return how theta moves with each value that one person has, shape (parameters, values)."""
        found, step = [], 1e-3 * float(self.frame[attribute].std())
        own = np.flatnonzero(self.person == person)
        # What all rows of a person say is one value.
        once = len(np.unique(self.frame[attribute].to_numpy()[own])) == 1
        for rows in [own] if once else own[:, None]:
            both = []
            for sign in (1, -1):
                other = self.frame.astype({attribute: float})
                other.iloc[rows, other.columns.get_loc(attribute)] += sign * step  # type: ignore[index, operator]
                both.append(self.solved(other, np.ones(int(self.person.max()) + 1)))
            found.append((both[0] - both[1]) / (2 * step))
        return np.column_stack(found)


def page() -> dict[str, Any]:
    """Return the names that the page's code makes."""
    text = _PAGE.read_text().partition("## Equations of delicatessen")[0].replace("seepage.publish", "print")
    names: dict[str, Any] = {}
    with redirect_stdout(StringIO()):
        for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
            if "publication" not in block:
                exec(compile(block, str(_PAGE), "exec"), names)
    return names


def cells(only: Sequence[str] | None, redraws: int) -> Iterator[Cell]:
    """Yield what attackers reach, over what is said of them."""
    names, random = page(), np.random.default_rng(1)
    for name, (published, ids) in _PUBLISHED.items():
        if only and name not in only:
            continue
        equations, frame = names[name], names["people" if ids is None else "visits"]
        person = np.arange(len(frame)) if ids is None else np.unique(frame[ids], return_inverse=True)[1]
        solution, count = _Solution.of(equations, frame, person), int(person.max()) + 1
        at = [[*equations.names].index(each) for each in published]
        for known in (0, count // 2):
            leak = seepage.measure(equations, frame, published=published, ids=ids, known_records=known)
            information = leak.information
            numbers = [each for each in information.attribute_names if each not in information.categorical]
            sizes = [each for each in information.attribute_names if each in information.categorical and ids is None]
            counted = np.column_stack([np.ones(count), *(frame[each] for each in sizes)]) if ids is None else None
            order = np.argsort(leak.attributes[numbers].max(axis=1).to_numpy())
            for whom in sorted({int(order[int(q * (count - 1))]) for q in _QUANTILES}):
                tables = _tables(solution, whom, known, redraws, at, counted, random)
                spread = np.atleast_2d(np.cov(tables.T))
                for attribute in numbers:
                    moved = solution.moved(whom, attribute)[at]
                    slope = np.vstack([moved, np.zeros((len(spread) - len(at), moved.shape[1]))])
                    # An inverse of a covariance of few draws is too large.
                    share = (len(tables) - len(spread) - 2) / (len(tables) - 1)
                    seen = np.linalg.eigvalsh(slope.T @ np.linalg.solve(spread, slope) * share)[-1]
                    yield Cell(name, attribute, known, float(leak.attributes[attribute][whom] / np.sqrt(seen)))


def _tables(
    solution: _Solution, whom: int, known: int, redraws: int, at: list[int], counted: Array | None, random: Any
) -> Array:
    """Return what is printed over redraws, around its mean for the people who are known."""
    count, found = int(solution.person.max()) + 1, []
    others = np.setdiff1d(np.arange(count), whom)
    # Who is known is drawn a few times: what guesses are worth in the mean over that is held against the answer.
    for _ in range(4 if known else 1):
        held, numbers = random.choice(others, known, replace=False), []
        for _ in range(redraws // (4 if known else 1)):
            drawn = np.concatenate([[whom], held, random.choice(others, len(others) - known)])
            weights = np.bincount(drawn, minlength=count).astype(float)
            theta = solution.solved(solution.frame, weights)[at]
            numbers.append(theta if counted is None else np.append(theta, (weights @ counted)[1:]))
        kept = np.array([each for each in numbers if np.isfinite(each).all()])
        found.append(kept - kept.mean(axis=0))
    return np.concatenate(found)


def attack(only: Sequence[str] | None, redraws: int) -> None:
    """Print what share of cells is claimed, and how many of these are within the bands."""
    found = [*cells(only, redraws)]
    print(f"{redraws:,} redraws a person; attacker's error over the answer")
    for name in dict.fromkeys(each.estimator for each in found):
        _line(name, [each.ratio for each in found if each.estimator == name])
    _line("all", [each.ratio for each in found])


def _line(name: str, ratios: Sequence[float]) -> None:
    values = np.array(ratios)
    claimed = values[np.isfinite(values)]
    inside = float(((claimed >= LOW) & (claimed <= HIGH)).mean()) if len(claimed) else np.nan
    low, middle, high = np.quantile(claimed, [0.0, 0.5, 1.0]) if len(claimed) else (np.nan,) * 3
    print(
        f"{name:>14}: {len(values):3d} cells, {len(claimed) / len(values):4.0%} claimed, {inside:4.0%} within "
        f"{LOW} to {HIGH}; lowest {low:.2f}, median {middle:.2f}, highest {high:.2f}"
    )
