"""Table 1 of Hannun, Guo, van der Maaten (2021), on the data it was computed from."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import seepage
from seepage.datasets import load_mnist, unit_ball_components


def _eta(model, X, y):
    return seepage.measure(model, X, y, noise_scale=1.0).information.examples()["eta"]


@pytest.fixture(scope="module")
def digits(data_home):
    train, test = load_mnist(digits=(0, 1)), load_mnist(digits=(0, 1), subset="test")
    return *unit_ball_components(train.data, test.data), train.target, test.target


def test_linear_regression_on_mnist(digits):
    train, test, y, z = digits
    model = LinearRegression(fit_intercept=False).fit(train, 2.0 * y - 1)
    eta = _eta(model, train, 2.0 * y - 1)
    assert eta.mean() == pytest.approx(0.0405, abs=1e-3)
    assert eta.std() == pytest.approx(0.0138, abs=1e-3)
    assert np.mean((model.predict(test) > 0) == z) == pytest.approx(0.9995, abs=1e-3)


def test_logistic_regression_on_mnist(digits):
    train, _, y, _ = digits
    # The paper's penalty: n lambda with lambda = 8e-4.
    model = LogisticRegression(C=1 / (8e-4 * len(y)), fit_intercept=False, tol=1e-6).fit(train, y)
    eta = _eta(model, train, y)
    assert eta.mean() == pytest.approx(0.0267, abs=1e-3)
    assert eta.std() == pytest.approx(0.0124, abs=1e-3)


@pytest.mark.usefixtures("data_home")
def test_the_preprocessing_in_a_pipeline_gives_the_original_pixels_their_own_information():
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    zeros_and_ones = load_mnist(digits=(0, 1))
    X, y = zeros_and_ones.data[:600], 2.0 * zeros_and_ones.target[:600] - 1
    model = make_pipeline(PCA(5), LinearRegression()).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=1.0)
    inner = seepage.measure(model[-1], model[:-1].transform(X), y, noise_scale=1.0)
    # Components are orthonormal: no direction of the pixels says more than the best direction of the components.
    np.testing.assert_allclose(leak.information.examples()["eta"], inner.information.examples()["eta"], rtol=1e-9)
    assert len(leak.information.attribute_names) == 784 + 1
