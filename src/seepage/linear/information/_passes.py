"""The two passes, wherever the rows are and whoever moves them: functions of a unit of work that can travel."""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from seepage._tables import Column, Table
from seepage.execution import Engine, OverRun, in_runs
from seepage.execution.storage import OutputFolder
from seepage.linear.objective import Nothing
from seepage.linear.rows import Batch, InMemory, Reading, check_raw, one_thread

Array = NDArray[np.float64]
Unit = TypeVar("Unit")
Given = TypeVar("Given", contravariant=True)
Result = TypeVar("Result")

# What a process imports before workers are forked from it.
WARM = "seepage.linear._warm"


class Reader(Protocol[Given]):
    """Turns a unit of work into batches. Holds no rows, so that it can travel."""

    def batches(self, unit: Given, check: tuple[str, ...] | None) -> Iterator[Batch]:
        """Return the rows of a unit; refuse values that no number could be computed from if `check` names them."""
        ...


@dataclass(frozen=True, eq=False)
class Kept(Generic[Unit, Result]):
    """Keeps the sums of finished runs, so that a job can continue."""

    work: Callable[[Sequence[Unit]], Result]
    output: OutputFolder
    kind: type
    of: str
    """What is added up."""

    @property
    def preload(self) -> str | None:
        """What a process imports before workers are forked from it."""
        return getattr(self.work, "preload", None)

    def __call__(self, run: Sequence[Unit]) -> Result:
        key = fingerprint(self.of, *run)
        found: Result | None = self._recall(key)
        if found is None:
            found = self.work(run)
            self._keep(key, found)
        return found

    def _recall(self, key: str) -> Any:
        name = self._name(key)
        if not self.output.has(name):
            return None
        with np.load(io.BytesIO(self.output.get(name)), allow_pickle=False) as stored:
            return self.kind(**{f.name: stored[f.name][()] for f in fields(self.kind)})

    def _keep(self, key: str, sums: Any) -> None:
        buffer = io.BytesIO()
        np.savez(buffer, **{f.name: getattr(sums, f.name) for f in fields(sums)})
        self.output.put(self._name(key), buffer.getvalue())

    def _name(self, key: str) -> str:
        return self.output.kept(f"sums/{key}.npz")


@dataclass(frozen=True, eq=False)
class Adding(Generic[Unit, Result]):
    """Adds a function of batches up over a unit; that of none is `Nothing`."""

    preload: ClassVar[str] = WARM

    reader: Reader[Unit]
    of: Callable[[Batch], Result]
    check: tuple[str, ...] | None = None

    @one_thread()
    def __call__(self, unit: Unit) -> Result:
        batches = self.reader.batches(unit, self.check)
        with np.errstate(over="ignore", invalid="ignore"):
            # Only who asks about some of the people may meet nobody, and looks.
            nothing: Any = Nothing()
            found: Result = reduce(add, map(self.of, batches), nothing)
        return found


@dataclass(frozen=True, eq=False)
class Scoring(Generic[Unit, Result]):
    """Applies a function of batches to each row of a unit."""

    preload: ClassVar[str] = WARM

    reader: Reader[Unit]
    of: Callable[[Batch], Result]

    @one_thread()
    def __call__(self, unit: Unit) -> list[Result]:
        return [self.of(batch) for batch in self.reader.batches(unit, None)]


def fingerprint(*parts: object) -> str:
    """Return a name for some numbers and settings that is the same in every process."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(np.ascontiguousarray(part).tobytes())
        elif is_dataclass(part):
            # What is printed of an array leaves numbers out.
            held = [getattr(part, each.name) for each in fields(part)]
            found.update(fingerprint(type(part).__name__, *held).encode())
        elif isinstance(part, tuple | list):
            found.update(fingerprint(type(part).__name__, *part).encode())
        elif sparse.issparse(part):
            csr = sparse.csr_array(part)
            found.update(fingerprint(csr.shape, csr.indptr, csr.indices, csr.data).encode())
        elif callable(part):
            # Where a function is in memory tells nothing; what it does, its code.
            code = getattr(part, "__code__", None)
            done = None if code is None else (code.co_code, repr(code.co_consts), code.co_names)
            found.update(repr((getattr(part, "__qualname__", repr(part)), done)).encode())
            if isinstance(owner := getattr(part, "__self__", None), BaseEstimator):
                plain = (np.ndarray, str, int, float, dict)
                held = [value for value in vars(owner).values() if isinstance(value, plain) or callable(value)]
                found.update(fingerprint(*held).encode())
        else:
            found.update(repr(part).encode())
    return found.hexdigest()


@dataclass(frozen=True, eq=False)
class Slice:
    """Some rows of a table that is in memory: they travel themselves."""

    table: Any
    names: tuple[str, ...]
    labels: Column
    weights: Array | None
    offset: Array | None
    start: int

    def __str__(self) -> str:
        return f"rows {self.start} to {self.start + len(self.labels) - 1}"


@dataclass(frozen=True, eq=False)
class SliceReader:
    """Reads rows that travelled."""

    reading: Reading
    batch_size: int

    def batches(self, unit: Slice, check: tuple[str, ...] | None) -> Iterator[Batch]:
        table = Table(unit.table, unit.names)
        rows = InMemory(table, unit.labels, unit.weights, self.reading, self.batch_size, unit.start, offset=unit.offset)
        if check is not None and self.reading.preprocess is not None:
            check_raw(table, self.reading.affine, rows.missing, unit.start)
        return (rows.read(span, check) for span in rows.spans())


@dataclass(frozen=True, eq=False)
class OnEngine:
    """Sends rows that are in memory here to an engine's workers."""

    engine: Engine

    def total(self, rows: InMemory, of: Callable[[Batch], Result], check: tuple[str, ...] | None) -> Result:
        work = OverRun(Adding(SliceReader(rows.reading, rows.batch_size), of, check))
        # A unit is a batch, whoever adds them.
        return self.engine.total(work, in_runs(self._slices(rows, rows.batch_size), self.engine.workers))

    def each(self, rows: InMemory, of: Callable[[Batch], Result]) -> Iterator[tuple[slice, Result]]:
        size = rows.batch_size
        slices = self._slices(rows, max(-(-rows.count // (4 * self.engine.workers * size)), 1) * size)
        for index, results in self.engine.map(Scoring(SliceReader(rows.reading, size), of), slices):
            starts = range(slices[index].start, rows.count, size)
            for start, result in zip(starts, results, strict=False):
                yield slice(start, min(start + size, rows.count)), result

    @staticmethod
    def _slices(rows: InMemory, step: int) -> list[Slice]:
        found = []
        for start in range(0, rows.count, step):
            stop = min(start + step, rows.count)
            weights = None if rows.weights is None else rows.weights[start:stop]
            offset = None if rows.offset is None else rows.offset[start:stop]
            table = rows.table.rows(start, stop)
            found.append(Slice(table, rows.table.names, rows.labels[start:stop], weights, offset, start))
        return found
