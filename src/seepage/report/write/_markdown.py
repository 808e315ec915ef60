"""The report as Markdown."""

import re
from collections.abc import Iterable, Sequence

from seepage._facts import Number
from seepage.pages import NOTHING, most, name, number, percent, sentence
from seepage.report._document import Document, Grouping
from seepage.report.write._amounts import alternatives, error, guesses
from seepage.report.write._findings import finding_sentences
from seepage.report.write._meaning import (
    ALTERNATIVES,
    assumption_sentences,
    facts,
    handling,
    meanings,
    told_coefficients,
    utility_sentence,
)
from seepage.report.write._verdict import (
    headline,
    silence_sentence,
    target_sentence,
    untargeted_sentence,
    verdict_sentence,
)

_MOST_ROWS = 25
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")


def markdown(document: Document, *, heading: bool) -> str:
    """Return the report as Markdown, with or without its title."""
    document.check_leaving()
    verdict, silence = document.verdict, document.silence
    left_out = [] if silence is None else [f"Left out: the most exposed people. {silence_sentence(silence, document)}"]
    parts = [
        f"# {_plain(name(document.title, 120))}" if heading else "",
        f"**{headline(verdict)}.** {_plain(verdict_sentence(document))}",
        f"**{_plain(left)}**" if (left := untargeted_sentence(document)) else "",
        _list(
            f"{'met' if each.met else '**missed**'}: {_plain(target_sentence(each.target, document))}"
            for each in verdict.judgments
        ),
        *([] if document.is_public else _told(document)),
        *map(_groups, document.groupings),
        _utility(document),
        _exposed(document),
        "## What the numbers mean" if meanings(document) else "",
        _list(f"**{_plain(term)}**: {_plain(text)}" for term, text in meanings(document)),
        "## What they take for granted",
        _list(map(_plain, assumption_sentences(document))),
        "## Where this comes from",
        _list(f"{_plain(term)}: {_plain(text)}" for term, text in facts(document)),
        _list(map(_plain, left_out)),
        f"*{_plain(handling(document))}*",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _plain(text: str) -> str:
    """Return text that Markdown shows as it is, HTML included."""
    escaped = _SPECIAL.sub(r"\\\1", sentence(text))
    return escaped.replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\&", "&amp;")


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _told(document: Document) -> list[str]:
    said = _list(map(_plain, finding_sentences(document)))
    return ["## In short", said, "## Attributes", _attributes(document)]


def _attributes(document: Document) -> str:
    whom = [most(share.value) for share in document.shares]
    numbers = [
        [
            _named(entry.name, entry.unit),
            *(error(each) for each in entry.floors),
        ]
        for entry in document.numbers
        if entry.floors
    ]
    categories = [
        [_named(entry.name, None), *(percent(each.success_rate.value) for each in entry.rates)]
        for entry in document.categories
        if entry.rates
    ]
    parts = [
        "No unbiased guess of an attribute is better than this, in its own unit:" if numbers else "",
        _table(["attribute", *whom], numbers[:_MOST_ROWS]),
        "At equal odds, no attacker tells a category from another value more often than this:" if categories else "",
        _table(["category", *whom], categories[:_MOST_ROWS]),
    ]
    return "\n\n".join(part for part in parts if part)


def _groups(grouping: Grouping) -> str:
    rows = [
        [
            _plain(name(each.name)),
            f"{each.eta.count.value:,.0f}",
            _value(each.eta.median),
            NOTHING if each.eta.interval is None else " to ".join(map(_value, each.eta.interval)),
            _value(each.eta.high),
        ]
        for each in grouping.groups[:_MOST_ROWS]
    ]
    heads = ["group", "people", "median eta", "95% interval", "95% of people, at most"]
    return f"## Groups by {_plain(name(grouping.name))}\n\n{_table(heads, rows)}"


def _utility(document: Document) -> str:
    found = document.utility
    if found is None:
        return ""
    rows = [
        [_plain(name(each.name)), _value(each.value), _value(each.standard_error), f"{_value(each.noise)} times"]
        for each in told_coefficients(found)
    ]
    table = _table(["coefficient", "value", "standard error", "noise, of it"], rows)
    parts = ["## What the noise costs", _plain(utility_sentence(found)), table]
    if found.alternatives is not None:
        heads, others = alternatives(found.alternatives)
        parts += [f"{ALTERNATIVES}:", _table(heads, [[_plain(first), *rest] for first, *rest in others])]
    return "\n\n".join(parts)


def _exposed(document: Document) -> str:
    if not document.exposed:
        return ""
    rows = [
        [
            f"`{_plain(person.pseudonym)}`",
            _value(person.eta),
            _value(person.times_median),
            NOTHING if person.through is None else _plain(name(person.through.attribute)),
            *([NOTHING] * 2 if person.through is None else map(_plain, guesses(person.through))),
        ]
        for person in document.exposed
    ]
    heads = ["pseudonym", "eta", "times the median", "exposed most through", "best guess", "blind guess"]
    return f"## The most exposed people\n\n{_table(heads, rows)}"


def _named(text: str, unit: str | None) -> str:
    return _plain(name(text)) + (f" ({_plain(name(unit))})" if unit else "")


def _value(value: Number | None) -> str:
    return NOTHING if value is None else number(value.value)
