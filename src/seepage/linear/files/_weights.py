"""Weights in files of their own, beside the rows they belong to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.dataset

from seepage._tables import Array
from seepage.execution.storage import Output, Store, Unit
from seepage.linear.information import WARM

_PIECE = 2**17


@dataclass(frozen=True, eq=False)
class StoredWeights:
    """A weight for each row of some files: a Parquet data set in their order and partitioning.

    Takes the place of a column's name wherever a measurement or a fit over the same files asks for `sample_weight`.

    Attributes
    ----------
    dataset : pyarrow.dataset.Dataset
        The column `weight`, with the ids of the rows if they have any.
    """

    output: Output
    base: str
    kind: str
    factor: float = 1.0
    """What the stored numbers are multiplied by, so that their mean is 1."""
    places: tuple[str, ...] = ()
    """The files that hold them, in order; those of a round in between are read a unit at a time only."""
    column: ClassVar[str] = "weight"
    in_batch: ClassVar[str] = "weight (stored)"
    """What the column is called beside columns of the files, which may have a "weight" of their own."""

    @property
    def dataset(self) -> pa.dataset.Dataset:
        """The files themselves, for reading only what is wanted."""
        return self.output.dataset(self.places)

    def of(self, unit: Unit) -> Array:
        """Return the weights of a unit of work: a small array, since units are small."""
        tables = self.output.tables(self.output.place(self.base, unit, self.kind), unit.rows, _PIECE)
        return self.factor * np.concatenate([table.column(self.column).to_numpy() for table in tables])

    def __repr__(self) -> str:
        return f"StoredWeights({self.output.path!r}, {self.kind!r}, factor={self.factor!r})"


def read_weighted(
    store: Store,
    unit: Unit,
    columns: Sequence[str],
    batch_size: int,
    weights: StoredWeights | str | None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a unit, stored weights as one more column."""
    if not isinstance(weights, StoredWeights):
        yield from store.read(unit, columns, batch_size)
        return
    stored, at = weights.of(unit), 0
    for batch in store.read(unit, columns, batch_size):
        yield batch.append_column(weights.in_batch, pa.array(stored[at : at + batch.num_rows]))
        at += batch.num_rows


@dataclass(frozen=True, eq=False)
class Reweighting:
    """Divides the weights of units by a power of what was measured of their rows, writes them, and adds them up."""

    preload: ClassVar[str] = WARM

    measured: Output
    kind: str
    name: str
    ids: pa.Field | None
    before: StoredWeights | None
    after: StoredWeights
    exponent: float

    def __call__(self, run: Sequence[Unit]) -> float:
        return sum(self._written(unit) for unit in run)

    def _written(self, unit: Unit) -> float:
        base = self.after.base
        before = np.ones(unit.rows) if self.before is None else self.before.of(unit)
        total, at = 0.0, 0
        place = self.after.output.place(base, unit, self.after.kind)
        with self.after.output.writing(place, self._schema()) as write:
            for piece in self.measured.tables(self.measured.place(base, unit, self.kind), unit.rows, _PIECE):
                exposure = piece.column(self.name).to_numpy()
                weight = before[at : at + len(exposure)] * exposure**-self.exponent
                kept = [] if self.ids is None else [piece.column(self.ids.name)]
                write(pa.table([*kept, pa.array(weight)], schema=self._schema()))
                total += float(weight.sum())
                at += len(exposure)
        return total

    def _schema(self) -> pa.Schema:
        kept = [] if self.ids is None else [self.ids]
        return pa.schema([*kept, (StoredWeights.column, pa.float64())])
