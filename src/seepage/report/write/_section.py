"""Parts of a report: headings, sentences, tables, terms and pictures, as text and as rows of a spreadsheet."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from seepage.pages import WIDTH, Html, visible, wrapped

HEADS = ("section", "about", "what", "value")
"""What the columns of the table are called."""


@dataclass(frozen=True)
class Grid:
    """A table; the first cell of a row says what the row is about."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """A heading, and the sentences, tables, terms and picture below it."""

    head: str
    sentences: tuple[str, ...] = ()
    grids: tuple[Grid, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    picture: Html | None = None

    @property
    def said(self) -> tuple[str, ...]:
        """Sentences and terms, for places that show no lists of terms."""
        return (*self.sentences, *(f"{term}: {text}" for term, text in self.terms))


def as_text(parts: Iterable[Section]) -> str:
    """Return parts as plain text, no line of which is wider than `WIDTH`."""
    return "\n\n".join("\n".join(_lines(part)) for part in parts) + "\n"


def as_rows(parts: Iterable[Section]) -> Iterator[tuple[str, ...]]:
    """Yield parts as rows of a table, below `HEADS`: a row for each sentence and each cell."""
    for part in parts:
        yield from ((part.head, "", "", sentence) for sentence in part.said)
        for grid in part.grids:
            for first, *rest in grid.rows:
                # A row of one cell says what it has to say by itself.
                yield from ((part.head, first, head, cell) for head, cell in zip(grid.heads[1:], rest, strict=True))


def _lines(part: Section) -> Iterator[str]:
    yield from wrapped(part.head)
    yield "-" * min(len(part.head), WIDTH)
    for sentence in part.said:
        yield from wrapped(sentence, "- ")
    for place, grid in enumerate(part.grids):
        if part.said or place:
            yield ""
        yield from wrapped(f"{grid.caption}:")
        yield from _grid(grid)


def _grid(grid: Grid) -> Iterator[str]:
    """Yield the lines of a table, or of its rows below each other where it is too wide."""
    cells = [[visible(cell) for cell in row] for row in (grid.heads, *grid.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if sum(widths) + 2 * len(widths) <= WIDTH:
        yield from (_aligned(row, widths) for row in cells)
        return
    for first, *rest in grid.rows:
        yield from wrapped(first, "* ")
        for head, cell in zip(grid.heads[1:], rest, strict=True):
            yield from wrapped(f"{head}: {cell}", "    ")


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = row
    cells = [f"  {first:{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))]
    return "  ".join(cells).rstrip()
