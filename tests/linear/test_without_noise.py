"""`measure` without noise: who is answered, what is refused, and in which words."""

import json
import secrets

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import GammaRegressor, Lasso, LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import seepage
from seepage.errors import InputError, UnansweredError, UnsupportedError

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
SMALL = X[["age", "sex", "bmi", "bp"]]


@pytest.fixture(scope="module")
def leak():
    return seepage.measure(LinearRegression().fit(SMALL, Y), SMALL, Y)


def test_without_noise_the_answer_is_normal_and_prints_a_table_by_attacker(leak):
    assert leak.assurance == "approximate"
    text = str(leak)
    assert max(map(len, text.splitlines())) <= 80
    for attacker in ("population", "covariates", "half", "all other records"):
        assert attacker in text
    assert "no bound" in text
    assert "residual degrees of freedom: 437" in text


def test_words_of_bounds_are_not_used(leak):
    for text in (str(leak), leak.statement().text(), leak.statement().to_json(), *leak.assumptions):
        for word in ("at least as", "pins", "floor", "guarantees", "certified", "promise"):
            assert word not in text


def test_whoever_knows_more_errs_less(leak):
    before = np.inf
    for known in (0, 100, 0.5, 380):
        error = leak.against(known).error_floor()["age"].min()
        assert error < before
        before = error


def test_beside_everybody_nothing_protects_without_noise(leak):
    everybody = leak.against("all")
    assert np.isinf(everybody.attributes["age"]).all()
    assert (everybody.error_floor()["age"] == 0).all()


def test_what_nothing_protects_is_told_before_any_condition():
    # Twenty people are too few for anything to be claimed; who knows all covariates reads them off standard errors.
    found = seepage.measure(LinearRegression().fit(SMALL[:20], Y[:20]), SMALL[:20], Y[:20])
    assert found.attributes["age"].isna().all()
    registry = found.against("covariates")
    assert np.isinf(registry.attributes["age"]).all()
    assert (registry.error_floor(prior="data")["age"] == 0).all()


def test_added_noise_and_other_people_count_together():
    model = LinearRegression().fit(SMALL, Y)
    alone = seepage.measure(model, SMALL, Y, published=["coefficients"])
    noisy = seepage.measure(model, SMALL, Y, published=["coefficients"], noise_scale=0.5, known_records=0)
    exact = seepage.measure(model, SMALL, Y, noise_scale=0.5)
    assert (noisy.attributes["age"] < alone.attributes["age"]).all()
    assert (noisy.attributes["age"] < exact.attributes["age"]).all()
    tiny = seepage.measure(model, SMALL, Y, published=["coefficients"], noise_scale=1e-9, known_records=0)
    np.testing.assert_allclose(tiny.attributes["age"], alone.attributes["age"], rtol=1e-6)


def test_noise_with_everybody_known_is_as_before():
    model = LinearRegression().fit(SMALL, Y)
    one = seepage.measure(model, SMALL, Y, noise_scale=0.5, known_records="all")
    two = seepage.measure(model, SMALL, Y, noise_scale=0.5)
    assert one.assurance == "exact"
    np.testing.assert_array_equal(one.attributes, two.attributes)


def test_standard_errors_tell_more_than_coefficients_alone(leak):
    alone = seepage.measure(LinearRegression().fit(SMALL, Y), SMALL, Y, published=["coefficients"])
    assert (leak.attributes["age"] ** 2).median() > 1.5 * (alone.attributes["age"] ** 2).median()


def test_somebody_alone_with_a_level_is_told():
    rows = SMALL.assign(rare=0.0)
    rows.loc[5, "rare"] = 1.0
    found = seepage.measure(LinearRegression().fit(rows, Y), rows, Y)
    assert np.isinf(found.attributes.loc[5, "age"])
    assert found.error_floor().loc[5, "age"] == 0
    assert "Nothing protects age of 1 person" in str(found)
    # Of the others nothing is claimed: one person is too few to hide anybody with the level.
    assert found.not_assessed().loc[7, "age"] == "too few unknown people with one value"


