"""A verdict as a page: what is decided first, then why, then what was looked at."""

from collections.abc import Iterable, Iterator

from seepage import pages
from seepage.pages import Content, Html, bullets, paragraph, section, table, tag
from seepage.request._decided import Decided, MissedTarget, Stage
from seepage.request._picture import overlap
from seepage.request._text import about, headline, people_named, reason, upper, why

_CLASSES = {"pass": "met", "review": "open", "fail": "missed"}


def page(verdict: Decided) -> str:
    """Return the page of a verdict."""
    edition = "internal" if verdict.internal else "publishable"
    words = "Internal edition: personal data, for you alone" if verdict.internal else "Publishable edition"
    body = pages.article(
        tag(
            "header",
            tag("p", words, class_=f"edition {edition}"),
            tag("h1", headline(verdict)),
        ),
        tag("section", _decided(verdict), class_=f"verdict {_CLASSES[verdict.word]}"),
        [_stage(each, verdict) for each in verdict.stages],
        # Without figures and mends, all of it stands beside each output.
        _alone(verdict) if verdict.internal else None,
        section("Each output", _outputs(verdict)),
        section("How it was checked", bullets(about(verdict))),
    )
    return pages.page(f"Request {verdict.name}", body)


def _decided(verdict: Decided) -> Iterator[Html]:
    """Return what is decided of all outputs, in a line each."""
    counts = {word: sum(each.word == word and each.checked for each in verdict.outputs) for word in _CLASSES}
    unread = sum(not each.checked for each in verdict.outputs)
    alone = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    yield tag("h2", reason(verdict))
    rest = f", {unread} not checked here" if unread else ""
    yield paragraph(f"{len(verdict.outputs)} outputs by themselves: {alone or 'none checked'}{rest}.")
    for each in verdict.stages:
        yield paragraph(f"{upper(each.name)}: {each.word}.")
    if not verdict.stages:
        yield paragraph("No two outputs are about the same people, so that they are not read together.")


def _stage(stage: Stage, verdict: Decided) -> Html:
    shown = overlap(stage)
    title = "The number of people in each combination of outputs"
    picture = None if shown is None else pages.picture(shown.svg(title), f"{title}.")
    body = [*(_finding(each, verdict) for each in stage.findings), *map(paragraph, stage.reasons)]
    return section(f"{upper(stage.name)}: {stage.word}", body, picture)


def _alone(verdict: Decided) -> Html:
    found = [(each, finding) for each in verdict.outputs for finding in each.findings]
    mends = [mend.sentence() for each in verdict.outputs for mend in each.mends]
    return section(
        "By themselves", [_finding(finding, verdict) for _, finding in found], bullets(mends) if mends else None
    )


def _finding(finding: MissedTarget, verdict: Decided) -> Html:
    lines = [mend.sentence() for mend in finding.mends]
    inside: Iterable[Content] = ()
    if verdict.internal:
        figure = "" if finding.figure is None else f"Nearest: {finding.figure.sentence()}. "
        inside = (paragraph(f"{figure}Whom: {people_named(finding)}", class_="about"),)
    return tag("div", tag("p", tag("strong", finding.sentence())), *inside, bullets(lines) if lines else None)


def _outputs(verdict: Decided) -> Html:
    rows = [
        (
            each.name,
            tag("span", each.said, class_=_CLASSES[each.word]),
            tag("span", f"{each.what}. {why(each)}" if why(each) else each.what, class_="words long"),
        )
        for each in verdict.outputs
    ]
    caption = "Nearest: what comes closest to a target, of anybody" if verdict.internal else "Each by itself"
    return table(caption, ("Output", "Verdict", "What it is, and why"), rows)
