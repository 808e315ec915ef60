"""A copy of a model without its fit.

The copy is built from nothing: hyperparameters, names and classes are carried over, and nothing else that fitting left
behind comes along.
"""

import io
import pickle
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest, SelectorMixin
from sklearn.pipeline import Pipeline

from seepage._errors import UnsupportedError
from seepage._tables import Model

Array = NDArray[np.float64]

# What predicting needs besides the parameters, and no row has a say in: names, classes and the kind of loss. Whatever
# else fitting leaves behind (singular values, running averages, step counts) is a function of the rows without noise.
_CARRIED = ("n_features_in_", "feature_names_in_", "classes_", "_label_binarizer", "_base_loss")
# What a selector keeps besides the columns that it takes.
_CARRIED_BY_SELECTORS = ("feature_names_in_", "_sklearn_output_config")


def last_step(model: Model) -> Any:
    """Return the estimator at the end of a Pipeline, or the model itself."""
    return model[-1] if isinstance(model, Pipeline) else model


def copy_with(model: Model, parameters: Array) -> Any:
    """Return a copy of a model that has nothing of its fit but these parameters, shape (outputs, p)."""
    estimator = bare_copy(last_step(model))
    set_parameters(estimator, parameters)
    if not isinstance(model, Pipeline):
        return estimator
    return Pipeline([*_copied_steps(model.steps[:-1]), (model.steps[-1][0], estimator)])


def bare_copy(estimator: Model) -> Any:
    """Return a copy without anything that came from the rows, its parameters all zero."""
    copy = clone(estimator)
    for name in _CARRIED:
        if name in vars(estimator):
            setattr(copy, name, deepcopy(vars(estimator)[name]))
    for name in ("coef_", "intercept_"):
        setattr(copy, name, np.zeros_like(getattr(estimator, name), dtype=np.float64)[()])
    return copy


def set_parameters(estimator: Model, parameters: Array) -> None:
    """Give an estimator its coefficients and intercept, from shape (outputs, p)."""
    features = int(estimator.coef_.shape[-1])
    estimator.coef_ = parameters[:, :features].reshape(estimator.coef_.shape)
    if estimator.fit_intercept:
        estimator.intercept_ = parameters[:, features].reshape(np.shape(estimator.intercept_))[()]


def _copied_steps(steps: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Copy preprocessing without the models that chose its columns, which were fitted on the same rows."""
    buffer = io.BytesIO()
    try:
        _StepPickler(buffer).dump(list(steps))
    except (pickle.PicklingError, AttributeError, TypeError) as reason:
        raise UnsupportedError(
            f"The preprocessing cannot be copied, nor could it be sent to anyone: {reason}."
        ) from None
    copied: list[tuple[str, Any]] = pickle.loads(buffer.getvalue())
    return copied


class _StepPickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, SelectorMixin):
            try:
                return _selecting, (
                    obj.get_support(),
                    {name: getattr(obj, name) for name in _CARRIED_BY_SELECTORS if name in vars(obj)},
                )
            except (NotFittedError, ValueError):
                return NotImplemented
        if isinstance(obj, BaseEstimator) and (is_classifier(obj) or is_regressor(obj)):
            return _unfitted, (type(obj), obj.get_params(deep=False))
        return NotImplemented


def _selecting(mask: NDArray[np.bool_], carried: Mapping[str, Any]) -> SelectKBest:
    """Return a selector that knows which columns it takes, and not why."""
    selector = SelectKBest(k=int(mask.sum()))
    selector.scores_ = mask.astype(np.float64)
    selector.n_features_in_ = mask.size
    for name, value in carried.items():
        setattr(selector, name, value)
    return selector


def _unfitted(kind: type, parameters: Mapping[str, Any]) -> Any:
    return kind(**parameters)
