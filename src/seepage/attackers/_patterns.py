"""Several outputs as one release: people are the noise of those who are in the same outputs as they are.

Who is in which outputs is known. Of the people of one pattern as many are unknown as of all, and what they move is a
sum of its own, so that the noise on all numbers together is

    W = sum over patterns c of (m_c - q_c - 1) C_c + Sigma        (eq. 12.5)

C_c is the covariance within the pattern, or of everybody who is in all of its outputs, as far as they print the same:
each of the two is too large somewhere, and of a few people only the second is known. q_c counts the numbers that rest
on this pattern alone, as the difference of two outputs rests on the people who are in one of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers._crowd import Crowd, Largest, Scatter, Unknown

Sums = TypeVar("Sums")

# Patterns with fewer people, or fewer for each of their numbers, have no covariance of their own.
_OWN, _OWN_TIMES = 10, 3
# Singular values below this share of the largest are what rounding leaves.
_ROUNDING = 1e-9
# Of the noise in a direction, the share from which on it is said to rest on a pattern.
_RESTS = 0.5
# However few people differ, so much of their covariance is left for the sentence that nothing is claimed.
_LEAST = 0.25
# Products of three numbers, over people: beyond as many a part of the people of large patterns stands for all, though
# never less than this.
_MOST_CUBES, _LEAST_PEOPLE = 2e9, 2_000
_MOST_PAIRS = 2**23
_MANY = 1_000
# Where skewness adds no more than this to any answer, it is added to all.
_HARDLY = 1.0005
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Pattern:
    """People who are in the same outputs."""

    outputs: tuple[int, ...]
    people: NDArray[np.intp]
    """By their places."""

    def __len__(self) -> int:
        return len(self.people)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Who is in which outputs, and which numbers each output prints."""

    inside: NDArray[np.bool_]
    """Shape (people, outputs)."""
    number: NDArray[np.intp]
    """The output of each number."""
    cells: NDArray[np.intp] | None = None
    """Who is in the same cells of all tables: how many they are is known, and they scatter about means of their own."""

    @cached_property
    def all(self) -> tuple[Pattern, ...]:
        """The patterns that there are, the one with the most people first."""
        kinds, of = np.unique(self.inside, axis=0, return_inverse=True)
        found = (
            Pattern(tuple(np.flatnonzero(kind).tolist()), np.flatnonzero(of.ravel() == i))
            for i, kind in enumerate(kinds)
        )
        return tuple(sorted(found, key=lambda each: -len(each)))

    @cached_property
    def place(self) -> NDArray[np.intp]:
        """The pattern of each person."""
        found = np.empty(len(self.inside), dtype=np.intp)
        for i, pattern in enumerate(self.all):
            found[pattern.people] = i
        return found

    def numbers(self, pattern: Pattern) -> NDArray[np.bool_]:
        """Return which numbers people of a pattern are in."""
        return np.isin(self.number, pattern.outputs)

    def pool(self, pattern: Pattern) -> NDArray[np.intp]:
        """Return everybody who is in all outputs of a pattern."""
        return np.flatnonzero(self.inside[:, list(pattern.outputs)].all(axis=1))

    def crowds(
        self,
        moves: Array,
        noise: Array | None,
        known: float,
        fails: "Fails",
        *,
        modeled: bool = False,
        plain: bool = False,
        outside: bool = False,
    ) -> Iterator["PatternCrowd"]:
        """Yield the noise that others are before the people of each pattern, with each covariance.

        Parameters
        ----------
        moves : ndarray of shape (people, numbers)
            What each person moves; zero for outputs that they are not in.
        noise : ndarray of shape (numbers, numbers) or None
            The covariance of what is added.
        known : float
            The share of the others who are known.
        fails : callable
            Whether what rests on the people of a pattern is not claimed.
        modeled : bool, default=False
            Whether moves are the deviations of what each may do, by a model of it, rather than what each did.
        plain : bool, default=False
            Whether skewness is left to another look at the same people.
        outside : bool, default=False
            Whether it is before somebody of no pattern instead, beside whom all of these people are unknown.
        """
        spreads = [*self._spreads(moves, modeled=modeled, plain=plain)]
        for spread in spreads:
            for before in [()] if outside else self._asked:
                yield spread.crowd(before, noise, known, fails)

    def _spreads(self, moves: Array, *, modeled: bool, plain: bool) -> Iterator["_Spreads"]:
        """Yield how people scatter, within each pattern and of everybody who is in all of its outputs."""
        ways = (False, True) if not modeled and any(len(self.pool(each)) > len(each) for each in self.all) else (False,)
        yield from (_Spreads.of(self, moves, pooled=pooled, modeled=modeled, plain=plain) for pooled in ways)

    def of(self, people: NDArray[np.intp]) -> "Patterns":
        """Return those of some people."""
        cells = None if self.cells is None else self.cells[people]
        return Patterns(self.inside[people], self.number, cells)

    @property
    def _asked(self) -> list[tuple[int, ...]]:
        """Before which patterns the others are looked at together: one person less is nothing to large ones."""
        large = tuple(i for i, each in enumerate(self.all) if len(each) >= _MANY)
        small: list[tuple[int, ...]] = [(i,) for i, each in enumerate(self.all) if len(each) < _MANY]
        return [large, *small] if large else small


