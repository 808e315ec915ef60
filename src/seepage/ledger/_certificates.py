"""The certificates that releases left with."""

import json

from seepage._records import Json
from seepage.errors import PolicyError
from seepage.ledger._books import Books
from seepage.ledger._entry import Entry
from seepage.ledger._state import State


def released(books: Books, debit: Entry, certificate: str) -> Entry:
    """Note that a release which was paid for has left."""

    def tried(state: State) -> Entry | None:
        if debit.number not in state.open:
            raise PolicyError(
                f"Debit {debit.number} has paid for one release, and that has left already. What was drawn must "
                "not be used: publish again, which is another release and is paid for."
            )
        with books.draft(state) as draft:
            kept = draft.keep(f"certificates/{draft.mark}.bin", certificate.encode()).written()
            body: dict[str, Json] = {"request": str(debit.body["request"]), "debit": debit.number, "certificate": kept}
            return draft.commit("release", body)

    while (entry := books.asked(tried)) is None:
        continue
    return entry


def certificate_of(books: Books, debit: Entry) -> dict[str, Json] | None:
    """Return what the certificate says that a release left with; None if it has not left."""

    def found(state: State) -> dict[str, Json] | None:
        for entry in books.log.known[debit.number : state.count]:
            if entry.kind == "release" and entry.body["debit"] == debit.number:
                return read(books.content(state.certificates[entry.number]))
        return None

    return books.asked(found)


def read(content: bytes) -> dict[str, Json]:
    """Return what a certificate says, nothing if it is none."""
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
