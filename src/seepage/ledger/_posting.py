"""A release is paid for: checked on top of what others spent, and committed before anything of it leaves."""

import secrets
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from seepage._records import Json
from seepage.errors import PolicyError
from seepage.leakage import Leakage, refuse_averages
from seepage.ledger._books import Books
from seepage.ledger._buckets import BucketSums, Spool
from seepage.ledger._charges import Looks, Units, check_alike, check_named
from seepage.ledger._entry import Entry
from seepage.ledger._preview import beyond, previewed
from seepage.ledger._spooled import charged, spooled
from seepage.ledger._state import State, Stored, listed

# What the same release comes to when it is measured again.
_SAME = 1e-6


def checked(
    books: Books,
    leak: Leakage,
    units: Mapping[str, str | float] | None,
    without: Sequence[str],
    *,
    promised: Sequence[str],
    counted: Mapping[str, str],
) -> Units:
    """Return the units of a release that is about what the ledger is about, in what seem to be the same ones."""
    check_named(leak, promised, without)
    found = Units.of(units, leak.information.attribute_names, counted)
    now = Looks.of(leak, found)
    earlier = [Looks.shown(hidden, books.names).spreads for hidden in books.state().looks]
    check_alike(now.spreads, earlier, found)
    return found


def posted(books: Books, leak: Leakage, units: Units, *, title: str, request: str | None) -> Entry:
    """Commit what a release costs everybody; it is checked again whenever somebody came in between."""
    refuse_averages(leak, "A ledger")
    information = leak.information
    with spooled(books, leak, units) as spool:
        body: dict[str, Json] = {
            "request": secrets.token_hex(8) if request is None else request,
            "title": title,
            "people": sum(len(sums) for _, sums in spool.buckets()),
            "attributes": list(information.attribute_names),
            "assurance": information.assurance,
            "units": dict(units.given),
            "looks": Looks.of(leak, units).hidden(books.names),
        }
        while True:
            entry, fits = books.asked(lambda state: _tried(books, body, spool, state))
            if entry is not None:
                return entry
            preview = None if fits else books.asked(lambda state: previewed(books, leak, units, spool, state))
            if preview is not None and not preview.fits:
                reasons = ["This release would break a promise of the ledger:", *preview.sentences()]
                raise PolicyError("\n".join(reasons), preview.factor)


def _tried(books: Books, body: Mapping[str, Json], spool: Spool, state: State) -> tuple[Entry | None, bool]:
    """Commit a debit on top of some state; no entry if it does not fit there, or if another came first."""
    asked = [number for number, name in state.open.items() if name == body["request"]]
    for number in asked:
        if _covers(books, state.debits[number], charged(books, spool, state)):
            return books.log.known[number], True
    gone = books.gone(state)
    if len(gone) and any(np.isin(charge.names, gone).any() for _, charge in charged(books, spool, state)):
        # Found out before anything of it is written: who is forgotten is in no file, whenever somebody is stopped.
        return None, False
    with books.draft(state) as draft:
        debits, balances = dict[int, Stored](), dict[int, Stored]()
        for bucket, charge in charged(books, spool, state):
            spent = books.sums(state.balances.get(bucket))
            # Nobody else in the bucket is asked: two who were found to be one may owe more than was promised by now.
            if any(over.any() for over in beyond(books, charge, spent.of_people(charge.names)).values()):
                return None, False
            total = spent.plus(charge)
            debits |= draft.keep_sums(f"debits/{draft.mark}", [(bucket, charge)])
            balances |= draft.keep_sums(f"balances/{draft.mark}", [(bucket, total)])
        replaced = [state.balances[each] for each in debits if each in state.balances]
        entry = {**body, "debits": listed(debits), "balances": listed(balances)}
        return draft.commit("debit", entry, replaced), True


def _covers(books: Books, paid: Mapping[int, Stored], charged: Iterator[tuple[int, BucketSums]]) -> bool:
    """Return whether a debit is about the same people, and has paid for each at least what others would."""
    buckets = set()
    for bucket, new in charged:
        buckets.add(bucket)
        old = books.sums(paid.get(bucket))
        if len(old) != len(new) or (old.names != new.names).any():
            return False
        if any((column > old.column(name) * (1 + _SAME)).any() for name, column in new.columns.items()):
            return False
    # Of people who were found to be one, a bucket may have lost its last.
    return all(bucket in buckets or not len(books.sums(stored)) for bucket, stored in paid.items())


def total_of(books: Books, debits: Mapping[int, Mapping[int, Stored]], bucket: int) -> BucketSums:
    """Return what all debits together come to in a bucket."""
    total = BucketSums.nobody()
    for debit in debits.values():
        if bucket in debit:
            total = total.plus(books.sums(debit[bucket]))
    return total
