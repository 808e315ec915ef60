"""What is owed to each person, in Parquet files that are sorted by name and cut into buckets by the first bits of it.

A bucket is what one worker holds in memory: checking a release, adding it up and auditing go bucket by bucket.
"""

import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seepage._python import Self
from seepage._tables import Array
from seepage.errors import InputError
from seepage.ledger._names import BYTES
from seepage.ledger._store import unwritten

SAME_PERSON = (
    "{} of this release are one person in a ledger, which compares ids as text without blanks around it, without zeros "
    "before a whole number, and with composed letters. If they are one person, give them one id before the release is "
    'measured; if not, write their ids so that they differ otherwise, such as "A7" and "B7".'
)


@dataclass(frozen=True, eq=False)
class BucketSums:
    """Information about some people, sorted by name: one column each for the attributes, for the trace, and for eta."""

    names: NDArray[np.void]
    columns: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, names: NDArray[np.void], columns: Mapping[str, Array]) -> "BucketSums":
        """Sort by name, and add up what stands under one name."""
        order = _order(names)
        names = names[order]
        new = np.ones(len(names), dtype=bool)
        new[1:] = names[1:] != names[:-1]
        if new.all():
            return cls(names, {name: np.asarray(column)[order] for name, column in columns.items()})
        starts = np.flatnonzero(new)
        return cls(names[new], {name: np.add.reduceat(column[order], starts) for name, column in columns.items()})

    @classmethod
    def joined(cls, names: NDArray[np.void], columns: Mapping[str, Array]) -> "BucketSums":
        """Sort by name, and count who stands there several times as one person who is in all of these rows.

        What a release moves by is then at most the sum of what it moves by with each row: the roots add up, not the
        squares.
        """
        roots = cls.of(names, {name: np.sqrt(column) for name, column in columns.items()})
        if len(roots) == len(names):
            return cls.of(names, columns)
        return cls(roots.names, {name: column**2 for name, column in roots.columns.items()})

    @classmethod
    def nobody(cls) -> "BucketSums":
        """Return what is owed where nobody is."""
        return cls(np.empty(0, dtype=f"V{BYTES}"), {})

    def column(self, name: str) -> Array:
        """Return what each owes of something; nothing where nobody owes any of it."""
        return self.columns[name] if name in self.columns else np.zeros(len(self))

    def plus(self, other: "BucketSums") -> "BucketSums":
        """Return the sums of both; who is in one of them only keeps what is owed there."""
        return together([self, other])

    def of_people(self, names: NDArray[np.void]) -> "BucketSums":
        """Return what is owed to some people; nothing to whoever is not known."""
        if not len(self):
            return BucketSums(names, {name: np.zeros(len(names)) for name in self.columns})
        at = np.minimum(np.searchsorted(self.names, names), len(self) - 1)
        known = self.names[at] == names
        return BucketSums(names, {name: np.where(known, column[at], 0.0) for name, column in self.columns.items()})

    def without(self, names: NDArray[np.void]) -> "BucketSums":
        """Return the same without some people."""
        kept = ~np.isin(self.names, names)
        return BucketSums(self.names[kept], {name: column[kept] for name, column in self.columns.items()})

    def content(self) -> bytes:
        """Return it as a Parquet file."""
        names = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(BYTES), len(self), [None, pa.py_buffer(np.ascontiguousarray(self.names))]
        )
        table = pa.table({"person": names, **{f"about {name}": column for name, column in self.columns.items()}})
        written = io.BytesIO()
        # Squares of information have no two digits alike: packing them costs time and saves nothing.
        pq.write_table(table, written, compression="none", use_dictionary=False, write_statistics=False)
        return written.getvalue()

    @classmethod
    def read(cls, content: bytes) -> "BucketSums":
        """Return what a Parquet file holds."""
        table = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False).read(use_threads=False)
        names = table.column("person").combine_chunks()
        whole = names.buffers()[1] if len(names) else b""
        return cls(
            np.frombuffer(whole, dtype=f"V{BYTES}", count=len(names), offset=names.offset * BYTES),
            {name.removeprefix("about "): table.column(name).to_numpy() for name in table.column_names[1:]},
        )


