"""A verdict on a request as a document: the decision first, then its reasons, then the outputs."""

from collections.abc import Iterator

from seepage.display import OverlapDisplay
from seepage.pages import Document, Grid, Item, Mark, Picture, Section
from seepage.request._decided import Decided, MissedTarget, OutputVerdict, Stage

_SHOWN = 20
_MARKS: dict[str, Mark] = {"pass": "met", "review": "open", "fail": "missed", "not checked": "open"}


def document(verdict: Decided) -> Document:
    """Return the document of a verdict."""
    counts = {word: sum(each.said == word for each in verdict.outputs) for word in _MARKS}
    alone = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    said = [reason(verdict), f"{len(verdict.outputs)} outputs by themselves: {alone or 'none checked'}."]
    said += [f"{upper(stage.name)}: {stage.word}." for stage in verdict.stages]
    if not verdict.stages:
        said.append("No two outputs are about the same people: they are not read together.")
    findings = [finding for each in verdict.outputs for finding in each.findings]
    mends = [mend.sentence() for each in verdict.outputs for mend in each.mends]
    inside = [line for finding in findings for line in _finding(finding, verdict)]
    sections = [
        Section("Decision", tuple(said), (_outputs(verdict),), mark=_MARKS[verdict.word]),
        *(_stage(stage, verdict) for stage in verdict.stages),
        # In the publishable edition, all of it is in the row of each output.
        Section("Outputs by themselves", (*inside, *mends) if verdict.internal else (), is_personal=True),
        Section("Method", tuple(about(verdict))),
    ]
    shown = tuple(section for section in sections if not section.is_empty)
    foot = "It names people: keep it inside, like the rows." if verdict.internal and verdict.findings else ""
    return Document(headline(verdict), "", shown, "internal" if verdict.internal else "publishable", foot)


def pictures(verdict: Decided) -> dict[str, Picture]:
    """Return people by output, by the heading of the stage; none in the publishable edition."""
    found: dict[str, Picture] = {}
    for stage in verdict.stages:
        if stage.patterns and len(stage.outputs) > 1:
            broken = [each.inside for each in stage.findings if each.inside]
            found[_head(stage)] = OverlapDisplay.from_patterns(stage.outputs, dict(stage.patterns), broken=broken)
    return found


def headline(verdict: Decided) -> str:
    """Return the decision in a line."""
    words = {"pass": "may be published", "review": "needs a review", "fail": "must not be published as it is"}
    return f"{verdict.word.upper()}: {verdict.name} {words[verdict.word]}"


def reason(verdict: Decided) -> str:
    """Return the first reason of the decision, in a sentence."""
    if verdict.findings:
        return verdict.findings[-1].sentence()
    failed = [each for each in verdict.outputs if each.word == "fail"]
    if failed:
        return f"{failed[0].name}: {why(failed[0])}"
    if verdict.word == "review":
        return "No target is missed in what was checked; parts could not be checked or assessed."
    return "No target is missed, by any output or by all of them together."


def why(each: OutputVerdict) -> str:
    """Return the reasons of the word of an output, in a sentence or two."""
    return " ".join(reasons(each, nearest="Nearest: {}."))


def reasons(each: OutputVerdict | Stage, nearest: str = "{}") -> list[str]:
    """Return the reasons of a word, in sentences."""
    found = [finding.sentence() for finding in each.findings] + list(each.reasons)
    if isinstance(each, Stage):
        return found
    if not found and each.figure is not None:
        found = [nearest.format(each.figure.sentence())]
    return [*found, *([each.by_rules] if each.rules else [])]


def about(verdict: Decided) -> Iterator[str]:
    """Yield the method of the check."""
    yield verdict.asked
    if verdict.told:
        yield (
            f"Filters state {', '.join(verdict.told)} of all people in them: these values count as known where outputs "
            "are read together."
        )
    yield (
        "This estimates attackers who use averages: one who knows no record, and for outcomes one who knows all "
        "covariates. A better-informed attacker may do better."
    )


def upper(sentence: str) -> str:
    """Return a sentence that begins as one."""
    return sentence[:1].upper() + sentence[1:]


def _head(stage: Stage) -> str:
    return f"{upper(stage.name)}: {stage.word}"


def _stage(stage: Stage, verdict: Decided) -> Section:
    said = [line for finding in stage.findings for line in _finding(finding, verdict)]
    broken = {each.inside for each in stage.findings}
    rows = [
        [" and ".join(inside), Item(f"{count:,}{'*' if inside in broken else ''}", count)]
        for inside, count in stage.patterns
    ]
    caption = "People by the outputs that contain them (*: a target is missed)"
    tables = (Grid.of(caption, ("in", "people"), rows),) if rows and len(stage.outputs) > 1 else ()
    return Section(_head(stage), (*said, *stage.reasons), tables, is_personal=bool(tables))


def _finding(finding: MissedTarget, verdict: Decided) -> Iterator[str]:
    yield finding.sentence()
    if verdict.internal:
        figure = "" if finding.figure is None else f"Nearest: {finding.figure.sentence()}. "
        yield f"{figure}Inside only: {_people(finding)}"
    yield from (mend.sentence() for mend in finding.mends)


def _people(finding: MissedTarget) -> str:
    shown = ", ".join(map(str, finding.people[:_SHOWN]))
    more = len(finding.people) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def _outputs(verdict: Decided) -> Grid:
    rows = [
        [
            each.name,
            Item(each.said, mark=_MARKS[each.said]),
            f"{each.what}. {why(each)}" if why(each) else each.what,
        ]
        for each in verdict.outputs
    ]
    return Grid.of("Each output by itself", ("output", "verdict", "what it is, and why"), rows)
