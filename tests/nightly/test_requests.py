"""A request of twelve outputs about everybody in Adult."""

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from requests_made import regression, table

from experiments.datasets import load_adult
from seepage.execution.storage import shown_on
from seepage.request import check

_SECONDS = 120


@pytest.fixture(scope="module")
def adult():
    found = load_adult()
    people = pd.DataFrame(found.data).rename(columns=lambda name: name.replace("-", "_"))
    people = people[["age", "sex", "race", "education_num", "hours_per_week", "relationship"]].copy()
    people["rich"] = np.asarray(found.target)
    people.insert(0, "id", np.arange(len(people)))
    return people


def _twelve(folder: Path, people: pd.DataFrame) -> None:
    hours, rich = "hours_per_week ~ age + education_num", "rich ~ age + education_num"
    regression(folder / "hours", people, hours)
    regression(folder / "hours_rich", people, f"{hours} + rich")
    regression(folder / "hours_men", people, hours, where="sex == 'Male'")
    regression(folder / "rich", people, rich, "binomial")
    regression(folder / "rich_women", people, rich, "binomial", where="sex == 'Female'")
    table(folder / "table_1", people, of=["age", "hours_per_week"], by=["sex"], statistics=["mean", "count"])
    table(folder / "table_2", people, of=["rich"], by=["race"], statistics=["share", "count"])
    table(folder / "table_3", people, of=["age"], by=["rich"], statistics=["mean", "sd", "count"])
    table(folder / "table_4", people, by=["sex", "race"], statistics=["count"])
    table(folder / "table_5", people, of=["hours_per_week"], by=["relationship"], statistics=["mean", "count"])
    table(folder / "table_6", people, where="age >= 50", of=["rich"], by=["sex"], statistics=["share", "count"])
    table(folder / "table_7", people, where="age < 50", of=["education_num"], by=["sex"], statistics=["mean", "count"])


def test_twelve_outputs_are_checked_in_two_minutes_with_progress(adult, tmp_path):
    from contextlib import contextmanager

    _twelve(tmp_path, adult)
    told = []

    @contextmanager
    def display(what, units):
        yield lambda more: told.append((what, more, units))

    start = time.monotonic()
    with shown_on(display):
        found = check(tmp_path, people=adult)
    passed = time.monotonic() - start
    assert found.word == "pass"
    assert [each.word for each in found.outputs] == ["pass"] * 12
    assert sum(what == "outputs" for what, _, _ in told) == 12
    assert passed < _SECONDS


def test_one_person_more_among_thirty_thousand_is_found(adult, tmp_path):
    regression(tmp_path / "before", adult, "hours_per_week ~ age + education_num", where="id != 7")
    regression(tmp_path / "after", adult, "hours_per_week ~ age + education_num")
    table(tmp_path / "table", adult, of=["age"], by=["sex"], statistics=["mean", "count"])
    found = check(tmp_path, people=adult)
    assert found.word == "fail"
    assert {person for each in found.findings for person in each.people} == {7}
    assert all(set(each.pair) == {"before", "after"} for each in found.findings)
