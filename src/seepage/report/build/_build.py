"""Everything that a report says, from a leakage and what was asked about it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from seepage._decision import Decision
from seepage._errors import SeepageError
from seepage._facts import Assumption, Number, Origin, given, personal, public
from seepage._version import __version__
from seepage.leakage import Information, Leakage, check_names, deviations, groupings
from seepage.leakage.types import Prior
from seepage.report._document import CREATED, Document, Noise, Person, Silence
from seepage.report._edition import Edition
from seepage.report.build._attributes import categories, numbers
from seepage.report.build._findings import findings
from seepage.report.build._groups import extent, grouping, spread
from seepage.report.build._histogram import grid
from seepage.report.build._people import most_exposed
from seepage.report.build._verdict import verdict

if TYPE_CHECKING:
    from seepage.release import Policy

_MOST_EXPOSED = 10
_FLOORS = 4


@dataclass(frozen=True)
class Question:
    """What a report was asked for; `Report.of` says what the fields are."""

    title: str
    policy: "Policy | None"
    groups: object
    units: Mapping[str, str]
    prior: Prior
    categories: Collection[str] | None
    key: bytes
    decision: Decision | None = None

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


def build(leak: Leakage, edition: Edition, asked: Question) -> Document:
    """Return what a report says about a leakage."""
    information = leak.information
    check_names(information, (*asked.units, *asked.refitted))
    # To three digits, alike in memory and in files.
    examples = {name: known.sketched() for name, known in information.distributions("examples").items()}
    by = dict(groupings(information, asked.groups))
    edges = grid([examples["eta"], *(group.sketched() for found in by.values() for group in found.values())], edition)
    prior = asked.prior if asked.prior is not None or edition.is_public else "data"
    known = given if isinstance(prior, Mapping) else personal
    before = {name: known(deviation) for name, deviation in deviations(information, prior).items()}
    found = numbers(information, edition, units=asked.units, deviations=before)
    told = categories(information, edition, named=asked.refitted)
    everyone = spread(examples["eta"], edges, edition, whole=True)
    grouped = tuple(grouping(name, parts, edges, edition) for name, parts in by.items())
    exposed, silence = _exposed(
        information, edition, asked.key, examples["eta"].quantile(0.5), [each.name for each in found]
    )
    return Document(
        edition=edition.name,
        title=asked.title,
        created=datetime.now(UTC).strftime(CREATED),
        smallest_group=given(edition.smallest_group) if edition.is_public else None,
        people=public(information.count),
        assurance=information.assurance,
        standard_error=_standard_error(information, edition),
        shares=tuple(public(share) for share in edition.shares(information.count)),
        verdict=verdict(leak, asked.policy, edition),
        findings=findings((*found, *told), everyone, grouped, first=asked.first),
        numbers=found,
        categories=told,
        eta=everyone,
        dfil=extent(examples["dfil"], edition),
        groupings=grouped,
        exposed=exposed,
        silence=silence,
        assumptions=tuple(_told(each, edition) for each in information.assumptions),
        noise=_noise(information, edition),
        versions={"seepage": __version__},
        decision=asked.decision,
    )


def _exposed(
    information: Information, edition: Edition, key: bytes, median: float, names: list[str]
) -> tuple[tuple[Person, ...] | None, Silence | None]:
    if edition.is_public:
        return None, None
    try:
        people = most_exposed(information, edition, key, count=_MOST_EXPOSED, median=median, attributes=names[:_FLOORS])
    except SeepageError as reason:
        return None, Silence("unanswered", str(reason))
    return people, None


def _told(assumption: Assumption, edition: Edition) -> Assumption:
    """Return an assumption as an edition may hold it: numbers about the rows are withheld from everybody."""
    if not edition.is_public:
        return assumption
    kept = {name: _coarse(number) for name, number in assumption.numbers.items() if number.may_leave}
    withheld = dict.fromkeys(assumption.numbers.keys() - kept.keys(), "(withheld)")
    return replace(assumption, numbers=kept, names={**assumption.names, **withheld})


def _coarse(number: Number) -> Number:
    """Return a number to two digits, unless everybody knows it.

    A noise scale may have been calibrated to the most exposed person: to all its digits, it is a value of theirs.
    """
    return number if number.origin is Origin.PUBLIC else replace(number, value=float(f"{number.value:.2g}"))


def _noise(information: Information, edition: Edition) -> Noise:
    noise = information.noise
    if noise is None:
        return Noise("training", None, None)
    if noise.scale is None:
        return Noise("covariance", None, public(len(np.asarray(noise.covariance))))
    scale = given(noise.scale)
    return Noise("scale", _coarse(scale) if edition.is_public else scale, None)


def _standard_error(information: Information, edition: Edition) -> Number | None:
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
    return personal(float(f"{np.median(share):.2g}"))
