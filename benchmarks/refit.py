"""Cost of attacking one's own release, against retraining the model for every person and value."""

import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline

import seepage
from seepage.attacks import AttributeInversion
from seepage.datasets import adult_features, complete_adult, iwpc_features, load_adult, load_iwpc


def _median_seconds(run: Callable[[], object]) -> float:
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def _compare(
    name: str, model: Pipeline, X: pd.DataFrame, y: np.ndarray, attribute: str, trials: int, goal: float
) -> None:
    leak = seepage.measure(model.fit(X, y), X, y, noise_scale=1e-3)
    start = time.perf_counter()
    attack = AttributeInversion(attribute).fit(leak)
    attack.evaluate(trials=trials)
    seconds = time.perf_counter() - start
    features = model[:-1].transform(X)
    alone = _median_seconds(lambda: clone(model[-1]).fit(features, y)) * len(y) * len(attack.values_)
    whole = _median_seconds(lambda: clone(model).fit(X, y)) * len(y) * len(attack.values_)
    print(
        f"{name}: {len(y):,} people, {features.shape[1]} features, {len(attack.values_)} values, {trials} draws: "
        f"{seconds:.2f} s, {whole / seconds:,.0f} times faster than retraining the pipeline (goal {goal:g}), "
        f"{alone / seconds:,.0f} times than its last step alone"
    )


def main() -> None:
    """Print the figures for IWPC with squared loss and Adult with logistic loss."""
    iwpc = load_iwpc()
    X, y = iwpc.data, iwpc.target
    ridge = make_pipeline(iwpc_features(X, dropped="first"), Ridge(alpha=1e-2 * len(y), fit_intercept=False))
    _compare("IWPC, squared loss", ridge, X, y, "vkorc1", 100, 100)
    adult = load_adult()
    X, y = complete_adult(adult.data, adult.target)
    logistic = make_pipeline(
        adult_features(X, dropped="first"),
        LogisticRegression(C=1 / (1e-3 * len(y)), fit_intercept=False, tol=1e-6, max_iter=1000),
    )
    _compare("Adult, logistic loss", logistic, X, y, "married", 20, 50)
