"""Several outputs about people in files: what is asked of one table, where its rows are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers._crowd import Moves
from seepage.attackers._printed import Level
from seepage.attackers._slopes import Beside, Formed, Slopes
from seepage.leakage import People

Result = TypeVar("Result")
Sums = TypeVar("Sums")


class SharedBlock(Protocol):
    """Some people of a table, as all outputs see them."""

    @property
    def moves(self) -> Array:
        """What each of them moves, shape (k, numbers); zero in outputs that they are not in."""
        ...

    @property
    def place(self) -> NDArray[np.intp]:
        """The pattern of each."""
        ...

    @property
    def before(self) -> NDArray[np.intp]:
        """How many people of each pattern stand before the first of them in the table."""
        ...

    def only(self, some: NDArray[np.intp]) -> "SharedBlock":
        """Return some of them."""
        ...

    def slopes(self) -> Slopes:
        """Return how the numbers move with their values."""
        ...

    def shifted(self, attribute: str, point: float) -> Slopes:
        """Return the same of one attribute, so many deviations from what their other values let expect of it."""
        ...


class Joined(Moves, Protocol):
    """What people of a table move in all outputs, which look at them from where they are."""

    def added(self, of: Callable[[SharedBlock], Sums]) -> Sums:
        """Add up a function of blocks over everybody, in one pass."""
        ...

    def each(
        self, of: Callable[[SharedBlock], Result], shifting: Sequence[str] = ()
    ) -> Iterator[tuple[NDArray[np.intp], Result]]:
        """Yield a function of blocks, with whom each is about; it may shift the attributes that are named."""
        ...


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the numbers and the values of each output stand among all."""

    numbers: tuple[int, ...]
    """How many numbers each output has."""
    places: tuple[NDArray[np.intp], ...]
    """Which values of a person those of each output are."""
    blocks: Mapping[str, NDArray[np.intp]]
    patterns: Mapping[frozenset[int], int]
    """The place of each pattern, by its outputs."""

    @property
    def width(self) -> int:
        """How many values a person has."""
        return sum(map(len, self.blocks.values()))

    def moves(self, parts: Sequence[Array], at: Sequence[NDArray[np.intp]], count: int) -> Array:
        """Return what people move in all outputs, given what some of them move in each."""
        found = np.zeros((count, sum(self.numbers)))
        for first, part, some in zip(np.cumsum([0, *self.numbers]), parts, at, strict=False):
            found[some, first : first + part.shape[1]] = part
        return found

    def beside(self, parts: Sequence[Slopes | None], at: Sequence[NDArray[np.intp]], count: int) -> Beside:
        """Return how the numbers of all outputs move with people's values; None stands for outputs that nobody is in.

        Parameters
        ----------
        parts : sequence of Slopes or None
            Of each output, of those who are in it.
        at : sequence of ndarray of int
            Who they are among all.
        count : int
            How many people there are.
        """
        nobody = np.zeros(0, dtype=np.intp)
        found = (
            (Formed(np.zeros((0, numbers, 0))), nobody, nobody) if part is None else (part, some, places)
            for part, some, places, numbers in zip(parts, at, self.places, self.numbers, strict=True)
        )
        return Beside(tuple(found), self.numbers, (count, self.width))


class Shared(Protocol):
    """One table that several outputs are about, each about the rows that its filter keeps."""

    @property
    def people(self) -> People:
        """Whoever is in one of them."""
        ...

    @property
    def rows(self) -> tuple[NDArray[np.intp], ...]:
        """Of each output the place in it of everybody; -1 for who is not in it."""
        ...

    def alike(self, one: int, other: int) -> bool:
        """Return whether whoever is in two outputs has the same features and outcome in both."""
        ...

    def joined(self, moves: Sequence[Moves], layout: Layout) -> Joined:
        """Return what everybody moves, given what they move in each output."""
        ...


class StoredMoves(Moves, Protocol):
    """What people in files move in one output."""

    def shared(self, outputs: Mapping[str, Moves]) -> Shared:
        """Return the table that all outputs are about, this one among them; refuse those of another table."""
        ...

    def levels(self) -> tuple[Level, ...]:
        """Return the values that a part of the people have in common, and who has them."""
        ...
