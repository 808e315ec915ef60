"""A cell that was filled in is nobody's value: it is unanswered, and what the person does have is measured."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage.report import Report

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


@pytest.mark.parametrize("seed", range(3))
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
def test_who_lacks_a_value_is_unanswered_and_the_rest_is_as_refits_say(seed, settings):
    X, y = _people(seed)
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


@pytest.mark.parametrize("seed", range(3))
def test_eta_and_dfil_count_only_the_values_that_a_person_has(seed):
    X, y = _people(seed)
    y = (y > np.median(y)).astype(int)
    model = make_pipeline(_steps(), LogisticRegression(tol=1e-10, max_iter=1000)).fit(X, y)
    whole = seepage.measure(model, X, y, noise_scale=0.5)
    lacking = {"age": X["age"].isna(), "ward": X["ward"].isna()}
    for without, who in (
        (["age"], lacking["age"] & ~lacking["ward"]),
        (["ward"], ~lacking["age"] & lacking["ward"]),
        (["age", "ward"], lacking["age"] & lacking["ward"]),
    ):
        assert who.any()
        kept = [name for name in ("age", "dose", "ward") if name not in without]
        # For them the columns that they lack are as good as public.
        some = seepage.measure(model, X, y, noise_scale=0.5, attributes=kept)
        np.testing.assert_allclose(whole.examples["eta"][who], some.examples["eta"][who], rtol=1e-9)
        np.testing.assert_allclose(whole.examples["dfil"][who], some.examples["dfil"][who], rtol=1e-9)
    nothing = seepage.measure(model, X, y, noise_scale=0.5, attributes=["age"], public_label=True).examples
    np.testing.assert_array_equal(nothing["eta"].isna(), lacking["age"])


def test_summaries_floors_ranks_and_noise_pass_over_who_lacks_a_value():
    X, y = _people(0)
    model = make_pipeline(_steps(), Ridge(solver="svd")).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=0.5, attributes=["age"], public_label=True)
    has = X["age"].notna().to_numpy()
    eta = leak.attributes["age"][has]
    assert not re.search(r"\bnan\b", leak.summary())
    assert f"±{1 / eta.max():.4g}" in leak.summary()
    np.testing.assert_array_equal(leak.error_floor()["age"].isna(), ~has)
    assert leak.information.variances()["age"] == pytest.approx(X["age"].var(ddof=0))
    assert leak.most_exposed(1)["eta"].iloc[0] == leak.examples["eta"].max()
    scale = seepage.calibrate(leak, error_floor={"age": 4.0}, exact=True)
    again = seepage.measure(model, X, y, noise_scale=scale, attributes=["age"], public_label=True)
    assert again.attributes["age"][has].max() == pytest.approx(1 / 4, rel=1e-9)
    by = leak.by_group(X["dose"] > 3)
    assert np.isfinite(by.frame["mean"]).all()
    assert leak.joint() == pytest.approx(leak.joint(has))
    assert np.isfinite(leak.translation()["value"]).any()
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
    with pytest.raises(seepage.InputError, match=r"missing value in column 'age' \(row \d+\).*SimpleImputer"):
        seepage.measure(model, X, y, noise_scale=1.0)


def test_files_name_the_column_that_lacks_a_value(tmp_path):
    X, y = _people(0)
    X.assign(y=y).to_parquet(tmp_path / "people.parquet")
    model = make_pipeline(_steps(), Ridge(solver="svd")).fit(X, y)
    with pytest.raises(seepage.InputError, match=r"missing value in column '(age|ward)'.*in memory"):
        seepage.measure(model, tmp_path / "people.parquet", target="y", noise_scale=1.0)
