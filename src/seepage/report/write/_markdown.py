"""The report as Markdown."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seepage.report.write import _words as words
from seepage.report.write._meaning import facts, handling, meanings

_MOST_ROWS = 25
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")


def markdown(content: Mapping[str, Any], *, heading: bool) -> str:
    """Return the report as Markdown, with or without its title."""
    verdict, sub = content["verdict"], "##"
    parts = [
        f"# {_plain(words.name(content['title'], 120))}" if heading else "",
        f"**{words.verdict_words(verdict)}.** {_plain(verdict['sentence'])}",
        _list(f"{'met' if t['met'] else '**missed**'}: {_plain(t['sentence'])}" for t in verdict["targets"]),
        f"{sub} In short",
        _list(_plain(finding) for finding in content["findings"]),
        f"{sub} Attributes",
        _attributes(content),
        *(_groups(grouping, sub) for grouping in content["groups"]),
        _exposed(content, sub),
        f"{sub} What the numbers mean",
        _list(f"**{_plain(term)}**: {_plain(text)}" for term, text in meanings(content)),
        f"{sub} What they take for granted",
        _list(_plain(sentence) for sentence in content["assumptions"]),
        f"{sub} Where this comes from",
        _list(f"{_plain(term)}: {_plain(text)}" for term, text in facts(content)),
        _list(_plain(f"Left out: {entry['what']}. {entry['why']}") for entry in content["left_out"]),
        f"*{_plain(handling(content))}*",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _plain(text: str) -> str:
    """Return text that Markdown shows as it is, HTML included."""
    return (
        _SPECIAL.sub(r"\\\1", words.sentence(text))
        .replace("\\<", "&lt;")
        .replace("\\>", "&gt;")
        .replace("\\&", "&amp;")
    )


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _attributes(content: Mapping[str, Any]) -> str:
    whom = [words.most(share) for share in content["shares"]]
    numbers, categories = [], []
    for entry in content["attributes"]:
        name = _plain(words.name(entry["name"]))
        if entry["unit"]:
            name += f" ({_plain(words.name(entry['unit']))})"
        if not entry["values"]:
            continue
        if entry["kind"] == "number":
            floors = [value["floor"] for value in entry["values"]]
            numbers.append([name, *("no limit" if floor is None else f"± {words.number(floor)}" for floor in floors)])
        else:
            categories.append([name, *(words.percent(value["success_rate"]) for value in entry["values"])])
    parts = [
        "No unbiased guess of an attribute is better than this, in its own unit:" if numbers else "",
        _table(["attribute", *whom], numbers[:_MOST_ROWS]),
        "No attacker tells a category from another value more often than this:" if categories else "",
        _table(["category", *whom], categories[:_MOST_ROWS]),
    ]
    return "\n\n".join(part for part in parts if part) or "Nothing can be said about single attributes."


def _groups(grouping: Mapping[str, Any], sub: str) -> str:
    rows = [
        [
            _plain(words.name(entry["name"])),
            f"{entry['count']:,}",
            words.NOTHING if entry["median"] is None else words.number(entry["median"]),
            words.NOTHING if entry["interval"] is None else " to ".join(map(words.number, entry["interval"])),
            words.NOTHING if entry["high"] is None else words.number(entry["high"]),
        ]
        for entry in grouping["groups"][:_MOST_ROWS]
    ]
    heads = ["group", "people", "median eta", "95% interval", "95% of people, at most"]
    return f"{sub} Groups by {_plain(words.name(grouping['name']))}\n\n{_table(heads, rows)}"


def _exposed(content: Mapping[str, Any], sub: str) -> str:
    if not content["exposed"]:
        return ""
    rows = [
        [
            f"`{person['pseudonym']}`",
            words.number(person["eta"]),
            words.NOTHING if person["times_median"] is None else words.number(person["times_median"]),
        ]
        for person in content["exposed"]
    ]
    return f"{sub} The most exposed people\n\n{_table(['pseudonym', 'eta', 'times the median'], rows)}"
