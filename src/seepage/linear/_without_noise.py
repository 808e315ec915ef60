"""From a fitted model and its rows to what it gives away without noise, to attackers who know a part of the others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption, given as given_number
from seepage._noise import GaussianNoise, as_noise
from seepage._tables import Array, Listed, Table, column_values
from seepage.errors import InputError, UnsupportedError
from seepage.leakage import PeopleInMemory
from seepage.linear.columns import fitted_columns, split
from seepage.linear.given import Given
from seepage.linear.information import Fit, LinearInformation, Question, Release, SourceInMemory
from seepage.linear.objective import check_supported
from seepage.linear.printed import printed_of, published_numbers, refuse_choices, refuse_weights
from seepage.others import Attacker, Digits, Known, OthersInformation, OthersLeakage, about

UNIT = GaussianNoise(scale=1.0)


@dataclass(frozen=True, eq=False)
class Before:
    """Who attacks, and what is printed; `seepage.measure` says what the fields are."""

    noise_scale: float | GaussianNoise | None
    others_known: Known | None
    digits: int | str | None
    clusters: Listed
    published: Sequence[str] | str | None


def measure_without_noise(
    asked: Given, question: Question, attributes: Sequence[str] | None, before: Before
) -> OthersLeakage:
    """Return what printed numbers say to an attacker who uses averages."""
    if asked.is_survival:
        raise UnsupportedError(
            "What a survival model tells without noise is not answered yet. Measure with noise_scale=."
        )
    if asked.ids is not None:
        raise UnsupportedError(
            "People with several rows are not answered without noise yet. Measure with noise_scale=, or leave ids out "
            "if each person has one row, and give clusters= for rows that belong together."
        )
    preprocess, estimator = split(asked.model)
    check_supported(estimator)
    source = SourceInMemory.of(
        asked.X, asked.y, fitted_columns(preprocess, estimator), asked.sample_weight, asked.offset
    )
    refuse_weights(source.sample_weight)
    fit = Fit.assembled(asked.model, source)
    refuse_choices(fit, question.public_preprocessing)
    names = published_numbers(fit, before.published)
    release = Release.of(fit, fit.minimize(), question, asked.label)
    table = Table.of(asked.X)
    people = PeopleInMemory.of(table if table.is_frame else fit.table, groups=asked.groups, y=asked.y)
    base = LinearInformation.of(fit, release, people, fit.private_columns(None))
    label = release.attribute_names[-1]
    family = _families(before.clusters, fit.rows.count)
    printed = printed_of(fit, release, attributes, names, label, family)
    others = (fit.rows.count if family is None else int(family.max()) + 1) - 1
    attacker = Attacker.of(0 if before.others_known is None else before.others_known, others)
    digits = Digits.of(before.digits, printed.values, printed.sampling)
    private = tuple(printed.blocks)
    kept = tuple(each for each in release.assumptions if each.kind in ("label", "raw units", "offset", "minimizer"))
    found = OthersInformation(
        people=people,
        base=base,
        printed=printed,
        attacker=attacker,
        digits=digits,
        added=_added(before.noise_scale, names, len(printed.names)),
        family=family,
        noise=None,
        attribute_names=private,
        categorical=frozenset(release.categorical & set(private)),
        assumptions=(about(attacker), *_assumptions(names, digits), *kept, *asked.remarks),
        units=release.units,
    )
    return OthersLeakage(found)


def _added(noise_scale: float | GaussianNoise | None, names: tuple[str, ...], numbers: int) -> Array | None:
    if noise_scale is None:
        return None
    noise = as_noise(noise_scale)
    if names != ("coefficients",):
        raise InputError(
            "Noise is added to the coefficients, and other numbers would leave without any: say "
            'published=["coefficients"].'
        )
    return noise.scale**2 * np.eye(numbers) if noise.scale is not None else noise.known()


def _families(clusters: Listed, count: int) -> NDArray[np.intp] | None:
    if clusters is None:
        return None
    values = column_values(clusters)
    if values.shape != (count,):
        raise InputError(f"clusters= must name the cluster of each of the {count} rows; it has shape {values.shape}.")
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def _assumptions(names: tuple[str, ...], digits: Digits) -> tuple[Assumption, ...]:
    return (
        Assumption(
            "release", "Printed are {what}, and nothing else about these people.", names={"what": ", ".join(names)}
        ),
        Assumption("digits", "Every number is {rule}.", names={"rule": digits.rule}),
        Assumption(
            "averages",
            "This describes an attacker who uses averages; it is no bound, and nothing is claimed where it is missing.",
        ),
    )
