"""Rows in Parquet files, read a batch at a time by an engine's workers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seepage._tables import Array, Column, Table, plain
from seepage.errors import InputError, MissingExtraError
from seepage.execution import Engine, OverRun, in_runs
from seepage.execution.storage import Files, FileStore, OutputFolder, Progress, Unit
from seepage.linear.columns import Missing, check_map, missing_cells
from seepage.linear.files._roles import Roles
from seepage.linear.information import Adding, Kept, fingerprint
from seepage.linear.objective import NewtonSums, Nothing
from seepage.linear.rows import Batch, InMemory, Reading, check_batch, check_raw, checked_weights

if TYPE_CHECKING:
    import pandas as pd

Result = TypeVar("Result")

_READ_ROWS = 2**12
_READ_NUMBERS = 2**22


@dataclass(frozen=True, eq=False)
class FileReader:
    """Turns row groups into batches."""

    store: FileStore
    features: tuple[str, ...]
    roles: Roles
    reading: Reading
    batch_size: int
    by_name: bool
    """Whether preprocessing looks its columns up by name, and so needs a data frame."""
    kept: tuple[pa.Field, ...]
    """The columns that say who a row is: ids and groups."""
    only: Mapping[str, object] | None = None
    """Values of columns that rows must have to be read at all."""

    def batches(self, unit: Unit, check: tuple[str, ...] | None) -> Iterator[Batch]:
        return (batch for batch, _ in self._read(unit, self.columns, check))

    def rows(self, unit: Unit) -> Iterator[tuple[Batch, pa.RecordBatch]]:
        """Yield each batch with the columns that say who its rows are."""
        return self._read(unit, [*self.columns, *(field.name for field in self.kept)], None)

    def held(self, unit: Unit) -> Iterator[InMemory]:
        """Yield the rows of a unit as they are in the files, some at a time."""
        start = unit.start
        for some in self.store.read(unit, list(dict.fromkeys(self.columns)), self.read_at_once):
            native = _frame(some, self.features) if self.by_name else _matrix(some, self.features)
            weights = weights_in(some, self.roles.weight)
            labels = labels_in(some, self.roles.target)
            yield InMemory(Table(native, self.features), labels, weights, self.reading, some.num_rows, start)
            start += some.num_rows

    def _read(
        self, unit: Unit, names: list[str], check: tuple[str, ...] | None
    ) -> Iterator[tuple[Batch, pa.RecordBatch]]:
        start = unit.start
        for columns in self.store.read(unit, list(dict.fromkeys(names)), self.read_at_once):
            size, kept = columns.num_rows, self._kept(columns)
            if not kept.num_rows:
                start += size
                continue
            try:
                batch = self.batch(kept, start, check)
            except InputError as error:
                where = self.store.where
                among = "" if where is None else f", of the rows that where={str(where)!r} keeps"
                raise InputError(f"{unit.path}{among}: {error}") from error
            start += size
            for at in range(0, len(batch), self.batch_size):
                yield batch.take(slice(at, at + self.batch_size)), kept.slice(at, self.batch_size)

    @property
    def read_at_once(self) -> int:
        """How many rows are decoded together."""
        # Decoding a few rows of many columns costs several times what decoding many does.
        return max(self.batch_size, min(_READ_ROWS, _READ_NUMBERS // max(len(self.features), 1)))

    @property
    def columns(self) -> list[str]:
        """The columns that rows are read with."""
        weight = () if self.roles.weight is None else (self.roles.weight,)
        return [*self.features, *self.roles.target, *weight, *(self.only or ())]

    def _kept(self, columns: pa.RecordBatch) -> pa.RecordBatch:
        for name, wanted in (self.only or {}).items():
            column = columns.column(name)
            values = list(wanted) if isinstance(wanted, list | tuple | set | frozenset | np.ndarray) else [wanted]
            values = [str(value) if isinstance(value, UUID) else value for value in values]
            kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
            among = [value for value in values if _can_be(value, kind, name)]
            columns = columns.filter(pc.is_in(column, value_set=pa.array(among, kind)))
        return columns

    def batch(self, columns: pa.RecordBatch, start: int, check: tuple[str, ...] | None = None) -> Batch:
        """Return rows that were read, as the model sees them."""
        native = _frame(columns, self.features) if self.by_name else _matrix(columns, self.features)
        weights = weights_in(columns, self.roles.weight)
        table = Table(native, self.features)
        if check is not None and self.reading.preprocess is not None:
            self._check_raw(table, start)
        batch = self.reading.batch(native, labels_in(columns, self.roles.target), weights)
        if check is not None:
            check_batch(batch, start, check)
            self.reading.labels.check(batch.labels, start)
            if self.reading.preprocess is not None:
                check_map(self.reading.affine, table, batch.features, {}, self.reading.preprocess, start)
        return batch

    def _check_raw(self, table: Table, start: int) -> None:
        missing = missing_cells(self.reading.affine, table)
        for column in missing:
            raise InputError(
                f"X has a missing value in column {self.features[column]!r}. People in files need every value that "
                "reaches the model: fill it before fitting and measuring, or measure them in memory."
            )
        check_raw(table, self.reading.affine, missing, start)


@dataclass(frozen=True, eq=False)
class FileRows:
    """All rows of some files."""

    files: Files
    reader: FileReader
    engine: Engine
    progress: Progress
    output: OutputFolder | None

    @property
    def count(self) -> int:
        return self.files.count

    @property
    def missing(self) -> Missing:
        """Nobody lacks a value: that is refused while the rows are read."""
        return {}

    def is_two_valued(self, column: int) -> bool:
        """Return whether a column is known to have two values, by its type alone."""
        return bool(pa.types.is_boolean(self.files.schema.field(self.reader.features[column]).type))

    def is_time(self, column: int) -> bool:
        return bool(pa.types.is_temporal(self.files.schema.field(self.reader.features[column]).type))

    def few(self) -> Batch:
        return next(self.reader.batches(self.files.units[0], None))

    def total(self, of: Callable[[Batch], Result], check: tuple[str, ...] | None = None) -> Result:
        work: Callable[[Sequence[Unit]], Result] = OverRun(Adding(self.reader, of, check))
        if self.output is not None and isinstance(of, partial):
            work = Kept(work, self.output, NewtonSums, fingerprint(of.func.__name__, *of.keywords.values()))
        return self._added(work, "adding up", then=self._scoring_takes)

    @property
    def _scoring_takes(self) -> float:
        """How long scoring takes, in times of adding up, as `python -m benchmarks cost` finds by the width."""
        p = len(self.reader.features)
        reading = 16.0 * p + 0.007 * p**2
        return (reading + 370 + 12.0 * p + 0.050 * p**2) / (reading + 24 + 6.1 * p + 0.055 * p**2)

    def joint_information_loss(
        self, of: Callable[[Batch], Result], people: Mapping[str, object] | None
    ) -> Result | Nothing:
        """Add up over some of the rows."""
        return self.add(Adding(replace(self.reader, only=people), of), "joint information")

    def each(self, work: Callable[[Sequence[Unit]], Result], what: str) -> list[Result]:
        """Run a function of runs of units and return its results, in order."""
        runs = in_runs(self.files.units, self.engine.workers)
        found: dict[int, Result] = {}
        with self.progress.of(what, len(runs)) as watch:
            for index, result in self.engine.map(work, runs):
                found[index] = result
                watch(1)
        return [found[index] for index in range(len(runs))]

    def add(self, work: Callable[[Unit], Result], what: str) -> Result:
        """Run a function of units and add its results up."""
        return self._added(OverRun(work), what)

    def _added(self, work: Callable[[Sequence[Unit]], Result], what: str, then: float = 0.0) -> Result:
        """Add up over runs of units; `then` is how long what follows takes."""
        runs = in_runs(self.files.units, self.engine.workers)
        with self.progress.of(what, len(runs), then=then) as watch:
            return self.engine.total(work, runs, watch)


def _can_be(value: object, kind: pa.DataType, name: str) -> bool:
    """Return whether a column of a type can hold a value: 52.9 is nobody's number of years."""
    value = value.item() if isinstance(value, np.generic) else value
    number = isinstance(value, int | float) and (pa.types.is_integer(kind) or pa.types.is_floating(kind))
    try:
        return bool(pa.scalar(value, kind).as_py() == value)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        if number:
            return False
        raise InputError(f"The column {name!r} holds {kind}, not {value!r}.") from None


