"""Thousands of drawn settings, each compared with an independent computation.

    python -m benchmarks fuzz --draws 30000 --state fuzz.json

Models, pipelines, containers, scales, weights, ties, missing values, and more columns than rows are drawn at random
(`--seed`). eta, dfil, every attribute, joint information and, for some of the draws, success rates and calibrated noise
are compared with dense Jacobians in 80-bit numbers. The first disagreement is printed as a program that can be pasted,
made as plain as it can be while it still disagrees. With `--state` an interrupted run continues where it was.
"""

import argparse
import json
import re
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import seepage
from benchmarks._oracle import Expected
from benchmarks._setting import HEADER, Setting, draw

TOLERANCE = 1e-6
# What is so much smaller than the largest of its kind is compared in units of that: information below it is rounding.
_NEGLIGIBLE = 1e-4
# Of the largest of all: what remains of a constant column in a decomposition is rounding, and no information.
_NOTHING = 1e-14
_SAVE_EVERY = 200


@dataclass
class Outcome:
    """What became of one setting."""

    kind: str
    """"agrees", "disagrees", "refused", "crashed", "warned" (scikit-learn did), "least norm" or "unknown"."""
    note: str = ""
    worst: float = 0.0


@dataclass
class Tally:
    """What became of all settings so far."""

    seed: int
    done: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    worst: float = 0.0
    wrong: list[tuple[int, str, str]] = field(default_factory=list)
    """Number, kind and note of each disagreement and crash."""

    def add(self, number: int, found: Outcome) -> None:
        """Count one setting."""
        self.done = number + 1
        self.kinds[found.kind] += 1
        if found.kind == "refused":
            self.refusals[found.note] += 1
        if found.kind in ("disagrees", "crashed"):
            self.wrong.append((number, found.kind, found.note))
        if found.kind == "agrees":
            self.worst = max(self.worst, found.worst)

    @property
    def fitted(self) -> int:
        """How many settings scikit-learn fitted without a warning."""
        return self.done - self.kinds["warned"] - self.kinds["unfitted"]

    @property
    def refused(self) -> float:
        """The share of those that were refused."""
        return self.kinds["refused"] / max(self.fitted, 1)

    def save(self, path: Path) -> None:
        """Write the tally, whole or not at all."""
        part = path.with_suffix(".part")
        part.write_text(json.dumps(vars(self), indent=1))
        part.replace(path)

    @classmethod
    def load(cls, path: Path | None, seed: int) -> "Tally":
        """Return the tally of an earlier run of the same series, or an empty one."""
        if path is None or not path.exists():
            return cls(seed)
        stored = json.loads(path.read_text())
        if stored["seed"] != seed:
            raise SystemExit(f"{path} is of the series with seed {stored['seed']}, not {seed}.")
        stored["kinds"], stored["refusals"] = Counter(stored["kinds"]), Counter(stored["refusals"])
        stored["wrong"] = [tuple(each) for each in stored["wrong"]]
        return cls(**stored)

    def report(self) -> str:
        """Return the tally in lines."""
        lines = [f"{self.done} draws of seed {self.seed}: " + ", ".join(f"{n} {k}" for k, n in self.kinds.items())]
        lines.append(f"largest difference where they agree: {self.worst:.1e}")
        lines.append(f"refused of those that scikit-learn fits without a warning: {self.refused:.2%}")
        lines += [f"  {count:6d}  {reason}" for reason, count in self.refusals.most_common()]
        lines += [f"  draw {number}: {kind}: {note}" for number, kind, note in self.wrong[:20]]
        return "\n".join(lines)


_NAMESPACE: dict[str, Any] = {}
exec(HEADER, _NAMESPACE)


