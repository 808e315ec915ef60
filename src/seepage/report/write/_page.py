"""The report as HTML: one page, or a part of one."""

import hashlib
from collections.abc import Sequence

from seepage import pages
from seepage._facts import Number
from seepage.pages import (
    NOTHING,
    Content,
    Html,
    bullets,
    most,
    name,
    number,
    paragraph,
    percent,
    section,
    table,
    tag,
    together,
)
from seepage.report._document import Channel, Document, Grouping, NumberAttribute
from seepage.report.write._amounts import alternatives, error, floor, guesses
from seepage.report.write._findings import finding_sentences
from seepage.report.write._json import to_text
from seepage.report.write._meaning import (
    ALTERNATIVES,
    assumption_sentences,
    facts,
    handling,
    meanings,
    told_coefficients,
    utility_sentence,
)
from seepage.report.write._svg import left_over, ridges
from seepage.report.write._verdict import (
    headline,
    silence_sentence,
    target_sentence,
    untargeted_sentence,
    verdict_sentence,
)

_MOST_ROWS = 25
_SIGNS = {"met": "✓", "open": "!", "missed": "✗", "none": NOTHING, "withheld": NOTHING}


def page(document: Document) -> str:
    """Return a page that needs nothing else."""
    return pages.page(document.title, _article(document, 1))


def snippet(document: Document) -> str:
    """Return the report to stand inside another page, under headings of the second level."""
    return _article(document, 2)


def _article(document: Document, level: int) -> Html:
    document.check_leaving()
    # Two reports may stand in one notebook: what they refer to by id must differ.
    mark = "s" + hashlib.sha256(to_text(document).encode()).hexdigest()[:8]
    sections = [
        ("In short", None if document.is_public else _short(document)),
        ("Attributes", None if document.is_public else together(_numbers(document, mark), _categories(document))),
        *(
            (f"Groups by {name(each.name)}", _groups(each, document, f"{mark}g{i}"))
            for i, each in enumerate(document.groupings)
        ),
        ("People", _people(document, mark)),
        ("What the noise costs", _utility(document)),
        ("What the numbers mean", pages.terms(found) if (found := meanings(document)) else None),
        ("What they take for granted", bullets(assumption_sentences(document))),
        ("Where this comes from", together(pages.terms(facts(document)), _left_out(document))),
    ]
    about = f"{document.people.value:,.0f} people, {pages.counted(len(document.attributes), 'private attribute')}"
    return pages.article(
        tag(
            "header",
            tag("p", f"{document.edition.capitalize()} edition", class_=f"edition {document.edition}"),
            tag(f"h{level}", name(document.title, 120)),
            tag("p", f"{about}, {document.created[:10]}", class_="about"),
        ),
        _verdict(document, level + 1),
        (section(head, inner, level=level + 1) for head, inner in sections),
        tag("footer", tag("p", handling(document))),
    )


def _verdict(document: Document, level: int) -> Html:
    verdict = document.verdict
    factors = any(each.factor is not None for each in verdict.judgments)
    rows = [
        [
            pages.sentence(target_sentence(each.target, document)),
            tag("span", "✓ met", class_="met") if each.met else tag("span", "✗ missed", class_="missed"),
            *([f"{number(each.factor.value)} times" if each.factor else ""] if factors else []),
        ]
        for each in verdict.judgments
    ]
    heads = ["target", "verdict", *(["noise needed"] if factors else [])]
    targets = table("Targets of the policy, and whether the release meets them", heads, rows) if rows else None
    # No check mark in green beside what nobody limited.
    shown = "open" if verdict.status == "met" and verdict.leaves_open else verdict.status
    left = untargeted_sentence(document)
    return tag(
        "section",
        tag(f"h{level}", tag("span", _SIGNS[shown], aria_hidden="true"), " ", headline(verdict)),
        paragraph(verdict_sentence(document)),
        tag("p", pages.sentence(left), class_="untargeted") if left else None,
        targets,
        class_=f"verdict {shown}",
    )


def _short(document: Document) -> Html:
    said = finding_sentences(document)
    return bullets(said) if said else paragraph("Nothing can be said.")


def _numbers(document: Document, mark: str) -> Html | None:
    entries = [entry for entry in document.numbers if entry.floors]
    if not entries:
        return None
    priors = any(entry.deviation is not None for entry in entries)
    heads = ["attribute", *(most(share.value) for share in document.shares)]
    heads += ["a guess without the release", "left unknown"] if priors else []
    caption = "No unbiased guess of an attribute is better than this, in its own unit"
    rows = [_number_row(entry, len(document.shares), priors) for entry in entries[:_MOST_ROWS]]
    return together(table(caption, heads, rows), _more(entries, "attributes"), _figure(left_over(entries, f"{mark}a")))


