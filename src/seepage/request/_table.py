"""A verdict as a table: the twin of the page for a spreadsheet."""

from collections.abc import Iterator

from seepage.request._decided import Decided, MissedTarget, OutputVerdict, Stage
from seepage.request._text import about, headline, reason

_HEADS = ("request", "output", "what", "verdict", "why")
_INSIDE = ("what mends it", "people, for you alone")


def table(verdict: Decided) -> list[tuple[str, ...]]:
    """Return heads, the request, its outputs, all of them together, and how it was checked."""
    return list(_rows(verdict))


def reasons(each: OutputVerdict | Stage) -> list[str]:
    """Return why something got its word, in sentences."""
    found = [finding.sentence() for finding in each.findings] + list(each.reasons)
    if isinstance(each, Stage):
        return found
    if not found and each.figure is not None:
        found = [each.figure.sentence()]
    return [*found, *([each.by_rules] if each.rules else [])]


def _rows(verdict: Decided) -> Iterator[tuple[str, ...]]:
    def row(
        output: str, what: str, word: str, why: str, mends: str, findings: tuple[MissedTarget, ...]
    ) -> tuple[str, ...]:
        people = "; ".join(dict.fromkeys(str(one) for finding in findings for one in finding.people))
        return (verdict.name, output, what, word, why, *([mends, people] if verdict.internal else []))

    yield (*_HEADS, *(_INSIDE if verdict.internal else ()))
    yield row("", headline(verdict), verdict.word, reason(verdict), "", ())
    for each in verdict.outputs:
        mends = [*(mend for one in each.findings for mend in one.mends), *each.mends]
        said = " ".join(dict.fromkeys(mend.sentence() for mend in mends))
        yield row(each.name, each.what, each.said, " ".join(_why(each)), said, each.findings)
    for stage in verdict.stages:
        said = " ".join(dict.fromkeys(mend.sentence() for one in stage.findings for mend in one.mends))
        yield row(stage.name, ", ".join(stage.outputs), stage.word, " ".join(_why(stage)), said, stage.findings)
    for sentence in about(verdict):
        yield row("", "how it was checked", "", sentence, "", ())


def _why(each: OutputVerdict | Stage) -> list[str]:
    """Return the reasons, and how near the nearest comes in each finding."""
    figures = [f"Nearest: {one.figure.sentence()}." for one in each.findings if one.figure is not None]
    return [*reasons(each), *figures]
