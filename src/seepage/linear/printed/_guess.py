"""A linear guess of one number of a person from the person's other values."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.linear.rows import Batch


def record(batch: Batch) -> Array:
    """Return features and labels side by side."""
    return np.column_stack([batch.dense(), batch.labels])


@dataclass(frozen=True, eq=False)
class Guess:
    """A linear guess of a number from the person's other values."""

    along: Array
    """By features and labels: how far the number is above the guess, and a constant."""
    mean: float
    deviation: float
    column: Array
    """How the features move with the number."""
    is_label: bool
    block: NDArray[np.intp]

    def rest(self, batch: Batch) -> Array:
        """Return how far each number is above the guess."""
        return np.asarray(record(batch) @ self.along - self.mean)

    def at(self, batch: Batch, point: float) -> Batch:
        """Return rows whose number is so many deviations above the guess."""
        return self.moved(batch, point * self.deviation - self.rest(batch))

    def moved(self, batch: Batch, by: Array) -> Batch:
        """Return rows whose number is larger by so much."""
        if self.is_label:
            return replace(batch, labels=batch.labels + by[:, None])
        return replace(batch, features=batch.dense() + by[:, None] * self.column)
