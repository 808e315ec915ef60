"""The report as Markdown."""

import re
from collections.abc import Iterator

from seepage.pages import sentence
from seepage.report._document import Document
from seepage.report.write._outline import outline
from seepage.report.write._section import Grid, Section

_MOST_ROWS = 25
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")


def markdown(document: Document, *, heading: bool) -> str:
    """Return the report as Markdown, with or without its title."""
    title, *others = outline(document)
    parts = [f"# {_plain(title.head)}", *_parts(title)] if heading else [*_parts(title)]
    for each in others:
        parts += [f"## {_plain(each.head)}", *_parts(each)]
    return "\n\n".join(parts) + "\n"


def _parts(part: Section) -> Iterator[str]:
    if part.said:
        yield "\n".join(f"- {_plain(each)}" for each in part.said)
    for grid in part.grids:
        yield f"{_plain(grid.caption)}:\n\n{_table(grid)}"


def _plain(text: str) -> str:
    """Return text that Markdown shows as it is, HTML included."""
    escaped = _SPECIAL.sub(r"\\\1", sentence(text))
    return escaped.replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\&", "&amp;")


def _table(grid: Grid) -> str:
    lines = [list(map(_plain, row)) for row in (grid.heads, *grid.rows[:_MOST_ROWS])]
    lines.insert(1, ["---", *["---:"] * (len(grid.heads) - 1)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
