"""Shapes of noise, fitted alphas and Cox models, behind imputers and scalers, against the stages of `procedures`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from likelihoods import apart, length
from procedures import Expected, balanced, hazards, negative_binomial, procedure, released, standard_errors
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import seepage
from seepage.core import Outputs
from seepage.release import Balanced, GaussianNoise

N, SIGMA, PERSON, OTHER = 50, 0.4, 23, 3
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(N, 3)) * [1.0, 4.0, 0.5] + [0.0, 20.0, 2.0]
NAMES = ["age", "dose", "time"]
FRAME = pd.DataFrame(X, columns=NAMES)
SIGNAL = X @ [0.6, 0.1, -0.8]
NUMBER = SIGNAL + RANDOM.normal(size=N)
YES = (SIGNAL - SIGNAL.mean() + RANDOM.logistic(size=N) > 0).astype(float)
BOTH = np.column_stack([NUMBER, np.exp(0.3 * SIGNAL) * RANDOM.gamma(3.0, 1 / 3, N)])
HOLED = FRAME.mask(RANDOM.random((N, 3)) < [0.15, 0.2, 0.0])
WEEK = np.ceil(8 * RANDOM.exponential(np.exp(-0.5 * (SIGNAL - SIGNAL.mean())))).clip(max=20.0)
DIED = WEEK < 20
OUTCOMES = np.rec.fromarrays([DIED, WEEK], names="event,time")
COUNTS = np.random.default_rng(2).negative_binomial(1.5, 1.5 / (1.5 + np.exp(0.4 * X[:, 0] - 0.5))).astype(float)


def with_square(z: Any) -> Any:
    return np.concatenate([z, z[:, :1] ** 2], axis=1)


ALL = {"scaled": range(3)}
SQUARE = make_column_transformer(("passthrough", NAMES), (FunctionTransformer(np.square), ["age"]))
RIDGE, LOGISTIC = Ridge(alpha=2.0), LogisticRegression(C=0.5, tol=1e-12, max_iter=20_000)
ERRORS = (GaussianNoise(standard_errors=0.7), standard_errors(0.7, N))
BALANCED = (
    GaussianNoise(shape=Balanced(scale=0.7, floors={"age": 5.0, "dose": 2.0}, share=0.02, balance=0.5)),
    balanced(0.7, {0: 5.0, 1: 2.0}, 0.02, 0.5),
)
# Steps, model, rows, labels, loss, noise, and the steps of the procedure.
CASES: dict[str, tuple[list[Any], Any, Any, Any, str, tuple[Any, Any], dict[str, Any]]] = {
    "ridge": ([], RIDGE, FRAME, NUMBER, "squared", ERRORS, {}),
    "logistic": ([], LOGISTIC, FRAME, YES, "logistic", ERRORS, {}),
    "two targets": ([], RIDGE, FRAME, BOTH, "squared", BALANCED, {}),
    "ridge, square": ([SQUARE], RIDGE, FRAME, NUMBER, "squared", ERRORS, {"features": with_square}),
    "logistic, square": ([SQUARE], LOGISTIC, FRAME, YES, "logistic", ERRORS, {"features": with_square}),
    "scaler": ([StandardScaler()], LOGISTIC, FRAME, YES, "logistic", ERRORS, ALL),
    "imputer, scaler": ([SimpleImputer(), StandardScaler()], LOGISTIC, HOLED, YES, "logistic", ERRORS, ALL),
    "balanced": ([], RIDGE, FRAME, NUMBER, "squared", BALANCED, {}),
    "balanced, scaler": ([StandardScaler()], RIDGE, FRAME, NUMBER, "squared", BALANCED, ALL),
}


def exchange(leak: seepage.Leakage, made: Callable[[np.ndarray], Outputs], frame: pd.DataFrame) -> None:
    """Compare refits in which one person has another person's value, column by column."""
    x = frame.to_numpy()
    before = released(made(x))
    for place, column in enumerate(frame):
        if np.isnan(x[[PERSON, OTHER], place]).any():
            continue
        changed = x.copy()
        changed[PERSON, place] = x[OTHER, place]
        distances = leak.information.distances(column, [x[OTHER, place]])
        assert length(distances, PERSON) == pytest.approx(apart(before, released(made(changed))), rel=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_a_shape_of_noise_that_follows_the_rows(name: str, tmp_path: Any) -> None:
    steps, estimator, frame, labels, loss, (noise, shape), known = CASES[name]
    model = make_pipeline(*steps, estimator).fit(frame, labels)

    def made(x: np.ndarray) -> Outputs:
        return procedure(x, labels.reshape(N, -1), loss, 2.0, shape=shape, **known)

    expected, leak = Expected(made(frame.to_numpy())), seepage.measure(model, frame, labels, noise_scale=noise)
    expected.agrees(leak, rtol=2e-8)
    if frame is FRAME and labels.ndim == 1:
        frame.assign(outcome=labels).to_parquet(tmp_path / "people.parquet", row_group_size=17)
        job = seepage.engines.Job(output=tmp_path / "out")
        leak = seepage.measure(model, tmp_path / "people.parquet", target="outcome", noise_scale=noise, job=job)
        expected.agrees(leak, rtol=2e-8)


def test_an_alpha_that_is_fitted_behind_a_scaler() -> None:
    glm = seepage.models.GLM(family="negative binomial", parameter=None, penalty=0.5)
    model = make_pipeline(StandardScaler(), glm).fit(FRAME, COUNTS)
    known = {"alpha": True, "start": [*glm.coef_, glm.intercept_, glm.parameter_], **ALL}

    def made(x: np.ndarray) -> Outputs:
        return procedure(x, COUNTS[:, None], negative_binomial(), 0.5, noise=SIGMA, **known)

    leak = seepage.measure(model, FRAME, COUNTS, noise_scale=SIGMA)
    Expected(made(X)).agrees(leak, rtol=2e-8)
    exchange(leak, made, FRAME)


@pytest.mark.parametrize("steps", [[], [StandardScaler()]], ids=["plain", "scaler"])
def test_a_cox_model(steps: list[Any]) -> None:
    model = make_pipeline(*steps, seepage.models.Cox(penalty=2.0, ties="breslow")).fit(FRAME, OUTCOMES)
    leak = seepage.measure(model, FRAME, OUTCOMES, noise_scale=SIGMA, public_label=True)

    def made(x: np.ndarray) -> Outputs:
        return hazards(x, WEEK, DIED, ties="breslow", penalty=2.0, scaled=bool(steps), noise=SIGMA)

    Expected(made(X)).agrees(leak, rtol=2e-8)
    exchange(leak, made, FRAME)


def test_a_cox_model_of_lifelines_with_a_penalty_in_deviations() -> None:
    from lifelines import CoxPHFitter

    # Without ties, so that Efron's way with them does not matter.
    times = np.where(DIED, WEEK + np.linspace(0.0, 0.4, N), WEEK)
    whole = FRAME.assign(week=times, died=DIED.astype(int))
    model = CoxPHFitter(penalizer=0.1).fit(whole, "week", "died", fit_options={"precision": 1e-12})
    leak = seepage.measure(model, whole, noise_scale=SIGMA, public_label=True)

    def made(x: np.ndarray) -> Outputs:
        return hazards(x, times, DIED, penalty=0.1 * N, standardized=True, noise=SIGMA)

    Expected(made(X)).agrees(leak, rtol=2e-8)
    exchange(leak, made, FRAME)


FLAGGED = FRAME.assign(time=(FRAME["time"] > 2).astype(float))


def counting(rows: pd.DataFrame) -> Any:
    glm = seepage.models.GLM(family="negative binomial", parameter=None, penalty=0.5)
    return make_pipeline(StandardScaler(), glm).fit(rows, COUNTS)


def counted(model: Any) -> tuple[np.ndarray, np.ndarray]:
    scaler, glm = model
    units = np.diag(np.r_[1 / scaler.scale_, 1.0, 1.0])
    units[3, :3] = -scaler.mean_ / scaler.scale_
    return units @ np.r_[glm.coef_, glm.intercept_, glm.parameter_], SIGMA**2 * units @ units.T


def waiting(standardized: bool) -> Callable[[pd.DataFrame], Any]:
    def fit(rows: pd.DataFrame) -> Any:
        cox = seepage.models.Cox(penalty=2.0, standardized=standardized)
        return make_pipeline(StandardScaler(with_mean=False), cox).fit(rows, OUTCOMES)

    return fit


def waited(model: Any) -> tuple[np.ndarray, np.ndarray]:
    scaler, cox = model
    units = np.diag(1 / scaler.scale_)
    return units @ cox.coef_, SIGMA**2 * units @ units.T


@pytest.mark.parametrize("noise", [SIGMA, "covariance"])
@pytest.mark.parametrize(
    ("fit", "published", "labels"),
    [(counting, counted, COUNTS), (waiting(False), waited, OUTCOMES), (waiting(True), waited, OUTCOMES)],
    ids=["negative binomial", "Cox", "Cox with a standardized penalty"],
)
def test_two_releases_are_as_far_apart_as_two_fits_of_the_whole_procedure(
    fit: Any, published: Any, labels: Any, noise: Any
) -> None:
    model = fit(FLAGGED)
    truth = published(model)
    given = noise if noise == SIGMA else seepage.release.GaussianNoise(covariance=SIGMA**2 * np.eye(len(truth[0])))
    found = seepage.measure(model, FLAGGED, labels, noise_scale=given).information.distances("time", [0.0, 1.0])
    for person in range(0, N, 9):
        other = FLAGGED.copy()
        other.loc[person, "time"] = 1 - other.loc[person, "time"]
        other_value = int(other.loc[person, "time"])
        assert length(found, person, other_value) == pytest.approx(apart(truth, published(fit(other))), rel=1e-7)
