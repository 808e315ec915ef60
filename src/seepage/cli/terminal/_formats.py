"""A verdict as pipelines read it: JSON and SARIF 2.1.0."""

import json
from collections.abc import Callable
from pathlib import Path

from seepage._python import StrEnum
from seepage._version import __version__
from seepage.cli.terminal._verdict import Judged, VerdictPanel

_RULES = {
    "error_floor": "An unbiased guess of somebody's value can be nearer than the policy allows.",
    "success_rate": "An attacker can tell somebody's category more often than the policy allows.",
    "eta": "A release carries more information about somebody than the policy allows.",
}


class Format(StrEnum):
    """How a verdict is told."""

    text = "text"
    json = "json"
    sarif = "sarif"


def as_json(verdict: VerdictPanel) -> str:
    """Return the verdict as JSON of our own."""
    return json.dumps(verdict.as_json(), indent=2, allow_nan=False)


def as_sarif(verdict: VerdictPanel) -> str:
    """Return a log of the Static Analysis Results Interchange Format: one result for each missed target."""
    rules = [{"id": f"seepage/{kind}", "shortDescription": {"text": words}} for kind, words in _RULES.items()]
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "seepage", "semanticVersion": __version__, "rules": rules}},
                "invocations": [{"executionSuccessful": True, "toolConfigurationNotifications": _notices(verdict)}],
                "results": [_result(verdict, each) for each in verdict.missed],
            }
        ],
    }
    return json.dumps(log, indent=2, allow_nan=False)


def _notices(verdict: VerdictPanel) -> list[dict[str, object]]:
    """Return what the policy leaves open: no result, for nothing is missed, and not to be passed over."""
    left = verdict.untargeted
    level = "warning" if left.is_open else "note"
    return [{"level": level, "message": {"text": left.sentence()}}] if left.attributes else []


def _result(verdict: VerdictPanel, each: Judged) -> dict[str, object]:
    # The line of the policy is what a reader can act on; the model is one file of no lines.
    written = {"artifactLocation": {"uri": _uri(verdict.policy)}, "region": {"startLine": each.line}}
    return {
        "ruleId": f"seepage/{each.target.kind}",
        "ruleIndex": list(_RULES).index(each.target.kind),
        "level": "error",
        "message": {"text": each.reason},
        "locations": [{"physicalLocation": written}],
        "relatedLocations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(verdict.model)}}}],
        "partialFingerprints": {"target/v1": each.name},
    }


def _uri(path: Path) -> str:
    from urllib.parse import quote

    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


WRITERS: dict[Format, Callable[[VerdictPanel], str]] = {
    Format.json: as_json,
    Format.sarif: as_sarif,
}
