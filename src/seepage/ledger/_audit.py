"""Does everything in a ledger fit together? Seals, the chain, every byte of every file, and every sum.

Others may post meanwhile. What they replace is gone under the hands of whoever reads it, so that whatever is missing is
looked for in the newest state before it is called so.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from seepage.errors import LedgerError
from seepage.ledger._books import Books, broken
from seepage.ledger._entry import Entry, Head
from seepage.ledger._erasure import orphans
from seepage.ledger._posting import total_of
from seepage.ledger._state import State, Stored, is_ours


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


def audited(books: Books, *, seen: Entry, head: Head | None) -> Iterator[Fault]:
    """Yield what does not fit in books that nothing was read of yet."""
    try:
        entries = books.log.entries()
    except LedgerError as error:
        yield Fault(error.place, error.reason)
        return
    faults = [Fault(place, reason) for place, reason in broken(entries, books.names)]
    for kept, whose in ((Head(seen.number, seen.seal), "that was read before"), (head, "that was kept elsewhere")):
        if kept is not None and not kept.is_in(entries):
            faults.append(Fault("entries", f"hold no entry {kept.number} with the seal {whose}"))
    yield from faults
    if faults:
        # Which files count is not known then.
        return
    for stored in books.state().files().values():
        yield from _of_file(books, stored)
    for bucket in range(books.buckets):
        yield from _of_balance(books, bucket)
    for path in orphans(books):
        if not is_ours(path):
            yield Fault(path, "was written by no ledger")


def _of_file(books: Books, stored: Stored) -> Iterator[Fault]:
    """Yield whether a file is missing or was changed."""
    try:
        books.content(stored)
    except FileNotFoundError:
        if stored.path in books.state().files():
            yield Fault(stored.path, "is missing")
    except LedgerError as error:
        yield Fault(error.place, error.reason)


def _of_balance(books: Books, bucket: int) -> Iterator[Fault]:
    """Yield whether a balance is not the sum of its debits."""

    def differs(state: State) -> bool:
        found, total = books.sums(state.balances.get(bucket)), total_of(books, state.debits, bucket)
        same = len(found) == len(total) and bool((found.names == total.names).all())
        return not same or any(
            not np.allclose(found.column(name), column, rtol=1e-9, atol=0.0) for name, column in total.columns.items()
        )

    try:
        if books.asked(differs):
            yield Fault(f"bucket {bucket}", "the balances are not the sums of the debits")
    except Exception as error:  # the file was named above; here its reader gave up
        why = f"{error.place} {error.reason}" if isinstance(error, LedgerError) else error
        yield Fault(f"bucket {bucket}", f"cannot be added up: {why}")
