"""What every part of a ledger stands on: entries that are checked as they are read, and files that come with them."""

import hashlib
import json
import random
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from seepage._python import Self
from seepage._records import Json
from seepage.errors import InputError, LedgerError, SeepageError, UnwrittenError
from seepage.ledger._buckets import BucketSums, bucket_of
from seepage.ledger._entry import FIRST, Entry
from seepage.ledger._log import Log, path_of
from seepage.ledger._names import BYTES, Names
from seepage.ledger._state import State, Stored
from seepage.ledger._store import Store

# How long somebody who came second waits at most, at first and after many times, in seconds.
_FIRST_WAIT, _LONGEST_WAIT = 0.04, 5.0
# How far the clocks of this machine and of the store may be apart, in seconds.
_APART = 600.0

Answer = TypeVar("Answer")


@dataclass(eq=False)
class Books:
    """Entries and files of one ledger, as far as they were read and checked."""

    store: Store
    names: Names
    log: Log
    seen: State = field(default_factory=State, repr=False)
    wait: float = field(default=_FIRST_WAIT, repr=False)

    @classmethod
    def at(cls, store: Store, names: Names) -> "Books":
        """Open the ledger that is in a store."""
        return cls(store, names, Log(store))

    def entries(self) -> list[Entry]:
        """Return all entries. Each is checked once: its seal, and that it follows the one before."""
        entries = self.log.entries()
        for place, reason in broken(entries, self.names, self.seen.count):
            # Read again next time: by then it may have been put right.
            del self.log.known[max(self.seen.count, 1) :]
            raise LedgerError(place, reason)
        self.seen.add(entries)
        return entries

    def state(self) -> State:
        """Return which files count now."""
        self.entries()
        return self.seen

    @property
    def first(self) -> Mapping[str, Json]:
        """What was said when the ledger was made."""
        if not self.seen.count:
            # Its seal is looked at before anything is told by it.
            self.entries()
        return self.log.known[0].body

    @property
    def buckets(self) -> int:
        """Into how many parts people are cut."""
        return int(cast(int, self.first["buckets"]))

    @property
    def most(self) -> dict[str, float]:
        """The largest sums that keep what is promised."""
        return cast(dict[str, float], self.first["limits"])

    def asked(self, question: Callable[[State], Answer]) -> Answer:
        """Return what a question finds in the state as it is now; again, if files were replaced while it was asked."""
        while True:
            state = self.state()
            count = state.count
            try:
                return question(state)
            except FileNotFoundError as missing:
                fault = LedgerError(str(missing), "is missing")
            if self.state().count == count:
                raise fault

    def content(self, stored: Stored) -> bytes:
        """Return what a file says, whose bytes are those that were written."""
        content = self.store.read(stored.path)
        if hashlib.sha256(content).hexdigest() != stored.hash:
            raise LedgerError(stored.path, "was changed after it was committed")
        shown = self.names.shown(content, stored.path)
        if shown is None:
            raise LedgerError(stored.path, "is hidden by another key, or stands in the place of another")
        return shown

    def sums(self, stored: Stored | None) -> BucketSums:
        """Return what is owed in a bucket; nothing if nobody is in it yet."""
        return BucketSums.nobody() if stored is None else BucketSums.read(self.content(stored))

    def found(self, names: NDArray[np.void], files: Mapping[int, Stored]) -> BucketSums:
        """Return what is owed to some people by some files, in the order of the people."""
        bucket = bucket_of(names, self.buckets)
        found: dict[str, NDArray[np.float64]] = {}
        for number in np.unique(bucket).tolist():
            at = np.flatnonzero(bucket == number)
            part = self.sums(files.get(number)).of_people(names[at])
            for name, column in part.columns.items():
                found.setdefault(name, np.zeros(len(names)))[at] = column
        return BucketSums(names, found)

    def gone(self, state: State) -> NDArray[np.void]:
        """Return the names of those who are forgotten."""
        return np.concatenate([BucketSums.nobody().names, *(self.sums(each).names for each in state.forgotten)])

    def who(self, names: NDArray[np.void], state: State) -> NDArray[np.void]:
        """Return as whom people are known: some were found to be one."""
        aliases = self.aliases(state)
        if not len(aliases) or not len(names):
            return names
        at = np.minimum(np.searchsorted(aliases[:, 0], names), len(aliases) - 1)
        return np.where(aliases[at, 0] == names, aliases[at, 1], names)

    def aliases(self, state: State) -> NDArray[np.void]:
        """Return the names that stand for others, in order, each beside the one that it stands for."""
        content = b"" if state.aliases is None else self.content(state.aliases)
        return np.frombuffer(content, dtype=f"V{BYTES}").reshape(-1, 2)

    def draft(self, state: State, names: Names | None = None) -> "Draft":
        """Return an entry to come on top of some state; by a new key if other names are given."""
        last, mark = self.log.known[state.count - 1], f"{state.generation}-{secrets.token_hex(8)}"
        return Draft(self, state, last, mark, names or self.names)


