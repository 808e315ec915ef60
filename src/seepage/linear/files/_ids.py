"""Whether the ids of people in files name one row each.

Ids are compared by 64 bits of a hash: eight bytes a row, and never more than 2^26 of them at a time. With more rows
the column is read again for each further share of the hashes. Of 10^9 different ids two share a hash with a chance of
3%; so whatever seems to repeat itself is read once more and compared as it is.
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
from seepage.execution.storage import Progress, Store, Unit
from seepage.linear.files._source import SourceInFiles
from seepage.linear.information import WARM, in_runs

Hashes = NDArray[np.uint64]

_MOST_AT_ONCE = 2**26
_BATCH = 2**17
# Enough to name some and to count what a mistaken column would repeat.
_MOST_COMPARED = 10_000


def check_ids(source: SourceInFiles, column: str) -> None:
    """Refuse a column in which an id stands for several rows."""
    files, engine, progress = source.files, source.engine, Progress(source.job.progress)
    shares = -(-files.count // _MOST_AT_ONCE)
    runs = in_runs(files.units, engine.workers)
    suspects = []
    for share in range(shares):
        with progress.of("comparing ids", len(runs)) as watch:
            found = engine.total(Hashing(files.store, column, share, shares), runs, watch)
        every = np.sort(np.concatenate(found.parts)) if found.parts else np.empty(0, dtype=np.uint64)
        suspects.append(np.unique(every[1:][every[1:] == every[:-1]]))
    twice = np.concatenate(suspects) if suspects else np.empty(0, dtype=np.uint64)
    if not twice.size:
        return
    with progress.of("comparing ids", len(runs)) as watch:
        counted = engine.total(Comparing(files.store, column, twice[:_MOST_COMPARED]), runs, watch)
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
class Gathered:
    """Hashes of some rows."""

    parts: tuple[Hashes, ...]

    def __add__(self, other: "Gathered") -> "Gathered":
        return Gathered((*self.parts, *other.parts))


@dataclass(frozen=True, eq=False)
class Hashing:
    """Hashes the ids of runs of units, and keeps one share of the hashes."""

    preload: ClassVar[str] = WARM

    store: Store
    column: str
    share: int
    shares: int

    def __call__(self, run: Sequence[Unit]) -> Gathered:
        found = []
        for unit in run:
            for batch in self.store.read(unit, [self.column], _BATCH):
                hashes = hashed(batch.column(0), self.column)
                found.append(hashes if self.shares == 1 else hashes[hashes % self.shares == self.share])
        return Gathered((np.concatenate(found),) if found else ())


@dataclass(frozen=True, eq=False)
class Comparing:
    """Counts the ids of runs of units whose hashes stand there several times."""

    preload: ClassVar[str] = WARM

    store: Store
    column: str
    hashes: Hashes

    def __call__(self, run: Sequence[Unit]) -> Counter[Hashable]:
        found: Counter[Hashable] = Counter()
        for unit in run:
            for batch in self.store.read(unit, [self.column], _BATCH):
                ids = batch.column(0)
                kept = np.isin(hashed(ids, self.column), self.hashes)
                found.update(ids.filter(pa.array(kept)).to_pylist())
        return found


def hashed(ids: pa.Array, column: str) -> Hashes:
    """Return 64 bits for each id, the same for the same id in every process."""
    if ids.null_count:
        raise InputError(f"The column {column!r} lacks the id of somebody. Give every row one.")
    if pa.types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    if pa.types.is_integer(ids.type) or pa.types.is_floating(ids.type):
        values = ids.to_numpy(zero_copy_only=False)
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
