"""Models that scikit-learn fits from scratch, a record changed or left out: nothing of a measurement is in them."""

import warnings
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)

from seepage._tables import Array, Column
from seepage.errors import UnansweredError
from seepage.linear.information import PublishedParameters


@dataclass(eq=False)
class Anew:
    """The data of a measurement, and a solver that comes to the minimizer's last digits."""

    outputs: PublishedParameters
    features: Array = field(init=False)
    labels: Column = field(init=False)
    weights: Array | None = field(init=False)
    estimator: BaseEstimator = field(init=False)

    def __post_init__(self) -> None:
        rows = self.outputs.rows
        parts = [rows.read(span).features for span in rows.spans()]
        self.features = np.vstack([part if isinstance(part, np.ndarray) else part.toarray() for part in parts])
        self.labels, self.weights = rows.column(None), rows.weights
        self.estimator = _precise(self.outputs.estimator)

    def whole(self) -> Array:
        """Return the parameters fitted on all records."""
        return self._fitted(self.estimator, self.features, self.labels, self.weights)

    def with_value(self, person: int, attribute: str | None, value: ArrayLike) -> Array:
        """Return those with one person's attribute (None: the label) at another value."""
        features, labels = self.features, self.labels
        if attribute is None:
            labels = labels.copy() if labels.dtype.kind != "i" else labels.astype(np.result_type(labels, type(value)))
            labels[person] = value
        else:
            changed = self.outputs.rows.altered(slice(person, person + 1), attribute, value).features
            features = features.copy()
            features[person] = changed[0] if isinstance(changed, np.ndarray) else changed.toarray()[0]
            if self.outputs.is_rescaled:
                return self._through_scaler(features)
        return self._fitted(self.estimator, features, labels, self.weights)

    def _through_scaler(self, features: Array) -> Array:
        """Return the parameters fitted behind a scaler that is fitted anew, in the units of the old one."""
        features, factors, shares = self.outputs.rescaled(features, self.weights)
        found = self._fitted(self.estimator, features, self.labels, self.weights)
        intercept = self.estimator.fit_intercept
        theta = found.reshape(-1, features.shape[1] + intercept)
        if intercept:
            theta[:, -1] += theta[:, :-1] @ shares
        theta[:, : features.shape[1]] *= factors
        return theta.ravel()

    def without(self, person: int) -> Array:
        """Return those without one person, the penalty on the sum over people staying."""
        kept = np.arange(len(self.labels)) != person
        weights = None if self.weights is None else self.weights[kept]
        estimator = self.estimator
        if isinstance(estimator, PoissonRegressor | GammaRegressor | TweedieRegressor | ElasticNet):
            # Their objective is a mean over the weights.
            left = kept.mean() if self.weights is None or weights is None else weights.sum() / self.weights.sum()
            estimator = clone(estimator).set_params(alpha=estimator.alpha / left)
        return self._fitted(estimator, self.features[kept], self.labels[kept], weights)

    @staticmethod
    def _fitted(estimator: BaseEstimator, features: Array, labels: Column, weights: Array | None) -> Array:
        with warnings.catch_warnings():
            # The tolerance is below what some solvers reach; they then stop where rounding ends.
            warnings.simplefilter("ignore")
            model = clone(estimator).fit(features, labels, sample_weight=weights)
        theta = np.atleast_2d(model.coef_)
        if model.fit_intercept:
            theta = np.column_stack([theta, np.broadcast_to(model.intercept_, len(theta))])
        if isinstance(model, LogisticRegression) and len(theta) > 1:
            # What all classes share changes no probability, and solvers leave it where it was.
            theta = theta - theta.mean(axis=0)
        return np.asarray(theta.ravel(), dtype=np.float64)


def _precise(estimator: BaseEstimator) -> BaseEstimator:
    """Return an estimator that minimizes the same, by a solver that comes to the last digits."""
    exact = clone(estimator)
    if isinstance(exact, LogisticRegression):
        # Only liblinear penalizes the intercept, and only it and saga know an L1 penalty.
        smooth = exact.solver not in ("liblinear", "saga") or not exact.l1_ratio
        solver = "newton-cholesky" if smooth and exact.solver != "liblinear" else exact.solver
        return exact.set_params(solver=solver, tol=1e-13, max_iter=10_000, warm_start=False)
    if isinstance(exact, ElasticNet):
        return exact.set_params(tol=1e-13, max_iter=1_000_000, selection="cyclic", warm_start=False)
    if isinstance(exact, PoissonRegressor | GammaRegressor | TweedieRegressor):
        return exact.set_params(solver="newton-cholesky", tol=1e-13, max_iter=10_000, warm_start=False)
    if isinstance(exact, Ridge | RidgeClassifier):
        return exact.set_params(solver="cholesky")
    if isinstance(exact, LinearRegression):
        return exact
    raise UnansweredError(
        f"This attack fits the model anew, and {type(exact).__name__} draws its steps at random: two fits differ by "
        "more than one record does. Verify LogisticRegression or Ridge with the same penalty instead."
    )
