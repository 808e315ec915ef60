"""Noise in standard errors, and standard errors that are published: both counted, against the whole procedure."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from likelihoods import simulated
from shaping import Procedure
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


@dataclass
class Printed(Procedure):
    """Coefficients in raw units with noise of so many standard errors, and the logarithms of their variances."""

    standard_errors: float = 0.5
    variances: float | None = None
    scaled: bool = False
    filled: bool = False

    def release(self, X, y):
        X = np.array(X, dtype=float)
        if self.filled:
            X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
        means, scales = (X.mean(axis=0), X.std(axis=0)) if self.scaled else (np.zeros(X.shape[1]), np.ones(X.shape[1]))
        features = (X - means) / scales
        theta, hessian = self.fitted(features, y)
        design = np.column_stack([features, np.ones(len(X))])
        m, w = design @ theta, np.ones(len(X)) if self.weights is None else self.weights
        mean = {"squared": m, "logistic": 1 / (1 + np.exp(-m)), "poisson": np.exp(m)}[self.loss]
        gradients = design * (w * (mean - y))[:, None]
        inverse = np.linalg.inv(hessian)
        n, p = design.shape
        robust = n / (n - p) * inverse @ gradients.T @ gradients @ inverse
        fold = np.diag([*(1 / scales), 1.0])
        fold[-1, :-1] = -means / scales
        theta, robust = fold @ theta, fold @ robust @ fold.T
        noise = self.standard_errors**2 * robust
        if self.variances is None:
            return theta, noise
        both = np.zeros((2 * p, 2 * p))
        both[:p, :p], both[p:, p:] = noise, self.variances**2 * np.eye(p)
        return np.concatenate([theta, np.log(np.diag(robust))]), both


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


def _agrees(leak, procedure, X, y, people=(0, 7, 23), rtol=1e-6):
    eta, every = leak.attributes.to_numpy(), leak.examples
    for row in people:
        expected = procedure.information(np.asarray(X, dtype=float), y, row, 1.0)
        np.testing.assert_allclose(eta[row] ** 2, np.diag(expected), rtol=rtol)
        np.testing.assert_allclose(every["eta"][row] ** 2, np.linalg.eigvalsh(expected)[-1], rtol=rtol)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 2.0])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_what_noise_in_standard_errors_tells_is_that_of_the_whole_procedure(loss, penalty, scaled):
    X, y, _ = _data(loss)
    model = make_pipeline(*[StandardScaler()] * scaled, _model(loss, penalty)).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=GaussianNoise(standard_errors=0.5))
    _agrees(leak, Printed(loss, penalty, scaled=scaled), X, y)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_published_standard_errors_are_counted(loss, scaled):
    X, y, _ = _data(loss)
    model = make_pipeline(*[StandardScaler()] * scaled, _model(loss, 0.0)).fit(X, y)
    noise = GaussianNoise(shape=RobustCovariance(scale=0.5, variances=0.2))
    leak = seepage.measure(model, X, y, noise_scale=noise, published=BOTH)
    _agrees(leak, Printed(loss, 0.0, variances=0.2, scaled=scaled), X, y)
    without = seepage.measure(model, X, y, noise_scale=noise)
    assert (leak.attributes.to_numpy() > without.attributes.to_numpy()).all()


def test_weights_enter_the_robust_covariance_squared():
    X, y, weights = _data("logistic")
    model = _model("logistic", 0.0).fit(X, y, sample_weight=weights)
    noise = GaussianNoise(standard_errors=0.5)
    leak = seepage.measure(model, X, y, noise_scale=noise, sample_weight=weights, published=BOTH)
    _agrees(leak, Printed("logistic", 0.0, weights, variances=0.1), X, y)


def test_cells_that_hold_a_mean_move_the_robust_covariance():
    X, y, _ = _data("logistic")
    X.loc[[3, 9, 17], "a"] = np.nan
    X.loc[[4, 30], "c"] = np.nan
    model = make_pipeline(SimpleImputer(), _model("logistic", 0.0)).fit(X, y)
    noise = GaussianNoise(standard_errors=0.5)
    leak = seepage.measure(model, X, y, noise_scale=noise, published=BOTH)
    _agrees(leak, Printed("logistic", 0.0, variances=0.1, filled=True), X, y)
    before, random = Printed("logistic", 0.0, variances=0.1, filled=True), np.random.default_rng(1)
    found = leak.information.distances("a", [4.0])
    for person in (0, 12):
        other = X.copy()
        other.loc[person, "a"] = 4.0
        rate, error = simulated(before.release(X, y), before.release(other, y), 40_000, random)
        stated = found.success_rate(np.array([person]), np.array([0]), np.ones(1))[0]
        assert abs(stated - rate) <= 4.5 * error


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
@pytest.mark.parametrize("variances", [None, 0.1])
def test_labels_are_told_as_often_as_by_the_best_test_of_both_releases(loss, variances):
    X, y, _ = _data(loss)
    y[:2] = [0.0, 1.0]
    model = _model(loss, 0.0).fit(X, y)
    published = ["coefficients"] if variances is None else BOTH
    leak = seepage.measure(model, X, y, noise_scale=GaussianNoise(standard_errors=0.5), published=published)
    procedure, random = Printed(loss, 0.0, variances=variances), np.random.default_rng(5)
    rates = leak.success_rate(leak.information.attribute_names[-1], values=[0.0, 1.0])
    before = procedure.release(X, y)
    for person in (0, 1):
        for value, stated in rates.loc[[person]][["other", "success_rate"]].itertuples(index=False):
            other = y.copy()
            other[person] = value
            rate, error = simulated(before, procedure.release(X, other), 40_000, random)
            assert abs(stated - rate) <= 4.5 * error + 5 / 40_000


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
    assert stored.joint() == pytest.approx(here.joint(), rel=1e-8)
    np.testing.assert_allclose(stored.attributes.to_table().to_pandas()[NAMES], here.attributes[NAMES], rtol=1e-8)


def test_levels_of_a_category_have_standard_errors_but_the_one_they_are_compared_with():
    X, y, _ = _data("squared")
    X["ward"] = np.tile(["north", "south", "west", "west"], 10)
    wards = OneHotEncoder(drop="first", categories=[["north", "south", "west"]])
    model = make_pipeline(make_column_transformer((wards, ["ward"]), remainder="passthrough"), LinearRegression())
    leak = seepage.measure(model.fit(X, y), X, y, noise_scale=GaussianNoise(standard_errors=0.5), published=BOTH)
    hot = np.column_stack([X["ward"] == "south", X["ward"] == "west", X[NAMES]]).astype(float)
    expected = Printed("squared", 0.0, variances=0.1).information(hot, y, 5, 1.0)
    np.testing.assert_allclose(leak.attributes["a"].iloc[5] ** 2, expected[2, 2], rtol=1e-6)
    np.testing.assert_allclose(leak.attributes["ward"].iloc[5] ** 2, np.linalg.norm(expected[:2, :2], 2), rtol=1e-6)


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
