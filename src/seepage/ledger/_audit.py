"""Does everything in a ledger fit together? Seals, the chain, every byte of every file, and every sum."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.fs

from seepage.errors import LedgerError
from seepage.ledger._buckets import BucketSums, Folder, Stored
from seepage.ledger._certificates import read, signature_fault
from seepage.ledger._entry import FIRST, Entry
from seepage.ledger._log import Log
from seepage.ledger._names import Names
from seepage.ledger._state import State


@dataclass(frozen=True)
class Fault:
    """Something that does not fit.

    Attributes
    ----------
    place : str
        The file or the entry.
    reason : str
        What is wrong with it.
    """

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def audited(
    log: Log, folder: Folder, names: Names, buckets: int, *, seen: Entry, head: str | None, signer: str | None
) -> Iterator[Fault]:
    """Yield what does not fit."""
    try:
        entries = list(log.entries())
    except Exception as error:  # whatever a damaged log makes its reader say
        if isinstance(error, LedgerError):
            yield Fault(error.place, error.reason)
        else:
            yield Fault("the log of releases", f"cannot be read: {error}")
        yield from _of_log(log, folder, names, None)
        return
    faults = list(of_chain(entries, names))
    if seen.seal not in {entry.seal for entry in entries}:
        faults.append(Fault("the log of releases", f"entry {seen.number}, which was read from it before, is not in it"))
    if head is not None and head not in {entry.seal for entry in entries}:
        faults.append(Fault("the log of releases", "the entry with the seal that was kept elsewhere is not in it"))
    yield from faults
    yield from _of_log(log, folder, names, len(entries))
    if faults:
        # Which files count is not known then.
        return
    state = State.after(entries)
    yield from _of_files(state, folder, signer)
    for bucket in range(buckets):
        yield from _of_balance(state, folder, bucket)


def of_chain(entries: list[Entry], names: Names, start: int = 0) -> Iterator[Fault]:
    """Yield which entries are not sealed, or do not follow the one before; those before some place are trusted."""
    previous = entries[start - 1].seal if start else FIRST
    for place, entry in enumerate(entries[start:], start):
        if entry.number != place:
            yield Fault(f"entry {place}", f"is missing: entry {entry.number} stands in its place")
            return
        if not entry.is_sealed(names):
            yield Fault(f"entry {place}", "was changed: its seal is broken")
        if entry.previous != previous:
            yield Fault(f"entry {place}", "does not follow the entry before it")
        previous = entry.seal


def _of_log(log: Log, folder: Folder, names: Names, count: int | None) -> Iterator[Fault]:
    """Yield what does not fit among the log's own files, whose hashes were noted when they were written."""
    noted = sorted(
        info.path.removeprefix(f"{folder.root}/")
        for info in folder.filesystem.get_file_info(pa.fs.FileSelector(f"{folder.root}/heads", allow_not_found=True))
    )
    numbers = [int(path.rpartition("/")[2].partition(".")[0]) for path in noted]
    if numbers and count is not None and numbers[-1] >= count:
        yield Fault("the log of releases", f"has {count} entries, and entry {numbers[-1]} was committed")
    for number, path in zip(numbers, noted, strict=True):
        try:
            note = json.loads(folder.read_bytes(path))
            text = str(note["note"])
            if set(note) != {"note", "seal"} or names.seal(text) != note["seal"]:
                raise ValueError("its seal is broken")
            if json.dumps(note) != folder.read_bytes(path).decode():
                raise ValueError("its text was changed")
            files = json.loads(text)["files"]
        except (ValueError, KeyError, TypeError) as error:
            yield Fault(path, f"was changed: {error}")
            continue
        if number == numbers[-1] or not log.newest_only():
            for name, digits in files.items():
                yield from _of_file(folder, Stored(name, digits))


def _of_files(state: State, folder: Folder, signer: str | None) -> Iterator[Fault]:
    files = [one for debit in state.debits.values() for one in debit.values()]
    for each in [*files, *state.balances.values(), *state.forgotten]:
        yield from _of_file(folder, each)
    for each in state.certificates.values():
        yield from _of_file(folder, each, lambda content: signature_fault(read(content), signer))


def _of_file(folder: Folder, stored: Stored, wrong: Callable[[bytes], str | None] = lambda _: None) -> Iterator[Fault]:
    """Yield whether a file is missing, was changed, or is wrong in what it says."""
    if not folder.exists(stored.path):
        yield Fault(stored.path, "is missing")
        return
    content = folder.read_bytes(stored.path)
    if hashlib.sha256(content).hexdigest() != stored.hash:
        yield Fault(stored.path, "was changed after it was committed")
    elif (reason := wrong(content)) is not None:
        yield Fault(stored.path, reason)


def _of_balance(state: State, folder: Folder, bucket: int) -> Iterator[Fault]:
    """Yield whether a balance is not the sum of its debits."""
    try:
        found = folder.read(state.balances.get(bucket))
        total = BucketSums(found.names[:0], {})
        for debit in state.debits.values():
            if bucket in debit:
                total = total.plus(folder.read(debit[bucket]))
    except Exception as error:  # the file was named above; here its reader gave up
        why = f"{error.place} {error.reason}" if isinstance(error, LedgerError) else error
        yield Fault(f"bucket {bucket}", f"cannot be added up: {why}")
        return
    same = len(found) == len(total) and bool((found.names == total.names).all())
    if not same or any(
        not np.allclose(found.columns.get(name, 0.0), column, rtol=1e-9, atol=0.0)
        for name, column in total.columns.items()
    ):
        yield Fault(f"bucket {bucket}", "the balances are not the sums of the debits")
