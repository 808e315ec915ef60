"""What is found in files, and what is told of it."""

import json
import os
import pickle
from decimal import Decimal

import joblib
import numpy as np
import pytest
from inspected import PEOPLE
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVR

import seepage
from seepage.errors import InputError
from seepage.inspection import Finding, Inspection

X, Y = PEOPLE[["age", "bmi", "pressure", "glucose"]], PEOPLE["lipids"]


def _found(path, value, data=PEOPLE, **options):
    path = path / "file.pkl"
    path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value))
    return seepage.inspect(path, data, **options)


def _kinds(found):
    return {each.kind for each in found.findings}


def test_formula_results_of_statsmodels_hold_the_data_they_say_they_removed(tmp_path):
    import statsmodels.formula.api as smf

    smf.ols("lipids ~ bmi + glucose", PEOPLE).fit().save(str(tmp_path / "fit.pickle"), remove_data=True)
    found = seepage.inspect(tmp_path / "fit.pickle", PEOPLE, ids="id")
    assert found.verdict == "fail"
    assert {"rows", "ids"} <= _kinds(found)
    # Whatever was in the frame, not only what the formula names.
    assert "marker" in found.findings[0].about
    assert found.findings[0].people == len(PEOPLE)


def test_array_results_of_statsmodels_do_not(tmp_path):
    import statsmodels.api as sm

    sm.OLS(Y.to_numpy(), X.to_numpy()).fit().save(str(tmp_path / "fit.pickle"), remove_data=True)
    assert seepage.inspect(tmp_path / "fit.pickle", PEOPLE).verdict == "pass"


def test_cox_models_hold_every_duration(tmp_path):
    from lifelines import CoxPHFitter
    from sksurv.linear_model import CoxPHSurvivalAnalysis
    from sksurv.util import Surv

    days = np.random.default_rng(4).integers(30, 2000, len(PEOPLE)).astype(float)
    data = PEOPLE.assign(days=days, event=1)
    fits = {
        "lifelines": CoxPHFitter(penalizer=0.1).fit(data[["bmi", "glucose", "days", "event"]], "days", "event"),
        "scikit-survival": CoxPHSurvivalAnalysis(alpha=1.0).fit(
            data[["bmi", "glucose"]], Surv.from_arrays(np.ones(len(data), dtype=bool), days)
        ),
    }
    for name, fit in fits.items():
        found = _found(tmp_path, fit, data)
        assert found.verdict == "fail", name
        assert "days" in found.findings[0].about, name


@pytest.mark.parametrize(
    "model",
    [
        KNeighborsRegressor(),
        SVR(),
        make_pipeline(StandardScaler(), KNeighborsRegressor()),
        make_pipeline(StandardScaler(), SVR()),
    ],
)
def test_neighbors_and_support_vectors_are_people(tmp_path, model):
    joblib.dump(model.fit(X, Y), tmp_path / "model.joblib")
    found = seepage.inspect(tmp_path / "model.joblib", PEOPLE)
    assert found.verdict == "fail"
    assert "stored" in _kinds(found)
    # Without anybody's data, by the class.
    without = seepage.inspect(tmp_path / "model.joblib")
    assert (without.verdict, without.findings[0].kind, without.findings[0].sure) == ("fail", "stored", "likely")


def test_thresholds_of_histograms_are_peoples_values_when_few_people_are_in_a_bin(tmp_path):
    model = HistGradientBoostingRegressor(max_iter=5).fit(PEOPLE[["income"]].head(40), Y.head(40))
    edges = model._bin_mapper.bin_thresholds_[0]
    told = _found(tmp_path, model, PEOPLE.head(40))
    assert ("rows" in _kinds(told)) == (np.isin(edges, PEOPLE["income"].head(40)).sum() >= 6)


def test_a_linear_model_passes_and_its_smallest_values_do_not(tmp_path):
    assert _found(tmp_path, make_pipeline(StandardScaler(), Ridge()).fit(X, Y)).verdict == "pass"
    found = _found(tmp_path, make_pipeline(MinMaxScaler(), Ridge()).fit(X, Y))
    assert (found.verdict, _kinds(found)) == ("review", {"single"})


def test_a_level_of_one_person_is_rare(tmp_path):
    data = PEOPLE.assign(ward=["alone", *PEOPLE["ward"][1:]])
    assert _kinds(_found(tmp_path, OneHotEncoder().fit(data[["ward"]]), data)) == {"rare"}
    assert _found(tmp_path, OneHotEncoder().fit(PEOPLE[["ward"]])).verdict == "pass"


