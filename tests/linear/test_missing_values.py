"""A cell that was filled in is nobody's value: it is unanswered, and what the person does have is measured."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from likelihoods import apart, length
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage import Report

N = 70


def _people(seed):
    """Return people of whom some lack their age, some their ward."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": random.normal(50, 10, N),
            "dose": random.normal(3, 1, N),
            "ward": random.choice(["a", "b", "c"], N),
            "note": ["x"] * (N - 1) + [None],
        }
    )
    y = 0.05 * X["age"] + X["dose"] + (X["ward"] == "b") + random.normal(size=N)
    X.loc[random.random(N) < 0.2, "age"] = np.nan
    X.loc[random.random(N) < 0.15, "ward"] = None
    X.loc[:2, ["age", "ward"]] = [[40.0, "a"], [50.0, "b"], [60.0, "c"]]
    X.loc[5, ["age", "ward"]] = [np.nan, None]
    return X, y.to_numpy()


def _steps(**settings):
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(**settings), StandardScaler()), ["age", "dose"]),
            ("ward", make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(drop="first")), ["ward"]),
        ]
    )


def _moved(model, X, y, change, row, step):
    """Return the derivative of the parameters by refits with one row changed, preprocessing held fixed."""
    ends = []
    for sign in (1, -1):
        changed = X.copy()
        change(changed, row, sign * step)
        F = model[:-1].transform(changed)
        estimator = clone(model[-1]).fit(F.toarray() if sparse.issparse(F) else F, y)
        ends.append(np.append(estimator.coef_, estimator.intercept_))
    return (ends[0] - ends[1]) / (2 * step)


@pytest.mark.parametrize(
    "settings",
    [
        {"strategy": "mean"},
        {"strategy": "median"},
        {"strategy": "most_frequent"},
        {"strategy": "constant", "fill_value": 33.0},
        {"strategy": "mean", "add_indicator": True},
    ],
    ids=str,
)
def test_who_lacks_a_value_is_unanswered_and_the_rest_is_as_refits_say(settings):
    X, y = _people(0)
    model = make_pipeline(_steps(**settings), Ridge(solver="svd")).fit(X, y)
    # That the steps move with the rows is held against the whole procedure elsewhere.
    known = ["simpleimputer", "standardscaler"]
    leak = seepage.measure(model, X, y, noise_scale=0.5, public_label=True, public_preprocessing=known)
    found = leak.attributes
    assert list(found) == ["age", "dose", "ward"]
    np.testing.assert_array_equal(found["age"].isna(), X["age"].isna())
    np.testing.assert_array_equal(found["ward"].isna(), X["ward"].isna())
    assert not found["dose"].isna().any()

    def add(column):
        return lambda frame, row, by: frame.__setitem__(column, frame[column] + by * (np.arange(N) == row))

    for row in range(0, N, 9):
        for column in ("age", "dose"):
            if pd.notna(X[column][row]):
                expected = np.linalg.norm(_moved(model, X, y, add(column), row, 1e-4)) / 0.5
                assert found[column][row] == pytest.approx(expected, rel=1e-6)


def test_summaries_floors_ranks_and_noise_pass_over_who_lacks_a_value():
    X, y = _people(0)
    model = make_pipeline(_steps(), Ridge(solver="svd")).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=0.5, attributes=["age"], public_label=True)
    has = X["age"].notna().to_numpy()
    eta = leak.attributes["age"][has]
    np.testing.assert_array_equal(leak.examples["eta"].isna(), ~has)
    assert not re.search(r"\bnan\b", leak.summary())
    assert f"±{1 / eta.max():.4g}" in leak.summary()
    np.testing.assert_array_equal(leak.error_floor()["age"].isna(), ~has)
    assert leak.information.variances()["age"] == pytest.approx(X["age"].var(ddof=0))
    assert leak.most_exposed(1)["eta"].iloc[0] == leak.examples["eta"].max()
    scale = seepage.calibrate(leak, error_floor={"age": 4.0}, exact=True, shape="isotropic").scale
    again = seepage.measure(model, X, y, noise_scale=scale, attributes=["age"], public_label=True)
    assert again.attributes["age"][has].max() == pytest.approx(1 / 4, rel=1e-9)
    by = leak.by_group(X["dose"] > 3)
    assert np.isfinite(by.frame["mean"]).all()
    assert leak.joint_information_loss() == pytest.approx(leak.joint_information_loss(has))
    assert np.isfinite(leak.privacy_measures()["value"]).any()
    report = Report.of(leak, "internal")
    assert not re.search(r"\bnan\b", report.markdown())


