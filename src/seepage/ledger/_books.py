"""Entries and sums of a ledger, checked as they are read, in one transaction."""

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import TypeAlias, TypeVar, cast

import numpy as np
import sqlalchemy as sql
from numpy.typing import NDArray
from sqlalchemy.engine import Connection

from seepage._records import Json
from seepage.errors import InputError, LedgerError
from seepage.ledger._database import DEBITS, ENTRIES, SUMS, Database, no_ledger
from seepage.ledger._entry import Entry, broken
from seepage.ledger._names import Names
from seepage.ledger._sums import PersonSums, added, bucket_of

Answer = TypeVar("Answer")
Part: TypeAlias = tuple[int, int, PersonSums]


@dataclass(eq=False)
class Books:
    """One ledger, with the entries that were read and checked."""

    database: Database
    names: Names
    entries: tuple[Entry, ...] = field(default=(), repr=False)

    def create(self, body: Mapping[str, Json]) -> None:
        """Make the tables with a first entry."""
        first = Entry.after(None, "created", body, mark=secrets.token_hex(16), state=state_of({}), names=self.names)
        self.database.create(first.line())

    def afresh(self) -> "Books":
        """Return the same ledger, of which nothing was read yet."""
        return Books(self.database, self.names)

    def ask(self, question: Callable[["View"], Answer]) -> Answer:
        """Return the answer to a question about the newest state."""
        return self.database.transact(lambda connection: question(self._view(connection, "")))

    def write(self, change: Callable[["View"], Entry]) -> Entry:
        """Make a change in one transaction, and return its entry; once, also if the answer to a commit was lost."""
        mark = secrets.token_hex(16)

        def tried(connection: Connection) -> Entry:
            self.database.lock(connection)
            before = len(self.entries)
            view = self._view(connection, mark)
            written = [entry for entry in view.entries[before:] if entry.mark == mark]
            return written[0] if written else change(view)

        entry = self.database.transact(tried, write=True)
        if entry.number == len(self.entries):
            self.entries = (*self.entries, entry)
        return entry

    def _view(self, connection: Connection, mark: str) -> "View":
        if not self.entries and not self.database.has_tables(connection):
            raise no_ledger(self.database.place)
        start = max(len(self.entries) - 1, 0)
        query = sql.select(ENTRIES.c.entry).where(ENTRIES.c.number >= start).order_by(ENTRIES.c.number)
        newer = [_entry(text, start + step) for step, text in enumerate(connection.scalars(query))]
        if self.entries:
            if not newer or newer[0] != self.entries[-1]:
                raise LedgerError(f"entry {start}", "is gone or another one: an older copy was put back")
            newer = newer[1:]
        if not self.entries and (not newer or not newer[0].is_sealed(self.names)):
            raise InputError(
                f"The key is not that of the ledger at {self.database.place}, or its first entry was changed."
            )
        entries = (*self.entries, *newer)
        for place, reason in broken(entries, self.names, len(self.entries)):
            raise LedgerError(f"entry {place}", reason)
        self.entries = entries
        return View(connection, self.names, entries, mark)


