"""What notebooks show of policies, certificates and frontiers; of a certificate, a page too."""

from collections.abc import Iterable, Mapping, Sequence

import narwhals as nw

from seepage import pages
from seepage._tables import Frame
from seepage.pages import Html, bullets, name, number, paragraph, section, table, tag

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


def certificate_article(
    title: str,
    facts: Mapping[str, str],
    targets: Sequence[str],
    qualifications: Sequence[str],
    choices: Sequence[str],
    assumptions: Sequence[str],
    *,
    decided: str,
    left_open: str,
    level: int,
) -> Html:
    """Return a certificate as a part of a page, or all of one.

    Parameters
    ----------
    title : str
        What was published.
    facts : mapping from str to str
        What is known of it, by name.
    targets, qualifications, choices, assumptions : sequence of str
        As they stand in the certificate.
    decided : str
        Who decided.
    left_open : str
        What no target limits.
    level : int
        Of its heading.
    """
    promised = [
        tag("li", pages.sentence(target), *(tag("p", pages.sentence(more), class_="small") for more in said))
        for target, *said in _beside(targets, qualifications)
    ]
    # No green beside what nobody limited.
    status = "none" if facts["policy"] == "none" else "open" if left_open else "met"
    predicts = f"Predicts {facts['predicts']}. " if "predicts" in facts else ""
    about = f"{predicts}Fitted on {facts['fitted on']}. Published {facts['published']}."
    return pages.article(
        tag("header", tag(f"h{level}", name(title, 120)), paragraph(about, class_="about")),
        tag(
            "section",
            tag(f"h{level + 1}", "What is promised"),
            tag("ul", promised),
            paragraph(left_open, class_="untargeted") if left_open else None,
            paragraph(decided) if decided else None,
            class_=f"verdict {status}",
        ),
        section(
            "What it is about",
            pages.terms((term.capitalize(), pages.sentence(text)) for term, text in facts.items()),
            level=level + 1,
        ),
        section("What the rows decided", bullets(choices), level=level + 1),
        section("What this assumes", bullets(assumptions), level=level + 1),
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
    """Return each target, with what it means and does not mean after the last of those that mean the same."""
    if len(targets) != len(qualifications):
        return [(target,) for target in targets]
    following = [*qualifications[1:], None]
    return [
        (target,) if own == after else (target, own)
        for target, own, after in zip(targets, qualifications, following, strict=True)
    ]


def _cell(value: object) -> str:
    if isinstance(value, int | float):
        return "∞" if value == float("inf") else number(float(f"{value:.4g}"))
    return name(str(value))
