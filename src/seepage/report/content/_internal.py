"""Everything that the internal edition says, from a leakage and what was asked about it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import numpy as np

from seepage._decision import Decision
from seepage._facts import Number, given, personal, public
from seepage._version import __version__
from seepage.errors import SeepageError, UnansweredError
from seepage.leakage import Information, Leakage, ToldCategory, check_names, grid, groupings
from seepage.leakage.types import Prior
from seepage.report._document import CREATED, Document, Noise, Person, Silence
from seepage.report._edition import SHARES
from seepage.report.content._attributes import categories, numbers
from seepage.report.content._findings import findings
from seepage.report.content._groups import extent, grouping, spread
from seepage.report.content._people import most_exposed
from seepage.report.content._utility import utility
from seepage.report.content._verdict import verdict

if TYPE_CHECKING:
    from seepage.release import Policy

_MOST_EXPOSED = 10
# With fewer people, the median of a standard error says little.
_FEWEST_ERRORS = 40


@dataclass(frozen=True)
class ReportQuestion:
    """What a report was asked for; `Report.of` says what the fields are."""

    title: str
    policy: "Policy | None"
    groups: object
    units: Mapping[str, str]
    prior: Prior
    categories: Collection[str] | None
    key: bytes
    decision: Decision | None = None
    certificate: str | None = None
    """The SHA-256 of the release's certificate."""

    @property
    def first(self) -> tuple[str, ...]:
        """The attributes that the policy names."""
        return () if self.policy is None else (*self.policy.error_floor, *self.policy.success_rate)

    @property
    def refitted(self) -> tuple[str, ...]:
        """The categories whose success rates are asked for by name."""
        if self.categories is not None:
            return tuple(self.categories)
        return () if self.policy is None else tuple(self.policy.success_rate)


def internal_document(leak: Leakage, asked: ReportQuestion) -> Document:
    """Return what the internal edition says about a leakage."""
    information = leak.information
    check_names(information, (*asked.units, *asked.refitted))
    # To three digits, alike in memory and in files.
    examples = {name: known.sketched() for name, known in information.distributions("examples").items()}
    if not examples["eta"].count:
        raise UnansweredError(
            "Nobody has a private value about which anything is known, so that there is nothing to report. Say which "
            "columns are private (attributes=[...]), or leave public_label out; success_rate answers by refits."
        )
    by = dict(groupings(information, asked.groups))
    edges = grid([examples["eta"], *(group.sketched() for found in by.values() for group in found.values())])
    prior = "data" if asked.prior is None else asked.prior
    found = numbers(information, units=asked.units, prior=prior)
    told = categories(information, named=asked.refitted)
    everyone = spread(examples["eta"], edges, whole=True)
    grouped = tuple(grouping(name, parts, edges) for name, parts in by.items())
    exposed, silence = _exposed(information, asked, examples["eta"].quantile(0.5), told.told)
    return Document(
        edition="internal",
        title=asked.title,
        created=datetime.now(timezone.utc).strftime(CREATED),
        people=public(information.count),
        assurance=information.assurance,
        standard_error=_standard_error(information),
        shares=tuple(public(share) for share in SHARES),
        verdict=verdict(leak, asked.policy),
        findings=findings((*found, *told.entries), everyone, grouped, first=asked.first),
        numbers=found,
        categories=told.entries,
        eta=everyone,
        dfil=extent(examples["dfil"]),
        groupings=grouped,
        utility=utility(leak),
        exposed=exposed,
        silence=silence,
        assumptions=information.assumptions,
        noise=noise_of(information),
        versions={"seepage": __version__},
        decision=asked.decision,
        outcome=information.outcome,
        policy=None if asked.policy is None else asked.policy.fingerprint(),
        certificate=asked.certificate,
    )


def _exposed(
    information: Information, asked: ReportQuestion, median: float, told: Mapping[str, ToldCategory]
) -> tuple[tuple[Person, ...] | None, Silence | None]:
    try:
        people = most_exposed(
            information, asked.key, count=_MOST_EXPOSED, median=median, units=asked.units, categories=told
        )
    except SeepageError as reason:
        return None, Silence("unanswered", str(reason))
    return people, None


def noise_of(information: Information) -> Noise:
    """Return the noise on the release."""
    noise = information.noise
    if noise is None:
        return Noise("training", None, None, None)
    if noise.scale is None:
        size = public(len(noise.known()))
        if noise.shape is not None:
            return Noise("shape", given(noise.shape.scale), size, noise.shape.rule())
        return Noise("covariance", None, size, None)
    return Noise("scale", given(noise.scale), None, None)


def _standard_error(information: Information) -> Number | None:
    """Return the standard error of half the people's dfil, as a share of it."""
    if information.assurance == "exact":
        return None
    columns = information.examples()
    if "dfil_standard_error" not in columns:
        return None
    known = columns["dfil"] > 0
    share = columns["dfil_standard_error"][known] / columns["dfil"][known]
    share = share[np.isfinite(share)]
    if len(share) < _FEWEST_ERRORS:
        return None
    return personal(float(f"{np.median(share):.2g}"))
