"""A fitted Cox model with the rows it was fitted on, in one notation."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage._noise import GaussianNoise
from seepage._tables import Column, Data, Listed, Model, Table
from seepage.errors import InputError, UnsupportedError
from seepage.linear.columns import (
    Affine,
    affine_of,
    feature_names,
    fitted_columns,
    split,
)
from seepage.linear.information import (
    COEFFICIENTS,
    Fitted,
    Preprocessing,
    Scales,
    SolvedSteps,
    check_published,
    checked_numbers,
    preprocessing_of,
)
from seepage.linear.rows import InMemory, Labels, Reading, batch_rows, check_raw, check_width, checked_weights
from seepage.linear.survival._cox import Cox
from seepage.linear.survival._followed import followed
from seepage.linear.survival._horizons import Horizons, SurvivalAt
from seepage.linear.survival._minimum import Minimum
from seepage.linear.survival._monotone import minimum_of
from seepage.linear.survival._outcomes import Outcomes
from seepage.linear.survival._risk import Cohort, RiskSets

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SurvivalFit(Fitted):
    """A Cox model, the steps before it, and its rows."""

    model: Model
    """With the steps before it."""
    estimator: Cox
    affine: Affine
    table: Table
    rows: InMemory
    outcomes: Outcomes
    strata: str | None
    """What the strata are called."""
    everything: Data
    """The frame that holds the rows, with all its columns."""
    search: str | None
    """What chose the penalty by looking at the data, if something did."""
    horizons: Horizons | None
    """At which survival is published beside the coefficients."""

    @classmethod
    def of(cls, model: Model, X: Data, y: Listed = None, sample_weight: Listed = None) -> "SurvivalFit":
        """Check that a survival model of any library and its rows can belong together, and read them."""
        given = followed(model, X, y, sample_weight)
        model, X, y, sample_weight = given.model, given.rows, given.outcomes, given.weights
        preprocess, estimator = split(model)
        assert isinstance(estimator, Cox)
        if not hasattr(estimator, "coef_"):
            raise InputError("This Cox is not fitted: it has no coef_.")
        if y is None:
            raise InputError("y is missing: give the outcomes that the model was fitted on, an event and a time a row.")
        table = Table.of(X, fitted_columns(preprocess, estimator))
        if len(table) == 0:
            raise InputError("X has no rows: nobody's leakage can be measured.")
        affine = affine_of(preprocess, estimator, table.names)
        check_width(np.size(estimator.coef_))
        outcomes = Outcomes.of(y, len(table))
        reading = Reading(preprocess, Labels(None, None, 1), None, False, affine)
        weights = checked_weights(sample_weight, len(table))
        rows = InMemory(table, np.zeros(len(table)), weights, reading, batch_rows(affine.features, affine.slopes))
        if rows.missing:
            raise UnsupportedError(
                "Some cells of these rows are missing and filled in before the model, which is not measured for "
                "survival models yet. Leave out rows with missing cells, or fill them in with public constants before."
            )
        horizons = None if given.at is None else _horizons(given.at, reading, table)
        if horizons is not None:
            horizons.check(outcomes)
        everything = given.everything
        return cls(model, estimator, affine, table, rows, outcomes, given.strata, everything, given.search, horizons)

    @cached_property
    def published(self) -> tuple[str, ...]:
        """What the published numbers are called: coefficients of features, then the horizons."""
        return (*self.names, *(() if self.horizons is None else self.horizons.names))

    @property
    def leaves(self) -> tuple[str, ...]:
        return (COEFFICIENTS,) if self.horizons is None else (COEFFICIENTS, "survival")

    def check_published(self, names: Sequence[str] | None) -> None:
        """Refuse what this model does not have, and to leave survival out: without it, it is another model."""
        check_published(names, self.leaves)
        if names is not None and set(names) != set(self.leaves):
            raise InputError(
                f"published={list(names)!r} leaves out 'survival', which a SurvivalAt is there for: measure the model "
                "that it was made of."
            )

    @cached_property
    def exact(self) -> Array:
        """What would be published without noise."""
        return self.beside(self.cohort, self.minimum.beta)

    def beside(self, cohort: Cohort, beta: Array) -> Array:
        """Return coefficients with what is published beside them, for perhaps other rows."""
        if self.horizons is None:
            return beta
        return np.concatenate([beta, self.horizons.values(cohort, beta, self.origin)])

    @cached_property
    def slopes(self) -> tuple[Array, Array | None]:
        """How what is published moves with the coefficients, shape (published, p), and directly with a row's margin."""
        own = np.eye(len(self.names))
        if self.horizons is None:
            return own, None
        through, direct = self.horizons.slopes(self.cohort, self.minimum.beta, self.origin)
        return np.vstack([own, through]), direct

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the features are called."""
        return feature_names(self.affine, self.table.names)

    @cached_property
    def _read(self) -> tuple[Array, Array | None]:
        """The features, and the coordinates that reach steps which are not affine."""
        if self.rows.reading.preprocess is not None:
            check_raw(self.table, self.affine, self.rows.missing)
        features = np.empty((self.rows.count, self.affine.features))
        bent = None
        for span in self.rows.spans():
            batch = self.rows.read(span, self.names)
            features[span] = batch.dense()
            if batch.bent is not None:
                bent = np.empty((self.rows.count, batch.bent.shape[1])) if bent is None else bent
                bent[span] = batch.bent
        return features, bent

    @property
    def features(self) -> Array:
        """What the model sees of each row, shape (n, p)."""
        return self._read[0]

    @property
    def bent(self) -> Array | None:
        """The coordinates that reach steps which are not affine, shape (n, coordinates)."""
        return self._read[1]

    @cached_property
    def origin(self) -> Array:
        """The mean of each feature."""
        return np.asarray(self.features.mean(axis=0))

    @cached_property
    def risk(self) -> RiskSets:
        """Who is at risk when."""
        outcomes = self.outcomes
        return RiskSets.of(outcomes.time, outcomes.event, outcomes.stratum, efron=self.estimator.counts_by_efron)

    @cached_property
    def cohort(self) -> Cohort:
        """The rows in the order of the risk sets."""
        return Cohort.of(self.risk, self.features, self.rows.weights, self.origin)

    @cached_property
    def minimum(self) -> Minimum:
        """The exact minimizer near the model; a model that was not fitted on these rows is refused."""
        given = np.ravel(np.asarray(self.estimator.coef_, dtype=np.float64))
        penalty = self.estimator.factors(self.features)
        return minimum_of(self.cohort, given, penalty, self.names, estimator="Cox", start_is_fit=True)

    def weighed(self, features: Array, times: Array) -> Minimum:
        """Return the fit of rows, perhaps with other features, that are there so many times; most are not, or once."""
        there, outcomes = np.flatnonzero(times), self.outcomes
        efron = self.estimator.counts_by_efron
        risk = RiskSets.of(outcomes.time[there], outcomes.event[there], outcomes.stratum[there], efron=efron)
        cohort = Cohort.of(risk, features[there], times[there], self.origin)
        beta, penalty = self.minimum.beta, self.minimum.penalty
        return minimum_of(cohort, beta, penalty, self.names, estimator="Cox", start_is_fit=False)

    @cached_property
    def stretch(self) -> Array | None:
        """By how much the penalty's pull on each coefficient grows with each row's value, shape (n, p)."""
        if not self.estimator.standardized or not np.any(self.estimator.penalty):
            return None
        factors = np.broadcast_to(np.asarray(self.estimator.penalty, dtype=np.float64), self.origin.shape)
        count = self.rows.count
        return np.asarray(2.0 / (count - 1) * factors * self.minimum.beta * (self.features - self.origin))

    @property
    def called(self) -> str:
        return "Cox"

    @property
    def outcome_columns(self) -> tuple[Column, ...]:
        return self.outcomes.event, self.outcomes.time, self.outcomes.stratum

    @property
    def outcome_names(self) -> tuple[str, ...]:
        return self.outcomes.names

    def categorical(self, columns: Sequence[int], numbers: Collection[str] | None) -> frozenset[str]:
        """Return the columns of categories: encoded ones, and codes of two values that are not called numbers."""
        called = checked_numbers(numbers, self.table.names)
        named = {column: self.table.names[column] for column in columns}
        codes = {name for column, name in named.items() if self.rows.is_two_valued(column)} - called
        return frozenset(codes | {name for column, name in named.items() if self.affine.is_categorical(column)})

    @property
    def preprocess(self) -> Model | None:
        """The steps before the model."""
        return self.rows.reading.preprocess

    def scales(self, noise: GaussianNoise, declared: Sequence[str]) -> tuple[Preprocessing, Scales | None]:
        """Return which steps before the model were fitted on these rows, and what a value does to those that were."""
        # A penalty on standardized columns is the same whatever a scaler made of them before.
        penalty = np.zeros_like(self.minimum.beta) if self.estimator.standardized else self.minimum.penalty
        nothing = np.empty((len(penalty), 0))
        solved = SolvedSteps(
            "Cox", self.minimum.beta[:, None], penalty[:, None], False, 1, nothing, None, _nothing_filled
        )
        found, scales = preprocessing_of(self, solved, noise, declared)
        # Whatever is taken away from a column makes no difference to who is ahead of whom.
        return replace(found, without_intercept=False), scales


def _nothing_filled(features: NDArray[np.intp], columns: tuple[tuple[int, ...], ...]) -> Array:
    raise AssertionError("Rows with missing cells are refused before.")


def _horizons(at: SurvivalAt, reading: Reading, table: Table) -> Horizons:
    """Return horizons with the reference row as the model sees it."""
    missing = [name for name in table.names if name not in at.reference]
    foreign = [name for name in at.reference if name not in table.names]
    if missing or foreign:
        what = f"has no {missing[0]!r}" if missing else f"names {foreign[0]!r}, which is no column of the model"
        raise InputError(f"The reference row {what}. It needs one value for each of {list(table.names)}.")
    row = table.rows(0, 1)
    for name, value in at.reference.items():
        row = Table(row, table.names).rows_with(slice(0, 1), name, value)
    features = np.asarray(reading.features(row), dtype=np.float64).ravel()
    if not np.isfinite(features).all():
        raise InputError(f"The reference row {at.reference!r} is not made of numbers that the model can take.")
    return Horizons(at.horizons, features, at.reference)
