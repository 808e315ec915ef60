"""Everything that a report says, as plain data: pages and pictures are drawn from it and from nothing else."""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from seepage._errors import SeepageError
from seepage._version import __version__
from seepage.leakage import Leakage
from seepage.report.write import _words as words
from seepage.report.build._attributes import attributes
from seepage.report._edition import Edition
from seepage.report.build._findings import findings
from seepage.report.build._groups import group_entries, summary
from seepage.report.build._histogram import grid
from seepage.report.build._people import most_exposed
from seepage.report.build._sources import deviations, distributions, groupings
from seepage.report.build._verdict import Targets, verdict

SCHEMA = "urn:seepage:report:1"

_MOST_EXPOSED = 10
_FLOORS = 4
_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
# A noise scale may have been calibrated to the most exposed person: to all its digits, it is a value of theirs.
_TELLING = re.compile(rf"(?<=scale ){_NUMBER}|(?<=deviation ){_NUMBER}|\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+")


def content(
    leak: Leakage,
    edition: Edition,
    *,
    title: str,
    policy: Targets | None,
    groups: Any,
    units: Mapping[str, str],
    prior: Any,
    categories: Collection[str] | None,
    key: bytes,
) -> dict[str, Any]:
    """Return what a report says about a leakage."""
    information = leak.information
    examples = distributions(leak, "examples")
    by = dict(groupings(leak, groups))
    edges = grid([examples["eta"], *(known for found in by.values() for known in found.values())], edition)
    known_before = prior if prior is not None or edition.is_public else "data"
    named = tuple(getattr(policy, "success_rate", ()) or ()) if categories is None else tuple(categories)
    everyone = summary(examples["eta"], edges, edition)
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "edition": edition.name,
        "title": title,
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "smallest_group": edition.smallest_group if edition.is_public else None,
        "people": information.count,
        "assurance": information.assurance,
        "standard_error": _standard_error(information, edition),
        "shares": list(edition.shares(information.count)),
        "verdict": verdict(leak, policy, edition),
        "findings": [],
        "attributes": attributes(
            leak, edition, units=units, deviations=deviations(leak, known_before), categories=named
        ),
        "everyone": everyone | {"count": information.count},
        "dfil": {name: value for name, value in summary(examples["dfil"], edges[:0], edition).items() if name in _DFIL},
        "groups": [],
        "exposed": None,
        "left_out": [],
        "assumptions": [_coarse(text) if edition.is_public else text for text in leak.assumptions],
        "noise": _noise(leak, edition),
        "versions": {"seepage": __version__},
    }
    for name, parts in by.items():
        entries, others = group_entries(parts, edges, edition)
        found["groups"].append({"name": name, "groups": entries, "others": others})
    if not edition.is_public:
        numbers = [e["name"] for e in found["attributes"] if e["kind"] == "number"][:_FLOORS]
        try:
            median = examples["eta"].quantile(0.5)
            exposed = most_exposed(leak, edition, key, count=_MOST_EXPOSED, median=median, attributes=numbers)
            found["exposed"] = exposed
        except SeepageError as reason:
            found["left_out"].append({"what": "the most exposed people", "why": str(reason)})
    found["findings"] = findings(found, (*getattr(policy, "error_floor", ()), *getattr(policy, "success_rate", ())))
    return found


_DFIL = ("median", "high", "largest")


def _coarse(sentence: str) -> str:
    return _TELLING.sub(lambda match: f"{float(match.group()):.2g}", sentence)


def _noise(leak: Leakage, edition: Edition) -> dict[str, Any]:
    noise = leak.information.noise
    if noise is None:
        return {"scale": None, "sentence": "See what the numbers take for granted."}
    if noise.scale is None:
        size = len(np.asarray(noise.covariance))
        return {"scale": None, "sentence": f"Gaussian, with a covariance over {size} published parameters."}
    scale = float(f"{noise.scale:.2g}") if edition.is_public else noise.scale
    about = "about " if edition.is_public else ""
    return {
        "scale": scale,
        "sentence": f"Gaussian, of standard deviation {about}{words.number(scale)} on every parameter.",
    }


def _standard_error(information: Any, edition: Edition) -> float | None:
    """Return the standard error of half the people's dfil, as a share of it."""
    if information.assurance == "exact":
        return None
    columns = information.examples()
    if "dfil_standard_error" not in columns:
        return None
    known = columns["dfil"] > 0
    share = columns["dfil_standard_error"][known] / columns["dfil"][known]
    share = share[np.isfinite(share)]
    if len(share) < 4 * edition.smallest_group:
        return None
    return float(f"{np.median(share):.2g}")