def together(parts: Sequence[BucketSums]) -> BucketSums:
    """Return the sums of several; who is in some of them only keeps what is owed there."""
    parts = [part for part in parts if len(part)] or list(parts[:1])
    if len(parts) == 1:
        return parts[0]
    first, *others = parts
    if all(len(other) == len(first) and (other.names == first.names).all() for other in others):
        # The same people again: nothing to sort.
        every = dict.fromkeys(name for part in parts for name in part.columns)
        return BucketSums(first.names, {name: np.sum([part.column(name) for part in parts], axis=0) for name in every})
    names = np.concatenate([part.names for part in parts])
    every = dict.fromkeys(name for part in parts for name in part.columns)
    columns = {name: np.concatenate([part.column(name) for part in parts]) for name in every}
    return BucketSums.of(names, columns)


def _order(names: NDArray[np.void]) -> NDArray[np.intp]:
    """Return the order of names, as numbers: eight bytes tell nearly all of them apart."""
    halves = np.ascontiguousarray(names).view(">u8").reshape(len(names), 2).astype(np.uint64)
    order = np.argsort(halves[:, 0], kind="stable")
    first = halves[order, 0]
    return order if (first[1:] != first[:-1]).all() else np.lexsort((halves[:, 1], halves[:, 0]))


def bucket_of(names: NDArray[np.void], buckets: int) -> NDArray[np.intp]:
    """Return the bucket of each name, by its first bits."""
    first = np.ascontiguousarray(names).view(np.uint8).reshape(len(names), BYTES)
    number = first[:, 0].astype(np.intp) << 8 | first[:, 1]
    return number >> (16 - (buckets.bit_length() - 1))


class Spool:
    """Charges as they come, in the order of rows, until they are taken out bucket by bucket.

    They wait in one file without a name on this machine, a record a person, so that memory does not grow with people.
    """

    def __init__(self, buckets: int) -> None:
        self._buckets = buckets
        try:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the spool)
        except OSError as error:
            raise unwritten("A temporary file", error) from error
        self._parts: list[tuple[int, np.dtype[np.void], NDArray[np.intp]]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # What did not fit on the disk is written once more here, and was told before.
        with suppress(OSError):
            self._file.close()

    def put(self, names: NDArray[np.void], columns: Mapping[str, Array]) -> None:
        """Add what some people owe."""
        bucket = bucket_of(names, self._buckets).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")
        kind = np.dtype([("", names.dtype), *((name, np.float64) for name in columns)])
        records = np.empty(len(names), dtype=kind)
        records["f0"] = names[order]
        for name, column in columns.items():
            records[name] = column[order]
        edges = np.searchsorted(bucket[order], np.arange(self._buckets + 1))
        try:
            self._parts.append((self._file.tell(), kind, edges))
            self._file.write(records.data)
            self._file.flush()
        except OSError as error:
            raise unwritten(f"A file in {tempfile.gettempdir()}", error) from error

    def buckets(self) -> Iterator[tuple[int, BucketSums]]:
        """Yield what is owed in each bucket that somebody is in."""
        for bucket in range(self._buckets):
            parts = [part for part in map(self._read, self._parts, repeat(bucket)) if len(part)]
            if parts:
                every = dict.fromkeys(name for part in parts for name in (part.dtype.names or ())[1:])
                columns = {name: np.concatenate([part[name] for part in parts]) for name in every}
                names = np.concatenate([part["f0"] for part in parts])
                found = BucketSums.of(names, columns)
                if len(found) < len(names):
                    raise InputError(SAME_PERSON.format("Two ids"))
                yield bucket, found

    def _read(self, part: tuple[int, np.dtype[np.void], NDArray[np.intp]], bucket: int) -> NDArray[np.void]:
        start, kind, edges = part
        self._file.seek(start + int(edges[bucket]) * kind.itemsize)
        return np.fromfile(self._file, dtype=kind, count=int(edges[bucket + 1] - edges[bucket]))
