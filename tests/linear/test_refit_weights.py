"""Refits of the label where class weights move with it, and of people, against fitting everything again."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import seepage
from seepage.attacks import MembershipScore

NEWTON = {"solver": "newton-cholesky", "tol": 1e-13, "max_iter": 1000}


def _parameters(model: Any) -> np.ndarray:
    theta = np.atleast_2d(model.coef_)
    if model.fit_intercept:
        theta = np.column_stack([theta, np.broadcast_to(model.intercept_, len(theta))])
    # What all classes share changes no probability, and solvers leave it where it was.
    return theta - theta.mean(axis=0) if len(theta) > 2 and isinstance(model, LogisticRegression) else theta


def _distance(one: Any, other: Any, scale: float) -> float:
    return float(np.linalg.norm(_parameters(one) - _parameters(other))) / scale


def _draw(number: int) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray | None]:
    """Return a drawn classifier, features, labels and weights."""
    random = np.random.default_rng(number)
    rows, columns, classes = random.integers(30, 90), random.integers(1, 5), random.integers(2, 4)
    X = random.normal(size=(rows, columns)) * random.uniform(0.3, 3, columns)
    score = X[:, 0] / X[:, 0].std() + random.logistic(size=rows)
    y = np.digitize(score, np.quantile(score, [0.6] if classes == 2 else [0.3, 0.8]))
    sample_weight = random.uniform(0.3, 2.5, rows) if random.random() < 0.5 else None
    listed: dict[int, float] = {k: float(random.uniform(0.5, 12)) for k in range(classes)}
    weight = ["balanced", listed, None][random.choice(3, p=[0.5, 0.4, 0.1])]
    intercept = bool(random.random() < 0.8)
    if random.random() < 0.3:
        return RidgeClassifier(alpha=2.0, class_weight=weight, fit_intercept=intercept), X, y, sample_weight
    penalty = float(10 ** random.uniform(-1, 1))
    return LogisticRegression(C=penalty, class_weight=weight, fit_intercept=intercept, **NEWTON), X, y, sample_weight


@pytest.mark.parametrize("number", range(20))
def test_another_label_comes_with_the_weights_of_its_class(number: int) -> None:
    model, X, y, weights = _draw(number)
    model.fit(X, y, weights)
    leak = seepage.measure(model, X, y, noise_scale=0.1, sample_weight=weights)
    found = leak.information.distances("label", None)
    for person in np.random.default_rng(number).choice(len(y), 6, replace=False):
        for value in np.unique(y):
            labels = y.copy()
            labels[person] = value
            expected = _distance(clone(model).fit(X, labels, weights), model, 0.1)
            assert found.distance[person, value] == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("number", range(0, 20, 3))
def test_membership_takes_the_record_out_of_balanced_weights_too(number: int) -> None:
    model, X, y, weights = _draw(number)
    model.fit(X, y, weights)
    leak = seepage.measure(model, X, y, noise_scale=0.1, sample_weight=weights)
    found = MembershipScore().fit(leak).distance_
    for person in (0, 11, 29):
        kept = np.arange(len(y)) != person
        without = clone(model).fit(X[kept], y[kept], None if weights is None else weights[kept])
        assert found[person] == pytest.approx(_distance(without, model, 0.1), rel=1e-6, abs=1e-7)


def test_the_rates_and_the_noise_are_those_of_refits_with_class_weights() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    y = (X[:, 0] + random.logistic(size=300) > 1).astype(int)
    model = LogisticRegression(class_weight={0: 1, 1: 10}, **NEWTON).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=0.1)
    scale = seepage.calibrate(leak, success_rate={"label": 0.6}, exact=True, shape="isotropic").scale
    distance = []
    for person in range(300):
        labels = y.copy()
        labels[person] = 1 - labels[person]
        distance.append(_distance(clone(model).fit(X, labels), model, scale))
    assert norm.cdf(max(distance) / 2) == pytest.approx(0.6, abs=1e-7)
    assert any("weights that go with the other label" in sentence for sentence in leak.assumptions)


def test_the_only_one_of_a_class_is_unanswered_when_classes_are_balanced() -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, 1, 0)
    y[7] = 2
    model = LogisticRegression(class_weight="balanced", **NEWTON).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=0.1)
    with pytest.warns(RuntimeWarning, match="another label of 1 of 40 people"):
        found = leak.success_rate("label")
    assert found["success_rate"].isna().sum() == 2
    assert (found["success_rate"][found.index != 7] >= 0.5).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(seepage.errors.UnansweredError, match="1 of 40 people"):
            seepage.calibrate(leak, success_rate={"label": 0.6}, exact=True, shape="isotropic")
        with pytest.raises(seepage.errors.UnansweredError, match="1 of 40 people"):
            seepage.Policy(success_rate={"label": 0.6}).violations(leak)
        # A target for a share of people that leaves the unanswered out can be met.
        scale = seepage.calibrate(leak, success_rate={"label": 0.6}, quantile=0.95, shape="isotropic").scale
        safe = seepage.measure(model, X, y, noise_scale=scale).success_rate("label")["success_rate"]
        page = seepage.Report.of(leak, "internal", policy=seepage.Policy(success_rate={"label": 0.6})).html()
    worst = safe.groupby(safe.index).max()
    assert (worst <= 0.6 + 1e-9).sum() >= 38
    assert "could not be refitted" in page


def _rare(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return people of whom two have a value that nobody else has."""
    random = np.random.default_rng(0)
    kind = random.choice(list("abc"), rows).astype(object)
    kind[:2] = "rare"
    X = pd.DataFrame({"age": random.normal(size=rows), "kind": kind})
    return X, (random.random(rows) < 1 / (1 + np.exp(-X["age"]))).to_numpy().astype(int)


