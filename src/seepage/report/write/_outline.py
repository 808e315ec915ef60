"""The report part by part, for text and for a spreadsheet."""

from collections.abc import Iterator

from seepage.pages import Grid, Section, name, number
from seepage.report._document import Document
from seepage.report.write._findings import finding_sentences
from seepage.report.write._grids import attribute_grids, exposed_grid, group_grid, utility_grids
from seepage.report.write._meaning import assumption_sentences, facts, handling, meanings, utility_sentence
from seepage.report.write._verdict import (
    headline,
    silence_sentence,
    target_sentence,
    untargeted_sentence,
    verdict_sentence,
)


def outline(document: Document) -> list[Section]:
    """Return all that a report says, in the order of its page."""
    document.check_leaving()
    return [each for each in _parts(document) if each.sentences or each.grids]


def judged(document: Document) -> list[tuple[str, str]]:
    """Return whether each target is met, and the target in words."""
    return [
        ("met" if each.met else "missed", target_sentence(each.target, document)) for each in document.verdict.judgments
    ]


def _parts(document: Document) -> Iterator[Section]:
    yield Section(name(document.title, 120), (handling(document),))
    left = untargeted_sentence(document)
    yield Section(
        headline(document.verdict), (verdict_sentence(document), *([left] if left else [])), _targets(document)
    )
    if not document.is_public:
        yield Section("In short", tuple(finding_sentences(document)))
        yield Section("Attributes", tuple(_silent(document)), tuple(attribute_grids(document)))
    for grouping in document.groupings:
        yield Section(f"Groups by {name(grouping.name)}", (), (group_grid(grouping),))
    people = exposed_grid(document)
    left_out = (
        () if document.silence is None else (f"They are left out. {silence_sentence(document.silence, document)}",)
    )
    yield Section("The most exposed people", left_out, () if people is None else (people,))
    if document.utility is not None:
        yield Section(
            "What the noise costs", (utility_sentence(document.utility),), tuple(utility_grids(document.utility))
        )
    yield Section("What the numbers mean", tuple(f"{term}: {text}" for term, text in meanings(document)))
    yield Section("What they take for granted", tuple(assumption_sentences(document)))
    yield Section("Where this comes from", tuple(f"{term}: {text}" for term, text in facts(document)))


def _targets(document: Document) -> tuple[Grid, ...]:
    judgments = document.verdict.judgments
    if not judgments:
        return ()
    factors = any(each.factor is not None for each in judgments)
    rows = (
        (sentence, word, *([f"{number(each.factor.value)} times" if each.factor else ""] if factors else []))
        for each, (word, sentence) in zip(judgments, judged(document), strict=True)
    )
    heads = ("target", "verdict", *(["noise needed"] if factors else []))
    return (Grid("Targets of the policy, and whether the release meets them", heads, tuple(rows)),)


def _silent(document: Document) -> Iterator[str]:
    for entry in document.attributes:
        if entry.silence is not None:
            yield f"{name(entry.name)} has no numbers here. {silence_sentence(entry.silence, document)}"