def labels_in(columns: pa.RecordBatch, target: tuple[str, ...]) -> Column:
    """Return the labels of some rows."""
    found = [plain(values_in(columns, name, "y")) for name in target]
    return found[0] if len(found) == 1 else np.column_stack(found)


def weights_in(columns: pa.RecordBatch, weight: str | None) -> Array | None:
    """Return the weights of some rows."""
    return None if weight is None else checked_weights(values_in(columns, weight, "sample_weight"), columns.num_rows)


def _matrix(columns: pa.RecordBatch, features: tuple[str, ...]) -> Array:
    # Column by column, as files hold them: writing them side by side would cost as much as reading.
    whole = np.empty((len(features), columns.num_rows)).T
    held = dict(zip(columns.schema.names, columns.columns, strict=True))
    for i, name in enumerate(features):
        if held[name].type == pa.float64() and not held[name].null_count:
            whole[:, i] = held[name].to_numpy()
            continue
        values = values_in(columns, name, "X")
        if values.dtype.kind not in "biuf":
            raise InputError(
                f"The column {name!r} of X holds {columns.column(name).type}, not numbers, and no step of the model "
                "encodes it. Put the encoder and the model in one Pipeline, fitted on a data frame."
            )
        whole[:, i] = values
    return whole


def values_in(columns: pa.RecordBatch, name: str, what: str) -> Column:
    """Return one column of some rows; `what` it is for is told when a value is missing."""
    column = columns.column(name)
    if column.null_count:
        raise InputError(
            f"{what} has a missing value in column {name!r}. Drop or fill it before fitting and measuring."
        )
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _frame(columns: pa.RecordBatch, features: tuple[str, ...]) -> "pd.DataFrame":
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError(
            "The model's preprocessing finds its columns by name, which needs a data frame: pip install pandas"
        ) from error
    found: pd.DataFrame = columns.select(list(features)).to_pandas()
    return found
