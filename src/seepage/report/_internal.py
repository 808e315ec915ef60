"""The internal edition of a report."""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from seepage._decision import Decision
from seepage.display import AttributeDisplay, DistributionDisplay
from seepage.errors import UnansweredError
from seepage.leakage import Distribution, Information, Leakage, check_names, groupings
from seepage.leakage.types import Prior
from seepage.pages import Document, Grid, Picture, Section, counted, name, number, percent
from seepage.report._about import assumption_sections, decided, meanings, noise_in_words, origin
from seepage.report._attributes import Attribute, CategoryAttribute, attributes_section, read_categories, read_numbers
from seepage.report._groups import groups_section, median_interval
from seepage.report._people import people_section
from seepage.report._rounding import at_most, middle, near, plain, up
from seepage.report._utility import utility_section
from seepage.report._verdict import PolicyVerdict

HANDLING = (
    "Internal edition: it holds values about single people, under pseudonyms. It is personal data, like the records it "
    "is about, and not for publication."
)
_MOST_SENTENCES, _MOST_DRAWN, _MOST_GROUPS = 4, 16, 6
# With fewer people, the median of a standard error says little.
_FEWEST_ERRORS = 40


@dataclass(frozen=True)
class ReportQuestion:
    """The arguments of `Report.of`."""

    title: str
    groups: object
    units: Mapping[str, str]
    prior: Prior
    categories: Collection[str]
    first: Collection[str]
    """The attributes that the policy names."""
    key: bytes
    decision: Decision | None
    policy: str | None
    """The fingerprint of the policy."""


def internal_document(
    leak: Leakage, asked: ReportQuestion, verdict: PolicyVerdict, created: str
) -> tuple[Document, dict[str, Picture]]:
    """Return the internal edition, and the pictures of its sections."""
    information = leak.information
    check_names(information, (*asked.units, *asked.categories))
    # To three digits, alike in memory and in files.
    eta = information.distributions("examples")["eta"].sketched()
    if not eta.count:
        raise UnansweredError(
            "Nobody has a private value about which anything is known, so that there is nothing to report. Say which "
            "columns are private (attributes=[...]), or leave public_label out; success_rate answers by refits."
        )
    groups = dict(groupings(information, asked.groups))
    numbers = read_numbers(information, units=asked.units, prior="data" if asked.prior is None else asked.prior)
    categories, told = read_categories(information, named=asked.categories)
    attributes: tuple[Attribute, ...] = (*numbers, *categories)
    compared = [groups_section(called, parts) for called, parts in groups.items()]
    short = Section(
        "In short",
        (*decided(asked.decision), *_findings(attributes, eta, compared, first=asked.first), *_estimates(information)),
        is_personal=True,
    )
    utility = utility_section(leak)
    stated = noise_in_words(information.noise, lambda scale: True)
    used = [
        *(["error_floor"] if any(entry.floors for entry in numbers) else []),
        *(["remaining_variance"] if any(entry.remaining for entry in numbers) else []),
        *(["success_rate"] if any(entry.rates for entry in categories) else []),
        "eta",
    ]
    sections = [
        verdict.section(is_personal=True),
        short,
        attributes_section(attributes),
        *compared,
        _everyone(information, eta),
        people_section(information, asked.key, median=middle(eta, 0.5), units=asked.units, categories=told),
        *([] if utility is None else [utility]),
        meanings(used, information.assurance),
        *assumption_sections(information.assumptions),
        origin(information, created=created, noise=stated, policy=asked.policy),
    ]
    about = f"{information.count:,} people, {counted(len(attributes), 'private attribute')}, {created[:10]}"
    shown = tuple(section for section in sections if not section.is_empty)
    return Document(asked.title, about, shown, "internal", HANDLING), _pictures(attributes, groups)


def _findings(
    attributes: Collection[Attribute], eta: Distribution, compared: Collection[Section], *, first: Collection[str]
) -> list[str]:
    """Return the most exposed attributes in sentences, those that the policy names first, then people and groups."""
    known = [entry for entry in attributes if not entry.reason]
    known.sort(key=lambda entry: (entry.name not in first, -entry.exposure))
    found = [entry.sentence() for entry in known[: max(_MOST_SENTENCES, min(len(first), 8))]]
    median = near(middle(eta, 0.5))
    if median:
        high, largest = (float(f"{up(value) / median:.2g}") for value in (at_most(eta, 0.95), eta.largest))
        found.append(
            f"No more than one person in twenty is over {number(high)} times as exposed as the median person; the most "
            f"exposed is {number(largest)} times as exposed."
        )
    return [*found, *(sentence for section in compared for sentence in section.sentences)]


def _estimates(information: Information) -> list[str]:
    """Say that numbers are estimates, with the standard error of half the people's dfil."""
    if information.assurance == "exact":
        return []
    columns, known = information.examples(), ""
    if "dfil_standard_error" in columns:
        has = columns["dfil"] > 0
        share = columns["dfil_standard_error"][has] / columns["dfil"][has]
        share = share[np.isfinite(share)]
        if len(share) >= _FEWEST_ERRORS:
            median = float(f"{np.median(share):.2g}")
            known = f" The standard error of dfil is {percent(median)} of it for half the people."
    return [f"These numbers are {information.assurance}, not exact.{known}"]


def _everyone(information: Information, eta: Distribution) -> Section:
    """Return the spread of eta and of dfil over all people."""
    interval = median_interval(eta)
    found = {"eta": eta, "dfil": information.distributions("examples")["dfil"].sketched()}
    rows = [
        [called, *map(plain, (near(middle(known, 0.5)), up(at_most(known, 0.95)), up(known.largest)))]
        for called, known in found.items()
    ]
    said = () if interval is None else (f"95% interval of the median eta: {' to '.join(map(number, interval))}.",)
    table = Grid.of("Information about a person", ("measure", "median", "95% of people", "largest"), rows)
    return Section("Everyone", said, (table,), is_personal=True)


def _pictures(
    attributes: Collection[Attribute], groups: Mapping[str, Mapping[Hashable, Distribution]]
) -> dict[str, Picture]:
    left = {name(entry.name): entry.remaining for entry in attributes if not isinstance(entry, CategoryAttribute)}
    drawn = {called: shares for called, shares in left.items() if shares}
    found: dict[str, Picture] = {}
    if drawn:
        found["Attributes"] = AttributeDisplay(dict(list(drawn.items())[:_MOST_DRAWN]))
    for called, parts in groups.items():
        shown: dict[Hashable, Distribution] = {name(str(group)): known for group, known in parts.items()}
        found[f"Groups by {name(called)}"] = DistributionDisplay(dict(list(shown.items())[:_MOST_GROUPS]), name(called))
    return found
