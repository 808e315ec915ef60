"""What is said beside an output is held against the people."""

import numpy as np
import pandas as pd
import pytest
from requests_made import said, table
from sklearn.linear_model import LinearRegression

from seepage.errors import InputError
from seepage.models import Aggregate, KaplanMeier
from seepage.request import check

RNG = np.random.default_rng(2)
PEOPLE = pd.DataFrame(
    {
        "id": np.arange(400),
        "age": RNG.integers(18, 90, 400),
        "sex": RNG.choice(["F", "M"], 400),
        "pay": RNG.normal(size=400),
    }
)


def _one(folder, people=PEOPLE):
    (found,) = check(folder, people=people).outputs
    return found


def test_a_table_of_other_people_is_said_to_be_one(tmp_path):
    table(tmp_path / "means", PEOPLE[:300], of=["pay"], by=["sex"], statistics=["mean"], decimals=4)
    found = _one(tmp_path)
    assert found.word == "fail"
    assert found.reasons[0].startswith("Not these people's numbers: mean of pay in F is")


def test_a_wrong_last_digit_is_found(tmp_path):
    table(tmp_path / "means", PEOPLE, of=["pay"], by=["sex"], statistics=["mean"], decimals=3)
    path = tmp_path / "means.csv"
    assert _one(tmp_path).word == "pass"
    right = path.read_text()
    last = right.strip()[-1]
    path.write_text(right.strip()[:-1] + str((int(last) + 2) % 10) + "\n")
    assert "Not these people's numbers: mean of pay in M is" in _one(tmp_path).reasons[0]


def test_columns_may_have_names_of_their_own(tmp_path):
    table(tmp_path / "means", PEOPLE, of=["pay"], by=["sex"], statistics=["mean"])
    path = tmp_path / "means.csv"
    path.write_text(path.read_text().replace("mean of pay", "Average pay"))
    assert _one(tmp_path).word == "pass"


def test_coefficients_of_other_people_are_said_to_be_some(tmp_path):
    (tmp_path / "model.csv").write_text('"","Estimate"\n"(Intercept)",5.0\n"age",0.3\n')
    said(tmp_path / "model", family="gaussian", formula="pay ~ age")
    found = _one(tmp_path)
    assert found.word == "fail"
    assert found.reasons[0].startswith("Not these people's numbers: ")


def test_a_formula_may_say_of_what_coefficients_are(tmp_path):
    slope, level = np.polyfit(PEOPLE["age"], PEOPLE["pay"], 1)
    (tmp_path / "model.csv").write_text(f'"","Estimate"\n"(Intercept)",{level:.5f}\n"age",{slope:.5f}\n')
    said(tmp_path / "model", family="gaussian", formula="pay ~ age")
    assert _one(tmp_path).word == "pass"


def test_a_model_of_skops_has_sixteen_digits(tmp_path):
    io = pytest.importorskip("skops.io")
    io.dump(LinearRegression().fit(PEOPLE[["age"]], PEOPLE["pay"]), tmp_path / "model.skops")
    said(tmp_path / "model", outcome="pay")
    found = _one(tmp_path)
    assert found.what == "LinearRegression of pay"
    assert (found.people, found.word) == (400, "review")
    assert [mend.kind for mend in found.mends] == ["digits"]


def test_a_key_that_says_nothing_is_quoted(tmp_path):
    table(tmp_path / "means", PEOPLE, of=["pay"], by=["sex"], statistics=["mean"])
    with (tmp_path / "means.toml").open("a") as file:
        file.write('wher = "age > 3"\n')
    assert "sets 'wher', which says nothing here. Did you mean 'where'?" in _one(tmp_path).reasons[0]


def test_a_file_that_nothing_describes_says_what_to_write(tmp_path):
    (tmp_path / "table.csv").write_text("sex,mean\nF,1\n")
    found = _one(tmp_path)
    assert not found.checked
    assert "write table.toml beside it" in found.reasons[0]


def test_people_are_read_from_files(tmp_path):
    table(tmp_path / "means", PEOPLE, of=["pay"], by=["sex"], statistics=["mean"])
    for path in (tmp_path.parent / "people.csv", tmp_path.parent / "people.parquet"):
        PEOPLE.to_csv(path, index=False) if path.suffix == ".csv" else PEOPLE.to_parquet(path)
        assert check(tmp_path, people=str(path)).word == "pass"
    with pytest.raises(InputError, match="ids is 'name', which is no column"):
        check(tmp_path, people=PEOPLE, ids="name")
    with pytest.raises(InputError, match="There is no folder"):
        check(tmp_path / "none", people=PEOPLE)


def test_a_survival_curve_is_compared_time_by_time(tmp_path):
    people = PEOPLE.assign(months=np.random.default_rng(2).exponential(20, len(PEOPLE)).round(1), died=1)
    people.loc[::3, "died"] = 0
    curve = KaplanMeier(times=[6.0, 12.0], duration="months", event="died").fit(people).frame_.round(3)
    said(tmp_path / "curve", duration="months", event="died", times=[6.0, 12.0])
    curve.to_csv(tmp_path / "curve.csv", index=False)
    assert check(tmp_path, people=people).word == "pass"
    curve.assign(survival=curve["survival"] + 0.001).to_csv(tmp_path / "curve.csv", index=False)
    assert "Not these people's numbers: survival at 6 is" in check(tmp_path, people=people).outputs[0].reasons[0]


@pytest.mark.parametrize("order", [["sex", "count", "mean"], ["sex", "mean", "count"], ["mean", "sex", "count"]])
def test_columns_may_stand_in_any_order(tmp_path, order):
    made = PEOPLE.groupby("sex")["age"].agg(["mean", "count"]).round(2).reset_index()
    said(tmp_path / "means", of=["age"], by=["sex"], statistics=["mean", "count"])
    made[order].to_csv(tmp_path / "means.csv", index=False)
    assert _one(tmp_path).word == "pass"
    made.assign(mean=made["mean"] + 0.01)[order].to_csv(tmp_path / "means.csv", index=False)
    assert "mean of age in F is" in _one(tmp_path).reasons[0]


def test_columns_under_each_others_names_are_found(tmp_path):
    made = Aggregate(of=["age", "pay"], by=["sex"], statistics=["mean"]).fit(PEOPLE).frame_.round(3)
    said(tmp_path / "means", of=["age", "pay"], by=["sex"], statistics=["mean"])
    made.rename(columns={"mean of age": "mean of pay", "mean of pay": "mean of age"}).to_csv(
        tmp_path / "means.csv", index=False
    )
    assert "Not these people's numbers: mean of pay in F is" in _one(tmp_path).reasons[0]


def test_a_file_without_a_table_is_not_known(tmp_path):
    said(tmp_path / "means", of=["age"], by=["sex"], statistics=["mean"])
    (tmp_path / "means.csv").write_text("")
    assert _one(tmp_path).reasons == ("Not checked, form not known: means.csv holds no table.",)


def test_a_table_without_a_file_is_made_from_the_people(tmp_path):
    said(tmp_path / "means", of=["pay"], by=["sex"], statistics=["mean", "count"])
    assert _one(tmp_path).word == "pass"
    said(tmp_path / "means", of=["pay"], statistics=["median"])
    assert _one(tmp_path).reasons[0].startswith("The median of pay rests on 1 person.")