def test_telling_wards_apart_leaves_out_who_has_none():
    X, y = _people(1)
    model = make_pipeline(_steps(), Ridge(solver="svd")).fit(X, y)
    rates = seepage.measure(model, X, y, noise_scale=0.1).success_rate("ward")
    assert set(rates["value"]) == {"a", "b", "c"}
    assert len(rates) == 2 * X["ward"].notna().sum()


@pytest.mark.parametrize("marker", [-999.0, 0.0])
def test_a_number_that_stands_for_a_missing_value_is_one(marker):
    X, y = _people(2)
    X = X[["age", "dose"]].to_numpy()
    marked = np.where(np.isnan(X), marker, X)
    one = seepage.measure(
        make_pipeline(SimpleImputer(missing_values=marker), Ridge()).fit(marked, y), marked, y, noise_scale=1.0
    )
    two = seepage.measure(make_pipeline(SimpleImputer(), Ridge()).fit(X, y), X, y, noise_scale=1.0)
    pd.testing.assert_frame_equal(one.attributes, two.attributes)
    pd.testing.assert_frame_equal(one.examples, two.examples)
    assert one.information.variances() == two.information.variances()


@pytest.mark.parametrize("library", ["objects", "polars"])
def test_missing_values_are_seen_in_arrays_of_objects_and_other_frames(library):
    X, y = _people(2)
    X = X[["age", "dose", "ward"]]
    numbers = [0, 1] if library == "objects" else ["age", "dose"]
    ward = [2] if library == "objects" else ["ward"]
    given = X.to_numpy() if library == "objects" else pl.from_pandas(X)
    imputer = SimpleImputer(strategy="most_frequent", missing_values=None if library == "polars" else np.nan)
    if library == "objects":
        given[pd.isna(given)] = np.nan
    steps = ColumnTransformer([("n", SimpleImputer(), numbers), ("w", make_pipeline(imputer, OneHotEncoder()), ward)])
    found = seepage.measure(make_pipeline(steps, Ridge(solver="svd")).fit(given, y), given, y, noise_scale=1.0)
    names = ["x0", "x2"] if library == "objects" else ["age", "ward"]
    for name, column in zip(names, ("age", "ward"), strict=True):
        np.testing.assert_array_equal(np.isnan(np.asarray(found.attributes[name])), X[column].isna())


def test_indicators_of_missing_cells_are_public():
    X, y = _people(0)
    X = X[["age", "dose"]]
    union = FeatureUnion([("filled", SimpleImputer()), ("noted", MissingIndicator())])
    model = make_pipeline(union, StandardScaler(), Ridge()).fit(X, y)
    same = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), Ridge()).fit(X, y)
    one, two = (seepage.measure(each, X, y, noise_scale=1.0) for each in (model, same))
    np.testing.assert_allclose(one.examples, two.examples, rtol=1e-9)
    assert any("filled in" in sentence and "public" in sentence for sentence in one.assumptions)


def test_an_encoder_that_makes_a_level_of_missing_values_knows_that_they_are_none():
    X, y = _people(0)
    steps = ColumnTransformer([("w", OneHotEncoder(), ["ward"]), ("d", "passthrough", ["dose"])])
    leak = seepage.measure(make_pipeline(steps, Ridge(solver="svd")).fit(X, y), X, y, noise_scale=1.0)
    np.testing.assert_array_equal(leak.attributes["ward"].isna(), X["ward"].isna())


