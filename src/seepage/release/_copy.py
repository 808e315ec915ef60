"""A copy of an estimator without its fit.

The copy is built from nothing: hyperparameters and classes are carried over, and nothing else that fitting left behind
comes along.
"""

from copy import copy

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer

from seepage._tables import Array, Model
from seepage.linear.columns import chosen

SEARCHED = ("C", "alpha", "l1_ratio")
"""How much penalty there is, of which kind. A search chooses it by the data, all digits of it."""


def without_penalty(estimator: Model) -> Model:
    """Return a fitted estimator as if its penalty were the usual one: predicting does not need it."""
    usual = type(estimator)().get_params()
    return copy(estimator).set_params(**{name: usual[name] for name in SEARCHED if name in usual})


def last_step(model: Model) -> Model:
    """Return the estimator at the end of a Pipeline, or the model itself; of a search, what it chose."""
    model = chosen(model)
    return model[-1] if isinstance(model, Pipeline) else model


def bare_copy(estimator: Model, features: int) -> Model:
    """Return a copy without anything that came from the rows, for so many features; its parameters are all zero.

    Predicting needs classes and the kind of loss besides. Whatever else fitting leaves behind (singular values, running
    averages, step counts) is a function of the rows without noise.
    """
    bare = clone(estimator)
    held = vars(estimator)
    if "classes_" in held:
        bare.classes_ = held["classes_"].copy()
    if "_label_binarizer" in held:
        bare._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(estimator.classes_)
    if "_base_loss" in held:
        bare._base_loss = bare._get_loss()
    bare.n_features_in_ = features
    bare.coef_ = np.zeros((*np.shape(estimator.coef_)[:-1], features))
    bare.intercept_ = np.zeros(np.shape(estimator.intercept_))[()]
    return bare


def set_parameters(estimator: Model, parameters: Array) -> None:
    """Give an estimator its coefficients and, if there are more numbers, its intercept, from shape (outputs, p)."""
    features = int(estimator.coef_.shape[-1])
    estimator.coef_ = parameters[:, :features].reshape(estimator.coef_.shape)
    added = parameters[:, features:]
    # Without an intercept there may be one number for all outputs.
    if added.size == np.size(estimator.intercept_):
        estimator.intercept_ = added.reshape(np.shape(estimator.intercept_))[()]
    elif added.any():
        estimator.intercept_ = added[:, 0]