def test_sixteen_digits_leave_nothing_to_claim(leak):
    # Twelve digits of a few numbers are less than all that is unknown; sixteen were never rounded.
    for digits, why in (("12 significant", ""), ("16 significant", "the printed digits say more than is unknown")):
        found = seepage.measure(LinearRegression().fit(SMALL, Y), SMALL, Y, digits=digits)
        assert (found.not_assessed()["age"] == why).all()
    rows = pd.DataFrame({"a": (np.arange(60) % 2).astype(float), "b": (np.arange(60) % 3).astype(float)})
    yes = pd.Series((np.arange(60) % 5 < 2).astype(int), name="yes")
    model = LogisticRegression(C=10.0, tol=1e-12, max_iter=10_000).fit(rows, yes)
    assert (seepage.measure(model, rows, yes).not_assessed()["a"] == "").all()
    exact = seepage.measure(model, rows, yes, digits="12 significant")
    assert (exact.not_assessed()["a"] == "the printed digits say more than is unknown").all()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Lasso(alpha=1.0), "L1 penalty"),
        (RidgeCV(), "chosen with these rows by RidgeCV"),
        (make_pipeline(MinMaxScaler(), Ridge()), "'minmaxscaler'"),
        (make_pipeline(PCA(2), Ridge()), "'pca'"),
        (make_pipeline(SimpleImputer(strategy="median"), Ridge()), "'simpleimputer'"),
    ],
)
def test_what_the_rows_chose_is_refused(model, said):
    with pytest.raises(UnsupportedError, match=said):
        seepage.measure(model.fit(SMALL, Y), SMALL, Y)


def test_balanced_classes_are_a_choice_that_the_rows_made():
    high = (Y > 140).astype(int)
    model = LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=10_000).fit(SMALL, high)
    with pytest.raises(UnsupportedError, match="balanced"):
        seepage.measure(model, SMALL, high)


