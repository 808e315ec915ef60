"""Preprocessing that was fitted on the same rows is part of the fit: against the whole procedure's complex step."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from tests.procedure import Procedure

ROWS, COLUMNS = 30, 4


def _rows(random, *, lacking=False, columns=COLUMNS):
    X = random.normal(size=(ROWS, columns)) * random.uniform(0.5, 3.0, columns) + random.normal(size=columns)
    if lacking:
        X[:7, 1] = np.nan
        X[5:9, 2] = np.nan
    return X


def _one_hot(y):
    return np.eye(int(y.max()) + 1)[y.astype(int)]


def _setting(random, name):
    """Return an unfitted estimator, labels, and the same as the procedure knows them."""
    score = random.normal(size=ROWS)
    if name == "ridge":
        y, alpha = score * 2 + 1, random.uniform(0.1, 5.0)
        return Ridge(alpha=alpha), y, y[:, None], {"loss": "squared", "penalty": alpha}
    if name == "two outputs":
        y = random.normal(size=(ROWS, 2))
        return Ridge(alpha=2.0), y, y, {"loss": "squared", "penalty": 2.0}
    if name == "logistic":
        y = (score > 0).astype(int)
        return (
            LogisticRegression(C=0.5, tol=1e-10, max_iter=2000),
            y,
            y[:, None] * 1.0,
            {"loss": "logistic", "penalty": 2.0},
        )
    if name == "liblinear":
        y = (score > 0).astype(int)
        model = LogisticRegression(C=0.5, tol=1e-10, solver="liblinear", max_iter=10_000)
        return model, y, y[:, None] * 1.0, {"loss": "logistic", "penalty": 2.0, "intercept_penalty": 2.0}
    if name == "softmax":
        y = random.integers(0, 3, ROWS)
        return LogisticRegression(C=0.5, tol=1e-10, max_iter=2000), y, _one_hot(y), {"loss": "softmax", "penalty": 2.0}
    if name == "poisson":
        y = random.poisson(2.0, ROWS) + 0.0
        model = PoissonRegressor(alpha=0.1, tol=1e-10, solver="newton-cholesky", max_iter=1000)
        return model, y, y[:, None], {"loss": "poisson", "penalty": 0.1 * ROWS}
    y = random.gamma(2.0, 1.0, ROWS) + 0.1
    model = GammaRegressor(alpha=0.1, tol=1e-10, solver="newton-cholesky", max_iter=1000)
    return model, y, y[:, None], {"loss": "gamma", "penalty": 0.1 * ROWS}


SETTINGS = ["ridge", "two outputs", "logistic", "liblinear", "softmax", "poisson", "gamma"]


def _agree(leak, procedure, people=(0, 6, 8, 20), *, label=True):
    examples = leak.information.examples()
    attributes = leak.information.attributes()
    for person in people:
        expected = procedure.information(person, label=label)
        values = np.linalg.eigvalsh(expected)
        assert examples["eta"][person] == pytest.approx(np.sqrt(values[-1]), rel=1e-8)
        assert examples["dfil"][person] == pytest.approx(np.sqrt(values.sum() / len(values)), rel=1e-8)
        known = [c for c in range(procedure.rows.shape[1]) if not np.isnan(procedure.rows[person, c])]
        for i, column in enumerate(known):
            eta = list(attributes.values())[column][person]
            assert eta == pytest.approx(np.sqrt(expected[i, i]), rel=1e-8)
        if label:
            top = np.linalg.eigvalsh(expected[len(known) :, len(known) :])[-1]
            assert list(attributes.values())[-1][person] == pytest.approx(np.sqrt(top), rel=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lacking", [False, True], ids=["complete", "imputed"])
@pytest.mark.parametrize("name", SETTINGS)
def test_information_is_that_of_the_whole_procedure(name, lacking, seed):
    random = np.random.default_rng([seed, lacking, SETTINGS.index(name)])
    X = _rows(random, lacking=lacking)
    estimator, y, labels, known = _setting(random, name)
    with_mean, with_std = [(True, True), (True, False), (False, True), (True, True)][seed]
    weights = None if seed < 2 or name in ("poisson", "gamma") else random.uniform(0.5, 2.0, ROWS)
    scaler_weights = weights if seed == 3 else None
    scaler = StandardScaler(with_mean=with_mean, with_std=with_std)
    model = make_pipeline(SimpleImputer(), scaler, estimator) if lacking else make_pipeline(scaler, estimator)
    own = model.steps[-1][0]
    given = {} if weights is None else {f"{own}__sample_weight": weights}
    if scaler_weights is not None:
        given["standardscaler__sample_weight"] = scaler_weights
    model.fit(X, y, **given)
    scale = random.uniform(0.05, 3.0)
    # Moves of a class's indicators that do not add up to zero are no label.
    known_label = name == "softmax"
    leak = seepage.measure(model, X, y, noise_scale=scale, sample_weight=weights, public_label=known_label)
    procedure = Procedure(
        X,
        labels,
        scaled=tuple(range(COLUMNS)),
        weights=weights,
        scaler_weights=scaler_weights,
        with_mean=with_mean,
        with_std=with_std,
        noise=np.full((1, 1), scale**2),
        **known,
    )
    _agree(leak, procedure, label=not known_label)
