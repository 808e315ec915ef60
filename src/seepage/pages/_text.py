"""Documents as text of 80 columns, and as Markdown."""

import re
from collections.abc import Iterator, Sequence

from seepage.pages._document import Document, Grid, Section
from seepage.pages._words import WIDTH, sentence, visible, wrapped

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")
_SIGNS = {"met": "met", "open": "open", "missed": "MISSED", "none": ""}


def text(document: Document) -> str:
    """Return a document as plain text, no line of which is wider than a terminal of 80 columns."""
    return "\n".join(line for _, line in lines(document)) + "\n"


def markdown(document: Document, *, heading: bool = True) -> str:
    """Return a document as Markdown, with or without its title."""
    found = [line for _, line in lines(document, escaped=True)]
    return "\n".join(found if heading else found[found.index("") + 1 :]) + "\n"


def lines(document: Document, *, escaped: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the lines of a document, each with the style of its part: title, head, a verdict, or none."""
    plain = _escape if escaped else visible
    title = wrapped(plain(document.title))
    yield from (("title", line) for line in title)
    yield "title", "=" * max(map(len, title), default=0)
    yield "", ""
    for aside in filter(None, (document.about, document.foot)):
        yield from (("", line) for line in wrapped(plain(aside)))
    for section in document.sections:
        yield "", ""
        yield from section_lines(section, escaped=escaped)


def section_lines(section: Section, *, escaped: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the lines of a section, each with its style."""
    plain = _escape if escaped else visible
    yield from ((section.mark or "head", line) for line in wrapped(plain(section.head)))
    yield section.mark or "head", "-" * min(len(section.head), WIDTH)
    for said in (*section.sentences, *(f"{term}: {words}" for term, words in section.terms)):
        yield from (("", line) for line in wrapped(plain(said), "- "))
    for place, table in enumerate(section.tables):
        if place or section.sentences or section.terms:
            yield "", ""
        yield from (("", line) for line in wrapped(f"{plain(table.caption)}:"))
        fence = [("", "```text" if escaped else "")] if escaped else []
        yield from fence
        yield from _table(table)
        yield from [("", "```")] if escaped else []


def _table(table: Grid) -> Iterator[tuple[str, str]]:
    """Yield the lines of a table, or of its rows below each other where it is too wide."""
    marks = ["", *(next((cell.mark for cell in row if cell.mark), "") for row in table.rows)]
    heads = [visible(head) for head in table.heads]
    rows = [[visible(cell.text) for cell in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    if sum(widths) + 2 * len(widths) <= WIDTH:
        yield from ((mark, _aligned(row, widths)) for mark, row in zip(marks, (heads, *rows), strict=True))
        return
    for mark, (first, *rest) in zip(marks[1:], rows, strict=True):
        yield from ((mark, line) for line in wrapped(first, "  * "))
        for head, cell in zip(heads[1:], rest, strict=True):
            yield from ((mark, line) for line in wrapped(f"{head}: {cell}" if head else cell, "      "))


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = row
    cells = [f"  {first:{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))]
    return "  ".join(cells).rstrip()


def _escape(words: str) -> str:
    """Return words that Markdown shows as they are, HTML included."""
    escaped = _SPECIAL.sub(r"\\\1", sentence(words))
    return escaped.replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\&", "&amp;")