@dataclass(eq=False)
class View:
    """The state of a ledger in one transaction."""

    connection: Connection
    names: Names
    entries: tuple[Entry, ...]
    mark: str
    """Of the entry that this transaction writes."""

    @cached_property
    def hashes(self) -> dict[int, str]:
        """The hash of the sums in each bucket, which the newest entry confirms."""
        rows = self.connection.execute(sql.select(SUMS.c.bucket, SUMS.c.hash)).all()
        hashes = {row.bucket: row.hash for row in rows}
        if not all(type(bucket) is int for bucket in hashes) or state_of(hashes) != self.entries[-1].state:
            raise LedgerError("the table of sums", "is not the one that the newest entry was written with")
        return hashes

    @property
    def debits(self) -> list[Entry]:
        """The debits that count."""
        gone = {entry.body["debit"] for entry in self.entries if entry.kind == "reversed"}
        return [entry for entry in self.entries if entry.kind == "debit" and entry.number not in gone]

    @property
    def open(self) -> list[Entry]:
        """The debits of which nothing was published yet."""
        closed = {entry.body["debit"] for entry in self.entries if entry.kind == "release"}
        return [entry for entry in self.debits if entry.number not in closed]

    def forgotten(self, names: NDArray[np.void]) -> NDArray[np.bool_]:
        """Return which people were forgotten."""
        gone = {
            one for entry in self.entries if entry.kind == "forgotten" for one in cast(list[str], entry.body["people"])
        }
        if not gone:
            return np.zeros(len(names), dtype=bool)
        return np.array([one in gone for one in self.names.tombstones(names)], dtype=bool)

    def sums(self, bucket: int) -> PersonSums:
        """Return the sums of a bucket; nobody's if nobody is in it."""
        if bucket not in self.hashes:
            return PersonSums.nobody()
        content = self.connection.scalar(sql.select(SUMS.c.content).where(SUMS.c.bucket == bucket))
        if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != self.hashes[bucket]:
            raise LedgerError(f"bucket {bucket} of the sums", "was changed after it was committed")
        return PersonSums.read(content)

    def sums_of(self, names: NDArray[np.void]) -> PersonSums:
        """Return the sums of some people, in their order."""
        bucket = bucket_of(names)
        columns: dict[str, NDArray[np.float64]] = {}
        for number in np.unique(bucket).tolist():
            at = np.flatnonzero(bucket == number)
            for name, column in self.sums(number).of_people(names[at]).columns.items():
                columns.setdefault(name, np.zeros(len(names)))[at] = column
        return PersonSums(names, columns)

    def parts(self, *, number: int | None = None, buckets: Sequence[int] | None = None) -> Iterator[Part]:
        """Yield parts of debits, one at a time: of one debit, or of some buckets."""
        for entry, bucket in self.places():
            if number in (None, entry) and (buckets is None or bucket in buckets):
                # Not by a cursor of the server, which a server that dies leaves open.
                row = self.connection.execute(sql.select(DEBITS).filter_by(entry=entry, bucket=bucket)).one()
                if not isinstance(row.content, bytes) or self._seal(entry, bucket, row.content) != row.seal:
                    raise LedgerError(f"debit {entry}, bucket {bucket}", "was changed after it was committed")
                yield entry, bucket, PersonSums.read(row.content)

    def places(self) -> list[tuple[int, int]]:
        """Return number and bucket of all parts of debits."""
        query = sql.select(DEBITS.c.entry, DEBITS.c.bucket).order_by(DEBITS.c.entry, DEBITS.c.bucket)
        return [(row.entry, row.bucket) for row in self.connection.execute(query)]

    def total(self, bucket: int) -> PersonSums:
        """Add up the debits of a bucket."""
        return reduce(added, (sums for _, _, sums in self.parts(buckets=[bucket])), PersonSums.nobody())

    def add(self, cost: PersonSums) -> None:
        """Write a debit, and add it to the sums."""
        for bucket, part in cost.buckets():
            self.put_debit(self.entries[-1].number + 1, bucket, part)
            self.put_sums(bucket, added(self.sums(bucket), part))

    def put_sums(self, bucket: int, sums: PersonSums) -> None:
        """Replace the sums of a bucket; the next entry confirms them."""
        content = sums.content()
        self.hashes[bucket] = hashlib.sha256(content).hexdigest()
        self.connection.execute(SUMS.delete().where(SUMS.c.bucket == bucket))
        self.connection.execute(SUMS.insert().values(bucket=bucket, hash=self.hashes[bucket], content=content))

    def put_debit(self, number: int, bucket: int, sums: PersonSums) -> None:
        """Write one part of a debit, in place of the one before if there is one."""
        content = sums.content()
        self.connection.execute(DEBITS.delete().where(DEBITS.c.entry == number, DEBITS.c.bucket == bucket))
        row = {"entry": number, "bucket": bucket, "seal": self._seal(number, bucket, content), "content": content}
        self.connection.execute(DEBITS.insert().values(row))

    def delete_debit(self, number: int) -> None:
        """Delete a debit that is reversed."""
        self.connection.execute(DEBITS.delete().where(DEBITS.c.entry == number))

    def append(self, kind: str, body: Mapping[str, Json]) -> Entry:
        """Write the entry of this transaction."""
        state = state_of(self.hashes)
        entry = Entry.after(self.entries[-1], kind, body, mark=self.mark, state=state, names=self.names)
        self.connection.execute(ENTRIES.insert().values(number=entry.number, entry=entry.line()))
        return entry

    def _seal(self, number: int, bucket: int, content: bytes) -> str:
        return self.names.seal(f"debit {number} {bucket}", content)


def state_of(hashes: Mapping[int, str]) -> str:
    """Return one hash of the hashes of all buckets."""
    return hashlib.sha256("".join(f"{bucket} {hashes[bucket]}\n" for bucket in sorted(hashes)).encode()).hexdigest()


def _entry(text: object, place: int) -> Entry:
    try:
        entry = Entry(**json.loads(text))  # type: ignore[arg-type]
        if entry.line() == text and type(entry.number) is int:
            return entry
    except (TypeError, ValueError, RecursionError):
        pass
    raise LedgerError(f"entry {place}", "was changed: it is not as the ledger writes it")
