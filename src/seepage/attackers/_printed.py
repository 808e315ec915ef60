"""What a release prints, and what a measurement of it needs to know."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers._check import Check
from seepage.attackers._crowd import Moves, Scatter
from seepage.attackers._slopes import Slopes

Places = Sequence[tuple[str, float] | None]
"""Where values are looked at: where they are, or one attribute so many deviations from what a person's other values let
expect, and that attribute alone."""
Each = Callable[[Callable[[Array, Slopes], Any], Places, Moves], Iterator[tuple[NDArray[np.intp], Sequence[Any]]]]
"""Yields a function of some moves of people, and of how numbers move with their values, for a few people at a time: one
result for each place, in one pass over all people."""

# Derivatives in single numbers are kept if everybody's influence has no more numbers.
_MOST_KEPT = 2**18


@dataclass(frozen=True)
class Level:
    """A value that a part of the people have in common."""

    name: str
    """Of which column, or outcome, it is a value."""
    value: Hashable
    people: int
    coefficients: int
    """How many coefficients rest on these people alone."""
    members: NDArray[np.bool_] | None = field(default=None, compare=False, repr=False)
    """Who they are, where people are in memory."""

    @property
    def words(self) -> str:
        """Who they are."""
        return f"{self.people:,} people have {self.named}"

    @property
    def named(self) -> str:
        """Which value it is."""
        if " = " in self.name and self.value in (0, 1):
            # A column of a level, such as "ward = D", holds whether somebody has it.
            return self.name if self.value else self.name.replace(" = ", " other than ", 1)
        value = f"{self.value:g}" if isinstance(self.value, float) else f"{self.value}"
        return f"{value} as {self.name}"

    @property
    def needed(self) -> int:
        """How many of them must be unknown for their part to be like a normal sum."""
        return max(10, 5 * self.coefficients)


class Looked(NamedTuple):
    """How numbers move with people who are looked at from some place; `Printed` says what the fields are."""

    moves: Moves
    jacobian: Callable[[NDArray[np.intp]], Slopes]
    shifted: Callable[[NDArray[np.intp], str, Array], Slopes]
    changed: Callable[[NDArray[np.intp], str, Hashable], Array]


class Form(NamedTuple):
    """What numbers are functions of: people of two fits of one form can be looked at from one place."""

    key: Hashable
    """Equal of outputs that are made alike."""
    position: Array
    """Where the fit is."""
    rows: Callable[[], Array]
    """What is known of each row: people in two fits have the same in both, or these are not made alike."""
    at: Callable[[Array], Looked]
    """The same people from another place."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Printed:
    """Numbers that leave the house, and how they move with people, to first order."""

    names: tuple[str, ...]
    """What each number is."""
    values: Array
    """The numbers."""
    whole: NDArray[np.bool_]
    """Which of them are counts of people, and printed as they are."""
    moves: Moves
    """How much each person moves each number."""
    blocks: Mapping[str, NDArray[np.intp]]
    """Which of a person's values each private attribute is."""
    jacobian: Callable[[NDArray[np.intp]], Slopes]
    """How the numbers move with the values of some people."""
    shifted: Callable[[NDArray[np.intp], str, Array], Slopes]
    """The same, where an attribute of each of them has another value: so much more, shape (k,)."""
    changed: Callable[[NDArray[np.intp], str, Hashable], Array]
    """How the numbers change if an attribute of some people takes a value, shape (k, numbers)."""
    elsewhere: Callable[[int], Moves] | None
    """What everybody moves at the fit without one person; None where that is not known."""
    guesses: Callable[[], Mapping[str, tuple[Array, Array]]]
    """Of each attribute that is a number, how far each person's value is above a guess from their other values, and the
    standard deviation of that."""
    levels: tuple[Level, ...]
    record_bits: float
    """The entropy of one person's record, as far as these people show it."""
    scatter: Callable[[], tuple[float, Moves] | None]
    """The mean entropy of an outcome given the covariates, in bits, and what a deviation of each person's outcome given
    them moves the numbers by; None where outcomes are not modeled."""
    parameters: int
    """How many coefficients were fitted."""
    leverages: Callable[[], Array]
    """The leverage of each person."""
    twice: NDArray[np.bool_]
    """Who has the same values as somebody else, where chance hardly makes two alike: a person entered twice."""
    form: Form | None = None
    """What the numbers are functions of, where other outputs may have the same; None where that is not known."""
    fewest: Array | None = None
    """How many people must be unknown for something to be claimed of each person, where that is not the same for all:
    numbers of a cell rest on the people in it."""
    cells: NDArray[np.intp] | None = None
    """The cell that each person is in, of a table that says how many are in each."""
    by: tuple[str, ...] = ()
    """The columns that say who is in which cell."""
    checks: tuple[Check, ...] | None = None
    """What output checkers ask of it; None for what they ask of any regression."""
    each: Each | None = None
    """Asks a function about everybody where they are, for people who are not in memory."""

    @cached_property
    def leverage(self) -> Array:
        """Of each person."""
        return self.leverages()

    @cached_property
    def _guesses(self) -> Mapping[str, tuple[Array, Array]]:
        return self.guesses()

    @property
    def guessed(self) -> dict[str, Array]:
        """How far each person's value is above what their other values let expect."""
        return {name: rest for name, (rest, _) in self._guesses.items()}

    @property
    def deviations(self) -> dict[str, Array]:
        """How far a guess from each person's other values is off."""
        return {name: deviation for name, (_, deviation) in self._guesses.items()}

    @cached_property
    def baseline(self) -> dict[str, float]:
        """The error of a guess from the other values, where these do not determine the number."""
        return {name: float(np.max(each, initial=0.0)) for name, each in self.deviations.items()}

    @cached_property
    def _shifts(self) -> dict[tuple[str, float], Slopes]:
        """Derivatives in single numbers away from their values, which all attackers share."""
        return {}

    def shifted_to(self, point: float, people: NDArray[np.intp], attribute: str) -> Slopes:
        """Return the derivatives in one number of some people, so many deviations from its guess."""
        if self.each is not None or self.moves.count * len(self.values) > _MOST_KEPT:
            return self._shifted_to(point, people, attribute)
        if (attribute, point) not in self._shifts:
            self._shifts[attribute, point] = self._shifted_to(point, np.arange(len(self.twice)), attribute)
        return self._shifts[attribute, point].take(people)

    def _shifted_to(self, point: float, people: NDArray[np.intp], attribute: str) -> Slopes:
        rest, deviation = self._guesses[attribute]
        by = point * deviation[people] - rest[people]
        return self.shifted(people, attribute, by).of(self.blocks[attribute])

    @cached_property
    def outcomes(self) -> tuple[float, Moves] | None:
        """What `scatter` returns, once."""
        return self.scatter()

    @cached_property
    def sampling(self) -> Array:
        """The standard deviation of each number over samples of such people."""
        return np.asarray(np.sqrt(self.moves.total(partial(Scatter.of, modeled=False)).squares.diagonal()))
