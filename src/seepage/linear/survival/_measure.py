"""From a fitted Cox model and its rows to a `Leakage`."""

from collections.abc import Sequence

import numpy as np

from seepage._facts import Assumption, personal
from seepage._tables import Listed, Table
from seepage.leakage import Leakage, PeopleInMemory
from seepage.leakage.types import By
from seepage.linear.columns import Curves
from seepage.linear.information import (
    ATTACKER,
    Preprocessing,
    Question,
    fit_assumptions,
    noise_assumptions,
    steps_assumptions,
)
from seepage.linear.survival._fitted import SurvivalFit
from seepage.linear.survival._information import SurvivalInformation
from seepage.linear.survival._noise import made, whitening
from seepage.linear.survival._response import Response

# What rounding may leave of the numbers before it is stated.
_STATED = 1e8


def measure_survival(fit: SurvivalFit, people: PeopleInMemory, question: Question) -> Leakage:
    """Measure what publishing the coefficients of a Cox model gives away about each person.

    Parameters
    ----------
    fit : SurvivalFit
        The model and its rows.
    people : PeopleInMemory
        Who the rows are.
    question : Question
        What is asked of it.
    """
    noise, public_label = made(question.noise, fit), question.public_label
    steps, scales = fit.scales(noise, question.public_preprocessing)
    columns = fit.private_columns(question.attributes)
    names = [fit.table.names[column] for column in columns]
    categorical = set(fit.categorical(columns, question.numbers))
    if not public_label:
        for name, what in zip(fit.outcomes.names, ("status", "time"), strict=True):
            names.append(name if name not in names else f"{name} ({what})")
            # Neither has a standard error: both are answered by refits.
            categorical.add(names[-1])
    minimum = fit.minimum
    cut = fit.affine.of_columns(columns)
    found = cut.blocks()
    response = Response(
        minimum.beta,
        minimum.inverse,
        whitening(noise, len(fit.names)),
        cut.matrix,
        tuple(found.get(column, np.empty(0, dtype=np.intp)) for column in columns),
        Curves.of(fit.affine, cut.coordinates),
        None if noise.scale is not None else noise.known(),
    )
    return Leakage(
        SurvivalInformation(
            people=people,
            noise=noise,
            fit=fit,
            response=response,
            columns=tuple(columns),
            attribute_names=tuple(names),
            categorical=frozenset(categorical),
            without_slope=frozenset(names[len(columns) :]),
            preprocessing=steps,
            scales=scales,
            stays=scales is not None,
            assumptions=(
                *noise_assumptions(noise, None, "Cox"),
                *_assumptions(fit, names, public_label, steps),
            ),
        )
    )


def people_of(fit: SurvivalFit, ids: Listed, groups: By) -> PeopleInMemory:
    """Return who the rows are: by all columns of the frame that was given, if it was one."""
    given = Table.of(fit.everything)
    return PeopleInMemory.of(given if given.is_frame else fit.table, ids=ids, groups=groups, y=None)


def _assumptions(
    fit: SurvivalFit,
    private: Sequence[str],
    public_label: bool,
    steps: Preprocessing,
) -> tuple[Assumption, ...]:
    status, time = fit.outcomes.names
    called = {"time": time, "status": status}
    found = [
        Assumption(
            "baseline",
            "The baseline hazard is not published, nor survival curves that are made with it: it has a step at every "
            "event, and would publish the times themselves.",
        ),
        *ATTACKER,
        Assumption(
            "label",
            "Times and status ({time}, {status}) are known to the attacker."
            if public_label
            else "Times and status ({time}, {status}) are private. They enter through the order of events alone and "
            "have no derivative: eta, dfil and floors are about the columns, and success rates of refits about these.",
            names=called,
        ),
    ]
    if len(np.unique(fit.outcomes.stratum)) > 1 or fit.strata is not None:
        found.append(
            Assumption(
                "strata",
                "Who is in which stratum ({strata}) is known to the attacker.",
                names={"strata": fit.strata or "in y"},
            )
        )
    if fit.stretch is not None:
        found.append(
            Assumption(
                "penalty units",
                "The penalty is on coefficients of standardized columns. That its strength moves with the rows is "
                "counted.",
            )
        )
    found += steps_assumptions(steps)
    found += fit_assumptions(fit.search, fit.table.names, private, fit.minimum.distance)
    if fit.minimum.condition > _STATED:
        rounding = float(np.finfo(np.float64).eps) * fit.minimum.condition
        found.append(
            Assumption(
                "rounding",
                "Some columns are nearly combinations of others: rounding leaves an error of up to {rounding} of the "
                "numbers.",
                {"rounding": personal(rounding, ".0e")},
            )
        )
    return tuple(found)
