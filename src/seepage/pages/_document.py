"""A document: sections of sentences, tables and terms, from which text, pages and JSON are written."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from seepage._records import from_json, to_json
from seepage.errors import InputError

SCHEMA = "urn:seepage:document:1"
Mark = Literal["", "met", "open", "missed", "none"]


@dataclass(frozen=True)
class Item:
    """A cell of a table: its text, the number in the text, and its verdict."""

    text: str
    value: float | None = None
    mark: Mark = ""


@dataclass(frozen=True)
class Grid:
    """A table; the first cell of a row names the row."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Item, ...], ...]

    @classmethod
    def of(cls, caption: str, heads: Sequence[str], rows: Iterable[Iterable[object]]) -> "Grid":
        """Make a table of texts and cells."""
        cells = (tuple(each if isinstance(each, Item) else Item(str(each)) for each in row) for row in rows)
        return cls(caption, tuple(heads), tuple(cells))


@dataclass(frozen=True)
class Section:
    """A heading, and the sentences, tables and terms below it.

    Attributes
    ----------
    mark : str
        The verdict that the section states; empty for other sections.
    is_personal : bool
        Whether it was computed from private rows: a publishable document has no such section.
    is_small : bool
        Whether it is of minor importance.
    """

    head: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Grid, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    mark: Mark = ""
    is_personal: bool = False
    is_small: bool = False

    @property
    def is_empty(self) -> bool:
        """True if nothing is below the heading."""
        return not (self.sentences or self.tables or self.terms)


@dataclass(frozen=True)
class Document:
    """Statements about a release, a request, a file or a measurement.

    Attributes
    ----------
    title, about : str
        The heading, and a line below it.
    sections : tuple of Section
        In the order of reading.
    edition : {"", "internal", "publishable"}
        The readers; empty where there is one edition only.
    foot : str
        The last sentence.
    """

    title: str
    about: str
    sections: tuple[Section, ...]
    edition: Literal["", "internal", "publishable"] = ""
    foot: str = ""

    def __post_init__(self) -> None:
        if self.is_public:
            for section in self.sections:
                if section.is_personal:
                    raise ValueError(f"the publishable edition holds nothing personal, and {section.head!r} is")

    @property
    def is_public(self) -> bool:
        """True if everybody may read it."""
        return self.edition == "publishable"

    def json(self) -> str:
        """Return the document for a machine."""
        found = to_json(self)
        assert isinstance(found, dict)
        return json.dumps({"schema": SCHEMA, **found}, indent=2, allow_nan=False)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Document":
        """Read the JSON of a document; what is not whole, or not of the right types, is refused."""
        where = os.fspath(path)
        try:
            found = json.loads(Path(path).read_bytes())
        except (ValueError, RecursionError):
            raise InputError(f"{where!r} is not JSON, so it is no report.") from None
        schema = found.pop("schema", None) if isinstance(found, dict) else None
        if schema != SCHEMA:
            raise InputError(f"{where!r} has the schema {schema!r}; this version of seepage reads {SCHEMA!r}.")
        try:
            return from_json(cls, found)
        except InputError as reason:
            raise InputError(f"{where!r} is no report: {reason}") from None