def test_a_missing_value_that_nothing_fills_in_is_refused_with_the_way_out():
    X, y = _people(0)
    model = make_pipeline(ColumnTransformer([("s", StandardScaler(), ["age", "dose"])]), Ridge())
    filled = X.fillna({"age": 50.0})
    model.fit(filled, y)
    assert seepage.measure(model, filled, y, noise_scale=1.0).information.count == N
    with pytest.raises(seepage.errors.InputError, match=r"missing value in column 'age' \(row \d+\).*SimpleImputer"):
        seepage.measure(model, X, y, noise_scale=1.0)


def test_files_name_the_column_that_lacks_a_value(tmp_path):
    X, y = _people(0)
    X.assign(y=y).to_parquet(tmp_path / "people.parquet")
    model = make_pipeline(_steps(), Ridge(solver="svd")).fit(X, y)
    with pytest.raises(seepage.errors.InputError, match=r"missing value in column '(age|ward)'.*in memory"):
        seepage.measure(model, tmp_path / "people.parquet", target="y", noise_scale=1.0)


def _holed(name):
    """Return people of whom many lack a code or a dose, labels, and a model to fit."""
    random = np.random.default_rng(3)
    X = pd.DataFrame(
        {"code": random.integers(0, 2, 40) * 1.0, "dose": random.normal(4, 2, 40), "age": random.normal(size=40)}
    )
    score = 2 * X["code"] + X["dose"] / 2 + X["age"] + random.normal(size=40)
    X.loc[random.permutation(40)[:17], "code"] = np.nan
    X.loc[random.permutation(40)[:9], "dose"] = np.nan
    if name == "ridge":
        return X, score, Ridge(2.0, solver="cholesky")
    if name == "logistic":
        return X, (score > score.median()).astype(int), LogisticRegression(tol=1e-12, solver="newton-cholesky")
    y = random.poisson(np.exp(score / 4))
    return X, y, PoissonRegressor(alpha=0.05, tol=1e-12, solver="newton-cholesky", max_iter=1000)


ORDERS = {
    "imputer, scaler": lambda: [SimpleImputer(), StandardScaler()],
    "scaler, imputer": lambda: [StandardScaler(), SimpleImputer()],
    "constant, scaler": lambda: [SimpleImputer(strategy="constant", fill_value=0.3), StandardScaler()],
}


def _published(model):
    """Return the parameters in raw units and what white noise becomes there, by asking the steps for a few rows."""
    steps, estimator = model[:-1], model[-1]
    probes = pd.DataFrame(np.vstack([np.zeros(3), np.eye(3)]), columns=["code", "dose", "age"])
    features = np.asarray(steps.transform(probes))
    fold = np.zeros((4, 4))
    fold[:3, :3], fold[3, :3], fold[3, 3] = features[1:] - features[0], features[0], 1.0
    return fold @ np.append(np.ravel(estimator.coef_), estimator.intercept_), 0.04 * fold @ fold.T


@pytest.mark.parametrize("order", ["imputer, scaler", "scaler, imputer"])
@pytest.mark.parametrize("name", ["ridge", "logistic"])
def test_refits_of_several_rows_of_a_person_follow_what_is_filled_in(name, order):
    X, y, estimator = _holed(name)
    first, second = np.flatnonzero(X["code"].notna())[:2]
    X.loc[second, "code"] = X.loc[first, "code"]
    ids = np.arange(40)
    ids[second] = first
    model = make_pipeline(*ORDERS[order](), estimator).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=0.2, ids=ids)
    value = 1.0 - X.loc[first, "code"]
    found = length(leak.information.distances("code", [0.0, 1.0]), first, int(value))
    other = X.copy()
    other.loc[[first, second], "code"] = value
    moved = make_pipeline(*ORDERS[order](), clone(estimator)).fit(other, y)
    assert found == pytest.approx(apart(_published(model), _published(moved)), rel=1e-6)


