"""What files of trees give away: against brute force, exact arithmetic, and attacks written apart."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars
import pytest
from scipy.optimize import lsq_linear
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import seepage
from experiments.datasets import load_adult, load_iwpc
from seepage.errors import InputError, UnansweredError, UnsupportedError
from seepage.trees import decided

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

DIABETES = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
CANCER = load_breast_cancer(return_X_y=True, as_frame=True)
WINE = load_wine(return_X_y=True, as_frame=True)

NUMBERS = [
    DecisionTreeRegressor(min_samples_leaf=3, random_state=0),
    RandomForestRegressor(30, min_samples_leaf=10, max_features=1 / 3, random_state=0),
    ExtraTreesRegressor(30, min_samples_leaf=5, random_state=0),
    BaggingRegressor(n_estimators=20, max_features=0.5, random_state=0),
    GradientBoostingRegressor(random_state=0),
    HistGradientBoostingRegressor(l2_regularization=2.0),
    xgboost.XGBRegressor(n_estimators=60, max_depth=3, reg_lambda=2.0, n_jobs=1),
    lightgbm.LGBMRegressor(verbose=-1, reg_lambda=1.0, n_jobs=1),
]
CLASSES = [
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(30, min_samples_leaf=5, random_state=0),
    ExtraTreesClassifier(30, min_samples_leaf=5, class_weight="balanced", random_state=0),
    ExtraTreesClassifier(20, max_depth=6, random_state=0),
    GradientBoostingClassifier(n_estimators=40, random_state=0),
    HistGradientBoostingClassifier(max_iter=40, l2_regularization=1.0),
    xgboost.XGBClassifier(n_estimators=40, max_depth=3, n_jobs=1),
    lightgbm.LGBMClassifier(verbose=-1, n_estimators=40, n_jobs=1),
]


def _named(model):
    return type(model).__name__


@pytest.mark.parametrize(
    ("model", "data"),
    [(model, DIABETES) for model in NUMBERS] + [(model, data) for model in CLASSES for data in (CANCER, WINE)],
    ids=lambda each: _named(each) if hasattr(each, "fit") else "",
)
def test_the_attack_returns_what_is_determined(model, data):
    _check_attack(model, *data)


@pytest.mark.parametrize("model", NUMBERS + CLASSES, ids=_named)
def test_the_attack_returns_what_is_determined_of_public_data(model, data_home):
    people = load_adult() if hasattr(model, "predict_proba") else load_iwpc()
    X, text = people.data, people.data.select_dtypes(exclude="number").columns
    X[text] = OrdinalEncoder().fit_transform(X[text])
    some = np.random.default_rng(0).permutation(len(X))[:300]
    _check_attack(model, X.iloc[some].reset_index(drop=True), pd.Series(people.target[some]))


def _check_attack(model, X, y):
    leak = seepage.measure(clone(model).fit(X, y), X, y)
    determined = np.asarray(leak.determined()["determined"])
    right = np.abs(leak.recovered().guesses - y.to_numpy()) < leak.fitted.step / 2
    assert right[determined].all()
    assert leak.recovered().exact >= determined.mean()


def _leaf_matrix(model, X):
    """The draws of each person in each leaf of a forest, by scikit-learn's own functions."""
    rows = []
    for tree, drawn in zip(model.estimators_, model.estimators_samples_, strict=True):
        leaf = tree.apply(np.asarray(X))
        weight = np.bincount(drawn, minlength=len(X))
        rows += [np.where(leaf == each, weight, 0) for each in np.unique(leaf[weight > 0])]
    return np.array(rows)


