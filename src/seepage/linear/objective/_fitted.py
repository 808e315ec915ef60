"""A fitted model with the rows it was fitted on, in one notation, and what its release is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from seepage._errors import InputError
from seepage._facts import Assumption, given, personal
from seepage._noise import GaussianNoise
from seepage._tables import Table, column_values, plain
from seepage.engines import Engine
from seepage.linear.columns._affine import Affine
from seepage.linear.columns._steps import through
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._passes import OnEngine
from seepage.linear.objective._estimators import Labels, Problem, check_supported, class_weight_of, labels_of, read
from seepage.linear.objective._minimizer import Minimizer, minimize
from seepage.linear.rows._rows import InMemory, Reading, batch_rows
from seepage.linear.rows._sums import NewtonSums, newton_sums
from seepage.linear.rows._weights import checked_weights
from seepage.linear.rows._width import check_width

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Release:
    """What is published about whom, and how it moves with their values."""

    geometry: Geometry
    attribute_names: tuple[str, ...]
    categorical: frozenset[str]
    assumptions: tuple[Assumption, ...]

    @classmethod
    def of(
        cls,
        fit: "Fit",
        minimizer: Minimizer,
        noise: GaussianNoise,
        attributes: Sequence[str] | None,
        label: str,
        public_label: bool,
    ) -> "Release":
        """Return the release of a model's parameters with some noise."""
        names = fit.table.names
        columns = fit.private_columns(attributes)
        geometry = Geometry.of(fit.problem, minimizer, fit.affine, columns, noise, public_label)
        private = [names[column] for column in columns]
        categorical = {names[column] for column in columns if fit.affine.is_categorical(column)}
        if not public_label:
            private.append(label if label not in private else f"{label} (label)")
            if fit.problem.labels.classes is not None:
                categorical.add(private[-1])
        assumptions = _assumptions(fit, noise, minimizer, private, public_label)
        return cls(geometry, tuple(private), frozenset(categorical), assumptions)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model with the rows it was fitted on, read into one notation."""

    problem: Problem
    affine: Affine
    table: Table
    rows: Any
    """Where its rows are: `InMemory`, `OnEngine` or `FileRows`."""
    preprocessed: bool

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any, engine: Engine | None = None) -> "Fit":
        """Check that model and data can belong together, and read them."""
        preprocess, estimator = split(model)
        check_supported(estimator)
        table = Table.of(X, fitted_columns(preprocess, estimator))
        labels = _labels(y, table)
        weights = checked_weights(sample_weight, len(table))
        affine = affine_of(preprocess, estimator, table.names)
        coder = labels_of(estimator)
        class_weight = class_weight_of(estimator, *_class_counts(coder, labels, weights))
        reading = Reading(preprocess, coder, class_weight, bool(estimator.fit_intercept))
        rows = InMemory(table, labels, weights, reading, batch_rows(affine.features))
        total = _total_weight(rows)
        problem = read(estimator, coder, class_weight, total, len(table))
        shared = rows if engine is None else OnEngine(rows, engine)
        return cls(problem, affine, table, shared, preprocess is not None)

    def minimize(self, *, start_is_fit: bool = True) -> Minimizer:
        """Return the exact minimizer near the model, or refuse a model that was not fitted on these rows."""
        features = feature_names(self.affine, self.table.names)
        names = (*features, "(intercept)") if self.problem.intercept else features
        checked = False

        def evaluate(parameters: Array) -> NewtonSums:
            nonlocal checked
            of = partial(newton_sums, loss=self.problem.loss, parameters=parameters)
            sums: NewtonSums = self.rows.total(of, None if checked else features)
            checked = True
            return sums

        return minimize(self.problem, evaluate, names, start_is_fit=start_is_fit)

    def private_columns(self, attributes: Sequence[str] | None) -> list[int]:
        """Return the raw columns that are private."""
        if attributes is None:
            return sorted({coordinate.column for coordinate in self.affine.coordinates})
        if isinstance(attributes, str):
            raise InputError(f"attributes must be a list of column names; write attributes=[{attributes!r}].")
        missing = [name for name in attributes if name not in self.table.names]
        if missing:
            raise InputError(f"attributes names {missing[0]!r}, which is no column of X: {list(self.table.names)}.")
        return [self.table.names.index(name) for name in dict.fromkeys(attributes)]


def split(model: Any) -> tuple[Any, Any]:
    """Return the preprocessing, or None, and the estimator behind it."""
    if not isinstance(model, Pipeline):
        return None, model
    before = model[:-1]
    return (before if len(before.steps) else None), model[-1]


def fitted_columns(preprocess: Any, estimator: Any) -> list[str] | None:
    """Return the columns that a model was fitted on by name, if it was."""
    first = estimator if preprocess is None else preprocess
    try:
        names = first.feature_names_in_
    except AttributeError:
        return None
    return [str(name) for name in names]


def features_of(preprocess: Any, names: Sequence[str]) -> int:
    """Return how many features the raw columns become."""
    return _through(preprocess, names).features


def _through(preprocess: Any, names: Sequence[str]) -> Affine:
    affine = Affine.raw(len(names))
    return affine if preprocess is None else through(preprocess, affine, "")


def affine_of(preprocess: Any, estimator: Any, names: Sequence[str]) -> Affine:
    """Return the features as an affine map of the raw columns."""
    affine = _through(preprocess, names)
    expected = np.atleast_2d(estimator.coef_).shape[1]
    if affine.features != expected:
        raise InputError(
            f"X has {len(names)} columns, which give {affine.features} features; the model was fitted on {expected}."
        )
    check_width(np.size(estimator.coef_))
    return affine


def _labels(y: Any, table: Table) -> NDArray[Any]:
    labels = plain(column_values(y))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if len(table) == 0:
        raise InputError("X has no rows: nobody's leakage can be measured.")
    if labels.ndim not in (1, 2) or len(labels) != len(table):
        raise InputError(f"X has {len(table)} rows and y has shape {labels.shape}: one label a row is needed.")
    return labels


def _class_counts(
    labels: Labels, values: NDArray[Any], weights: Array | None
) -> tuple[Array, Array] | tuple[None, None]:
    if labels.classes is None:
        return None, None
    index = labels.positions(values)
    counts = np.bincount(index, minlength=len(labels.classes)).astype(np.float64)
    if weights is None:
        return counts, counts
    return counts, np.bincount(index, weights, minlength=len(labels.classes)).astype(np.float64)


def _total_weight(rows: InMemory) -> float:
    factor = rows.reading.class_weight
    if factor is None:
        return float(rows.count if rows.weights is None else rows.weights.sum())
    each = factor[rows.reading.labels.positions(rows.labels)]
    return float(each.sum() if rows.weights is None else each @ rows.weights)


def feature_names(affine: Affine, names: tuple[str, ...]) -> tuple[str, ...]:
    """Name each feature after the columns that it is made of."""
    found = []
    for feature in range(affine.features):
        reached = [affine.coordinates[i] for i in affine.matrix[[feature]].tocoo().coords[1]]
        if len(reached) == 1:
            column, level = reached[0]
            found.append(names[column] if level is None else f"{names[column]} (level {level})")
        else:
            found.append(f"feature {feature}")
    return tuple(found)


def _assumptions(
    fit: Fit, noise: GaussianNoise, minimizer: Minimizer, private: Sequence[str], public_label: bool
) -> tuple[Assumption, ...]:
    published = "Only the parameters of this {estimator} are published, once, with Gaussian noise of"
    estimator = {"estimator": fit.problem.estimator}
    found = [
        Assumption("release", f"{published} the given covariance.", names=estimator)
        if noise.scale is None
        else Assumption("release", f"{published} scale {{scale}}.", {"scale": given(noise.scale, "g")}, estimator),
        Assumption(
            "attacker",
            "The attacker knows all but one person's private values: every other record, the weights and the penalty.",
        ),
        Assumption(
            "bound",
            "The bounds hold for unbiased guesses; an attacker with a prior can be nearer by guessing the prior.",
        ),
        Assumption(
            "label",
            "The label is known to the attacker."
            if public_label
            else "The label is private and counts as one of the values.",
        ),
    ]
    if fit.preprocessed:
        found.append(
            Assumption(
                "preprocessing",
                "Preprocessing is public: its means, scales and levels are not part of what is measured.",
            )
        )
    if fit.problem.class_weight is not None:
        found.append(Assumption("class weights", "Class weights are public and do not move with a person's label."))
    public = [name for name in fit.table.names if name not in private]
    if public:
        listed = f"{', '.join(public[:8])}{', ...' if len(public) > 8 else ''}"
        found.append(
            Assumption("public columns", "Known to the attacker besides: {columns}.", names={"columns": listed})
        )
    found.append(
        Assumption(
            "minimizer",
            "The numbers hold at the exact minimizer; the model was {distance} standard errors from it.",
            {"distance": personal(minimizer.distance, ".1g")},
        )
    )
    return tuple(found)
