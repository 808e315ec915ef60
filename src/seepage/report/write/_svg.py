"""Pictures of a report as inline SVG: text stays text, colors follow the page, and they show the document alone."""

from collections.abc import Callable, Sequence
from math import floor, log10

from seepage.pages import Content, Html, most, name, number, percent, tag
from seepage.report._document import DrawnHistogram, EtaSpread, NumberAttribute

_WIDTH = 680
_LEFT = 170
_RIGHT = 24
_ROW = 46
_MOST_ROWS = 9
# On a narrow screen letters are larger beside the picture, which is as wide as the screen.
_LONGEST_NAME = 18
_MOST_ATTRIBUTES = 16


def _picture(height: float, identifier: str, title: str, description: str, parts: Content) -> Html:
    return tag(
        "svg",
        tag("title", title, id=f"{identifier}-t"),
        tag("desc", description, id=f"{identifier}-d"),
        parts,
        viewBox=f"0 0 {_WIDTH} {height:g}",
        role="img",
        aria_labelledby=f"{identifier}-t {identifier}-d",
        xmlns="http://www.w3.org/2000/svg",
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "label") -> Html:
    return tag("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=kind)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=kind)


def ridges(rows: Sequence[tuple[str, EtaSpread]], identifier: str, title: str) -> Html | None:
    """Draw one histogram of eta a row, over one logarithmic axis, with the medians as ticks."""
    drawn = [(each, eta, eta.histogram) for each, eta in rows if eta.histogram is not None][:_MOST_ROWS]
    if not drawn:
        return None
    low, high = min(bars.edges[0] for _, _, bars in drawn), max(bars.edges[-1] for _, _, bars in drawn)

    def across(value: float) -> float:
        share = (log10(value) - log10(low)) / (log10(high) - log10(low))
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    base, parts = 8.0, []
    bottom = base + _ROW * len(drawn)
    for tick in _ticks(low, high):
        parts.append(_line(across(tick), base, across(tick), bottom + 4, "grid"))
        parts.append(_text(across(tick), bottom + 18, number(tick), anchor="middle", kind="tick"))
    for i, (each, eta, bars) in enumerate(drawn):
        floor_line = base + _ROW * (i + 1)
        parts.append(_outline(bars, across, floor_line))
        parts.append(_text(_LEFT - 12, floor_line - 20, name(each, _LONGEST_NAME), anchor="end"))
        parts.append(_text(_LEFT - 12, floor_line - 3, f"{eta.count.value:,.0f} people", anchor="end", kind="small"))
        if eta.median is not None and eta.median.value > 0:
            x = min(max(across(eta.median.value), _LEFT), _WIDTH - _RIGHT)
            parts.append(_line(x, floor_line, x, floor_line - _ROW + 10, "median"))
        parts.append(_line(_LEFT, floor_line, _WIDTH - _RIGHT, floor_line, "axis"))
    parts.append(_text(_WIDTH - _RIGHT, bottom + 36, "eta (further right: more exposed) →", anchor="end", kind="tick"))
    parts.append(_text(_LEFT, bottom + 36, "heavy line: median", kind="tick"))
    medians = [(each, eta.median.value) for each, eta, _ in drawn if eta.median is not None]
    description = "; ".join(f"{name(each, 40)}: median eta {number(median)}" for each, median in medians)
    return _picture(bottom + 44, identifier, title, description, parts)


def _outline(bars: DrawnHistogram, across: Callable[[float], float], floor_line: float) -> Html:
    total = sum(bars.counts) or 1
    density = [
        count / total / (across(after) - across(before))
        for count, before, after in zip(bars.counts, bars.edges[:-1], bars.edges[1:], strict=True)
    ]
    tallest = max(density) or 1.0
    path = [f"M{across(bars.edges[0]):.1f} {floor_line:g}"]
    for height, after in zip(density, bars.edges[1:], strict=True):
        path.append(f"V{floor_line - (_ROW - 10) * height / tallest:.1f}H{across(after):.1f}")
    return tag("path", d=f"{''.join(path)}V{floor_line:g}Z", class_="ridge")


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


def left_over(entries: Sequence[NumberAttribute], identifier: str) -> Html | None:
    """Draw what the release leaves of the uncertainty about each attribute: one row an attribute, a dot a share."""
    lefts = [
        (
            entry.name,
            [(each.share.value, each.remaining_variance.value) for each in entry.floors if each.remaining_variance],
        )
        for entry in entries
    ]
    drawn = [(each, shares) for each, shares in lefts if shares][:_MOST_ATTRIBUTES]
    if not drawn:
        return None
    row, top = 26.0, 30.0
    bottom = top + row * len(drawn)

    def across(share: float) -> float:
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    parts = []
    for part in range(0, 101, 25):
        x = across(part / 100)
        parts.append(_line(x, top - 4, x, bottom + 2, "grid"))
        parts.append(_text(x, bottom + 16, f"{part}%", anchor="middle", kind="tick"))
    for i, (each, shares) in enumerate(drawn):
        y = top + row * (i + 0.5)
        ends = [across(left) for _, left in shares]
        parts.append(_text(_LEFT - 12, y + 4, name(each, _LONGEST_NAME), anchor="end"))
        parts.append(_line(min(ends), y, max(ends), y, "span"))
        parts += [_mark(j, len(shares), x, y) for j, x in enumerate(ends)]
    x = 12.0
    for j, (share, _) in enumerate(drawn[0][1]):
        label = _whom(share)
        parts += [_mark(j, len(drawn[0][1]), x, 10), _text(x + 10, 14, label, kind="tick")]
        x += 36 + 8.4 * len(label)
    label = "share of the variance that is left (100%: the release says nothing)"
    parts.append(_text(_WIDTH - _RIGHT, bottom + 34, label, anchor="end", kind="tick"))
    description = "; ".join(f"{name(each, 40)}: {percent(shares[-1][1])} left" for each, shares in drawn)
    return _picture(bottom + 42, identifier, "What the release leaves unknown about each attribute", description, parts)


def _whom(share: float) -> str:
    if share == 1:
        return "most exposed person"
    return "median person" if share == 0.5 else f"at least, for {most(share)}"


def _mark(place: int, count: int, x: float, y: float) -> Html:
    """Return a circle for half the people, a square for most, a diamond for the most exposed."""
    if place == 0:
        return tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="5", class_="half")
    if place < count - 1:
        return tag("rect", x=f"{x - 4.5:.1f}", y=f"{y - 4.5:.1f}", width="9", height="9", class_="most")
    return tag("path", d=f"M{x:.1f} {y - 6.5:.1f}l6.5 6.5l-6.5 6.5l-6.5 -6.5Z", class_="worst")
