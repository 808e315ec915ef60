"""Noise to start with, held against models that really carry it."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.preprocessing import StandardScaler

import seepage
from seepage._amounts import down_to_grid, on_grid, up_to_grid

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)


def _noisy_losses(model, X, y, scale, loss, draws=4000):
    random = np.random.default_rng(0)
    coefficients, intercept = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    for _ in range(draws):
        noise = random.normal(scale=scale, size=len(coefficients) + 1)
        yield loss(y, X @ (coefficients + noise[:-1]) + intercept + noise[-1])


@pytest.mark.parametrize("share", [0.01, 0.2])
def test_the_loss_grows_by_what_is_said(share):
    model = Ridge().fit(X, Y)
    start = seepage.release.suggest(seepage.measure(model, X, Y, noise_scale=3.0), loss=share)
    assert on_grid(start.noise_scale)
    assert 0.16 * share < start.loss <= share
    without = mean_squared_error(Y, model.predict(X))
    noisy = list(_noisy_losses(model, X.to_numpy(), Y.to_numpy(), start.noise_scale, mean_squared_error))
    error = np.std(noisy) / np.sqrt(len(noisy)) / without
    assert abs(np.mean(noisy) / without - 1 - start.loss) < 4 * error


def test_the_loss_of_a_classifier_grows_by_about_what_is_said():
    frame, y = load_breast_cancer(return_X_y=True, as_frame=True)
    frame = pd.DataFrame(StandardScaler().fit_transform(frame[["mean radius", "mean texture"]]), columns=["a", "b"])
    model = LogisticRegression(tol=1e-10).fit(frame, y)
    start = seepage.release.suggest(seepage.measure(model, frame, y, noise_scale=1.0))

    def loss(labels, margins):
        return log_loss(labels, 1 / (1 + np.exp(-margins)))

    noisy = list(_noisy_losses(model, frame.to_numpy(), y.to_numpy(), start.noise_scale, loss, draws=2000))
    without = log_loss(y, model.predict_proba(frame))
    assert np.mean(noisy) / without - 1 == pytest.approx(start.loss, rel=0.15)


def test_what_it_gives_is_what_is_measured_at_that_noise():
    model = Ridge().fit(X, Y)
    start = seepage.release.suggest(seepage.measure(model, X, Y, noise_scale=3.0))
    again = seepage.measure(model, X, Y, noise_scale=start.noise_scale)
    floors = start.floors.set_index("attribute")
    for name in again.error_floor():
        assert floors["everyone"][name] == pytest.approx(again.error_floor()[name].min())
        assert floors["half"][name] == pytest.approx(1 / again.attributes[name].median())
        assert floors["blind_guess"][name] == pytest.approx(X.join(Y)[name].std(ddof=0))
    assert "sex" not in floors.index


def test_noise_is_told_in_standard_errors():
    """Those of ordinary least squares, as textbooks have them."""
    model = Ridge(alpha=1e-9).fit(X, Y)
    start = seepage.release.suggest(seepage.measure(model, X, Y, noise_scale=1.0))
    design = np.column_stack([X, np.ones(len(X))])
    residual = Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    variance = residual @ residual / (len(X) - design.shape[1])
    errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    found = start.coefficients
    np.testing.assert_allclose(found["standard_error"], errors, rtol=1e-5)
    np.testing.assert_allclose(found["noise_in_standard_errors"], start.noise_scale / errors, rtol=1e-5)


def test_what_cannot_be_suggested_is_said():
    leak = seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=seepage.release.GaussianNoise(covariance=np.eye(11)))
    with pytest.raises(seepage.errors.UnansweredError, match=r"measure with noise_scale=1\.0 first"):
        seepage.release.suggest(leak)
    leak = seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=1.0)
    for share in (0, -1.0, "1%", True):
        with pytest.raises(seepage.errors.InputError, match="such as"):
            seepage.release.suggest(leak, loss=share)


@pytest.mark.parametrize("value", [0.01, 0.0199, 1.0, 4.99, 5.0, 9.7e12, 3e-20])
def test_rounding_down_to_the_grid(value):
    low = down_to_grid(value)
    assert low <= value < 2.5 * low * (1 + 1e-12)
    assert up_to_grid(low) == low


def test_what_correlated_noise_costs_a_model_of_several_classes_is_what_draws_cost():
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    model = LogisticRegression(tol=1e-12, max_iter=100_000).fit(X, y)
    generator = np.random.default_rng(0)
    root = 0.01 * (generator.normal(size=(15, 15)) / 4 + 0.2 * np.eye(15))
    noise = seepage.release.GaussianNoise(covariance=root @ root.T)
    cost = seepage.measure(model, X, y, noise_scale=noise).information.cost()

    def loss(moved: np.ndarray) -> float:
        margins = X @ (model.coef_ + moved[:, :4]).T + model.intercept_ + moved[:, 4]
        return float(np.mean(logsumexp(margins, axis=1) - margins[np.arange(len(y)), y]))

    assert cost.without == pytest.approx(loss(np.zeros((3, 5))), rel=1e-6)
    drawn = (generator.normal(size=(2000, 15)) @ root.T).reshape(-1, 3, 5)
    # In pairs: what is linear in the noise is zero in the mean, and would hide the rest.
    added = np.array([(loss(one) + loss(-one)) / 2 - cost.without for one in drawn])
    assert abs(added.mean() - cost.added) < 4 * added.std() / len(added) ** 0.5
