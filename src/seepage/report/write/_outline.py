"""The report part by part: its page, its text, its Markdown and its spreadsheet are made of these."""

import hashlib
from collections.abc import Iterator

from seepage.pages import name, number
from seepage.report._document import Document
from seepage.report.write._findings import finding_sentences
from seepage.report.write._grids import attribute_grids, exposed_grid, group_grid, utility_grids
from seepage.report.write._json import to_text
from seepage.report.write._meaning import assumption_sentences, facts, handling, meanings, utility_sentence
from seepage.report.write._section import Grid, Section
from seepage.report.write._svg import left_over, ridges
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
    return [each for each in _parts(document) if each.said or each.grids or each.picture]


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
    # Two reports may stand in one notebook: the ids of their pictures must differ.
    mark = "s" + hashlib.sha256(to_text(document).encode()).hexdigest()[:8]
    everyone = [] if document.eta is None else [("everyone", document.eta)]
    if not document.is_public:
        yield Section("In short", tuple(finding_sentences(document)) or ("Nothing can be said.",))
        shares = left_over([each for each in document.numbers if each.floors], f"{mark}a")
        yield Section("Attributes", tuple(_silent(document)), tuple(attribute_grids(document)), picture=shares)
    for i, grouping in enumerate(document.groupings):
        called = name(grouping.name)
        rows = [*everyone, *((each.name, each.eta) for each in grouping.groups)]
        picture = ridges(rows, f"{mark}g{i}", f"How eta is spread within groups by {called}")
        yield Section(f"Groups by {called}", (), (group_grid(grouping),), picture=picture)
    people = exposed_grid(document)
    left_out = (
        () if document.silence is None else (f"They are left out. {silence_sentence(document.silence, document)}",)
    )
    picture = None if document.groupings else ridges(everyone, f"{mark}e", "How eta is spread over all people")
    yield Section("The most exposed people", left_out, () if people is None else (people,), picture=picture)
    if document.utility is not None:
        yield Section(
            "What the noise costs", (utility_sentence(document.utility),), tuple(utility_grids(document.utility))
        )
    yield Section("What the numbers mean", terms=tuple(meanings(document)))
    yield Section("What they take for granted", tuple(assumption_sentences(document)))
    yield Section("Where this comes from", terms=tuple(facts(document)))


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
    silent: dict[str, list[str]] = {}
    for entry in document.attributes:
        if entry.silence is not None:
            silent.setdefault(silence_sentence(entry.silence, document), []).append(name(entry.name))
    for reason, names in silent.items():
        yield f"Attributes without numbers here: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}. {reason}"
