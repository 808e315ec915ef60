"""Rows of files, a batch at a time, each column of its table's type."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seepage.errors import InputError
from seepage.execution.storage._columns import UUID
from seepage.execution.storage._identity import Opened, Stamp, check_unchanged
from seepage.execution.storage._paths import naming

_HAS_CHECKSUMS = int(pa.__version__.partition(".")[0]) >= 15
VERIFIED = {"page_checksum_verification": True} if _HAS_CHECKSUMS else {}
WITH_CHECKSUMS = {"write_page_checksum": True} if _HAS_CHECKSUMS else {}
"""How pages are read and written: with checksums, which pyarrow has from version 15 on."""

Constants = tuple[tuple[str, object], ...]
"""Columns of one value in all rows of a file: parts of its path, or partitions of a Delta table."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A range of row groups of one file."""

    index: int
    """The position among all units, which is the order of the rows."""
    path: str
    groups: tuple[int, int]
    """The first row group, and the one after the last."""
    start: int
    """The first row, counted within the file."""
    rows: int
    bytes: int
    """Uncompressed."""
    stamp: Stamp
    """What the file was when the job began."""
    constants: Constants = ()

    def __str__(self) -> str:
        return f"{self.path} (rows {self.start} to {self.start + self.rows - 1})"


class Filter(Protocol):
    """Which rows are read at all; in words, `str` of it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        ...

    def __call__(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Return which rows it keeps."""
        ...


@dataclass(frozen=True, eq=False)
class FileStore:
    """Where files are, and what their columns are read as: what a worker needs to read a unit."""

    filesystem: pa.fs.FileSystem
    schema: pa.Schema
    where: Filter | None = None
    """Which rows are read at all."""

    def read(self, unit: Unit, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
        """Yield some columns of the rows of a unit, a batch at a time."""
        rows = 0
        for batch in self.kept(unit, columns, batch_size):
            rows += batch.num_rows
            yield batch
        if rows != unit.rows:
            promised = "its footer promised" if self.where is None else f"where={str(self.where)!r} kept before"
            raise InputError(f"{unit.path} holds {rows} rows where {promised} {unit.rows}.")

    def kept(self, unit: Unit, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
        """Yield the same, however many rows the filter keeps."""
        if self.where is None:
            yield from self._read(unit, columns, batch_size)
            return
        asked = list(dict.fromkeys([*columns, *self.where.columns]))
        for batch in self._read(unit, asked, batch_size):
            found = batch.filter(pa.array(self.where(batch))).select(list(columns))
            if found.num_rows:
                yield found

    def _read(self, unit: Unit, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
        opened = Opened.of(self.filesystem, unit.path)
        with opened.source as source:
            check_unchanged(self.filesystem, unit.path, unit.stamp, opened.stamp)
            with naming(unit.path):
                # With pre_buffer the whole unit would be held in memory.
                file = pq.ParquetFile(source, metadata=opened.metadata, pre_buffer=False, **VERIFIED)
                stored = set(file.schema_arrow.names)
            constants = dict(unit.constants)
            wanted = pa.schema([self.schema.field(name) for name in dict.fromkeys(columns)])
            inside = [name for name in wanted.names if name in stored and name not in constants]
            for batch in self._batches(unit, file, inside, batch_size):
                # Most files hold their columns as their table does.
                is_typed = batch.schema.equals(wanted, check_metadata=False)
                yield batch if is_typed else self._typed(unit, batch, wanted, constants)
        if not opened.whole:
            # What was read is what it was all the while.
            check_unchanged(self.filesystem, unit.path, unit.stamp)

    def _batches(
        self, unit: Unit, file: pq.ParquetFile, columns: list[str], batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        batches = file.iter_batches(batch_size, list(range(*unit.groups)), columns, use_threads=False)
        while True:
            with naming(unit.path):
                batch = next(batches, None)
            if batch is None:
                return
            if batch.num_rows:
                yield batch

    def _typed(
        self, unit: Unit, batch: pa.RecordBatch, wanted: pa.Schema, constants: dict[str, object]
    ) -> pa.RecordBatch:
        arrays = []
        for name, kind in zip(wanted.names, wanted.types, strict=True):
            if name not in batch.schema.names:
                arrays.append(pa.repeat(pa.scalar(constants.get(name), kind), batch.num_rows))
                continue
            column = batch.column(name)
            try:
                arrays.append(column if column.type == kind else _cast(column, kind))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise InputError(
                    f"{unit.path}: the column {name!r} holds {column.type} and cannot be read as {kind}, which it is "
                    f"elsewhere ({str(error).partition(chr(10))[0]}). Write it with the same type in each file."
                ) from error
        return pa.record_batch(arrays, names=wanted.names)


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if str(column.type) == UUID and pa.types.is_string(kind):
        return _written(column.storage)
    return column.cast(kind)


def _written(uuids: pa.FixedSizeBinaryArray) -> pa.StringArray:
    """Return UUIDs as RFC 9562 writes them: 32 digits in five groups."""
    whole = uuids.fill_null(bytes(16))
    data = whole.buffers()[1].to_pybytes()[16 * whole.offset :][: 16 * len(whole)]
    digits = np.frombuffer(data.hex().encode(), dtype=np.uint8).reshape(-1, 32)
    text = np.insert(digits, (8, 12, 16, 20), ord("-"), axis=1)
    ends = np.arange(0, text.size + 1, 36, dtype=np.int32)
    found = pa.StringArray.from_buffers(len(text), pa.py_buffer(ends), pa.py_buffer(text.tobytes()))
    return pc.if_else(uuids.is_valid(), found, pa.scalar(None, pa.string()))
