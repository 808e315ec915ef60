"""Everything that a report says, as data: pages, text and pictures are made from it and from nothing else.

Every number knows where it comes from (`Origin`): given by the user or the policy, public, noised, or personal. What
words are made of it is for those to say who write. A publishable document that holds a personal number is refused,
when it is made and again when it is written.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal

from seepage._decision import Decision
from seepage._facts import Assumption, Number, Origin
from seepage.leakage.types import Assurance
from seepage.meaning import Target, Untargeted

EditionName = Literal["internal", "publishable"]
SCHEMA = "urn:seepage:report:6"
CREATED = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Silence:
    """Why something is not told.

    Attributes
    ----------
    kind : {"slow", "unanswered"}
        Refits of so many people take a while, or the measurement could not answer.
    reason : str or None
        What the measurement said.
    """

    kind: Literal["slow", "unanswered"]
    reason: str | None


@dataclass(frozen=True)
class Judgment:
    """A target of the policy, whether it is met, and the factor on the noise that would meet it.

    That of a target that is missed is rounded up to 1, 2 or 5 times a power of ten, as everywhere.
    """

    target: Target
    met: bool
    factor: Number | None


@dataclass(frozen=True)
class PolicyVerdict:
    """Whether the release meets its policy.

    Attributes
    ----------
    status : {"met", "missed", "none", "withheld"}
        none: no policy was given. withheld: it could not be judged, and `silence` says why.
    asked, share : Number or None
        The share of people for whom the policy asks, and that for whom it was judged.
    judgments : tuple of Judgment
        One a target.
    enough : Number or None
        Of a release that misses its policy, a noise scale that meets it, rounded up to 1, 2 or 5 times a power of ten;
        internal edition only.
    untargeted : Untargeted or None
        What the policy sets no target for; None without a policy.
    """

    status: Literal["met", "missed", "none", "withheld"]
    asked: Number | None
    share: Number | None
    judgments: tuple[Judgment, ...]
    silence: Silence | None
    enough: Number | None = None
    untargeted: Untargeted | None = None

    def __post_init__(self) -> None:
        if (self.untargeted is None) != (self.status == "none"):
            raise ValueError("a verdict on a policy, and no other, says what has no target")

    @property
    def leaves_open(self) -> bool:
        """Whether something has neither a target nor been declared public: to meet the policy is no all-clear then."""
        return self.untargeted is not None and self.untargeted.is_open


@dataclass(frozen=True)
class Floor:
    """The smallest errors of guesses of a number, for a share of people.

    Attributes
    ----------
    share : Number
        Of people.
    floor : Number or None
        No unbiased guess has a smaller standard error; None is no limit.
    floor_with_prior : Number or None
        No guess by somebody who knows the prior (how values are spread over all people, or a Gaussian whose variance
        was stated) has a smaller root mean square error, in the mean over the prior, as far as the information is the
        same whatever the value is.
    remaining_variance : Number or None
        The share of the prior variance that is left, rounded down.
    """

    share: Number
    floor: Number | None
    floor_with_prior: Number | None
    remaining_variance: Number | None


@dataclass(frozen=True)
class NumberAttribute:
    """An attribute that is a number, its unit, its standard deviation before the release, and its floors."""

    name: str
    unit: str | None
    deviation: Number | None
    floors: tuple[Floor, ...]
    silence: Silence | None


@dataclass(frozen=True)
class Rate:
    """How often the best attacker tells a category from another at equal odds, for a share of people."""

    share: Number
    success_rate: Number
    exact: bool
    """Whether the model was refitted with everybody; otherwise the rate is approximate, and no bound."""


@dataclass(frozen=True)
class CategoryAttribute:
    """An attribute that is a category, and how well it can be told."""

    name: str
    rates: tuple[Rate, ...]
    silence: Silence | None


@dataclass(frozen=True)
class DrawnHistogram:
    """How many people are between edges on a logarithmic grid; who is beyond the ends is in the outermost bars."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    origin: Origin

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.counts) + 1 or not self.counts:
            raise ValueError(f"{len(self.edges)} edges are not those of {len(self.counts)} bars")
        if self.edges[0] <= 0 or any(after <= before for before, after in pairwise(self.edges)):
            raise ValueError("edges of bars are positive and ascend")
        if min(self.counts) < 0:
            raise ValueError("no bar holds fewer than no people")


