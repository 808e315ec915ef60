"""Schedule of visits: each person once in each stretch of the training, at a step drawn uniformly from it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seepage._amounts import size
from seepage.errors import InputError
from seepage.network._records import Rows

Array = NDArray[np.float64]
State = dict[str, Any]

# Parts that the people of a stretch are split into, at least, so that its visits are spread over it.
_MOMENTS = 8
# The share of records, and how many at least, that are visited twice in each stretch from the third on.
_MOST, _LEAST = 0.01, 10


@dataclass(frozen=True)
class Stretches:
    """Training of known length, cut into as many stretches as everybody is visited; going on repeats the last."""

    steps: int
    sweeps: int

    def __post_init__(self) -> None:
        for name in ("steps", "sweeps"):
            value = getattr(self, name)
            if not (isinstance(value, int) and value >= 1):
                raise InputError(f"{name} must be a positive whole number, not {value!r}.")

    @property
    def _planned(self) -> int:
        return min(self.sweeps, self.steps)

    def start(self, stretch: int) -> int:
        """Return the first step of a stretch."""
        if stretch <= self._planned:
            return round(stretch * self.steps / self._planned)
        return self.steps + (stretch - self._planned) * (self.steps - self.start(self._planned - 1))

    def at(self, step: int) -> int:
        """Return the stretch that a step is in."""
        stretch = int(step * self._planned / self.steps)
        while self.start(stretch + 1) <= step:
            stretch += 1
        while self.start(stretch) > step:
            stretch -= 1
        return stretch

    def visits(self, stretch: int, people: Rows, together: int, random: np.random.Generator) -> dict[int, list[Rows]]:
        """Return who is visited at which step of a stretch: each at a step drawn uniformly from it.

        Whoever is named twice is visited twice, unless both visits fall into one pass.
        """
        first, length = self.start(stretch), self.start(stretch + 1) - self.start(stretch)
        moments = max(-(-len(people) // together), min(length, len(people), _MOMENTS), 1)
        found: dict[int, list[Rows]] = {}
        parts = np.array_split(random.permutation(people), moments)
        for place, part in zip(random.permutation(moments), parts, strict=True):
            step = first + int((place + random.random()) * length / moments)
            once = np.sort(np.unique(part, return_index=True)[1])
            found.setdefault(step, []).append(part[once])
        return found


class Schedule:
    """The visits of one run: everybody in each stretch; from the third on, those who seem most exposed twice."""

    def __init__(self, records: int, visited: Rows, sweeps: int, random: np.random.Generator) -> None:
        self.records, self.visited, self.sweeps, self._random = records, visited, sweeps, random
        self.stretches: Stretches | None = None
        self.together = 1
        """The number of people visited at once."""
        self._mine = visited
        self._due: dict[int, list[Rows]] = {}
        self._planned = 0
        """The stretches that have been planned."""

    def begin(self, steps: int, together: int, rank: int, ranks: int) -> None:
        """Take note of how long training will be.

        Each rank of a distributed run visits people of its own: the weights are the same everywhere.
        """
        self.stretches, self.together = Stretches(steps, self.sweeps), together
        self._mine = self.visited[rank::ranks]

    def stretch(self, step: int) -> int:
        """Return the stretch that a step is in."""
        return 0 if self.stretches is None else self.stretches.at(step)

    def due(self, step: int, seen: Callable[[], Array]) -> list[Rows]:
        """Return who is visited at a step, those together who are; `seen` is how exposed each seems so far."""
        if self.stretch(step) >= self._planned:
            self._plan(self.stretch(step), seen)
        return self._due.get(step, [])

    def done(self, step: int) -> None:
        """Take note that the visits of a step are over."""
        self._due.pop(step, None)

    def _plan(self, stretch: int, seen: Callable[[], Array]) -> None:
        assert self.stretches is not None
        people = [self._mine]
        if stretch >= 2:
            most = min(len(self._mine) // 4, max(_LEAST, math.ceil(_MOST * len(self._mine))))
            people.append(self._mine[np.argsort(-seen()[self._mine], kind="stable")[:most]])
        # Together: a pass for a few people takes almost as long as one for many.
        found = self.stretches.visits(stretch, np.concatenate(people), self.together, self._random)
        for step, parts in found.items():
            self._due.setdefault(step, []).extend(parts)
        self._planned = stretch + 1

    def saved(self) -> State:
        """Return the planned visits, to be saved."""
        due = {step: [torch.from_numpy(rows.copy()) for rows in parts] for step, parts in self._due.items()}
        length = None if self.stretches is None else self.stretches.steps
        return {
            "scheduled": due,
            "planned": self._planned,
            "length": length,
            "random": self._random.bit_generator.state,
        }

    def restore(self, state: State) -> None:
        """Put back what `saved` returned."""
        self._due = {step: [rows.numpy() for rows in parts] for step, parts in state["scheduled"].items()}
        self._planned = state["planned"]
        if state["length"] is not None:
            self.stretches = Stretches(state["length"], self.sweeps)
        self._random.bit_generator.state = state["random"]


def split(rows: Rows, together: int) -> Iterator[Rows]:
    """Yield so many people at a time, or up to a quarter more, in parts of one size: small ones take as long."""
    yield from np.array_split(rows, max(1, math.ceil(len(rows) / (1.25 * together))))


# What a visit costs, in examples of training with all parameters: measured by `python -m benchmarks network`.
_VISIT = 1.6


@dataclass(frozen=True)
class VisitPlan:
    """The visits that are planned, and what they cost beside training.

    Attributes
    ----------
    people, visits, passes : int
        Who is visited, how often each, and in how many directions each time.
    steps, batch : float
        The length of training, and the people in a batch.
    trained : float
        The share of the network's parameters that are trained. Where few are, training is cheap beside a visit, which
        goes through all of the network.
    """

    people: int
    visits: int
    passes: int
    steps: int
    batch: float
    trained: float

    @property
    def bytes(self) -> int:
        """The memory that is kept for all of training."""
        return 8 * self.people * self.visits * (3 + 2 * self.passes)

    @property
    def cost(self) -> float:
        """The time of the whole training over that without visits, roughly."""
        visit = 2 * _VISIT / (1 + self.trained)
        return 1 + visit * self.people * self.visits * self.passes / (self.steps * self.batch)

    def __str__(self) -> str:
        return (
            f"seepage will visit {self.people} people {self.visits} times each in {self.steps} steps: about "
            f"{self.cost:.2g} times the work of training alone, and {size(self.bytes)} kept."
        )
