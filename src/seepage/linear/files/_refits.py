"""How far a release moves with one person's value, for people in files.

With squared loss the refit needs the Hessian's factor and the person's own row, not the others (eq. 4.3): each unit of
work refits its own people. Other losses need every row again for each of them.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Column, which
from seepage.execution.storage import Unit
from seepage.leakage import Unlike
from seepage.linear.files._rows import FileReader
from seepage.linear.information import WARM, Geometry, Nearby, Refit
from seepage.linear.rows import one_thread


@dataclass(frozen=True, eq=False)
class RefittedPeople:
    """What was found of some people, in order."""

    truth: NDArray[np.intp]
    """Which of the values each has; -1 if none of them."""
    distance: Array
    unlike: Unlike | None

    @classmethod
    def together(cls, parts: "Sequence[RefittedPeople]") -> "RefittedPeople":
        """Return what was found of the people of several parts."""
        starts = np.cumsum([0, *(len(part.truth) for part in parts)])
        unlike = [
            replace(part.unlike, records=part.unlike.records + start)
            for part, start in zip(parts, starts[:-1], strict=True)
            if part.unlike is not None
        ]
        return cls(
            np.concatenate([part.truth for part in parts]),
            np.concatenate([part.distance for part in parts]),
            Unlike.together(unlike),
        )


@dataclass(frozen=True, eq=False)
class Refitting:
    """Refits the people of runs of units with other values of an attribute."""

    preload: ClassVar[str] = WARM

    reader: FileReader
    geometry: Geometry
    penalty: Array
    attribute: str | None
    """None for the label."""
    values: tuple[Hashable, ...]

    @one_thread()
    def __call__(self, run: Sequence[Unit]) -> RefittedPeople:
        parts = [part for unit in run for part in self._moved(unit)]
        return RefittedPeople.together(parts)

    def _moved(self, unit: Unit) -> Iterator[RefittedPeople]:
        for rows in self.reader.held(unit):
            truth = which(self.values, rows.column(self.attribute))
            distance, unlike = np.zeros((rows.count, len(self.values))), []
            refit, whole = Refit(Nearby(rows, self.geometry, self.penalty)), slice(0, rows.count)
            for j, value in enumerate(self.values):
                others = np.flatnonzero(truth != j)
                distance[others, j], pairs = refit.compared(whole, self.attribute, value, others)
                if pairs is not None:
                    unlike.append(Unlike.with_value(others, j, pairs))
            yield RefittedPeople(truth, distance, Unlike.together(unlike))


@dataclass(frozen=True, eq=False)
class SeenValues:
    """Values that some rows have."""

    values: frozenset[Hashable]

    def __add__(self, other: "SeenValues") -> "SeenValues":
        return SeenValues(self.values | other.values)


@dataclass(frozen=True, eq=False)
class Seeing:
    """Finds the values of an attribute in a unit."""

    preload: ClassVar[str] = WARM

    reader: FileReader
    attribute: str | None

    def __call__(self, unit: Unit) -> SeenValues:
        columns: Iterator[Column] = (rows.column(self.attribute) for rows in self.reader.held(unit))
        return SeenValues(frozenset(value for column in columns for value in np.unique(column).tolist()))