def _in_row_space(matrix):
    """Whose unit vector is a combination of rows, in fractions."""
    rows = [[Fraction(int(each)) for each in row] for row in matrix]
    pivots, at = [], 0
    for column in range(matrix.shape[1]):
        pivot = next((i for i in range(at, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [each / rows[at][column] for each in rows[at]]
        for i, row in enumerate(rows):
            if i != at and row[column]:
                rows[i] = [a - row[column] * b for a, b in zip(row, rows[at], strict=True)]
        pivots.append(column)
        at += 1
    # In reduced form a unit vector is a combination only if it is a row itself.
    found = np.zeros(matrix.shape[1], dtype=bool)
    for row, column in zip(rows, pivots, strict=False):
        found[column] = sum(1 for each in row if each) == 1
    return found


@pytest.mark.parametrize("seed", range(50))
def test_determined_is_that_of_exact_arithmetic(seed):
    random = np.random.default_rng(seed)
    people = int(random.integers(15, 61))
    X = random.integers(0, 12, (people, 3)).astype(float)
    y = random.normal(size=people)
    trees, smallest = random.integers(2, 9), random.integers(1, 6)
    model = RandomForestRegressor(int(trees), min_samples_leaf=int(smallest), random_state=seed)
    found = seepage.measure(model.fit(X, y), X, y).determined()
    assert (np.asarray(found["projection"]) > 1 - 1e-7).tolist() == _in_row_space(_leaf_matrix(model, X)).tolist()
    assert found["within"].notna().tolist() == _in_row_space(_leaf_matrix(model, X)).tolist()


@pytest.mark.parametrize(("forest", "count", "codes"), [(RandomForestRegressor, 8, 3), (RandomForestClassifier, 10, 2)])
def test_every_outcome_that_fits_the_file_has_the_determined_ones(forest, count, codes):
    grid, determined = np.array(list(itertools.product(range(codes), repeat=count))), 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        X, y = random.integers(0, 5, (count, 2)).astype(float), random.permutation(np.arange(count) % codes)
        model = forest(int(random.integers(1, 5)), min_samples_leaf=1 + seed % 2, random_state=seed).fit(X, y)
        matrix = _leaf_matrix(model, X)
        fits = grid[(grid @ matrix.T == matrix @ y).all(axis=1)]
        named = np.asarray(seepage.measure(model, X, y).determined()["determined"])
        assert (fits[:, named] == y[named]).all()
        determined += named.sum()
    assert determined > 200


def test_a_file_gives_what_the_model_gives(tmp_path):
    X, y = DIABETES
    model = xgboost.XGBRegressor(n_estimators=100, max_depth=3, n_jobs=1).fit(X, y)
    forest = RandomForestRegressor(30, min_samples_leaf=10, max_features=1 / 3, random_state=None).fit(X, y)
    boosted = lightgbm.LGBMRegressor(verbose=-1, n_jobs=1).fit(X, y)
    assert seepage.measure(pickle.loads(pickle.dumps(forest)), X, y).share == 1.0
    boosted.booster_.save_model(tmp_path / "model.txt")
    assert seepage.measure(lightgbm.Booster(model_file=tmp_path / "model.txt"), X, y).share == 1.0
    for name in ("model.json", "model.ubj"):
        model.save_model(tmp_path / name)
        leak = seepage.measure(xgboost.Booster(model_file=tmp_path / name), X, y)
        assert leak.share == 1.0
        assert leak.recovered().exact == 1.0


@pytest.mark.parametrize("model", [NUMBERS[0], NUMBERS[1], NUMBERS[4], NUMBERS[5], NUMBERS[6], NUMBERS[7]], ids=_named)
def test_values_left_are_those_of_the_same_leaves(model):
    X, y = DIABETES
    model.fit(X, y)
    leak = seepage.measure(model, X, y)
    people = np.random.default_rng(0).choice(len(X), 50, replace=False)
    drawn = np.ones((len(X), 1), dtype=bool)
    if getattr(model, "bootstrap", False):
        drawn = np.stack([np.bincount(each, minlength=len(X)) > 0 for each in model.estimators_samples_], axis=1)
    for name in ("age", "sex", "bmi", "bp", "s5"):
        values = np.unique(X[name])
        trial = X.iloc[np.repeat(people, len(values))].copy()
        trial[name] = np.tile(values, len(people))
        same = _apply(model, trial) == np.repeat(_apply(model, X.iloc[people]), len(values), axis=0)
        same |= ~np.repeat(drawn[people], len(values), axis=0)
        left = same.all(axis=1).reshape(len(people), -1).sum(axis=1)
        assert leak.values_left(name)["values_left"].iloc[people].tolist() == left.tolist()


def _apply(model, X):
    """Return which leaf everybody is in, by the library's own words."""
    if isinstance(model, lightgbm.LGBMRegressor):
        return model.predict(X, pred_leaf=True)
    if isinstance(model, HistGradientBoostingRegressor):
        # What each tree adds, in which no two leaves are equal here.
        rows = X.to_numpy(dtype=float)
        known, features = np.zeros((0, 8), dtype=np.uint32), np.zeros(rows.shape[1], dtype=np.uint32)
        return np.stack([tree[0].predict(rows, known, features, 1) for tree in model._predictors], axis=1)
    found = model.apply(X.to_numpy() if isinstance(model, GradientBoostingRegressor) else X)
    return found.reshape(len(X), -1)


def test_thresholds_give_the_values_beside_them():
    X, y = DIABETES
    found = seepage.measure(DecisionTreeRegressor(random_state=0).fit(X, y), X, y).thresholds()
    assert np.allclose(2 * found["threshold"] - found["neighbor"], found["value"], rtol=1e-6)
    values = X.to_numpy()[found.index, [X.columns.get_loc(name) for name in found["feature"]]]
    assert np.allclose(values, found["value"], rtol=1e-6)
    # 758 of 439 people were found by a script written apart.
    assert (len(found), found.index.nunique()) == (758, 439)


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_has_the_groups_of_its_leaves(seed):
    X, y = CANCER
    X = X.iloc[:, [seed, (seed + 7) % 30]]
    model = DecisionTreeClassifier(min_samples_leaf=1 + seed % 12, random_state=seed).fit(X, y)
    found = seepage.measure(model, X, y).sacro(threshold=10)
    tables = pd.crosstab(model.apply(X), y).loc[model.apply(X)].to_numpy()
    assert found["k_anonymity"].tolist() == tables.sum(axis=1).tolist()
    assert found["class_disclosure"].tolist() == (tables == 0).any(axis=1).tolist()
    assert found["smallgroup_risk"].tolist() == ((tables > 0) & (tables < 10)).any(axis=1).tolist()


@pytest.mark.parametrize("seed", range(12))
def test_the_attack_finds_what_another_attack_finds(seed):
    random = np.random.default_rng(seed)
    X, y = (each.iloc[random.choice(569, 120, replace=False)].reset_index(drop=True) for each in CANCER)
    model = RandomForestClassifier(5 + 5 * (seed % 4), min_samples_leaf=5 + 5 * (seed % 3), random_state=seed).fit(X, y)
    leak = seepage.measure(model, X, y)
    matrix = _leaf_matrix(model, X).astype(float)
    scale = 1 / np.sqrt((matrix**2).sum(axis=1, keepdims=True))
    found = lsq_linear(scale * matrix, (scale * matrix) @ y.to_numpy(dtype=float), bounds=(0, 1), tol=1e-14).x
    other = float(((found > 0.5) == y).mean())
    # Where many solutions fit, the two start elsewhere: they differ by chance.
    assert abs(leak.recovered().attack - other) <= 0.02 + 2.5 * np.sqrt(other * (1 - other) / len(y))


def test_what_is_known_besides():
    X, y = DIABETES
    model = RandomForestRegressor(15, min_samples_leaf=10, max_features=1 / 3, random_state=0).fit(X, y)
    leak = seepage.measure(model, X, y)
    half = leak.determined(known_outcomes=0.5)
    assert len(half) == 221
    assert half["determined"].mean() > leak.share
    with pytest.raises(UnansweredError, match="order of the training table"):
        leak.determined(order_known=False)
    for seed in range(9):
        last = seepage.measure(clone(model).set_params(n_estimators=1).fit(X, y), X, y)
        unknown = last.determined(known_outcomes=0.999, seed=seed)
        assert unknown["determined"].tolist() == last.fitted.drawn[unknown.index, 0].tolist()
    assert seepage.measure(NUMBERS[2].fit(X, y), X, y).determined(order_known=False)["determined"].all()
    twice, outcomes = pd.concat([X, X], ignore_index=True), pd.concat([y, y], ignore_index=True)
    alike = seepage.measure(ExtraTreesRegressor(30, random_state=0).fit(twice, outcomes), twice, outcomes).determined()
    assert not alike["determined"].any()
    assert (alike["alike"] == 2).all()


@pytest.mark.parametrize(
    "model",
    [NUMBERS[1], clone(NUMBERS[1]).set_params(n_estimators=16), xgboost.XGBRegressor(n_estimators=10, n_jobs=1)],
    ids=["all", "none", "some"],
)
def test_a_sample_has_the_determined_outcomes_of_all(model, monkeypatch):
    X, y = DIABETES
    whole = seepage.measure(model.fit(X, y), X, y).determined()
    monkeypatch.setattr("seepage.trees._determined.DIRECT", 100)
    leak = seepage.measure(model, X, y)
    sample = leak.determined()
    exact = whole.loc[sample.index]
    assert len(sample) == 40
    assert sample["within"].notna().tolist() == exact["within"].notna().tolist()
    assert (sample["projection"] <= exact["projection"] + 1e-9).all()
    if exact["determined"].all():
        assert "91% to 100% of 442 people (40 of 40 drawn)" in leak.summary()


def test_people_whose_iteration_ends_early_are_not_checked(monkeypatch):
    X, y = DIABETES
    monkeypatch.setattr("seepage.trees._determined.DIRECT", 100)
    monkeypatch.setattr("seepage.trees._determined._STEPS", (2, 2))
    leak = seepage.measure(NUMBERS[1].fit(X, y), X, y)
    assert leak.determined()["projection"].isna().all()
    assert not leak.determined()["determined"].any()
    assert "Not checked: 91% to 100% of 442 people (40 of 40 drawn)" in leak.summary()
    assert any("40 of 40 people are not checked" in reason for reason in decided(leak, {})[1])


def test_an_attribute_behind_steps():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"ward": random.choice(list("abcdef"), 200), "sex": random.choice(["f", "m"], 200)})
    y = pd.Series(random.integers(0, 2, 200) + (X["ward"] == "a"), name="stage")
    model = make_pipeline(OneHotEncoder(), RandomForestClassifier(20, random_state=0)).fit(X, y)
    leak = seepage.measure(model, X, y)
    assert leak.values_left("ward")["values_left"].max() <= 6
    # Everybody's own value is among those that are left.
    assert leak.values_left("sex")["values_left"].min() >= 1
    assert leak.by_group("ward")["people"].sum() == 200


def test_smaller_models_are_tried():
    X, y = DIABETES
    leak = seepage.measure(NUMBERS[1].fit(X, y), X, y)
    found = leak.remedies().set_index("change")
    assert found.loc["as it is", "determined"] == 1.0
    assert found.loc["min_samples_leaf=20", "determined"] == 0.0
    again = RandomForestRegressor(30, min_samples_leaf=20, max_features=1 / 3, random_state=0).fit(X, y)
    rank = np.linalg.matrix_rank(_leaf_matrix(again, X))
    assert found.loc["min_samples_leaf=20", "equations"] == pytest.approx(rank / len(X))


def test_verdicts_need_no_pandas_and_no_second_fit():
    X, y = DIABETES
    frame = polars.DataFrame({name: X[name].to_numpy() for name in X})
    # Early stopping needs rows that a second fit does not have.
    model = xgboost.XGBRegressor(n_estimators=60, early_stopping_rounds=60, n_jobs=1)
    model.fit(X, y, eval_set=[(X, y)], verbose=False)
    word, reasons = decided(seepage.measure(model, frame, polars.Series(y.to_list())), {})
    assert word == "fail"
    assert any("computes the outcome of 442 of 442 people exactly" in reason for reason in reasons)


def test_outcomes_with_more_digits_than_the_file_come_back_closely():
    X, y = DIABETES
    income = 1_000 * y + np.random.default_rng(0).integers(0, 100, len(y)) / 100
    leak = seepage.measure(xgboost.XGBRegressor(n_jobs=1).fit(X, income), X, income)
    found = leak.determined()
    assert not found["determined"].any()
    assert (np.abs(leak.recovered().guesses - income) < found["within"]).all()
    assert leak.share == 1.0
    word, reasons = decided(leak, {})
    assert word == "fail"
    assert "computes the outcome of 442 of 442 people to within ±" in reasons[0]


def test_it_says_what_it_found():
    X, y = DIABETES
    leak = seepage.measure(NUMBERS[1].fit(X, y), X, y, groups="sex")
    said = leak.summary()
    assert "computes the outcome of 442 of 442 people (100.0%) exactly" in said
    assert "in the order of the training table" in said
    assert len(leak.most_exposed(3)) == 3
    assert leak.leaves()["people"].min() == 10
    with pytest.raises(UnansweredError, match="no error floor"):
        leak.error_floor()


def test_other_rows_and_leaf_values_are_refused():
    X, y = DIABETES
    model, ill = NUMBERS[1].fit(X, y), y > 140
    balanced = RandomForestClassifier(3, class_weight="balanced").fit(X, ill)
    weighing = xgboost.XGBClassifier(n_estimators=3, scale_pos_weight=3, n_jobs=1).fit(X, ill)
    unseeded = RandomForestRegressor(1).fit(X, y)
    unseeded.estimators_[0].random_state = None
    for words, refused, given in (
        ("in the order in which the model was fitted", model, {"X": X.iloc[::-1], "y": y.iloc[::-1]}),
        ("fitted on 442 rows, and X has 400", model, {"X": X[:400], "y": y[:400]}),
        ("another value", model, {"y": y + 1}),
        ("y has no number in row 7", NUMBERS[6].fit(X, y), {"y": y.where(y.index != 7)}),
        ("noise_scale is not answered for trees", model, {"noise_scale": 1.0}),
        ("bootstrap=False", model, {"sample_weight": np.ones(442)}),
        ("bootstrap=False", balanced, {"y": ill}),
        ("give these weights in sample_weight", weighing, {"y": ill}),
        ("seeds of this model were deleted", unseeded, {}),
        ("one row for each person", model, {"ids": np.arange(442) // 2}),
        ("with the rows and outcomes", model, {"y": None}),
        ("are no means", RandomForestRegressor(3, criterion="absolute_error"), {}),
        ("cannot be drawn again", GradientBoostingRegressor(subsample=0.5), {}),
        ("leaves rows out", GradientBoostingRegressor(n_iter_no_change=3), {}),
        ("not measured", GradientBoostingRegressor(loss="huber"), {}),
        ("early_stopping=False", HistGradientBoostingRegressor(early_stopping=True), {}),
        ("another value", xgboost.XGBRegressor(objective="reg:absoluteerror", n_estimators=5, n_jobs=1), {}),
        ("draws rows", xgboost.XGBRegressor(subsample=0.5, n_estimators=5, n_jobs=1), {}),
        ("draws rows", lightgbm.LGBMRegressor(verbose=-1, bagging_fraction=0.5, bagging_freq=1, n_jobs=1), {}),
    ):
        fitted = refused if hasattr(refused, "n_features_in_") else refused.fit(X, y)
        with pytest.raises((InputError, UnsupportedError), match=words):
            seepage.measure(fitted, **{"X": X, "y": y, **given})
    with pytest.raises(NotFittedError):
        seepage.measure(lightgbm.LGBMRegressor(), X, y)


def test_weights_are_known():
    X, y = DIABETES
    weight = np.random.default_rng(0).integers(0, 4, 442).astype(float)
    for model in (ExtraTreesRegressor(30, min_samples_leaf=10, random_state=0), HistGradientBoostingRegressor()):
        leak = seepage.measure(model.fit(X, y, sample_weight=weight), X, y, sample_weight=weight)
        assert leak.share > 0.9 * (weight > 0).mean()
        assert leak.leaves()["people"].sum() == (weight > 0).sum() * leak.fitted.leaves.shape[1]
        assert (leak.values_left("age")["values_left"][weight == 0] == X["age"].nunique()).all()
        with pytest.raises(InputError, match="another value"):
            seepage.measure(model, X, y)


def test_splits_that_lead_back_are_refused():
    X, y = DIABETES
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    state = tree.tree_.__getstate__()
    state["nodes"]["left_child"][1] = 0
    tree.tree_.__setstate__(state)
    with pytest.raises(InputError, match="leads to no node below it"):
        seepage.measure(tree, X, y)


@pytest.mark.parametrize("model", NUMBERS[4:] + CLASSES[4:], ids=_named)
def test_boosted_models_without_splits_or_with_leaves_of_one_size(model):
    y = (DIABETES[1] > 140).astype(int)
    for groups in (1, 2):
        X = pd.DataFrame({"group": np.arange(442) % groups})
        leak = seepage.measure(clone(model).fit(X, y), X, y)
        assert leak.equations_per_person == pytest.approx(groups / 442)


def test_a_class_of_one_person_has_an_outside_model():
    X, y = DIABETES[0], np.where(np.arange(442) == 3, "rare", "usual")
    leak = seepage.measure(ExtraTreesClassifier(3, max_depth=2, random_state=0).fit(X, y), X, y)
    assert (leak.recovered().outside_guesses == "usual").all()
