"""Searches over penalties: the model that was chosen is measured, and that its penalty was chosen is said."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LassoLarsCV,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage

random = np.random.default_rng(4)
X = pd.DataFrame(random.normal(size=(90, 3)), columns=list("abc"))
REAL = (X["a"] - X["b"] + random.normal(size=90)).to_numpy()
TWO = (REAL > 0).astype(int)
THREE = np.digitize(REAL, [-0.7, 0.7])
W = random.gamma(2, size=90)
TIGHT = {"tol": 1e-10, "max_iter": 5000}
LOOSE = {"tol": 1e-6, "max_iter": 200_000}


def _logistic_search(**settings):
    return LogisticRegressionCV(
        Cs=[0.01, 0.3, 5], cv=3, l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False, **settings
    )


SEARCHES = {
    # what searches, the labels, weights, and the model with the penalty that it found
    "RidgeCV": (RidgeCV([0.1, 20]), REAL, None, lambda m: Ridge(alpha=m.alpha_)),
    "RidgeCV over folds": (RidgeCV([0.1, 20], cv=3), REAL, None, lambda m: Ridge(alpha=m.alpha_)),
    "RidgeCV with weights": (RidgeCV([0.1, 20]), REAL, W, lambda m: Ridge(alpha=m.alpha_)),
    "RidgeCV of two targets": (
        RidgeCV([0.1, 50], alpha_per_target=True),
        np.column_stack([REAL, random.normal(size=90)]),
        None,
        lambda m: Ridge(alpha=m.alpha_),
    ),
    "RidgeClassifierCV": (RidgeClassifierCV([0.1, 20]), THREE, None, lambda m: RidgeClassifier(alpha=m.alpha_)),
    "LogisticRegressionCV": (
        _logistic_search(**TIGHT),
        TWO,
        W,
        lambda m: LogisticRegression(C=m.C_, **TIGHT),
    ),
    "LogisticRegressionCV of three": (
        _logistic_search(class_weight="balanced", **TIGHT),
        THREE,
        None,
        lambda m: LogisticRegression(C=m.C_, class_weight="balanced", **TIGHT),
    ),
    "LogisticRegressionCV with absolute values": (
        LogisticRegressionCV(
            Cs=[0.1, 0.3], l1_ratios=(0.5,), solver="saga", use_legacy_attributes=False, scoring="neg_log_loss", **LOOSE
        ),
        TWO,
        None,
        lambda m: LogisticRegression(C=m.C_, l1_ratio=0.5, solver="saga", **LOOSE),
    ),
    "LassoCV": (LassoCV(alphas=[0.05, 0.2], tol=1e-10), REAL, None, lambda m: Lasso(alpha=m.alpha_, tol=1e-10)),
    "LassoLarsCV": (LassoLarsCV(), W, None, lambda m: Lasso(alpha=m.alpha_, tol=1e-14, max_iter=100_000)),
    "ElasticNetCV": (
        ElasticNetCV(alphas=[0.05, 0.2], l1_ratio=[0.4, 0.9], tol=1e-10),
        REAL,
        None,
        lambda m: ElasticNet(alpha=m.alpha_, l1_ratio=m.l1_ratio_, tol=1e-10),
    ),
    "GridSearchCV": (GridSearchCV(Ridge(), {"alpha": [0.1, 20]}), REAL, None, lambda m: Ridge(**m.best_params_)),
    "RandomizedSearchCV": (
        RandomizedSearchCV(LogisticRegression(**TIGHT), {"C": [0.1, 1, 10]}, n_iter=2, random_state=0),
        TWO,
        None,
        lambda m: LogisticRegression(**m.best_params_, **TIGHT),
    ),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_what_a_search_chose_is_measured_like_that_model(name):
    search, y, weights, chosen = SEARCHES[name]
    given = {} if weights is None else {"sample_weight": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y, **given)
        alone = chosen(search).fit(X, y, **given)
    found = seepage.measure(search, X, y, noise_scale=0.1, sample_weight=weights)
    expected = seepage.measure(alone, X, y, noise_scale=0.1, sample_weight=weights)
    for frame in ("examples", "attributes"):
        np.testing.assert_allclose(getattr(found, frame), getattr(expected, frame), rtol=1e-6)
    assert any("penalty was chosen" in sentence and type(search).__name__ in sentence for sentence in found.assumptions)
    assert not any("penalty was chosen" in sentence for sentence in expected.assumptions)


def test_a_search_over_a_pipeline_and_one_inside_it_are_the_same_model():
    inside = make_pipeline(StandardScaler(), RidgeCV([3.0])).fit(X, REAL)
    outside = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [3.0]}).fit(X, REAL)
    plain = make_pipeline(StandardScaler(), Ridge(3.0)).fit(X, REAL)
    one, two, three = (seepage.measure(m, X, REAL, noise_scale=1.0).examples for m in (inside, outside, plain))
    np.testing.assert_allclose(one, three, rtol=1e-9)
    np.testing.assert_allclose(two, three, rtol=1e-9)


def test_searches_that_left_no_minimizer_say_how_to_get_one():
    mean = _logistic_search(refit=False).fit(X, TWO)
    with pytest.raises(seepage.errors.UnsupportedError, match=r"means over folds.*refit=True"):
        seepage.measure(mean, X, TWO, noise_scale=1.0)
    with pytest.raises(seepage.errors.UnsupportedError, match=r"refit=True.*best_params_"):
        seepage.measure(GridSearchCV(Ridge(), {"alpha": [1.0]}, refit=False).fit(X, REAL), X, REAL, noise_scale=1.0)
    with pytest.raises(seepage.errors.InputError, match="RidgeCV is not fitted yet"):
        seepage.measure(RidgeCV(), X, REAL, noise_scale=1.0)
