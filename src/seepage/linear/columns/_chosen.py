"""From a search over penalties to the model that it chose.

The search looked at the data, but what it leaves behind is one fitted model with one penalty; that model is measured,
and the penalty counts as known (an assumption of its own).
"""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LassoLars,
    LassoLarsCV,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline

from seepage.errors import InputError, UnsupportedError

_CARRIED = ("coef_", "intercept_", "classes_", "_label_binarizer", "n_features_in_", "feature_names_in_")


def chosen(model: BaseEstimator) -> BaseEstimator:
    """Return the model that a search chose, fitted as the search left it; any other model as it is."""
    if isinstance(model, GridSearchCV | RandomizedSearchCV):
        return chosen(_best(model))
    if isinstance(model, Pipeline):
        last = chosen(model.steps[-1][1])
        return model if last is model.steps[-1][1] else _ending(model, last)
    kind = type(model)
    if kind is RidgeCV:
        return _as(Ridge(alpha=_found(model, "alpha_"), fit_intercept=model.fit_intercept), model)
    if kind is RidgeClassifierCV:
        found = RidgeClassifier(
            alpha=_found(model, "alpha_"), fit_intercept=model.fit_intercept, class_weight=model.class_weight
        )
        return _as(found, model)
    if kind is LogisticRegressionCV:
        return _logistic(model)
    if kind in (LassoCV, ElasticNetCV):
        settings = {name: getattr(model, name) for name in ("fit_intercept", "tol", "positive")}
        if kind is LassoCV:
            return _as(Lasso(alpha=_found(model, "alpha_"), **settings), model)
        return _as(ElasticNet(alpha=_found(model, "alpha_"), l1_ratio=model.l1_ratio_, **settings), model)
    if kind is LassoLarsCV:
        settings = {name: getattr(model, name) for name in ("fit_intercept", "positive")}
        return _as(LassoLars(alpha=_found(model, "alpha_"), **settings), model)
    return model


def search_of(model: BaseEstimator) -> str | None:
    """Return the class of the search that chose a model's penalty, if one did."""
    if isinstance(model, Pipeline):
        return search_of(model.steps[-1][1])
    if isinstance(model, GridSearchCV | RandomizedSearchCV) or type(model) in (
        RidgeCV,
        RidgeClassifierCV,
        LogisticRegressionCV,
        LassoCV,
        LassoLarsCV,
        ElasticNetCV,
    ):
        return type(model).__name__
    return None


def _best(search: GridSearchCV | RandomizedSearchCV) -> BaseEstimator:
    name = type(search).__name__
    if not search.refit:
        raise UnsupportedError(
            f"This {name} has refit=False, so it kept no model. Fit it with refit=True, or fit the estimator with its "
            "best_params_ on all rows and measure that."
        )
    return _found(search, "best_estimator_")


def _logistic(model: LogisticRegressionCV) -> LogisticRegression:
    if not model.refit:
        raise UnsupportedError(
            "This LogisticRegressionCV has refit=False: its coefficients are means over folds, which minimize no "
            "objective. Fit it with refit=True, or fit LogisticRegression(C=...) on all rows and measure that."
        )
    # One C for each class in older attributes; with one loss for all classes they are the same.
    strengths = set(np.asarray(_found(model, "C_"), dtype=np.float64).ravel().tolist())
    ratios = {float(each or 0.0) for each in np.atleast_1d(model.l1_ratio_).tolist()}
    if len(strengths) > 1:
        raise UnsupportedError(
            f"This LogisticRegressionCV chose another C for each class: {sorted(strengths)}. Fit "
            "LogisticRegression(C=...) on all rows and measure that."
        )
    found = LogisticRegression(
        C=strengths.pop(),
        l1_ratio=max(ratios),
        fit_intercept=model.fit_intercept,
        class_weight=model.class_weight,
        solver=model.solver,
        tol=model.tol,
        intercept_scaling=model.intercept_scaling,
    )
    return _as(found, model)


def _as(found: BaseEstimator, search: BaseEstimator) -> BaseEstimator:
    """Give a model what a search fitted."""
    for name in _CARRIED:
        if name in vars(search):
            setattr(found, name, vars(search)[name])
    return found


def _ending(model: Pipeline, last: BaseEstimator) -> Pipeline:
    steps = [*model.steps[:-1], *(last.steps if isinstance(last, Pipeline) else [(model.steps[-1][0], last)])]
    return Pipeline(steps)


def _found(search: BaseEstimator, name: str) -> object:
    if not hasattr(search, name):
        raise InputError(
            f"This {type(search).__name__} is not fitted yet. Fit it first; seepage measures a trained model."
        )
    return getattr(search, name)
