"""The report as HTML: one page, or a part of one."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from seepage.report.write import _words as words
from seepage.report.write._meaning import facts, handling, meanings
from seepage.report.write._svg import left_over, ridges

_MOST_ROWS = 25
_STYLE = Path(__file__).with_name("report.css")
_SIGNS = {"met": "✓", "missed": "✗", "none": words.NOTHING, "withheld": words.NOTHING}


def page(content: Mapping[str, Any]) -> str:
    """Return a page that needs nothing else."""
    title = escape(words.name(content["title"], 120))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # Nothing is loaded and nothing runs, whatever a name in the data says.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>body{{margin:0}}</style>\n</head>\n<body>\n"
        f"<main>{_article(content, 1)}</main>\n</body>\n</html>\n"
    )


def snippet(content: Mapping[str, Any]) -> str:
    """Return the report to stand inside another page, under headings of the second level."""
    return _article(content, 2)


def _article(content: Mapping[str, Any], level: int) -> str:
    # Two reports may stand in one notebook: what they refer to by id must differ.
    mark = "s" + hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]
    sections = [
        ("In short", _list(content["findings"]) if content["findings"] else _paragraph("Nothing can be said.")),
        ("Attributes", _attributes(content, mark)),
        *(
            (f"Groups by {words.name(each['name'])}", _groups(each, content, f"{mark}g{i}"))
            for i, each in enumerate(content["groups"])
        ),
        ("People" if content["edition"] == "internal" else "How exposure is spread", _people(content, mark)),
        ("What the numbers mean", _terms(meanings(content))),
        ("What they take for granted", _list(content["assumptions"])),
        ("Where this comes from", _terms(facts(content)) + _left_out(content)),
    ]
    body = "".join(
        f"<section><h{level + 1}>{escape(head)}</h{level + 1}>{inner}</section>\n" for head, inner in sections if inner
    )
    people = (
        f"{content['people']:,} people, {len(content['attributes']):,} private attributes, {content['created'][:10]}"
    )
    report = (
        f"<style>{_STYLE.read_text(encoding='utf-8')}</style>"
        f'<article class="seepage-report" lang="en"><header>'
        f'<p class="edition {content["edition"]}">{content["edition"].capitalize()} edition</p>'
        f"<h{level}>{escape(words.name(content['title'], 120))}</h{level}>"
        f'<p class="about">{escape(people)}</p></header>\n{_verdict(content["verdict"], level)}\n{body}'
        f"<footer><p>{escape(handling(content))}</p></footer></article>"
    )
    # A sign stays with its number.
    return report.replace("± ", "±\u00a0")


def _verdict(verdict: Mapping[str, Any], level: int) -> str:
    status = verdict["status"]
    targets = ""
    if verdict["targets"]:
        rows = [
            (
                escape(words.sentence(target["sentence"])),
                '<span class="met">✓ met</span>' if target["met"] else '<span class="missed">✗ missed</span>',
                "" if target["factor"] is None else f"{words.number(target['factor'])} times",
            )
            for target in verdict["targets"]
        ]
        heads = ["target", "", "noise needed"]
        if not any(target["factor"] is not None for target in verdict["targets"]):
            rows, heads = [row[:2] for row in rows], heads[:2]  # type: ignore[misc]
        heads[1] = "verdict"
        targets = _table("Targets of the policy, and whether the release meets them", heads, rows)
    return (
        f'<section class="verdict {status}"><h{level + 1}><span aria-hidden="true">{_SIGNS[status]}</span> '
        f"{words.verdict_words(verdict)}</h{level + 1}>{_paragraph(verdict['sentence'])}{targets}</section>"
    )


def _attributes(content: Mapping[str, Any], mark: str) -> str:
    numbers = [entry for entry in content["attributes"] if entry["kind"] == "number"]
    categories = [entry for entry in content["attributes"] if entry["kind"] == "category"]
    return _numbers(content, numbers, mark) + _categories(content, categories)


def _numbers(content: Mapping[str, Any], entries: Sequence[Mapping[str, Any]], mark: str) -> str:
    if not entries:
        return ""
    priors = any(entry["deviation"] is not None for entry in entries)
    heads = ["attribute", *(_whom(share) for share in content["shares"])]
    if priors:
        heads += ["a guess without the release", "left unknown, at least"]
    rows = []
    for entry in entries[:_MOST_ROWS]:
        row = [_name(entry["name"], entry["unit"]), *(_floor(value["floor"]) for value in entry["values"])]
        row += [words.NOTHING] * (1 + len(content["shares"]) - len(row))
        if priors:
            row.append(words.NOTHING if entry["deviation"] is None else f"± {words.number(entry['deviation'])}")
            lefts = [value["variance_left"] for value in entry["values"] if value["variance_left"] is not None]
            row.append(words.percent(min(lefts)) if lefts else words.NOTHING)
        rows.append(row)
    table = _table("No unbiased guess of an attribute is better than this, in its own unit", heads, rows)
    more = _more(len(entries), "attributes")
    picture = left_over(entries, f"{mark}a")
    return table + more + (_figure(picture) if picture else "")


def _categories(content: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> str:
    if not entries:
        return ""
    told = [entry for entry in entries if entry["values"]]
    rows = [
        [_name(entry["name"]), *(words.percent(value["success_rate"]) for value in entry["values"])]
        for entry in told[:_MOST_ROWS]
    ]
    heads = ["category", *(_whom(share) for share in content["shares"])]
    table = ""
    if rows:
        table = _table("No attacker tells a category from another value more often than this", heads, rows)
        table += _more(len(told), "categories")
    silent: dict[str, list[str]] = {}
    for entry in entries:
        if not entry["values"]:
            silent.setdefault(entry["reason"], []).append(words.name(entry["name"]))
    for reason, names in silent.items():
        listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        table += _paragraph(f"Categories about which this report says nothing: {listed}. {reason}")
    return table


def _people(content: Mapping[str, Any], mark: str) -> str:
    picture = ridges([("everyone", content["everyone"])], f"{mark}e", "How eta is spread over all people")
    inner = _figure(picture) if picture and not content["groups"] else ""
    exposed = content["exposed"]
    if exposed:
        names = [floor["name"] for floor in exposed[0]["floors"]]
        heads = ["pseudonym", "eta", "times the median", *(f"error of {words.name(name, 30)}" for name in names)]
        rows = [
            [
                f"<code>{escape(person['pseudonym'])}</code>",
                words.number(person["eta"]),
                words.NOTHING if person["times_median"] is None else words.number(person["times_median"]),
                *(_floor(floor["floor"]) for floor in person["floors"]),
            ]
            for person in exposed
        ]
        inner += _table(f"The {len(rows)} most exposed people", heads, rows)
    return inner


def _groups(grouping: Mapping[str, Any], content: Mapping[str, Any], mark: str) -> str:
    entries = grouping["groups"]
    title = f"How eta is spread within groups by {words.name(grouping['name'])}"
    picture = ridges([("everyone", content["everyone"]), *((e["name"], e) for e in entries)], mark, title)
    public = content["edition"] == "publishable"
    heads = ["group", "people", "median eta", "95% interval", "95% of people, at most"]
    heads += [] if public else ["mean", "largest"]
    rows = []
    for entry in entries[:_MOST_ROWS]:
        interval = entry["interval"]
        row = [
            _name(entry["name"]),
            f"{entry['count']:,}",
            _value(entry["median"]),
            words.NOTHING if interval is None else f"{words.number(interval[0])} to {words.number(interval[1])}",
            _value(entry["high"]),
        ]
        rows.append(row + ([] if public else [_value(entry["mean"]), _value(entry["largest"])]))
    inner = _figure(picture) if picture else ""
    if rows:
        inner += _table("Exposure by group, the most exposed first", heads, rows) + _more(len(entries), "groups")
    if grouping["others"]:
        size = content["smallest_group"]
        inner += _paragraph(
            f"Groups of fewer than {size} people are left out; counts are rounded to multiples of {size}."
        )
    if any(entry["median"] is None for entry in entries):
        inner += _paragraph(f"{words.NOTHING}: too few people to say without speaking of too few.")
    return inner


def _left_out(content: Mapping[str, Any]) -> str:
    return "".join(_paragraph(f"Left out: {entry['what']}. {entry['why']}") for entry in content["left_out"])


def _whom(share: float) -> str:
    return "everyone" if share == 1 else "half the people" if share == 0.5 else f"{words.percent(share)} of people"


def _name(name: str, unit: str | None = None) -> str:
    shown = f"<bdi>{escape(words.name(name))}</bdi>"
    return f'{shown} <span class="unit">({escape(words.name(unit))})</span>' if unit else shown


def _floor(value: float | None) -> str:
    return "no limit" if value is None else f"± {words.number(value)}"


def _value(value: float | None) -> str:
    return words.NOTHING if value is None else words.number(value)


def _more(count: int, what: str) -> str:
    return _paragraph(f"… and {count - _MOST_ROWS:,} more {what}, in the JSON.") if count > _MOST_ROWS else ""


def _paragraph(text: str) -> str:
    return f"<p>{escape(words.sentence(text))}</p>"


def _figure(picture: str) -> str:
    return f"<figure>{picture}</figure>"


def _list(sentences: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(words.sentence(each))}</li>" for each in sentences) + "</ul>"


def _terms(pairs: Iterable[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in pairs) + "</dl>"


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; cells are HTML already, heads and caption are text."""
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>" for row in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table><caption>{escape(caption)}'
        f"</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
