"""The minimizer found from sums is the one that scikit-learn's solvers come near to."""

from typing import Any

import numpy as np
import pytest
from people import People, write_people
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage.engines import Local

JOB = seepage.engines.Job(Local(workers=2))


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> People:
    return write_people(tmp_path_factory.mktemp("people") / "data")


MODELS: dict[str, tuple[Any, str]] = {
    "least squares": (LinearRegression(), "outcome"),
    "ridge": (Ridge(3.0), "outcome"),
    "ridge without intercept": (Ridge(3.0, fit_intercept=False), "outcome"),
    "logistic": (LogisticRegression(tol=1e-10, max_iter=1000), "class"),
    "balanced logistic": (LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=1000), "class"),
    "softmax": (LogisticRegression(tol=1e-10, max_iter=1000), "kind"),
    "ridge classifier": (RidgeClassifier(), "class"),
    "ridge classifier of three": (RidgeClassifier(), "kind"),
    "poisson": (PoissonRegressor(tol=1e-10, max_iter=1000), "visits"),
    "gamma": (GammaRegressor(tol=1e-10, max_iter=1000), "weight"),
    "tweedie": (TweedieRegressor(power=1.5, link="log", tol=1e-10, max_iter=1000), "weight"),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_minimizer_is_that_of_scikit_learn(name: str, people: People) -> None:
    model, target = MODELS[name]
    y = people.frame[target].to_numpy()
    theirs = clone(model).fit(people.X, y, sample_weight=people.frame["outcome"].abs())
    ours = seepage.engines.fit(model, people.X, y, sample_weight=people.frame["outcome"].abs())
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4, atol=1e-6)
    assert ours.coef_.shape == theirs.coef_.shape
    predicted, expected = ours.predict(people.X), theirs.predict(people.X)
    if target in ("class", "kind"):
        assert (predicted == expected).mean() > 0.999
    else:
        np.testing.assert_allclose(predicted, expected, rtol=1e-3)
    assert not hasattr(model, "coef_")


def test_the_identity_link_is_fitted_where_scikit_learn_cannot_start(people: People) -> None:
    y, X = people.frame["weight"].to_numpy(), people.X.to_numpy()
    model = seepage.engines.fit(TweedieRegressor(power=1.5, link="identity", alpha=0.2), people.X, y)
    mean = X @ model.coef_ + model.intercept_
    pull = mean**-1.5 * (mean - y)
    np.testing.assert_allclose(pull @ X + len(y) * 0.2 * model.coef_, 0, atol=1e-8)
    np.testing.assert_allclose(pull.sum(), 0, atol=1e-8)


@pytest.mark.parametrize("name", ["ridge", "logistic", "softmax", "poisson"])
def test_files_give_the_fit_of_memory(name: str, people: People) -> None:
    model, target = MODELS[name]
    here = seepage.engines.fit(model, people.X, people.frame[target], sample_weight=people.frame["weight"])
    there = seepage.engines.fit(
        model, people.folder, target=target, features=people.features, sample_weight="weight", job=JOB
    )
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-10, atol=1e-13)
    assert there.feature_names_in_.tolist() == people.features
    leak = seepage.measure(there, people.folder, target=target, sample_weight="weight", noise_scale=0.1, job=JOB)
    assert "from it" in leak.assumptions[-1]


def test_features_are_columns_and_not_the_target(people: People) -> None:
    for features, said in (
        ("x0", r"write features=\['x0'\]"),
        (["x0", "outcome"], "the target and among the features"),
    ):
        with pytest.raises(seepage.errors.InputError, match=said):
            seepage.engines.fit(Ridge(), people.folder, target="outcome", features=features, job=JOB)


def test_fitted_preprocessing_is_kept(people: People) -> None:
    X, y = people.X, people.frame["outcome"]
    theirs = make_pipeline(StandardScaler(), Ridge(2.0)).fit(X, y)
    before = make_pipeline(StandardScaler(), Ridge(2.0))
    before[:-1].fit(X)
    ours = seepage.engines.fit(before, X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_preprocessing_must_be_fitted_before(people: People) -> None:
    with pytest.raises(seepage.errors.InputError, match="preprocessing"):
        seepage.engines.fit(make_pipeline(StandardScaler(), Ridge()), people.X, people.frame["outcome"])


def test_sparse_rows_are_fitted_too() -> None:
    random = np.random.default_rng(0)
    X = sparse.random_array((500, 20), density=0.2, rng=random, format="csr")
    y = np.asarray(X.sum(axis=1)).ravel() + random.normal(size=500)
    np.testing.assert_allclose(
        seepage.engines.fit(Ridge(), X, y).coef_, seepage.engines.fit(Ridge(), X.toarray(), y).coef_, rtol=1e-10
    )


def test_one_class_is_refused(people: People) -> None:
    with pytest.raises(seepage.errors.InputError, match="two classes"):
        seepage.engines.fit(LogisticRegression(), people.X, np.zeros(len(people.frame)))
