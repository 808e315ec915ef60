"""Cost of equalizing leakage, against the fits and measurements that it cannot do without."""

import time

import numpy as np
from sklearn.linear_model import LinearRegression

import seepage


def main() -> None:
    """Print the ratio for data of the size and shape of the paper's MNIST."""
    random = np.random.default_rng(0)
    X = random.normal(size=(12_665, 20)) * np.linspace(0.1, 1, 20)
    y = np.sign(X @ random.normal(size=20) + random.normal(size=len(X)))
    model = LinearRegression(fit_intercept=False)
    weights = random.uniform(0.5, 2, len(y))
    ratios = []
    for _ in range(5):
        start = time.perf_counter()
        fitted = model.fit(X, y, weights)
        seepage.measure(fitted, X, y, noise_scale=1.0, sample_weight=weights).information.examples()
        one = time.perf_counter() - start
        start = time.perf_counter()
        equal = seepage.release.EqualizedLeakage(model, noise_scale=1.0).fit(X, y)
        ratios.append((time.perf_counter() - start) / (equal.n_iter_ * one))
    print(f"{np.median(ratios):.2f} x iterations x (one fit and one scoring pass), goal 1.3")
