"""From a fitted model and its rows to what it gives away without noise, to attackers who know a part of the others."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption
from seepage._noise import GaussianNoise, as_noise
from seepage._tables import Listed, Model, Table, column_values
from seepage._where import for_whom
from seepage.attackers import SamplingLeakage, TableQuestion, Told
from seepage.errors import InputError, UnsupportedError
from seepage.leakage import PeopleInMemory
from seepage.linear.columns import fitted_columns, split
from seepage.linear.files import PeopleInFiles, SourceInFiles, check_ids, information_in_files
from seepage.linear.given import Given
from seepage.linear.information import COEFFICIENTS, ERRORS, Fit, LinearInformation, Question, Release, SourceInMemory
from seepage.linear.objective import check_supported
from seepage.linear.printed import (
    COUNTS,
    in_raw_units,
    printed_in_files,
    printed_of,
    printed_survival,
    published_numbers,
    refuse_choices,
    refuse_weights,
)
from seepage.linear.results import Covariance, SummaryErrors
from seepage.linear.survival import SurvivalFit, measure_survival, people_of

UNIT = GaussianNoise(scale=1.0)
# By rule, numbers are printed to a tenth of their sampling deviation; a solver may leave a tenth of that.
_SOLVER_TOLERANCE = 0.01
# What is taken for granted whoever attacks.
_KEPT = ("label", "raw units", "offset", "minimizer", "class weights", "imputation")

_RAW_UNITS = Assumption(
    "raw units",
    "Coefficients are published in the units of the columns; what the steps before learned from these rows is not "
    "published, and counted as far as coefficients depend on it.",
)


def measure_without_noise(asked: Given, question: Question, before: TableQuestion) -> SamplingLeakage:
    """Return what printed numbers say to an attacker who uses averages."""
    told = (_survival if asked.is_survival else _linear)(asked, question, before)
    if asked.summary is not None:
        _compare_summary(told, asked.summary)
    return _measured(told, before, asked.remarks, asked.decimals)


def measure_files_without_noise(
    model: Model, source: SourceInFiles, question: Question, before: TableQuestion
) -> SamplingLeakage:
    """Return the same about people in files, in passes over them; what is answered of each of them is gathered."""
    roles = source.roles
    for given, named in (
        (before.clusters, "clusters="),
        (before.known_group_sizes or None, "known_group_sizes="),
        (roles.weight, "sample_weight="),
        (source.job.output, "output"),
    ):
        if given is not None:
            raise UnsupportedError(
                f"Without noise, {named} is not answered over files. Leave it out, or read the rows into memory: "
                "seepage.measure(model, frame, y)."
            )
    fit = Fit.assembled(model, source)
    balanced = fit.rows.reader.reading.balance is not None
    refuse_choices(fit, fit.preprocess, question.public_preprocessing, selects=fit.problem.selects, balanced=balanced)
    if roles.ids is not None:
        check_ids(source, roles.ids)
    names, label = published_numbers(fit, before.published, Covariance()), ", ".join(roles.target)
    release = Release.of(fit, fit.minimize(), question, label)
    people = PeopleInFiles(fit.rows.files, roles.ids, roles.groups)
    base = information_in_files(fit, release, people, ())
    printed = printed_in_files(fit, release, before.attributes, names, label)
    where = None if source.files.where is None else str(source.files.where)
    return _measured(Told(base, printed, names, people, None), before, for_whom(where), None)


def _whole_clusters(clusters: NDArray[np.intp], person: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """Return the cluster of each person; refuse people with rows in several."""
    if person is None:
        return clusters
    first = np.unique(person, return_index=True)[1]
    if (clusters[first[person]] != clusters).any():
        raise InputError("Some people have rows in several clusters of the standard errors: leave ids out.")
    return clusters[first]


def _compare_summary(told: Told, summary: SummaryErrors) -> None:
    """Refuse results whose summary prints other standard errors, or another dispersion, than those measured.

    Robust and classical standard errors differ by about their sampling deviation, whatever the number of people.
    """
    printed, start = told.printed, len(summary.errors)
    shown = np.append(summary.errors if ERRORS in told.published else [], summary.dispersion)
    for i, value in enumerate(shown[: len(printed.names) - start], start):
        if printed.whole[i] or abs(value - printed.values[i]) <= _SOLVER_TOLERANCE * printed.sampling[i]:
            continue
        raise UnsupportedError(
            f"The {printed.names[i]} is {value:.6g} in the summary of these results; the table that can be measured "
            f'has {printed.values[i]:.6g}. Publish the coefficients alone, published=["coefficients"]; or fit with '
            "the default covariance and scale."
        )


def _measured(
    told: Told, before: TableQuestion, remarks: tuple[Assumption, ...], decimals: int | None
) -> SamplingLeakage:
    if before.noise_scale is not None:
        if set(told.published) - {COEFFICIENTS, COUNTS}:
            raise InputError(
                "Noise is added to the coefficients, and other numbers would leave without any: say "
                'published=["coefficients"].'
            )
        told = replace(told, noise=as_noise(before.noise_scale))
    kept = tuple(
        _RAW_UNITS if each.kind == "raw units" else each for each in told.base.assumptions if each.kind in _KEPT
    )
    return told.before(before.known_records, before.digits, before.known_group_sizes, (*kept, *remarks), decimals)


def _linear(asked: Given, question: Question, before: TableQuestion) -> Told:
    preprocess, estimator = split(asked.model)
    check_supported(estimator)
    if asked.X is None:
        raise InputError("X is missing: give the rows that the model was fitted on.")
    columns = fitted_columns(preprocess, estimator)
    source = SourceInMemory.of(asked.X, asked.y, columns, asked.sample_weight, asked.offset)
    refuse_weights(source.sample_weight)
    fit = Fit.assembled(asked.model, source)
    balanced = fit.rows.reading.balance is not None
    raw, public = in_raw_units(fit), question.public_preprocessing
    refuse_choices(fit, fit.preprocess, public, selects=fit.problem.selects, balanced=balanced, in_raw_units=raw)
    covariance = Covariance() if asked.summary is None else asked.summary.covariance
    names = published_numbers(fit, before.published, covariance)
    release = Release.of(fit, fit.minimize(), question, asked.label)
    table = Table.of(asked.X)
    if ERRORS in names and not covariance.is_supported:
        raise UnsupportedError(
            f"Standard errors with cov_type={covariance.kind!r} are not supported; HC0 to HC3 and cluster are. Fit "
            'with one of these, or publish the coefficients alone: published=["coefficients"].'
        )
    people = PeopleInMemory.of(table if table.is_frame else fit.table, ids=asked.ids, groups=asked.groups, y=asked.y)
    base = LinearInformation.in_memory(fit, release, people)
    family = _families(before.clusters, people, base.count)
    if family is None and ERRORS in names and covariance.clusters is not None:
        family = _whole_clusters(covariance.clusters, people.person)
    label, unit = release.attribute_names[-1], _units(people.person, family)
    printed = printed_of(fit, release, before.attributes, names, label, people.person, unit, covariance)
    encoded = frozenset(fit.table.names[each.column] for each in fit.affine.coordinates if each.level is not None)
    if raw:
        base = replace(base, assumptions=(*base.assumptions, _RAW_UNITS))
    return Told(base, printed, names, people, family, encoded)


def _survival(asked: Given, question: Question, before: TableQuestion) -> Told:
    fit = SurvivalFit.of(asked.model, asked.X, asked.y, asked.sample_weight)
    refuse_weights(fit.rows.weights)
    refuse_choices(fit, split(fit.model)[0], question.public_preprocessing)
    people = people_of(fit, asked.ids, asked.groups)
    question = Question(UNIT, question.public_label, before.attributes, question.numbers, question.public_preprocessing)
    base = measure_survival(fit, people, question).information
    named = None if before.published in (None, "summary") else [*(before.published or ())]
    family = _families(before.clusters, people, base.count)
    unit = _units(people.person, family)
    printed, names = printed_survival(fit, base, named, people.person, unit)  # type: ignore[arg-type]
    return Told(base, printed, names, people, family, without_slope=base.outcome)


def _units(person: NDArray[np.intp] | None, family: NDArray[np.intp] | None) -> NDArray[np.intp] | None:
    """Return which rows are not independent of each other, by place; None if all are."""
    if family is None or person is None:
        return person if family is None else family
    return np.asarray(family[person])


def _families(clusters: Listed, people: PeopleInMemory, count: int) -> NDArray[np.intp] | None:
    if clusters is None:
        return None
    values = people.labels(clusters if isinstance(clusters, str) else column_values(clusters))
    if values.shape != (count,):
        raise InputError(f"clusters= must name the cluster of each of the {count} people; it has shape {values.shape}.")
    return np.unique(values, return_inverse=True)[1].astype(np.intp)
