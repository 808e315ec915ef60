"""A verdict: what is decided, and how it is told."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from seepage._records import Json
from seepage.request._decided import Decided, Finding, OutputVerdict
from seepage.request._held import Figure
from seepage.request._page import page
from seepage.request._text import text


@dataclass(frozen=True)
class Verdict(Decided):
    """What is decided about a request: pass, review or fail for each output, for all together, and why.

    Its word is the worst of all outputs and stages; findings say whom outputs leave, and what mends it.

    Attributes
    ----------
    name : str
        Of the request.
    asked : str
        What must hold, in words.
    people : int
        How many people there are.
    outputs : tuple of OutputVerdict
    stages : tuple of Stage
        All outputs together, and with what was let out before.
    internal : bool
        Whether it holds anything about single people; `for_everybody` leaves that out.
    """

    def for_everybody(self) -> "Verdict":
        """Return the same without what single people decided beyond the words: no ids, counts, figures, attributes."""
        outputs = tuple(
            replace(
                each,
                figure=None,
                people=0,
                # Others quote numbers of the people.
                reasons=each.reasons if each.unread else (),
                findings=tuple(map(_bare, each.findings)),
            )
            for each in self.outputs
        )
        stages = tuple(
            replace(each, patterns=(), reasons=(), findings=tuple(map(_bare, each.findings))) for each in self.stages
        )
        return replace(self, people=0, outputs=outputs, stages=stages, internal=False)

    def text(self) -> str:
        """Return it as a person reads it on a terminal."""
        return text(self)

    def html(self) -> str:
        """Return it as a page that needs nothing else."""
        return page(self)

    def to_json(self) -> str:
        """Return it for a machine."""
        return json.dumps(_json(self), indent=2, allow_nan=False)

    def worksheet(self) -> Iterator[tuple[str, ...]]:
        """Yield a line for each output and stage: request, output, what it is, verdict, why."""
        for each in self.outputs:
            yield self.name, each.name, each.what, _word(each), "; ".join(_why(each))
        for stage in self.stages:
            why = [finding.sentence() for finding in stage.findings] + list(stage.reasons)
            yield self.name, stage.name, f"{len(stage.outputs)} outputs", stage.word, " ".join(why)

    def __str__(self) -> str:
        return self.text()


def _bare(finding: Finding) -> Finding:
    mends = tuple(each for each in finding.mends if each.kind == "leave out")
    return replace(finding, count=0, people=(), figure=None, attributes=(), mends=mends, inside=(), outside=())


def _word(each: OutputVerdict) -> str:
    return each.word if each.checked else "not checked"


def _why(each: OutputVerdict) -> list[str]:
    found = [finding.sentence() for finding in each.findings] + list(each.reasons)
    return found or ([each.figure.sentence()] if each.figure is not None else [])


def _json(verdict: Verdict) -> Json:
    def figure(one: Figure | None) -> Json:
        if one is None:
            return None
        return {
            "attribute": one.attribute,
            "kind": one.kind,
            "value": one.value,
            "target": one.target,
            "attacker": one.attacker,
        }

    def finding(one: Finding) -> Json:
        found: dict[str, Json] = {"sentence": one.sentence(), "attributes": list(one.attributes)}
        found |= {"outputs": list(one.pair), "mends": [mend.sentence() for mend in one.mends]}
        if verdict.internal:
            found |= {"people": [str(each) for each in one.people], "figure": figure(one.figure)}
        return found

    outputs: list[Json] = []
    for each in verdict.outputs:
        said: dict[str, Json] = {"name": each.name, "what": each.what, "verdict": _word(each)}
        said |= {"reasons": list(each.reasons), "findings": [finding(one) for one in each.findings]}
        said["mends"] = [mend.sentence() for mend in each.mends]
        if verdict.internal:
            said |= {"people": each.people, "figure": figure(each.figure)}
        outputs.append(said)
    stages: list[Json] = [
        {
            "name": each.name,
            "verdict": each.word,
            "outputs": list(each.outputs),
            "reasons": list(each.reasons),
            "findings": [finding(one) for one in each.findings],
        }
        for each in verdict.stages
    ]
    return {
        "request": verdict.name,
        "verdict": verdict.word,
        "edition": "internal" if verdict.internal else "publishable",
        "asked": verdict.asked,
        "outputs": outputs,
        "together": stages,
    }
