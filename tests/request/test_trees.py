"""Files of trees in a request."""

import json

import pytest
import skops.io
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from seepage.request import check

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
PEOPLE = X.assign(disease=Y, id=range(len(X)))
COLUMNS = str([*X.columns])


def _decided(folder, says=f'outcome = "disease"\ncolumns = {COLUMNS}', people=PEOPLE):
    for path in folder.iterdir():
        path.with_suffix(".toml").write_text(says)
    verdict = check(folder, people=people)
    (output,) = verdict.outputs
    return output.word, " ".join(output.reasons)


@pytest.mark.parametrize("name", ["model.skops", "boosted.skops", "model.json", "model.ubj", "model.txt"])
def test_a_model_that_gives_outcomes_away_fails(tmp_path, name):
    path = tmp_path / name
    if name == "model.skops":
        skops.io.dump(
            RandomForestRegressor(30, min_samples_leaf=10, max_features=1 / 3, random_state=0).fit(X, Y), path
        )
    elif name == "boosted.skops":
        skops.io.dump(HistGradientBoostingRegressor().fit(X, Y), path)
    elif name == "model.txt":
        lightgbm.LGBMRegressor(verbose=-1, n_jobs=1).fit(X, Y).booster_.save_model(path)
    else:
        xgboost.XGBRegressor(n_estimators=100, max_depth=3, n_jobs=1).fit(X, Y).save_model(path)
    word, reasons = _decided(tmp_path)
    assert word == "fail"
    assert "computes the outcome of 442 of 442 people exactly" in reasons
    assert ("min_samples_leaf=20" in reasons or "no outcome comes back" in reasons) == name.endswith("skops")


def test_sacro_has_the_verdict_and_a_file_without_words_says_what_it_needs(tmp_path):
    folder = tmp_path / "request"
    folder.mkdir()
    xgboost.XGBRegressor(n_estimators=5, n_jobs=1).fit(X, Y).save_model(folder / "model.json")
    (output,) = check(folder, people=PEOPLE).outputs
    assert "a boosted model (.json, .ubj) needs a TOML file" in " ".join(output.reasons)
    (folder / "model.toml").write_text(f'outcome = "disease"\ncolumns = {COLUMNS}')
    check(folder, people=PEOPLE).to_sacro(tmp_path / "sacro")
    record = json.loads((tmp_path / "sacro" / "results.json").read_text())["results"]["model"]
    assert (record["status"], record["properties"]["method"]) == ("fail", "5 trees of disease")


def test_an_unknown_order_is_for_review(tmp_path):
    skops.io.dump(RandomForestRegressor(30, min_samples_leaf=10, random_state=0).fit(X, Y), tmp_path / "a.skops")
    word, reasons = _decided(tmp_path, 'outcome = "disease"\norder = "not known"')
    assert word == "review"
    assert "the order of the training table" in reasons
    assert "holds the seed" in reasons


def test_a_small_tree_has_nothing_found(tmp_path):
    tree = DecisionTreeRegressor(min_samples_leaf=40, splitter="random", random_state=0).fit(X, Y)
    skops.io.dump(tree, tmp_path / "a.skops")
    word, reasons = _decided(tmp_path)
    assert (word, "what they give away is not checked" in reasons.lower()) == ("review", True)
    skops.io.dump(DecisionTreeRegressor(min_samples_leaf=3, random_state=0).fit(X, Y), tmp_path / "a.skops")
    word, reasons = _decided(tmp_path)
    assert word == "fail"
    assert "The smallest leaf has 3 different people" in reasons


def test_other_people_are_not_decided_about(tmp_path):
    skops.io.dump(RandomForestRegressor(3, random_state=0).fit(X, Y), tmp_path / "a.skops")
    word, reasons = _decided(tmp_path, people=PEOPLE.iloc[::-1])
    assert word == "review"
    assert "hold another value than these rows give" in reasons
    word, reasons = _decided(tmp_path, 'outcome = "ill"')
    assert (word, "no column 'ill'" in reasons) == ("review", True)
    word, reasons = _decided(tmp_path, 'outcome = "disease"\nby = ["sex"]')
    assert (word, "says nothing of trees" in reasons) == ("review", True)


@pytest.mark.parametrize("model", [SVR(C=100.0), make_pipeline(StandardScaler(), GaussianProcessRegressor())])
def test_models_that_hold_records_fail(tmp_path, model):
    skops.io.dump(model.fit(X, Y), tmp_path / "a.skops")
    word, reasons = _decided(tmp_path)
    assert word == "fail"
    # Types of a Gaussian process are not read, and its records are found in the file.
    assert ("It holds the records of" in reasons) == isinstance(model, SVR)
    assert "values of 442 people" in reasons or isinstance(model, SVR)


@pytest.mark.parametrize("labels", [(1, 2), ("ill", "well")])
def test_files_number_classes_in_their_order(tmp_path, labels):
    disease = (Y > 140).astype(int).map(dict(enumerate(labels)))
    lightgbm.LGBMClassifier(verbose=-1, n_jobs=1).fit(X, disease).booster_.save_model(tmp_path / "a.txt")
    assert _decided(tmp_path, people=PEOPLE.assign(disease=disease))[0] == "fail"
