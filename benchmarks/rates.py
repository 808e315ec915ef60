"""Success rates of everybody in UCI Adult: how long they take, and that the largest is that of a refit of everybody."""

import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from experiments.datasets import load_adult
from seepage.meaning import success_rate


def _took(run: Callable[[], object]) -> tuple[float, float]:
    """Return seconds of the clock and of processors."""
    clock, work = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - clock, time.process_time() - work


def _leak(X: pd.DataFrame, y: np.ndarray, **asked: object) -> seepage.Leakage:
    numbers = list(X.select_dtypes("number"))
    features = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(), [name for name in X if name not in numbers])
    )
    model = make_pipeline(features, LogisticRegression(max_iter=5000, tol=1e-8)).fit(X, y)
    return seepage.measure(model, X, y, noise_scale=0.05, **asked)


def _whole(X: pd.DataFrame, y: np.ndarray) -> None:
    information, refits, pairs = _leak(X, y).information, 0, 0
    names = [name for name in information.attribute_names if name in information.categorical]
    clock, work = _took(lambda: [information.distances(name, None) for name in names])
    for name in names:
        found = information.distances(name, None)
        others = found.truth[:, None] != np.arange(len(found.values))
        pairs += int(others.sum())
        refits += int(found.exact[others].sum())
    print(
        f"Adult, {len(y):,} people, {len(names)} categories with the label, {pairs:,} pairs: {clock:.0f} s, {work:.0f} "
        f"s of processors (goal 60 s on two); {refits:,} pairs refitted"
    )


def _against_refits(X: pd.DataFrame, y: np.ndarray, people: int = 3000) -> None:
    some = np.random.default_rng(0).choice(len(y), people, replace=False)
    information = _leak(X.iloc[some].reset_index(drop=True), y[some]).information
    for name in information.attribute_names:
        if name not in information.categorical:
            continue
        step = information.distances(name, None).farthest()
        exact = information.refitted(name, np.arange(people)).farthest()
        print(
            f"{name}, {people:,} people: largest {step.max():.9g}, by refits of everybody {exact.max():.9g}; rates of "
            f"one step are off by up to {np.abs(success_rate(step) - success_rate(exact)).max():.2g}"
        )


def _with_ids(X: pd.DataFrame, y: np.ndarray, people: int = 3000) -> None:
    X, y = X[:people], y[:people]
    without, by_ids = (_leak(X, y, **asked) for asked in ({}, {"ids": [f"P{i:05d}" for i in range(people)]}))
    first, second = (_took(leak.summary)[1] for leak in (without, by_ids))
    print(f"summary() of {people:,} people with ids: {second / first:.2f} times as without (goal 2)")


def main() -> None:
    """Print the figures."""
    adult = load_adult()
    X, y = pd.DataFrame(adult.data), adult.target
    _whole(X, y)
    _with_ids(X, y)
    _against_refits(X, y)
