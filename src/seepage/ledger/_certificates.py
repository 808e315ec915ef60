"""The certificates that releases left with: that they have left, what they say, and who signed them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from seepage._records import Json
from seepage._signing import called, is_signed
from seepage.errors import InputError, PolicyError
from seepage.ledger._books import Books
from seepage.ledger._entry import Entry
from seepage.ledger._state import State

_SIGNATURE = frozenset({"algorithm", "public_key", "value"})


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


def signed(books: Books, certificate: str | Path) -> Entry:
    """Keep a signed certificate in place of another that says the same."""
    name = str(certificate)
    try:
        content = Path(certificate).read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {name!r}.") from None
    said = read(content)
    if said.get("signature") is None:
        raise InputError(f"{name!r} is not signed. Sign it as it is written: publication.write(sign=)")
    if (reason := signature_fault(said, None)) is not None:
        raise InputError(f"{name!r} {reason}.")

    def tried(state: State) -> Entry | None:
        # Whoever signs does so soon after a release.
        for number, stored in reversed(state.certificates.items()):
            if is_same(read(books.content(stored)), said):
                with books.draft(state) as draft:
                    kept = draft.keep(f"certificates/{draft.mark}.bin", content).written()
                    return draft.commit("signed", {"release": number, "certificate": kept}, [stored])
        raise InputError(f"{name!r} is not the certificate of any release that this ledger knows.")

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


def is_same(one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    """Return whether two certificates say the same, but for the file that holds the model and the signature."""
    return bool(one) and _said(one) == _said(other)


def _said(certificate: Mapping[str, Json]) -> dict[str, Json]:
    seal = certificate.get("seal")
    kept = {name: value for name, value in certificate.items() if name != "signature"}
    if isinstance(seal, dict):
        kept["seal"] = {name: value for name, value in seal.items() if name != "file"}
    return kept


def signature_fault(certificate: Mapping[str, Json], signer: str | None) -> str | None:
    """Return what is wrong with a signature, if anything: it is broken, or not by the owner of a public key."""
    signature = certificate.get("signature")
    if signature is None:
        return None if signer is None else "is not signed"
    if not isinstance(signature, dict) or set(signature) != _SIGNATURE:
        return "holds something else in place of a signature"
    entries = {name: value for name, value in certificate.items() if name != "signature"}
    named = {name: str(value) for name, value in signature.items()}
    if not is_signed(cast(Mapping[str, object], entries), named):
        return "was edited after it was signed: the signature does not belong to what it says"
    if signer is not None and named["public_key"] != signer:
        return f"is signed with another key than the one given: {called(named['public_key'])}"
    return None
