"""The log of a ledger: entries that are numbered, each a file that only the first who comes can write."""

import re
from dataclasses import dataclass, field

from seepage.errors import LedgerError
from seepage.execution.storage import at_once
from seepage.ledger._entry import Entry
from seepage.ledger._store import Store

_FOLDER = "entries"
_NAME = re.compile(rf"{_FOLDER}/([0-9]{{12}})\.json")


@dataclass(eq=False)
class Log:
    """Entries in their order. What was read is kept; only the last of it is read again, and what is new."""

    store: Store
    known: list[Entry] = field(default_factory=list, repr=False)

    def entries(self) -> list[Entry]:
        """Return all entries that are committed by now, on top of those that were read before."""
        # The last one is read again: where it is gone or another, what was added up since is not what is there.
        start = max(len(self.known) - 1, 0)
        listed = {number_of(path) for path in self.store.names(_FOLDER, _after(start))}
        newest = max((number for number in listed if number is not None), default=-1)
        # A listing may have missed one that was written meanwhile; asked for by its name, it is there. The first that
        # is not is the last that is asked for: somebody may have put one behind a gap of any length.
        gaps = (number for number in range(start, newest) if number not in listed and self._entry(number) is None)
        found = at_once(self._entry, range(start, next(gaps, newest) + 1))
        if self.known and [each.seal for each in found[:1] if each] != [self.known[-1].seal]:
            raise LedgerError(
                path_of(self.known[-1].number),
                "is gone or another, and was read before: an older copy was put back, or somebody rewrote it",
            )
        for number, entry in enumerate(found, start):
            if entry is None:
                raise LedgerError(path_of(number), f"is missing, and entry {newest} is there")
        self.known += [entry for entry in found[1 if self.known else 0 :] if entry]
        return self.known

    def append(self, entry: Entry) -> bool:
        """Commit an entry; return False, and do nothing, if another came first."""
        if self.store.create(path_of(entry.number), entry.line().encode()):
            if len(self.known) == entry.number:
                self.known.append(entry)
            return True
        self.entries()
        return False

    def has(self, entry: Entry) -> bool:
        """Return whether an entry is there, whatever was said as it was written."""
        try:
            return self.store.read(path_of(entry.number)) == entry.line().encode()
        except FileNotFoundError:
            return False

    def _entry(self, number: int) -> Entry | None:
        """Return an entry; None if it is not there."""
        path = path_of(number)
        try:
            content = self.store.read(path)
        except FileNotFoundError:
            return None
        try:
            entry = Entry.read(content.decode())
            written = entry.line().encode()
        except (ValueError, RecursionError) as error:
            raise LedgerError(path, f"was changed: it cannot be read ({error})") from error
        if written != content:
            raise LedgerError(path, "was changed: it is not as a ledger writes it")
        return entry


def path_of(number: int) -> str:
    """Return the file of an entry."""
    return f"{_FOLDER}/{number:012}.json"


def number_of(path: str) -> int | None:
    """Return of which entry a file is, if it is that of one."""
    found = _NAME.fullmatch(path)
    return None if found is None else int(found[1])


def _after(number: int) -> str:
    """Return what stands right before the file of an entry, in order."""
    return path_of(number - 1) if number else f"{_FOLDER}/"
