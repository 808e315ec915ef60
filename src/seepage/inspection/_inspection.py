"""The result of an inspection, as text, JSON and SARIF."""

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
    """The findings in a file.

    They hold no value and no id, and can be sent to the author of the file.

    Attributes
    ----------
    path : Path
    findings : tuple of Finding
        The most serious first.
    people : int
        The number of people that the file was compared with; 0 if none were given.
    """

    path: Path
    findings: tuple[Finding, ...]
    people: int = 0

    @property
    def verdict(self) -> Word:
        """The worst verdict of all findings: "pass", "review" or "fail"."""
        words = {finding.word for finding in self.findings}
        return "fail" if "fail" in words else "review" if words else "pass"

    def document(self) -> Document:
        """Return it as a document."""
        sentences = tuple(f"{one.word} ({one.sure}): {one.sentence()}" for one in self.findings)
        marks: dict[Word, Mark] = {"pass": "met", "review": "open", "fail": "missed"}
        findings = Section("Findings", sentences or ("None.",), mark=marks[self.verdict])
        return Document(self._headline(), "", (findings, Section("Method", (self._method(),))))

    def text(self) -> str:
        """Return it as text for a terminal."""
        return pages.text(self.document()).rstrip()

    def to_json(self) -> str:
        """Return it as JSON."""
        findings: list[Json] = [
            {**asdict(one), "about": list(one.about), "verdict": one.word, "sentence": one.sentence()}
            for one in self.findings
        ]
        content: dict[str, Json] = {
            "schema": "urn:seepage:inspect:1",
            "seepage": __version__,
            "path": str(self.path),
            "verdict": self.verdict,
            "people": self.people,
            "findings": findings,
            "method": self._method(),
        }
        return json.dumps(content, indent=2, allow_nan=False)

    def to_sarif(self) -> str:
        """Return a log of the Static Analysis Results Interchange Format: one result for each finding."""
        return as_sarif([self])

    def _headline(self) -> str:
        words = {"pass": "holds no values of these people", "review": "needs a review", "fail": "must not be published"}
        if not self.people:
            words["review"] = "was compared with nobody"
        return f"{self.verdict.upper()}: {visible(self.path.name)} {words[self.verdict]}"

    def _method(self) -> str:
        if not self.people:
            return "Compared with nobody: judged by classes, names and shapes. Name the people: --data people.parquet."
        return (
            f"Compared with {self.people:,} people: values as they are, in single precision, rounded, in other units, "
            "scaled, shifted, sorted and in another order. Values that were transformed in another way, or encrypted, "
            "are not recognized."
        )

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return pages.snippet(self.document())


def as_sarif(inspections: Sequence[Inspection]) -> str:
    """Return the findings in several files as one log of the Static Analysis Results Interchange Format.

    Parameters
    ----------
    inspections : sequence of Inspection
    """
    rules = [{"id": f"seepage/inspect-{kind}", "shortDescription": {"text": words}} for kind, words in RULES.items()]
    driver = {"name": "seepage", "semanticVersion": __version__, "rules": rules}
    results = [_result(one.path, finding) for one in inspections for finding in one.findings]
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
