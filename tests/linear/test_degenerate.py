"""Shapes, scales and corner cases that hypothesis finds, against the formula written out densely."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import seepage


def _dense(X, slope, curvature, label_slope, penalty, theta, intercept):
    """Return J_i of every row, (n, p, k + 1): the explicit inverse, one example at a time."""
    n, k = X.shape
    features = np.column_stack([X, np.ones(n)]) if intercept else X
    hessian = features.T @ (curvature[:, None] * features) + np.diag([penalty] * k + [0.0] * intercept)
    inverse = np.linalg.inv(hessian)
    reading = np.eye(features.shape[1])[:, :k]
    return np.array(
        [
            -inverse
            @ np.column_stack(
                [slope[i] * reading + curvature[i] * np.outer(features[i], theta[:k]), label_slope[i] * features[i]]
            )
            for i in range(n)
        ]
    )


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    k=st.integers(1, 8),
    scale=st.floats(-2, 2),
    intercept=st.booleans(),
    flaw=st.sampled_from(["none", "constant column", "duplicate rows", "zero weights", "perfect fit", "equal rows"]),
    public=st.booleans(),
)
def test_ridge_of_any_shape(seed, n, k, scale, intercept, flaw, public):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, k)) * 10**scale
    y = random.normal(size=n)
    weights = np.ones(n)
    if flaw == "constant column":
        X[:, 0] = 3.0
    if flaw == "duplicate rows":
        X[n // 2 :], y[n // 2 :] = X[0], y[0]
    if flaw == "equal rows":
        X[:], y[:] = X[0], y[0]
    if flaw == "zero weights":
        weights[: n // 2] = 0.0
    if flaw == "perfect fit":
        y = np.zeros(n)
    model = Ridge(alpha=0.7, fit_intercept=intercept, solver="cholesky").fit(X, y, weights)
    leak = seepage.measure(model, X, y, noise_scale=0.5, sample_weight=weights, public_label=public)
    # The minimizer by a stable way of its own: normal equations lose the digits of a small residual.
    root = np.sqrt(weights)[:, None]
    features = np.column_stack([X, np.ones(n)]) if intercept else X
    ridge = np.sqrt(0.7) * np.eye(features.shape[1])[:k]
    theta = np.linalg.lstsq(np.vstack([root * features, ridge]), np.append(root[:, 0] * y, np.zeros(k)))[0]
    residual = weights * (features @ theta - y)
    jacobians = _dense(X, residual, weights, -weights, 0.7, theta, intercept)
    whole = (jacobians[:, :, :k] if public else jacobians) / 0.5
    singular = np.linalg.svd(whole, compute_uv=False)
    # The label's column is never small: it is the unit in which a vanishing information is told from rounding.
    size = np.linalg.norm(jacobians, axis=(1, 2)).max() / 0.5
    examples = leak.information.examples()
    np.testing.assert_allclose(examples["eta"], singular[:, 0], rtol=1e-7, atol=1e-9 * size)
    dfil = np.sqrt((singular**2).sum(axis=1) / whole.shape[2])
    np.testing.assert_allclose(examples["dfil"], dfil, rtol=1e-7, atol=1e-7 * size)
    for j, eta in enumerate(leak.information.attributes().values()):
        np.testing.assert_allclose(eta, np.linalg.norm(whole[:, :, j], axis=1), rtol=1e-7, atol=1e-7 * size)
    # Sums of squares are to the joint information what normal equations are to a fit: the condition enters squared.
    hessian = features.T @ (weights[:, None] * features) + ridge.T @ ridge
    unit = hessian / np.sqrt(np.outer(hessian.diagonal(), hessian.diagonal()))
    rounding = 1e-15 * np.linalg.cond(unit) ** 2
    joint = np.linalg.norm(np.hstack(list(whole)), 2)
    np.testing.assert_allclose(leak.joint_information_loss(), joint, rtol=max(1e-7, rounding), atol=1e-9 * size)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    factors=st.integers(2, 4),
    repeats=st.integers(2, 4),
    units=st.lists(st.sampled_from([1e-3, 2e-3, 1.0, 2.0, 100.0]), min_size=4, max_size=4),
    scale=st.sampled_from([1e-9, 1.0, 1e6]),
    intercept=st.booleans(),
    public=st.booleans(),
)
def test_balanced_designs_whose_spectrum_is_tied(seed, factors, repeats, units, scale, intercept, public):
    random = np.random.default_rng(seed)
    signs = np.repeat(np.array(list(itertools.product([-1.0, 1.0], repeat=factors))), repeats, axis=0)
    X, n = signs * np.array(units[:factors]) * scale, len(signs)
    y = signs @ random.normal(size=factors) + random.normal(size=n)
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=1.0, public_label=public)
    features = np.column_stack([X, np.ones(n)]) if intercept else X
    theta = np.linalg.lstsq(features / np.abs(features[0]), y)[0] / np.abs(features[0])
    jacobians = _dense(X, features @ theta - y, np.ones(n), -np.ones(n), 0.0, theta, intercept)
    whole = jacobians[:, :, :factors] if public else jacobians
    expected = np.linalg.svd(whole, compute_uv=False)[:, 0]
    np.testing.assert_allclose(leak.information.examples()["eta"], expected, rtol=1e-9)


def test_a_constant_feature_next_to_an_intercept_changes_no_answer():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 2))
    y = X @ [1.0, -2.0] + X[:, 0] ** 2 + random.normal(size=80)
    leaks = [
        seepage.measure(make_pipeline(PolynomialFeatures(2, include_bias=bias), LinearRegression()).fit(X, y), X, y)
        for bias in (True, False)
    ]
    with_, without = (leak.attributes for leak in leaks)
    assert not with_.isna().all().any()
    np.testing.assert_allclose(with_, without, rtol=1e-9)
    assert str(leaks[0]).splitlines()[2:] == str(leaks[1]).splitlines()[2:]
    assert list(leaks[0].rounded_table()["value"][[0, 7]]) == [0, 0]


@pytest.mark.parametrize(
    ("model", "rows", "outcome", "said"),
    [
        (LinearRegression(), 3, "drawn", "every outcome exactly"),
        (LinearRegression(), 50, "constant", "every outcome exactly"),
        (Ridge(), 50, "constant", "every outcome exactly"),
        (LinearRegression(), 50, "linear", "every outcome exactly"),
        (Ridge(), 3, "drawn", "No degree of freedom"),
        (Ridge(), 2, "drawn", "No degree of freedom"),
        (Ridge(fit_intercept=False), 1, "drawn", "No degree of freedom"),
        (LogisticRegression(), 2, "classes", "there are 1, and at least 2 are needed"),
    ],
)
def test_rows_that_hide_nobody_are_refused_in_one_sentence(model, rows, outcome, said):
    random = np.random.default_rng(1)
    X = random.normal(size=(rows, 2))
    y = {
        "drawn": random.normal(size=rows),
        "constant": np.full(rows, 152.3),
        "linear": X @ [2.0, 1.0] + 3.0,
        "classes": np.arange(rows) % 2,
    }[outcome]
    with pytest.raises(seepage.errors.SeepageError, match=said):
        seepage.measure(model.fit(X, y), X, y).by_attacker()