def attempt(setting: Setting) -> Outcome:
    """Run one setting and compare."""
    program = setting.program()
    fit, question = program.rsplit("\n", 1)
    ran = dict(_NAMESPACE)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            exec(fit, ran)
        except seepage.errors.SeepageError as error:
            return Outcome("refused", _reason(error))
        except Exception as error:
            return Outcome("unfitted", f"{type(error).__name__}: {error}")
    if warned:
        return Outcome("warned")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A person for whom there is no refit is unanswered, and said to be.
        warnings.filterwarnings("ignore", message="The model could not be refitted", category=RuntimeWarning)
        try:
            exec(question, ran)
            if any(one.kind == "least norm" for one in ran["leak"].information.assumptions):
                # Values then move only along what ties columns together, as is stated; the oracle moves each by itself.
                return Outcome("least norm")
            with np.errstate(all="ignore"):
                expected = setting.expected(ran)
                known = np.isfinite(expected.theta).all() and _is_minimum(expected.objective, expected.theta)
                if not known or not expected.is_sure:
                    return Outcome("unknown")
            differences = _compare(setting, ran, expected)
        except seepage.errors.SeepageError as error:
            return Outcome("refused", _reason(error))
        except Exception as error:
            return Outcome("crashed", f"{type(error).__name__}: {error}")
    name = max(differences, key=lambda key: differences[key])
    worst = differences[name]
    if worst <= max(TOLERANCE, _stated(ran["leak"])):
        return Outcome("agrees", worst=worst)
    return Outcome("disagrees", f"{name} is off by {worst:.1e} ({setting.family}, {setting.steps})", worst)


def _stated(leak: seepage.Leakage) -> float:
    """Return the relative error that a measurement states of itself."""
    found = [one.numbers["rounding"].value for one in leak.information.assumptions if one.kind == "rounding"]
    return max(found, default=0.0)


def _reason(error: Exception) -> str:
    """Return a message without what changes from case to case."""
    return f"{type(error).__name__}: " + re.sub(r"'[^']*'|[-+]?\d[\d.e+-]*", "...", str(error))[:110]


def _is_minimum(objective: Any, theta: Any) -> bool:
    gradient = np.abs(objective.gradient(theta))
    terms = np.abs(objective.row_gradients(theta, objective.features, objective.labels)).sum(axis=0)
    return bool((gradient <= 1e-14 * terms + 1e-300).all())


def _compare(setting: Setting, ran: dict[str, Any], expected: Expected) -> dict[str, float]:
    """Return the relative difference of every answer."""
    leak, random = ran["leak"], np.random.default_rng(setting.seed)
    n, label = setting.rows, "label"
    found = {
        "eta": _apart(leak.examples["eta"], expected.eta()),
        "dfil": _apart(leak.examples["dfil"], expected.dfil()),
    }
    names = [*expected.attributes, *(() if setting.public_label else (label,))]
    for name in names:
        found[f"eta of {name}"] = _apart(
            leak.attributes[name], expected.eta(name), _NOTHING * np.nanmax(expected.eta())
        )
    people = random.random(n) < 0.5
    people[0] = True
    found["joint"] = _apart([leak.joint_information_loss()], [expected.joint_information_loss(np.ones(n, dtype=bool))])
    found["joint of some"] = _apart([leak.joint_information_loss(people)], [expected.joint_information_loss(people)])
    if names:
        one = names[int(random.integers(len(names)))]
        found[f"joint of some, {one}"] = _apart(
            [leak.joint_information_loss(people, attribute=one)], [expected.joint_information_loss(people, one)]
        )
    if random.random() < 0.2:
        found |= _refits(setting, ran, expected, int(random.integers(n)))
    if random.random() < 0.1 and not setting.covariance and np.nanmax(expected.eta()) > 0:
        scale = seepage.calibrate(leak, eta=0.7, exact=True, shape="isotropic").scale
        found["calibrate"] = _apart([scale], [setting.noise * np.nanmax(expected.eta()) / 0.7])
    return found


