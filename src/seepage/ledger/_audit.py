"""The audit of a ledger: seals, the chain, and every sum, from the database alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seepage.errors import LedgerError, SeepageError
from seepage.ledger._sums import BUCKETS

if TYPE_CHECKING:
    from seepage.ledger._books import Books, View


@dataclass(frozen=True)
class Fault:
    """Something in a ledger that is not as it was written.

    Attributes
    ----------
    place : str
        The entry, or the part of a table.
    reason : str
        What is wrong with it.
    """

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def audited(books: "Books", heads: Sequence[str]) -> tuple[Fault, ...]:
    """Return what does not fit in a ledger of which nothing was read yet."""
    try:
        return books.ask(lambda view: tuple(_faults(view, heads)))
    except SeepageError as error:
        return (Fault(getattr(error, "place", "entry 0"), getattr(error, "reason", str(error))),)


def _faults(view: "View", heads: Sequence[str]) -> Iterator[Fault]:
    for head in heads:
        if head not in {entry.head for entry in view.entries}:
            yield Fault("entries", f"hold no entry with the head {head}, which was read before or written down")
    numbers = {entry.number for entry in view.debits}
    for number, bucket in view.places():
        if number not in numbers or bucket not in range(BUCKETS):
            yield Fault(f"debit {number}, bucket {bucket}", "belongs to no debit that counts")
    for bucket in sorted({*range(BUCKETS), *view.hashes}):
        try:
            if not _is_sum(view, bucket):
                yield Fault(f"bucket {bucket}", "its sums are not those of the debits")
        except LedgerError as error:
            yield Fault(error.place, error.reason)


def _is_sum(view: "View", bucket: int) -> bool:
    sums, total = view.sums(bucket), view.total(bucket)
    if len(sums) != len(total) or not (sums.names == total.names).all():
        return False
    columns = {*sums.columns, *total.columns}
    return all(np.allclose(sums.column(name), total.column(name), rtol=1e-9, atol=0.0) for name in columns)
