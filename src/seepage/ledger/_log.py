"""Logs that entries are appended to, one after the other, by whoever comes first.

With their defaults Delta and Iceberg let two writers who read the same snapshot both append: each has seen that there
is budget left, and together they spend it twice. A log here takes an entry only if it is the very next one.
"""

import hashlib
import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from seepage.errors import InputError, LedgerError, MissingExtraError, StorageError
from seepage.execution.storage import at_once
from seepage.ledger._entry import Entry

if TYPE_CHECKING:
    from deltalake import DeltaTable

_PATIENCE = 60.0
# How many entries are read together once there is more than one.
_AT_ONCE = 64


@dataclass(eq=False)
class Log(ABC):
    """Entries in their order. What was read is kept; only the last of it is read again, and what is new."""

    NAME: ClassVar[str]
    """What it is called in the ledger's folder."""
    place: str
    """The ledger's folder or URI."""
    options: Mapping[str, str] = field(repr=False)
    """How to reach it, beside what the environment says."""
    filesystem: pa.fs.FileSystem
    root: str
    """The same place, as a path on the file system."""
    known: list[Entry] = field(default_factory=list, repr=False)

    def entries(self) -> list[Entry]:
        """Return all entries that are committed by now, on top of those that were read before."""
        # The last one is read again: where it is gone or another, what was added up since is not what is there.
        found = self._after(max(len(self.known) - 1, 0))
        if self.known and [each.seal for each in found[:1]] != [self.known[-1].seal]:
            raise LedgerError(
                self.NAME,
                f"no longer holds entry {self.known[-1].number}, which was read from it before: an older copy was put "
                "back, or somebody rewrote it",
            )
        self.known += found[1:] if self.known else found
        return self.known

    def first(self) -> Entry:
        """Return the entry that made the ledger."""
        if not (found := self._after(0, most=1)):
            raise LedgerError(self.NAME, "has lost its first entry")
        return found[0]

    def append(self, entry: Entry) -> bool:
        """Commit an entry; return False, and do nothing, if another came first."""
        if self._append(entry):
            if len(self.known) == entry.number:
                self.known.append(entry)
            return True
        if len(self.entries()) <= entry.number:
            # Nobody came first, and it would be refused for ever.
            raise LedgerError(
                self.NAME,
                f"takes no entry {entry.number}, although it ends before: somebody took entries out of it, or added "
                "what is none",
            )
        return False

    @abstractmethod
    def create(self, first: Entry) -> None:
        """Make the log with its first entry."""

    @abstractmethod
    def _append(self, entry: Entry) -> bool:
        """Commit an entry; return False, and do nothing, if it is not the very next one."""

    @abstractmethod
    def _after(self, count: int, most: int | None = None) -> list[Entry]:
        """Return the entries after so many, all or the first of them."""

    @abstractmethod
    def files(self, number: int) -> dict[str, str]:
        """Return the hash of each file that the log wrote for an entry, as far as they are still as they were."""

    @abstractmethod
    def newest_only(self) -> bool:
        """Return whether the files of an entry change with the next one."""


class DeltaLog(Log):
    """A Delta table of entries: no server, any object store, readable by Spark and DuckDB."""

    NAME = "releases"
    held: "DeltaTable | None" = None

    def create(self, first: Entry) -> None:
        deltalake = _deltalake()
        deltalake.write_deltalake(
            f"{self.place}/{self.NAME}",
            _row(first),
            mode="error",
            storage_options=dict(self.options) or None,
            # The log is the ledger: nothing of it expires.
            configuration={"delta.logRetentionDuration": "interval 36500 days", "delta.appendOnly": "true"},
            post_commithook_properties=self._hooks(),
        )

    def _append(self, entry: Entry) -> bool:
        deltalake = _deltalake()
        # Without retries a commit holds only if its version is the one after what was read.
        once = deltalake.CommitProperties(max_commit_retries=0)
        try:
            table = self._table()
            if table.version() != entry.number - 1:
                return False
            deltalake.write_deltalake(
                table, _row(entry), mode="append", commit_properties=once, post_commithook_properties=self._hooks()
            )
        except deltalake.exceptions.DeltaError as error:
            # Whether another came first, or the answer was lost on its way, stands in the log.
            if len(self.entries()) <= entry.number:
                raise StorageError(f"{self.place}/{self.NAME}", 1, 0.0, str(error)) from error
            return self.known[entry.number].seal == entry.seal
        return True

    def _after(self, count: int, most: int | None = None) -> list[Entry]:
        # Commit by commit, and not as a table: whoever follows a long ledger reads what is new, not all of it.
        found: list[Entry] = []
        width = most or 2
        while True:
            some = at_once(self._entry, range(count + len(found), count + len(found) + width))
            known = some[: some.index(None)] if None in some else some
            found += [entry for entry in known if entry is not None]
            if len(known) < len(some) or len(found) == most:
                return found
            width = _AT_ONCE

    def _entry(self, number: int) -> Entry | None:
        """Return the entry of a commit; None if there is no such commit yet."""
        try:
            commit = self._bytes(self._commit(number))
        except FileNotFoundError:
            return None
        with _readable(self._commit(number)):
            added, removed = _added(commit), _named(commit, "remove")
            ran = [str(action.get("operation")) for action in _named(commit, "commitInfo")]
        if len(added) != 1 or removed:
            raise LedgerError(
                self._commit(number),
                f"is none of the ledger's: somebody else rewrote its table ({', '.join(ran) or 'nothing says how'})",
                "Let nobody else write to that table: take it out of whatever optimizes, restores or cleans up tables. "
                f"Entries are untouched until their files are vacuumed: move every file in {self.NAME}/_delta_log "
                f"whose number is {number} or more out of the ledger; where files of entries are gone, put them back.",
            )
        file = f"{self.NAME}/{added[0]}"
        try:
            content = pa.BufferReader(self._bytes(file))
        except FileNotFoundError:
            raise LedgerError(file, "is missing") from None
        with _readable(file):
            return Entry.read(pq.read_table(content, columns=["entry"])[0][0].as_py())

    def files(self, number: int) -> dict[str, str]:
        commit = self._commit(number)
        content = self._bytes(commit)
        found = {commit: hashlib.sha256(content).hexdigest()}
        found |= {f"{self.NAME}/{path}": self._hash(f"{self.NAME}/{path}") for path in _added(content)}
        checkpoint = f"{self.NAME}/_delta_log/{number:020}.checkpoint.parquet"
        if self.filesystem.get_file_info(f"{self.root}/{checkpoint}").type == pa.fs.FileType.File:
            found[checkpoint] = self._hash(checkpoint)
        return found

    def newest_only(self) -> bool:
        return False

    def _table(self) -> "DeltaTable":
        """Return the table as it is now."""
        if self.held is None:
            place = f"{self.place}/{self.NAME}"
            self.held = _deltalake().DeltaTable(place, storage_options=dict(self.options) or None)
        else:
            self.held.update_incremental()
        return self.held

    def _commit(self, number: int) -> str:
        return f"{self.NAME}/_delta_log/{number:020}.json"

    def _hooks(self) -> object:
        return _deltalake().PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)

    def _bytes(self, name: str) -> bytes:
        with self.filesystem.open_input_stream(f"{self.root}/{name}") as file:
            return bytes(file.read())

    def _hash(self, name: str) -> str:
        return hashlib.sha256(self._bytes(name)).hexdigest()


