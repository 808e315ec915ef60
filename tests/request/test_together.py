"""What may stand between outputs that are read together."""

import numpy as np
import pandas as pd
import pytest
from requests_made import line, table

import seepage
from seepage.models import Aggregate
from seepage.request import check

RANDOM = np.random.default_rng(11)
PEOPLE = pd.DataFrame({"id": [f"p{i}" for i in range(600)], "age": RANDOM.integers(20, 80, 600)})
PEOPLE["ward"] = RANDOM.choice(["A", "B", "C"], 600)
PEOPLE["score"] = np.round(10 + 0.4 * PEOPLE["age"] + RANDOM.normal(0, 6, 600))


def test_outputs_that_cannot_be_read_together_are_for_review_and_say_why():
    table = Aggregate(of=["score"], statistics=["mean"]).fit(PEOPLE)
    meters = PEOPLE.assign(score=PEOPLE["score"] * 1000)
    other = Aggregate(of=["score"], statistics=["mean"]).fit(meters)
    found = check(
        {
            "score": seepage.measure(table, PEOPLE, ids="id", known_records=0),
            "thousands": seepage.measure(other, meters, ids="id", known_records=0),
        },
        people=PEOPLE,
    )
    assert [each.word for each in found.outputs] == ["pass", "pass"]
    (together,) = found.stages
    assert (together.word, found.word) == ("review", "review")
    assert together.reasons[0].startswith("score and thousands are not read together: 'score' of somebody is")
    assert "score" not in " ".join(found.for_everybody().stages[0].reasons)


@pytest.mark.parametrize("wards", [("A", "B"), ("A", "B", "C")])
def test_a_filter_tells_the_ward_of_those_inside_and_of_others_if_one_is_left(tmp_path, wards):
    rows = PEOPLE[PEOPLE["ward"].isin(wards)].reset_index(drop=True)
    # One person of ward C, or B, is in the table by ward and not in the line of the others.
    gone = rows["id"][rows["ward"] == wards[-1]].iloc[0]
    table(tmp_path / "wards", rows, of=["score"], by=["ward"])
    line(tmp_path / "inside", rows, "age", "score", where="ward == 'A'")
    table(tmp_path / "most", rows, of=["score"], by=["ward"], where=f"id != '{gone}'")
    found = check(tmp_path, people=rows)
    about = [finding for finding in found.stages[0].findings if "ward" in finding.attributes]
    if len(wards) == 2:
        assert not about
    else:
        assert {gone} == {who for finding in about for who in finding.people}


def test_what_leaves_names_no_attribute_that_the_rows_chose(tmp_path):
    line(tmp_path / "may", PEOPLE, "age", "score", where="id != 'p7'")
    line(tmp_path / "june", PEOPLE, "age", "score")
    found = check(tmp_path, people=PEOPLE).for_everybody()
    assert found.word == "fail"
    for written in (found.text(), found.html(), found.to_json()):
        assert "score of" not in written
        assert "reveals a value of at least one person" in " ".join(written.split())


def test_a_table_by_wards_of_one_ward_is_read_with_tables_of_others(tmp_path):
    """Within it nobody's ward can be another, so that nobody has a value of it there."""
    table(tmp_path / "one", PEOPLE, of=["score"], by=["ward"], where="ward == 'A'")
    table(tmp_path / "all", PEOPLE, of=["score"])
    together = check(tmp_path, people=PEOPLE)
    assert [each.word for each in together.outputs] == ["pass", "pass"]
    assert together.word == "pass"
    # Less one of the ward, whose score is the difference.
    gone = PEOPLE["id"][PEOPLE["ward"] == "A"].iloc[0]
    table(tmp_path / "less", PEOPLE, of=["score"], by=["ward"], where=f"ward == 'A' and id != '{gone}'")
    found = check(tmp_path, people=PEOPLE)
    assert found.word == "fail"
    assert gone in {who for finding in found.stages[0].findings for who in finding.people}
