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
    Features,
    feature_names,
    features_of,
    fitted_columns,
    split,
)
from seepage.linear.information import (
    Fitted,
    Preprocessing,
    Scales,
    SolvedSteps,
    checked_numbers,
    preprocessing_of,
)
from seepage.linear.rows import InMemory, Labels, Reading, batch_rows, check_raw, check_width, checked_weights
from seepage.linear.survival._cox import Cox
from seepage.linear.survival._followed import followed
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
    affine: Features
    table: Table
    rows: InMemory
    outcomes: Outcomes
    strata: str | None
    """What the strata are called."""
    everything: Data
    """The frame that holds the rows, with all its columns."""
    search: str | None
    """What chose the penalty by looking at the data, if something did."""

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
        affine = features_of(preprocess, estimator, table.names)
        check_width(np.size(estimator.coef_))
        outcomes = Outcomes.of(y, len(table))
        reading = Reading(preprocess, Labels(None, None, 1), None, False, affine)
        weights = checked_weights(sample_weight, len(table))
        rows = InMemory(table, np.zeros(len(table)), weights, reading, batch_rows(affine.count, affine.slopes))
        if rows.missing:
            raise UnsupportedError(
                "Some cells of these rows are missing and filled in before the model, which is not measured for "
                "survival models yet. Leave out rows with missing cells, or fill them in with public constants before."
            )
        return cls(model, estimator, affine, table, rows, outcomes, given.strata, given.everything, given.search)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the features are called."""
        return feature_names(self.affine, self.table.names)

    @cached_property
    def _read(self) -> tuple[Array, Array | None]:
        """The features, and the coordinates that reach steps which are not affine."""
        if self.rows.reading.preprocess is not None:
            check_raw(self.table, self.affine, self.rows.missing)
        features = np.empty((self.rows.count, self.affine.count))
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