class SqliteLog(Log):
    """A table of SQLite, for one machine."""

    NAME = "releases.sqlite"

    def create(self, first: Entry) -> None:
        with closing(self._open()) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("CREATE TABLE releases (number INTEGER PRIMARY KEY, entry TEXT NOT NULL)")
            database.execute("INSERT INTO releases VALUES (?, ?)", (first.number, first.line()))
            database.execute("COMMIT")

    def _append(self, entry: Entry) -> bool:
        with closing(self._open()) as database:
            database.execute("BEGIN IMMEDIATE")
            (count,) = database.execute("SELECT COUNT(*) FROM releases").fetchone()
            if count == entry.number:
                database.execute("INSERT INTO releases VALUES (?, ?)", (entry.number, entry.line()))
            database.execute("COMMIT")
            return bool(count == entry.number)

    def _after(self, count: int, most: int | None = None) -> list[Entry]:
        query = "SELECT entry FROM releases WHERE number >= ? ORDER BY number LIMIT ?"
        with _readable(self.NAME), closing(self._open()) as database:
            return [Entry.read(text) for (text,) in database.execute(query, (count, -1 if most is None else most))]

    def files(self, number: int) -> dict[str, str]:
        with closing(self._open()) as database:
            # Nobody writes while the file is read.
            database.execute("BEGIN IMMEDIATE")
            (last,) = database.execute("SELECT MAX(number) FROM releases").fetchone()
            content = (Path(self.root) / self.NAME).read_bytes()
            database.execute("ROLLBACK")
        return {self.NAME: hashlib.sha256(content).hexdigest()} if last == number else {}

    def newest_only(self) -> bool:
        return True

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(Path(self.root) / self.NAME, timeout=_PATIENCE, isolation_level=None)


@contextmanager
def _readable(file: str) -> Iterator[None]:
    """Say of a file whose bytes are there which one it is that nobody can make sense of."""
    try:
        yield
    except sqlite3.OperationalError:
        # Locked for too long, or out of reach: nothing is known to be wrong with it.
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OSError, sqlite3.DatabaseError) as error:
        raise LedgerError(file, f"was changed: it cannot be read ({error})") from error


def _added(commit: bytes) -> list[str]:
    """Return the files that a commit adds."""
    return [unquote(action["path"]) for action in _named(commit, "add")]


def _named(commit: bytes, name: str) -> list[dict[str, str]]:
    """Return the actions of a commit that have some name."""
    actions = [json.loads(line) for line in commit.decode().splitlines()]
    return [action[name] for action in actions if name in action]


def _row(entry: Entry) -> pa.Table:
    return pa.table({"number": pa.array([entry.number], pa.int64()), "entry": [entry.line()]})


def _deltalake() -> ModuleType:
    try:
        import deltalake
        import deltalake.exceptions
    except ImportError:
        raise MissingExtraError(
            'A ledger is a Delta table, which deltalake writes. Install it with: pip install "seepage[ledger]"; or, '
            'for one machine, create the ledger with store="sqlite".'
        ) from None
    return deltalake


def log_at(place: str, options: Mapping[str, str], filesystem: pa.fs.FileSystem, root: str) -> Log:
    """Return the log of the ledger that is at some place."""
    for kind, file in ((SqliteLog, SqliteLog.NAME), (DeltaLog, f"{DeltaLog.NAME}/_delta_log")):
        if filesystem.get_file_info(f"{root}/{file}").type != pa.fs.FileType.NotFound:
            return kind(place, options, filesystem, root)
    raise InputError(
        f"There is no ledger at {place!r}. Make one with seepage.ledger.Ledger.create({place!r}, key=..., "
        "error_floor=..., units=...)."
    )
