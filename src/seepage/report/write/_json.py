"""The report for a machine, and back."""

import json

from seepage._records import from_json, to_json
from seepage.errors import InputError
from seepage.report._document import SCHEMA, Document


def to_text(document: Document) -> str:
    """Return a document as JSON."""
    document.check_leaving()
    found = to_json(document)
    assert isinstance(found, dict)
    return json.dumps({"schema": SCHEMA, **found}, indent=2, allow_nan=False)


def from_text(text: str | bytes, source: str) -> Document:
    """Return a document from JSON, whole and of the right types; `source` is where it comes from, for errors."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{source!r} is not JSON, so it is no report.") from None
    schema = found.pop("schema", None) if isinstance(found, dict) else None
    if schema != SCHEMA:
        raise InputError(f"{source!r} has the schema {schema!r}; this version of seepage reads {SCHEMA!r}.")
    try:
        return from_json(Document, found)
    except InputError as reason:
        raise InputError(f"{source!r} is no report: {reason}") from None