@pytest.mark.parametrize(
    "planted",
    [
        [Decimal(str(each)) for each in PEOPLE["pressure"][:20]],
        dict(enumerate(PEOPLE["glucose"][:20])),
        [{"a": 1, "income": each} for each in PEOPLE["income"][:30].astype(int).tolist()],
        PEOPLE["age"].tolist()[100:120],
        PEOPLE["sex"].tolist()[:80],
        PEOPLE["ward"].tolist()[50:90],
        PEOPLE["glucose"].to_numpy(np.float32)[:20],
        PEOPLE["glucose"].to_numpy(">f8")[:20],
        PEOPLE["lipids"].round(3).to_numpy()[:40],
        PEOPLE["income"].to_numpy("i4")[::-1],
        PEOPLE["marker"].to_numpy()[:20].tobytes()[3:],
        pickle.dumps(PEOPLE["marker"][:20].tolist()),
        set(PEOPLE["marker"][:20]),
        -3 * PEOPLE["age"].to_numpy()[::-1] + 7.0,
    ],
    ids=lambda each: type(each).__name__,
)
def test_people_are_found_however_they_are_kept(tmp_path, planted):
    assert _kinds(_found(tmp_path, {"coef": np.arange(5.0), "extra": planted})) & {"rows", "scaled"}


def test_numbers_that_mean_something_else_are_not_people(tmp_path):
    rng = np.random.default_rng(3)
    rows = 10 * rng.normal(size=(200, 4))
    clean = {
        "counts": np.arange(100_000),
        "ages": list(range(18, 90)),
        "labels": rng.integers(0, 2, 250),
        "random": rng.normal(size=(300, 30))[:200],
        "states": rng.integers(0, 2**32, 624, dtype=np.uint32),
        "halves": np.arange(0, 200, 0.5),
        "thousands": np.arange(0, 200_000, 1000.0),
        "identity": np.eye(100),
        "decaying": np.exp(-(np.linspace(0, 60, 400) ** 1.3)),
        "kernel": np.linalg.cholesky(np.exp(-((rows[:, None] - rows) ** 2).sum(-1) / 2) + 1e-10 * np.eye(200)),
    }
    assert _found(tmp_path, clean).verdict == "pass"


def test_many_numbers_of_few_bits_coincide_with_values_of_people(tmp_path):
    weights = np.random.default_rng(5).normal(size=3_000_000).astype(np.float32)
    assert _found(tmp_path, {"weights": weights}).verdict == "pass"
    assert _kinds(_found(tmp_path, b"?" + weights.tobytes())) == {"unread"}
    weights[:20] = PEOPLE["marker"][:20]
    assert _found(tmp_path, {"weights": weights[:2_000]}).verdict == "fail"


def test_the_factor_of_a_kernel_is_not_a_scaled_column(tmp_path):
    from sklearn.datasets import load_diabetes
    from sklearn.gaussian_process import GaussianProcessRegressor

    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    factor = GaussianProcessRegressor().fit(X, y).L_
    assert _kinds(_found(tmp_path, {"factor": factor}, X)) == {"length"}


def test_what_takes_too_long_is_said(tmp_path):
    rng = np.random.default_rng(0)
    many = rng.normal(size=(30_000, 3))
    found = _found(tmp_path, rng.normal(size=(25, 10)), many)
    assert found.verdict == "review"
    assert "too many people" in found.text()
    assert _found(tmp_path, many[:25] * 3 - 1, many[:2000]).verdict == "fail"


def test_ids_are_found_as_text_and_as_numbers(tmp_path):
    assert "ids" in _kinds(_found(tmp_path, {"who": PEOPLE["id"].tolist()[:6]}, ids="id"))
    numbered = PEOPLE.assign(id=np.arange(700_000, 700_300))
    assert "ids" in _kinds(_found(tmp_path, {"who": np.arange(700_100, 700_140)}, numbered, ids="id"))
    assert _found(tmp_path, {"who": np.arange(40)}, numbered, ids="id").verdict == "pass"
    (tmp_path / "notes.md").write_text(f"We left out {PEOPLE['id'][7]} and {PEOPLE['id'][9]}, who moved.")
    assert "ids" in _kinds(seepage.inspect(tmp_path / "notes.md", PEOPLE, ids="id"))


def test_one_number_for_each_person_is_named(tmp_path):
    residuals = np.random.default_rng(1).normal(size=len(PEOPLE))
    (finding,) = _found(tmp_path, {"resid": residuals}).findings
    assert (finding.kind, finding.people, finding.word) == ("length", len(PEOPLE), "review")
    assert _kinds(_found(tmp_path, {"whose": [f"{each.hex()}" for each in residuals]})) == {"length", "unread"}
    length, uncompared = _found(tmp_path, {"resid": residuals}, None).findings
    assert (length.kind, length.sure) == ("length", "possible")
    assert "1 column of 300 values" in uncompared.sentence()


