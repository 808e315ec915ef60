"""A filter in words: the rows that a model was fitted on, of all that are given."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression, Ridge

import seepage
from seepage._tables import Table
from seepage._where import kept
from seepage.engines import Job, Local
from seepage.errors import InputError
from seepage.execution.storage import _files

JOB = Job(Local(workers=1), progress=False)


DAYS = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(6), "D")
KINDS = {
    "days": (DAYS, "2024-01-03", [2]),
    "days as objects": (pd.Series([*DAYS.date[:5], None], dtype=object), "2024-01-03", [2]),
    "times": (DAYS + pd.Timedelta(hours=1), "2024-01-03T01:00", [2]),
    "times in a zone": (DAYS.tz_localize("Europe/Berlin"), "2024-01-03T00:00:00+01:00", [2]),
    "nanoseconds": (DAYS.as_unit("ns"), "'2024-01-03'", [2]),
    "decimals": (pd.Series([Decimal(i) for i in range(6)], dtype=object), "2.0", [2]),
    "whole numbers": (pd.Series(2**53 + np.arange(6)), str(2**53 + 2), [2]),
    "nullable numbers": (pd.array([5, None, 2, 7, 8, 9], dtype="Int64"), "2", [2]),
    "nullable truth": (pd.array([None, True, False, True, False, None], dtype="boolean"), "true", [1, 3]),
    "text": (pd.array(["a", None, "b", "03", "3", ""], dtype="string"), "3", [4]),
    "numbers beside words": (pd.Series([1, "2", 2, "x", None, 3.5], dtype=object), "2", [1, 2]),
}


@pytest.mark.parametrize("name", KINDS)
def test_values_are_compared_as_what_they_are(name):
    column, written, equal = KINDS[name]
    given = pd.DataFrame({"column": column, "y": 0})
    present = np.flatnonzero(given["column"].notna())
    frames = [given] if name == "numbers beside words" else [given, pa.Table.from_pandas(given)]
    for frame in (Table.of(each) for each in frames):
        assert kept(f"column == {written}", frame).tolist() == equal
        assert kept(f"column != {written}", frame).tolist() == sorted({*present} - {*equal})


@pytest.mark.parametrize("name", ["days", "days as objects", "times", "times in a zone", "nanoseconds", "decimals"])
def test_dates_and_decimals_have_an_order(name):
    column, written, _ = KINDS[name]
    frame = Table.of(pd.DataFrame({"column": column}))
    # The third of them, of whom the last of some is missing, is asked for.
    last = 6 - int(frame.column("column")[-1] is None)
    for test, expected in {"<": range(2), "<=": range(3), ">": range(3, last), ">=": range(2, last)}.items():
        assert kept(f"column {test} {written}", frame).tolist() == list(expected)


def test_a_date_far_ahead_is_later_than_others():
    frame = Table.of(pd.DataFrame({"until": DAYS.as_unit("ns")}))
    assert len(kept("until < 9999-12-31", frame)) == 6


@pytest.mark.parametrize(
    ("column", "where", "message"),
    [
        (DAYS, "column != yesterday", "2026-11-01"),
        ([True, False], "column != yes", "true or false"),
        ([1, 2], "column == two", "which is none"),
        ([b"a", b"b"], "column != a", "holds bytes: only numbers, text, dates"),
        (DAYS - DAYS[0], "column != 1", "holds timedelta64: only"),
        (["a", "b"], "column > a", "neither a number nor a date"),
    ],
)
def test_what_cannot_be_compared_is_refused(column, where, message):
    frame = Table.of(pd.DataFrame({"column": column}))
    with pytest.raises(InputError, match=message):
        kept(where, frame)


def _people():
    rng = np.random.default_rng(0)
    found = pd.DataFrame({"age": rng.integers(20, 80, 600), "dose": rng.gamma(4.0, 0.5, 600)})
    found["site"] = pd.Categorical(rng.choice(["north", "south", "west"], 600))
    found["smokes"] = pd.Series(rng.random(600) < 0.3, dtype=object).where(rng.random(600) < 0.9, None)
    found["income"] = np.where(rng.random(600) < 0.1, np.nan, rng.normal(30.0, 5.0, 600))
    found["y"] = 0.02 * found["age"] - 0.3 * found["dose"] + rng.normal(size=600)
    found.index = pd.Index([f"p{i}" for i in range(600)], name="id")
    return found


PEOPLE = _people()
X = PEOPLE[["age", "dose"]]
FILTERS = {
    "age >= 50": PEOPLE["age"] >= 50,
    "site == north": PEOPLE["site"] == "north",
    "site == 'south' and age < 40 or site == west": (PEOPLE["site"] == "west")
    | ((PEOPLE["site"] == "south") & (PEOPLE["age"] < 40)),
    "site != north or age < 30": (PEOPLE["site"] != "north") | (PEOPLE["age"] < 30),
    "smokes == true": PEOPLE["smokes"] == True,  # noqa: E712
    "smokes != true": PEOPLE["smokes"] == False,  # noqa: E712
    "income > 30": PEOPLE["income"] > 30,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("people")
    # The first file has nobody in the north, and is left out by that filter altogether.
    order = PEOPLE.assign(north=PEOPLE["site"] == "north").sort_values("north", kind="stable").drop(columns="north")
    for i in range(3):
        order[200 * i : 200 * (i + 1)].reset_index().to_parquet(found / f"{i}.parquet", row_group_size=90, index=False)
    return found


@pytest.mark.parametrize("where", FILTERS)
@pytest.mark.parametrize("noise", [None, 0.1])
def test_a_filter_is_the_rows_that_it_keeps(where, noise, folder, tmp_path):
    inside = FILTERS[where].to_numpy()
    model = Ridge(alpha=1.0).fit(X[inside], PEOPLE["y"][inside])
    alone = seepage.measure(model, X[inside], PEOPLE["y"][inside], noise_scale=noise)
    among = seepage.measure(model, PEOPLE, PEOPLE["y"], where=where, noise_scale=noise)
    pd.testing.assert_frame_equal(among.examples, alone.examples, rtol=1e-12)
    job = JOB if noise is None else Job(Local(workers=1), output=tmp_path / "out", progress=False)
    files = seepage.measure(model, folder, target="y", ids="id", where=where, noise_scale=noise, job=job)
    found = files.examples if noise is None else files.examples.to_table()
    found = found.to_pandas().set_index("id")
    assert set(found.index) == set(PEOPLE.index[inside])
    np.testing.assert_allclose(found["eta"], alone.examples.loc[found.index, "eta"], rtol=1e-9)
    told = "It is about people with"
    assert all(told in " ".join(each.sentence() for each in leak.information.assumptions) for leak in (among, files))


def test_the_most_exposed_are_found_where_they_are_said_to_be(folder, monkeypatch):
    # Several units a file.
    monkeypatch.setattr(_files, "_UNIT_BYTES", 1)
    where = "age >= 50"
    inside = FILTERS[where].to_numpy()
    model = Ridge(alpha=1.0).fit(X[inside], PEOPLE["y"][inside])
    files = seepage.measure(model, folder, target="y", ids="id", where=where, noise_scale=0.1, job=JOB)
    found = files.most_exposed(100).to_pandas()
    assert len({*found["file"]}) > 1
    for file, part in found.groupby("file"):
        held = pd.read_parquet(file)["id"]
        assert held.iloc[part["row"]].tolist() == part["id"].tolist()


def test_rows_that_a_filter_keeps_are_fitted(folder):
    inside = FILTERS["income > 30"]
    expected = LinearRegression().fit(X[inside], PEOPLE["y"][inside])
    for rows in ({"X": folder, "target": "y", "job": JOB}, {"X": PEOPLE, "y": PEOPLE["y"]}):
        found = seepage.engines.fit(LinearRegression(), where="income > 30", features=["age", "dose"], **rows)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("age >= 500", "keeps nobody of 600 people"),
        ("ages >= 50", "ages"),
        ("age >= old", "which is none"),
        ("age >= 50 & dose < 2", "column of numbers"),
        ("(age >= 50", "brackets"),
        ("__import__('os').system('true') == 1", "brackets"),
        ("age is 3", "no comparison"),
        ("age", "no comparison"),
        (3, "filter in words"),
    ],
)
def test_what_is_no_filter_is_told_where_the_rows_are_and_before_they_are_read(where, message, folder):
    model = LinearRegression().fit(X, PEOPLE["y"])
    with pytest.raises(InputError, match=message):
        seepage.measure(model, PEOPLE, PEOPLE["y"], where=where)
    with pytest.raises(InputError, match=message):
        seepage.measure(model, folder, target="y", where=where, job=JOB)


def test_who_knows_its_rows_takes_no_filter():
    import statsmodels.api as sm

    results, table = sm.OLS(PEOPLE["y"], X.assign(one=1.0)).fit(), seepage.models.Aggregate(of=["dose"]).fit(PEOPLE)
    with pytest.raises(InputError, match="know the rows"):
        seepage.measure(results, where="age >= 50")
    model = LinearRegression().fit(X.to_numpy(), PEOPLE["y"])
    with pytest.raises(InputError, match="give X as a data frame"):
        seepage.measure(model, X.to_numpy(), PEOPLE["y"], where="age >= 50")
    with pytest.raises(InputError, match="is said where it is made"):
        seepage.measure(table, PEOPLE, where="age >= 50")


def test_an_error_says_among_which_rows_it_counts(tmp_path):
    people = PEOPLE.reset_index().drop(columns="smokes")
    model = Ridge().fit(X[PEOPLE["age"] >= 50], PEOPLE["y"][PEOPLE["age"] >= 50])
    kept = np.flatnonzero(people["age"] >= 50)
    people.loc[kept[3], "dose"] = np.inf
    people.to_parquet(tmp_path / "people.parquet", index=False)
    with pytest.raises(
        InputError, match=r"parquet, of the rows that where='age >= 50' keeps: X is infinite in row 3, column 'dose'"
    ):
        seepage.measure(model, tmp_path, target="y", ids="id", where="age >= 50", noise_scale=1.0, job=JOB)
