"""The report as HTML: one page, or a part of one."""

from collections.abc import Mapping

from seepage import pages
from seepage.pages import NOTHING, Html, bullets, paragraph, section, table, tag, together
from seepage.report._document import Document
from seepage.report.write._meaning import handling
from seepage.report.write._outline import outline
from seepage.report.write._section import Grid, Section

_MOST_ROWS = 25
_SIGNS = {"met": "✓", "open": "!", "missed": "✗", "none": NOTHING, "withheld": NOTHING}
_WORDS = {"met": tag("span", "✓ met", class_="met"), "missed": tag("span", "✗ missed", class_="missed")}


def page(document: Document) -> str:
    """Return a page that needs nothing else."""
    return pages.page(document.title, _article(document, 1))


def snippet(document: Document) -> str:
    """Return the report to stand inside another page, under headings of the second level."""
    return _article(document, 2)


def _article(document: Document, level: int) -> Html:
    title, verdict, *others = outline(document)
    about = f"{document.people.value:,.0f} people, {pages.counted(len(document.attributes), 'private attribute')}"
    # No check mark in green beside what nobody limited.
    is_open = document.verdict.status == "met" and document.verdict.leaves_open
    shown = "open" if is_open else document.verdict.status
    sign = tag("span", _SIGNS[shown], aria_hidden="true")
    return pages.article(
        tag(
            "header",
            tag("p", f"{document.edition.capitalize()} edition", class_=f"edition {document.edition}"),
            tag(f"h{level}", title.head),
            tag("p", f"{about}, {document.created[:10]}", class_="about"),
        ),
        tag(
            "section",
            tag(f"h{level + 1}", sign, " ", verdict.head),
            paragraph(verdict.sentences[0]),
            (paragraph(each, class_="untargeted") for each in verdict.sentences[1:]),
            (_table(each, _WORDS) for each in verdict.grids),
            class_=f"verdict {shown}",
        ),
        (section(each.head, _inner(each), level=level + 1) for each in others),
        tag("footer", tag("p", handling(document))),
    )


def _inner(part: Section) -> Html:
    return together(
        None if part.picture is None else tag("figure", part.picture),
        bullets(part.sentences) if part.sentences else None,
        (_table(each, {}) for each in part.grids),
        pages.terms(part.terms) if part.terms else None,
    )


def _table(grid: Grid, words: Mapping[str, Html]) -> Html:
    rows = [[tag("bdi", first), *(words.get(each, each) for each in rest)] for first, *rest in grid.rows[:_MOST_ROWS]]
    more = len(grid.rows) - len(rows)
    return together(
        table(grid.caption, grid.heads, rows), paragraph(f"… and {more:,} more, in the JSON.") if more > 0 else None
    )
