"""What the rows say of the people in them: rare values, how much of a record is new, how well a value is guessed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.others import Level

_SOME = 10_000
# How many times more pairs of equal rows than independent columns make are left to chance.
_MOST_ALIKE = 100.0


def holders(has: NDArray[np.bool_], unit: NDArray[np.intp] | None) -> int:
    """Return how many have a value; rows that are not independent of each other count as one."""
    return int(has.sum()) if unit is None else len(np.unique(unit[has]))


def rare_values(design: Array, names: Sequence[str], unit: NDArray[np.intp] | None) -> Iterator[Level]:
    """Yield the two values of each column that has two, and how many coefficients rest on people who have one.

    Parameters
    ----------
    design : ndarray of shape (rows, features)
    names : sequence of str
    unit : ndarray of int or None
        The person, or family, of each row; None where each row is one.
    """
    for feature in range(design.shape[1]):
        column = design[:, feature]
        if len(np.unique(column[:_SOME])) > 2:
            continue
        values, counts = np.unique(column, return_counts=True)
        if len(values) != 2:
            continue
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            alone = 1
            if count < len(column) / 2:
                # Columns that are the same for everybody else have nobody else's word for their coefficients.
                others = design[column != value]
                alone = max(int(((others == others[0]).all(axis=0) & (design != design[0]).any(axis=0)).sum()), 1)
            yield Level(names[feature], value, holders(column == value, unit), alone)


@dataclass(frozen=True, eq=False)
class Records:
    """Which records are equal."""

    rows: Array
    mixed: Array
    """A number for each row that only equal rows share."""
    numbers: Array
    """These numbers, each once."""
    counts: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Array) -> "Records":
        """Look for rows that are equal."""
        mixed = _mixed(rows)
        return cls(rows, mixed, *np.unique(mixed, return_counts=True))

    @property
    def bits(self) -> float:
        """The entropy of one record, as far as these people show it."""
        share = self.counts / self.counts.sum()
        return float(-(share * np.log2(share)).sum())

    def entered_twice(self, person: NDArray[np.intp] | None) -> NDArray[np.bool_]:
        """Return who has a row that is equal to one of somebody else, where chance hardly makes two people alike.

        Of columns that have nothing to do with each other so many pairs are expected; those that have are allowed a
        hundred times as many. Where people are alike more often than that, they are other people.
        """
        if person is not None:
            # Who is whose was said.
            return np.zeros(int(person.max()) + 1, dtype=bool)
        pairs = float((self.counts * (self.counts - 1) / 2).sum())
        if not pairs:
            return np.zeros(len(self.rows), dtype=bool)
        expected = len(self.rows) ** 2 / 2 * np.prod([_alike(column) for column in self.rows.T])
        several = self.counts[np.searchsorted(self.numbers, self.mixed)] > 1
        return np.asarray(several & (_MOST_ALIKE * expected < pairs))


def _alike(column: Array) -> float:
    """Return how likely two people have the same value of a column."""
    _, counts = np.unique(column, return_counts=True)
    return float(((counts / len(column)) ** 2).sum())


def left_of(target: Array, known: Array) -> tuple[Array, float]:
    """Return what a linear guess leaves of a column, and its deviation."""
    known = np.column_stack([known, np.ones(len(known))])
    scale = np.abs(known).max(axis=0)
    known = known / np.where(scale > 0, scale, 1.0)
    found, _, rank, _ = np.linalg.lstsq(known, target, rcond=None)
    rest = target - known @ found
    return rest, float(np.sqrt((rest**2).sum() / max(len(target) - rank, 1)))


def _mixed(rows: Array) -> Array:
    """Return a number for each row that only equal rows share: to sort numbers is quicker than to sort rows."""
    size = np.abs(rows).max(axis=0)
    mix = np.random.default_rng(0).uniform(1.0, 2.0, rows.shape[1]) / np.where(size > 0, size, 1.0)
    # Added up row by row in one order, so that equal rows have equal sums to the last bit.
    return np.asarray((rows * mix).sum(axis=1))
