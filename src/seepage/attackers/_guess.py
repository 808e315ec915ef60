"""Baseline: a guess of a number from a person's other values, without the release."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array

# People that a guess is fitted on, and people in a leaf of a tree.
_PEOPLE, _LEAF = 5_000, 20


@dataclass(frozen=True, eq=False)
class Guess:
    """The best of a line, a line of logarithms, and a regression tree that is fitted on other people.

    In leaves of the tree that determine the number there is no error.
    """

    line: Array | None
    logarithms: NDArray[np.bool_]
    """Columns whose logarithms are taken; the last entry is the number's own."""
    trees: tuple[Any, ...]
    """For people of each fold, fitted on the other."""
    exact: tuple[NDArray[np.intp], ...]
    """Leaves in which the number is determined."""
    deviation: float

    @classmethod
    def of(cls, target: Array, known: Array) -> "Guess":
        """Fit a guess of a number from other values, shapes (n,) and (n, values)."""
        step = max(len(target) // _PEOPLE, 1)
        target, known = target[::step], known[::step]
        found = []
        positive = np.append((known > 0).all(axis=0), (target > 0).all())
        for logarithms in [np.zeros_like(positive)] + [positive] * bool(positive[-1] and positive[:-1].any()):
            line, rank = _line(target, known, logarithms)
            guess = cls(line, logarithms, (), (), 0.0)
            found.append((float((guess.rest(target, known) ** 2).sum() / max(len(target) - rank, 1)), guess))
        fold = _fold(known)
        if min(fold.sum(), len(fold) - fold.sum()) >= 2 * _LEAF:
            # Imported here: people in memory without a tree need none of it.
            from sklearn.tree import DecisionTreeRegressor

            trees, exact = [], []
            for number in (0, 1):
                mine, fitted = fold == number, DecisionTreeRegressor(min_samples_leaf=_LEAF, random_state=0)
                fitted.fit(known[~mine], target[~mine])
                leaves, wrong = fitted.apply(known[mine]), fitted.predict(known[mine]) != target[mine]
                pure = np.flatnonzero(fitted.tree_.impurity == 0.0)
                exact.append(np.setdiff1d(pure, leaves[wrong]))
                trees.append(fitted)
            found = [(square, cls(g.line, g.logarithms, tuple(trees), tuple(exact), 0.0)) for square, g in found]
            guess = cls(None, positive, tuple(trees), tuple(exact), 0.0)
            found.append((float((guess.rest(target, known) ** 2).mean()), guess))
        square, best = min(found, key=lambda each: each[0])
        size = float(np.abs(target).max(initial=0.0))
        deviation = 0.0 if np.sqrt(square) <= 1e-9 * size else float(np.sqrt(square))
        return cls(best.line, best.logarithms, best.trees, best.exact, deviation)

    def rest(self, target: Array, known: Array) -> Array:
        """Return how far each number is above its guess; zero where it is determined."""
        if self.line is None:
            found = target.copy()
            for number, tree in enumerate(self.trees):
                mine = _fold(known) == number
                if mine.any():
                    found[mine] -= tree.predict(known[mine])
            return found
        guessed = _design(known, self.logarithms) @ self.line
        if self.logarithms[-1]:
            guessed = np.exp(guessed)
        return np.where(self._determined(known), 0.0, target - guessed)

    def deviations(self, known: Array) -> Array:
        """Return the standard deviation of each error."""
        return np.where(self._determined(known), 0.0, self.deviation)

    def _determined(self, known: Array) -> NDArray[np.bool_]:
        found, fold = np.zeros(len(known), dtype=bool), _fold(known)
        for number, (tree, leaves) in enumerate(zip(self.trees, self.exact, strict=True)):
            mine = fold == number
            if len(leaves) and mine.any():
                found[mine] = np.isin(tree.apply(known[mine]), leaves)
        return found


def guessed(target: Array, known: Array) -> tuple[Array, Array]:
    """Return how far each number is above a guess from other values, and the standard deviation of that."""
    guess = Guess.of(target, known)
    return guess.rest(target, known), guess.deviations(known)


def _design(known: Array, logarithms: NDArray[np.bool_]) -> Array:
    columns = known.copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        columns[:, logarithms[:-1]] = np.log(columns[:, logarithms[:-1]])
    return np.column_stack([columns, np.ones(len(known))])


def _line(target: Array, known: Array, logarithms: NDArray[np.bool_]) -> tuple[Array, int]:
    """Return the coefficients of a line, and their rank."""
    design = _design(known, logarithms)
    scale = np.abs(design).max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    solved, _, rank, _ = np.linalg.lstsq(design / scale, np.log(target) if logarithms[-1] else target, rcond=None)
    return solved / scale, int(rank)


def _fold(known: Array) -> NDArray[np.intp]:
    """Return one of two folds for each person, by their values: the same wherever their rows are."""
    if not known.shape[1]:
        return np.zeros(len(known), dtype=np.intp)
    bits = np.bitwise_xor.reduce(np.ascontiguousarray(known + 0.0).view(np.uint64), axis=1)
    return np.asarray((bits * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(63), dtype=np.intp)
