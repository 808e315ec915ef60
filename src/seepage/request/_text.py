"""A verdict as text: the twin of the page."""

from collections.abc import Iterator

from seepage.pages import WIDTH, visible, wrapped
from seepage.request._decided import Decided, MissedTarget, OutputVerdict, Stage

_NAME, _WORD = 22, 13
_SHOWN = 20


def text(verdict: Decided) -> str:
    """Return the verdict as lines of text."""
    return "\n".join(_lines(verdict))


def headline(verdict: Decided) -> str:
    """Return what is decided, in a line."""
    words = {"pass": "may be let out", "review": "needs a look", "fail": "must not be let out as it is"}
    return f"{verdict.word.upper()}: {verdict.name} {words[verdict.word]}"


def reason(verdict: Decided) -> str:
    """Return the first reason for what is decided, in a sentence."""
    if verdict.findings:
        return verdict.findings[-1].sentence()
    failed = [each for each in verdict.outputs if each.word == "fail"]
    if failed:
        return f"{failed[0].name}: {why(failed[0])}"
    if verdict.word == "review":
        return "Nothing that was checked breaks a target, and something could not be checked or claimed."
    return "No output breaks a target, neither by itself nor beside the others."


def why(each: OutputVerdict) -> str:
    """Return why an output got its word, in a sentence or two."""
    found = [finding.sentence() for finding in each.findings] + list(each.reasons)
    if not found and each.figure is not None:
        found = [f"Nearest: {each.figure.sentence()}."]
    return " ".join([*found, *([each.by_rules] if each.rules else [])])


def people_named(finding: MissedTarget) -> str:
    """Return who they are, for those inside."""
    shown = ", ".join(map(str, finding.people[:_SHOWN]))
    more = len(finding.people) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def about(verdict: Decided) -> Iterator[str]:
    """Yield what a reader must know of how it was checked."""
    yield verdict.asked
    if verdict.told:
        yield (
            f"Filters say {', '.join(verdict.told)} of everybody in them, so that counts as known where outputs are "
            "read together."
        )
    yield (
        "This describes attackers who use averages: one who knows nobody's record, and for outcomes one who knows "
        "everybody's covariates. Somebody cleverer, or who knows more, can be nearer."
    )


def _lines(verdict: Decided) -> Iterator[str]:
    yield from wrapped(headline(verdict))
    yield ""
    for each in verdict.outputs:
        name = visible(each.name)
        if len(name) >= _NAME:
            # A name is never cut: it may be all that tells two outputs apart.
            yield from wrapped(name)
            name = ""
        lines = wrapped(f"{each.what}. {why(each)}" if why(each) else each.what, width=WIDTH - _NAME - _WORD)
        yield f"{name:{_NAME}}{each.said:{_WORD}}{lines[0]}"
        yield from (f"{'':{_NAME + _WORD}}{line}" for line in lines[1:])
    for stage in verdict.stages:
        yield ""
        yield from _stage(stage, verdict)
    findings = [one for each in verdict.outputs for one in each.findings]
    mends = [mend for each in verdict.outputs for mend in each.mends]
    # Without figures and mends, all of it stands beside each output.
    if verdict.internal and (findings or mends):
        yield ""
        yield "Outputs by themselves"
        for finding in findings:
            yield from _finding(finding, verdict)
        for mend in mends:
            yield from wrapped(mend.sentence(), "  ")
    yield ""
    for sentence in about(verdict):
        yield from wrapped(sentence)
    if verdict.internal and verdict.findings:
        yield "It names people: keep it inside, like the rows."


def _stage(stage: Stage, verdict: Decided) -> Iterator[str]:
    yield f"{upper(stage.name)}: {stage.word}"
    for finding in stage.findings:
        yield from _finding(finding, verdict)
    for reason in stage.reasons:
        yield from wrapped(reason, "  ")


def _finding(finding: MissedTarget, verdict: Decided) -> Iterator[str]:
    yield from wrapped(finding.sentence(), "- ")
    if verdict.internal:
        if finding.figure is not None:
            yield from wrapped(f"Nearest: {finding.figure.sentence()}.", "  ")
        yield from wrapped(f"Inside only: {people_named(finding)}", "  ")
    for mend in finding.mends:
        yield from wrapped(mend.sentence(), "  ")


def upper(sentence: str) -> str:
    """Return a sentence that begins as one."""
    return sentence[:1].upper() + sentence[1:]
