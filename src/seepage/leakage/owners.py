"""People with several rows: what is known of a person is known of all their rows together.

A value that is the same in all rows of a person may be one value, like a year of birth, or several that happen to
agree. Whoever learns of one value learns from all its rows: its column of the Jacobian is the sum of theirs. Each is
counted whichever way tells more: given a direction of what is published, that is known of each value by itself, and
given the ways, the direction that tells most is a singular vector; the two are found in turn. So are the ways of a mean
over values, dfil's, and that mean: a value counts as one where it then lies further above the mean.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Column

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Rows whose Jacobians are in memory at a time.
_ROWS = 2**12
# How often the direction that tells most is looked for anew, and a gain that is not worth another look.
_MOST_TURNS, _NOTHING = 10, 1e-12
# Of so many repeated values all ways to count them are tried.
_FEW = 3


@dataclass(frozen=True, eq=False)
class Owners:
    """Person of each row."""

    person: NDArray[np.intp]
    """The person of each row."""
    count: int

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """The first row of each person."""
        return np.unique(self.person, return_index=True)[1]

    def rows(self, people: Mask | None) -> Mask | None:
        """Return which rows belong to some people."""
        return None if people is None else people[self.person]

    def several(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
        """Yield people with several rows, their rows one person after the other, and where each one's rows begin."""
        held = np.bincount(self.person, minlength=self.count)
        order = np.argsort(self.person, kind="stable")
        order = order[held[self.person[order]] > 1]
        people, starts = np.unique(self.person[order], return_index=True)
        ends = np.append(starts, len(order))
        at = 0
        while at < len(people):
            stop = max(int(np.searchsorted(ends, ends[at] + _ROWS, side="right")) - 1, at + 1)
            yield people[at:stop], order[ends[at] : ends[stop]], ends[at : stop + 1] - ends[at]
            at = stop

    def each(self, rows: Mask) -> list[NDArray[np.intp]]:
        """Return which of some rows belong to each person."""
        places = np.flatnonzero(rows)
        if not len(places):
            return []
        order = places[np.argsort(self.person[places], kind="stable")]
        return np.split(order, np.flatnonzero(np.diff(self.person[order])) + 1)

    def repeats(self, column: Column, has: Mask) -> NDArray[np.intp]:
        """Return how many more rows of each person say the same value again; 0 where they say different ones.

        Parameters
        ----------
        column : ndarray of shape (rows,) or (rows, numbers)
        has : ndarray of bool, shape (rows,)
            Which rows have a value at all.
        """
        known = np.flatnonzero(has)
        person, values = self.person[known], column[known]
        someone, first = np.unique(person, return_index=True)
        said = np.zeros(self.count, dtype=np.intp)
        said[someone] = first
        differ = np.asarray(values != values[said[person]], dtype=bool).reshape(len(values), -1).any(axis=1)
        alike = np.bincount(person, differ, minlength=self.count) == 0
        return np.where(alike, np.maximum(np.bincount(person, minlength=self.count) - 1, 0), 0)


