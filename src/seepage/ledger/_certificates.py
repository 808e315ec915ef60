"""The certificates that releases left with: what they say, and who signed them."""

import json
from collections.abc import Mapping
from typing import cast

from seepage._records import Json
from seepage._signing import called, is_signed

_SIGNATURE = frozenset({"algorithm", "public_key", "value"})


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
