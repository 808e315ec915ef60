"""What notebooks show of policies, certificates and frontiers."""

from collections.abc import Iterable, Mapping, Sequence

import narwhals as nw

from seepage import pages
from seepage._tables import Frame
from seepage.pages import Content, bullets, name, number, paragraph, table, tag

_MOST_ROWS = 30


def policy_snippet(sentences: Sequence[str]) -> str:
    """Return a policy as a part of a page.

    Parameters
    ----------
    sentences : sequence of str
        Its targets.
    """
    told = bullets(sentences) if sentences else paragraph("No target: every release meets it.")
    return pages.article(tag("h3", "A release must keep these promises"), told)


def certificate_snippet(
    title: str,
    facts: Iterable[tuple[str, str]],
    targets: Sequence[str],
    qualifications: Sequence[str],
    assumptions: Sequence[str],
    *,
    left_open: str,
) -> str:
    """Return a certificate as a part of a page.

    Parameters
    ----------
    title : str
        What was published.
    facts : iterable of (str, str)
        What is known of it, by name.
    targets, qualifications, assumptions : sequence of str
        As they stand in the certificate.
    left_open : str
        What no target limits.
    """
    promised: list[Content] = [
        tag("li", pages.sentence(target), *(tag("p", pages.sentence(more), class_="small") for more in said))
        for target, *said in _beside(targets, qualifications)
    ]
    return pages.article(
        tag("h3", name(title, 120)),
        tag("ul", promised) if promised else paragraph("No target was set."),
        tag("p", tag("strong", pages.sentence(left_open))) if left_open else None,
        pages.terms((term, pages.sentence(text)) for term, text in facts),
        tag("details", tag("summary", "What this assumes"), bullets(assumptions)),
    )


def frontier_snippet(frame: Frame, caption: str) -> str:
    """Return a frontier as a part of a page.

    Parameters
    ----------
    frame : data frame
        One row a setting.
    caption : str
        What it shows.
    """
    rows: list[Mapping[str, object]] = list(nw.from_native(frame, eager_only=True).iter_rows(named=True))
    heads = [each.replace("_", " ") for each in (rows[0] if rows else ())]
    shown = [[_cell(value) for value in row.values()] for row in rows[:_MOST_ROWS]]
    more = len(rows) - _MOST_ROWS
    return pages.article(
        table(caption, heads, shown) if shown else paragraph(caption),
        paragraph(f"… and {more:,} more settings, in .frame.") if more > 0 else None,
    )


def _beside(targets: Sequence[str], qualifications: Sequence[str]) -> Iterable[tuple[str, ...]]:
    if len(targets) == len(qualifications):
        return zip(targets, qualifications, strict=True)
    return [(target,) for target in targets]


def _cell(value: object) -> str:
    if isinstance(value, int | float):
        return "∞" if value == float("inf") else number(float(f"{value:.4g}"))
    return name(str(value))
