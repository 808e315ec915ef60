"""What the rows say of the people in them: rare values, how much of a record is new."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._baseline import bits_of
from seepage._tables import Array
from seepage.attackers._printed import Level

_SOME = 10_000
# How many times more pairs of equal rows than independent columns make are left to chance.
_MOST_ALIKE = 100.0


def holders(has: NDArray[np.bool_], unit: NDArray[np.intp] | None) -> NDArray[np.bool_]:
    """Return who has a value; rows that are not independent of each other are one."""
    return has if unit is None else np.bincount(unit, has) > 0


def level(
    name: str, value: Hashable, has: NDArray[np.bool_], coefficients: int, unit: NDArray[np.intp] | None
) -> Level:
    """Return a value that some have."""
    members = holders(has, unit)
    return Level(name, value, int(members.sum()), coefficients, members)


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
            yield level(names[feature], value, column == value, alone, unit)


def is_code(levels: Sequence[Hashable]) -> bool:
    """Return whether a category is two numbers, or false and true: its values are then those numbers."""
    return len(levels) == 2 and all(isinstance(level, int | float) for level in levels)


def contrasts(levels: Sequence[Hashable]) -> Array:
    """Return how much of each level of a category there is more with each of its values, shape (levels, values)."""
    if is_code(levels):
        low, high = map(float, levels)  # type: ignore[arg-type]
        return np.array([[-1.0], [1.0]]) / (high - low)
    count = len(levels)
    rest = np.eye(count - 1) - 1.0 / (count + np.sqrt(count))
    return np.vstack([np.full((1, count - 1), -1.0 / np.sqrt(count)), rest])


@dataclass(frozen=True, eq=False)
class Extremes:
    """The smallest and the largest value of each column."""

    low: Array
    high: Array

    @classmethod
    def of(cls, rows: Array) -> "Extremes":
        """Look at some rows."""
        return cls(rows.min(axis=0, initial=np.inf), rows.max(axis=0, initial=-np.inf))

    def __add__(self, other: "Extremes") -> "Extremes":
        return Extremes(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    @property
    def sizes(self) -> Array:
        """The largest magnitudes."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


class Holders(NamedTuple):
    """The values of a column, and how many have each."""

    values: Array
    counts: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TwoValues:
    """The values of columns that have two at most; None for those that have more."""

    found: tuple[Holders | None, ...]

    @classmethod
    def of(cls, rows: Array) -> "TwoValues":
        """Look at some rows."""
        return cls(tuple(_few(column, np.ones(len(column), dtype=np.intp)) for column in rows.T))

    def __add__(self, other: "TwoValues") -> "TwoValues":
        return TwoValues(tuple(map(_both, self.found, other.found)))


def _both(one: Holders | None, other: Holders | None) -> Holders | None:
    if one is None or other is None:
        return None
    return _few(np.concatenate([one.values, other.values]), np.concatenate([one.counts, other.counts]))


def _few(values: Array, counts: NDArray[np.intp]) -> Holders | None:
    found, place = np.unique(values, return_inverse=True)
    if len(found) > 2:
        return None
    return Holders(found, np.bincount(place.ravel(), counts, len(found)).astype(np.intp))


def levels_in(
    values: Sequence[Holders | None],
    names: Sequence[str],
    extremes: Extremes,
    total: Callable[[Callable[[Array], Extremes]], Extremes],
    features: int,
) -> Iterator[tuple[tuple[int, float], Level]]:
    """Yield what `rare_values` does, of rows that are added up over; of which feature, and its value, goes before.

    Parameters
    ----------
    values : sequence of Holders or None
        Of each feature.
    names : sequence of str
    extremes : Extremes
        Of all rows.
    total : callable
        Adds up a function of rows.
    features : int
        How many of the columns of the rows these are.
    """
    for feature, held in enumerate(values):
        if held is None or len(held.values) != 2:
            continue
        for value, count in zip(held.values.tolist(), held.counts.tolist(), strict=True):
            alone = 1
            if count < held.counts.sum() / 2:
                others = total(partial(_lacking, at=feature, value=value))
                same = (others.low == others.high) & (extremes.low != extremes.high)
                alone = max(int(same[:features].sum()), 1)
            yield (feature, value), Level(names[feature], value, count, alone)


def _lacking(rows: Array, *, at: int, value: float) -> Extremes:
    return Extremes.of(rows[rows[:, at] != value])


@dataclass(frozen=True, eq=False)
class EqualRecords:
    """Which records are equal."""

    rows: Array
    numbers: Array
    """One for each row, that only equal rows share."""

    @classmethod
    def of(cls, rows: Array) -> "EqualRecords":
        """Look for rows that are equal."""
        return cls(rows, mixed(rows, np.abs(rows).max(axis=0)))

    @property
    def bits(self) -> float:
        """The entropy of one record, as far as these people show it."""
        return bits_of(np.unique(self.numbers, return_counts=True)[1])

    def entered_twice(self, person: NDArray[np.intp] | None) -> NDArray[np.bool_]:
        """Return who has a row that is equal to one of somebody else, where chance hardly makes two people alike."""
        if person is not None:
            # Who is whose was said.
            return np.zeros(int(person.max()) + 1, dtype=bool)
        return twice_of(self.numbers, self.rows.T)


def twice_of(numbers: Array, columns: Iterable[Array]) -> NDArray[np.bool_]:
    """Return who has a row that is equal to one of somebody else, where chance hardly makes two people alike.

    Of columns that have nothing to do with each other so many pairs are expected; those that have are allowed a hundred
    times as many. Where people are alike more often than that, they are other people.

    Parameters
    ----------
    numbers : ndarray of shape (rows,)
        Which equal rows share.
    columns : iterable of ndarray
        Looked at only if some rows are equal.
    """
    known, counts = np.unique(numbers, return_counts=True)
    pairs = float((counts * (counts - 1) / 2).sum())
    if not pairs:
        return np.zeros(len(numbers), dtype=bool)
    expected = len(numbers) ** 2 / 2 * np.prod([_alike(column) for column in columns])
    several = counts[np.searchsorted(known, numbers)] > 1
    return np.asarray(several & (_MOST_ALIKE * expected < pairs))


def _alike(column: Array) -> float:
    """Return how likely two people have the same value of a column."""
    _, counts = np.unique(column, return_counts=True)
    return float(((counts / len(column)) ** 2).sum())


def mixed(rows: Array, sizes: Array) -> Array:
    """Return a number for each row that only equal rows share: to sort numbers is quicker than to sort rows.

    Parameters
    ----------
    rows : ndarray of shape (rows, columns)
    sizes : ndarray of shape (columns,)
        The largest magnitudes of all rows.
    """
    mix = np.random.default_rng(0).uniform(1.0, 2.0, rows.shape[1]) / np.where(sizes > 0, sizes, 1.0)
    # Added up row by row in one order, so that equal rows have equal sums to the last bit.
    return np.asarray((rows * mix).sum(axis=1))
