"""A model taken apart: preprocessing, an estimator, and its features as a function of the raw columns.

A search over penalties leaves one fitted model with one penalty. That model is measured, and its penalty is taken as
known.
"""

from collections.abc import Sequence

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

from seepage._tables import Model
from seepage.errors import InputError, UnsupportedError
from seepage.linear.columns._features import Features
from seepage.linear.columns._steps import through

_SEARCHES = {
    RidgeCV: Ridge,
    RidgeClassifierCV: RidgeClassifier,
    LassoCV: Lasso,
    ElasticNetCV: ElasticNet,
    LassoLarsCV: LassoLars,
    LogisticRegressionCV: LogisticRegression,
}
_SETTINGS = ("fit_intercept", "class_weight", "tol", "positive", "solver", "intercept_scaling")
_CARRIED = ("coef_", "intercept_", "classes_", "_label_binarizer", "n_features_in_", "feature_names_in_")


def split(model: Model) -> tuple[Pipeline | None, BaseEstimator]:
    """Return the preprocessing, or None, and the estimator behind it; of a search, what it chose."""
    model = chosen(model)
    if not isinstance(model, Pipeline):
        return None, model
    before = model[:-1]
    return (before if len(before.steps) else None), model[-1]


def chosen(model: Model) -> Model:
    """Return the model that a search chose, fitted as the search left it; any other model as it is."""
    if isinstance(model, GridSearchCV | RandomizedSearchCV):
        if not model.refit:
            raise _without_refit(model, "it kept no model", "the estimator with its best_params_")
        return chosen(_fitted(model, "best_estimator_"))
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        found = chosen(last)
        if found is last:
            return model
        return Pipeline([*model.steps[:-1], *(found.steps if isinstance(found, Pipeline) else [(name, found)])])
    if type(model) not in _SEARCHES:
        return model
    kind = _SEARCHES[type(model)]
    names = {*_SETTINGS} & {*kind().get_params()} & {*model.get_params()}
    if kind is RidgeClassifier or kind is Ridge:
        # The solver of a search is another one than that of a fit.
        names -= {"solver"}
    found = kind(**{name: getattr(model, name) for name in names}, **_penalty(model))
    for name in {*_CARRIED} & {*vars(model)}:
        setattr(found, name, vars(model)[name])
    return found


def search_of(model: Model) -> str | None:
    """Return the class of the search that chose a model's penalty, if one did."""
    if isinstance(model, Pipeline):
        return search_of(model.steps[-1][1])
    is_search = isinstance(model, GridSearchCV | RandomizedSearchCV) or type(model) in _SEARCHES
    return type(model).__name__ if is_search else None


def _penalty(model: Model) -> dict[str, float]:
    """Return the penalty that a search chose, as its model calls it."""
    if not isinstance(model, LogisticRegressionCV):
        ratio = {"l1_ratio": model.l1_ratio_} if isinstance(model, ElasticNetCV) and hasattr(model, "l1_ratio_") else {}
        return {"alpha": _fitted(model, "alpha_"), **ratio}
    if not model.refit:
        raise _without_refit(
            model, "its coefficients are means over folds, which minimize no objective", "LogisticRegression(C=...)"
        )
    # One C for each class in older attributes; with one loss for all classes they are the same.
    strengths = set(np.asarray(_fitted(model, "C_"), dtype=np.float64).ravel().tolist())
    if len(strengths) > 1:
        raise UnsupportedError(
            f"This LogisticRegressionCV chose another C for each class: {sorted(strengths)}. Fit "
            "LogisticRegression(C=...) on all rows and measure that."
        )
    return {"C": strengths.pop(), "l1_ratio": max(float(each or 0.0) for each in np.atleast_1d(model.l1_ratio_))}


def _without_refit(model: Model, why: str, instead: str) -> UnsupportedError:
    return UnsupportedError(
        f"This {type(model).__name__} has refit=False: {why}. Fit it with refit=True, or fit {instead} on all rows and "
        "measure that."
    )


def _fitted(search: Model, name: str) -> Model:
    if not hasattr(search, name):
        raise InputError(
            f"This {type(search).__name__} is not fitted yet. Fit it first; seepage measures a trained model."
        )
    return getattr(search, name)


def fitted_columns(preprocess: Model, estimator: Model) -> list[str] | None:
    """Return the columns that a model was fitted on by name, if it was."""
    first = estimator if preprocess is None else preprocess
    try:
        names = first.feature_names_in_
    except AttributeError:
        return None
    return [str(name) for name in names]


def features_behind(preprocess: Model, names: Sequence[str]) -> Features:
    """Return what some steps make of the raw columns."""
    raw = Features.raw(len(names))
    return raw if preprocess is None else through(preprocess, raw, "")


def features_of(preprocess: Model, estimator: Model, names: Sequence[str]) -> Features:
    """Return the features of an estimator; refuse rows with another number of them."""
    features = features_behind(preprocess, names)
    expected = np.atleast_2d(estimator.coef_).shape[1]
    if features.count != expected:
        raise InputError(
            f"X has {len(names)} columns, which give {features.count} features; the model was fitted on {expected}."
        )
    return features


def feature_names(features: Features, names: tuple[str, ...]) -> tuple[str, ...]:
    """Name each feature after the columns that it is made of."""
    found, reach = [], features.reach()
    bent = set(features.curved.entries[0].tolist()) if features.curves else set()
    for feature in range(features.count):
        reached = [features.coordinates[i] for i in reach[[feature]].tocoo().col]
        if feature in bent:
            columns = dict.fromkeys(names[coordinate.column] for coordinate in reached)
            found.append(f"feature {feature} ({', '.join(columns) or 'constant'})")
        elif len(reached) == 1:
            column, level = reached[0]
            values = "" if level is None else f" = {', '.join(map(str, level))}"
            found.append(f"{names[column]}{values}")
        else:
            found.append(f"feature {feature}")
    return tuple(found)
