"""Rows of few digits are found in tables, and what has the same values in another order is not."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import seepage


@pytest.fixture
def people():
    rng = np.random.default_rng(1)
    n = 400
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "bmi": rng.normal(27, 4, n).round(1),
            "cholesterol": rng.normal(5, 1, n).round(1),
            "smoker": rng.integers(0, 2, n),
        }
    )


WRITTEN = {
    "records.json": lambda some: json.dumps(some.to_dict("records")).encode(),
    "columns.json": lambda some: json.dumps(some.to_dict("list")).encode(),
    "table.csv": lambda some: some.to_csv(index=False).encode(),
    "other-order.csv": lambda some: some[["cholesterol", "smoker", "age", "bmi"]].to_csv(index=False).encode(),
    "no-header.csv": lambda some: some.to_csv(index=False, header=False).encode(),
    "table.txt": lambda some: some.to_string().encode(),
    "table.html": lambda some: some.to_html().encode(),
    "frame.pkl": pickle.dumps,
    "array.pkl": lambda some: pickle.dumps(some.to_numpy()),
    "lists.pkl": lambda some: pickle.dumps(some.to_numpy().tolist()),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_twenty_people_are_found_whose_values_are_nobodys_alone(name, people, tmp_path):
    some = people.sample(20, random_state=3)
    (tmp_path / name).write_bytes(WRITTEN[name](some))
    found = seepage.inspect(tmp_path / name, people)
    assert found.verdict == "fail"
    assert max(each.people for each in found.findings if each.kind == "rows") >= 18


@pytest.mark.parametrize("name", WRITTEN)
def test_the_same_values_of_other_people_are_no_rows(name, people, tmp_path):
    rng = np.random.default_rng(5)
    some = people.sample(60, random_state=3).apply(lambda column: rng.permutation(column))
    (tmp_path / name).write_bytes(WRITTEN[name](some))
    found = seepage.inspect(tmp_path / name, people)
    assert not [each for each in found.findings if each.kind == "rows"]


def test_a_table_of_counts_is_no_row_of_anybody(people, tmp_path):
    table = people.groupby(people["age"] // 10).agg(["mean", "count"]).round(1)
    (tmp_path / "table.csv").write_text(table.to_csv())
    assert seepage.inspect(tmp_path / "table.csv", people).verdict == "pass"
