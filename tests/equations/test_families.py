"""Every family of models that is measured exactly, written down as equations, has the same numbers."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import special, stats
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

import seepage
from seepage.models import GLM, Equations

RANDOM = np.random.default_rng(3)
N = 240
FRAME = pd.DataFrame(
    {"age": RANDOM.normal(60.0, 9.0, N), "dose": RANDOM.gamma(3.0, 1.0, N), "treated": RANDOM.integers(0, 2, N)}
)
COLUMNS = [*FRAME.columns]
MARGIN = 0.03 * (FRAME["age"] - 60.0) - 0.3 * FRAME["dose"] + 0.5 * FRAME["treated"]
LABELS = {
    "number": 3.0 * MARGIN + RANDOM.normal(size=N),
    "binary": (RANDOM.random(N) < special.expit(MARGIN)).astype(int),
    "count": RANDOM.poisson(np.exp(MARGIN) * RANDOM.gamma(2.0, 0.5, N)),
    "positive": RANDOM.gamma(4.0, 0.25, N) * np.exp(MARGIN),
}


def _design(frame):
    return np.column_stack([*(frame[name] for name in COLUMNS), np.ones(len(frame))])


def _regression(residual, penalty=0.0):
    """Return the equations of a model whose derivative by its margin is a function of outcome and margin."""

    def psi(theta, frame):
        x = _design(frame)
        pull = np.append(theta[:-1], 0.0) * penalty / N
        return (x * residual(frame["y"].to_numpy(), x @ theta)[:, None] - pull).T

    return psi


def _negative_binomial(theta, frame):
    x, y, alpha = _design(frame), frame["y"].to_numpy(), theta[-1]
    mu, r = np.exp(x @ theta[:-1]), 1 / alpha
    by_margin = (y - mu) / (1 + alpha * mu)
    by_r = special.digamma(y + r) - special.digamma(r) + np.log(r / (r + mu)) + (mu - y) / (r + mu)
    return np.vstack([x.T * by_margin, -by_r / alpha**2])


def _probit(y, m):
    return stats.norm.pdf(m) * (y - special.ndtr(m)) / (special.ndtr(m) * special.ndtr(-m))


FAMILIES = {
    "squared": (LinearRegression(), "number", _regression(lambda y, m: y - m), 1e-9),
    "ridge": (Ridge(alpha=20.0), "number", _regression(lambda y, m: y - m, 20.0), 1e-9),
    "logistic": (
        LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000),
        "binary",
        _regression(lambda y, m: y - 1 / (1 + np.exp(-m)), 2.0),
        1e-9,
    ),
    "poisson": (GLM("poisson"), "count", _regression(lambda y, m: y - np.exp(m)), 1e-9),
    "gamma": (GLM("gamma", link="log"), "positive", _regression(lambda y, m: y * np.exp(-m) - 1), 1e-9),
    "inverse gaussian": (
        GLM("inverse gaussian", link="log"),
        "positive",
        _regression(lambda y, m: (y * np.exp(-m) - 1) * np.exp(-m)),
        1e-9,
    ),
    "tweedie": (
        GLM("tweedie", link="log", parameter=1.5),
        "positive",
        _regression(lambda y, m: (y - np.exp(m)) * np.exp(-0.5 * m)),
        1e-9,
    ),
    "probit": (GLM("binomial", link="probit"), "binary", _regression(_probit), 1e-6),
    "cloglog": (
        GLM("binomial", link="cloglog"),
        "binary",
        _regression(lambda y, m: np.exp(m) * (y / -np.expm1(-np.exp(m)) - 1)),
        1e-9,
    ),
    "negative binomial, alpha fitted": (GLM("negative binomial", parameter=None), "count", _negative_binomial, 1e-9),
}


def _both(name, **asked):
    model, label, psi, _ = FAMILIES[name]
    frame = FRAME.assign(y=LABELS[label])
    model = model.fit(frame[COLUMNS], frame["y"])
    theta = np.append(np.ravel(model.coef_), model.intercept_)
    if hasattr(model, "parameter_"):
        theta = np.append(theta, model.parameter_)
    equations = Equations(psi, theta)
    return seepage.measure(model, frame[COLUMNS], frame["y"], **asked), seepage.measure(equations, frame, **asked)


def _same(one, other, tolerance):
    label = [name for name in one.attributes.columns if name not in COLUMNS]
    assert label == ["y"]
    for name in one.attributes.columns:
        np.testing.assert_allclose(other.attributes[name], one.attributes[name], rtol=tolerance, err_msg=name)
        assert other.joint_information_loss(attribute=name) == pytest.approx(
            one.joint_information_loss(attribute=name), rel=tolerance
        )
    np.testing.assert_allclose(other.examples["eta"], one.examples["eta"], rtol=tolerance)
    np.testing.assert_allclose(other.examples["dfil"], one.examples["dfil"], rtol=tolerance)
    assert other.joint_information_loss() == pytest.approx(one.joint_information_loss(), rel=tolerance)


@pytest.mark.parametrize("name", FAMILIES)
def test_families_with_noise(name):
    _same(*_both(name, noise_scale=0.1), FAMILIES[name][3])


def _without_complex(psi):
    def real(theta, frame):
        if any(np.iscomplexobj(each) for each in (theta, *(frame[name] for name in frame.columns))):
            raise TypeError("complex numbers are not understood")
        return psi(theta, frame)

    return real


@pytest.mark.parametrize("name", ["squared", "logistic", "inverse gaussian"])
def test_differences_where_psi_takes_no_complex_numbers(name, monkeypatch):
    model, label, psi, _ = FAMILIES[name]
    monkeypatch.setitem(FAMILIES, name, (model, label, _without_complex(psi), 1e-6))
    _same(*_both(name, noise_scale=0.1), 1e-6)


def test_tensors_are_differentiated_automatically():
    model, label, _, _ = FAMILIES["logistic"]
    frame = FRAME.assign(y=LABELS[label])
    model = model.fit(frame[COLUMNS], frame["y"])

    def psi(theta, rows):
        x = torch.cat([rows[:, :3], torch.ones(len(rows), 1, dtype=torch.float64)], dim=1)
        pull = torch.cat([theta[:-1], torch.zeros(1, dtype=torch.float64)]) * 2.0 / N
        return (x * (rows[:, 3] - torch.sigmoid(x @ theta))[:, None] - pull).T

    theta = np.append(np.ravel(model.coef_), model.intercept_)
    rows = torch.tensor(frame.to_numpy(dtype=float))
    one = seepage.measure(model, frame[COLUMNS], frame["y"], noise_scale=0.1)
    other = seepage.measure(Equations(psi, theta), rows, noise_scale=0.1)
    for i, name in enumerate([*COLUMNS, "y"]):
        np.testing.assert_allclose(other.attributes[f"x{i}"], one.attributes[name], rtol=1e-9)
    assert other.joint_information_loss() == pytest.approx(one.joint_information_loss(), rel=1e-9)


@pytest.mark.parametrize("library", ["polars", "pyarrow", "array"])
def test_frames_of_any_library(library):
    model, label, psi, _ = FAMILIES["squared"]
    frame = FRAME.assign(y=LABELS[label])
    theta = np.append(*(lambda fitted: (fitted.coef_, fitted.intercept_))(model.fit(frame[COLUMNS], frame["y"])))
    one = seepage.measure(Equations(psi, theta), frame, noise_scale=0.1)

    def of_columns(theta, rows):
        columns = rows.T if library == "array" else [np.asarray(rows[name]) for name in [*COLUMNS, "y"]]
        return psi(theta, pd.DataFrame(dict(zip([*COLUMNS, "y"], columns, strict=True))))

    if library == "polars":
        import polars

        rows = polars.DataFrame({name: frame[name].to_numpy() for name in frame})
    elif library == "pyarrow":
        import pyarrow

        rows = pyarrow.Table.from_pandas(frame)
    else:
        rows = frame.to_numpy(dtype=float)
    other = seepage.measure(Equations(of_columns, theta), rows, noise_scale=0.1)
    np.testing.assert_allclose(np.asarray(other.examples["eta"]), one.examples["eta"], rtol=1e-6)
