"""Attackers who know a part of the others: the rest are drawn anew, the model fitted again, and guesses learned."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from seepage._tables import Array
from seepage.errors import UnansweredError
from seepage.meaning import success_rate
from seepage.others import OthersInformation

# Releases to learn from for each that is attacked, and the share of them by which the better attacker is chosen.
_LESSONS, _CHOOSING = 4, 0.2
# Of a table, how it moves with a value is found over a step of so many deviations of the value.
_STEP = 1e-3


@dataclass(frozen=True)
class GuessedCell:
    """One attribute of one person, and how well it was guessed beside what was said."""

    person: int
    attribute: str
    answer: float
    """The error that was said, in that of a blind guess: of a number its deviation, of a category one half."""
    linear: float
    trees: float
    """What attackers reached, in the same unit."""
    error: float
    """Of the one who seemed better beforehand."""
    standard_error: float
    p_value: float
    """How often an attacker who is as good as was said looks at least as good as this one."""
    linear_over_answer: float
    """Of a number: the deviation of the best linear guess, without a prior, over one over eta."""


@dataclass(frozen=True, eq=False)
class Redraw:
    """A release whose unknown others are drawn anew around one person."""

    information: OthersInformation
    person: int
    random: np.random.Generator

    @classmethod
    def of(cls, information: OthersInformation, person: int, seed: int) -> "Redraw":
        """Refuse releases of which nobody can be drawn anew."""
        attacker = information.attacker
        if information.printed.redrawn is None or information.family is not None or information.added is not None:
            raise UnansweredError(
                "Others are drawn anew for regressions and Cox models of people with one row each, without clusters= "
                "and without added noise; this release is another."
            )
        if attacker.covariates or attacker.everybody:
            raise UnansweredError(
                f"An attacker who knows {attacker.words} is not attacked with: say verify(leak.against(0)), or how "
                "many of the others are known."
            )
        return cls(information, person, np.random.default_rng([seed, person]))

    def weights(self, count: int, *, present: bool = True) -> Array:
        """Return how often everybody is there in so many draws; without the person, somebody else is in their place."""
        attacker, people = self.information.attacker, self.information.count
        rest = np.delete(np.arange(people), self.person)
        found = np.zeros((count, people))
        unknown = attacker.unknown + (not present)
        found[:, rest] = self.random.multinomial(unknown, np.full(len(rest), 1 / len(rest)), size=count)
        # Who is known does not change from one draw to the next.
        held = np.random.default_rng([self.person, attacker.known]).permutation(rest)[: attacker.known]
        found[:, held] += 1.0
        found[:, self.person] = float(present)
        return found

    def releases(self, values: NDArray[np.object_] | Array | None, attribute: str | None, weights: Array) -> Array:
        """Return what is printed where the person has these values."""
        printed = self.information.printed
        assert printed.redrawn is not None
        return printed.redrawn(weights, self.person, attribute, None if values is None else values.tolist())


def exposed(information: OthersInformation) -> Iterator[tuple[int, str]]:
    """Yield each attribute of which something is claimed, with the person who is most exposed in it."""
    for name in information.attribute_names:
        if name in information.categorical:
            far = information.distances(name, None).farthest()
        elif name in information.printed.deviations:
            far = information.attributes()[name]
        else:
            continue
        told = np.where(np.isfinite(far), far, -np.inf)
        if (told > 0).any():
            yield int(np.argmax(told)), name


def guessed(information: OthersInformation, person: int, attribute: str, trials: int, seed: int) -> GuessedCell | None:
    """Learn to guess one attribute of one person from releases; None where nothing is said of it."""
    redraw = Redraw.of(information, person, seed)
    if attribute in information.categorical:
        return _told(redraw, attribute, trials)
    if attribute not in information.printed.deviations:
        return None
    deviation = information.printed.deviations[attribute]
    answer = float(information.error_of(attribute)[person]) / deviation if deviation else np.nan
    eta = float(information.attributes()[attribute][person])
    if not np.isfinite(answer) or not np.isfinite(eta):
        return None
    count = trials * (1 + _LESSONS)
    mean = float(information._column(attribute)[0][person]) - float(information.printed.guessed[attribute][person])
    target = redraw.random.normal(size=count)
    releases = redraw.releases(mean + deviation * target, attribute, redraw.weights(count))
    trees = HistGradientBoostingRegressor(max_iter=200, learning_rate=0.05, early_stopping=True, random_state=0)
    attackers = {"linear": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 7))), "trees": trees}
    losses, best = _learned(attackers, releases, target, trials)
    square = losses[best]
    # Of a guess that is as good as was said squares scatter as those of a normal error do.
    error = answer**2 * np.sqrt(2 / len(square))
    return GuessedCell(
        person,
        attribute,
        answer,
        linear=float(np.sqrt(losses["linear"].mean())),
        trees=float(np.sqrt(losses["trees"].mean())),
        error=float(np.sqrt(square.mean())),
        standard_error=float(square.std() / np.sqrt(len(square)) / (2 * np.sqrt(square.mean()))),
        p_value=float(ndtr((square.mean() - answer**2) / error)),
        linear_over_answer=_linear(redraw, attribute, deviation, trials) * eta,
    )


def _linear(redraw: Redraw, attribute: str, deviation: float, trials: int) -> float:
    """Return the deviation of the best linear guess of a number, from how this release moves and how others scatter."""
    value = float(redraw.information._column(attribute)[0][redraw.person])
    ends = value + deviation * _STEP * np.array([1.0, -1.0])
    moved = redraw.releases(ends, attribute, np.ones((2, redraw.information.count)))
    slope = (moved[0] - moved[1]) / (ends[0] - ends[1])
    told = redraw.releases(None, None, redraw.weights(max(trials, 20 * len(slope))))
    told = told[np.isfinite(told).all(axis=1)]
    scale = told.std(axis=0)
    kept = scale > 1e-12 * np.abs(told).max(axis=0)
    values, vectors = np.linalg.eigh(np.cov((told[:, kept] / scale[kept]).T))
    some = values > 1e-10 * values[-1]
    seen = (slope[kept] / scale[kept]) @ vectors[:, some] / np.sqrt(values[some])
    # The inverse of a covariance that was estimated is too large by this.
    inverse = (seen @ seen) * (len(told) - some.sum() - 2) / (len(told) - 1)
    return float(1 / np.sqrt(max(inverse, 1e-300)))


def _told(redraw: Redraw, attribute: str, trials: int) -> GuessedCell | None:
    """Learn to tell a category from the one that is told most easily."""
    found, person = redraw.information.distances(attribute, None), redraw.person
    distance = found.distance[person]
    if found.truth[person] < 0 or not np.isfinite(distance).all():
        return None
    other = int(distance.argmax())
    pair = np.array([found.values[found.truth[person]], found.values[other]], dtype=object)
    target = redraw.random.integers(0, 2, trials * (1 + _LESSONS))
    releases = redraw.releases(pair[target], attribute, redraw.weights(len(target)))
    right, best = _learned(_tellers(), releases, target, trials)
    rate, answer = float(right[best].mean()), float(success_rate(distance[other]))
    error = np.sqrt(answer * (1 - answer) / len(right[best]))
    return GuessedCell(
        person,
        attribute,
        2 * (1 - answer),
        linear=2 * (1 - float(right["linear"].mean())),
        trees=2 * (1 - float(right["trees"].mean())),
        error=2 * (1 - rate),
        standard_error=float(2 * error),
        p_value=float(ndtr((answer - rate) / max(error, 1e-300))),
        linear_over_answer=np.nan,
    )


def members_told(information: OthersInformation, person: int, trials: int, seed: int) -> int:
    """Return in how many of so many releases the better attacker is right about whether a person was there."""
    redraw = Redraw.of(information, person, seed)
    count = trials * (1 + _LESSONS)
    target = redraw.random.permutation(np.arange(count) % 2)
    weights = np.where(target[:, None] == 1, redraw.weights(count), redraw.weights(count, present=False))
    right, best = _learned(_tellers(), redraw.releases(None, None, weights), target, trials)
    return int(right[best].sum())


def _tellers() -> dict[str, BaseEstimator]:
    trees = HistGradientBoostingClassifier(max_iter=200, learning_rate=0.05, early_stopping=True, random_state=0)
    return {"linear": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), "trees": trees}


def _learned(
    attackers: dict[str, BaseEstimator], releases: Array, target: Array | NDArray[np.int64], trials: int
) -> tuple[dict[str, Array], str]:
    """Return how good each attacker's guesses of the last releases are, and who is better on others.

    Goodness is a square error, or of classes whether the guess is right.
    """
    # A release that could not be fitted would not have been printed.
    good = np.isfinite(releases).all(axis=1)
    releases, target = releases[good], target[good]
    lessons = len(target) - trials
    learned = int((1 - _CHOOSING) * lessons)
    found, chosen = {}, {}
    for name, attacker in attackers.items():
        attacker.fit(releases[:learned], target[:learned])
        guess = attacker.predict(releases[learned:])
        nominal = target.dtype.kind in "iu"
        each = (guess == target[learned:]).astype(float) if nominal else (guess - target[learned:]) ** 2
        chosen[name] = each[: lessons - learned].mean() * (-1 if nominal else 1)
        found[name] = each[lessons - learned :]
    return found, min(chosen, key=lambda name: chosen[name])
