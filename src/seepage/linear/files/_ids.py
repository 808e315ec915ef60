"""Check that ids are unique across files.

Ids are compared by 64 bits of a hash, eight bytes a row in the memory of the driver. Of 10^9 different ids two share a
hash with a chance of 3%, so ids whose hashes repeat are read once more and compared as they are.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage.errors import InputError
from seepage.execution import OverRun, in_runs
from seepage.execution.storage import FileStore, Progress, Unit
from seepage.linear.files._source import SourceInFiles
from seepage.linear.information import WARM

Hashes = NDArray[np.uint64]

_BATCH = 2**17
# Enough to name some and to count what a mistaken column would repeat.
_MOST_COMPARED = 10_000


def check_ids(source: SourceInFiles, column: str) -> None:
    """Refuse a column in which an id stands for several rows."""
    files, engine, progress = source.files, source.engine, Progress(source.job.progress)
    runs = in_runs(files.units, engine.workers)
    starts = np.append(0, np.cumsum([sum(unit.rows for unit in run) for run in runs]))
    hashes = np.empty(files.count, dtype=np.uint64)
    with progress.of("comparing ids", len(runs)) as watch:
        # Mapped and not added up: a cluster would carry them about once for each level of the sum.
        for index, found in engine.map(Hashing(files.store, column), runs):
            hashes[starts[index] : starts[index + 1]] = found
            watch(1)
    hashes.sort()
    twice = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
    if not twice.size:
        return
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