@dataclass(frozen=True)
class EtaSpread:
    """How the eta of a set of people is spread: a 95% interval goes with the median, and 95% are at most `high`."""

    count: Number
    median: Number | None
    interval: tuple[Number, Number] | None
    high: Number | None
    mean: Number | None
    largest: Number | None
    histogram: DrawnHistogram | None


@dataclass(frozen=True)
class Extent:
    """The median of a quantity over all people, what 95% of them do not exceed, and the largest."""

    median: Number | None
    high: Number | None
    largest: Number | None


@dataclass(frozen=True)
class Group:
    """The people of one group."""

    name: str
    eta: EtaSpread


@dataclass(frozen=True)
class Grouping:
    """People by group, the most exposed first."""

    name: str
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Coefficient:
    """A published parameter, its standard error, and how many of these the noise on it is."""

    name: str
    value: Number
    standard_error: Number
    noise: Number


@dataclass(frozen=True)
class Alternative:
    """Floors of a number with other noises, about the most exposed person."""

    name: str
    values: tuple[Number | None, ...]


@dataclass(frozen=True)
class Alternatives:
    """What could be published instead: noises in standard errors of each coefficient.

    Attributes
    ----------
    standard_errors : tuple of Number
        The noises.
    wider : tuple of Number
        By which share intervals grow that include each.
    attributes : tuple of Alternative
        What each leaves.
    """

    standard_errors: tuple[Number, ...]
    wider: tuple[Number, ...]
    attributes: tuple[Alternative, ...]


@dataclass(frozen=True)
class Utility:
    """What the noise costs: the model's mean loss on its own rows, and what the noise is expected to add.

    Attributes
    ----------
    loss : str
        What is meant by it.
    exact : bool
        Whether the expectation is exact, as it is for squared errors, or the second order of it.
    without, added : Number
        The mean loss without noise, and what noise adds to it in the mean over its draws.
    coefficients : tuple of Coefficient
        Those of the model, in the units of its features.
    alternatives : Alternatives or None
        What noises in standard errors would leave; None where they are not counted, or would take long.
    """

    loss: str
    exact: bool
    without: Number
    added: Number
    coefficients: tuple[Coefficient, ...]
    alternatives: Alternatives | None


@dataclass(frozen=True)
class Channel:
    """The attribute through which a person is exposed most, the label among them.

    Attributes
    ----------
    attribute : str
        Its name.
    unit : str or None
        Of a number.
    floor, baseline : Number or None
        Of a number: what no unbiased guess beats, and how far off a guess without the release is.
    success_rate : Number or None
        Of a category: no attacker tells it from another more often.
    """

    attribute: str
    unit: str | None
    floor: Number | None
    baseline: Number | None
    success_rate: Number | None


@dataclass(frozen=True)
class Person:
    """One of the most exposed people, under a name that only the owner can resolve."""

    pseudonym: str
    eta: Number
    times_median: Number | None
    through: Channel | None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[0-9a-f]{4}(-[0-9a-f]{4}){2}", self.pseudonym):
            raise ValueError(f"{self.pseudonym[:40]!r} is no pseudonym")


@dataclass(frozen=True)
class Contrast:
    """The most and the least exposed group, and how many times their medians differ; None if that may be chance."""

    grouping: str
    most: str
    least: str
    times: Number | None


@dataclass(frozen=True)
class Findings:
    """What a reader with three minutes should know.

    Attributes
    ----------
    attributes : tuple of str
        The attributes to speak of first.
    high, largest : Number or None
        How many times as exposed as the median person all but one in twenty are at most, and the most exposed is.
    contrasts : tuple of Contrast
        One a grouping.
    """

    attributes: tuple[str, ...]
    high: Number | None
    largest: Number | None
    contrasts: tuple[Contrast, ...]