@pytest.mark.parametrize("value", ["text", {"coef": [1.5, 2.5]}])
def test_without_people_no_file_passes(tmp_path, value):
    found = _found(tmp_path, value, None)
    assert (found.verdict, _kinds(found)) == ("review", {"uncompared"})
    assert "compared with nobody" in found.text()


def test_seeds_of_trees_are_named(tmp_path):
    forest = RandomForestRegressor(30, min_samples_leaf=20, random_state=0).fit(X, Y)
    (finding,) = _found(tmp_path, forest).findings
    assert (finding.kind, finding.people, finding.word) == ("seeds", 30, "review")
    for tree in forest.estimators_:
        tree.random_state = None
    assert _found(tmp_path, forest).verdict == "pass"


@pytest.mark.parametrize("scale", [100, 0.001])
def test_values_in_another_unit_are_found_in_another_order(tmp_path, scale):
    some = PEOPLE.sample(100, random_state=2)
    assert "rows" in _kinds(_found(tmp_path, scale * some["pressure"].to_numpy()))
    assert "rows" in _kinds(_found(tmp_path, scale * some[["age", "bmi"]].to_numpy()))
    rng = np.random.default_rng(4)
    others = PEOPLE[["age", "bmi"]].apply(lambda column: rng.permutation(column))
    assert _found(tmp_path, scale * others.to_numpy()[:100]).verdict == "pass"


def test_a_folder_is_looked_through_and_paths_are_named(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "fit.txt").write_text("saved to /home/jsmith/model.pkl\n")
    PEOPLE.to_csv(tmp_path / "deep" / "rows.csv")
    found = seepage.inspect(tmp_path, PEOPLE)
    assert {"rows", "path"} <= _kinds(found)
    assert found.findings[0].where.startswith("deep/rows.csv")


def test_links_pipes_and_the_names_of_files_are_looked_at(tmp_path):
    (tmp_path / "link").symlink_to("nothing")
    os.mkfifo(tmp_path / "pipe")
    assert [seepage.inspect(each, PEOPLE).verdict for each in (tmp_path, tmp_path / "pipe")] == ["review", "review"]
    for each in PEOPLE["id"][:6]:
        (tmp_path / each).touch()
    assert "ids" in _kinds(seepage.inspect(tmp_path, PEOPLE, ids="id"))


def test_rows_of_categories_are_found_in_another_order(tmp_path):
    PEOPLE[["age", "sex", "ward"]].sample(250, random_state=1).to_csv(tmp_path / "rows.csv", index=False)
    assert _kinds(seepage.inspect(tmp_path / "rows.csv", PEOPLE)) == {"rows"}


def test_what_is_told_names_nobody(tmp_path):
    found = _found(tmp_path, PEOPLE, ids="id")
    told = found.text() + found.to_json() + found.to_sarif() + found._repr_html_()
    assert not any(each in told for each in PEOPLE["id"])
    assert not any(f"{each}" in told for each in PEOPLE["income"].astype(int))
    assert json.loads(found.to_json())["verdict"] == "fail"
    results = json.loads(found.to_sarif())["runs"][0]["results"]
    assert {each["level"] for each in results} <= {"error", "warning"}
    assert str(found).startswith("FAIL: file.pkl must not be published")


def test_every_kind_of_finding_has_its_sentence():
    from seepage.inspection._finding import RULES

    for kind in RULES:
        sentence = Finding(kind, "model.pkl", ("age",), 3).sentence()
        assert sentence.startswith("model.pkl")
        assert sentence.endswith(".")


def test_a_name_in_a_file_cannot_break_the_page(tmp_path):
    found = _found(tmp_path, {"<script>\x1b[2J": PEOPLE["marker"].to_numpy()})
    assert "<script>" not in found._repr_html_()
    assert "\x1b" not in found.text()
    assert isinstance(found, Inspection)


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        seepage.inspect(tmp_path / "nothing.pkl")
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no column of the data"):
        seepage.inspect(tmp_path / "one.csv", PEOPLE, ids="identity")


def test_data_may_be_a_file(tmp_path):
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    np.save(tmp_path / "x.npy", PEOPLE["marker"].to_numpy()[:30])
    assert seepage.inspect(tmp_path / "x.npy", tmp_path / "people.parquet").verdict == "fail"
