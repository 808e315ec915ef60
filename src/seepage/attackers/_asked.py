"""What people in files are asked before several noises at once: one pass over their table answers all of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers._claims import MOST_LIKE_NORMAL, PowerSums, powers_of, worth
from seepage.attackers._crowd import Unknown
from seepage.attackers._information import AT_A_TIME, POINTS, _Asking, _Part
from seepage.attackers._patterns import PatternCrowd, SeatedMoves, Seating
from seepage.attackers._shared import Joined, SharedBlock


@dataclass(frozen=True, eq=False)
class Before:
    """Before whom others are a noise, and what they move in units of it."""

    patterns: NDArray[np.intp]
    seating: Seating

    @classmethod
    def of(cls, unknown: Unknown) -> "Before":
        crowd = unknown.crowd
        assert isinstance(crowd, PatternCrowd)
        assert isinstance(crowd.moves, SeatedMoves)
        return cls(np.array(crowd.before), crowd.moves.seating)

    def part(self, block: SharedBlock) -> tuple[NDArray[np.intp], SharedBlock, Array] | None:
        """Return which of some people are asked about, these, and what they move; None if none are."""
        some = np.flatnonzero(np.isin(block.place, self.patterns))
        if not len(some):
            return None
        part = block if len(some) == len(block.place) else block.only(some)
        return some, part, self.seating(part.moves, part.place)


@dataclass(frozen=True, eq=False)
class Every:
    """Asks people before each noise that others are to them."""

    asked: tuple[tuple[Before, _Asking], ...]

    def __call__(self, block: SharedBlock) -> list[tuple[int, NDArray[np.intp], _Part]]:
        found = []
        for i, (before, asking) in enumerate(self.asked):
            if (part := before.part(block)) is not None:
                found.append((i, part[0], asking(part[2], part[1].slopes())))
        return found


@dataclass(frozen=True, eq=False)
class Means:
    """The mean information about numbers over what people's other values let expect, before each noise."""

    asked: tuple[tuple[Before, Unknown], ...]
    names: tuple[str, ...]

    def __call__(self, block: SharedBlock) -> list[tuple[int, NDArray[np.intp], Array]]:
        found = []
        for i, (before, unknown) in enumerate(self.asked):
            if (part := before.part(block)) is not None:
                found.append((i, part[0], self._of(unknown, part[1], part[2])))
        return found

    def _of(self, unknown: Unknown, block: SharedBlock, moves: Array) -> Array:
        found = np.zeros((len(moves), len(self.names)))
        for i, name in enumerate(self.names):
            for point, weight in POINTS:
                found[:, i] += weight * unknown.without(moves, block.shifted(name, point)).matrices()[:, 0, 0]
        return found


@dataclass(frozen=True, eq=False)
class _Evens:
    """Adds up what tells whether a few people are most of several noises on guesses."""

    asked: tuple[tuple[Seating, Callable[[Array], PowerSums]], ...]

    def __call__(self, block: SharedBlock) -> "_NoiseSums":
        return _NoiseSums(tuple(of(seating(block.moves, block.place)) for seating, of in self.asked))


@dataclass(frozen=True, eq=False)
class _NoiseSums:
    """Such sums, of each noise."""

    each: tuple[PowerSums, ...]

    def __add__(self, other: "_NoiseSums") -> "_NoiseSums":
        return _NoiseSums(tuple(one + two for one, two in zip(self.each, other.each, strict=True)))


def settle(joined: Joined, unknowns: Sequence[Unknown], found: list[list[tuple[NDArray[np.intp], _Part]]]) -> None:
    """Find whether a few people are most of the noise on guesses, before all noises in one pass over the table."""
    waiting = [(i, j) for i, each in enumerate(found) for j, (_, part) in enumerate(each) if len(part.unsure)]
    while waiting:
        sizes = np.cumsum([len(found[i][j][1].unsure) for i, j in waiting])
        some = max(int((sizes <= AT_A_TIME).sum()), 1)
        places, waiting = waiting[:some], waiting[some:]
        asked = ((unknowns[i], found[i][j][1]) for i, j in places)
        work = _Evens(
            tuple((Before.of(unknown).seating, powers_of(unknown, part.own, part.along)) for unknown, part in asked)
        )
        for (i, j), powers in zip(places, joined.added(work).each, strict=True):
            people, part = found[i][j]
            uneven = np.zeros(part.skewed.shape, dtype=bool)
            count = worth(unknowns[i], part.own, part.along, unknowns[i].count, powers)
            uneven[part.unsure] = ~(count >= MOST_LIKE_NORMAL)
            found[i][j] = people, replace(part, unsure=part.unsure[:0], uneven=uneven)
