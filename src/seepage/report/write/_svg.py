"""Pictures of a report as inline SVG: text stays text, colors follow the page, and they show the content alone."""

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10
from typing import Any

from seepage.report.write import _words as words

_WIDTH = 680
_LEFT = 170
_RIGHT = 24
_ROW = 46
_MOST_ROWS = 9
_MOST_ATTRIBUTES = 16


def _picture(height: float, identifier: str, title: str, description: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:g}" role="img" aria-labelledby="{identifier}-t {identifier}-d" '
        f'xmlns="http://www.w3.org/2000/svg"><title id="{identifier}-t">{escape(title)}</title>'
        f'<desc id="{identifier}-d">{escape(description)}</desc>{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "label") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def ridges(rows: Sequence[tuple[str, Mapping[str, Any]]], identifier: str, title: str) -> str | None:
    """Draw one histogram of eta a row, over one logarithmic axis, with the medians as ticks."""
    drawn = [(name, entry) for name, entry in rows if entry["histogram"] is not None][:_MOST_ROWS]
    if not drawn:
        return None
    low = min(entry["histogram"]["edges"][0] for _, entry in drawn)
    high = max(entry["histogram"]["edges"][-1] for _, entry in drawn)

    def across(value: float) -> float:
        share = (log10(value) - log10(low)) / (log10(high) - log10(low))
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    base, parts = 8.0, []
    bottom = base + _ROW * len(drawn)
    for tick in _ticks(low, high):
        parts.append(_line(across(tick), base, across(tick), bottom + 4, "grid"))
        parts.append(_text(across(tick), bottom + 18, words.number(tick), anchor="middle", kind="tick"))
    for i, (name, entry) in enumerate(drawn):
        floor_line = base + _ROW * (i + 1)
        parts.append(_outline(entry["histogram"], across, floor_line))
        parts.append(_text(_LEFT - 12, floor_line - 16, words.name(name, 24), anchor="end"))
        parts.append(_text(_LEFT - 12, floor_line - 3, f"{entry['count']:,} people", anchor="end", kind="small"))
        if entry["median"]:
            x = min(max(across(entry["median"]), _LEFT), _WIDTH - _RIGHT)
            parts.append(_line(x, floor_line, x, floor_line - _ROW + 10, "median"))
        parts.append(_line(_LEFT, floor_line, _WIDTH - _RIGHT, floor_line, "axis"))
    parts.append(_text(_WIDTH - _RIGHT, bottom + 36, "eta (further right: more exposed) →", anchor="end", kind="tick"))
    parts.append(_text(_LEFT, bottom + 36, "heavy line: median", kind="tick"))
    medians = [(name, entry["median"]) for name, entry in drawn if entry["median"] is not None]
    description = "; ".join(f"{words.name(name, 40)}: median eta {words.number(median)}" for name, median in medians)
    return _picture(bottom + 44, identifier, title, description, parts)


def _outline(drawn: Mapping[str, Any], across: Any, floor_line: float) -> str:
    edges, counts = drawn["edges"], drawn["counts"]
    total = sum(counts) or 1
    density = [
        count / total / (across(after) - across(before))
        for count, before, after in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    tallest = max(density) or 1.0
    path = [f"M{across(edges[0]):.1f} {floor_line:g}"]
    for height, after in zip(density, edges[1:], strict=True):
        path.append(f"V{floor_line - (_ROW - 10) * height / tallest:.1f}H{across(after):.1f}")
    return f'<path d="{"".join(path)}V{floor_line:g}Z" class="ridge"/>'


def _ticks(low: float, high: float) -> list[float]:
    decades = range(floor(log10(low)), floor(log10(high)) + 1)
    for steps in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        found = [step * 10.0**decade for decade in decades for step in steps]
        found = [tick for tick in found if low * 0.999 <= tick <= high * 1.001]
        if len(found) <= 9:
            break
    if len(found) >= 2:
        return found
    fine = [step * 10.0**decade / 10 for decade in decades for step in range(10, 100)]
    inside = [tick for tick in fine if low <= tick <= high]
    return inside[:: max(len(inside) // 5, 1)] or [low]


def left_over(entries: Sequence[Mapping[str, Any]], identifier: str) -> str | None:
    """Draw what the release leaves of the uncertainty about each attribute: one row an attribute, a dot a share."""
    drawn = [e for e in entries if e["values"] and e["values"][-1].get("variance_left") is not None][:_MOST_ATTRIBUTES]
    if not drawn:
        return None
    row, top = 26.0, 30.0
    bottom = top + row * len(drawn)

    def across(share: float) -> float:
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    parts = []
    for percent in range(0, 101, 25):
        x = across(percent / 100)
        parts.append(_line(x, top - 4, x, bottom + 2, "grid"))
        parts.append(_text(x, bottom + 16, f"{percent}%", anchor="middle", kind="tick"))
    for i, entry in enumerate(drawn):
        y = top + row * (i + 0.5)
        shares = [(value["share"], value["variance_left"]) for value in entry["values"]]
        lefts = [left for _, left in shares]
        parts.append(_text(_LEFT - 12, y + 4, words.name(entry["name"], 24), anchor="end"))
        parts.append(_line(across(min(lefts)), y, across(max(lefts)), y, "span"))
        parts += [_mark(j, len(shares), across(left), y) for j, (_, left) in enumerate(shares)]
    x = float(_LEFT)
    for j, value in enumerate(drawn[0]["values"]):
        label = _whom(value["share"])
        parts += [_mark(j, len(drawn[0]["values"]), x, 10), _text(x + 10, 14, label, kind="tick")]
        x += 36 + 6.2 * len(label)
    label = "share of the variance that is left (100%: the release says nothing)"
    parts.append(_text(_WIDTH - _RIGHT, bottom + 34, label, anchor="end", kind="tick"))
    description = "; ".join(
        f"{words.name(e['name'], 40)}: {words.percent(e['values'][-1]['variance_left'])} left" for e in drawn
    )
    return _picture(bottom + 42, identifier, "What the release leaves unknown about each attribute", description, parts)


def _whom(share: float) -> str:
    return (
        "most exposed person"
        if share == 1
        else "median person"
        if share == 0.5
        else f"at least, for {words.most(share)}"
    )


def _mark(place: int, count: int, x: float, y: float) -> str:
    """Return a circle for half the people, a square for most, a diamond for the most exposed."""
    if place == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="half"/>'
    if place < count - 1:
        return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" class="most"/>'
    return f'<path d="M{x:.1f} {y - 6.5:.1f}l6.5 6.5l-6.5 6.5l-6.5 -6.5Z" class="worst"/>'
