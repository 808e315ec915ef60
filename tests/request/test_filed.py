"""Honest requests are decided, and tricks are not passed."""

import json

import pytest
from requests_filed import HOLDS_VALUES, OTHERS, PEOPLE, REGRESSIONS, TABLES

from seepage.models import ModelTable
from seepage.request import check, draft

HONEST = TABLES | REGRESSIONS
EXPECTED = dict.fromkeys(HONEST, "pass") | {
    # Values of single people.
    "medians": "fail",
    # Two people have the same row.
    "ols with a product": "review",
    # Standard errors of another kind are compared with nothing.
    "robust errors": "review",
    # Event and time are not assessed.
    "cox": "review",
}


def _checked(folder, write):
    people = write(folder)
    return check(folder, people=PEOPLE if people is None else people)


def test_there_are_47_honest_requests_of_which_40_are_decided():
    assert (len(TABLES), len(REGRESSIONS)) == (25, 22)
    assert sum(word != "review" for word in EXPECTED.values()) >= 40


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_request_gets_its_word(tmp_path, name):
    verdict = _checked(tmp_path, HONEST[name])
    assert verdict.word == EXPECTED[name], verdict.text()


@pytest.mark.parametrize("name", HOLDS_VALUES)
def test_a_value_of_a_person_in_a_request_fails(tmp_path, name):
    verdict = _checked(tmp_path, HOLDS_VALUES[name])
    assert verdict.word == "fail", verdict.text()


@pytest.mark.parametrize("name", OTHERS)
def test_a_number_or_a_text_of_something_else_does_not_pass(tmp_path, name):
    verdict = _checked(tmp_path, OTHERS[name])
    numbers = name in ("swapped rows", "another outcome", "wrong digit")
    assert verdict.word == ("fail" if numbers else "review")
    reason = json.loads(verdict.to_json())["outputs"][0]["reasons"][0]
    assert reason.startswith("Not these people's numbers" if numbers else "Not checked, form not known")


def test_a_quantile_fails_with_its_cell_and_the_people_it_rests_on(tmp_path):
    (found,) = _checked(tmp_path, TABLES["medians"]).outputs
    assert found.reasons[0].startswith("The median of income in F rests on 1 person.")


@pytest.mark.parametrize("name", [name for name in TABLES if name != "filtered"])
def test_a_draft_of_a_table_gets_the_same_word(tmp_path, name):
    TABLES[name](tmp_path)
    (description,) = tmp_path.glob("*.toml")
    description.unlink()
    assert draft(tmp_path, people=PEOPLE) == (description,)
    assert check(tmp_path, people=PEOPLE).word == EXPECTED[name], description.read_text()


@pytest.mark.parametrize("name", ["ols of four wards", "odds ratios", "ols of a logarithm", "rate ratios"])
def test_a_draft_of_a_regression_is_its_formula(tmp_path, name):
    REGRESSIONS[name](tmp_path)
    right = ModelTable.read(tmp_path / "m.toml")
    (tmp_path / "m.toml").unlink()
    draft(tmp_path, people=PEOPLE)
    found = ModelTable.read(tmp_path / "m.toml")
    assert (found.family, found.outcome) == (right.family, right.outcome)
    assert check(tmp_path, people=PEOPLE).word == "pass"


def test_a_finding_names_its_number_and_the_people_it_is_from(tmp_path):
    verdict = _checked(tmp_path, HOLDS_VALUES["counts of one level"])
    fewest = PEOPLE[PEOPLE["ward"] == "west"].groupby("sex").size()
    sentences = [each.sentence() for each in verdict.outputs[0].findings]
    number = f"count in {fewest.idxmin()} and 1, from {fewest.min()} people"
    assert f"t by itself reveals ill of {fewest.sum()} people ({number})." in sentences
