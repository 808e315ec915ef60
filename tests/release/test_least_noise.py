"""Noise that was asked for by targets alone costs least: it keeps the promise, and never costs more than one scale."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage._amounts import on_grid


def _diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return Ridge().fit(X, y), X, y, {"error_floor": {"age": 5.0, "bmi": 2.0, "bp": 10.0}}


def _breast_cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6]
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10, max_iter=10_000)).fit(X, y)
    return model, X, y, {"error_floor": {"mean radius": 3.0}, "success_rate": {"target": 0.75}}


def _labels_alone():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6]
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10, max_iter=10_000)).fit(X, y)
    return model, X, y, {"success_rate": {"target": 0.75}}


@pytest.mark.parametrize("setting", [_diabetes, _breast_cancer, _labels_alone])
def test_it_keeps_the_promise_and_costs_no_more_than_one_scale(setting):
    model, X, y, targets = setting()
    leak = seepage.measure(model, X, y, noise_scale=1.0)
    noise = seepage.calibrate(leak, **targets)
    assert on_grid(noise.scale if noise.shape is None else noise.shape.scale)
    kept = seepage.measure(model, X, y, noise_scale=noise)
    for name, floor in targets.get("error_floor", {}).items():
        assert kept.error_floor()[name].min() >= floor * (1 - 1e-12)
    for name, rate in targets.get("success_rate", {}).items():
        assert kept.success_rate(name)["success_rate"].max() <= rate
    white = seepage.calibrate(leak, **targets, shape="isotropic")
    assert kept.information.excess_loss() <= leak.information.with_noise(white).excess_loss() * (1 + 1e-12)


def test_where_no_shape_is_counted_it_is_noise_of_one_scale():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    leak = seepage.measure(Lasso(alpha=1.0).fit(X, y), X, y, noise_scale=1.0)
    noise = seepage.calibrate(leak, error_floor={"bmi": 2.0})
    assert noise.scale == seepage.calibrate(leak, error_floor={"bmi": 2.0}, shape="isotropic").scale
    with pytest.raises(seepage.errors.UnansweredError, match="not counted for models with an L1 penalty"):
        seepage.calibrate(leak, error_floor={"bmi": 2.0}, shape="best")


def test_a_shape_that_was_measured_with_is_kept():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    given = seepage.release.GaussianNoise(covariance=np.diag(np.arange(1.0, 12.0)))
    leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=given)
    found = np.diag(seepage.calibrate(leak, error_floor={"bmi": 2.0}).covariance)
    np.testing.assert_allclose(found / found[0], np.arange(1.0, 12.0))
