"""One record changed: the low-rank refit against fitting everything again."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage

ROWS = 60
TIGHT = {"tol": 1e-11, "max_iter": 10_000}
random = np.random.default_rng(2)
TABLE = pd.DataFrame(
    {
        "age": random.normal(50, 10, ROWS),
        "dose": random.normal(size=ROWS),
        "ward": random.choice(["north", "south", "west"], ROWS),
    }
)
SIGNAL = 0.05 * (TABLE["age"] - 50) + 0.5 * TABLE["dose"] + 0.7 * (TABLE["ward"] == "south") + random.normal(size=ROWS)
LABELS = {
    "real": SIGNAL.to_numpy(),
    "binary": np.where(SIGNAL > 0, "yes", "no"),
    "three": np.array(["a", "b", "c"])[np.digitize(SIGNAL, [-0.5, 0.7])],
    "count": random.poisson(np.exp(0.4 * SIGNAL)).astype(float),
    "positive": np.exp(0.4 * SIGNAL.to_numpy()),
}
CASES = {
    "ridge": (Ridge(alpha=1.5), "real"),
    "ridge classifier, 3 classes": (RidgeClassifier(alpha=1.5), "three"),
    "logistic": (LogisticRegression(C=0.8, **TIGHT), "binary"),
    "softmax": (LogisticRegression(C=0.8, **TIGHT), "three"),
    "poisson": (PoissonRegressor(alpha=0.05, **TIGHT), "count"),
    "gamma": (GammaRegressor(alpha=0.05, **TIGHT), "positive"),
}


def _pipeline(model: Any) -> Any:
    return make_pipeline(
        make_column_transformer((StandardScaler(), ["age", "dose"]), (OneHotEncoder(), ["ward"])), model
    )


def _parameters(model: Any) -> np.ndarray:
    theta = np.concatenate([np.atleast_2d(model.coef_), np.reshape(model.intercept_, (-1, 1))], axis=1)
    # Softmax solvers leave the part that all classes share where it was.
    return theta - theta.mean(axis=0) if len(theta) == 3 and isinstance(model, LogisticRegression) else theta


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_distance_is_that_of_two_full_fits(name: str, weighted: bool) -> None:
    model, kind = CASES[name]
    labels = LABELS[kind]
    weights = np.random.default_rng(0).uniform(0.5, 3, ROWS) if weighted else None
    last = type(model).__name__.lower()
    whole = _pipeline(model).fit(TABLE, labels, **{f"{last}__sample_weight": weights})
    leak = seepage.measure(whole, TABLE, labels, noise_scale=0.1, sample_weight=weights)
    found = leak.information.distances("ward", None)
    assert found.values == ("north", "south", "west")
    exact = seepage.linear._measure.Fit.of(whole, TABLE, labels, weights).minimize().parameters
    features = whole[:-1].transform(TABLE)
    for person in (0, 7, 31):
        for j, value in enumerate(found.values):
            changed = TABLE.iloc[[person]].assign(ward=value)
            other = np.array(features)
            other[person] = whole[:-1].transform(changed)
            refit = type(model)(**model.get_params()).fit(other, labels, weights)
            again = seepage.linear._measure.Fit.of(refit, other, labels, weights).minimize().parameters
            distance = np.linalg.norm(again - exact) / 0.1
            assert found.distance[person, j] == pytest.approx(distance, rel=1e-8, abs=1e-9)
            # Scikit-learn's own solution, which is only as good as its tolerance.
            assert np.linalg.norm(_parameters(refit) - _parameters(whole[-1])) / 0.1 == pytest.approx(
                distance, rel=1e-3, abs=1e-4
            )
    own = found.distance[np.arange(ROWS), found.truth]
    assert (own == 0).all()


def test_a_changed_label_is_a_changed_record() -> None:
    model = _pipeline(LogisticRegression(C=0.8, **TIGHT)).fit(TABLE, LABELS["binary"])
    leak = seepage.measure(model, TABLE, LABELS["binary"], noise_scale=0.1)
    found = leak.information.distances("label", None)
    person = 4
    labels = LABELS["binary"].copy()
    labels[person] = "no" if labels[person] == "yes" else "yes"
    before = seepage.linear._measure.Fit.of(model, TABLE, LABELS["binary"], None).minimize().parameters
    features = model[:-1].transform(TABLE)
    refit = LogisticRegression(C=0.8, **TIGHT).fit(features, labels)
    after = seepage.linear._measure.Fit.of(refit, features, labels, None).minimize().parameters
    expected = np.linalg.norm(after - before) / 0.1
    assert found.distance[person].max() == pytest.approx(expected, rel=1e-8)


def test_the_distance_to_a_near_value_is_eta_times_the_step() -> None:
    model = Ridge(alpha=1.0).fit(TABLE[["age", "dose"]], LABELS["real"])
    leak = seepage.measure(model, TABLE[["age", "dose"]], LABELS["real"], noise_scale=0.1)
    person, step = 3, 1e-5
    value = TABLE["age"][person] + step
    found = leak.information.distances("age", [value])
    assert found.truth[person] == -1
    assert found.distance[person, 0] / step == pytest.approx(leak.attributes["age"][person], rel=1e-4)
