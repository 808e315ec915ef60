"""A model and its data belong together, or are refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_one_row_too_few_is_noticed_after_a_closed_form_fit(diabetes):
    X, y = diabetes
    with pytest.raises(seepage.MinimizerError, match="standard errors away"):
        seepage.measure(Ridge().fit(X[1:], y[1:]), X, y, noise_scale=1.0)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_other_rows_are_noticed_after_an_iterative_fit(cancer, share):
    X, y = cancer
    part = np.random.default_rng(0).random(len(y)) < share
    with pytest.raises(seepage.MinimizerError, match="other rows"):
        seepage.measure(LogisticRegression().fit(X[part], y[part]), X, y, noise_scale=1.0)


def test_forgotten_weights_are_noticed(cancer):
    X, y = cancer
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    model = LogisticRegression().fit(X, y, weights)
    with pytest.raises(seepage.MinimizerError, match="weights"):
        seepage.measure(model, X, y, noise_scale=1.0)
    seepage.measure(model, X, y, noise_scale=1.0, sample_weight=weights)


@pytest.mark.parametrize("change", [{"C": 0.5}, {"C": 2.0}, {"C": np.inf}, {"class_weight": "balanced"}])
def test_a_changed_penalty_or_class_weight_is_noticed(cancer, change):
    X, y = cancer
    model = LogisticRegression().fit(X, y).set_params(**change)
    with pytest.raises(seepage.MinimizerError):
        seepage.measure(model, X, y, noise_scale=1.0)


def test_shuffled_labels_are_noticed_even_after_a_stochastic_fit(cancer):
    X, y = cancer
    model = SGDClassifier("log_loss", alpha=0.01, random_state=0, average=True).fit(X, y)
    seepage.measure(model, X, y, noise_scale=1.0)
    with pytest.raises(seepage.MinimizerError):
        seepage.measure(model, X, np.random.default_rng(0).permutation(y), noise_scale=1.0)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky", "liblinear", "sag", "saga"])
def test_every_solver_of_logistic_regression_leads_to_the_same_numbers(cancer, solver):
    X, y = cancer
    X = X[:, :8]
    # liblinear penalizes the intercept, so it is left out for all.
    model = LogisticRegression(solver=solver, fit_intercept=False, max_iter=5000).fit(X, y)
    exact = LogisticRegression(fit_intercept=False, tol=1e-12, max_iter=10_000).fit(X, y)
    found = seepage.measure(model, X, y, noise_scale=1.0).information.examples()["eta"]
    expected = seepage.measure(exact, X, y, noise_scale=1.0).information.examples()["eta"]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_solver_that_gave_up_is_refused_with_the_way_out():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(seepage.MinimizerError, match="max_iter"):
        seepage.measure(LogisticRegression(max_iter=20).fit(X, y), X, y, noise_scale=1.0)


def test_collinear_columns_without_a_penalty_are_named(diabetes):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X.assign(age_in_months=12 * X["age"])
    with pytest.raises(seepage.MinimizerError, match="not unique") as raised:
        seepage.measure(LinearRegression().fit(X, y), X, y, noise_scale=1.0)
    assert "'age'" in str(raised.value)
    assert "'age_in_months'" in str(raised.value)
    assert "'bmi'" not in str(raised.value)
    seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0)


def test_fewer_rows_than_columns_without_a_penalty_is_not_unique(diabetes):
    X, y = diabetes
    with pytest.raises(seepage.MinimizerError, match="not unique"):
        seepage.measure(LinearRegression().fit(X[:5], y[:5]), X[:5], y[:5], noise_scale=1.0)


@pytest.mark.filterwarnings("ignore")
def test_separable_classes_without_a_penalty_have_no_minimizer(cancer):
    X, y = cancer
    model = LogisticRegression(C=np.inf, max_iter=2000).fit(X, y)
    assert model.score(X, y) == 1
    with pytest.raises(seepage.MinimizerError, match="separated"):
        seepage.measure(model, X, y, noise_scale=1.0)


@pytest.mark.filterwarnings("ignore")
def test_a_level_with_only_zeros_has_no_minimizer():
    X = np.column_stack([np.repeat([0.0, 1.0], 20), np.random.default_rng(0).normal(size=40)])
    y = np.where(X[:, 0] == 1, 0, np.random.default_rng(1).poisson(3, 40))
    model = PoissonRegressor(alpha=0, max_iter=1000).fit(X, y)
    with pytest.raises(seepage.MinimizerError):
        seepage.measure(model, X, y, noise_scale=1.0)


def test_the_distance_is_told_among_the_assumptions(diabetes):
    X, y = diabetes
    leak = seepage.measure(make_pipeline(StandardScaler(), Ridge()).fit(X, y), X, y, noise_scale=1.0)
    assert any("standard errors from it" in sentence for sentence in leak.assumptions)
    assert any("Preprocessing is public" in sentence for sentence in leak.assumptions)


def test_rows_in_another_order_are_the_same_data(diabetes):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    order = np.random.default_rng(0).permutation(len(y))
    first = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0).examples
    other = seepage.measure(Ridge().fit(X, y), X.iloc[order], y.iloc[order], noise_scale=1.0).examples
    pd.testing.assert_frame_equal(first, other.sort_index())
