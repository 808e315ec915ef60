"""The attacker's posterior from everything that leaves, beside that from the coefficients alone.

The attacker knows all but one value of one person, holds 31 values in its public range for equally likely, and reruns
the whole procedure with each: the fit, the noise that is needed, how its scale is made, whether anything is published
at all (`_rerun`), and, with the library itself, every text that leaves beside the coefficients: certificate, its page,
report, printed table, and the files of the model, all written for the same noisy coefficients. Texts that differ
between two values tell them apart, and are named. Of the posterior that is left it is asked how often its deviation is
below the promise: of people by chance, and as many of the most exposed. Three ways to make the scale:

    uncounted    calibrated for the values that people have, rounded up on the grid
    judged       within public ranges, the smallest step of the grid that `publish` accepts
    counted      within public ranges, noise_scale="calibrated": the one whose choice a certificate calls counted
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline

import seepage
from benchmarks._rerun import GRID, KAPPA, MARGIN, Rows
from seepage.datasets import adult_features, complete_adult, iwpc_features, load_adult, load_iwpc
from seepage.release import _publish
from seepage.release._terms import Terms

Array = NDArray[np.float64]

CANDIDATES, DRAWS = 31, 100
WAYS = ("uncounted", "judged", "counted")
PEOPLE = {"diabetes": 30, "iwpc": 20, "adult": 10, "drawn": 150}
_NOW = "2000-01-01T00:00:00Z"
# Candidates for whom all texts are written, beside the truth.
_WRITTEN = (0, CANDIDATES // 2, CANDIDATES - 1)


@dataclass(frozen=True, eq=False)
class Attacked:
    """A model to publish with a promise about one attribute that has a public range."""

    model: Any
    X: pd.DataFrame
    y: Any
    attribute: str
    floor: float
    low: float
    high: float

    @property
    def policy(self) -> seepage.Policy:
        """What is promised."""
        return seepage.Policy(
            error_floor={self.attribute: self.floor}, ranges={self.attribute: (self.low, self.high)}, unnamed="public"
        )

    def rows(self) -> Rows:
        """Return the people as the model sees them."""
        before = self.model[:-1] if isinstance(self.model, Pipeline) else None
        last = self.model[-1] if isinstance(self.model, Pipeline) else self.model

        def features(frame: pd.DataFrame) -> Array:
            found = frame.to_numpy(dtype=float) if before is None else before.transform(frame)
            found = found.toarray() if hasattr(found, "toarray") else np.asarray(found, dtype=float)
            return np.column_stack([found, np.ones(len(frame))]) if last.fit_intercept else found

        two = self.X.iloc[:1].assign(**{self.attribute: 0.0}), self.X.iloc[:1].assign(**{self.attribute: 1.0})
        design, (start, end) = features(self.X), (features(one)[0] for one in two)
        penalty = np.full(design.shape[1], float(last.alpha))
        if last.fit_intercept:
            penalty[-1] = 0.0
        values = self.X[self.attribute].to_numpy(dtype=float)
        labels = np.asarray(self.y, dtype=float)
        return Rows(design, labels, penalty, end - start, values, self.low, self.high, self.floor)


def _diabetes() -> Attacked:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return Attacked(Ridge(alpha=1.0), X.astype(float), y, "age", 4.0, 18.0, 80.0)


def _iwpc() -> Attacked:
    found = load_iwpc()
    X, y = found.data, found.target
    model = Pipeline([("features", iwpc_features(X, dropped="first").fit(X)), ("model", Ridge(alpha=1e-2 * len(y)))])
    return Attacked(model, X.astype({"age": float}), y, "age", 1.0, -4.0, 4.0)


def _adult() -> Attacked:
    found = load_adult()
    X, y = complete_adult(found.data, found.target)
    features = adult_features(X, dropped="first").fit(X)
    scaler = features.named_transformers_["numbers"]
    scaler.mean_, scaler.scale_ = (
        np.array([float(f"{each:.2g}") for each in constants]) for constants in (scaler.mean_, scaler.scale_)
    )
    model = Pipeline([("features", features), ("model", Ridge(alpha=1e-3 * len(y)))])
    signs = pd.Series(np.where(np.asarray(y) == np.unique(y)[1], 1.0, -1.0), name="income")
    return Attacked(model, X.astype({"age": float}).reset_index(drop=True), signs, "age", 10.0, 17.0, 90.0)


def _drawn(number: int) -> Attacked:
    random = np.random.default_rng(number + 5000)
    count, columns = int(random.choice([60, 120, 300, 600])), int(random.integers(0, 5))
    X = pd.DataFrame({"age": random.normal(50, 15, count).clip(0, 100)})
    for i in range(columns):
        X[f"x{i}"] = random.normal(0, 1, count) if i % 2 else random.lognormal(0, 1, count)
    slopes = np.append(0.3, random.normal(0, 2, columns))
    y = pd.Series(X.to_numpy() @ slopes + random.normal(0, 3, count) * random.gamma(4, 0.25, count), name="cost")
    return Attacked(Ridge(alpha=float(random.choice([0.1, 1.0, 10.0]))), X, y, "age", 15.0, 0.0, 100.0)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What every candidate leads to before any noise."""

    values: Array
    theta: Array
    needed: Array
    as_they_are: Array
    published_at: NDArray[np.bool_]
    """With a counted scale, by candidate and step of the grid."""

    @classmethod
    def of(cls, rows: Rows, person: int) -> "Outcomes":
        """Rerun everything with each candidate."""
        values = np.linspace(rows.low, rows.high, CANDIDATES)
        found = []
        for value in values.tolist():
            one = rows.with_value(person, value)
            found.append((one.theta, one.needed, one.as_they_are, one.published_at))
        theta, needed, own, at = (np.array(each) for each in zip(*found, strict=True))
        return cls(values, theta, needed, own, at)

    def chances(self, way: str) -> Array:
        """Return how likely each step of the grid is to be published, by candidate; the last column is a refusal."""
        if way == "counted":
            center = np.log(self.needed)[:, None] + MARGIN
            below = norm.cdf((np.log(GRID) - center) / KAPPA)
            found = np.diff(below, axis=1, prepend=0.0) * self.published_at
        else:
            needed = self.as_they_are if way == "uncounted" else self.needed
            found = (np.searchsorted(GRID, needed * (1 - 1e-12))[:, None] == np.arange(len(GRID))).astype(float)
        return np.column_stack([found, np.maximum(1 - found.sum(axis=1), 0.0)])

    def spread(self, likely: Array) -> float:
        """Return the deviation of a posterior."""
        share = likely / likely.sum()
        return float(np.sqrt(share @ np.square(self.values - share @ self.values)))

    def attacked(self, truth: int, way: str, random: np.random.Generator) -> tuple[int, float, float]:
        """Publish once; return the step, and the deviation that is left by coefficients alone and by everything."""
        chances = self.chances(way)
        step = int(random.choice(chances.shape[1], p=chances[truth] / chances[truth].sum()))
        likely = np.ones(CANDIDATES)
        if step < len(GRID):
            seen = self.theta[truth] / GRID[step] + random.normal(size=self.theta.shape[1])
            squares = np.square(self.theta / GRID[step] - seen).sum(axis=1)
            likely = np.exp(-0.5 * (squares - squares.min()))
        return step, self.spread(likely), self.spread(likely * chances[:, step])


