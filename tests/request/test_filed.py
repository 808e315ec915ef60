"""Honest requests are decided, and tricks are not passed."""

import json

import pytest
from requests_filed import HOLDS_VALUES, OTHERS, PEOPLE, REGRESSIONS, TABLES

from seepage.request import check

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