def _number_row(entry: NumberAttribute, shares: int, priors: bool) -> list[str]:
    floors = [error(each) for each in entry.floors]
    row: list[str] = [_name(entry.name, entry.unit), *floors, *[NOTHING] * (shares - len(floors))]
    if priors:
        lefts = [each.variance_left.value for each in entry.floors if each.variance_left is not None]
        row.append(NOTHING if entry.deviation is None else floor(entry.deviation))
        row.append(percent(min(lefts)) if lefts else NOTHING)
    return row


def _categories(document: Document) -> Html | None:
    told = [entry for entry in document.categories if entry.rates]
    rows = [
        [_name(entry.name), *(percent(each.success_rate.value) for each in entry.rates)] for entry in told[:_MOST_ROWS]
    ]
    heads = ["category", *(most(share.value) for share in document.shares)]
    caption = "At equal odds, no attacker tells a category from another value more often than this"
    shown = [table(caption, heads, rows), _more(told, "categories")] if rows else []
    return together(shown, _silent(document))


def _silent(document: Document) -> list[Html]:
    silent: dict[str, list[str]] = {}
    for entry in document.attributes:
        if entry.silence is not None:
            silent.setdefault(silence_sentence(entry.silence, document), []).append(name(entry.name))
    return [
        paragraph(f"Attributes without numbers here: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}. {reason}")
        for reason, names in silent.items()
    ]


def _people(document: Document, mark: str) -> Html:
    picture = None
    if not document.groupings and document.eta is not None:
        picture = ridges([("everyone", document.eta)], f"{mark}e", "How eta is spread over all people")
    if not document.exposed:
        return together(_figure(picture))
    known = any(person.through is not None for person in document.exposed)
    heads = [
        "pseudonym",
        "eta",
        "times the median",
        *(["exposed most through", "best guess", "blind guess"] if known else []),
    ]
    rows = [
        [
            tag("code", person.pseudonym),
            number(person.eta.value),
            _value(person.times_median),
            *(_through(person.through) if known else []),
        ]
        for person in document.exposed
    ]
    return together(_figure(picture), table(f"The {len(rows)} most exposed people", heads, rows))


def _through(channel: Channel | None) -> list[Content]:
    if channel is None:
        return [NOTHING] * 3
    return [_name(channel.attribute), *guesses(channel)]


def _groups(grouping: Grouping, document: Document, mark: str) -> Html:
    groups = grouping.groups
    assert document.eta is not None
    title = f"How eta is spread within groups by {name(grouping.name)}"
    picture = ridges([("everyone", document.eta), *((each.name, each.eta) for each in groups)], mark, title)
    heads = ["group", "people", "median eta", "95% interval", "95% of people, at most", "mean", "largest"]
    rows = [
        [
            _name(each.name),
            f"{each.eta.count.value:,.0f}",
            _value(each.eta.median),
            _interval(each.eta.interval),
            _value(each.eta.high),
            _value(each.eta.mean),
            _value(each.eta.largest),
        ]
        for each in groups[:_MOST_ROWS]
    ]
    caption = "Exposure by group, the most exposed first"
    return together(_figure(picture), [table(caption, heads, rows), _more(groups, "groups")] if rows else None)


def _utility(document: Document) -> Html | None:
    found = document.utility
    if found is None:
        return None
    rows = [
        [_name(each.name), _value(each.value), _value(each.standard_error), f"{_value(each.noise)} times"]
        for each in told_coefficients(found)
    ]
    heads = ["coefficient", "value", "standard error", "noise, of it"]
    return together(
        paragraph(utility_sentence(found)),
        table("Coefficients, in the units of the model's features", heads, rows) if rows else None,
        _rest(len(found.coefficients) - len(rows), "coefficients, with less noise for their standard error"),
        None if found.alternatives is None else table(ALTERNATIVES, *alternatives(found.alternatives)),
    )


def _left_out(document: Document) -> Html | None:
    if document.silence is None:
        return None
    return paragraph(f"Left out: the most exposed people. {silence_sentence(document.silence, document)}")


def _interval(ends: tuple[Number, Number] | None) -> str:
    return NOTHING if ends is None else f"{number(ends[0].value)} to {number(ends[1].value)}"


def _name(text: str, unit: str | None = None) -> Html:
    shown = tag("bdi", name(text))
    return together(shown, " ", tag("span", f"({name(unit)})", class_="unit")) if unit else shown


def _value(value: Number | None) -> str:
    return NOTHING if value is None else number(value.value)


def _more(entries: Sequence[object], what: str) -> Html | None:
    return _rest(len(entries) - _MOST_ROWS, what)


def _rest(count: int, what: str) -> Html | None:
    return paragraph(f"… and {count:,} more {what}, in the JSON.") if count > 0 else None


def _figure(picture: Html | None) -> Html | None:
    return None if picture is None else tag("figure", picture)
