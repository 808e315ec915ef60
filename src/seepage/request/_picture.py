"""People by output, as a picture for a page and for a folder."""

from seepage.display import OverlapDisplay
from seepage.request._decided import Decided, Stage


def overlap(stage: Stage) -> OverlapDisplay | None:
    """Return the picture of some outputs; None for one output, and in the publishable edition."""
    if not stage.patterns or len(stage.outputs) < 2:
        return None
    broken = [each.inside for each in stage.findings if each.inside]
    return OverlapDisplay.from_patterns(stage.outputs, dict(stage.patterns), broken=broken)


def pictures(verdict: Decided) -> dict[str, bytes]:
    """Return PNG by name: people by output, where it may be published."""
    shown = {f"overlap-{place}": overlap(stage) for place, stage in enumerate(verdict.stages, 1)}
    return {name: picture.png() for name, picture in shown.items() if picture is not None}
