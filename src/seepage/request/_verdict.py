"""A verdict: what is decided, and how it is told."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seepage import pages
from seepage._records import Json
from seepage.errors import InputError
from seepage.pages import DocumentFiles
from seepage.request._decided import Decided, MissedTarget, Rule
from seepage.request._document import about, document, pictures, reasons
from seepage.request._held import Figure
from seepage.request._sacro import add_to, stem, write_folder


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
        """Return the words and what is public: no ids, counts, figures, attributes, nor what else single people chose.

        Which outputs it takes, of those that fail together, and what mends it are found from the rows: they stay with
        whoever decides.
        """
        outputs = tuple(
            replace(
                each,
                figure=None,
                people=0,
                # Others quote numbers of the people.
                reasons=each.reasons if each.unread else (),
                findings=_bare((each.name,), (each.name,)) if each.findings else (),
                mends=(),
                rules=tuple(replace(rule, number=None, about="") for rule in each.rules),
            )
            for each in self.outputs
        )
        stages = tuple(
            replace(each, patterns=(), reasons=(), findings=_bare(each.outputs, ()) if each.findings else ())
            for each in self.stages
        )
        return replace(self, people=0, outputs=outputs, stages=stages, internal=False)

    def write(self, folder: str | os.PathLike[str], *, replace: bool = False) -> tuple[Path, ...]:
        """Write the verdict as HTML, text of 80 columns, JSON and PNG, each complete by itself.

        For places that show no pages. The internal edition can be read by its owner alone (mode 0600). Pictures need
        the extra `report`.

        Parameters
        ----------
        folder : path
            A new folder, or an empty one.
        replace : bool, default=False
            Whether files that were written there before are replaced.

        Returns
        -------
        tuple of Path
            The files.
        """
        return self._files("verdict").write(folder, replace=replace, private=self.internal)

    def text(self) -> str:
        """Return it as a person reads it on a terminal."""
        return pages.text(document(self)).rstrip()

    def html(self) -> str:
        """Return it as a page that needs nothing else."""
        return pages.html(document(self), pictures(self))

    def to_json(self) -> str:
        """Return it for a machine."""
        return json.dumps(_json(self), indent=2, allow_nan=False)

    def worksheet(self) -> Iterator[tuple[str, ...]]:
        """Yield a line for each output and stage: request, output, what it is, verdict, why."""
        for each in self.outputs:
            yield self.name, each.name, each.what, each.said, "; ".join(reasons(each))
        for stage in self.stages:
            yield self.name, stage.name, f"{len(stage.outputs)} outputs", stage.word, " ".join(reasons(stage))

    def to_sacro(self, into: Any) -> None:
        """Hand it to SACRO: as a folder that SACRO Viewer opens, or into a session of ACRO.

        Each output is a record with its own file, its word as the status (what was not checked is for review), and
        why. One more holds the publishable edition as text, CSV, JSON and PNG. Nothing of the internal edition is in
        it, whichever edition this is.

        Parameters
        ----------
        into : path or acro.ACRO
            A new folder, or a session, whose `finalise` then writes these records with its own.

        Examples
        --------
        >>> import pandas as pd, seepage, tempfile, pathlib
        >>> people = pd.DataFrame({"id": range(400), "age": [20 + i % 61 for i in range(400)]})
        >>> table = seepage.models.Aggregate(of=["age"], statistics=["mean"])
        >>> may = seepage.measure(table.fit(people), people, ids="id", known_records=0)
        >>> folder = pathlib.Path(tempfile.mkdtemp()) / "for the viewer"
        >>> seepage.request.check({"May": may}, people=people).to_sacro(folder)
        >>> sorted(each.name for each in folder.iterdir())[:3]
        ['checksums', 'config.json', 'request-verdict.json']
        """
        public = self.for_everybody()
        files = public._files(stem(public))
        if isinstance(into, str | os.PathLike):
            write_folder(Path(into), public, files)
        elif hasattr(into, "results") and hasattr(into, "config"):
            add_to(into, public, files)
        else:
            raise InputError(
                f"to_sacro takes the path of a new folder, or a session of ACRO (acro.ACRO()), not a "
                f"{type(into).__name__}."
            )

    def _files(self, stem: str) -> DocumentFiles:
        return DocumentFiles.of(stem, document(self), pictures(self))

    def __str__(self) -> str:
        return self.text()


def _bare(inside: tuple[str, ...], pair: tuple[str, ...]) -> tuple[MissedTarget, ...]:
    """Return that some outputs leave something of somebody, however many findings say so."""
    return (MissedTarget(inside, (), (), 0, (), None, pair),)


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

    def finding(one: MissedTarget) -> Json:
        found: dict[str, Json] = {"sentence": one.sentence(), "attributes": list(one.attributes)}
        found |= {"outputs": list(one.pair), "mends": [mend.sentence() for mend in one.mends]}
        if verdict.internal:
            found |= {"people": [str(each) for each in one.people], "figure": figure(one.figure)}
        return found

    def rule(one: Rule) -> Json:
        number: dict[str, Json] = {"number": one.number} if verdict.internal else {}
        return {"name": one.name, "limit": one.limit, "verdict": one.word, **number}

    outputs: list[Json] = []
    for each in verdict.outputs:
        said: dict[str, Json] = {"name": each.name, "what": each.what, "verdict": each.said}
        said |= {"reasons": list(each.reasons), "findings": [finding(one) for one in each.findings]}
        said["mends"] = [mend.sentence() for mend in each.mends]
        if each.rules:
            said["risk_appetite"] = {"sentence": each.by_rules, "rules": [rule(one) for one in each.rules]}
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
        "how": list(about(verdict)),
    }
