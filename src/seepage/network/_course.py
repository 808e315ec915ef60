"""The steps of a run so far: how each was published, and who took part in it."""

from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seepage.errors import InputError
from seepage.network._records import Rows
from seepage.network._schedule import Stretches
from seepage.network._step import Mechanism

Array = NDArray[np.float64]
State = dict[str, Any]
History = list[tuple[Mechanism, str, int]]
"""How steps were published, how their batches were drawn, and how many there were, one after the other."""


class Course:
    """How training went."""

    def __init__(self, people: int) -> None:
        self.people = people
        self.history: History = []
        self.drawn: list[Array] = []
        """For each stretch, how often each person was in a batch, where that is known and counts."""
        self.batches = 0

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return sum(count for _, _, count in self.history)

    @property
    def secret(self) -> bool:
        """Whether it is secret who took part."""
        return self.history[0][0].sample_rate is not None

    def draw(self, rows: list[int] | Rows, stretch: int) -> None:
        """Take note of who is in a batch."""
        while len(self.drawn) <= stretch:
            self.drawn.append(np.zeros(self.people))
        np.add.at(self.drawn[stretch], np.asarray(rows, dtype=np.int64), 1.0)
        self.batches += 1

    def check(self, mechanism: Mechanism) -> None:
        """Refuse a step whose batches are drawn in another way than before."""
        if self.history and self.secret != (mechanism.sample_rate is not None):
            raise InputError(
                "Either all steps of a run are drawn by secret Poisson sampling, or none: not some of them."
            )

    def take(self, mechanism: Mechanism, sampling: str) -> None:
        """Take note of a step."""
        if self.history and self.history[-1][:2] == (mechanism, sampling):
            self.history[-1] = (mechanism, sampling, self.history[-1][2] + 1)
        else:
            self.history.append((mechanism, sampling, 1))

    def scales(self) -> Array:
        """Return what information in each step is proportional to: one over the squared noise."""
        return np.concatenate([np.full(count, 1 / m.noise_scale**2) for m, _, count in self.history])

    def taken(self, stretches: Stretches) -> tuple[Array, Array]:
        """Return the steps of each stretch that count for each person, with and without credit for secret sampling."""
        length = stretches.at(self.steps - 1) + 1
        if not self.secret:
            counted = np.stack([*self.drawn, *[np.zeros(self.people)] * length][:length], 1)
            return counted, counted
        lengths = np.diff([min(stretches.start(s), self.steps) for s in range(length + 1)])
        taken = np.tile(lengths.astype(np.float64), (self.people, 1))
        rates = sum(float(m.sample_rate or 0.0) * m.batches * count for m, _, count in self.history) / self.steps
        return taken, rates * taken

    def releases(self) -> tuple[tuple[float, float, int], ...]:
        """Return the steps as differential privacy sees them: noise over sensitivity, sampling rate, how many."""
        return tuple(
            (m.noise_scale / m.rule.sensitivity, min(1.0, (m.sample_rate or 1.0) * m.batches), count)
            for m, _, count in self.history
        )

    def state(self) -> State:
        """Return copies of what is held."""
        return {
            "history": [(asdict(mechanism), sampling, count) for mechanism, sampling, count in self.history],
            "drawn": [torch.from_numpy(counts.copy()) for counts in self.drawn],
            "batches": self.batches,
        }

    def restore(self, state: State) -> None:
        """Put back what `state` returned."""
        self.history = [(Mechanism(**values), sampling, count) for values, sampling, count in state["history"]]
        self.drawn = [counts.numpy().copy() for counts in state["drawn"]]
        self.batches = state["batches"]

    def gathered(self, parts: list[State]) -> "Course":
        """Return the same run as several processes saw it, each with batches of its own."""
        found = Course(self.people)
        found.history, found.batches = self.history, self.batches
        found.drawn = [np.zeros(self.people) for _ in range(max(len(part["drawn"]) for part in parts))]
        for part in parts:
            for total, counts in zip(found.drawn, part["drawn"], strict=False):
                total += counts.numpy()
        return found