def test_outcomes_of_families_are_not_modeled(leak):
    model = LinearRegression().fit(SMALL, Y)
    found = seepage.measure(model, SMALL, Y, clusters=np.arange(442) // 2)
    with pytest.raises(UnansweredError, match="covariates"):
        found.against("covariates").attributes  # noqa: B018
    assert "covariates" not in str(found)


def test_what_everybody_may_know_is_no_choice_of_the_rows():
    model = make_pipeline(MinMaxScaler(), Ridge()).fit(SMALL, Y)
    assert seepage.measure(model, SMALL, Y, public_preprocessing=["minmaxscaler"]).assurance == "approximate"


def test_weights_that_may_stand_for_several_people_are_refused():
    weights = np.where(SMALL["sex"] == 1, 2, 1)
    with pytest.raises(InputError, match="may be counts of people"):
        seepage.measure(LinearRegression().fit(SMALL, Y, weights), SMALL, Y, sample_weight=weights)


def test_who_asks_for_a_bound_is_refused(leak, tmp_path):
    exact = seepage.measure(LinearRegression().fit(SMALL, Y), SMALL, Y, noise_scale=1.0)
    ledger = seepage.ledger.Ledger.create(tmp_path / "ledger", key=secrets.token_bytes(32), eta=1.0)
    for ask in (
        lambda: leak.privacy_measures(),
        lambda: seepage.calibrate(leak, error_floor={"age": 5.0}, shape="isotropic").scale,
        lambda: seepage.compose([exact, leak]),
        lambda: seepage.Report.of(leak, "internal"),
        lambda: ledger.post(leak, title="a table"),
    ):
        with pytest.raises(UnansweredError, match="averages"):
            ask()


def test_a_statement_is_no_certificate(leak, tmp_path):
    (tmp_path / "model").write_bytes(b"anything")
    (tmp_path / "statement.json").write_text(leak.statement().to_json())
    with pytest.raises(InputError):
        seepage.certify(tmp_path / "model", tmp_path / "statement.json")
    told = json.loads(leak.statement().to_json())
    assert told["kind"] == "statement about attackers who use averages"
    assert told["people"] == 442


def test_others_needed_at_random_and_chosen_stand_side_by_side(leak):
    found = leak.records_needed(error_floor={"age": 11.0})
    assert list(found.columns) == ["age, random", "age, chosen"]
    assert (found["age, chosen"] <= found["age, random"]).all()
    # With so many known at random the guess is that bad, and with more nothing is claimed or it is better.
    person = int(found["age, random"].idxmin())
    known = int(found.loc[person, "age, random"])
    assert leak.against(known).error_floor(prior="data").loc[person, "age"] > 10.9


def test_a_family_is_one(leak):
    twice = pd.concat([SMALL, SMALL], ignore_index=True)
    labels = pd.concat([Y, Y], ignore_index=True)
    model = LinearRegression().fit(twice, labels)
    naive = seepage.measure(model, twice, labels)
    honest = seepage.measure(model, twice, labels, clusters=np.tile(np.arange(len(X)), 2))
    assert honest.information.attacker.others == 441
    assert (honest.attributes["age"] != naive.attributes["age"]).all()


def test_people_with_several_rows_are_left_out_with_all_of_them():
    ids = np.arange(len(X)) // 2
    rows = SMALL.assign(sex=SMALL["sex"].to_numpy()[2 * ids])
    found = seepage.measure(LinearRegression().fit(rows, Y), rows, Y, ids=ids)
    assert found.information.count == 221
    assert found.information.attacker.others == 220
    one = seepage.measure(LinearRegression().fit(rows, Y), rows, Y)
    assert found.attributes["sex"].median() > one.attributes["sex"].median()


def test_the_rounded_table_has_the_digits_that_were_counted(leak):
    table = leak.rounded_table()
    assert np.allclose(table["value"] / table["step"], np.round(table["value"] / table["step"]))
    ratio = table["step"] / leak.information.printed.sampling
    assert ((ratio >= 0.1 - 1e-9) & (ratio <= 0.25 + 1e-9)).all()


@pytest.mark.parametrize("known", [-1, 442, 1.0, "some", True])
def test_what_an_attacker_holds_must_make_sense(leak, known):
    with pytest.raises(InputError, match="known_records"):
        leak.against(known)


def test_of_gamma_outcomes_nothing_is_said_to_who_knows_all_covariates():
    cost = np.exp(0.01 * SMALL["bmi"]) * np.random.default_rng(0).gamma(3.0, 1.0, len(SMALL))
    found = seepage.measure(GammaRegressor(alpha=0, tol=1e-12, max_iter=10_000).fit(SMALL, cost), SMALL, cost)
    assert "covariates" not in str(found)
    with pytest.raises(UnansweredError, match="how its outcome scatters"):
        found.against("covariates").attributes  # noqa: B018


def test_a_category_of_people_with_several_rows_is_told_as_often_as_first_order_says_of_all_their_rows():
    random = np.random.default_rng(3)
    person = np.repeat(np.arange(200), 2)
    rows = pd.DataFrame({"dose": random.normal(size=400), "sex": random.choice(["f", "m"], 200)[person]})
    y = rows["dose"] + (rows["sex"] == "m") + random.normal(size=400)
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(drop="first"), ["sex"]), remainder="passthrough"), LinearRegression()
    ).fit(rows, y)
    leak = seepage.measure(model, rows, y, ids=person)
    assert "200 people" in str(leak)
    found = leak.success_rate("sex")
    assert len(found) == 200
    assert found["success_rate"].between(0.5, 0.8).all()
    # Of several doses at once nothing is said, and least of all that digits leave all of them.
    assert leak.by_attacker().columns[-1].cells["dose"].claimed == 0.0
    # Somebody whose rows differ has no value that is told from another.
    mixed = rows.assign(sex=np.where(np.arange(400) == 1, "x", rows["sex"]))
    mixed["sex"] = mixed["sex"].replace("x", "m" if rows["sex"][0] == "f" else "f")
    other = seepage.measure(model.fit(mixed, y), mixed, y, ids=person)
    assert len(other.success_rate("sex")) == 199


@pytest.mark.parametrize("beside", [{"digits": 3}, {"clusters": np.arange(442)}, {"known_group_sizes": ["sex"]}])
def test_what_is_about_others_is_refused_where_everybody_else_is_known(beside):
    with pytest.raises(InputError, match="or say known_records="):
        seepage.measure(LinearRegression().fit(SMALL, Y), SMALL, Y, noise_scale=1.0, **beside)
