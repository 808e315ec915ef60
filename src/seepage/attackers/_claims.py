"""When the theory may be claimed, and how many unknown people it takes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers._crowd import Crowd, Held, Seen, Unknown
from seepage.attackers._digits import Digits
from seepage.attackers._printed import Printed

# How many people the noise on a guess must be worth, and how many times the numbers that are printed must be unknown.
MOST_LIKE_NORMAL = 5.0
A_NUMBER = 5
# How much more than the numbers can say must be unknown.
SPARE, MORE = 1.25, 5.0
# What skewness may add before a normal sum is no description.
MOST_SKEWED = 1.25
# Of the noise in their own direction, what nobody may be for the first condition to hold whatever is guessed.
_NOBODY = 0.2

# Numbers in the largest temporary.
_MOST_NUMBERS = 2**22

CLAIMED, FEW, SMALL, DIGITS, UNEVEN, SKEWED, LEVERAGE, TWICE, JUMPS = range(9)
REASONS = (
    "",
    "too few unknown people for so many printed numbers",
    "too few unknown people with one value",
    "the printed digits say more than is unknown",
    "a few people are most of the noise",
    "the noise is too skewed",
    "this person's leverage is too large",
    "another row is the same, so that a person may be in them twice",
    "not assessed without noise: the numbers do not change smoothly with this attribute",
)


@dataclass(frozen=True, eq=False)
class Claims:
    """What must hold of the unknown people, whatever is asked about whom."""

    printed: Printed
    crowd: Crowd
    digits: Digits
    bits: float
    """The entropy of what is not known of one person."""

    @property
    def _others(self) -> int:
        return self.crowd.count - 1

    def needed(self) -> Iterator[tuple[int, float, str]]:
        """Yield how many people each condition asks to be unknown, its reason, and a sentence about it."""
        if self.digits.exact:
            yield DIGITS, np.inf, f"numbers are {self.digits.rule}"
        rank = self.crowd.rank
        yield FEW, A_NUMBER * rank, f"{rank} numbers are printed"
        for level in self.printed.levels:
            # Of people with this value as many are unknown as of all.
            needed = level.needed * self._others / max(level.people, 1)
            yield SMALL, needed, level.words
        bits = self.digits.bits(self.printed.sampling)
        spare = SPARE * bits + MORE
        yield DIGITS, spare / max(self.bits, 1e-300), f"{bits:.0f} bits are {self.digits.rule}"

    @property
    def fewest(self) -> float:
        """How many people must be unknown for anything to be claimed."""
        return max(count for _, count, _ in self.needed())

    def reason(self, unknown: float) -> int:
        """Return which of the conditions is not met by so many unknown people."""
        for reason, count, _ in self.needed():
            if unknown < count:
                return reason
        return CLAIMED

    def sentence(self, unknown: float) -> str:
        """Return what is not met, in words; empty if all is."""
        for reason, count, about in self.needed():
            if unknown < count and np.isinf(count):
                return f"{REASONS[reason]}: {about}"
            if unknown < count:
                return f"{REASONS[reason]}: {about}, which asks for {np.ceil(count):,.0f} unknown people"
        return ""


@dataclass(frozen=True, eq=False)
class PowerSums:
    """Second and fourth powers of what people have in the noise on guesses, added up."""

    second: Array
    fourth: Array

    @classmethod
    def of(cls, moves: Array, *, unknown: Unknown, along: Array, mean: Array) -> "PowerSums":
        k, rank, m = along.shape
        moved, flat = unknown.moved(moves), along.transpose(1, 0, 2).reshape(rank, k * m)
        second, fourth = np.empty((2, k * m))
        step = max(_MOST_NUMBERS // max(len(moved), 1), 1)
        for at in (slice(start, start + step) for start in range(0, k * m, step)):
            # Without the person who is guessed the mean of the others is another.
            squares = (moved @ flat[:, at] + mean.ravel()[at]) ** 2
            second[at], fourth[at] = squares.sum(axis=0), np.einsum("nt,nt->t", squares, squares)
        return cls(second.reshape(k, m), fourth.reshape(k, m))

    def __add__(self, other: "PowerSums") -> "PowerSums":
        return PowerSums(self.second + other.second, self.fourth + other.fourth)


def even(seen: Seen, directions: Array, unknown: float) -> Array:
    """Return how many people the noise on guesses is worth (m_eff of condition 1), shape (k, m)."""
    return even_along(seen.unknown, seen.own, seen.along(directions), unknown)


def even_along(noise: Unknown, own: Array, along: Array, unknown: float) -> Array:
    """Return the same, given what those who are guessed move, and what moves are worth in the noise on the guesses."""
    return worth(noise, own, along, unknown, noise.crowd.moves.total(powers_of(noise, own, along)))


def powers_of(noise: Unknown, own: Array, along: Array) -> Callable[[Array], PowerSums]:
    """Return the function of everybody's moves of which the sum tells that."""
    mean = np.einsum("kr,krm->km", own, along) / (noise.crowd.count - 1)
    return partial(PowerSums.of, unknown=noise.alone(), along=along, mean=mean)