@dataclass(frozen=True, eq=False)
class Several:
    """Information about people with several rows."""

    owners: Owners
    blocks: tuple[NDArray[np.intp], ...]
    """The private values that each attribute is."""
    repeats: NDArray[np.intp]
    """Number of further rows of each person with the same value of each attribute, shape (people, attributes)."""
    jacobians: Callable[[NDArray[np.intp]], Array]
    """Of some rows, in units of the noise, shape (rows, published, values)."""
    still: tuple[int, ...] = ()
    """Attributes that are unanswered, and no part of a mean."""

    def examples(self, each: Mapping[str, Array], counts: Array) -> tuple[dict[str, Array], Array]:
        """Return eta and dfil of each person, and how many values dfil is the mean over.

        Parameters
        ----------
        each : mapping
            Those of each row.
        counts : ndarray of shape (rows,)
            How many private values each row has.
        """
        found = {name: values[self.owners.first] for name, values in each.items()}
        held = counts[self.owners.first].astype(np.float64)
        for people, owned, bounds in self.owners.several():
            moved, several = self.jacobians(owned), counts[owned]
            for person, (start, stop) in zip(people, pairwise(bounds), strict=True):
                own, values, repeats = moved[start:stop], float(several[start:stop].sum()), self.repeats[person]
                # Squares of all columns of all rows; their largest singular value (eq. 2.11).
                found["eta"][person] = self._eta(own, repeats) if values else np.nan
                square, held[person] = self._mean_square(own, repeats, values) if values else (np.nan, values)
                found["dfil"][person] = np.sqrt(square)
        return found, held

    def _mean_square(self, moved: Array, repeats: NDArray[np.intp], values: float) -> tuple[float, float]:
        """Return the largest mean of squares over values, each repeated one counted either way, and over how many."""
        gains = [(moved[:, :, b].sum(axis=0) ** 2).sum() - (moved[:, :, b] ** 2).sum() for b in self.blocks]
        gain = np.where(repeats > 0, gains, 0.0)
        sizes = [0 if i in self.still else max(len(block), 1) for i, block in enumerate(self.blocks)]
        fewer, total = repeats * np.array(sizes, dtype=np.intp), float((moved**2).sum())
        mean, over = total / values, values
        for _ in range(_MOST_TURNS):
            once = gain + mean * fewer > 0
            left = values - float(fewer[once].sum())
            better = (total + float(gain[once].sum())) / left
            if better <= mean * (1 + _NOTHING):
                break
            mean, over = better, left
        return mean, over

    def attributes(self, each: Mapping[str, Array]) -> dict[str, Array]:
        """Return eta of each attribute of each person, from those of each row."""
        alone = [replace(self, blocks=(block,)) for block in self.blocks]
        found = {name: values[self.owners.first] for name, values in each.items()}
        for people, owned, bounds in self.owners.several():
            moved = self.jacobians(owned)
            for person, (start, stop) in zip(people, pairwise(bounds), strict=True):
                for i, (name, values) in enumerate(found.items()):
                    # Whoever lacks a value in one row may have it in another.
                    lacking = np.isnan(each[name][owned[start:stop]]).all()
                    repeats = self.repeats[person, i : i + 1]
                    values[person] = np.nan if lacking else alone[i]._eta(moved[start:stop], repeats)
        return found

    def joint_information_loss(self, gram: Array, who: Mask | None) -> float:
        """Return the joint eta of some people, from the sum of J J^T over all their rows apart."""
        best, direction = largest(gram), None
        if not self.repeats.any():
            return best
        for _ in range(_MOST_TURNS):
            values, vectors = np.linalg.eigh(gram + self._more(who, len(gram), direction))
            eta, direction = float(np.sqrt(max(values[-1], 0.0))), vectors[:, -1]
            if eta <= best * (1 + _NOTHING):
                break
            best = eta
        return best

    def _more(self, who: Mask | None, size: int, direction: Array | None) -> Array:
        """Return what a gram gains once repeated values count as one, or those that tell more along a direction so."""
        total = np.zeros((size, size))
        for people, owned, bounds in self.owners.several():
            moved = self.jacobians(owned)
            for person, (start, stop) in zip(people, pairwise(bounds), strict=True):
                own, repeats = moved[start:stop], self.repeats[person]
                if repeats.any() and (who is None or who[person]):
                    repeats = repeats if direction is None else self._better(own, repeats, direction)
                    every, one = self._apart(own), self._as_one(own, repeats)
                    total += one @ one.T - every @ every.T
        return total

    def _eta(self, moved: Array, repeats: NDArray[np.intp]) -> float:
        """Return the most that a direction of what is published can tell, each repeated value counted either way."""
        if not repeats.any():
            return _norm(self._apart(moved))
        if len(repeats) == 1:
            return max(_norm(self._apart(moved)), _norm(self._as_one(moved, repeats)))
        best = 0.0
        for ways in self._starts(repeats):
            before = 0.0
            for _ in range(_MOST_TURNS):
                eta, direction = _top(self._as_one(moved, ways))
                if eta <= before * (1 + _NOTHING):
                    break
                before, ways = eta, self._better(moved, repeats, direction)
            best = max(best, before)
        return best

    def _starts(self, repeats: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Return ways to begin with: all of a few values, else none, every, one and all but one of them as one."""
        at = np.flatnonzero(repeats)
        if len(at) <= _FEW:
            chosen = [[j for i, j in enumerate(at) if mask >> i & 1] for mask in range(2 ** len(at))]
        else:
            chosen = [[], [*at], *([j] for j in at), *([k for k in at if k != j] for j in at)]
        return [np.where(np.isin(np.arange(len(repeats)), some), repeats, 0) for some in chosen]

    def _better(self, moved: Array, repeats: NDArray[np.intp], direction: Array) -> NDArray[np.intp]:
        """Return which repeated values tell more along a direction if they count as one."""
        seen = np.einsum("p,rpv->rv", direction, moved)
        once = [(seen[:, block].sum(axis=0) ** 2).sum() > (seen[:, block] ** 2).sum() for block in self.blocks]
        return np.where(once, repeats, 0)

    def _apart(self, moved: Array) -> Array:
        """Return the Jacobian of all values of all rows, shape (published, values)."""
        return self._as_one(moved, np.zeros(len(self.blocks), dtype=np.intp))

    def _as_one(self, moved: Array, repeats: NDArray[np.intp]) -> Array:
        """Return the same with one column for what all rows repeat, which is the sum of theirs."""
        parts = [moved[:, :, block] for block in self.blocks]
        columns = [
            part.sum(axis=0) if more else part.transpose(1, 0, 2).reshape(part.shape[1], -1)
            for part, more in zip(parts, repeats, strict=True)
        ]
        return np.concatenate([np.empty((moved.shape[1], 0)), *columns], axis=1)


def largest(gram: Array) -> float:
    """Return the square root of the largest eigenvalue of a sum of squares."""
    return float(np.sqrt(max(np.linalg.eigvalsh(gram)[-1], 0.0)))


def _norm(matrix: Array) -> float:
    """Return the largest singular value."""
    if min(matrix.shape) <= 1:
        return float(np.sqrt((matrix**2).sum()))
    return float(np.linalg.norm(matrix, 2))


def _top(matrix: Array) -> tuple[float, Array]:
    """Return the largest singular value, and its direction of what is published."""
    if not matrix.size:
        return 0.0, np.zeros(matrix.shape[0])
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    return float(sizes[0]), left[:, 0]
