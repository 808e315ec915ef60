"""Noise in standard errors, and standard errors that are published: both counted, against the whole procedure."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

import seepage
from seepage.errors import InputError, UnsupportedError
from seepage.release import GaussianNoise, RobustCovariance

BOTH = ["coefficients", "standard errors"]


def _data(n=40):
    random = np.random.default_rng(3)
    X = random.normal(size=(n, 3)) @ random.normal(size=(3, 3)) * 0.5 + [0.0, 1.0, 3.0]
    margin = (X - X.mean(axis=0)) @ [0.5, -0.4, 0.3]
    return pd.DataFrame(X, columns=["a", "b", "c"]), margin, random


def test_noise_of_one_standard_error_has_the_robust_covariance_of_statsmodels():
    import statsmodels.api as sm

    X, margin, random = _data(n=200)
    y = margin + random.normal(size=200)
    results = sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC1")
    leak = seepage.measure(results, noise_scale=GaussianNoise(standard_errors=1.0))
    order = [1, 2, 3, 0]
    np.testing.assert_allclose(
        leak.information.noise.covariance, np.asarray(results.cov_params())[np.ix_(order, order)], rtol=1e-8
    )


def test_more_noise_on_variances_hides_more_and_no_noise_on_coefficients_hides_them():
    X, margin, random = _data()
    y = (random.uniform(size=40) < 1 / (1 + np.exp(-margin))).astype(float)
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(X, y)

    def floors(scale, variances):
        noise = GaussianNoise(shape=RobustCovariance(scale=scale, variances=variances))
        return seepage.measure(model, X, y, noise_scale=noise, published=BOTH).error_floor()["a"].to_numpy()

    assert (floors(0.5, 0.4) > floors(0.5, 0.1)).all()
    # What variances tell stays, however much noise is on the coefficients.
    np.testing.assert_allclose(floors(1e6, 0.1), floors(1e7, 0.1), rtol=1e-6)
    assert np.isfinite(floors(1e7, 0.1)).all()


def test_what_has_no_standard_errors_says_so():
    X, margin, random = _data()
    y = margin + random.normal(size=40)
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
    X = _data()[0]
    y = X.to_numpy() @ [1.0, 2.0, 3.0]
    y[0] += 1.0
    alone = X.assign(c=np.eye(40)[0])
    model = LinearRegression().fit(alone, y)
    with pytest.raises(UnsupportedError, match="has a standard error of zero"):
        seepage.measure(model, alone, y, noise_scale=GaussianNoise(standard_errors=0.5))