def worth(noise: Unknown, own: Array, along: Array, unknown: float, powers: PowerSums) -> Array:
    """Return how many people the noise on guesses is worth, given that sum."""
    others = noise.crowd.count - 1
    # The person is left out.
    square = (np.einsum("kr,krm->km", own, along) * (others + 1) / others) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(unknown / others * (powers.second - square) ** 2 / (powers.fourth - square**2))


def is_even(noise: Unknown, own: Array, along: Array, unknown: float) -> NDArray[np.bool_]:
    """Return whether the noise on guesses is worth enough people (condition 1), given what `even_along` takes.

    Of the sum of fourth powers, the few who can have much of it are added up exactly; whoever is left has at most the
    largest square that their own direction allows. Where that is not enough, everybody is looked at.
    """
    sure = np.zeros((along.shape[0], along.shape[2]), dtype=bool)
    if isinstance(noise.crowd.moves, Held):
        sure = _at_least(noise, own, along, unknown) >= MOST_LIKE_NORMAL
    rest = np.flatnonzero(~sure.all(axis=1))
    if len(rest):
        sure[rest] |= even_along(noise, own[rest], along[rest], unknown) >= MOST_LIKE_NORMAL
    return sure


def _at_least(noise: Unknown, own: Array, along: Array, unknown: float) -> Array:
    """Return how many people the noise on guesses is worth at least, shape (k, m)."""
    (squares, total, largest, most), others = noise.foremost, noise.crowd.count - 1
    some = len(largest)
    k, rank, m = along.shape
    found = np.empty(k * m)
    flat, shift = along.transpose(1, 0, 2).reshape(rank, k * m), np.einsum("kr,krm->km", own, along).ravel() / others
    step = max(_MOST_NUMBERS // max(some, 1), 1)
    for at in (slice(start, start + step) for start in range(0, k * m, step)):
        a, s = flat[:, at], shift[at]
        inner = np.einsum("rt,rt->t", a, squares @ a)
        second = inner + 2.0 * s * (total @ a) + (others + 1) * s**2
        exact = (largest @ a + s) ** 2
        left = np.maximum(second - exact.sum(axis=0), 0.0)
        fourth = (exact**2).sum(axis=0) + (np.sqrt(most * np.maximum(inner, 0.0)) + np.abs(s)) ** 2 * left
        # The person is left out.
        square = (s * (others + 1)) ** 2
        with np.errstate(invalid="ignore", divide="ignore"):
            found[at] = np.nan_to_num(unknown / others * np.maximum(second - square, 0.0) ** 2 / fourth)
    return found.reshape(k, m)


def surely_even(seen: Seen, unknown: float) -> NDArray[np.bool_]:
    """Return of which people the noise is even, whatever is guessed: nobody else is much of it."""
    second, first = seen.unknown.largest
    largest = np.where(seen.part >= first * (1.0 - 1e-12), second, first)
    return np.asarray((seen.unknown.crowd.count - 1) / max(unknown, 1e-300) * largest <= _NOBODY)
