"""The result of looking into a file, and how it is told."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from seepage import pages
from seepage._records import Json
from seepage._version import __version__
from seepage.inspection._finding import RULES, Finding, Word
from seepage.pages import Document, Mark, Section, visible


@dataclass(frozen=True)
class Inspection:
    """What is in a file besides the model.

    It tells no value and no id of anybody, so that it can be sent to whoever made the file.

    Attributes
    ----------
    path : Path
    findings : tuple of Finding
        The gravest first.
    people : int
        How many people the file was held against; 0 if none were given.
    """

    path: Path
    findings: tuple[Finding, ...]
    people: int = 0

    @property
    def verdict(self) -> Word:
        """The worst word of all findings: "pass", "review" or "fail"."""
        words = {each.word for each in self.findings}
        return "fail" if "fail" in words else "review" if words else "pass"

    def document(self) -> Document:
        """Return it as a document."""
        said = tuple(f"{each.word} ({each.sure}): {each.sentence()}" for each in self.findings)
        marks: dict[Word, Mark] = {"pass": "met", "review": "open", "fail": "missed"}
        found = Section("Findings", said or ("None.",), mark=marks[self.verdict])
        return Document(self._headline(), "", (found, Section("Method", (self._how(),))))

    def text(self) -> str:
        """Return it as a person reads it on a terminal."""
        return pages.text(self.document()).rstrip()

    def to_json(self) -> str:
        """Return it for a machine."""
        findings: list[Json] = [
            {**asdict(each), "about": list(each.about), "verdict": each.word, "sentence": each.sentence()}
            for each in self.findings
        ]
        said: dict[str, Json] = {
            "schema": "urn:seepage:inspect:1",
            "seepage": __version__,
            "path": str(self.path),
            "verdict": self.verdict,
            "people": self.people,
            "findings": findings,
            "how": self._how(),
        }
        return json.dumps(said, indent=2, allow_nan=False)

    def to_sarif(self) -> str:
        """Return a log of the Static Analysis Results Interchange Format: one result for each finding."""
        return as_sarif([self])

    def _headline(self) -> str:
        words = {"pass": "holds nobody that was found", "review": "needs a look", "fail": "must not leave as it is"}
        if any(each.kind == "uncompared" for each in self.findings):
            words["review"] = "was compared with no people"
        return f"{self.verdict.upper()}: {visible(self.path.name)} {words[self.verdict]}"

    def _how(self) -> str:
        if not self.people:
            return (
                "No data were given, so it was judged by shapes, classes and names alone: give the data to find rows."
            )
        return (
            f"Held against {self.people:,} people: values as they are, in single precision, rounded, scaled, shifted, "
            "sorted and in another order. What was transformed in another way, or encrypted, is not found."
        )

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return pages.snippet(self.document())


def as_sarif(inspections: Sequence[Inspection]) -> str:
    """Return what was found in several files as one log of the Static Analysis Results Interchange Format.

    Parameters
    ----------
    inspections : sequence of Inspection
    """
    rules = [{"id": f"seepage/inspect-{kind}", "shortDescription": {"text": words}} for kind, words in RULES.items()]
    driver = {"name": "seepage", "semanticVersion": __version__, "rules": rules}
    results = [_result(each.path, finding) for each in inspections for finding in each.findings]
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, indent=2, allow_nan=False)


def _result(path: Path, finding: Finding) -> dict[str, object]:
    from urllib.parse import quote

    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    place = {
        "physicalLocation": {"artifactLocation": {"uri": uri}},
        "logicalLocations": [{"fullyQualifiedName": finding.where}],
    }
    return {
        "ruleId": f"seepage/inspect-{finding.kind}",
        "ruleIndex": list(RULES).index(finding.kind),
        "level": "error" if finding.word == "fail" else "warning",
        "message": {"text": finding.sentence()},
        "locations": [place],
        "partialFingerprints": {"finding/v1": f"{finding.kind}:{finding.where}"},
    }