@dataclass(frozen=True)
class Noise:
    """The Gaussian noise on the release: one scale, a covariance over some parameters, or that of training.

    A covariance that a rule made has a scale, and `rule` says how it was made.
    """

    kind: Literal["scale", "covariance", "shape", "training"]
    scale: Number | None
    parameters: Number | None
    rule: str | None


@dataclass(frozen=True)
class Document:
    """What a report says; `report.schema.json` describes it as JSON.

    Attributes
    ----------
    edition : {"internal", "publishable"}
        Who may read it.
    created : str
        When, in UTC, to the second.
    people : Number
        How many people were measured.
    assurance : {"exact", "estimated", "heuristic"}
        What the numbers are.
    standard_error : Number or None
        Of dfil, as a share of it, for half the people; None where numbers are exact or it is not known.
    shares : tuple of Number
        The shares of people for whom values are given; none in the publishable edition.
    numbers, categories : tuple
        The attributes: in the internal edition the one that the release says most about first, in the publishable one
        their names and units alone.
    eta, dfil : EtaSpread, Extent or None
        Of all people; None in the publishable edition.
    groupings : tuple of Grouping
        Groups of people in the internal edition.
    utility : Utility or None
        What the noise costs; None in the publishable edition, or where it is not known.
    exposed : tuple of Person or None
        The most exposed people; None in the publishable edition, or where `silence` says why.
    decision : Decision or None
        Who decided, as they said it; None when nobody said.
    outcome : tuple of str
        What the model predicts; nothing where that is public, or no model predicts.
    policy : str or None
        The fingerprint of the policy's targets, as a certificate names it; None without a policy.
    certificate : str or None
        The SHA-256 of the certificate of the same release; None if none is known.
    """

    edition: EditionName
    title: str
    created: str
    people: Number
    assurance: Assurance
    standard_error: Number | None
    shares: tuple[Number, ...]
    verdict: PolicyVerdict
    findings: Findings
    numbers: tuple[NumberAttribute, ...]
    categories: tuple[CategoryAttribute, ...]
    eta: EtaSpread | None
    dfil: Extent | None
    groupings: tuple[Grouping, ...]
    utility: Utility | None
    exposed: tuple[Person, ...] | None
    silence: Silence | None
    assumptions: tuple[Assumption, ...]
    noise: Noise
    versions: Mapping[str, str]
    decision: Decision | None = None
    outcome: tuple[str, ...] = ()
    policy: str | None = None
    certificate: str | None = None

    def __post_init__(self) -> None:
        # Refuses what is no time.
        datetime.strptime(self.created, CREATED)
        self.check_leaving()

    def check_leaving(self) -> None:
        """Refuse a document for everybody that holds anything personal."""
        if not self.is_public:
            return
        if self.exposed is not None:
            raise ValueError("the publishable edition holds nothing about single people")
        for place in _personal(self, ""):
            raise ValueError(
                f"the publishable edition holds nothing personal, and {place.lstrip('.')} is: leave it to the "
                "internal edition"
            )

    @property
    def is_public(self) -> bool:
        """Whether it is for everybody."""
        return self.edition == "publishable"

    @property
    def attributes(self) -> tuple[NumberAttribute | CategoryAttribute, ...]:
        """Numbers, then categories."""
        return (*self.numbers, *self.categories)


def _personal(value: object, place: str) -> Iterator[str]:
    """Yield where a record holds something that was computed from private rows and carries no noise."""
    if isinstance(value, Number | DrawnHistogram):
        if value.origin is Origin.PERSONAL:
            yield place
    elif is_dataclass(value):
        for each in fields(value):
            yield from _personal(getattr(value, each.name), f"{place}.{each.name}")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _personal(one, f"{place}.{key}")
    elif isinstance(value, tuple | list):
        for i, one in enumerate(value):
            yield from _personal(one, f"{place}[{i}]")