def _refits(setting: Setting, ran: dict[str, Any], expected: Expected, person: int) -> dict[str, float]:
    """Compare what telling one person's label and category from others takes."""
    leak, found = ran["leak"], {}
    if setting.outcome in ("two", "three") and not setting.public_label:
        rates = leak.success_rate("label")
        mine = _rows_of(rates, person, len(setting._classes()) - 1)
        for other, distance in mine:
            changed = setting.relabeled(ran, expected, person, other)
            found[f"distance of label {other!r}"] = _refit_apart(distance, expected, changed)
    if setting.levels and setting.names[-1] in expected.attributes:
        mine = _rows_of(leak.success_rate(setting.names[-1]), person, setting.levels - 1)
        for other, distance in mine:
            changed = setting.recolored(ran, expected, person, other)
            found[f"distance of category {other!r}"] = _refit_apart(distance, expected, changed)
    return found


def _refit_apart(distance: float, expected: Expected, changed: Any) -> float:
    """Compare a refit with the oracle's, where both have one."""
    with np.errstate(all="ignore"):
        exact, refitted = expected.distance(changed), changed.minimizer(expected.theta)
        # The oracle takes plain Newton steps, which one record in a small data set can send anywhere.
        known = np.isfinite(exact) and _is_minimum(changed, refitted)
    if np.isnan(distance) or not known:
        return 0.0
    return _apart([distance], [exact], expected.smallest_distance)


def _rows_of(rates: Any, person: int, others: int) -> list[tuple[Any, float]]:
    at = slice(person * others, (person + 1) * others)
    return list(zip(np.asarray(rates["other"])[at].tolist(), np.asarray(rates["distance"])[at].tolist(), strict=True))


def _apart(found: Any, expected: Any, smallest: float = 0.0) -> float:
    a, b = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
        return np.inf
    known: NDArray[np.bool_] = ~np.isnan(b)
    a, b = a[known], b[known]
    if not b.size or (a == b).all():
        return 0.0
    unit = np.maximum(b, max(_NEGLIGIBLE * b.max(), smallest / TOLERANCE))
    return float((np.abs(a - b) / np.where(unit > 0, unit, 1e-300)).max())


def plainest(setting: Setting) -> tuple[Setting, Outcome]:
    """Return the plainest setting that is wrong in the same way."""
    outcome = attempt(setting)
    while True:
        for simpler in setting.simpler():
            found = attempt(simpler)
            if found.kind == outcome.kind:
                setting, outcome = simpler, found
                break
        else:
            return setting, outcome


def run(draws: int, seed: int, state: Path | None = None, *, show: bool = False) -> Tally:
    """Compare so many settings of a series, continuing an earlier run if its state was kept."""
    tally, start = Tally.load(state, seed), time.perf_counter()
    first, shown = tally.done, bool(tally.wrong)
    for number in range(first, draws):
        setting = draw(seed, number)
        found = attempt(setting)
        tally.add(number, found)
        if show and found.kind in ("disagrees", "crashed") and not shown:
            shown = True
            print(snippet(setting), flush=True)
        if state is not None and tally.done % _SAVE_EVERY == 0:
            tally.save(state)
        if show and tally.done % 1000 == 0:
            speed = (tally.done - first) / (time.perf_counter() - start)
            print(f"{tally.done} draws, {speed:.0f} a second, {len(tally.wrong)} wrong", flush=True)
    if state is not None:
        tally.save(state)
    return tally


def snippet(setting: Setting) -> str:
    """Return a program that shows what is wrong, as plain as it can be."""
    plain, outcome = plainest(setting)
    asked = 'leak.success_rate("label")' if "distance of label" in outcome.note else "leak.examples, leak.attributes"
    return f"# {outcome.kind}: {outcome.note}\n{HEADER}{plain.program()}\nprint({asked})\n"


def main() -> None:
    """Run the series that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=2000, help="how many settings")
    parser.add_argument("--seed", type=int, default=0, help="of the series")
    parser.add_argument("--state", type=Path, help="where the run is kept, so that it can continue")
    parser.add_argument("--only", type=int, help="print one setting of the series and what becomes of it")
    given = parser.parse_args(sys.argv[2:])
    if given.only is not None:
        print(snippet(draw(given.seed, given.only)))
        return
    tally = run(given.draws, given.seed, given.state, show=True)
    print(tally.report())
    sys.exit(bool(tally.wrong) or tally.refused > 0.02)