@pytest.mark.parametrize("penalty", [1.0, 100.0, 1e4])
def test_a_record_that_moves_the_model_far_is_refitted_with_damped_steps(penalty: float) -> None:
    X, y = _rare(300)
    encode = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(C=penalty, **NEWTON)).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=0.1)
    found = leak.information.distances("kind", None)
    assert not found.unanswered.any()
    for person in (0, 1, 2, 3, 150):
        for j, value in enumerate(found.values):
            changed = X.copy()
            changed.loc[person, "kind"] = value
            again = clone(model[-1]).fit(encode.fit(X).transform(changed), y)
            assert found.distance[person, j] == pytest.approx(_distance(again, model[-1], 0.1), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("rows", "levels"), [(150, 12), (4000, 12), (600, 3)])
def test_many_people_at_once_are_refitted_as_one_by_one(rows: int, levels: int) -> None:
    # Few values that are not zero, and features few and many beside the rows: each way to add up the rows is taken.
    random = np.random.default_rng(levels)
    X = pd.DataFrame({"age": random.normal(size=rows), "city": random.choice([f"c{i}" for i in range(levels)], rows)})
    y = (random.random(rows) < 1 / (1 + np.exp(-2 * X["age"]))).to_numpy().astype(int)
    encode = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough", sparse_threshold=0)
    weights = random.uniform(0.1, 3, rows)
    model = make_pipeline(encode, LogisticRegression(C=3.0, **NEWTON)).fit(
        X, y, logisticregression__sample_weight=weights
    )
    refit = seepage.measure(model, X, y, noise_scale=0.1, sample_weight=weights).information.refit
    people = random.choice(rows, 5, replace=False)
    exchange = refit.exchange(people[:, None], "city", "c1")
    found = refit.distances(exchange, refit.moves(exchange)).distance
    for person, distance in zip(people, found, strict=True):
        changed = X.copy()
        changed.loc[person, "city"] = "c1"
        again = clone(model[-1]).fit(encode.fit(X).transform(changed), y, weights)
        assert distance == pytest.approx(_distance(again, model[-1], 0.1), rel=1e-7, abs=1e-8)


def test_who_alone_decides_a_coefficient_is_unanswered_and_nobody_else() -> None:
    random = np.random.default_rng(3)
    kind = np.array(["a", "b"] * 20, dtype=object)
    kind[5] = "rare"
    X = pd.DataFrame({"age": random.normal(size=40), "kind": kind})
    y = X["age"] + random.normal(size=40)
    encode = make_column_transformer((OneHotEncoder(drop="first"), ["kind"]), remainder="passthrough")
    leak = seepage.measure(make_pipeline(encode, LinearRegression()).fit(X, y), X, y, noise_scale=0.1)
    with pytest.warns(RuntimeWarning, match="1 of 40 people"):
        found = leak.information.distances("kind", None)
    assert np.flatnonzero(found.unanswered).tolist() == [5]
    assert np.isnan(found.farthest()[5])
    assert np.isnan(found.nearest()[5])


def test_values_between_whole_numbers_are_not_cut() -> None:
    random = np.random.default_rng(0)
    y = random.normal(size=60)
    whole = pd.DataFrame({"age": random.integers(20, 80, 60), "b": random.normal(size=60)})
    for X in (whole, whole.to_numpy().astype(int), pd.DataFrame({"age": whole["age"].astype("int8"), "b": whole["b"]})):
        model = Ridge().fit(X, y)
        leak = seepage.measure(model, X, y, noise_scale=0.1)
        name = leak.information.attribute_names[0]
        column = leak.information.rows.column(name)
        found = leak.information.distances(name, [int(column[0]), int(column[0]) + 0.9])
        assert found.truth[0] == 0
        other = np.asarray(X, dtype=np.float64).copy()
        other[0, 0] += 0.9
        expected = _distance(Ridge().fit(other, y), Ridge().fit(np.asarray(X, dtype=np.float64), y), 0.1)
        assert found.distance[0, 1] == pytest.approx(expected, rel=1e-9)
        # Nobody has half a year.
        assert (leak.information.distances(name, [20.5]).truth == -1).all()


def test_longer_words_than_the_data_has_are_other_words() -> None:
    X = pd.DataFrame({"ward": ["a", "b"] * 20, "x": np.arange(40.0)})
    y = np.arange(40.0) % 3
    encode = make_column_transformer(
        (OneHotEncoder(categories=[["a", "b", "abroad"]]), ["ward"]), remainder="passthrough"
    )
    leak = seepage.measure(make_pipeline(encode, Ridge()).fit(X, y), X, y, noise_scale=0.1)
    found = leak.information.distances("ward", ["a", "abroad"])
    assert (found.distance[:, 1] > 0).all()
