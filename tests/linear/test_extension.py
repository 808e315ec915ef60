"""An estimator of one's own is one reader and one line."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge

import seepage
from seepage.linear import Logistic, Loss, Objective, reader

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
Y = X @ [1.0, -0.5, 0.3] + 0.4 + RANDOM.normal(size=60)
NOISE = 0.2


class PseudoHuber(Loss):
    """sqrt(1 + (m - y)^2) - 1."""

    def loss(self, m, y):
        return np.sqrt(1 + (m - y) ** 2) - 1

    def slope(self, m, y):
        return (m - y) / np.sqrt(1 + (m - y) ** 2)

    def curvature(self, m, y):
        return (1 + (m - y) ** 2) ** -1.5

    def label_slope(self, m, y):
        return -((1 + (m - y) ** 2) ** -1.5)

    def third(self, m, y):
        return -3 * (m - y) * (1 + (m - y) ** 2) ** -2.5

    def label_third(self, m, y):
        return 3 * (m - y) * (1 + (m - y) ** 2) ** -2.5


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
