"""Lasso, elastic net and logistic regression with an L1 penalty: exact inside the active set, and how far that goes.

The oracle solves the objective by coordinate descent of its own, with Newton steps on the support at the end.
Derivatives are automatic (of the stationarity condition on the support), or differences of refits.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from likelihoods import apart, length
from procedures import Expected, procedure
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LassoLars,
    LassoLarsIC,
    LogisticRegression,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

import seepage

NOISE = 0.3
random = np.random.default_rng(12)
N = 60
X = pd.DataFrame(random.normal(size=(N, 5)) @ (np.eye(5) + 0.3), columns=list("abcde")) * [1, 3, 0.5, 1, 2] + [
    0,
    1,
    2,
    0,
    3,
]
REAL = (X["a"] - 0.4 * X["b"] + 0.1 * X["d"] + random.normal(size=N)).to_numpy()
TWO = (REAL + random.logistic(size=N) > np.median(REAL)).astype(int)
W = random.gamma(3, size=N) / 3
FOUR = {"tol": 1e-6, "max_iter": 200_000}


def _slope(loss, margins, y):
    if loss == "squared":
        return margins - y, np.ones_like(margins)
    share = 1 / (1 + np.exp(-margins))
    return share - y, share * (1 - share)


def minimizer(features, y, weights, absolute, penalty, loss):
    """Coordinate descent on second-order models, then Newton steps on the support; checks the subgradient."""
    theta = np.zeros(features.shape[1])
    for _ in range(60):
        slope, bend = _slope(loss, features @ theta, y)
        hessian = (features * (weights * bend)[:, None]).T @ features + np.diag(penalty)
        gradient, before = features.T @ (weights * slope) + penalty * theta, theta.copy()
        for _ in range(3000):
            largest = 0.0
            for j in range(len(theta)):
                free = theta[j] - gradient[j] / hessian[j, j]
                new = np.sign(free) * max(abs(free) - absolute[j] / hessian[j, j], 0.0)
                step, theta[j] = new - theta[j], new
                if step:
                    gradient += hessian[:, j] * step
                    largest = max(largest, abs(step) * np.sqrt(hessian[j, j]))
            if largest < 1e-12 * np.sqrt(theta @ hessian @ theta):
                break
        if loss == "squared" or np.abs(theta - before).max() < 1e-9:
            break
    signs, support = np.where(absolute > 0, np.sign(theta), 0), (theta != 0) | (absolute == 0)
    for _ in range(10):
        slope, bend = _slope(loss, features @ theta, y)
        gradient = features.T @ (weights * slope) + penalty * theta
        hessian = (features * (weights * bend)[:, None]).T @ features + np.diag(penalty)
        move = (gradient + absolute * signs)[support]
        theta[support] -= np.linalg.solve(hessian[np.ix_(support, support)], move)
    assert (np.sign(theta) == signs)[absolute > 0].all()
    assert (np.abs(gradient) <= absolute * (1 + 1e-9))[~support].all()
    return theta


@dataclass
class Case:
    model: object
    loss: str
    weights: np.ndarray | None = None
    intercept_share: float = 0.0
    """Of an intercept's penalty: liblinear's is one over its scaling."""

    @property
    def y(self):
        return REAL if self.loss == "squared" else TWO

    @property
    def row_weights(self):
        weights = np.ones(N) if self.weights is None else self.weights
        if getattr(self.model, "class_weight", None) == "balanced":
            each = np.array([weights[TWO == 0].sum(), weights[TWO == 1].sum()])
            weights = weights * (each.sum() / (2 * each))[TWO]
        return weights

    def design(self, features):
        features = np.asarray(features, dtype=float)
        return np.column_stack([features, np.ones(len(features))]) if self.model.fit_intercept else features

    def penalties(self):
        """L and P of the objective that is a sum over the rows."""
        weights = np.ones(N) if self.weights is None else self.weights
        strength = 1 / self.model.C if self.loss == "logistic" else self.model.alpha * weights.sum()
        share = self.model.l1_ratio
        size = X.shape[1] + self.model.fit_intercept
        absolute, penalty = np.full(size, strength * share), np.full(size, strength * (1 - share))
        if self.model.fit_intercept:
            absolute[-1], penalty[-1] = absolute[-1] * self.intercept_share, penalty[-1] * self.intercept_share**2
        return absolute, penalty

    def theta(self, features=X, y=None):
        y = self.y if y is None else y
        return minimizer(self.design(features), y, self.row_weights, *self.penalties(), self.loss)

    def measured(self, **settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = self.model.fit(X, self.y, sample_weight=self.weights)
        return seepage.measure(fitted, X, self.y, noise_scale=NOISE, sample_weight=self.weights, **settings)


CASES = {
    "lasso": Case(Lasso(alpha=0.2), "squared"),
    "lasso without intercept": Case(Lasso(alpha=0.3, fit_intercept=False), "squared"),
    "lasso with weights": Case(Lasso(alpha=0.2), "squared", W),
    "elastic net": Case(ElasticNet(alpha=0.3, l1_ratio=0.7), "squared", W),
    "elastic net that keeps all": Case(ElasticNet(alpha=0.01, l1_ratio=0.2), "squared"),
    "logistic, saga": Case(LogisticRegression(C=0.15, l1_ratio=1.0, solver="saga", **FOUR), "logistic"),
    "logistic, elastic net": Case(
        LogisticRegression(C=0.1, l1_ratio=0.6, solver="saga", class_weight="balanced", **FOUR), "logistic", W
    ),
    "logistic, liblinear": Case(
        LogisticRegression(C=0.15, l1_ratio=1.0, solver="liblinear", intercept_scaling=4.0, tol=1e-8),
        "logistic",
        intercept_share=0.25,
    ),
    "logistic without intercept": Case(
        LogisticRegression(C=0.15, l1_ratio=1.0, solver="liblinear", fit_intercept=False, tol=1e-8), "logistic", W
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_information_is_that_of_the_stationarity_condition_on_the_active_set(name):
    case = CASES[name]
    leak = case.measured(numbers=list(X.columns))
    theta, (absolute, penalty) = case.theta(), case.penalties()
    np.testing.assert_allclose(leak.information.geometry.parameters[:, 0], theta, atol=1e-10)
    support = np.flatnonzero((theta != 0) | (absolute == 0))
    assert name == "elastic net that keeps all" or len(support) < len(theta)
    features = [j for j in support if j < X.shape[1]]
    intercept = bool(case.model.fit_intercept and support[-1] == X.shape[1])
    active = theta[support]
    given = {"linear": (absolute * np.sign(theta))[support], "weights": case.row_weights, "start": active}
    given |= {"intercept": intercept, "features": lambda z: z[:, features], "noise": NOISE}
    rows, labels = X.to_numpy(), case.y.astype(float)[:, None]
    expected = Expected(procedure(rows, labels, case.loss, penalty[support], **given))
    np.testing.assert_allclose(leak.examples["eta"], expected.eta(), rtol=1e-8)
    # A mean over what is answered: a column at zero adds nothing, and dilutes nothing.
    dfil = np.sqrt((expected.roots**2).sum(axis=(1, 2)) / (len(features) + 1))
    np.testing.assert_allclose(leak.examples["dfil"], dfil, rtol=1e-8)
    for j, column in enumerate(leak.attributes):
        eta = expected.eta([j])
        if j < X.shape[1] and j not in features:
            # Zero, but for the kink that is somewhere: that is no answer.
            assert not eta.any()
            eta = np.full(N, np.nan)
        np.testing.assert_allclose(leak.attributes[column], eta, rtol=1e-8)
    assert leak.joint_information_loss() == pytest.approx(expected.joint(), rel=1e-8)
    some = X["a"].to_numpy() > 0
    assert leak.joint_information_loss(some, attribute="a") == pytest.approx(expected.joint(some, [0]), rel=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_refits_go_past_kinks(name):
    case = CASES[name]
    leak = case.measured(numbers=list(X.columns))
    here, crossed = case.theta(), 0
    for column, far in (("a", 9.0), ("c", -20.0), ("b", 40.0)):
        found = leak.success_rate(column, values=[*X[column][:6], far]).query("other == @far")
        for person in range(6):
            changed = X.copy()
            changed.loc[person, column] = far
            there = case.theta(changed)
            crossed += bool((np.sign(there) != np.sign(here)).any())
            assert found["distance"][person] == pytest.approx(np.linalg.norm(there - here) / NOISE, rel=1e-7)
    assert crossed
    if case.loss == "logistic":
        found = leak.success_rate("label")["distance"]
        for person in range(4):
            flipped = TWO.copy()
            flipped[person] = 1 - TWO[person]
            other = Case(case.model, case.loss, case.weights, case.intercept_share)
            weights = np.ones(N) if case.weights is None else case.weights
            if case.model.class_weight == "balanced":
                each = np.array([weights[flipped == 0].sum(), weights[flipped == 1].sum()])
                weights = weights * (each.sum() / (2 * each))[flipped]
            there = minimizer(case.design(X), flipped, weights, *other.penalties(), "logistic")
            assert found[person] == pytest.approx(np.linalg.norm(there - here) / NOISE, rel=1e-7)


def _behind_steps(frame, made, alpha, ratio):
    """Fit an elastic net behind steps that are fitted anew (imputed means, a scaler) after steps that are fixed.

    Returns parameters in units of the features, the covariance of their noise, and the signs of the coefficients.
    """
    features = made(frame)
    filled = np.where(np.isnan(features), np.nanmean(features, axis=0), features)
    mean, deviation = filled.mean(axis=0), filled.std(axis=0)
    design = np.column_stack([(filled - mean) / deviation, np.ones(N)])
    strength = alpha * N * np.r_[np.ones(filled.shape[1]), 0]
    theta = minimizer(design, REAL, np.ones(N), strength * ratio, strength * (1 - ratio), "squared")
    turn = np.diag(np.r_[1 / deviation, 1])
    turn[-1, :-1] = -mean / deviation
    return turn @ theta, turn @ turn.T * NOISE**2, np.sign(theta[:-1])


SPLINE = SplineTransformer(
    knots=np.linspace(X["b"].min() - 1, X["b"].max() + 1, 4)[:, None], degree=3, include_bias=False
)
HOLES = X.mask(np.random.default_rng(3).random(X.shape) < 0.15)
BEHIND = {
    "a scaler": (X, "passthrough", lambda frame: frame.to_numpy(), 0.25, 1.0),
    "a scaler, elastic net": (X, "passthrough", lambda frame: frame.to_numpy(), 0.25, 0.6),
    "a spline": (
        X,
        make_column_transformer((SPLINE, ["b"]), remainder="passthrough"),
        lambda frame: np.column_stack(
            [SPLINE.fit(frame[["b"]].to_numpy()).transform(frame[["b"]].to_numpy()), frame[[*"acde"]]]
        ),
        0.12,
        1.0,
    ),
    "an imputer": (HOLES, SimpleImputer(), lambda frame: frame.to_numpy(), 0.12, 1.0),
}


@pytest.mark.parametrize("name", BEHIND)
def test_behind_steps_of_the_same_rows_information_and_distances_are_those_of_refits(name):
    frame, step, made, alpha, ratio = BEHIND[name]
    model = make_pipeline(step, StandardScaler(), ElasticNet(alpha=alpha, l1_ratio=ratio, tol=1e-10, max_iter=100_000))
    leak = seepage.measure(model.fit(frame, REAL), frame, REAL, noise_scale=NOISE, numbers=list(X.columns))
    beta, covariance, signs = _behind_steps(frame, made, alpha, ratio)
    assert (signs == 0).any()
    assert leak.information.without_slope
    precision, compared = np.linalg.inv(covariance), 0
    for person in (2, 17, 40):
        for column in X:
            if np.isnan(frame[column][person]):
                assert np.isnan(leak.attributes[column][person])
                continue

            def at(change, person=person, column=column):
                changed = frame.copy()
                changed.loc[person, column] += change
                return _behind_steps(changed, made, alpha, ratio)

            far = 6 * frame[column].std()
            expected = apart((beta, covariance), at(far)[:2])
            found = leak.information.distances(column, [float(frame[column][person] + far)])
            assert length(found, person) == pytest.approx(expected, rel=1e-7)
            if column in leak.information.without_slope:
                assert np.isnan(leak.attributes[column][person])
                continue
            unit = 1e-3 * frame[column].std()
            ends = [at(each * unit) for each in (1, -1, 0.5, -0.5)]
            move, turn = ((8 * (ends[2][i] - ends[3][i]) - (ends[0][i] - ends[1][i])) / (6 * unit) for i in (0, 1))
            told = move @ precision @ move + 0.5 * np.trace(precision @ turn @ precision @ turn)
            assert leak.attributes[column][person] == pytest.approx(np.sqrt(told), rel=1e-6)
            compared += 1
    assert compared >= 4


def test_a_model_that_its_solver_left_early_is_measured_at_its_minimizer():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    early, late = (Lasso(alpha=2.0, tol=tol, max_iter=100_000).fit(X, y) for tol in (1e-3, 1e-14))
    assert not np.allclose(early.coef_, late.coef_, rtol=1e-4)
    found, expected = (seepage.measure(model, X, y, noise_scale=0.1) for model in (early, late))
    np.testing.assert_allclose(found.information.geometry.parameters[:-1, 0], late.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.examples["eta"], expected.examples["eta"], rtol=1e-8)


def test_a_support_that_the_solver_had_not_decided_is_said():
    model = Lasso(alpha=0.2, tol=1e-14).fit(X, REAL)
    (gone,) = np.flatnonzero(model.coef_ == 0)[:1]
    exact = seepage.measure(model, X, REAL, noise_scale=NOISE)
    assert not any("solver stopped" in each for each in exact.assumptions)
    model.coef_[gone] = 1e-4
    leak = seepage.measure(model, X, REAL, noise_scale=NOISE)
    assert any("1 coefficients are zero that are not in the model" in each for each in leak.assumptions)
    np.testing.assert_allclose(leak.examples["eta"], exact.examples["eta"])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("path", [True, False])
def test_least_angles_come_to_the_same_model(intercept, path):
    model = LassoLars(alpha=0.2, fit_intercept=intercept, fit_path=path).fit(X, REAL)
    leak = seepage.measure(model, X, REAL, noise_scale=NOISE)
    case = Case(Lasso(alpha=0.2, fit_intercept=intercept, tol=1e-14), "squared")
    theta = case.theta()
    assert (theta[: X.shape[1]] == 0).any()
    np.testing.assert_allclose(np.ravel(model.coef_), theta[: X.shape[1]], atol=1e-10)
    np.testing.assert_allclose(leak.information.geometry.parameters[:, 0], theta, atol=1e-10)
    expected = case.measured()
    np.testing.assert_allclose(leak.examples, expected.examples, rtol=1e-9)
    np.testing.assert_allclose(leak.attributes, expected.attributes, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:Early stopping the lars path:sklearn.exceptions.ConvergenceWarning")
def test_least_angles_that_went_elsewhere_are_refused():
    def measured(model):
        return seepage.measure(model.fit(X, REAL), X, REAL, noise_scale=NOISE)

    with pytest.raises(seepage.errors.MinimizerError, match=r"its path ended at alpha=.*larger max_iter"):
        measured(LassoLars(alpha=0.01, max_iter=2))
    with pytest.raises(seepage.errors.MinimizerError, match="jitter=None"):
        measured(LassoLars(alpha=0.2, jitter=1.0, random_state=0))
    with pytest.raises(seepage.errors.UnsupportedError, match="positive=False"):
        measured(LassoLars(alpha=0.2, positive=True))
    with pytest.raises(seepage.errors.UnsupportedError, match=r"at a kink.*Nearest: LassoLarsCV"):
        measured(LassoLarsIC())


@pytest.mark.parametrize("model", [Lasso(alpha=0.2), LogisticRegression(C=0.1, l1_ratio=0.5, solver="saga", **FOUR)])
def test_fit_finds_the_minimizer_and_its_zeros_from_nothing(model):
    y = REAL if isinstance(model, Lasso) else TWO
    case = Case(model, "squared" if isinstance(model, Lasso) else "logistic")
    found = seepage.engines.fit(model, X, y)
    np.testing.assert_allclose(np.ravel(found.coef_), case.theta()[:-1], atol=1e-10)
    assert (np.ravel(found.coef_) == 0).any()


def test_more_columns_than_people():
    random = np.random.default_rng(5)
    wide = random.normal(size=(20, 45))
    y = wide[:, 0] - wide[:, 3] + 0.1 * random.normal(size=20)
    leak = seepage.measure(Lasso(alpha=0.1).fit(wide, y), wide, y, noise_scale=NOISE)
    absolute = 0.1 * 20 * np.r_[np.ones(45), 0]
    design = np.column_stack([wide, np.ones(20)])
    theta = minimizer(design, y, np.ones(20), absolute, np.zeros(46), "squared")
    np.testing.assert_allclose(leak.information.geometry.parameters[:, 0], theta, atol=1e-10)
    support = np.flatnonzero((theta != 0) | (absolute == 0))
    inverse = np.linalg.inv(design[:, support].T @ design[:, support])
    by_label = np.linalg.norm(design[:, support] @ inverse, axis=1) / NOISE
    np.testing.assert_allclose(leak.attributes.iloc[:, -1], by_label, rtol=1e-8)
