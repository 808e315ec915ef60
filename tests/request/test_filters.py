"""Tables of the people whom a filter keeps: levels are those of everybody, and one or two people are too few."""

import numpy as np
import pandas as pd
import pytest
from requests_made import said

import seepage
from seepage.errors import UnansweredError
from seepage.models import Aggregate
from seepage.request import check

RNG = np.random.default_rng(5)
PEOPLE = pd.DataFrame(
    {"id": np.arange(600), "sex": RNG.choice(["F", "M"], 600), "ward": ["east", "west", "north"] * 200}
)
PEOPLE["ill"] = np.where(PEOPLE["ward"] == "west", 1, RNG.integers(0, 2, 600))
PEOPLE["diagnosis"] = np.where(PEOPLE["ward"] == "west", "flu", RNG.choice(["cold", "flu", "none"], 600))
PEOPLE["pay"] = np.where(PEOPLE["ward"] == "west", RNG.choice([1000, 1010], 600), RNG.integers(900, 1100, 600))
WEST = PEOPLE[PEOPLE["ward"] == "west"]


def _checked(folder, made, **says):
    made.to_csv(folder / "output.csv")
    said(folder / "output", **says)
    return check(folder, people=PEOPLE).outputs[0]


@pytest.mark.parametrize("column", ["ill", "diagnosis"])
def test_a_count_by_a_column_that_is_alike_inside_a_filter_fails(tmp_path, column):
    made = WEST.groupby(["sex", column]).size().rename("count")
    found = _checked(tmp_path, made, by=["sex", column], statistics=["count"], where="ward == west")
    assert found.word == "fail"
    assert (found.figure.attribute, found.figure.value) == (column, 1.0)


def test_a_share_of_a_level_that_is_alike_inside_a_filter_fails(tmp_path):
    made = WEST.assign(share=1.0).groupby("sex")["share"].agg(["count", "mean"])
    says = {"of": ["diagnosis"], "by": ["sex"], "statistics": ["count", "share"]}
    found = _checked(tmp_path, made, **says, where="ward == west")
    assert found.word == "fail"
    assert (found.figure.attribute, found.figure.value) == ("diagnosis", 1.0)


@pytest.mark.parametrize("where", ["ward == west", "ward != west"])
def test_levels_that_the_filter_itself_names_are_known(tmp_path, where):
    made = PEOPLE.query(where.replace("west", "'west'")).groupby(["sex", "ward"]).size().rename("count")
    assert _checked(tmp_path, made, by=["sex", "ward"], statistics=["count"], where=where).word == "pass"


def test_a_number_of_two_values_inside_a_filter_has_a_mean(tmp_path):
    made = WEST.groupby("sex")["pay"].agg(["count", "mean"]).round(1)
    found = _checked(tmp_path, made, of=["pay"], by=["sex"], statistics=["count", "mean"], where="ward == west")
    assert "Not these people" not in " ".join(found.reasons)
    assert found.figure.kind == "error_floor" or found.figure.attribute == "sex"


@pytest.mark.parametrize(("where", "some"), [("id == 7", "1 person"), ("id >= 598", "2 people")])
@pytest.mark.parametrize("statistic", ["mean", "sum", "count"])
def test_a_number_of_one_or_two_people_fails(tmp_path, where, some, statistic):
    made = pd.DataFrame({statistic: [PEOPLE.query(where)["pay"].agg(statistic)]})
    found = _checked(tmp_path, made, of=["pay"], statistics=[statistic], where=where)
    assert found.word == "fail"
    assert found.reasons[-1] == (
        f"It is about {some}: a number about so few gives their values away. Ask for more people."
    )


def test_a_category_of_one_value_has_no_other_to_compare_it_with():
    leak = seepage.measure(Aggregate(by=["ill"], statistics=["count"]).fit(WEST), WEST, known_records=0)
    with pytest.raises(UnansweredError, match="Every row has 'ill' = 1: there is no other value"):
        leak.success_rate("ill")
    assert (leak.success_rate("ill", values=[0, 1])["success_rate"] == 1).all()


@pytest.mark.parametrize(
    ("where", "query"),
    [
        ("ward == west and (sex == F or ill == 0)", "ward == 'west' and (sex == 'F' or ill == 0)"),
        ("ward in (west, east) and sex != F", "ward in ['west', 'east'] and sex != 'F'"),
        ("ward not in (west) or (ill == 1 and sex == M)", "ward != 'west' or (ill == 1 and sex == 'M')"),
        ("pay is not missing and ward == east", "ward == 'east'"),
    ],
)
def test_filters_have_brackets_lists_and_missing_values(where, query):
    from seepage._tables import Table
    from seepage._where import kept

    assert kept(where, Table.of(PEOPLE)).tolist() == PEOPLE.query(query).index.tolist()
