"""What a table prints moves with people as refits say: each with a little more weight, or another value."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage

N = 60
PEOPLE = (0, 7, 33)


def _rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) * [1, 3, 0.5] + [0, 2, 5]
    margin = X @ [0.5, -0.2, 0.3]
    return {
        "squares": (X, margin + rng.normal(size=N)),
        "logistic": (X, (rng.random(N) < expit(margin)).astype(float)),
        "poisson": (X, rng.poisson(np.exp(margin / 2)).astype(float)),
        "gamma": (X, rng.gamma(2, np.exp(margin / 2) / 2)),
    }


def _slope_and_curvature(kind, m, y):
    if kind == "squares":
        return m - y, np.ones_like(m)
    if kind == "logistic":
        return expit(m) - y, expit(m) * expit(-m)
    if kind == "poisson":
        return np.exp(m) - y, np.exp(m)
    return 1 - y * np.exp(-m), y * np.exp(-m)


def _table(kind, X, y, weights, *, penalty=0.0, scaled=False):
    """Return coefficients in raw units, standard errors without a penalty, dispersion, and the number of cases."""
    center, scale = np.zeros(3), np.ones(3)
    if scaled:
        center = np.average(X, axis=0, weights=weights)
        scale = np.sqrt(np.average((X - center) ** 2, axis=0, weights=weights))
    Z = np.column_stack([(X - center) / scale, np.ones(len(X))])
    pull = np.array([penalty] * 3 + [0.0])
    theta = np.zeros(4)
    theta[-1] = np.log(y.mean()) if kind in ("poisson", "gamma") else 0.0
    for _ in range(60):
        slope, curvature = _slope_and_curvature(kind, Z @ theta, y)
        hessian = (Z * (weights * curvature)[:, None]).T @ Z + np.diag(pull)
        theta = theta - np.linalg.solve(hessian, Z.T @ (weights * slope) + pull * theta)
    raw = np.eye(4)
    raw[range(3), range(3)] = 1 / scale
    raw[-1, :3] = -center / scale
    m, phi = Z @ theta, 1.0
    if kind == "squares":
        phi = (weights * (y - m) ** 2).sum() / (len(y) - 4)
    if kind == "gamma":
        phi = (weights * (y * np.exp(-m) - 1) ** 2).sum() / (len(y) - 4)
    found = [raw @ theta]
    if not penalty:
        found.append(np.sqrt(phi * np.diag(raw @ np.linalg.inv(hessian) @ raw.T)))
    if kind in ("squares", "gamma"):
        found.append([phi])
    if kind == "logistic":
        found.append([(weights * y).sum()])
    return np.concatenate(found)


EXACT = {"tol": 1e-12, "max_iter": 10_000}
CASES = {
    "squares": ("squares", LinearRegression(), {}),
    "logistic": ("logistic", LogisticRegression(C=np.inf, **EXACT), {}),
    "poisson": ("poisson", PoissonRegressor(alpha=0, **EXACT), {}),
    "gamma": ("gamma", GammaRegressor(alpha=0, **EXACT), {}),
    "squares behind a scaler": ("squares", make_pipeline(StandardScaler(), LinearRegression()), {"scaled": True}),
    "ridge": ("squares", Ridge(alpha=5.0), {"penalty": 5.0}),
    "ridge behind a scaler": (
        "squares",
        make_pipeline(StandardScaler(), Ridge(alpha=5.0)),
        {"penalty": 5.0, "scaled": True},
    ),
    "logistic ridge behind a scaler": (
        "logistic",
        make_pipeline(StandardScaler(), LogisticRegression(C=0.5, **EXACT)),
        {"penalty": 2.0, "scaled": True},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_table_moves_with_people_as_refits_say(name):
    kind, model, how = CASES[name]
    X, y = _rows()[kind]
    labels = y.astype(int) if kind == "logistic" else y
    printed = seepage.measure(model.fit(X, labels), X, labels).information.printed
    weights = np.ones(N)
    values = _table(kind, X, y, weights, **how)
    np.testing.assert_allclose(printed.values, values, rtol=1e-8)
    centered = printed.moves.values - printed.moves.values.mean(axis=0)
    every = np.empty_like(centered)
    for person in range(N):
        more, less = weights.copy(), weights.copy()
        more[person], less[person] = 1 + 1e-5, 1 - 1e-5
        every[person] = (_table(kind, X, y, more, **how) - _table(kind, X, y, less, **how)) / 2e-5
    np.testing.assert_allclose(centered, every - every.mean(axis=0), atol=2e-6 * np.abs(every).max(axis=0).max())
    found = printed.jacobian(np.array(PEOPLE)).formed()
    for k, person in enumerate(PEOPLE):
        for value in range(4):
            ends = []
            for step in (1e-5, -1e-5):
                rows, other = X.copy(), y.copy()
                if value < 3:
                    rows[person, value] += step
                else:
                    other[person] += step
                ends.append(_table(kind, rows, other, weights, **how))
            expected = (ends[0] - ends[1]) / 2e-5
            np.testing.assert_allclose(found[k][:, value], expected, atol=3e-6 * np.abs(expected).max())


def test_changing_a_label_moves_the_table_as_its_own_terms_say():
    X, y = _rows()["logistic"]
    model = LogisticRegression(C=np.inf, **EXACT).fit(X, y.astype(int))
    printed = seepage.measure(model, X, y.astype(int)).information.printed
    other = 1 - y[PEOPLE[0]]
    moved = printed.changed(np.array([PEOPLE[0]]), "label", int(other))[0]
    changed = y.copy()
    changed[PEOPLE[0]] = other
    refitted = _table("logistic", X, changed, np.ones(N)) - _table("logistic", X, y, np.ones(N))
    # To first order in one person among sixty.
    assert np.abs(moved - refitted).max() < 0.25 * np.abs(refitted).max()
    assert moved[-1] == pytest.approx(other - y[PEOPLE[0]])
