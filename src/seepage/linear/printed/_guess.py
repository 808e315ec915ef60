"""Guesses of single numbers from the features and labels of rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers import Guess
from seepage.linear.printed._numbers import Numbers
from seepage.linear.rows import Batch


def record(batch: Batch) -> Array:
    """Return features and labels side by side."""
    return np.column_stack([batch.dense(), batch.labels])


@dataclass(frozen=True, eq=False)
class RowGuess:
    """A guess of one number from the other features and labels."""

    guess: Guess
    along: Array
    """From a record to the number, up to a constant."""
    known: NDArray[np.intp]
    """The parts of a record that the number does not reach."""
    column: Array
    """Derivatives of the features in the number."""
    is_label: bool
    block: NDArray[np.intp]

    def rest(self, batch: Batch, values: Array | None = None) -> Array:
        """Return how far each number is above the guess; numbers behind bends are given."""
        rows = record(batch)
        return self.guess.rest(rows @ self.along if values is None else values, rows[:, self.known])

    def deviations(self, batch: Batch) -> Array:
        """Return the standard deviation of each error."""
        return self.guess.deviations(record(batch)[:, self.known])

    def at(self, batch: Batch, point: float) -> Batch:
        """Return rows whose number is so many deviations above the guess."""
        return self.moved(batch, point * self.deviations(batch) - self.rest(batch))

    def moved(self, batch: Batch, by: Array) -> Batch:
        """Return rows whose number is larger by so much."""
        if self.is_label:
            return replace(batch, labels=batch.labels + by[:, None])
        return replace(batch, features=batch.dense() + by[:, None] * self.column)


def guesses_of(
    numbers: Numbers,
    blocks: Mapping[str, NDArray[np.intp]],
    kept: NDArray[np.intp],
    label: str | None,
    rows: Array,
    bent: Mapping[str, Array],
) -> dict[str, RowGuess]:
    """Fit guesses of some attributes.

    Parameters
    ----------
    numbers : Numbers
    blocks : mapping from name to ndarray of int
        The private values of each attribute that is a number.
    kept : ndarray of int
        Private values among all.
    label : str or None
        The label, if it is private.
    rows : ndarray of shape (n, features and label values)
        Records.
    bent : mapping from name to ndarray of shape (n,)
        Numbers that reach steps which are not affine.
    """
    geometry, found = numbers.geometry, {}
    features = rows.shape[1] - geometry.loss.label_values
    for name, block in blocks.items():
        column, along = np.zeros(features), np.zeros(rows.shape[1])
        if name == label:
            along[features] = 1.0
            reached = along != 0
        else:
            place = int(kept[block[0]])
            column = geometry.reading[:, [place]].toarray()[:features, 0]
            reached = np.append(column != 0, np.zeros(rows.shape[1] - features, dtype=bool))
            if geometry.curves is not None:
                reached[geometry.curves.features[geometry.curves.coordinates == place]] = True
            at = int(np.abs(column).argmax())
            along[at] = 1.0 / column[at] if column[at] else 0.0
        known = np.flatnonzero(~reached)
        guess = Guess.of(bent.get(name, rows @ along), rows[:, known])
        found[name] = RowGuess(guess, along, known, column, name == label, block)
    return found
