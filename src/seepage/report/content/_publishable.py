"""Everything that the publishable edition says: verdicts, and what was given or is public.

No number of it is computed from the rows. That the policy is met is computed from them, and is not counted.
"""

from dataclasses import replace
from datetime import datetime, timezone

from seepage._amounts import on_grid
from seepage._choices import check_choices, choices_in, publication_choice, scale_choice
from seepage._facts import Assumption, Origin, public
from seepage._version import __version__
from seepage.errors import InputError
from seepage.leakage import Information, Leakage, check_names
from seepage.report._document import (
    CREATED,
    CategoryAttribute,
    Document,
    Findings,
    Noise,
    NumberAttribute,
)
from seepage.report.content._internal import ReportQuestion, noise_of
from seepage.report.content._verdict import met_verdict


def publishable_document(leak: Leakage, asked: ReportQuestion) -> Document:
    """Return what may leave: a page without a number about the rows.

    Parameters
    ----------
    leak : Leakage
        What was measured.
    asked : Question
        What the report was asked for.
    """
    check_choices(
        choices_in(leak.information.assumptions),
        'There is no publishable edition (the "internal" one there is): something that the rows decided would leave '
        "uncounted",
    )
    for name, value in {"groups": asked.groups, "prior": asked.prior, "categories": asked.categories}.items():
        if value is not None:
            raise InputError(
                f"{name} asks for numbers about the rows, and the publishable edition holds verdicts alone. Leave "
                f'{name} out, or ask for the "internal" edition.'
            )
    information = leak.information
    check_names(information, tuple(asked.units))
    verdict = met_verdict(leak, asked.policy)
    return Document(
        edition="publishable",
        title=asked.title,
        created=datetime.now(timezone.utc).strftime(CREATED),
        people=public(information.count),
        assurance=information.assurance,
        standard_error=None,
        shares=(),
        verdict=verdict,
        findings=Findings((), None, None, ()),
        numbers=tuple(
            NumberAttribute(name, asked.units.get(name), None, (), None)
            for name in information.attribute_names
            if name not in information.categorical
        ),
        categories=tuple(
            CategoryAttribute(name, (), None) for name in information.attribute_names if name in information.categorical
        ),
        eta=None,
        dfil=None,
        groupings=(),
        utility=None,
        exposed=None,
        silence=None,
        assumptions=_assumptions(information, judged=asked.policy is not None),
        noise=_noise(information),
        versions={"seepage": __version__},
        decision=asked.decision,
        outcome=information.outcome,
        policy=None if asked.policy is None else asked.policy.fingerprint(),
        certificate=asked.certificate,
    )


def _assumptions(information: Information, *, judged: bool) -> tuple[Assumption, ...]:
    """Return what is taken for granted, but for sentences about the rows: that they are there tells about the rows."""
    told = [_told(each) for each in information.assumptions if all(one.may_leave for one in each.numbers.values())]
    # The other choices of the rows stand in sentences of their own.
    choices = [publication_choice(judged=judged)]
    if information.noise is not None:
        choices.insert(0, scale_choice(without_data=False))
    decided = [Assumption("choice", "{choice}", names={"choice": each.sentence()}) for each in choices]
    return (*told, *decided)


def _told(assumption: Assumption) -> Assumption:
    """Return an assumption without given numbers off the grid: such a scale may have been calibrated to somebody."""
    off = {name for name, one in assumption.numbers.items() if one.origin is Origin.GIVEN and not on_grid(one.value)}
    numbers = {name: one for name, one in assumption.numbers.items() if name not in off}
    return replace(assumption, numbers=numbers, names={**assumption.names, **dict.fromkeys(off, "(withheld)")})


def _noise(information: Information) -> Noise:
    noise = noise_of(information)
    return noise if noise.scale is None or on_grid(noise.scale.value) else replace(noise, scale=None)
