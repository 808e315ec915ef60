"""Everything that the publishable edition says: what may leave the house.

The page is a release like the model. Which numbers it holds is fixed before the data are seen; numbers about the data
are noised and counted, and verdicts are about model and page together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from seepage._amounts import on_grid
from seepage._errors import InputError, UnsupportedError
from seepage._facts import Assumption, Number, Origin, given, public
from seepage._version import __version__
from seepage.leakage import Information, Leakage, check_names, deviations, groupings
from seepage.meaning import GaussianPrior
from seepage.report._document import (
    CREATED,
    CategoryAttribute,
    Document,
    Exposures,
    Findings,
    Floor,
    GroupExposure,
    Noise,
    NumberAttribute,
    Silence,
    Trials,
)
from seepage.report._edition import down_to_percent
from seepage.report.build._build import Question, noise_of
from seepage.report.build._verdict import met_verdict

if TYPE_CHECKING:
    from seepage.report.count import NoisedGroup

_IN_SHORT = 3


@dataclass(frozen=True, eq=False)
class Page:
    """A document for everybody, and what it tells about each person, if it tells anything."""

    document: Document
    leak: Leakage | None


def build_page(leak: Leakage, smallest_group: int, asked: Question) -> Page:
    """Return what may leave: a page that was noised, counted and attacked.

    Parameters
    ----------
    leak : Leakage
        What was measured.
    smallest_group : int
        The fewest people of a mean.
    asked : Question
        What the report was asked for.
    """
    if any(each.kind == "active set" for each in leak.information.assumptions):
        raise UnsupportedError(
            "There is no publishable edition about a model with an L1 penalty: what is known of whom tells which "
            'coefficients are zero, which the rows chose, without noise. Ask for the "internal" edition; or fit with '
            "an L2 penalty on columns that were chosen beforehand."
        )
    # Imported here: whoever reads a report needs no scikit-learn.
    from seepage.linear.information import LinearInformation
    from seepage.release import compose
    from seepage.report.count import NOISE, SHARES, attacked, contents_of, counted, logarithms, noised

    information = leak.information
    check_names(information, (*asked.units, *asked.refitted))
    if asked.prior == "data":
        raise InputError(
            'prior="data" is a number about the data, and one extreme person\'s, perhaps. State what is known '
            'beforehand, such as prior={"age": 300.0} (a variance), or ask for the "internal" edition.'
        )
    # Groups that are not there are refused, whatever the page holds.
    for _ in groupings(information, asked.groups):
        pass
    before = {name: given(deviation) for name, deviation in deviations(information, asked.prior).items()}
    contents = contents_of(information, policy=asked.policy, groups=asked.groups, smallest_group=smallest_group)
    page, told = None, None
    if contents is not None:
        assert isinstance(information, LinearInformation)
        page = counted(information, contents)
    both = leak if page is None else compose([leak, Leakage(page)])
    verdict = met_verdict(both, asked.policy)
    trials = attacked(leak, contents, page, asked.policy, composed=both)
    if contents is not None:
        assert isinstance(information, LinearInformation)
        told = noised(contents, contents.values(logarithms(information, contents.attributes)))
    numbers = [name for name in information.attribute_names if name not in information.categorical]
    shown = {} if told is None else told.floors
    document = Document(
        edition="publishable",
        title=asked.title,
        created=datetime.now(UTC).strftime(CREATED),
        smallest_group=given(smallest_group),
        people=public(information.count),
        assurance=information.assurance,
        standard_error=None,
        shares=tuple(public(share) for share in SHARES) if shown else (),
        verdict=verdict,
        # The table tells of all of them; those of the policy come first.
        findings=Findings(tuple(shown)[:_IN_SHORT], None, None, ()),
        numbers=tuple(
            _number(name, dict(zip(SHARES, shown[name], strict=True)), asked.units.get(name), before.get(name))
            if name in shown
            else NumberAttribute(name, asked.units.get(name), None, (), Silence("verdicts", None))
            for name in dict.fromkeys([*shown, *numbers])
        ),
        categories=tuple(
            CategoryAttribute(name, (), Silence("verdicts", None))
            for name in information.attribute_names
            if name in information.categorical
        ),
        eta=None,
        dfil=None,
        groupings=(),
        exposures=() if told is None else _exposures(told.groups),
        utility=None,
        page_noise=None if told is None else public(NOISE),
        trials=None if trials is None else Trials(public(trials.people), public(trials.values)),
        exposed=None,
        silence=None,
        assumptions=_assumptions(information),
        noise=_noise(information),
        versions={"seepage": __version__},
        decision=asked.decision,
    )
    return Page(document, None if page is None else Leakage(page))


def _number(name: str, floors: Mapping[float, float], unit: str | None, deviation: Number | None) -> NumberAttribute:
    found = []
    for share, floor in floors.items():
        left, with_prior = None, None
        if deviation is not None:
            # What follows from a noised number and a given one is noised.
            prior = GaussianPrior(deviation.value**2)
            left = _noised(down_to_percent(float(prior.left(1 / floor))))
            with_prior = _noised(float(f"{prior.floor(1 / floor):.1g}"))
        found.append(Floor(public(share), _noised(floor), with_prior, left))
    return NumberAttribute(name, unit, deviation, tuple(found), None)


def _exposures(groups: "tuple[NoisedGroup, ...]") -> tuple[Exposures, ...]:
    names = dict.fromkeys(group.grouping for group in groups)
    return tuple(
        Exposures(
            name,
            tuple(
                GroupExposure(group.name, _noised(group.count), _noised(group.times))
                for group in groups
                if group.grouping == name
            ),
        )
        for name in names
    )


def _noised(value: float) -> Number:
    return Number(value, Origin.NOISED)


def _assumptions(information: Information) -> tuple[Assumption, ...]:
    """Return what is taken for granted, but for sentences about the rows: that they are there tells about the rows."""
    return tuple(_told(each) for each in information.assumptions if all(one.may_leave for one in each.numbers.values()))


def _told(assumption: Assumption) -> Assumption:
    """Return an assumption without given numbers off the grid: such a scale may have been calibrated to somebody."""
    off = {name for name, one in assumption.numbers.items() if one.origin is Origin.GIVEN and not on_grid(one.value)}
    numbers = {name: one for name, one in assumption.numbers.items() if name not in off}
    return replace(assumption, numbers=numbers, names={**assumption.names, **dict.fromkeys(off, "(withheld)")})


def _noise(information: Information) -> Noise:
    noise = noise_of(information)
    return noise if noise.scale is None or on_grid(noise.scale.value) else replace(noise, scale=None)
