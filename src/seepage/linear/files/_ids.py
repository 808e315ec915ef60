"""Whether the ids of people in files name one row each.

Ids are compared by 64 bits of a hash, eight bytes a row. Up to 2^26 rows these are held in memory. Of more rows the
column is still read once, 2^26 rows at a time: their hashes are sorted and put into temporary files, each for a range
of them, and the files are read and sorted one by one. Of 10^9 different ids two share a hash with a chance of 3%, of
10^10 almost surely; so whatever seems to repeat itself is read once more and compared as it is.
"""

import tempfile
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, ClassVar

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._amounts import size
from seepage.errors import InputError
from seepage.execution import OverRun, in_runs
from seepage.execution.storage import FileStore, Progress, Unit
from seepage.linear.files._source import SourceInFiles
from seepage.linear.information import WARM

Hashes = NDArray[np.uint64]

_MOST_AT_ONCE = 2**26
_BATCH = 2**17
# Enough to name some and to count what a mistaken column would repeat.
_MOST_COMPARED = 10_000


def check_ids(source: SourceInFiles, column: str) -> None:
    """Refuse a column in which an id stands for several rows."""
    files, engine, progress = source.files, source.engine, Progress(source.job.progress)
    twice = np.concatenate(list(_repeated(_blocks(source, column), files.count)))
    if not twice.size:
        return
    runs = in_runs(files.units, engine.workers)
    with progress.of("comparing ids", len(runs)) as watch:
        counted = engine.total(OverRun(Comparing(files.store, column, twice[:_MOST_COMPARED])), runs, watch)
    repeated = {value: count for value, count in counted.items() if count > 1}
    if not repeated:
        return
    example = max(repeated, key=lambda value: repeated[value])
    more = "" if twice.size <= _MOST_COMPARED else "at least "
    raise InputError(
        f"The column {column!r} holds {more}{len(repeated)} ids more than once ({example!r} names {repeated[example]} "
        "rows). Over files each person has one row: name a column that is unique, or measure in memory, where rows of "
        "one id are one person's."
    )


def _blocks(source: SourceInFiles, column: str) -> Iterator[Hashes]:
    """Yield the hashes of all rows in ascending order, of as many units at a time as are held in memory."""
    files, engine = source.files, source.engine
    ends = np.cumsum([unit.rows for unit in files.units])
    first = 0
    while first < len(files.units):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + _MOST_AT_ONCE, side="right")), first + 1)
        runs = in_runs(files.units[first:last], engine.workers)
        starts = np.append(0, np.cumsum([sum(unit.rows for unit in run) for run in runs]))
        hashes = np.empty(starts[-1], dtype=np.uint64)
        with Progress(source.job.progress).of("comparing ids", len(runs)) as watch:
            # Mapped and not added up: a cluster would carry them about once for each level of the sum.
            for index, found in engine.map(Hashing(files.store, column), runs):
                hashes[starts[index] : starts[index + 1]] = found
                watch(1)
        hashes.sort()
        yield hashes
        first = last


def _repeated(blocks: Iterator[Hashes], count: int) -> Iterator[Hashes]:
    """Yield the hashes that stand there several times, some at a time."""
    shares = -(-count // _MOST_AT_ONCE)
    edges = np.array([share * 2**64 // shares for share in range(1, shares)], dtype=np.uint64)
    with ExitStack() as stack:
        # Without a name: nobody else reads them, and nothing of them stays, whatever happens to this process.
        parts = [stack.enter_context(tempfile.TemporaryFile(buffering=0)) for _ in range(shares if shares > 1 else 0)]
        for hashes in blocks:
            first = np.append(True, hashes[1:] != hashes[:-1])
            yield np.unique(hashes[~first])
            if parts:
                # Each once, so that a column of few values fits too.
                hashes = hashes[first]
                _write(parts, np.split(hashes, np.searchsorted(hashes, edges)), count)
        for part in parts:
            part.seek(0)
            every = np.sort(np.frombuffer(part.read(), dtype=np.uint64))
            yield np.unique(every[1:][every[1:] == every[:-1]])


def _write(parts: Sequence[IO[bytes]], hashes: Sequence[Hashes], count: int) -> None:
    try:
        for part, some in zip(parts, hashes, strict=True):
            left = some.data.cast("B")
            while left:
                left = left[part.write(left) :]
    except OSError as error:
        raise InputError(
            f"The ids of {count:,} people are compared in {size(8 * count)} of temporary files, which cannot be "
            f"written to {tempfile.gettempdir()} ({error}). Name a folder with more room in TMPDIR."
        ) from error


@dataclass(frozen=True, eq=False)
class Hashing:
    """Hashes the ids of a run of units."""

    preload: ClassVar[str] = WARM

    store: FileStore
    column: str

    def __call__(self, run: Sequence[Unit]) -> Hashes:
        batches = (batch for unit in run for batch in self.store.read(unit, [self.column], _BATCH))
        return np.concatenate([np.empty(0, np.uint64), *(hashed(batch.column(0), self.column) for batch in batches)])


@dataclass(frozen=True, eq=False)
class Comparing:
    """Counts the ids of a unit whose hashes stand there several times."""

    preload: ClassVar[str] = WARM

    store: FileStore
    column: str
    hashes: Hashes

    def __call__(self, unit: Unit) -> Counter[Hashable]:
        found: Counter[Hashable] = Counter()
        for batch in self.store.read(unit, [self.column], _BATCH):
            ids = batch.column(0)
            kept = np.isin(hashed(ids, self.column), self.hashes)
            found.update(ids.filter(pa.array(kept)).to_pylist())
        return found


def hashed(ids: pa.Array, column: str) -> Hashes:
    """Return 64 bits for each id, the same for the same id in every process."""
    if pa.types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    real = pa.types.is_floating(ids.type)
    if ids.null_count or (real and np.isnan(ids.to_numpy()).any()):
        raise InputError(f"The column {column!r} lacks the id of somebody. Give every row one.")
    if pa.types.is_integer(ids.type) or real:
        values = ids.to_numpy(zero_copy_only=False)
        # Zero has two forms, and is one id.
        values = values + 0.0 if real else values
        return _mixed(np.ascontiguousarray(values).astype(values.dtype.kind + "8").view(np.uint64))
    try:
        text = ids.cast(pa.large_string() if not pa.types.is_binary(ids.type) else pa.large_binary())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"The column {column!r} holds {ids.type}, which names nobody. Write ids as text.") from error
    _, offsets, data = text.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    held = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    return _mixed(_of_bytes(held, ends))


@numba.njit(cache=True, nogil=True)
def _of_bytes(data, ends):  # type: ignore[no-untyped-def]
    """Return the FNV-1a hash of each run of bytes."""
    found = np.empty(len(ends) - 1, dtype=np.uint64)
    for i in range(len(found)):
        value = np.uint64(14695981039346656037)
        for j in range(ends[i], ends[i + 1]):
            value = (value ^ np.uint64(data[j])) * np.uint64(1099511628211)
        found[i] = value
    return found


def _mixed(values: Hashes) -> Hashes:
    """Spread numbers over all 64 bits, one to one (the last steps of splitmix64)."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(values ^ (values >> np.uint64(31)))
