"""The two passes, wherever the rows are and whoever moves them: functions of a unit of work that can travel."""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, Protocol

import numba
import numpy as np

from seepage._tables import Table
from seepage.engines import Engine
from seepage.engines.storage import Output
from seepage.linear.objective import Nothing
from seepage.linear.rows import Batch, InMemory, Reading, check_raw

# What a process imports before workers are forked from it.
WARM = "seepage.linear._warm"


class Reader(Protocol):
    """Turns a unit of work into batches. Holds no rows, so that it can travel."""

    def batches(self, unit: Any, check: tuple[str, ...] | None) -> Iterator[Batch]:
        """Return the rows of a unit; refuse values that no number could be computed from if `check` names them."""
        ...


@dataclass(frozen=True, eq=False)
class Kept:
    """Where finished partial sums are kept, so that a job can continue."""

    output: Output
    kind: type
    of: str
    """What was added up."""

    def recall(self, key: str) -> Any:
        name = self._name(key)
        if not self.output.has(name):
            return None
        with np.load(io.BytesIO(self.output.get(name)), allow_pickle=False) as stored:
            return self.kind(**{f.name: stored[f.name][()] for f in fields(self.kind)})

    def keep(self, key: str, sums: Any) -> None:
        buffer = io.BytesIO()
        np.savez(buffer, **{f.name: getattr(sums, f.name) for f in fields(sums)})
        self.output.put(self._name(key), buffer.getvalue())

    def _name(self, key: str) -> str:
        return self.output.kept(f"sums/{key}.npz")


@dataclass(frozen=True, eq=False)
class Adding:
    """Adds a function of batches up over a run of units."""

    preload: ClassVar[str] = WARM

    reader: Reader
    of: Callable[[Batch], Any]
    check: tuple[str, ...] | None = None
    kept: Kept | None = None

    def __call__(self, run: Sequence[Any]) -> Any:
        if self.kept is None:
            return self._sum(run)
        key = fingerprint(self.kept.of, *run)
        found = self.kept.recall(key)
        if found is None:
            found = self._sum(run)
            self.kept.keep(key, found)
        return found

    def _sum(self, run: Sequence[Any]) -> Any:
        numba.set_num_threads(1)
        batches = (batch for unit in run for batch in self.reader.batches(unit, self.check))
        with np.errstate(over="ignore", invalid="ignore"):
            return reduce(add, map(self.of, batches), Nothing())


@dataclass(frozen=True, eq=False)
class Scoring:
    """Applies a function of batches to each row of a unit."""

    preload: ClassVar[str] = WARM

    reader: Reader
    of: Callable[[Batch], Any]

    def __call__(self, unit: Any) -> list[Any]:
        numba.set_num_threads(1)
        return [self.of(batch) for batch in self.reader.batches(unit, None)]


def fingerprint(*parts: Any) -> str:
    """Return a name for some numbers and settings that is the same in every process."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(np.ascontiguousarray(part).tobytes())
        elif is_dataclass(part):
            # What is printed of an array leaves numbers out.
            held = [getattr(part, each.name) for each in fields(part)]
            found.update(fingerprint(type(part).__name__, *held).encode())
        else:
            found.update(repr(part).encode())
    return found.hexdigest()


class Run(tuple[Any, ...]):
    """Neighboring units that one worker does one after the other."""

    def __str__(self) -> str:
        return f"{self[0]}" if len(self) == 1 else f"{self[0]} and {len(self) - 1} units after it"


def in_runs(units: Sequence[Any], workers: int) -> list[Run]:
    """Group neighboring units, so that few partial sums travel and no worker waits long for the last."""
    size = max(len(units) // (8 * workers), 1)
    return [Run(units[at : at + size]) for at in range(0, len(units), size)]


@dataclass(frozen=True, eq=False)
class Slice:
    """Some rows of a table that is in memory: they travel themselves."""

    table: Any
    names: tuple[str, ...]
    labels: Any
    weights: Any
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
        rows = InMemory(table, unit.labels, unit.weights, self.reading, self.batch_size, unit.start)
        if check is not None and self.reading.preprocess is not None:
            check_raw(table, unit.start)
        return (rows.read(span, check) for span in rows.spans())


@dataclass(frozen=True, eq=False)
class OnEngine:
    """Rows that are in memory here, and are read by an engine's workers."""

    rows: InMemory
    engine: Engine

    @property
    def count(self) -> int:
        return self.rows.count

    @property
    def table(self) -> Table:
        return self.rows.table

    def few(self) -> Batch:
        return self.rows.few()

    def spans(self, *, summed: bool = False) -> list[slice]:
        return self.rows.spans(summed=summed)

    def read(self, span: slice) -> Batch:
        return self.rows.read(span)

    def altered(self, span: slice, attribute: str | None, value: Any) -> Batch:
        return self.rows.altered(span, attribute, value)

    def column(self, attribute: str | None) -> Any:
        return self.rows.column(attribute)

    def total(self, of: Callable[[Batch], Any], check: tuple[str, ...] | None = None) -> Any:
        return self.engine.total(Adding(self._reader, of, check), [Run([part]) for part in self._slices()])

    def each(self, of: Callable[[Batch], Any]) -> Iterator[tuple[slice, Any]]:
        slices = self._slices()
        for index, results in self.engine.map(Scoring(self._reader, of), slices):
            start = slices[index].start
            for at in range(start, start + len(slices[index].labels), self.rows.batch_size):
                yield (
                    slice(at, min(at + self.rows.batch_size, self.count)),
                    results[(at - start) // self.rows.batch_size],
                )

    @property
    def _reader(self) -> SliceReader:
        return SliceReader(self.rows.reading, self.rows.batch_size)

    def _slices(self) -> list[Slice]:
        rows, size = self.rows, self.rows.batch_size
        # Whole batches, so that an engine adds what one process would have added.
        step = max(-(-rows.count // (4 * self.engine.workers * size)), 1) * size
        found = []
        for start in range(0, rows.count, step):
            stop = min(start + step, rows.count)
            weights = None if rows.weights is None else rows.weights[start:stop]
            table = rows.table.rows(start, stop)
            found.append(Slice(table, rows.table.names, rows.labels[start:stop], weights, start))
        return found
