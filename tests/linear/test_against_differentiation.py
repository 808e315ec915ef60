"""Models, steps, noise, weights and labels, drawn from one list, against the stages of `procedures`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from likelihoods import apart, length
from procedures import (
    Expected,
    balanced,
    likelihood,
    negative_binomial,
    procedure,
    released,
    standard_errors,
    sum_zero,
    with_variances,
)
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler

import seepage
from seepage.release import Balanced, GaussianNoise, RobustCovariance

ROWS = 40
# The values of age, dose and ward.
BLOCKS = [[0], [1], [2, 3]]


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
    outputs: str = "one"
    """One, several of one Hessian, or several of different ones."""
    alpha: bool = False


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
    "linear": Case(lambda p, i: LinearRegression(fit_intercept=i), "squared", "real", lambda m, w: 0.0, (False,)),
    "ridge": Case(lambda p, i: Ridge(alpha=1.5, fit_intercept=i), "squared", "real", lambda m, w: m.alpha, (True,)),
    "two targets": Case(
        lambda p, i: Ridge(alpha=1.5, fit_intercept=i),
        "squared",
        "real2",
        lambda m, w: m.alpha,
        (True,),
        outputs="of one Hessian",
    ),
    "ridge classifier": Case(
        lambda p, i: RidgeClassifier(alpha=1.5, fit_intercept=i),
        "squared",
        "binary",
        lambda m, w: m.alpha,
        (True,),
        (-1, 1),
    ),
    "ridge classifier, 3 classes": Case(
        lambda p, i: RidgeClassifier(alpha=1.5, fit_intercept=i),
        "squared",
        "three",
        lambda m, w: m.alpha,
        (True,),
        (-1, 1),
        outputs="of one Hessian",
    ),
    "logistic": Case(_logistic, "logistic", "binary", lambda m, w: 1 / m.C),
    "softmax": Case(_logistic, "softmax", "three", lambda m, w: 1 / m.C, outputs="several"),
    "poisson": Case(_glm(PoissonRegressor), "poisson", "count", _mean_penalty),
    "gamma": Case(_glm(GammaRegressor), "gamma", "positive", _mean_penalty),
    "tweedie": Case(_glm(TweedieRegressor, power=1.5), likelihood("tweedie", "log", 1.5), "positive", _mean_penalty),
    "normal, log link": Case(
        lambda p, i: TweedieRegressor(power=0, link="log", alpha=0.05 * p, fit_intercept=i, tol=1e-9, max_iter=5000),
        likelihood("gaussian", "log"),
        "positive",
        _mean_penalty,
    ),
    "normal, identity link": Case(
        lambda p, i: TweedieRegressor(power=0, alpha=0.05 * p, fit_intercept=i, tol=1e-9, max_iter=5000),
        "squared",
        "positive",
        _mean_penalty,
    ),
    "poisson, identity link": Case(
        lambda p, i: TweedieRegressor(
            power=1, link="identity", alpha=0.05 * p, fit_intercept=i, tol=1e-9, max_iter=5000
        ),
        likelihood("poisson", "identity"),
        "far from zero",
        _mean_penalty,
        # scikit-learn itself leaves the domain of this loss without one.
        intercepts=(True,),
    ),
    "sgd regression": Case(
        lambda p, i: SGDRegressor(alpha=0.01, penalty="l2" if p else None, fit_intercept=i, **SGD),
        "squared",
        "real",
        _count_penalty,
    ),
    "sgd classification": Case(
        lambda p, i: SGDClassifier("log_loss", alpha=0.02, fit_intercept=i, **SGD),
        "logistic",
        "binary",
        _count_penalty,
        (True,),
    ),
    "sgd, 3 classes": Case(
        lambda p, i: SGDClassifier("log_loss", alpha=0.02, fit_intercept=i, **SGD),
        "logistic",
        "three",
        _count_penalty,
        (True,),
        outputs="several",
    ),
    "negative binomial": Case(
        lambda p, i: seepage.models.GLM(family="negative binomial", parameter=None, penalty=0.5 * p),
        negative_binomial(),
        "overdispersed",
        lambda m, w: m.penalty,
        (True,),
        intercepts=(True,),
        outputs="several",
        alpha=True,
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
        "overdispersed": lambda: random.negative_binomial(1.5, 1.5 / (1.5 + np.exp(signal + 1))).astype(float),
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


def columns(numbers: Any) -> ColumnTransformer:
    """Return age, dose and two levels of the ward."""
    parts = [("numbers", numbers, ["age", "dose"]), ("wards", OneHotEncoder(drop="first"), ["ward"])]
    return ColumnTransformer(parts, sparse_threshold=0)


def powers(z: Any) -> Any:
    products = [z[:, 0] ** 2, z[:, 0] * z[:, 1], z[:, 1] ** 2]
    return np.concatenate([z[:, :2], np.stack(products, axis=1), z[:, 2:]], axis=1)


NUMBERS = _data("real", np.random.default_rng(7))[0][["age", "dose"]].to_numpy()


def standardized(z: Any) -> Any:
    return np.concatenate([(z[:, :2] - NUMBERS.mean(axis=0)) / NUMBERS.std(axis=0), z[:, 2:]], axis=1)


POWERS = PolynomialFeatures(2, include_bias=False)
STEPS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "levels": ([columns("passthrough")], {}),
    "scaler": ([columns(StandardScaler())], {"scaled": (0, 1)}),
    "public scaler": ([columns(StandardScaler())], {"features": standardized}),
    "scaler of all": ([columns("passthrough"), StandardScaler()], {"scaled": range(4)}),
    "weighted scaler": ([columns("passthrough"), StandardScaler()], {"scaled": range(4)}),
    "scaler without means": ([columns(StandardScaler(with_mean=False))], {"scaled": (0, 1), "with_mean": False}),
    "scaler without deviations": ([columns(StandardScaler(with_std=False))], {"scaled": (0, 1), "with_std": False}),
    "imputer": ([columns(SimpleImputer())], {}),
    "imputer, scaler": ([columns(make_pipeline(SimpleImputer(), StandardScaler()))], {"scaled": (0, 1)}),
    "scaler, imputer": (
        [columns(make_pipeline(StandardScaler(), SimpleImputer()))],
        {"scaled": (0, 1), "over_filled": False},
    ),
    "scaler, imputer, scaler": (
        [columns(make_pipeline(StandardScaler(), SimpleImputer(), StandardScaler()))],
        {"scaled": (0, 1)},
    ),
    "imputer, deviations": (
        [columns(make_pipeline(SimpleImputer(), StandardScaler(with_mean=False)))],
        {"scaled": (0, 1), "with_mean": False},
    ),
    "means, imputer": (
        [columns(make_pipeline(StandardScaler(with_std=False), SimpleImputer()))],
        {"scaled": (0, 1), "with_std": False, "over_filled": False},
    ),
    "powers": ([columns(POWERS)], {"features": powers}),
    "powers, scaler": ([columns(POWERS), StandardScaler()], {"features": powers, "scaled": range(7)}),
    "function": (
        [columns(FunctionTransformer(np.tanh))],
        {"features": lambda z: np.concatenate([np.tanh(z[:, :2]), z[:, 2:]], axis=1)},
    ),
}


def drawn(number: int) -> dict[str, Any]:
    """Return one combination; every model and every step is in several of sixty."""
    random = np.random.default_rng(number)
    name, steps = list(CASES)[number % len(CASES)], list(STEPS)[(number + number // len(CASES)) % len(STEPS)]
    # Means that no intercept carries noise for are taken as public.
    takes_means = "scaled" in STEPS[steps][1] and STEPS[steps][1].get("with_mean", True)
    penalty = bool(random.choice(CASES[name].penalized))
    return {
        "name": name,
        "steps": steps,
        "penalty": penalty,
        "intercept": bool(takes_means or random.choice(CASES[name].intercepts)),
        "weights": random.integers(0, 4, ROWS) / 2 if random.integers(2) else None,
        "public_label": bool(random.integers(2)),
        "noise": str(random.choice(_noises(CASES[name], steps, penalty=penalty))),
        "people": random.choice(ROWS, 2, replace=False),
        "in files": bool(random.integers(3) == 0) and "imputer" not in steps and name != "two targets",
    }


def _noises(case: Case, steps: str, *, penalty: bool) -> list[str]:
    """Return the kinds of noise that a model behind steps can have."""
    bends = steps in ("powers", "powers, scaler", "function")
    kinds = ["white", "covariance"]
    if case.outputs != "several" and not bends and steps != "public scaler":
        kinds.append(["balanced", "balanced, one floor", "balanced, shared"][len(steps) % 3])
    if case.outputs == "one":
        kinds.append("standard errors")
        if not penalty and not bends and steps != "public scaler":
            kinds.append("published standard errors")
    return kinds


def _balanced(floors: dict[str, float], share: float, balance: float) -> tuple[Any, Any]:
    places = {["age", "dose"].index(name): floor for name, floor in floors.items()}
    return Balanced(scale=0.7, floors=floors, share=share, balance=balance), balanced(0.7, places, share, balance)


SHAPES = {
    "balanced": _balanced({"age": 5.0, "dose": 2.0}, 0.02, 0.5),
    "balanced, one floor": _balanced({"dose": 1.0}, 0.3, -0.5),
    "balanced, shared": _balanced({"age": 1.0, "dose": 3.0}, 0.01, 0.0),
    "standard errors": (RobustCovariance(scale=0.7), standard_errors(0.7, ROWS)),
    "published standard errors": (RobustCovariance(scale=0.7, variances=0.2), standard_errors(0.7, ROWS)),
}


@pytest.mark.filterwarnings("ignore:The model could not be refitted:RuntimeWarning")
@pytest.mark.parametrize("number", range(72))
def test_a_drawn_combination(number: int, tmp_path: Any) -> None:
    chosen = drawn(number)
    case, random, weights = CASES[chosen["name"]], np.random.default_rng(7), chosen["weights"]
    table, labels = _data(case.labels, random)
    if "imputer" in chosen["steps"]:
        table = table.mask(random.random(table.shape) < [0.15, 0.1, 0.0])
    estimator = case.make(chosen["penalty"], chosen["intercept"])
    steps, known = STEPS[chosen["steps"]]
    model = make_pipeline(*steps, estimator)
    weighted = ["standardscaler", model.steps[-1][0]] if chosen["steps"] == "weighted scaler" else [model.steps[-1][0]]
    model.fit(table, labels, **{f"{step}__sample_weight": weights for step in weighted})
    strength = case.penalty(estimator, np.ones(ROWS) if weights is None else weights) if chosen["penalty"] else 0.0
    start, noise, shape = _start(estimator, chosen["intercept"]), 0.03, None
    given: dict[str, Any] = {"noise_scale": noise, "public_label": chosen["public_label"]}
    if chosen["noise"] == "covariance":
        factor = random.normal(size=(len(start), len(start))) + 3 * np.eye(len(start))
        noise = factor @ factor.T
        given["noise_scale"] = GaussianNoise(covariance=noise)
    elif chosen["noise"] in SHAPES:
        rule, shape = SHAPES[chosen["noise"]]
        given["noise_scale"] = GaussianNoise(shape=rule)
    axes = sum_zero(3) if chosen["name"] == "softmax" else None
    more = {"noise": noise, "shape": shape, "weights": weights, "intercept": chosen["intercept"], "axes": axes}
    if chosen["steps"] == "weighted scaler":
        more["scaler_weights"] = weights

    def made(x: np.ndarray, labels: Any = labels) -> Any:
        rows = procedure(x, _encoded(case, labels), case.loss, strength, alpha=case.alpha, start=start, **more, **known)
        return with_variances(rows, len(start), 0.7, 0.2) if "published" in chosen["noise"] else rows

    x = np.column_stack([table[["age", "dose"]], table["ward"] == "south", table["ward"] == "west"])
    expected = Expected(made(x), label=not chosen["public_label"])
    if "published" in chosen["noise"]:
        given["published"] = ["coefficients", "standard errors"]
    if chosen["steps"] == "public scaler":
        given["public_preprocessing"] = ["standardscaler"]
    if chosen["in files"]:
        table.assign(outcome=labels, weight=1.0 if weights is None else weights).to_parquet(tmp_path / "people.parquet")
        given |= {"target": "outcome", "job": seepage.engines.Job(output=tmp_path / "out", progress=False)}
        leak = seepage.measure(model, tmp_path / "people.parquet", sample_weight="weight", **given)
        expected.agrees(leak, BLOCKS, rtol=2e-8)
        return
    leak = seepage.measure(model, table, labels, sample_weight=weights, **given)
    expected.agrees(leak, BLOCKS, rtol=2e-8)
    if shape is not None:
        return
    # One person has another person's value.
    (person, other), exchanged = chosen["people"], {}
    for column, places in zip(table, BLOCKS, strict=True):
        if table[column].isna()[person]:
            assert np.isnan(leak.information.distances(column, [1.0]).distance[person]).all()
        elif not table[column].isna()[other] and table[column][person] != table[column][other]:
            changed = x.copy()
            changed[person, places] = x[other, places]
            exchanged[column] = table[column][other], made(changed)
    if not chosen["public_label"] and np.ndim(labels) == 1 and labels[person] != labels[other]:
        changed = labels.copy()
        changed[person] = labels[other]
        exchanged[leak.information.attribute_names[-1]] = labels[other], made(x, changed)
    for column, (value, after) in exchanged.items():
        distances = leak.information.distances(column, [value])
        # The distance of equal releases has the rounding of their determinants.
        truth = apart(released(made(x)), released(after))
        assert length(distances, person) == pytest.approx(truth, rel=1e-7, abs=1e-7)


def _start(estimator: Any, intercept: bool) -> np.ndarray:
    theta = np.atleast_2d(estimator.coef_)
    if intercept:
        theta = np.column_stack([theta, np.broadcast_to(estimator.intercept_, len(theta))])
    return np.append(theta, estimator.parameter_) if hasattr(estimator, "parameter_") else theta.ravel()


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
    loss, low = ("logistic", 0.0) if make is LogisticRegression else ("squared", -1.0)
    oracle = procedure(X, np.where(yes, 1.0, low)[:, None], loss, 1.0, weights=base * factor, noise=0.1)
    Expected(oracle).agrees(leak)


def test_liblinear_penalizes_the_intercept() -> None:
    table, labels = _data("binary", np.random.default_rng(7))
    X = table[["age", "dose"]].to_numpy()
    liblinear = LogisticRegression(solver="liblinear", intercept_scaling=2.0, tol=1e-10, max_iter=5000)
    leak = seepage.measure(make_pipeline(StandardScaler(), liblinear).fit(X, labels), X, labels, noise_scale=0.1)
    known = {"scaled": (0, 1), "noise": 0.1}
    penalty = np.array([1.0, 1.0, 0.25])
    Expected(procedure(X, 1.0 * (labels == "yes")[:, None], "logistic", penalty, **known)).agrees(leak)