@contextmanager
def _scale_of(scale: float) -> Iterator[None]:
    """Let `publish` draw this scale; what it is drawn from is rerun elsewhere."""
    with patch.object(_publish, "counted_scale", lambda *_: scale):
        yield


def texts(setting: Attacked, scale: float, noisy: Array) -> dict[str, str]:
    """Return every text that leaves, by the library itself, as it is for given noisy coefficients."""
    model = clone(setting.model[-1] if isinstance(setting.model, Pipeline) else setting.model)
    if isinstance(setting.model, Pipeline):
        before = setting.model[:-1]
        model = Pipeline([*before.steps, ("model", model.fit(before.transform(setting.X), setting.y))])
    else:
        model = model.fit(setting.X, setting.y)
    try:
        with _scale_of(scale):
            terms = Terms("calibrated", setting.policy, attributes=[setting.attribute])
            ready = _publish.ready(model, setting.X, setting.y, terms)
    except seepage.errors.SeepageError as refusal:
        return {"refusal": f"{type(refusal).__name__}: {refusal}"}
    return texts_of(ready, noisy, setting.policy)


def texts_of(ready: _publish.Ready, noisy: Array, policy: seepage.Policy | None) -> dict[str, str]:
    """Return every text of a release that was measured, for given noisy coefficients of the model.

    Left out are the time, and the fingerprints of data and model under a key that nobody else knows.
    """
    with patch.object(_publish, "drawn", lambda *_: noisy.reshape(ready.exact.shape)):
        publication = ready.draw()
    known = {"algorithm": publication.certificate.fingerprints["algorithm"]}
    certificate = replace(publication.certificate, created=_NOW, fingerprints=known)
    publication, files = replace(publication, certificate=certificate), {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model.toml", "model.skops"):
            try:
                certificate = publication.write(Path(folder, name))
                files[name] = Path(folder, name).read_bytes().hex()
            except seepage.errors.SeepageError as refusal:
                files[name] = f"{type(refusal).__name__}: {refusal}"
    found = {"certificate": certificate.json(), "its page": certificate.html(), "table": str(publication.table())}
    try:
        report = seepage.Report.of(ready.leak, "publishable", policy=policy, key=b"k" * 32)
        report = replace(report, document=replace(report.document, created=_NOW))
        found |= {"report": report.html(), "its text": report.markdown(), "its JSON": report.json()}
    except seepage.errors.SeepageError as refusal:
        found["report"] = f"{type(refusal).__name__}: {refusal}"
    return {**found, **files, "shown": repr(publication) + publication._repr_html_()}


def one_person(setting: Attacked, person: int, seed: int, *, draws: int = DRAWS) -> dict[str, Any]:
    """Attack one person by so many publications in each way; return what is to be kept."""
    random = np.random.default_rng(seed)
    outcomes = Outcomes.of(setting.rows(), person)
    truth, found = int(random.integers(CANDIDATES)), dict[str, Any]()
    for way in WAYS:
        tried = [outcomes.attacked(truth, way, random) for _ in range(draws)]
        found[way] = {
            "tried": draws,
            "refused": sum(step == len(GRID) for step, *_ in tried),
            "alone": sum(alone < setting.floor for _, alone, _ in tried),
            "together": sum(together < setting.floor for *_, together in tried),
        }
    chances = outcomes.chances("counted")[:, :-1]
    step = int(np.argmax(chances[truth]))
    noisy = outcomes.theta[truth] + GRID[step] * random.normal(size=outcomes.theta.shape[1])
    written = []
    # What is refused with another value has no texts, and is in the posterior already.
    for at in {at for at in (*_WRITTEN, truth) if chances[at, step] > 0}:
        column = setting.X[setting.attribute].to_numpy(dtype=float, copy=True)
        column[person] = outcomes.values[at]
        other = replace(setting, X=setting.X.assign(**{setting.attribute: column}))
        written.append(texts(other, float(GRID[step]), noisy))
    names = dict.fromkeys(name for each in written for name in each)
    differ = [name for name in names if len({each.get(name) for each in written}) > 1]
    return {**found, "texts": len(names), "written": len(written), "differ": differ}


def person_of(setting: Attacked, number: int) -> int:
    """Return whom to attack: every other time one of the most exposed."""
    if number % 2:
        return int(np.random.default_rng(number).integers(len(setting.X)))
    return int(np.argsort(-setting.rows().needs.max(axis=1), kind="stable")[number // 2 % 20])


def attacked_everything(most: dict[str, int], state: dict[str, Any], keep: Callable[[], None]) -> None:
    """Attack people of each data set, and print how often the posterior is narrower than promised."""
    settings = {"diabetes": _diabetes, "iwpc": _iwpc, "adult": _adult}
    whole: Counter[str] = Counter()
    for name, count in most.items():
        setting = settings[name]() if name in settings else None
        found = []
        for number in range(count):
            key = f"everything {name} {number}"
            if key not in state:
                here = _drawn(number) if setting is None else setting
                state[key] = one_person(here, person_of(here, number), number)
                keep()
            found.append(state[key])
        for way in WAYS:
            sums = Counter[str]()
            for each in found:
                sums.update(each[way])
            whole.update({f"{way} {what}": n for what, n in sums.items()})
            _say(name, way, sums)
        different = Counter(what for each in found for what in each["differ"])
        print(f"{name}: texts that differ between values: {dict(different) or 'none'}", flush=True)
    for way in WAYS:
        _say("all", way, Counter({what: whole[f"{way} {what}"] for what in ("tried", "refused", "alone", "together")}))


def _say(name: str, way: str, sums: Counter[str]) -> None:
    alone, together = (100 * sums[what] / max(sums["tried"], 1) for what in ("alone", "together"))
    print(
        f"{name}, {way}: {sums['tried']:,} publications ({sums['refused']:,} refused): the posterior is narrower than "
        f"promised in {together:.2f}%, and in {alone:.2f}% by the coefficients alone: {together - alone:+.2f} points",
        flush=True,
    )
