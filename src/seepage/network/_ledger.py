"""What each person has given away so far, as sums that can be added, saved and restored."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(eq=False)
class Ledger:
    """Sums over the probes of each person, for each group of private values.

    Not every step is probed and not every probe looks at every group, but which ones do is drawn independently of what
    they find. So a person's total is estimated by the mean over probes times the number of steps they took part in.
    Neighboring probes of one person differ by little but their directions: half the mean squared difference of
    neighbors is the variance of a probe (and errs upwards when the network moves fast); eq. 8.8.
    """

    people: int
    groups: int
    steps: Array = field(init=False)
    """How often each person took part, shape (people,)."""
    probes: Array = field(init=False)
    """How many values were seen, shape (people, groups); so the following."""
    total: Array = field(init=False)
    unamplified: Array = field(init=False)
    differences: Array = field(init=False)
    """Sum of squared differences between neighboring values."""
    pairs: Array = field(init=False)
    last: Array = field(init=False)

    def __post_init__(self) -> None:
        self.steps = np.zeros(self.people)
        shape = (self.people, self.groups)
        for name in _TABLES:
            setattr(self, name, np.zeros(shape))
        self.last[:] = np.nan

    def take_part(self, rows: Rows) -> None:
        """Count one more step of these people."""
        np.add.at(self.steps, rows, 1.0)

    def probe(self, rows: Rows, group: Rows, value: Array, unamplified: Array) -> None:
        """Enter one value for each of these people, in the given group."""
        at = (rows, group)
        before = self.last[at]
        known = ~np.isnan(before)
        self.probes[at] += 1
        self.total[at] += value
        self.unamplified[at] += unamplified
        self.differences[at] += np.where(known, (value - np.where(known, before, 0.0)) ** 2, 0.0)
        self.pairs[at] += known
        self.last[at] = value

    def estimate(self) -> tuple[Array, Array, Array]:
        """Return the information about each person and group, its variance, and the same without amplification.

        A person or group that no probe has seen yet is put at the average of the others, with their spread; a single
        probe borrows the relative variance of the others. The variance is NaN while there is nothing to borrow from.
        """
        seen = self.probes > 0
        steps = self.steps[:, None]
        mean = np.divide(self.total, self.probes, out=np.zeros_like(self.total), where=seen)
        plain = np.divide(self.unamplified, self.probes, out=np.zeros_like(self.total), where=seen)
        paired = self.pairs > 0
        spread = np.divide(self.differences, 2 * self.pairs, out=np.full_like(mean, np.nan), where=paired)
        relative = np.full(self.groups, np.nan)
        for group in range(self.groups):
            with_pairs, with_any = paired[:, group], seen[:, group]
            if with_pairs.any():
                squares = (mean[with_pairs, group] ** 2).mean()
                relative[group] = spread[with_pairs, group].mean() / squares if squares > 0 else 0.0
            if not with_any.any():
                continue
            typical, typical_plain = mean[with_any, group].mean(), plain[with_any, group].mean()
            lone = with_any & ~with_pairs
            spread[lone, group] = relative[group] * mean[lone, group] ** 2
            unseen = ~with_any & (self.steps > 0)
            mean[unseen, group], plain[unseen, group] = typical, typical_plain
            spread[unseen, group] = mean[with_any, group].var() + relative[group] * typical**2
        variance = steps**2 * spread / np.maximum(self.probes, 1)
        variance[self.steps == 0] = 0.0
        return steps * mean, variance, steps * plain

    def add(self, other: dict[str, Any]) -> None:
        """Add the sums that another ledger saved. Neighbors across the two are not compared."""
        for name in ("steps", *_TABLES):
            if name != "last":
                getattr(self, name)[...] += other[name]

    def state(self) -> dict[str, Array]:
        """Return copies of the sums."""
        return {name: getattr(self, name).copy() for name in ("steps", *_TABLES)}

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        for name in ("steps", *_TABLES):
            getattr(self, name)[...] = state[name]

    def clear(self) -> None:
        """Start over."""
        self.__post_init__()

    @property
    def bytes(self) -> int:
        """The memory of the sums."""
        return 8 * self.people * (1 + len(_TABLES) * self.groups)


_TABLES = tuple(f.name for f in fields(Ledger) if f.name not in ("people", "groups", "steps"))
