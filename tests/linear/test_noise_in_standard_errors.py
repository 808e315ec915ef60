"""Noise in standard errors, and standard errors that are published: both counted, against the whole procedure."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from procedures import Expected, procedure, standard_errors
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage.errors import InputError, UnsupportedError
from seepage.release import GaussianNoise, RobustCovariance

NAMES = ["a", "b", "c"]
BOTH = ["coefficients", "standard errors"]


def printed(X, y, loss, penalty=0.0, weights=None, *, variances=None, scaled=False):
    """Return coefficients with noise of half their standard errors, and the logarithms of their variances."""
    n, p = X.shape
    columns = range(p) if scaled else ()
    rows, labels = np.asarray(X, dtype=float), y[:, None]
    outputs = procedure(rows, labels, loss, penalty, weights=weights, scaled=columns, shape=standard_errors(0.5, n))
    if variances is None:
        return outputs

    def numbers(t):
        return np.concatenate([outputs.numbers(t), np.log(np.diag(outputs.covariance(t)) / 0.25)])

    def covariance(t):
        zeros, alone = np.zeros((p + 1, p + 1)), variances**2 * np.eye(p + 1)
        first = np.concatenate([outputs.covariance(t), zeros], axis=1)
        return np.concatenate([first, np.concatenate([zeros, alone], axis=1)])

    return replace(outputs, numbers=numbers, covariance=covariance)


def _data(loss, n=40, seed=3):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)) @ random.normal(size=(3, 3)) * 0.5 + [0.0, 1.0, 3.0]
    margin = (X - X.mean(axis=0)) @ [0.5, -0.4, 0.3]
    y = {
        "squared": margin + random.normal(size=n),
        "logistic": (random.uniform(size=n) < 1 / (1 + np.exp(-margin))).astype(float),
        "poisson": random.poisson(np.exp(0.5 * margin)).astype(float),
    }[loss]
    return pd.DataFrame(X, columns=NAMES), y, random.uniform(0.5, 2.0, n)


def _model(loss, penalty, total=40.0):
    if loss == "squared":
        return Ridge(alpha=penalty) if penalty else LinearRegression()
    if loss == "logistic":
        return LogisticRegression(C=1 / penalty if penalty else np.inf, tol=1e-12, max_iter=10_000)
    return PoissonRegressor(alpha=penalty / total, tol=1e-12, max_iter=10_000)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 2.0])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_what_noise_in_standard_errors_tells_is_that_of_the_whole_procedure(loss, penalty, scaled):
    X, y, _ = _data(loss)
    model = make_pipeline(*[StandardScaler()] * scaled, _model(loss, penalty)).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=GaussianNoise(standard_errors=0.5))
    Expected(printed(X, y, loss, penalty, scaled=scaled)).agrees(leak)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_published_standard_errors_are_counted(loss, scaled):
    X, y, _ = _data(loss)
    model = make_pipeline(*[StandardScaler()] * scaled, _model(loss, 0.0)).fit(X, y)
    noise = GaussianNoise(shape=RobustCovariance(scale=0.5, variances=0.2))
    leak = seepage.measure(model, X, y, noise_scale=noise, published=BOTH)
    Expected(printed(X, y, loss, variances=0.2, scaled=scaled)).agrees(leak)
    without = seepage.measure(model, X, y, noise_scale=noise)
    assert (leak.attributes.to_numpy() > without.attributes.to_numpy()).all()


def test_weights_enter_the_robust_covariance_squared():
    X, y, weights = _data("logistic")
    model = _model("logistic", 0.0).fit(X, y, sample_weight=weights)
    noise = GaussianNoise(standard_errors=0.5)
    leak = seepage.measure(model, X, y, noise_scale=noise, sample_weight=weights, published=BOTH)
    Expected(printed(X, y, "logistic", 0.0, weights, variances=0.1)).agrees(leak)


def test_cells_that_hold_a_mean_move_the_robust_covariance():
    X, y, _ = _data("logistic")
    X.loc[[3, 9, 17], "a"] = np.nan
    X.loc[[4, 30], "c"] = np.nan
    model = make_pipeline(SimpleImputer(), _model("logistic", 0.0)).fit(X, y)
    noise = GaussianNoise(standard_errors=0.5)
    leak = seepage.measure(model, X, y, noise_scale=noise, published=BOTH)
    Expected(printed(X, y, "logistic", variances=0.1)).agrees(leak)
    with pytest.raises(seepage.errors.UnansweredError, match="noise whose shape follows the rows"):
        leak.success_rate("a", values=[4.0])


def test_noise_of_one_standard_error_has_the_robust_covariance_of_statsmodels():
    import statsmodels.api as sm

    X, y, _ = _data("squared", n=200)
    results = sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC1")
    leak = seepage.measure(results, noise_scale=GaussianNoise(standard_errors=1.0))
    order = [1, 2, 3, 0]
    np.testing.assert_allclose(
        leak.information.noise.covariance, np.asarray(results.cov_params())[np.ix_(order, order)], rtol=1e-8
    )


def test_more_noise_on_variances_hides_more_and_no_noise_on_coefficients_hides_them():
    X, y, _ = _data("logistic")
    model = _model("logistic", 0.0).fit(X, y)

    def floors(scale, variances):
        noise = GaussianNoise(shape=RobustCovariance(scale=scale, variances=variances))
        return seepage.measure(model, X, y, noise_scale=noise, published=BOTH).error_floor()["a"].to_numpy()

    assert (floors(0.5, 0.4) > floors(0.5, 0.1)).all()
    # What variances tell stays, however much noise is on the coefficients.
    np.testing.assert_allclose(floors(1e6, 0.1), floors(1e7, 0.1), rtol=1e-6)
    assert np.isfinite(floors(1e7, 0.1)).all()


def test_files_count_what_memory_counts(tmp_path):
    X, y, _ = _data("logistic", n=300)
    model = make_pipeline(StandardScaler(), _model("logistic", 0.0)).fit(X, y)
    X.assign(ill=y).to_parquet(tmp_path / "people.parquet")
    noise = GaussianNoise(standard_errors=0.2)
    here = seepage.measure(model, X, y, noise_scale=noise, published=BOTH)
    stored = seepage.measure(
        model,
        str(tmp_path / "people.parquet"),
        target="ill",
        noise_scale=noise,
        published=BOTH,
        job=seepage.engines.Job(output=tmp_path / "leakage"),
    )
    assert stored.joint_information_loss() == pytest.approx(here.joint_information_loss(), rel=1e-8)
    np.testing.assert_allclose(stored.attributes.to_table().to_pandas()[NAMES], here.attributes[NAMES], rtol=1e-8)


def test_levels_of_a_category_have_standard_errors_but_the_one_they_are_compared_with():
    X, y, _ = _data("squared")
    X["ward"] = np.tile(["north", "south", "west", "west"], 10)
    wards = OneHotEncoder(drop="first", categories=[["north", "south", "west"]])
    model = make_pipeline(make_column_transformer((wards, ["ward"]), remainder="passthrough"), LinearRegression())
    leak = seepage.measure(model.fit(X, y), X, y, noise_scale=GaussianNoise(standard_errors=0.5), published=BOTH)
    hot = np.column_stack([X["ward"] == "south", X["ward"] == "west", X[NAMES]]).astype(float)
    Expected(printed(hot, y, "squared", variances=0.1)).agrees(leak, [[2], [3], [4], [0, 1]])


def test_what_has_no_standard_errors_says_so():
    X, y, _ = _data("squared")
    noise = GaussianNoise(standard_errors=0.5)
    with pytest.raises(UnsupportedError, match=r"has a penalty, .* Fit without a penalty"):
        seepage.measure(Ridge().fit(X, y), X, y, noise_scale=noise, published=BOTH)
    model = LinearRegression().fit(X, y)
    with pytest.raises(InputError, match=r"beside noise that is in standard errors itself.*GaussianNoise\(scale=0.1\)"):
        seepage.measure(model, X, y, noise_scale=0.1, published=BOTH)
    with pytest.raises(UnsupportedError, match="several rows"):
        seepage.measure(model, X, y, noise_scale=noise, published=BOTH, ids=np.arange(40) // 2)
    both = LinearRegression().fit(X, np.column_stack([y, y**2]))
    with pytest.raises(UnsupportedError, match="one output"):
        seepage.measure(both, X, np.column_stack([y, y**2]), noise_scale=noise)
    with pytest.raises(InputError, match="either standard_errors= or another noise"):
        GaussianNoise(standard_errors=0.5, scale=1.0)
    with pytest.raises(InputError, match="The noise of 'variances' must be a positive number"):
        RobustCovariance(scale=1.0, variances=0.0)


def test_a_fit_through_all_points_has_no_scatter_to_make_noise_of():
    X, _, _ = _data("squared")
    y = X.to_numpy() @ [1.0, 2.0, 3.0]
    y[0] += 1.0
    alone = X.assign(c=np.eye(40)[0])
    model = LinearRegression().fit(alone, y)
    with pytest.raises(UnsupportedError, match="has a standard error of zero"):
        seepage.measure(model, alone, y, noise_scale=GaussianNoise(standard_errors=0.5))
