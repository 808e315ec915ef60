"""Shapes as people give them: from public rows, behind a scaler, at a scale of their own, and by mistake."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import seepage
from seepage._shapes import Balanced, FromPublicRows, PerUnit, RobustCovariance
from seepage.release import GaussianNoise

FLOORS = {"a": 0.5, "b": 5.0}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)) * [1, 10, 0.1] + [0, 50, 1], columns=list("abc"))
    y = X["a"] + X["b"] / 10 + 10 * X["c"] + rng.normal(size=60)
    return X, pd.Series(y, name="price")


@pytest.fixture(scope="module")
def leak(people):
    X, y = people
    return seepage.measure(Ridge().fit(X[:40], y[:40]), X[:40], y[:40], noise_scale=1.0)


def test_units_behind_a_scaler_of_the_same_rows_are_those_of_a_covariance(people):
    X, y = people
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, y)
    unit = PerUnit(scale=0.7, units={"b": 10.0})
    expected = seepage.measure(model, X, y, noise_scale=GaussianNoise(covariance=0.49 * np.diag([1, 0.01, 1, 1])))
    # Also if the noise holds what its rule made of another model.
    used = seepage.measure(
        make_pipeline(StandardScaler(), Ridge()).fit(X[list("bca")], y), X[list("bca")], y, noise_scale=1.0
    ).information.with_noise(GaussianNoise(shape=unit))
    for noise in (GaussianNoise(shape=unit), used.noise):
        found = seepage.measure(model, X, y, noise_scale=noise)
        pd.testing.assert_frame_equal(found.attributes, expected.attributes)
        pd.testing.assert_frame_equal(found.examples, expected.examples)


@pytest.mark.parametrize("scale", [1.0, 2.0, 5.0])
def test_what_calibrate_returns_for_a_noise_with_a_shape_can_be_published(people, scale):
    X, y = people
    model = Ridge().fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=GaussianNoise(shape=RobustCovariance(scale=scale)))
    for floor in (0.1, 0.3, 0.6, 1.0):
        noise = seepage.calibrate(leak, error_floor={"a": floor})
        seepage.publish(model, X, y, noise_scale=noise, accept={"error_floor": {"a": floor}})


def test_the_gap_is_that_of_the_scale_it_was_found_for(leak):
    noise = seepage.calibrate(leak, error_floor=FLOORS, shape=RobustCovariance(scale=1.0))
    assert noise.gap is not None
    assert noise.scaled(10.0).gap is None
    assert seepage.calibrate(leak, error_floor=FLOORS, shape="isotropic").scaled(2.0).gap is None


def test_public_columns_are_found_by_name(people, leak):
    X, y = people
    expected = seepage.calibrate(leak, error_floor=FLOORS, shape=(X[40:], y[40:]), exact=True)
    assert isinstance(expected.shape, FromPublicRows)
    for other in (X[list("cab")], X.assign(z=1.0)):
        found = seepage.calibrate(leak, error_floor=FLOORS, shape=(other[40:], y[40:]), exact=True)
        np.testing.assert_array_equal(found.covariance, expected.covariance)
    # Whatever the public labels are called.
    floors = {**FLOORS, "price": 1.0}
    named = seepage.calibrate(leak, error_floor=floors, shape=(X[40:], y[40:]), exact=True)
    plain = seepage.calibrate(leak, error_floor=floors, shape=(X[40:], y[40:].to_numpy()), exact=True)
    np.testing.assert_array_equal(named.covariance, plain.covariance)


def test_public_rows_that_do_not_fit_are_refused_by_name(people, leak):
    X, y = people

    def refused(rows, labels, words):
        with pytest.raises(seepage.errors.InputError, match=words):
            seepage.calibrate(leak, error_floor=FLOORS, shape=(rows, labels))

    refused(X.rename(columns={"a": "z"}), y, "no column 'a'")
    refused(X.to_numpy(), y, "by name")
    refused(X[:3], y[:3], "There are 3 public rows")
    refused(X, y[:10], "cannot be fitted on the public rows")
    refused(X.where(X > 0), y, "NaN")
    both = np.column_stack([y, y])
    several = seepage.measure(Ridge().fit(X, both), X, both, noise_scale=1.0)
    with pytest.raises(seepage.errors.UnsupportedError, match="one output"):
        seepage.calibrate(several, error_floor={"a": 0.5}, shape=(X, both))
    classes = (y > y.median()).astype(int)
    binary = seepage.measure(LogisticRegression(tol=1e-8).fit(X, classes), X, classes, noise_scale=1.0)
    with pytest.raises(seepage.errors.InputError, match="classes"):
        seepage.calibrate(binary, error_floor={"a": 0.5}, shape=(X, classes * 0))


def test_natural_mistakes_are_answered(people, leak):
    X, y = people
    for wrong in (X, X.to_numpy(), [X, y], GaussianNoise(scale=1.0), RobustCovariance):
        with pytest.raises(seepage.errors.InputError, match="X_public, y_public"):
            seepage.calibrate(leak, error_floor=FLOORS, shape=wrong)
    with pytest.raises(seepage.errors.InputError, match="'hessian'"):
        GaussianNoise(shape="hessian")
    with pytest.raises(seepage.errors.InputError, match="matrix of numbers"):
        GaussianNoise(shape=FromPublicRows(scale=1.0, base="x"))
    with pytest.raises(seepage.errors.InputError, match="unit of 'a'"):
        seepage.calibrate(leak, error_floor=FLOORS, shape={"a": "years"})
    with pytest.raises(seepage.errors.InputError, match="by name"):
        Balanced(scale=1.0, floors=None, share=0.1, balance=0.0)
    with pytest.raises(seepage.errors.InputError, match="share"):
        Balanced(scale=1.0, floors={"a": 1.0}, share="much", balance=0.0)
    # Nobody is told about a scaler where there is none.
    with pytest.raises(seepage.errors.PolicyError, match='take shape="isotropic"'):
        seepage.calibrate(leak, error_floor={"a": 1e4}, shape=RobustCovariance(scale=1.0))


def test_behind_a_bend_the_same_noise_everywhere_is_calibrated_as_without_a_shape(people):
    X, y = people
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), Ridge()).fit(X[["a", "c"]], y)
    leak = seepage.measure(model, X[["a", "c"]], y, noise_scale=1.0)
    noise = seepage.calibrate(leak, error_floor={"a": 0.5}, shape="isotropic")
    # A rule for a column that a step bends is not made: the least noise that is counted is this one.
    assert noise.scale == seepage.calibrate(leak, error_floor={"a": 0.5}).scale
