"""An estimator of one's own is one reader and one line, and so is a step, or a number beside the coefficients."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage.linear import Claim, Features, Logistic, Loss, Objective, reader, through

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
Y = X @ [1.0, -0.5, 0.3] + 0.4 + RANDOM.normal(size=60)
NOISE = 0.2


class PseudoHuber(Loss):
    """sqrt(1 + (m - y)^2) - 1."""

    def formula(self, m, y):
        return np.sqrt(1 + (m - y) ** 2) - 1


class Robust(RegressorMixin, BaseEstimator):
    """Minimizes the mean of a loss that library and scikit-learn do not have, with half of squared coefficients."""

    fit_intercept = True

    def __init__(self, strength=0.1):
        self.strength = strength

    def fit(self, X, y):
        rows = np.column_stack([np.asarray(X), np.ones(len(X))])

        def objective(theta):
            gap = rows @ theta - y
            root = np.sqrt(1 + gap**2)
            value = (root - 1).mean() + self.strength / 2 * (theta[:-1] ** 2).sum()
            return value, rows.T @ (gap / root) / len(rows) + self.strength * np.append(theta[:-1], 0.0)

        theta = minimize(objective, np.zeros(rows.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-10}).x
        for _ in range(3):
            gap = rows @ theta - y
            hessian = rows.T @ (rows * (1 + gap**2)[:, None] ** -1.5) / len(rows)
            hessian += np.diag([self.strength] * (len(theta) - 1) + [0.0])
            theta = theta - np.linalg.solve(hessian, objective(theta)[1])
        self.coef_, self.intercept_ = theta[:-1], float(theta[-1])
        return self

    @property
    def published(self):
        return np.append(self.coef_, self.intercept_)


@reader.register
def _(model: Robust, total_weight: float, count: int, outputs: int) -> Objective:
    return Objective(PseudoHuber(), penalty=model.strength * total_weight, gradient_promise=1e-8)


def test_an_estimator_of_ones_own_is_measured_as_refits_say():
    leak = seepage.measure(Robust().fit(X, Y), X, Y, noise_scale=NOISE)
    step = 1e-5
    for row in (0, 7, 31):
        moves = []
        for column in range(4):
            ends = []
            for sign in (1, -1):
                rows, labels = X.copy(), Y.copy()
                if column < 3:
                    rows[row, column] += sign * step
                else:
                    labels[row] += sign * step
                ends.append(Robust().fit(rows, labels).published)
            moves.append((ends[0] - ends[1]) / (2 * step) / NOISE)
        jacobian = np.array(moves).T
        assert leak.examples["eta"][row] == pytest.approx(np.linalg.norm(jacobian, 2), rel=1e-5)
        np.testing.assert_allclose(leak.attributes.loc[row], np.linalg.norm(jacobian, axis=0), rtol=1e-5)


def test_exact_refits_of_an_estimator_of_ones_own():
    leak = seepage.measure(Robust().fit(X, Y), X, Y, noise_scale=NOISE)
    found = leak.success_rate("x1", values=[0.0, 2.0])
    assert found.empty
    distances = leak.information.distances("x1", [2.0]).distance[:, 0]
    before = Robust().fit(X, Y).published
    for row in (3, 12):
        rows = X.copy()
        rows[row, 1] = 2.0
        moved = np.linalg.norm(Robust().fit(rows, Y).published - before) / NOISE
        assert distances[row] == pytest.approx(moved, rel=1e-6)


def test_a_reader_that_is_wrong_is_found_out():
    class Wrong(Robust):
        pass

    @reader.register
    def _(model: Wrong, total_weight: float, count: int, outputs: int) -> Objective:
        return Objective(PseudoHuber(), penalty=model.strength)

    with pytest.raises(seepage.errors.MinimizerError, match="not the minimizer"):
        seepage.measure(Wrong().fit(X, Y), X, Y, noise_scale=NOISE)


def test_a_subclass_inherits_no_reader():
    class Other(Robust):
        pass

    class SofterRidge(Ridge):
        pass

    for model in (Other(), SofterRidge()):
        with pytest.raises(
            seepage.errors.UnsupportedError, match=rf"{type(model).__name__} cannot be measured.*Robust"
        ):
            seepage.measure(model.fit(X, Y), X, Y, noise_scale=NOISE)


def test_a_classifier_of_ones_own():
    class Wrapped(ClassifierMixin, BaseEstimator):
        fit_intercept = True

        def fit(self, X, y):
            found = LogisticRegression(C=0.5, tol=1e-10).fit(X, y)
            self.coef_, self.intercept_, self.classes_ = found.coef_, found.intercept_, found.classes_
            return self

    @reader.register
    def _(model: Wrapped, total_weight: float, count: int, outputs: int) -> Objective:
        return Objective(Logistic(), penalty=2.0)

    labels = np.where(Y > 0, "yes", "no")
    ours = seepage.measure(Wrapped().fit(X, labels), X, labels, noise_scale=NOISE)
    theirs = seepage.measure(LogisticRegression(C=0.5, tol=1e-10).fit(X, labels), X, labels, noise_scale=NOISE)
    np.testing.assert_allclose(ours.examples, theirs.examples, rtol=1e-8)
    assert ours.information.categorical == {"label"}


class Normal(RegressorMixin, BaseEstimator):
    """Least squares, the logarithm of the deviation that is left, and half the mean square of the labels."""

    fit_intercept = True

    def fit(self, X, y):
        rows = np.column_stack([X, np.ones(len(X))])
        theta = np.linalg.lstsq(rows, y, rcond=None)[0]
        self.coef_, self.intercept_ = theta[:-1], float(theta[-1])
        self.log_deviation_, self.energy_ = 0.5 * np.log(((y - rows @ theta) ** 2).mean()), (y**2).mean() / 2
        return self

    @property
    def published(self):
        return np.array([*self.coef_, self.intercept_, self.log_deviation_, self.energy_])


class NormalLoss(Loss):
    """(y - m)^2 / 2 e^(-2s) + s + (t - y^2 / 2)^2 / 2, with s and t as further margins."""

    margins = 3

    def formula(self, m, s, t, y):
        return 0.5 * (m - y) ** 2 * np.exp(-2 * s) + s + 0.5 * (t - y**2 / 2) ** 2


@reader.register
def _(model: Normal, total_weight: float, count: int, outputs: int) -> Objective:
    return Objective(NormalLoss(), penalty=0.0, beside={"log deviation": model.log_deviation_, "energy": model.energy_})


@pytest.mark.parametrize("beside", [["log deviation", "energy"], ["log deviation"], ["energy"], []])
def test_numbers_beside_the_coefficients_are_measured_as_refits_say(beside):
    leak = seepage.measure(Normal().fit(X, Y), X, Y, noise_scale=NOISE, published=["coefficients", *beside])
    shown = np.array([True] * 4 + [name in beside for name in ("log deviation", "energy")])
    step, row, whole = 1e-5, 7, np.column_stack([X, Y])
    moves = []
    for column in range(4):
        ends = []
        for sign in (1, -1):
            rows = whole.copy()
            rows[row, column] += sign * step
            ends.append(Normal().fit(rows[:, :3], rows[:, 3]).published[shown])
        moves.append((ends[0] - ends[1]) / (2 * step) / NOISE)
    assert leak.examples["eta"][row] == pytest.approx(np.linalg.norm(moves, 2), rel=1e-6)
    np.testing.assert_allclose(leak.attributes.loc[row], np.linalg.norm(moves, axis=1), rtol=1e-6)
    # What stays, and what carries noise, is called by its own name.
    staying = [name for name in ("log deviation", "energy") if name not in beside]
    said = [each for each in leak.assumptions if "not published" in each]
    assert said == [f"Fitted together with the coefficients, and not published: {', '.join(staying)}."] * bool(staying)
    cost = leak.information.cost()
    assert cost.names[4:] == tuple(beside)
    np.testing.assert_allclose(cost.parameters, Normal().fit(X, Y).published[shown], rtol=1e-8)


def test_a_number_beside_the_coefficients_needs_a_constant():
    model = Normal().fit(X, Y)
    model.fit_intercept = False
    with pytest.raises(seepage.errors.UnsupportedError, match="fits log deviation, energy with its coefficients"):
        seepage.measure(model, X, Y, noise_scale=NOISE)


def test_what_is_beside_the_coefficients_is_not_in_a_published_model():
    found = seepage.publish(
        Normal().fit(X, Y), X, Y, noise_scale=NOISE, accept=None, noise_chosen_without_data=True
    ).estimator
    assert not hasattr(found, "log_deviation_")
    assert not hasattr(found, "energy_")


class Deviations(TransformerMixin, BaseEstimator):
    """Divides by standard deviations, of the rows or of others."""

    def fit(self, X, y=None):
        self.scale_ = np.asarray(X).std(axis=0)
        return self

    def transform(self, X):
        return np.asarray(X) / self.scale_


@through.register
def _(step: Deviations, incoming: Features, path: str) -> Features:
    return incoming.scaled(1 / step.scale_).claimed(Claim(path, scales=True))


def test_a_scaler_that_claims_to_be_of_these_rows_is_part_of_the_fit():
    own, known = (make_pipeline(step, Ridge(2.0)).fit(X, Y) for step in (Deviations(), StandardScaler(with_mean=False)))
    ours, theirs = (seepage.measure(model, X, Y, noise_scale=NOISE) for model in (own, known))
    np.testing.assert_allclose(ours.examples, theirs.examples, rtol=1e-10)
    assert any("Learned from these rows, and not published: what deviations" in each for each in ours.assumptions)


def test_a_claim_that_the_rows_do_not_bear_out_is_not_believed():
    step = Deviations().fit(RANDOM.normal(size=(30, 3)) * 2)
    model = make_pipeline(step, Ridge(2.0))
    model[-1].fit(step.transform(X), Y)
    leak = seepage.measure(model, X, Y, noise_scale=NOISE)
    assert any("Taken as public" in each and "deviations" in each for each in leak.assumptions)
