"""The rows of files that a filter in words keeps, and how many they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._tables import Table
from seepage._where import columns_of, holds
from seepage.execution.storage import FileStore, Unit
from seepage.linear.information import WARM

_BATCH = 2**17


@dataclass(frozen=True)
class Where:
    """A filter in words."""

    words: str

    def __post_init__(self) -> None:
        columns_of(self.words)

    def __str__(self) -> str:
        return self.words

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        return columns_of(self.words)

    def __call__(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        columns = [_plain(batch.column(name)) for name in self.columns]
        return holds(self.words, Table.of(pa.table(columns, names=list(self.columns))))


def _plain(column: pa.Array) -> pa.Array:
    """Return a column as a data frame has it."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column


@dataclass(frozen=True, eq=False)
class Keeping:
    """Counts the rows of each of some units that the filter of their store keeps, by the columns that it looks at."""

    preload: ClassVar[str] = WARM

    store: FileStore

    def __call__(self, run: Sequence[Unit]) -> list[int]:
        columns = () if self.store.where is None else self.store.where.columns
        return [sum(batch.num_rows for batch in self.store.kept(unit, columns, _BATCH)) for unit in run]