class Rest(NamedTuple):
    """What rests on the people of some patterns."""

    people: NDArray[np.intp]
    unknown: float
    """How many of them are unknown."""
    numbers: int
    """How many numbers rest on them: directions in which most of the noise is theirs."""
    spread: Array
    """How each number scatters with them."""


Fails = Callable[[Rest], bool]


@dataclass(frozen=True, eq=False)
class _Spread:
    """How people scatter who stand for those of a pattern."""

    moves: Array
    """What everybody moves, of whom only some, and only some numbers, are looked at."""
    who: NDArray[np.intp]
    inside: NDArray[np.bool_]
    cells: NDArray[np.intp]
    """The place of everybody's cell among the means."""
    means: Array
    """Of each cell."""
    sizes: Array
    """How many of them are in each cell."""
    triangle: Array
    """R with R^T R the covariance of one person."""
    free: float
    """How many people the covariance rests on."""

    @classmethod
    def of(
        cls,
        moves: Array,
        who: NDArray[np.intp],
        inside: NDArray[np.bool_],
        cells: NDArray[np.intp] | None,
        *,
        modeled: bool,
    ) -> "_Spread":
        """Look at people who stand for those of a pattern; what is modeled has the mean zero."""
        place = np.zeros(len(moves), dtype=np.intp)
        if cells is not None and not modeled:
            place[who] = np.unique(cells[who], return_inverse=True)[1].ravel()
        sizes = np.bincount(place[who]).astype(np.float64)
        means = np.zeros((len(sizes), moves.shape[1]))
        if not modeled:
            for at in _parts(who):
                np.add.at(means, place[at], moves[at] * inside)
            means /= sizes[:, None]
        free = len(who) if modeled else max(len(who) - len(sizes) - 1, 1)
        bare = cls(moves, who, inside, place, means, np.full(1, np.inf) if modeled else sizes, np.empty(0), free)
        return replace(bare, triangle=_triangle(bare.of_people(at) for at in _parts(who)) / np.sqrt(free))

    def of_people(self, people: NDArray[np.intp]) -> Array:
        """Return what some people move, about the mean of their cell."""
        return np.asarray(self.moves[people] * self.inside - self.means[self.cells[people]])

    def without(self, people: NDArray[np.intp]) -> Array:
        """Return what takes its square off the covariance when each of some people is left out."""
        size = self.sizes[self.cells[people]]
        with np.errstate(invalid="ignore"):
            grown = np.where(np.isinf(size), 1.0, size / np.maximum(size - 1.0, 1.0))
        return self.of_people(people) * np.sqrt(grown / self.free)[:, None]

    @cached_property
    def cubes(self) -> tuple[Array, Array]:
        """Directions in which they scatter, shape (rank, numbers), and the means of products of three along these."""
        along = _Directions.of(self.triangle)
        some, total = self.who[:: along.every(len(self.who))], np.zeros((along.rank, along.rank**2))
        step = max(_MOST_PAIRS // max(along.rank, 1) ** 2, 1)
        for start in range(0, len(some), step):
            total += along.cubes(self.of_people(some[start : start + step]))
        return along.back, total.reshape((along.rank,) * 3) / max(len(some), 1)


@dataclass(frozen=True, eq=False)
class _Directions:
    """Directions in which people scatter."""

    scale: Array
    sizes: Array
    axes: Array

    @classmethod
    def of(cls, triangle: Array) -> "_Directions":
        scale = np.sqrt((triangle**2).sum(axis=0))
        scale[scale == 0.0] = 1.0
        _, sizes, axes = np.linalg.svd(triangle / scale, full_matrices=False)
        kept = sizes > _ROUNDING * max(sizes.max(initial=0.0), 1e-300)
        return cls(scale, sizes[kept], axes[kept])

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def back(self) -> Array:
        """From these to the numbers, shape (rank, numbers)."""
        return self.sizes[:, None] * self.axes * self.scale

    def every(self, count: int) -> int:
        """Return which part of so many people stands for all of them: every how many."""
        return min(int(count * float(self.rank) ** 3 / _MOST_CUBES) + 1, max(count // _LEAST_PEOPLE, 1))

    def cubes(self, moves: Array) -> Array:
        """Return products of three of what some people move about their mean, added up."""
        part = (moves / self.scale) @ (self.axes.T / self.sizes)
        return np.asarray(part.T @ (part[:, :, None] * part[:, None, :]).reshape(len(part), -1))


@dataclass(frozen=True, eq=False)
class _Spreads:
    """How the people of each pattern scatter."""

    patterns: Patterns
    each: tuple[_Spread, ...]
    modeled: bool
    plain: bool
    """Whether skewness is left to another look at the same people."""

    @classmethod
    def of(cls, patterns: Patterns, moves: Array, *, pooled: bool, modeled: bool, plain: bool) -> "_Spreads":
        found = []
        for pattern in patterns.all:
            inside = patterns.numbers(pattern)
            moved = np.any([(moves[at] != 0).any(axis=0) for at in _parts(pattern.people)], axis=0)
            own = modeled or (not pooled and len(pattern) >= max(_OWN, _OWN_TIMES * int(moved.sum())))
            who = pattern.people if own else patterns.pool(pattern)
            found.append(_Spread.of(moves, who, inside, patterns.cells, modeled=modeled))
        return cls(patterns, tuple(found), modeled, plain)

    def crowd(self, before: tuple[int, ...], noise: Array | None, known: float, fails: Fails) -> "PatternCrowd":
        """Return the noise before somebody of some patterns, who is not among the unknown.

        People on whom too much rests protect nobody: they are taken as known, which leaves without noise what rests on
        them.
        """
        patterns = self.patterns.all
        counts = [(len(each) - (i in before)) * (1.0 - known) for i, each in enumerate(patterns)]
        silent: set[int] = set()
        while True:
            left = [0.0 if i in silent else m for i, m in enumerate(counts)]
            rests = self._rests(left, noise)
            failing = {i for i, rest in enumerate(rests) if i and i not in silent and rest.numbers and fails(rest)}
            if not failing:
                failing = self._split(left, noise, fails)
            if not failing:
                break
            silent |= failing
        free = [
            len(patterns[i]) * float(m > 0) if self.modeled else max(m - rest.numbers - 1.0, _LEAST * m)
            for i, (m, rest) in enumerate(zip(left, rests, strict=True))
        ]
        fixed = self._noise(free, noise)
        return PatternCrowd(
            _Moves(self, np.sqrt(np.array(free))),
            noise,
            self.modeled,
            before=before,
            spreads=self,
            counts=np.array(left),
            free=np.array(free),
            fixed=fixed,
            most=rests[0],
            silent=frozenset(silent),
        )

    def _noise(self, counts: Sequence[float], noise: Array | None) -> "_Noise":
        parts = [np.sqrt(m) * each.triangle for m, each in zip(counts, self.each, strict=True)]
        if noise is not None:
            values, vectors = np.linalg.eigh(noise)
            parts.append((vectors * np.sqrt(np.maximum(values, 0.0))).T)
        return _Noise.of(np.vstack(parts))

    def _rests(self, counts: Sequence[float], noise: Array | None) -> list[Rest]:
        whitened = self._noise(counts, noise).whitened
        return [self._rest([i], counts, whitened) for i in range(len(counts))]

    def _rest(self, some: Sequence[int], counts: Sequence[float], whitened: Array) -> Rest:
        """Return what rests on the people of some patterns together."""
        triangle = np.vstack([np.sqrt(counts[i]) * self.each[i].triangle for i in some])
        part = triangle @ whitened
        numbers = int((np.linalg.eigvalsh(part.T @ part) > _RESTS).sum())
        people = np.concatenate([self.patterns.all[i].people for i in some])
        return Rest(people, sum(counts[i] for i in some), numbers, np.sqrt((triangle**2).sum(axis=0)))

    def _split(self, counts: Sequence[float], noise: Array | None, fails: Fails) -> set[int]:
        """Return the smallest pattern of some that fail together: more outputs split people, and hide nobody."""
        left = [i for i, m in enumerate(counts) if m > 0 and i]
        whitened = self._noise(counts, noise).whitened
        for first in range(len(left) - 1):
            rest = self._rest(left[first:], counts, whitened)
            if rest.numbers and fails(rest):
                return {left[-1]}
        return set()


@dataclass(frozen=True, eq=False)
class _Noise:
    """A covariance, by the directions in which it is one."""

    scale: Array
    white: Array
    silent: Array

    @classmethod
    def of(cls, triangle: Array) -> "_Noise":
        scale = np.sqrt((triangle**2).sum(axis=0))
        scale[scale == 0.0] = 1.0
        _, sizes, axes = np.linalg.svd(_triangle([triangle / scale]))
        sizes = np.pad(sizes, (0, len(axes) - len(sizes)))
        kept = sizes > _ROUNDING * max(sizes.max(initial=0.0), 1e-300)
        return cls(scale, axes[kept].T / sizes[kept], axes[~kept].T)

    @property
    def whitened(self) -> Array:
        return np.asarray(self.white / self.scale[:, None])


@dataclass(frozen=True, eq=False)
class _Moves:
    """What everybody moves, in units in which leaving somebody out takes their square off the noise."""

    spreads: _Spreads
    times: Array

    @property
    def count(self) -> int:
        return len(self.spreads.patterns.inside)

    def of(self, people: NDArray[np.intp]) -> Array:
        place = self.spreads.patterns.place[people]
        found = np.zeros((len(people), len(self.spreads.patterns.number)))
        for i in np.unique(place):
            at = np.flatnonzero(place == i)
            found[at] = self.times[i] * self.spreads.each[i].without(people[at])
        return found

    def total(self, of: Callable[[Array], Sums]) -> Sums:
        return reduce(add, (of(self.of(people)) for people in _parts(np.arange(self.count))))


@dataclass(frozen=True, eq=False, kw_only=True)
class PatternCrowd(Crowd):
    """The other people before those of some patterns."""

    before: tuple[int, ...]
    spreads: _Spreads
    counts: Array
    """How many of each pattern are unknown."""
    free: Array
    """How many times the covariance of one person of each pattern is in the noise."""
    fixed: _Noise
    most: Rest
    """What rests on the pattern with the most people."""
    silent: frozenset[int]
    """The patterns whose people are taken as known."""

    @cached_property
    def people(self) -> NDArray[np.intp]:
        """Before whom the others are this noise."""
        return np.sort(np.concatenate([self.spreads.patterns.all[i].people for i in self.before]))

    @cached_property
    def scatter(self) -> Scatter:
        size = len(self.fixed.scale)
        return Scatter(self.count, np.zeros(size), np.zeros((size, size)))

    @cached_property
    def rank(self) -> int:
        return int(self.fixed.white.shape[1])

    def unknown(self, count: float) -> "PatternUnknown":
        return PatternUnknown(self, count, 1.0, self.fixed.scale, self.fixed.white, self.fixed.silent)

    @cached_property
    def largest(self) -> Array:
        """What the two people are of the noise in their own direction of whom that is most."""
        return self.moves.total(partial(Largest.of, unknown=self.unknown(0).alone())).values


@dataclass(frozen=True, eq=False)
class PatternUnknown(Unknown):
    """The unknown people of all patterns, as the noise on what several outputs print."""

    @property
    def weight(self) -> float:
        return 1.0

    def alone(self) -> "PatternUnknown":
        # What it is about travels along.
        _ = self.crowd.scatter
        found = super().alone()
        lone = PatternUnknown(found.crowd, self.count, self.share, self.scale, self.white, self.silent)
        vars(lone).update(vars(found))
        return lone

    @cached_property
    def largest(self) -> Array:
        assert isinstance(self.crowd, PatternCrowd)
        return self.crowd.largest

    @cached_property
    def stretch(self) -> float | None:
        most = 1.0 + float(np.linalg.eigvalsh(self.skewed).max(initial=0.0))
        return most if most <= _HARDLY else None

    @cached_property
    def skewed(self) -> Array:
        rank = self.white.shape[1]
        flat = np.zeros((rank, rank * rank))
        crowd = self.crowd
        assert isinstance(crowd, PatternCrowd)
        if not rank or crowd.modeled or crowd.spreads.plain:
            return np.zeros((rank, rank))
        for i, (m, free) in enumerate(zip(crowd.counts, crowd.free, strict=True)):
            if m:
                # What people have of the noise that they are, in each direction: the third cumulant of their sum.
                basis, cubes = crowd.spreads.each[i].cubes
                turn = basis @ self.whitened
                found = np.einsum("abc,ai,bj,ck->ijk", cubes, turn, turn, turn, optimize=True)
                flat += free * np.sqrt(free / m) * found.reshape(rank, -1)
        return np.asarray(0.5 * flat @ flat.T)


def _triangle(parts: Iterable[Array]) -> Array:
    """Return R with R^T R the sum of squares of rows: nothing is squared on the way."""
    found: Array | None = None
    for rows in parts:
        found = np.asarray(np.linalg.qr(rows if found is None else np.vstack([found, rows]), mode="r"))
    assert found is not None
    return found


def _parts(people: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield a few people at a time."""
    for start in range(0, max(len(people), 1), _ROWS):
        yield people[start : start + _ROWS]
