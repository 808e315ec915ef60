"""What the noise costs, against draws of it and against the textbook."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

import seepage
from seepage import Report

RANDOM = np.random.default_rng(3)
X = RANDOM.normal([0.0, 50.0, 2.0], [1.0, 3.0, 0.5], (300, 3))
Y = X @ [1.0, 0.5, -2.0] + RANDOM.normal(size=300)


def _utility(model, labels, noise):
    return Report.of(seepage.measure(model, X, labels, noise_scale=noise), "internal").document.utility


def test_the_expected_error_is_that_of_many_draws():
    model = Ridge(alpha=3.0).fit(X, Y)
    found = _utility(model, Y, 0.02)
    theta = np.append(model.coef_, model.intercept_)
    rows = np.column_stack([X, np.ones(len(X))])
    draws = theta + 0.02 * RANDOM.normal(size=(20_000, 4))
    losses = 0.5 * np.square(rows @ draws.T - Y[:, None]).mean(axis=0)
    assert found.exact
    assert found.without.value == pytest.approx(0.5 * np.square(rows @ theta - Y).mean(), rel=6e-3)
    assert found.without.value + found.added.value == pytest.approx(losses.mean(), rel=0.03)
    assert "and the noise adds" in Report.of(seepage.measure(model, X, Y, noise_scale=0.02), "internal").markdown()


def test_standard_errors_of_least_squares_are_those_of_the_textbook():
    found = _utility(LinearRegression().fit(X, Y), Y, 0.02)
    rows = np.column_stack([X, np.ones(len(X))])
    residual = Y - rows @ np.linalg.lstsq(rows, Y)[0]
    errors = np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)) * (residual @ residual) / (len(X) - 4))
    assert [each.standard_error.value for each in found.coefficients] == pytest.approx(errors.tolist(), rel=6e-3)
    assert [each.noise.value for each in found.coefficients] == pytest.approx((0.02 / errors).tolist(), rel=6e-3)


def test_a_logistic_model_is_told_to_second_order():
    labels = (np.median(Y) < Y).astype(int)
    model = seepage.engines.fit(LogisticRegression(C=10.0), X, labels)
    found = _utility(model, labels, 0.01)
    rows = np.column_stack([X, np.ones(len(X))])
    theta = np.append(model.coef_[0], model.intercept_)
    margins = rows @ (theta + 0.01 * RANDOM.normal(size=(20_000, 4))).T
    losses = (np.logaddexp(0, margins) - labels[:, None] * margins).mean(axis=0)
    assert not found.exact
    assert found.without.value + found.added.value == pytest.approx(losses.mean(), rel=0.02)
    share = expit(rows @ theta)
    data = (rows * (share * (1 - share))[:, None]).T @ rows
    inverse = np.linalg.inv(data + np.diag([0.1, 0.1, 0.1, 0.0]))
    errors = np.sqrt(np.diag(inverse @ data @ inverse))
    assert [each.standard_error.value for each in found.coefficients] == pytest.approx(errors.tolist(), rel=6e-3)


def test_the_report_says_what_other_noises_would_leave():
    labels = (np.median(Y) < Y).astype(int)
    model = seepage.engines.fit(LogisticRegression(C=10.0), X, labels)
    found = _utility(model, labels, 0.01).alternatives
    assert [each.value for each in found.standard_errors] == [0.1, 0.2, 0.5, 1.0]
    noise = seepage.release.GaussianNoise(standard_errors=0.5)
    measured = seepage.measure(model, X, labels, noise_scale=noise)
    assert [each.name for each in found.attributes] == ["x0", "x1", "x2"]
    assert found.attributes[0].values[2].value == pytest.approx(measured.error_floor()["x0"].min(), rel=6e-3)
    assert "| x0 |" in Report.of(measured, "internal").markdown()


def test_what_the_noise_costs_is_for_those_inside():
    leak = seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=0.02)
    report = Report.of(leak, "publishable")
    assert report.document.utility is None
    assert "standard error" not in report.markdown().partition("## What the numbers mean")[0]
