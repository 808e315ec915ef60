"""The noise that `calibrate` returns by default keeps its promise on real data, measured again from its definition."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import sqrtm
from shaping import Procedure
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge

import seepage
from seepage.datasets import complete_adult, load_adult, load_iwpc
from seepage.release import Balanced


def _standard(frame):
    return (frame - frame.mean().round(1)) / frame.std().map(lambda each: float(f"{each:.1g}"))


def _diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return "squared", 1.0, Ridge(alpha=1.0), X.astype(float), y.to_numpy(), {"age": 5.0, "bmi": 2.0, "bp": 10.0}


def _breast_cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = _standard(X.iloc[:, :10])
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000)
    return "logistic", 1.0, model, X, y.to_numpy().astype(float), {"mean radius": 0.5, "mean texture": 0.5}


def _iwpc():
    found = load_iwpc()
    numbers = found.data.select_dtypes("number").columns
    X = pd.get_dummies(found.data, drop_first=True, dtype=float)
    X[numbers] = _standard(X[numbers].astype(float))
    X = X.loc[:, X.nunique() > 1]
    return "squared", 10.0, Ridge(alpha=10.0), X, np.asarray(found.target, dtype=float), dict.fromkeys(numbers[:2], 1.0)


def _adult():
    found = load_adult()
    frame, y = complete_adult(found.data, found.target)
    numbers = ["age", "hours-per-week", "education-num"]
    X = pd.get_dummies(frame[[*numbers, "sex", "race", "workclass"]], drop_first=True, dtype=float)
    X[numbers] = _standard(X[numbers].astype(float))
    model = LogisticRegression(C=0.1, tol=1e-10, max_iter=10_000)
    return "logistic", 10.0, model, X, (np.asarray(y) == np.unique(y)[-1]).astype(float), {"age": 1.0}


def _sign(noise, columns):
    """Return the rule of a noise as the procedure takes it, and its scale."""
    if noise.shape is None:
        return "white", noise.scale
    if not isinstance(noise.shape, Balanced):
        return {}, noise.shape.scale
    floors = {columns.index(name): floor for name, floor in noise.shape.floors.items()}
    return {"floors": floors, "share": noise.shape.share, "balance": noise.shape.balance}, noise.shape.scale


def _information(procedure, rule, X, y, row, column, scale, step):
    def at(h):
        moved = X.copy()
        moved[row, column] += h
        theta, covariance = procedure.release(moved, y)
        return theta, scale**2 * (np.eye(len(theta)) if rule == "white" else covariance)

    (_, sigma), *near = (at(h) for h in (0.0, step, -step, 2 * step, -2 * step))
    theta, covariance = ((8 * (near[0][i] - near[1][i]) - (near[2][i] - near[3][i])) / (12 * step) for i in (0, 1))
    whole = np.linalg.solve(sigma, covariance)
    return theta @ np.linalg.solve(sigma, theta) + 0.5 * np.trace(whole @ whole)


@pytest.mark.parametrize("setting", [_diabetes, _breast_cancer, _iwpc, _adult])
def test_the_promise_holds_when_it_is_measured_again(setting, capsys):
    loss, penalty, model, X, y, floors = setting()
    model.fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=1.0)
    noise = seepage.calibrate(leak, error_floor=floors)
    white = seepage.calibrate(leak, error_floor=floors, shape="isotropic")
    kept = seepage.measure(model, X, y, noise_scale=noise)
    columns, rows = X.columns.tolist(), X.to_numpy()
    rule, scale = _sign(noise, columns)
    procedure = Procedure(loss, penalty, shape={} if rule == "white" else rule)
    reached = {}
    for name, floor in floors.items():
        column = columns.index(name)
        for row in np.argsort(-kept.attributes[name].to_numpy())[:3]:
            step = 1e-3 * X[name].std()
            found = _information(procedure, rule, rows, y, row, column, scale, step)
            reached[name] = max(reached.get(name, 0.0), np.sqrt(found) * floor)
            stated = kept.attributes[name].iloc[row]
            assert np.sqrt(found) <= stated * (1 + 1e-5)
            if len(columns) < 40:
                assert np.sqrt(found) == pytest.approx(stated, rel=1e-5)
    assert max(reached.values()) <= 1.0
    own, other = kept.information.excess_loss(), leak.information.with_noise(white).excess_loss()
    assert own <= other * (1 + 1e-12)
    with capsys.disabled():
        told = ", ".join(f"{name} {each:.2f}" for name, each in reached.items())
        print(f"\n{setting.__name__[1:]}: {noise}, promise reached by {told}; costs {own:.3g}, one scale {other:.3g}")


def _cox(X, time, died):
    """Return Breslow's partial likelihood maximized, without a penalty."""
    beta = np.zeros(X.shape[1])
    for _ in range(60):
        gradient, hessian = np.zeros_like(beta), np.zeros((len(beta), len(beta)))
        risk = np.exp(X @ beta)
        for i in np.flatnonzero(died):
            at = time >= time[i]
            weight = risk[at] / risk[at].sum()
            mean = weight @ X[at]
            gradient += mean - X[i]
            hessian += (X[at].T * weight) @ X[at] - np.outer(mean, mean)
        step = np.linalg.solve(hessian, gradient)
        beta = beta - step
        if np.abs(step).max() < 1e-13:
            break
    return beta


def test_the_promise_of_a_cox_model_holds():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.normal(60, 10, 200), "dose": random.gamma(2.0, 2.0, 200)})
    time = random.exponential(np.exp(-0.03 * (X["age"] - 60) - 0.1 * X["dose"])) * 100
    people = X.assign(time=time.round(6), died=(random.uniform(size=200) < 0.7).astype(int))
    model = seepage.models.ModelTable(formula="Surv(time, died) ~ age + dose", family="cox")
    leak = seepage.measure(model, people, noise_scale=1.0)
    noise = seepage.calibrate(leak, error_floor={"age": 3.0})
    kept = seepage.measure(model, people, noise_scale=noise)
    rows, died = X.to_numpy(), people["died"].to_numpy() == 1
    assert noise.scale is not None
    for row in np.argsort(-kept.attributes["age"].to_numpy())[:3]:
        moves = []
        for h in (1e-3, -1e-3):
            moved = rows.copy()
            moved[row, 0] += h
            moves.append(_cox(moved, people["time"].to_numpy(), died))
        slope = (moves[0] - moves[1]) / 2e-3 / noise.scale
        assert np.linalg.norm(slope) == pytest.approx(kept.attributes["age"].iloc[row], rel=1e-5)
        assert np.linalg.norm(slope) * 3.0 <= 1.0


def test_the_procedure_itself_has_the_geometric_mean():
    """The shape's own definition, once more by matrix roots."""
    procedure = Procedure("squared", 1.0, shape={"floors": {0: 1.0}, "share": 1.0, "balance": 0.5})
    random = np.random.default_rng(1)
    root = random.normal(size=(3, 3))
    hessian = root @ root.T + np.eye(3)
    found = procedure.covariance(hessian)
    inverse = np.linalg.inv(hessian)
    C = np.zeros((3, 3))
    C[0, 0] = inverse[0, 0] ** 0.5
    B = C + np.trace(inverse @ C) / 3 * hessian
    mean = hessian @ np.real(sqrtm(inverse @ B))
    np.testing.assert_allclose(found, inverse @ mean @ inverse, rtol=1e-9)