@dataclass(eq=False)
class Draft:
    """An entry to come, and the files that it will name: they are gone if it comes to nothing."""

    books: Books
    state: State
    last: Entry
    mark: str
    """What the names of its files begin with, which nobody else has."""
    names: Names
    written: list[str] = field(default_factory=list)
    counts: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.counts:
            # What went wrong before is what should be told.
            with suppress(SeepageError):
                self.books.store.delete(self.written)

    def keep(self, path: str, content: bytes) -> Stored:
        """Write a file that counts once the entry is committed, and that only whoever has the key can read."""
        hidden = self.names.hidden(content, path)
        self.written.append(path)
        if not self.books.store.create(path, hidden):
            raise LedgerError(path, "was there before it was written")
        if len(self.written) == 1:
            _check_clocks(self.books.store, path)
        return Stored(path, hashlib.sha256(hidden).hexdigest())

    def keep_sums(self, folder: str, parts: Iterable[tuple[int, BucketSums]]) -> dict[int, Stored]:
        """Write what is owed in some buckets."""
        return {bucket: self.keep(f"{folder}/{bucket}.bin", sums.content()) for bucket, sums in parts}

    def commit(self, kind: str, body: Mapping[str, Json], replaced: Iterable[Stored] = ()) -> Entry | None:
        """Commit the entry, whose files replace others, which go; None if another came first."""
        books, entry = self.books, Entry.after(self.last, kind, body, self.names)
        # From here on its files may count, whatever goes wrong on the way.
        self.counts = True
        try:
            self.counts = books.log.append(entry)
        except UnwrittenError:
            self.counts = books.log.has(entry)
            raise
        if not self.counts:
            # All who lost would read, write and lose together again: they come back one by one.
            time.sleep(random.uniform(0.0, books.wait))
            books.wait = min(2 * books.wait, _LONGEST_WAIT)
            return None
        books.wait = _FIRST_WAIT
        # What is committed stays so; an audit lists what is left over.
        with suppress(SeepageError):
            books.store.delete([each.path for each in replaced])
        return entry


def broken(entries: list[Entry], names: Names, start: int = 0) -> Iterable[tuple[str, str]]:
    """Yield which entries are not sealed, or do not follow the one before; those before some place are trusted."""
    previous = entries[start - 1].seal if start else FIRST
    age = sum(entry.kind == REKEYED for entry in entries[:start])
    for place, entry in enumerate(entries[start:], start):
        age += entry.kind == REKEYED
        if entry.number != place:
            yield path_of(place), f"was changed: entry {entry.number} stands in its place"
            return
        if age == len(names.keys) and has_followed(entry, names):
            raise InputError(f"The ledger has another key since entry {place} ({entry.when}). Open it with that one.")
        if age >= len(names.keys) or not entry.is_sealed(names, age):
            yield path_of(place), "was changed: its seal is broken"
        elif entry.previous != previous:
            yield path_of(place), "does not follow the entry before it"
        previous = entry.seal


REKEYED = "rekeyed"
"""The kind of the entry that changes the key, which is sealed with the new one."""


def has_followed(entry: Entry, names: Names) -> bool:
    """Return whether whoever changed the key had the one before."""
    told = names.seal(f"{REKEYED} {entry.number} {entry.previous} {entry.body.get('keys')}")
    return entry.kind == REKEYED and entry.body.get("by") == told


def ring(entries: list[Entry], key: bytes) -> Names | None:
    """Return the names of people by a key, and by those before it; None if it is not the key of these entries."""
    changed = [entry for entry in entries if entry.kind == REKEYED]
    names = Names(key)
    if not changed:
        return names if entries[0].is_sealed(names) else None
    if has_followed(changed[-1], names):
        raise InputError(f"The ledger has another key since entry {changed[-1].number}. Open it with that one.")
    try:
        older = names.shown(bytes.fromhex(str(changed[-1].body["keys"])), changed[-1].previous)
    except (KeyError, ValueError):
        return None
    return None if older is None else Names(key, tuple(bytes.fromhex(each) for each in json.loads(older)))


def _check_clocks(store: Store, path: str) -> None:
    """Refuse to date an entry by a clock that is wrong."""
    apart = time.time() - store.time(path)
    if abs(apart) > _APART:
        which = "ahead of" if apart > 0 else "behind"
        raise InputError(
            f"The clock of this machine is {abs(apart) / 60:.0f} minutes {which} that of the store ({store.place}): "
            "entries would have wrong dates. Set it right, and start again. Nothing was posted."
        )
