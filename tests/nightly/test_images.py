"""Models of images, on the data of the papers: their tables, and reconstructions that follow the floor."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import LinearRegression, LogisticRegression

import seepage
from experiments.datasets import load_cifar10, load_mnist, unit_ball_components
from seepage.attacks import Reconstruction


@pytest.mark.usefixtures("data_home")
def test_linear_regression_on_cifar():
    cars, others = load_cifar10(), load_cifar10(subset="test")
    (train, test), y, z = unit_ball_components(cars.data, others.data), cars.target, others.target
    model = LinearRegression(fit_intercept=False).fit(train, 2.0 * y - 1)
    eta = seepage.measure(model, train, 2.0 * y - 1, noise_scale=1.0).information.examples()["eta"]
    assert eta.mean() == pytest.approx(0.247, abs=1e-3)
    assert eta.std() == pytest.approx(0.080, abs=1e-3)
    assert np.mean((model.predict(test) > 0) == z) == pytest.approx(0.798, abs=1e-3)


@pytest.mark.usefixtures("data_home")
def test_reconstruction_of_digits_follows_the_floor():
    digits = load_mnist(digits=(0, 1))
    X, y = digits.data[:1500], digits.target[:1500]
    model = LogisticRegression(C=1 / (1e-2 * 1500), fit_intercept=False, tol=1e-8).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=1e-5, public_label=True)
    exact = Reconstruction(np.arange(20)).fit(leak)
    error = ((exact.guess(exact.exact()) - X[:20]) ** 2).mean(axis=1)
    assert np.median(error) < 1e-15
    found = seepage.verify(leak, Reconstruction(np.arange(20)), trials=300)
    assert found.holds, found.verdict
    correlation = spearmanr(found.frame["error"], found.frame["floor"]).statistic
    print(f"rank correlation of reconstruction error and floor: {correlation:.2f}")
    assert correlation > 0.9
