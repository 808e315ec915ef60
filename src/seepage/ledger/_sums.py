"""Information about people, sorted by name, and its 64 parts as Arrow bytes.

A part holds the people whose names begin with the same six bits. It is the unit that a database stores, so that a
release about few people reads and writes little.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.ledger._names import BYTES

BUCKETS = 64


@dataclass(frozen=True, eq=False)
class PersonSums:
    """Information about some people: one column for each attribute, for the trace, and for eta."""

    names: NDArray[np.void]
    """In ascending order, without repetition."""
    columns: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, names: NDArray[np.void], columns: Mapping[str, Array]) -> "PersonSums":
        """Sort by name, and add up rows of one name."""
        order = sorting(names)
        names = names[order]
        new = np.ones(len(names), dtype=bool)
        new[1:] = names[1:] != names[:-1]
        if new.all():
            return cls(names, {name: np.asarray(column)[order] for name, column in columns.items()})
        starts = np.flatnonzero(new)
        return cls(names[new], {name: np.add.reduceat(column[order], starts) for name, column in columns.items()})

    @classmethod
    def nobody(cls) -> "PersonSums":
        """Return the sums of no people."""
        return cls(np.empty(0, dtype=f"V{BYTES}"), {})

    def column(self, name: str) -> Array:
        """Return a column; zeros if there is none of that name."""
        return self.columns[name] if name in self.columns else np.zeros(len(self))

    def of_people(self, names: NDArray[np.void]) -> "PersonSums":
        """Return the rows of some people in their order; zeros for others."""
        if not len(self):
            return PersonSums(names, {name: np.zeros(len(names)) for name in self.columns})
        at = np.minimum(np.searchsorted(self.names, names), len(self) - 1)
        known = self.names[at] == names
        return PersonSums(names, {name: np.where(known, column[at], 0.0) for name, column in self.columns.items()})

    def without(self, names: NDArray[np.void]) -> "PersonSums":
        """Return the same without some people."""
        rest = ~np.isin(self.names, names)
        return PersonSums(self.names[rest], {name: column[rest] for name, column in self.columns.items()})

    def buckets(self) -> Iterator[tuple[int, "PersonSums"]]:
        """Yield the parts that hold somebody, with their numbers."""
        edges = np.searchsorted(bucket_of(self.names), np.arange(BUCKETS + 1))
        for bucket in np.flatnonzero(np.diff(edges)).tolist():
            part = slice(edges[bucket], edges[bucket + 1])
            yield bucket, PersonSums(self.names[part], {name: column[part] for name, column in self.columns.items()})

    def content(self) -> bytes:
        """Return it as an Arrow stream."""
        people = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(BYTES), len(self), [None, pa.py_buffer(np.ascontiguousarray(self.names))]
        )
        batch = pa.record_batch({"person": people, **self.columns})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        return bytes(sink.getvalue())

    @classmethod
    def read(cls, content: bytes) -> "PersonSums":
        """Return the sums in an Arrow stream."""
        batch = pa.ipc.open_stream(content).read_next_batch()
        names = np.frombuffer(batch.column(0).buffers()[1] or b"", dtype=f"V{BYTES}", count=len(batch))
        return cls(names, {name: batch.column(name).to_numpy() for name in batch.schema.names[1:]})


def added(one: PersonSums, other: PersonSums) -> PersonSums:
    """Return the sums of both; people in one of them only have the sums of that one."""
    if not len(one):
        return other
    columns = dict.fromkeys([*one.columns, *other.columns])
    if len(one) == len(other) and (one.names == other.names).all():
        # The same people again: nothing to sort.
        return PersonSums(one.names, {name: one.column(name) + other.column(name) for name in columns})
    together = {name: np.concatenate([one.column(name), other.column(name)]) for name in columns}
    return PersonSums.of(np.concatenate([one.names, other.names]), together)


def sorting(names: NDArray[np.void]) -> NDArray[np.intp]:
    """Return the order of names, as numbers: eight bytes distinguish nearly all of them."""
    halves = np.ascontiguousarray(names).view(">u8").reshape(len(names), 2).astype(np.uint64)
    order = np.argsort(halves[:, 0], kind="stable")
    first = halves[order, 0]
    return order if (first[1:] != first[:-1]).all() else np.lexsort((halves[:, 1], halves[:, 0]))


def bucket_of(names: NDArray[np.void]) -> NDArray[np.uint8]:
    """Return the bucket of each name, by its first six bits."""
    return np.asarray(np.ascontiguousarray(names).view(np.uint8)[::BYTES] >> 2, dtype=np.uint8)
