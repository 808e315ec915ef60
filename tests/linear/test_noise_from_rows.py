"""Noise that takes its shape from the rows: what it tells is counted, against the stages of the whole procedure."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from procedures import Expected, balanced, procedure, released
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

import seepage
from seepage import release as shapes
from seepage.release import GaussianNoise

NAMES = ["a", "b", "c", "d"]
RULE = {"floors": {0: 2.0, 1: 0.5, 2: 1.0, 3: 1.0}, "share": 0.1, "balance": 1.0}


def _shape_of(rule, scale):
    floors = {NAMES[column]: floor for column, floor in rule["floors"].items()}
    return shapes.Balanced(scale=scale, floors=floors, share=rule["share"], balance=rule["balance"])


def _procedure(loss, penalty, X, y, rule, scale):
    return procedure(np.asarray(X), y[:, None], loss, penalty, shape=balanced(scale, **rule))


def _data(loss, seed, n=40, far=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4)) * 0.5 + far
    margin = (X - far) @ np.array([0.5, -0.4, 0.3, 0.2])
    if loss == "squared":
        y = margin + rng.normal(size=n)
    else:
        y = (rng.uniform(size=n) < 1 / (1 + np.exp(-margin))).astype(float)
    return pd.DataFrame(X, columns=NAMES), y


def _model(loss, X, y):
    if loss == "squared":
        return Ridge(alpha=0.7).fit(X, y), 0.7
    return LogisticRegression(C=2.0, tol=1e-12, max_iter=10_000).fit(X, y), 0.5


def test_what_stays_is_the_second_term():
    X, y = _data("logistic", 5)
    model, penalty = _model("logistic", X, y)
    leak = seepage.measure(model, X, y, noise_scale=GaussianNoise(shape=_shape_of(RULE, 1.0)))
    huge = Expected(_procedure("logistic", penalty, X, y, RULE, 1e9))
    for j, name in enumerate(leak.information.attribute_names):
        np.testing.assert_allclose(leak.information.column_at("attributes", name, np.inf), huge.eta([j]), rtol=1e-7)
    np.testing.assert_allclose(leak.information.column_at("examples", "eta", np.inf), huge.eta(), rtol=1e-7)
    # Another scale is another measurement.
    other = seepage.measure(model, X, y, noise_scale=GaussianNoise(shape=_shape_of(RULE, 3.0)))
    for name in leak.information.attribute_names:
        np.testing.assert_allclose(
            leak.information.column_at("attributes", name, 3.0), other.attributes[name], rtol=1e-9
        )


def test_columns_far_from_zero_and_in_other_units():
    X, y = _data("squared", 9, far=300.0)
    scaled = X * [1.0, 100.0, 0.01, 1.0]
    model = Ridge(alpha=1e-9).fit(scaled, y)
    rule = {"floors": {0: 1.0, 1: 100.0, 2: 0.01, 3: 1.0}, "share": 0.1, "balance": 1.0}
    leak = seepage.measure(model, scaled, y, noise_scale=GaussianNoise(shape=_shape_of(rule, 0.8)))
    # The geometric mean follows a change of units and of origin: the same release, seen from the middle.
    plain = {**rule, "floors": dict.fromkeys(range(4), 1.0)}
    expected = Expected(_procedure("squared", 1e-9, X - 300.0, y, plain, 0.8))
    for j, unit in enumerate([1.0, 100.0, 0.01, 1.0, 1.0]):
        np.testing.assert_allclose(leak.attributes.to_numpy()[:, j] * unit, expected.eta([j]), rtol=1e-6)


def test_more_than_forty_parameters_take_noise_of_one_scale_or_of_public_rows():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(120, 41)), columns=[f"x{i}" for i in range(41)])
    public, y = X.iloc[:60] + 0.0, X["x0"] + random.normal(size=120)
    model, floors = Ridge().fit(X, y), {"x0": 1.0}
    leak = seepage.measure(model, X, y, noise_scale=1.0)
    with pytest.raises(seepage.errors.UnansweredError, match=r"up to 40 parameters; this Ridge has 42\. Noise of one"):
        seepage.calibrate(leak, error_floor=floors, shape="best")
    with pytest.raises(seepage.errors.UnansweredError, match="up to 40 parameters"):
        seepage.measure(model, X, y, noise_scale=GaussianNoise(standard_errors=0.5))
    assert seepage.calibrate(leak, error_floor=floors).scale is not None
    assert seepage.calibrate(leak, error_floor=floors, shape=(public, y.iloc[:60])).shape.called == "public rows"


def test_rows_of_one_person_are_told_about_together():
    X, y = _data("squared", 17)
    model, _ = _model("squared", X, y)
    noise = GaussianNoise(shape=_shape_of(RULE, 0.8))
    owner = np.arange(40)
    owner[1] = 0
    leak = seepage.measure(model, X, y, noise_scale=noise, ids=owner)
    alone = seepage.measure(model, X, y, noise_scale=noise)
    # Moving the same column of both rows, in the direction that tells most, tells at least what either alone does.
    assert leak.examples["eta"].iloc[0] >= alone.examples["eta"][:2].max()
    mask = np.zeros(40, dtype=bool)
    mask[:2] = True
    np.testing.assert_allclose(leak.examples["eta"].iloc[0], alone.joint_information_loss(mask), rtol=1e-9)


def test_what_cannot_be_counted_is_refused_by_name():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    X, y = _data("logistic", 19)
    noise = GaussianNoise(standard_errors=1.0)
    hiding = GaussianNoise(shape=shapes.Balanced(scale=1.0, floors={"a": 1.0}, share=0.1, balance=0.0))
    behind = make_pipeline(StandardScaler(), LogisticRegression(solver="liblinear")).fit(X, y)
    with pytest.raises(seepage.errors.UnsupportedError, match="penalty on its intercept"):
        seepage.measure(behind, X, y, noise_scale=noise)
    seepage.measure(behind, X, y, noise_scale=noise, public_preprocessing=["standardscaler"])
    both = np.column_stack([y, 2.0 * y])
    with pytest.raises(seepage.errors.UnsupportedError, match="have different ones"):
        seepage.measure(Ridge(alpha=np.array([1.0, 2.0])).fit(X, both), X, both, noise_scale=hiding)
    squares = make_pipeline(PolynomialFeatures(2, include_bias=False), Ridge(alpha=1.0)).fit(X, y)
    with pytest.raises(seepage.errors.UnsupportedError, match="bends: how it reaches"):
        seepage.measure(squares, X, y, noise_scale=hiding)
    classes = np.arange(40) % 3
    with pytest.raises(seepage.errors.UnsupportedError, match="one output"):
        seepage.measure(LogisticRegression().fit(X, classes), X, classes, noise_scale=noise)
    twice = X.assign(e=X["a"])

    with pytest.raises(seepage.errors.UnsupportedError, match="equally well"):
        seepage.measure(LinearRegression().fit(twice, y), twice, y, noise_scale=noise)
    wrong = GaussianNoise(shape=shapes.Balanced(scale=1.0, floors={"z": 1.0}, share=0.1, balance=0.0))
    with pytest.raises(seepage.errors.InputError, match="'z'"):
        seepage.measure(LogisticRegression().fit(X, y), X, y, noise_scale=wrong)


def test_shapes_that_were_given_cost_nothing():
    X, y = _data("squared", 21)
    model, _ = _model("squared", X, y)
    leak = seepage.measure(model, X, y, noise_scale=GaussianNoise(shape=shapes.PerUnit(scale=0.5, units={"b": 10.0})))
    same = seepage.measure(model, X, y, noise_scale=GaussianNoise(covariance=np.diag([0.25, 0.0025, 0.25, 0.25, 0.25])))
    pd.testing.assert_frame_equal(leak.attributes, same.attributes)
    assert not leak.information.stays
    base = np.eye(5) + 0.3
    public = GaussianNoise(shape=shapes.FromPublicRows(scale=2.0, base=base))
    pd.testing.assert_frame_equal(
        seepage.measure(model, X, y, noise_scale=public).attributes,
        seepage.measure(model, X, y, noise_scale=GaussianNoise(covariance=4 * base)).attributes,
    )
    with pytest.raises(seepage.errors.InputError, match="no feature"):
        seepage.measure(model, X, y, noise_scale=GaussianNoise(shape=shapes.PerUnit(scale=0.5, units={"z": 10.0})))


def test_a_shape_follows_its_scale():
    shape = _shape_of(RULE, 0.8)
    noise = GaussianNoise(shape=shape).scaled(2.0)
    assert noise.shape.scale == 1.6
    assert noise.shape.floors == shape.floors
    assert replace(noise, gap=1.2).gap == 1.2
    with pytest.raises(seepage.errors.InputError, match="measure them"):
        noise.whiten(np.eye(5))


def test_the_score_of_simulated_releases_has_the_information_that_was_measured():
    """Twenty thousand releases: the variance of the likelihood's slope in one person's values is the information."""
    X, y = _data("logistic", 23, n=25)
    model, penalty = _model("logistic", X, y)
    rule = {"floors": {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}, "share": 0.03, "balance": 1.0}
    # So much noise that half of what is told is told by its shape.
    scale = 40.0
    leak = seepage.measure(model, X, y, noise_scale=GaussianNoise(shape=_shape_of(rule, scale)))
    values, row = X.to_numpy(), 6
    theta, sigma = released(_procedure("logistic", penalty, values, y, rule, scale))
    draws = np.random.default_rng(0).multivariate_normal(theta, sigma, size=20_000, method="cholesky")

    def log_likelihood(values):
        mean, covariance = released(_procedure("logistic", penalty, values, y, rule, scale))
        gap = np.linalg.solve(np.linalg.cholesky(covariance), (draws - mean).T)
        return -0.5 * (gap**2).sum(axis=0) - 0.5 * np.linalg.slogdet(covariance)[1]

    scores = []
    for column in range(4):
        up, down = values.copy(), values.copy()
        up[row, column] += 1e-4
        down[row, column] -= 1e-4
        scores.append((log_likelihood(up) - log_likelihood(down)) / 2e-4)
    found = np.cov(scores)
    measured = leak.attributes.to_numpy()[row, :4] ** 2
    stays = [leak.information.column_at("attributes", name, np.inf)[row] ** 2 for name in NAMES]
    assert max(np.divide(stays, measured)) > 0.3
    # A variance of n draws of a quadratic form has a relative error of about sqrt(14 / n) at most.
    np.testing.assert_allclose(np.diag(found), measured, rtol=5 * np.sqrt(14 / 20_000))