def test_a_promised_success_rate_is_kept_by_whoever_refits_the_whole_pipeline():
    random = np.random.default_rng(5)
    X = pd.DataFrame({"code": random.integers(0, 2, 100) * 1.0, "age": random.normal(size=100)})
    y = 3 * X["code"] + X["age"] + random.normal(size=100) / 2
    X.loc[random.permutation(100)[:30], "code"] = np.nan
    model = make_pipeline(SimpleImputer(), Ridge()).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=0.1)
    scale = seepage.calibrate(leak, success_rate={"code": 0.75}, exact=True, shape="isotropic").scale
    far = []
    for person in np.flatnonzero(X["code"].notna()):
        other = X.copy()
        other.loc[person, "code"] = 1 - X.loc[person, "code"]
        moved = clone(model).fit(other, y)[-1]
        far.append(np.hypot(np.linalg.norm(moved.coef_ - model[-1].coef_), moved.intercept_ - model[-1].intercept_))
    assert seepage.meaning.success_rate(np.max(far) / scale) == pytest.approx(0.75, abs=1e-9)


def test_refits_past_kinks_of_a_lasso_move_filled_cells():
    X, y, _ = _holed("ridge")
    model = make_pipeline(SimpleImputer(), Lasso(0.1, tol=1e-14, max_iter=100_000)).fit(X, y)
    found = seepage.measure(model, X, y, noise_scale=0.2).information.distances("code", None)
    fitted = [*model[-1].coef_, model[-1].intercept_]
    for person in np.flatnonzero(X["code"].notna())[:4]:
        for place, value in enumerate(found.values):
            other = X.copy()
            other.loc[person, "code"] = value
            again = clone(model).fit(other, y)[-1]
            expected = np.linalg.norm(np.subtract([*again.coef_, again.intercept_], fitted)) / 0.2
            assert found.distance[person, place] == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("steps", "public"),
    [
        ([StandardScaler(), SimpleImputer(strategy="constant", fill_value=0.7)], []),
        ([StandardScaler(), SimpleImputer()], ["simpleimputer"]),
        ([StandardScaler(), SimpleImputer(strategy="constant", fill_value=0.7), StandardScaler()], []),
    ],
    ids=["constant", "declared", "between two scalers"],
)
def test_a_constant_behind_a_scaler_of_the_same_rows_is_refused(steps, public):
    X, y, estimator = _holed("ridge")
    model = make_pipeline(*steps, estimator).fit(X, y)
    with pytest.raises(
        seepage.errors.UnsupportedError, match=r"'simpleimputer' fills.*before the scaler.*SimpleImputer\(\)"
    ):
        seepage.measure(model, X, y, noise_scale=0.2, public_preprocessing=public)
    complete = X.fillna(0.0)
    fitted = make_pipeline(*(clone(step) for step in steps), estimator).fit(complete, y)
    assert seepage.measure(fitted, complete, y, noise_scale=0.2, public_preprocessing=public).information.count == 40


def test_a_constant_before_a_scaler_is_counted_as_finite_differences_say():
    (X, y, estimator), order = _holed("logistic"), "constant, scaler"
    found = seepage.measure(make_pipeline(*ORDERS[order](), estimator).fit(X, y), X, y, noise_scale=0.2).attributes
    for column in X:
        for person in np.flatnonzero(X[column].notna())[::6]:
            ends = []
            for sign in (1, -1):
                moved = X.copy()
                moved.loc[person, column] += sign * 1e-4
                ends.append(_published(make_pipeline(*ORDERS[order](), clone(estimator)).fit(moved, y)))
            gap, shape = ((ends[0][i] - ends[1][i]) / 2e-4 for i in (0, 1))
            noise = (ends[0][1] + ends[1][1]) / 2
            turned = np.linalg.solve(noise, shape)
            expected = np.sqrt(gap @ np.linalg.solve(noise, gap) + np.trace(turned @ turned) / 2)
            assert found[column][person] == pytest.approx(expected, rel=1e-5)
