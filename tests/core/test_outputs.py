"""Influence, derivatives and information of published numbers, against scikit-learn's refits."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from seepage.core import Outputs, Root, Rows, Sum, slope
from seepage.errors import MinimizerError

random = np.random.default_rng(3)
N, P, STRENGTH, SIGMA = 40, 3, 2.0, 0.5
X = random.normal(size=(N, P)) * [1.0, 5.0, 0.3] + [0.0, 40.0, 2.0]
Y = X @ [1.0, 0.2, -2.0] + random.normal(size=N)
LABELS = np.where(np.median(Y) < Y, 1.0, 0.0)
SCALES = np.append(X.std(axis=0), Y.std())


def with_ones(x):
    return np.column_stack([x, np.ones(len(x))])


def coefficients(loss, penalty):
    """Coefficients and intercept in raw units."""
    derivative = slope(loss)

    def terms(t, rows):
        features = with_ones(rows["x"])
        return derivative(features @ t["beta"], rows["y"][:, 0])[:, None] * features

    return Root("beta", terms, lambda t: penalty(t) * t["beta"], np.zeros(P + 1))


def mean(t):
    return t["total"] / t["count"]


def variance(t):
    return t["squares"] / t["count"]


def scaled_ridge(covariance=None):
    """A ridge regression behind a scaler; numbers in raw units, noise in the scaler's."""
    stages = (
        Sum("count", lambda t, rows: np.ones((len(rows["x"]), 1))),
        Sum("total", lambda t, rows: rows["x"]),
        Sum("squares", lambda t, rows: (rows["x"] - mean(t)) ** 2),
        coefficients(lambda m, y: 0.5 * (m - y) ** 2, lambda t: STRENGTH * np.concatenate([variance(t), np.zeros(1)])),
    )
    return Outputs(stages, Rows.of(7, x=X, y=Y[:, None]), lambda t: t["beta"], covariance)


def noise(t):
    deviations = np.sqrt(variance(t))
    top = np.concatenate([np.diag(1 / deviations), np.zeros((P, 1))], axis=1)
    last = np.concatenate([-mean(t) / deviations, np.ones(1)])[None, :]
    unfold = np.concatenate([top, last])
    return SIGMA**2 * unfold @ unfold.T


def refitted(x, y, weights=None):
    """Coefficients in raw units and the covariance of the noise, by scikit-learn."""
    scaler = StandardScaler().fit(x, sample_weight=weights)
    ridge = Ridge(STRENGTH, solver="cholesky").fit(scaler.transform(x), y, sample_weight=weights)
    raw = ridge.coef_ / scaler.scale_
    unfold = np.vstack(
        [np.column_stack([np.diag(1 / scaler.scale_), np.zeros(P)]), np.append(-scaler.mean_ / scaler.scale_, 1.0)]
    )
    return np.append(raw, ridge.intercept_ - raw @ scaler.mean_), SIGMA**2 * unfold @ unfold.T


def moved(i, j, step):
    x, y = X.copy(), Y.copy()
    if j < P:
        x[i, j] += step * SCALES[j]
    else:
        y[i] += step * SCALES[j]
    return refitted(x, y)


def test_fitted_values_are_scikit_learns():
    np.testing.assert_allclose(scaled_ridge().fitted["beta"], refitted(X, Y)[0], rtol=1e-12)


def test_derivatives_are_those_of_refits():
    jacobians, step = scaled_ridge().jacobians(), 1e-5
    assert jacobians.shape == (N, P + 1, P + 1)
    for i in (0, 17, 39):
        for j in range(P + 1):
            expected = (moved(i, j, step)[0] - moved(i, j, -step)[0]) / (2 * step * SCALES[j])
            np.testing.assert_allclose(jacobians[i, j], expected, rtol=1e-6, atol=1e-9)


def test_influence_is_the_derivative_in_a_rows_weight():
    influence, step = scaled_ridge().influence(), 1e-5
    for i in (0, 17, 39):
        weights = np.ones(N)
        weights[i] += step
        more = refitted(X, Y, weights)[0]
        weights[i] -= 2 * step
        expected = (more - refitted(X, Y, weights)[0]) / (2 * step)
        np.testing.assert_allclose(influence[i], expected, rtol=1e-6, atol=1e-10)


def test_information_is_the_curvature_of_the_divergence():
    roots, step = scaled_ridge(noise).information_roots(), 1e-3
    for i in (5, 30):
        information = roots[i] @ roots[i].T
        for j in range(P + 1):
            # Twice the divergence of N(moved) from N(here) is information times the square of the step.
            center, covariance = refitted(X, Y)
            twice = 0.0
            for side in (step, -step):
                other, changed = moved(i, j, side)
                ratio = np.linalg.inv(changed) @ covariance
                twice += (other - center) @ np.linalg.solve(changed, other - center)
                twice += np.trace(ratio) - (P + 1) - np.linalg.slogdet(ratio)[1]
            np.testing.assert_allclose(information[j, j], twice / 2 / (step * SCALES[j]) ** 2, rtol=1e-3)


def test_a_logistic_regression_is_solved_from_zero():
    model = LogisticRegression(C=1 / STRENGTH, tol=1e-12, max_iter=10_000).fit(X, LABELS)
    stage = coefficients(lambda m, y: np.logaddexp(0.0, m) - y * m, lambda t: np.append(STRENGTH * np.ones(P), 0.0))
    outputs = Outputs((stage,), Rows.of(x=X, y=LABELS[:, None]), lambda t: t["beta"])
    np.testing.assert_allclose(outputs.fitted["beta"][:P], model.coef_[0], rtol=1e-6)


def test_equations_without_a_root_are_refused():
    stage = Root("theta", lambda t, rows: np.exp(t["theta"]) * np.ones((len(rows["x"]), 1)), None, np.zeros(1))
    with pytest.raises(MinimizerError, match="'theta' have no root"):
        _ = Outputs((stage,), Rows.of(x=X, y=Y[:, None]), lambda t: t["theta"]).fitted
