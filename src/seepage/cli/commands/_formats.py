"""A verdict as pipelines read it: JSON and SARIF 2.1.0."""

import json
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from seepage._python import StrEnum
from seepage._records import Json, to_json
from seepage._version import __version__
from seepage.cli.terminal import Amount

if TYPE_CHECKING:
    from seepage.cli.input import PolicyFile
    from seepage.report import Judgment, PolicyVerdict

SCHEMA = "urn:seepage:check:2"
_RULES = {
    "error_floor": "An unbiased guess of a value can be more accurate than the policy allows.",
    "success_rate": "An attacker can infer a category more often than the policy allows.",
    "eta": "A release carries more information about a person than the policy allows.",
}


class Format(StrEnum):
    """The format of a verdict."""

    text = "text"
    json = "json"
    sarif = "sarif"


def as_json(verdict: "PolicyVerdict", file: "PolicyFile", model: Path, noise: Amount) -> str:
    """Return the verdict as JSON of our own."""
    targets: list[Json] = [
        {
            "kind": each.target.kind,
            "attribute": each.target.attribute,
            "limit": each.target.limit.value,
            "met": each.met,
            "noise_factor": None if each.met else _finite(each.factor),
            "sentence": each.target.sentence(),
        }
        for each in verdict.judgments
    ]
    found: dict[str, Json] = {
        "schema": SCHEMA,
        "seepage": __version__,
        "passed": verdict.status == "met",
        "model": str(model),
        "policy": str(file.path),
        "noise_scale": noise.number,
        "in_standard_errors": noise.standard_errors,
        "enough_noise_scale": _finite(verdict.enough),
        "targets": targets,
        "untargeted": to_json(verdict.untargeted),
    }
    return json.dumps(found, indent=2, allow_nan=False)


def as_sarif(verdict: "PolicyVerdict", file: "PolicyFile", model: Path) -> str:
    """Return a log of the Static Analysis Results Interchange Format: one result for each missed target."""
    rules = [{"id": f"seepage/{kind}", "shortDescription": {"text": words}} for kind, words in _RULES.items()]
    left = verdict.untargeted
    assert left is not None
    level = "warning" if left.is_open else "note"
    notices = [{"level": level, "message": {"text": left.sentence()}}] if left.attributes else []
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "seepage", "semanticVersion": __version__, "rules": rules}},
                "invocations": [{"executionSuccessful": True, "toolConfigurationNotifications": notices}],
                "results": [_result(each, file, model) for each in verdict.missed],
            }
        ],
    }
    return json.dumps(log, indent=2, allow_nan=False)


def _result(each: "Judgment", file: "PolicyFile", model: Path) -> dict[str, object]:
    # The line of the policy is what a reader can act on; the model is one file of no lines.
    written = {"artifactLocation": {"uri": _uri(file.path)}, "region": {"startLine": file.line_of(each.target)}}
    kind, attribute = each.target.kind, each.target.attribute
    needed = "" if each.factor is None else f" {each.target.missing(each.factor)}"
    return {
        "ruleId": f"seepage/{kind}",
        "ruleIndex": list(_RULES).index(kind),
        "level": "error",
        "message": {"text": f"{each.target.sentence()}{needed}"},
        "locations": [{"physicalLocation": written}],
        "relatedLocations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(model)}}}],
        "partialFingerprints": {"target/v1": kind if attribute is None else f"{kind} of {attribute}"},
    }


def _uri(path: Path) -> str:
    from urllib.parse import quote

    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _finite(value: float | None) -> float | None:
    """Return a number as JSON knows it: nothing stands for what no noise reaches."""
    return value if value is not None and isfinite(value) else None
