"""The report as Markdown."""

import re
from collections.abc import Iterable

from seepage.pages import Grid, name, sentence
from seepage.report._document import Document, Grouping
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


def _table(grid: Grid) -> str:
    lines = [list(map(_plain, row)) for row in (grid.heads, *grid.rows[:_MOST_ROWS])]
    lines.insert(1, ["---", *["---:"] * (len(grid.heads) - 1)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _told(document: Document) -> list[str]:
    said = _list(map(_plain, finding_sentences(document)))
    tables = "\n\n".join(f"{each.caption}:\n\n{_table(each)}" for each in attribute_grids(document))
    return ["## In short", said, "## Attributes", tables]


def _groups(grouping: Grouping) -> str:
    return f"## Groups by {_plain(name(grouping.name))}\n\n{_table(group_grid(grouping))}"


def _utility(document: Document) -> str:
    found = document.utility
    if found is None:
        return ""
    tables = [f"{each.caption}:\n\n{_table(each)}" for each in utility_grids(found)]
    return "\n\n".join(["## What the noise costs", _plain(utility_sentence(found)), *tables])


def _exposed(document: Document) -> str:
    found = exposed_grid(document)
    return "" if found is None else f"## The most exposed people\n\n{_table(found)}"
