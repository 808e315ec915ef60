"""Every loss, intercept, weights, penalty, pipeline and public label, against automatic differentiation."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from oracle import Oracle, logistic, softmax, squared, sum_zero, tweedie
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage

ROWS = 40


@dataclass
class Case:
    make: Callable[[bool, bool], Any]
    """(penalty, intercept) to an estimator."""
    loss: Any
    labels: str
    penalty: Callable[[Any, np.ndarray], float]
    penalized: tuple[bool, ...] = (True, False)
    codes: tuple[float, float] = (0.0, 1.0)
    intercepts: tuple[bool, ...] = (True, False)


def _glm(kind: Any, **settings: Any) -> Callable[[bool, bool], Any]:
    return lambda penalty, intercept: kind(
        alpha=0.05 * penalty, fit_intercept=intercept, solver="newton-cholesky", tol=1e-8, max_iter=500, **settings
    )


def _mean_penalty(model: Any, weights: np.ndarray) -> float:
    return model.alpha * weights.sum()


def _count_penalty(model: Any, weights: np.ndarray) -> float:
    return model.alpha * len(weights)


def _logistic(penalty: bool, intercept: bool) -> Any:
    return LogisticRegression(C=2.0 if penalty else np.inf, fit_intercept=intercept, tol=1e-10, max_iter=5000)


SGD = {
    "tol": 1e-9,
    "max_iter": 200_000,
    "random_state": 0,
    "learning_rate": "adaptive",
    "eta0": 0.02,
    "n_iter_no_change": 10,
}
CASES = {
    "linear": Case(lambda p, i: LinearRegression(fit_intercept=i), squared, "real", lambda m, w: 0.0, (False,)),
    "ridge": Case(lambda p, i: Ridge(alpha=1.5, fit_intercept=i), squared, "real", lambda m, w: m.alpha, (True,)),
    "two targets": Case(
        lambda p, i: Ridge(alpha=1.5, fit_intercept=i), squared, "real2", lambda m, w: m.alpha, (True,)
    ),
    "ridge classifier": Case(
        lambda p, i: RidgeClassifier(alpha=1.5, fit_intercept=i),
        squared,
        "binary",
        lambda m, w: m.alpha,
        (True,),
        (-1, 1),
    ),
    "ridge classifier, 3 classes": Case(
        lambda p, i: RidgeClassifier(alpha=1.5, fit_intercept=i),
        squared,
        "three",
        lambda m, w: m.alpha,
        (True,),
        (-1, 1),
    ),
    "logistic": Case(_logistic, logistic, "binary", lambda m, w: 1 / m.C),
    "softmax": Case(_logistic, softmax, "three", lambda m, w: 1 / m.C),
    "poisson": Case(_glm(PoissonRegressor), tweedie(1, torch.exp), "count", _mean_penalty),
    "gamma": Case(_glm(GammaRegressor), tweedie(2, torch.exp), "positive", _mean_penalty),
    "tweedie 1.5": Case(_glm(TweedieRegressor, power=1.5), tweedie(1.5, torch.exp), "positive", _mean_penalty),
    "normal, log link": Case(
        lambda p, i: TweedieRegressor(power=0, link="log", alpha=0.05 * p, fit_intercept=i, tol=1e-9, max_iter=5000),
        tweedie(0, torch.exp),
        "positive",
        _mean_penalty,
    ),
    "normal, identity link": Case(
        lambda p, i: TweedieRegressor(power=0, alpha=0.05 * p, fit_intercept=i, tol=1e-9, max_iter=5000),
        tweedie(0, lambda m: m),
        "positive",
        _mean_penalty,
    ),
    "poisson, identity link": Case(
        lambda p, i: TweedieRegressor(
            power=1, link="identity", alpha=0.05 * p, fit_intercept=i, tol=1e-9, max_iter=5000
        ),
        tweedie(1, lambda m: m),
        "far from zero",
        _mean_penalty,
        # scikit-learn itself leaves the domain of this loss without one.
        intercepts=(True,),
    ),
    "sgd regression": Case(
        lambda p, i: SGDRegressor(alpha=0.01, penalty="l2" if p else None, fit_intercept=i, **SGD),
        squared,
        "real",
        _count_penalty,
    ),
    "sgd classification": Case(
        lambda p, i: SGDClassifier("log_loss", alpha=0.02, fit_intercept=i, **SGD),
        logistic,
        "binary",
        _count_penalty,
        (True,),
    ),
    "sgd, 3 classes": Case(
        lambda p, i: SGDClassifier("log_loss", alpha=0.02, fit_intercept=i, **SGD),
        logistic,
        "three",
        _count_penalty,
        (True,),
    ),
}


def _data(kind: str, random: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    age = random.normal(1, 1, ROWS)
    dose = random.normal(0, 1, ROWS)
    ward = random.choice(["north", "south", "west"], ROWS)
    table = pd.DataFrame({"age": age, "dose": dose, "ward": ward})
    signal = 0.1 * age + 0.5 * dose + 0.4 * (ward == "south") - 0.6
    noise = random.normal(size=ROWS)
    labels: Any = {
        "real": lambda: signal + noise,
        "real2": lambda: np.column_stack([signal + noise, 0.3 * signal - noise**2]),
        "binary": lambda: np.where(signal + 1.5 * noise > 0, "yes", "no"),
        "three": lambda: np.array(["a", "b", "c"])[np.digitize(signal + 1.5 * noise, [-0.7, 0.7])],
        "count": lambda: random.poisson(np.exp(signal)).astype(float),
        "positive": lambda: np.exp(0.5 * signal) * random.gamma(3, 1 / 3, ROWS),
        "far from zero": lambda: 20 + 0.5 * age + dose + random.normal(size=ROWS),
    }[kind]()
    return table, labels


def _encoded(case: Case, labels: np.ndarray) -> np.ndarray:
    if case.labels not in ("binary", "three"):
        return labels.reshape(ROWS, -1)
    classes = np.unique(labels)
    hot = (labels[:, None] == classes).astype(float)
    hot = hot[:, 1:] if len(classes) == 2 else hot
    low, high = case.codes
    return low + (high - low) * hot


def _setting(
    name: str, penalty: bool, intercept: bool, weighted: bool, pipeline: bool
) -> tuple[Any, Any, Any, Any, Oracle]:
    case = CASES[name]
    random = np.random.default_rng(7)
    table, labels = _data(case.labels, random)
    weights = random.integers(0, 4, ROWS) / 2 if weighted else None
    model = case.make(penalty, intercept)
    hot = (table["ward"].to_numpy()[:, None] == np.array(["south", "west"])).astype(float)
    coordinates = np.column_stack([table["age"], table["dose"], hot])
    if pipeline:
        whole = Pipeline(
            [
                (
                    "columns",
                    ColumnTransformer(
                        [
                            ("numbers", StandardScaler(), ["age", "dose"]),
                            ("wards", OneHotEncoder(drop="first"), ["ward"]),
                        ]
                    ),
                ),
                ("model", model),
            ]
        )
        whole.fit(table, labels, model__sample_weight=weights)
        scaler = whole[0].named_transformers_["numbers"]
        scale = np.concatenate([1 / scaler.scale_, [1, 1]])
        matrix, offset = np.diag(scale), np.concatenate([-scaler.mean_ / scaler.scale_, [0, 0]])
        given = table
    else:
        whole = model.fit(coordinates, labels, sample_weight=weights)
        matrix, offset, given = np.eye(4), np.zeros(4), coordinates
    each = np.ones(ROWS) if weights is None else weights
    strength = case.penalty(model, each) if penalty else 0.0
    oracle = Oracle(
        case.loss,
        coordinates,
        matrix,
        offset,
        _encoded(case, labels),
        each,
        np.array([strength] * 4 + [0.0] * intercept),
        intercept,
    )
    return whole, given, labels, weights, oracle


def _start(model: Any, intercept: bool) -> np.ndarray:
    last = model[-1] if isinstance(model, Pipeline) else model
    theta = np.atleast_2d(last.coef_).T
    return np.vstack([theta, np.broadcast_to(last.intercept_, (1, theta.shape[1]))]) if intercept else theta


# Half of all settings of every model, such that whatever two of its settings can be meets in some of them.
SETTINGS = [
    pytest.param(*setting, id="{}-penalty={}-intercept={}-weighted={}-pipeline={}".format(*setting))
    for name, case in CASES.items()
    for setting in product([name], case.penalized, case.intercepts, (True, False), (True, False))
    if sum(setting[1:]) % 2 == 0
]


def test_whatever_two_settings_can_be_meets() -> None:
    for name, case in CASES.items():
        chosen = [parameters.values[1:] for parameters in SETTINGS if parameters.values[0] == name]
        for (i, first), (j, second) in combinations(
            enumerate((case.penalized, case.intercepts, *[(True, False)] * 2)), 2
        ):
            assert {(each[i], each[j]) for each in chosen} == set(product(first, second)), name


@pytest.mark.parametrize(("name", "penalty", "intercept", "weighted", "pipeline"), SETTINGS)
def test_information_is_that_of_the_differentiated_minimizer(
    name: str, penalty: bool, intercept: bool, weighted: bool, pipeline: bool
) -> None:
    model, X, y, weights, oracle = _setting(name, penalty, intercept, weighted, pipeline)
    theta = oracle.minimizer(_start(model, intercept))
    by_value, by_label = oracle.jacobians(theta)
    if name == "softmax":
        by_label = by_label @ sum_zero(3)
    for public in (True, False):
        _check(model, X, y, weights, pipeline, public, by_value, by_label)


def _check(
    model: Any, X: Any, y: Any, weights: Any, pipeline: bool, public: bool, by_value: np.ndarray, by_label: np.ndarray
) -> None:
    """Hold what is measured, with public labels or others, against the derivatives of the minimizer."""
    scale = 0.03
    # What a scaler that was fitted on the same rows adds is held against the whole procedure elsewhere.
    known = ["standardscaler"] if pipeline else []
    leak = seepage.measure(
        model, X, y, noise_scale=scale, sample_weight=weights, public_label=public, public_preprocessing=known
    )
    whole = (by_value if public else np.concatenate([by_value, by_label], axis=2)) / scale
    singular = np.linalg.svd(whole, compute_uv=False)

    examples = leak.information.examples()
    np.testing.assert_allclose(examples["eta"], singular[:, 0], rtol=1e-6, atol=1e-9 * singular.max())
    dfil = np.sqrt((singular**2).sum(1) / whole.shape[2])
    np.testing.assert_allclose(examples["dfil"], dfil, rtol=1e-6, atol=1e-9 * dfil.max())

    blocks = [[0], [1], [2, 3]] if pipeline else [[0], [1], [2], [3]]
    expected = [np.linalg.svd(by_value[:, :, block] / scale, compute_uv=False)[:, 0] for block in blocks]
    if not public:
        expected.append(np.linalg.svd(by_label / scale, compute_uv=False)[:, 0])
    for found, want in zip(leak.information.attributes().values(), expected, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-7 * want.max())

    some = np.arange(ROWS) % 3 == 0
    for people in (np.ones(ROWS, dtype=bool), some):
        stacked = np.concatenate(list(whole[people]), axis=1)
        np.testing.assert_allclose(leak.joint(people), np.linalg.norm(stacked, 2), rtol=1e-6)
    one = np.concatenate(list(by_value[some][:, :, blocks[-1]]), axis=1) / scale
    name_of_last = leak.information.attribute_names[len(blocks) - 1]
    np.testing.assert_allclose(leak.joint(some, attribute=name_of_last), np.linalg.norm(one, 2), rtol=1e-6)


@pytest.mark.parametrize("name", ["ridge", "logistic", "softmax", "two targets"])
def test_a_full_noise_covariance_weighs_the_directions_of_the_release(name: str) -> None:
    model, X, y, _, oracle = _setting(name, True, True, False, True)
    theta = oracle.minimizer(_start(model, True))
    random = np.random.default_rng(3)
    factor = random.normal(size=(theta.size, theta.size)) + 3 * np.eye(theta.size)
    noise = seepage.release.GaussianNoise(covariance=factor @ factor.T)
    leak = seepage.measure(model, X, y, noise_scale=noise, public_label=True, public_preprocessing=["standardscaler"])
    by_value, _ = oracle.jacobians(theta)
    whitened = np.linalg.solve(factor, by_value)
    np.testing.assert_allclose(
        leak.information.examples()["eta"], np.linalg.svd(whitened, compute_uv=False)[:, 0], rtol=1e-6
    )
    np.testing.assert_allclose(leak.joint(), np.linalg.norm(np.concatenate(list(whitened), axis=1), 2), rtol=1e-6)


@pytest.mark.parametrize("setting", ["balanced", {"no": 1.0, "yes": 3.0}])
@pytest.mark.parametrize("make", [LogisticRegression, RidgeClassifier])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_weights_multiply_the_rows_of_their_class(setting: Any, make: Any, weighted: bool) -> None:
    random = np.random.default_rng(7)
    table, labels = _data("binary", random)
    weights = random.uniform(0.5, 2, ROWS) if weighted else None
    X = table[["age", "dose"]].to_numpy()
    settings = {"tol": 1e-10, "max_iter": 1000} if make is LogisticRegression else {}
    model = make(class_weight=setting, **settings).fit(X, labels, sample_weight=weights)
    leak = seepage.measure(model, X, labels, noise_scale=0.1, sample_weight=weights)

    yes = labels == "yes"
    base = np.ones(ROWS) if weights is None else weights
    counted = base if make is LogisticRegression else np.ones(ROWS)
    factor = np.where(yes, counted.sum() / (2 * counted[yes].sum()), counted.sum() / (2 * counted[~yes].sum()))
    if isinstance(setting, dict):
        factor = np.where(yes, 3.0, 1.0)
    loss, codes = (logistic, (0.0, 1.0)) if make is LogisticRegression else (squared, (-1.0, 1.0))
    oracle = Oracle(
        loss,
        X,
        np.eye(2),
        np.zeros(2),
        np.where(yes, codes[1], codes[0])[:, None],
        base * factor,
        np.array([1.0, 1.0, 0.0]),
        True,
    )
    jacobians = np.concatenate(oracle.jacobians(oracle.minimizer(_start(model, True))), axis=2)
    np.testing.assert_allclose(
        leak.information.examples()["eta"], np.linalg.svd(jacobians / 0.1, compute_uv=False)[:, 0], rtol=1e-6
    )


def test_liblinear_penalizes_the_intercept() -> None:
    table, labels = _data("binary", np.random.default_rng(7))
    X = table[["age", "dose"]].to_numpy()
    model = LogisticRegression(solver="liblinear", intercept_scaling=2.0, tol=1e-10, max_iter=5000).fit(X, labels)
    leak = seepage.measure(model, X, labels, noise_scale=0.1)
    oracle = Oracle(
        logistic,
        X,
        np.eye(2),
        np.zeros(2),
        (labels == "yes")[:, None].astype(float),
        np.ones(ROWS),
        np.array([1.0, 1.0, 0.25]),
        True,
    )
    jacobians = np.concatenate(oracle.jacobians(oracle.minimizer(_start(model, True))), axis=2)
    np.testing.assert_allclose(
        leak.information.examples()["eta"], np.linalg.svd(jacobians / 0.1, compute_uv=False)[:, 0], rtol=1e-6
    )
