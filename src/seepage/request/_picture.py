"""Who is in which outputs, as a drawing for a page; and pictures for where no page is shown."""

from collections.abc import Iterator

from seepage.display import DecisionDisplay, OverlapDisplay
from seepage.pages import Html, name, tag
from seepage.request._decided import Decided, MissedTarget, Stage
from seepage.request._text import about, headline, people_named, upper, why

# One unit of the picture, in pixels of the drawing.
_UNIT = 90.0
_ROW, _COLUMN, _LEFT = 24.0, 46.0, 190.0


def overlap(stage: Stage) -> OverlapDisplay | None:
    """Return the picture of some outputs; None where who is in them may not be told."""
    if not stage.patterns:
        return None
    broken = [each.inside for each in stage.findings if each.inside]
    return OverlapDisplay.from_patterns(stage.outputs, dict(stage.patterns), broken=broken)


def pictures(verdict: Decided) -> dict[str, bytes]:
    """Return PNG by name: the verdict, and who is in which outputs where that may be told."""
    edition = "Internal edition: personal data, for you alone." if verdict.internal else "Publishable edition."
    remarks = [*_found(verdict), *about(verdict), edition]
    found = {"": DecisionDisplay.from_rows(headline(verdict), _rows(verdict), remarks=remarks).png()}
    for place, stage in enumerate(verdict.stages, 1):
        shown = overlap(stage)
        if shown is not None and len(stage.outputs) > 1:
            found[f"overlap-{place}"] = shown.png()
    return found


def _rows(verdict: Decided) -> list[tuple[str, str]]:
    outputs = [(each.said, f"{each.name}: {each.what}. {why(each)}".rstrip()) for each in verdict.outputs]
    return [*outputs, *((each.word, f"{upper(each.name)}: {', '.join(each.outputs)}") for each in verdict.stages)]


def _found(verdict: Decided) -> Iterator[str]:
    stages = [finding for each in verdict.stages for finding in each.findings]
    for finding in verdict.findings if verdict.internal else stages:
        yield " ".join([finding.sentence(), *_inside(finding), *(mend.sentence() for mend in finding.mends)])
    yield from (reason for each in verdict.stages for reason in each.reasons)
    yield from (mend.sentence() for each in verdict.outputs for mend in each.mends)


def _inside(finding: MissedTarget) -> Iterator[str]:
    if finding.figure is not None:
        yield f"Nearest: {finding.figure.sentence()}."
    if finding.people:
        yield f"Whom: {people_named(finding)}."


def drawing(shown: OverlapDisplay) -> Html:
    """Return it for a page."""
    return _circles(shown) if shown.are_circles else _dots(shown)


def _circles(shown: OverlapDisplay) -> Html:
    low = -2.05 if len(shown.outputs) > 2 else -1.5
    height, width = (1.85 - low) * _UNIT, 4.8 * _UNIT

    def at(x: float, y: float) -> tuple[str, str]:
        return f"{width / 2 + x * _UNIT:.1f}", f"{(1.85 - y) * _UNIT:.1f}"

    parts = []
    for circle in shown.circles():
        x, y = at(circle.x, circle.y)
        parts.append(tag("circle", cx=x, cy=y, r=f"{circle.radius * _UNIT:.1f}", class_="output"))
    for circle in shown.circles():
        x, y = at(*circle.label)
        parts.append(tag("text", name(circle.name, 24), x=x, y=y, text_anchor="middle", class_="small"))
    for region in shown.regions():
        x, y = at(region.x, region.y - 0.05)
        words = f"{region.people:,}*" if region.broken else f"{region.people:,}"
        parts.append(tag("text", words, x=x, y=y, text_anchor="middle", class_="missed" if region.broken else None))
    return _svg(parts, width, height)


def _dots(shown: OverlapDisplay) -> Html:
    columns, top = shown.columns(), 44.0
    width, height = _LEFT + _COLUMN * len(columns) + 20, top + _ROW * len(shown.outputs) + 10
    parts = []
    for i, output in enumerate(shown.outputs):
        y = f"{top + _ROW * (i + 0.5) + 4:.1f}"
        parts.append(tag("text", name(output, 24), x=f"{_LEFT - 16:.0f}", y=y, text_anchor="end", class_="tick"))
    for j, (inside, count, broken) in enumerate(columns):
        x, kind = f"{_LEFT + _COLUMN * (j + 0.5):.1f}", "missed" if broken else None
        rows = [i for i, output in enumerate(shown.outputs) if output in inside]
        y1, y2 = (f"{top + _ROW * (i + 0.5):.1f}" for i in (rows[0], rows[-1]))
        parts.append(tag("line", x1=x, x2=x, y1=y1, y2=y2, class_=f"link {kind or ''}".strip()))
        for i in range(len(shown.outputs)):
            dot = "dot" if i in rows else "dot none"
            parts.append(
                tag("circle", cx=x, cy=f"{top + _ROW * (i + 0.5):.1f}", r="6.5", class_=f"{dot} {kind or ''}".strip())
            )
        words = f"{count:,}*" if broken else f"{count:,}"
        parts.append(tag("text", words, x=x, y=f"{top - 14:.0f}", text_anchor="middle", class_=kind or "small"))
    return _svg(parts, width, height)


def _svg(parts: list[Html], width: float, height: float) -> Html:
    return tag(
        "svg",
        parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="img",
        aria_label="How many people are in which outputs; starred where a target is missed",
        style=f"max-width:{width:.0f}px",
    )
