"""A model and its data belong together, or are refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

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
    with pytest.raises(seepage.errors.MinimizerError, match="standard errors away"):
        seepage.measure(Ridge().fit(X[1:], y[1:]), X, y, noise_scale=1.0)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_other_rows_are_noticed_after_an_iterative_fit(cancer, share):
    X, y = cancer
    part = np.random.default_rng(0).random(len(y)) < share
    with pytest.raises(seepage.errors.MinimizerError, match="other rows"):
        seepage.measure(LogisticRegression().fit(X[part], y[part]), X, y, noise_scale=1.0)


def test_forgotten_weights_are_noticed(cancer):
    X, y = cancer
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    model = LogisticRegression().fit(X, y, weights)
    with pytest.raises(seepage.errors.MinimizerError, match="weights"):
        seepage.measure(model, X, y, noise_scale=1.0)
    seepage.measure(model, X, y, noise_scale=1.0, sample_weight=weights)


@pytest.mark.parametrize("change", [{"C": 0.5}, {"C": 2.0}, {"C": np.inf}, {"class_weight": "balanced"}])
def test_a_changed_penalty_or_class_weight_is_noticed(cancer, change):
    X, y = cancer
    model = LogisticRegression().fit(X, y).set_params(**change)
    with pytest.raises(seepage.errors.MinimizerError):
        seepage.measure(model, X, y, noise_scale=1.0)


def test_shuffled_labels_are_noticed_even_after_a_stochastic_fit(cancer):
    X, y = cancer
    model = SGDClassifier("log_loss", alpha=0.01, random_state=0, average=True).fit(X, y)
    seepage.measure(model, X, y, noise_scale=1.0)
    with pytest.raises(seepage.errors.MinimizerError):
        seepage.measure(model, X, np.random.default_rng(0).permutation(y), noise_scale=1.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_solver_that_gave_up_is_refused_with_the_way_out():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(seepage.errors.MinimizerError, match="max_iter"):
        seepage.measure(LogisticRegression(max_iter=20).fit(X, y), X, y, noise_scale=1.0)


def test_collinear_columns_without_a_penalty_are_named(diabetes):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X.assign(age_in_months=12 * X["age"])
    with pytest.raises(seepage.errors.MinimizerError, match="not unique") as raised:
        seepage.measure(LinearRegression().fit(X, y), X, y, noise_scale=1.0)
    assert "'age'" in str(raised.value)
    assert "'age_in_months'" in str(raised.value)
    assert "'bmi'" not in str(raised.value)
    seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0)


def test_fewer_rows_than_columns_without_a_penalty_is_not_unique(diabetes):
    X, y = diabetes
    with pytest.raises(seepage.errors.MinimizerError, match="not unique"):
        seepage.measure(LinearRegression().fit(X[:5], y[:5]), X[:5], y[:5], noise_scale=1.0)


def test_the_distance_is_told_among_the_assumptions(diabetes):
    X, y = diabetes
    leak = seepage.measure(make_pipeline(StandardScaler(), Ridge()).fit(X, y), X, y, noise_scale=1.0)
    assert any("standard errors from it" in sentence for sentence in leak.assumptions)
    learned = "Learned from these rows, and not published: the means and standard deviations of x0, x1, x2"
    assert any(one.startswith(learned) for one in leak.assumptions)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(-6, -3.5), strength=st.sampled_from([1.0, 1e6, 1e12]))
def test_a_tolerance_that_small_columns_fulfill_by_themselves_is_no_excuse(seed, scale, strength):
    random = np.random.default_rng(seed)
    plain = random.normal(size=(300, 2))
    X = plain * 10**scale
    y = np.where(random.random(300) < 0.2, plain[:, 0] < 0, plain[:, 0] > 0).astype(int)
    model = LogisticRegression(C=strength * 100**-scale).fit(X, y)
    # The solver stops where it starts: the gradient is small there, whatever the labels are.
    for labels in (y, random.permutation(y)):
        usual = LogisticRegression(C=strength, tol=1e-10, solver="newton-cholesky").fit(plain, labels)
        # Labels in any order may by chance have little to do with the columns.
        if usual.decision_function(plain).std() > 0.15:
            with pytest.raises(seepage.errors.MinimizerError, match=r"standard errors away.*StandardScaler"):
                seepage.measure(model, X, labels, noise_scale=1.0)
    usual = LogisticRegression(C=strength, tol=1e-10, solver="newton-cholesky").fit(plain, y)
    # In small units the minimizer is the usual one in other units, and it is taken.
    model.coef_, model.intercept_ = usual.coef_ / 10**scale, usual.intercept_
    found = seepage.measure(model, X, y, noise_scale=1.0, public_label=True).information.attributes()["x0"]
    slope = LogisticRegression(C=strength, tol=1e-12, solver="newton-cholesky")

    def moved(step):
        changed = plain.copy()
        changed[0, 0] += step
        again = slope.fit(changed, y)
        return np.append(again.coef_ / 10**scale, again.intercept_)

    expected = np.linalg.norm(moved(1e-4) - moved(-1e-4)) / 2e-4 / 10**scale
    np.testing.assert_allclose(found[0], expected, rtol=1e-3)


DEFAULTS = {
    "logistic": (LogisticRegression(), "binary"),
    "softmax": (LogisticRegression(), "three"),
    "newton": (LogisticRegression(solver="newton-cholesky"), "binary"),
    "liblinear": (LogisticRegression(solver="liblinear"), "binary"),
    "ridge": (Ridge(), "real"),
    "conjugate gradients": (Ridge(solver="sparse_cg"), "real"),
    "lsqr": (Ridge(solver="lsqr"), "real"),
    "ridge classifier": (RidgeClassifier(), "three"),
    "least squares": (LinearRegression(), "real"),
    "poisson": (PoissonRegressor(), "count"),
    "gamma": (GammaRegressor(), "positive"),
    "tweedie": (TweedieRegressor(power=1.5), "positive"),
}


@pytest.mark.parametrize("rows", [200, 5_000])
@pytest.mark.parametrize("unit", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", DEFAULTS)
def test_ordinary_fits_of_ordinary_columns_are_taken(name, unit, rows):
    estimator, kind = DEFAULTS[name]
    random = np.random.default_rng(rows)
    plain = random.normal(size=(rows, 8))
    signal = plain @ random.normal(size=8) / 3
    y = {
        "real": signal + random.normal(size=rows),
        "binary": (signal + random.logistic(size=rows) > 0).astype(int),
        "three": np.digitize(signal + random.logistic(size=rows), [-1, 1]),
        "count": random.poisson(np.exp(0.5 * signal)),
        "positive": np.exp(0.5 * signal) * random.gamma(2.0, size=rows),
    }[kind]
    X = plain * unit + random.normal(size=8) * unit
    seepage.measure(estimator.fit(X, y), X, y, noise_scale=1.0)


@pytest.mark.parametrize("rows", [200, 5_000])
@pytest.mark.parametrize(
    "estimator", [Ridge(), Ridge(0.01), RidgeClassifier(), LinearRegression(), LogisticRegression()], ids=str
)
def test_the_most_ordinary_pipeline_is_taken(estimator, rows):
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": random.normal(50, 10, rows),
            "city": random.choice([f"c{i}" for i in range(30)], rows),
            "job": random.choice([f"j{i}" for i in range(12)], rows),
        }
    )
    y = 0.1 * table["age"] + random.normal(size=rows) + (table["city"] == "c3")
    if isinstance(estimator, RidgeClassifier | LogisticRegression):
        y = y > y.median()
    # Sparse, as encoders are unless they are told otherwise: solvers of their own, with tolerances of their own.
    steps = [("n", StandardScaler(), ["age"]), ("c", OneHotEncoder(), ["city", "job"])]
    model = make_pipeline(ColumnTransformer(steps), estimator).fit(table, y)
    leak = seepage.measure(model, table, y, noise_scale=1.0)
    assert np.isfinite(leak.information.examples()["eta"]).all()


def test_directions_that_least_squares_left_out_are_named():
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 2)) * [1e-7, 1.0]
    y = X @ [1e7, 1.0] + random.normal(size=50)
    with pytest.raises(seepage.errors.MinimizerError, match=r"rank_ is 1\).*StandardScaler"):
        seepage.measure(LinearRegression().fit(X, y), X, y, noise_scale=1.0)
    seepage.measure(LinearRegression(tol=1e-12).fit(X, y), X, y, noise_scale=1.0)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "logistic"])
def test_steps_from_afar_are_damped_until_they_settle_at_rounding(loss):
    random = np.random.default_rng(4)
    X = random.normal(size=(300, 4)) * [1.0, 100.0, 0.01, 1.0]
    signal = X @ [1.0, 0.02, 50.0, -1.0]
    y, model = {
        "poisson": (random.poisson(np.exp(signal)), PoissonRegressor(alpha=1e-9)),
        "gamma": (np.exp(signal) * random.gamma(3.0, size=300), GammaRegressor(alpha=1e-9)),
        "logistic": ((4 * signal + random.logistic(size=300) > 0).astype(int), LogisticRegression(C=1e9)),
    }[loss]
    # From all parameters zero, where the first full step of an exponential leads nowhere.
    fitted = seepage.engines.fit(model, X, y)
    leak = seepage.measure(fitted, X, y, noise_scale=1.0)
    minimizer = leak.information.geometry.minimizer
    assert minimizer.distance < 1e-9
    assert minimizer.steps <= 3
