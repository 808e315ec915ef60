"""What must be known of the values in files beside the two passes: their variances, extremes and spreads."""

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import ClassVar

import numpy as np
import pyarrow as pa

from seepage._tables import Array
from seepage.execution.storage import Unit
from seepage.linear.files._rows import FileReader, labels_in, values_in
from seepage.linear.information import WARM
from seepage.linear.rows import Batch
from seepage.meaning import EmpiricalPrior


@dataclass(frozen=True, eq=False)
class Facts:
    """Moments of columns and extremes of rows, which add up."""

    count: Array
    mean: Array
    squares: Array
    """Sums of squared distances from the mean."""
    largest_norm: float
    largest_weight: float

    def __add__(self, other: "Facts") -> "Facts":
        # Chan, Golub and LeVeque (1983): nothing cancels however far from zero the values are.
        count = self.count + other.count
        gap = other.mean - self.mean
        return Facts(
            count,
            self.mean + gap * other.count / count,
            self.squares + other.squares + gap**2 * self.count * other.count / count,
            max(self.largest_norm, other.largest_norm),
            max(self.largest_weight, other.largest_weight),
        )


@dataclass(frozen=True, eq=False)
class FactFinder:
    """Finds the facts of a unit."""

    preload: ClassVar[str] = WARM

    reader: FileReader
    columns: tuple[str, ...]
    """Of which the moments are wanted."""
    label: bool
    """Whether the moments of the labels are wanted as well, last, one for each target."""

    def __call__(self, unit: Unit) -> Facts:
        return reduce(add, (self._facts(*rows) for rows in self.reader.rows(unit)))

    def values(self, columns: pa.RecordBatch) -> list[Array]:
        """Return the values of some rows, column by column."""
        values = [np.asarray(values_in(columns, name, "X"), np.float64) for name in self.columns]
        if self.label:
            labels = np.asarray(labels_in(columns, self.reader.roles.target), np.float64)
            values += list(labels.reshape(len(labels), -1).T)
        return values

    def _facts(self, batch: Batch, columns: pa.RecordBatch) -> Facts:
        values = self.values(columns)
        return Facts(
            np.array([len(each) for each in values], dtype=np.float64),
            np.array([each.mean() for each in values]),
            np.array([each.var() * len(each) for each in values]),
            float(np.linalg.norm(batch.augmented(), axis=1).max()),
            1.0 if batch.weights is None else float(batch.weights.max()),
        )


@dataclass(frozen=True, eq=False)
class Spreads:
    """How each column is spread, which adds up."""

    each: tuple[EmpiricalPrior, ...]

    def __add__(self, other: "Spreads") -> "Spreads":
        return Spreads(tuple(one + more for one, more in zip(self.each, other.each, strict=True)))


@dataclass(frozen=True, eq=False)
class Gathering:
    """Gathers the values of a unit, those in one narrow bin as two."""

    preload: ClassVar[str] = WARM

    finding: FactFinder
    deviations: tuple[float, ...]
    """Of all values of each column."""

    def __call__(self, unit: Unit) -> Spreads:
        return reduce(add, (self._spreads(columns) for _, columns in self.finding.reader.rows(unit)))

    def _spreads(self, columns: pa.RecordBatch) -> Spreads:
        values = zip(self.finding.values(columns), self.deviations, strict=True)
        return Spreads(tuple(EmpiricalPrior.of(each, deviation) for each, deviation in values))
