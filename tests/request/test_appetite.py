"""ACRO's risk appetite beside our own words; `tests/sacro` holds the answers against ACRO's."""

import json

import numpy as np
import pandas as pd
import pytest
from requests_made import line, table

import seepage
from seepage.request import check

RNG = np.random.default_rng(2)
COUNT = 600
PEOPLE = pd.DataFrame(
    {"id": np.arange(COUNT), "age": RNG.integers(18, 90, COUNT), "sex": RNG.choice(["F", "M"], COUNT)}
)
PEOPLE["ward"] = RNG.choice(["north", "south", "west"], COUNT, p=[0.6, 0.385, 0.015])
PEOPLE["score"] = np.round(20 + 0.5 * PEOPLE["age"] + RNG.normal(0, 8, COUNT))
PEOPLE["income"] = np.round(RNG.lognormal(10, 0.4, COUNT))
DEFAULTS = {"safe_threshold": 10, "safe_nk_n": 2, "safe_nk_k": 0.9, "safe_pratio_p": 0.1, "safe_dof_threshold": 10}


def _rules(folder, people=PEOPLE, appetite=DEFAULTS, **keys):
    folder.mkdir()
    table(folder / "table", people, **keys)
    (output,) = check(folder, people=people, risk_appetite=appetite).outputs
    return output, {each.name: each for each in output.rules}


def test_the_smallest_cell_is_counted(tmp_path):
    _, rules = _rules(tmp_path / "wards", by=["ward", "sex"], statistics=["count"])
    fewest = pd.crosstab(PEOPLE["ward"], PEOPLE["sex"]).to_numpy().min()
    assert set(rules) == {"safe_threshold"}
    assert (rules["safe_threshold"].number, rules["safe_threshold"].word) == (fewest, "fail")


def test_a_combination_that_nobody_has_is_a_cell_of_none(tmp_path):
    nobody = PEOPLE[(PEOPLE["ward"] != "west") | (PEOPLE["sex"] != "F")]
    _, rules = _rules(tmp_path / "wards", nobody, by=["ward", "sex"], statistics=["count"])
    assert rules["safe_threshold"].number == 0


def test_the_largest_values_of_a_sum_are_held_against_it(tmp_path):
    people = PEOPLE.assign(ward=np.where(PEOPLE["ward"] == "west", "south", PEOPLE["ward"]))
    people.loc[5, "income"] = people["income"].sum() * 30
    output, rules = _rules(tmp_path / "sums", people, of=["income"], by=["ward"], statistics=["mean", "count"])
    groups = [group.sort_values(ascending=False) for _, group in people.groupby("ward")["income"]]
    assert rules["safe_nk_k"].number == pytest.approx(max(each.iloc[:2].sum() / each.sum() for each in groups))
    assert rules["safe_pratio_p"].number == pytest.approx(min(each.iloc[2:].sum() / each.iloc[0] for each in groups))
    assert {name: each.word for name, each in rules.items()} == {
        "safe_threshold": "pass",
        "safe_nk_k": "fail",
        "safe_pratio_p": "fail",
    }
    assert output.word == "fail"


def test_below_zero_dominance_is_for_a_person_to_judge(tmp_path):
    people = PEOPLE.assign(score=PEOPLE["score"] - 100)
    _, rules = _rules(tmp_path / "means", people, of=["score"], by=["sex"], statistics=["mean"])
    assert {name: each.word for name, each in rules.items()} == {
        "safe_threshold": "pass",
        "safe_nk_k": "review",
        "safe_pratio_p": "review",
    }


def test_deviations_and_regressions_have_degrees_of_freedom(tmp_path):
    _, rules = _rules(tmp_path / "deviations", of=["score"], by=["ward"], statistics=["sd"])
    assert rules["safe_dof_threshold"].number == PEOPLE["ward"].value_counts().min() - 1
    folder = tmp_path / "line"
    folder.mkdir()
    line(folder / "line", PEOPLE, "age", "score")
    (output,) = check(folder, people=PEOPLE, risk_appetite=DEFAULTS).outputs
    (rule,) = output.rules
    assert (rule.name, rule.number, rule.word) == ("safe_dof_threshold", COUNT - 2, "pass")


def test_shares_are_counts_of_their_values(tmp_path):
    people = PEOPLE.assign(ill=(np.arange(COUNT) < 7).astype(int))
    _, rules = _rules(tmp_path / "shares", people, of=["ill"], by=["sex"], statistics=["share"])
    assert rules["safe_threshold"].number == pd.crosstab(people["sex"], people["ill"]).to_numpy().min()


def test_both_words_are_told_and_the_worst_counts(tmp_path):
    (tmp_path / "request").mkdir()
    table(tmp_path / "request" / "means", PEOPLE, of=["age"], by=["sex"], statistics=["mean", "count"])
    plain = check(tmp_path / "request", people=PEOPLE)
    assert plain.word == "pass"
    strict = check(tmp_path / "request", people=PEOPLE, risk_appetite={"safe_threshold": 500})
    (output,) = strict.outputs
    assert (output.word, output.own, strict.word) == ("fail", "pass", "fail")
    assert (plain.asked[:21], strict.asked[:21]) == ("No policy was given: ", "No targets were given")
    fewest = PEOPLE["sex"].value_counts().min()
    told = f"safe_threshold 500 is missed (people in the smallest cell: {fewest}). By what it gives away pass."
    assert told in " ".join(strict.text().split())
    public = strict.for_everybody()
    for written in (public.text(), public.html(), public.to_json()):
        assert "safe_threshold 500 is missed" in " ".join(written.split())
        assert str(fewest) not in written.replace("charset", "")
    assert "By ACRO's risk appetite fail" in next(iter(public.worksheet()))[-1]


def test_it_is_read_as_acro_writes_it(tmp_path):
    (tmp_path / "request").mkdir()
    table(tmp_path / "request" / "means", PEOPLE, of=["age"], by=["sex"], statistics=["mean", "count"])
    config = DEFAULTS | {"check_missing_values": False, "safe_round_base": 5, "blocked_extensions": [".svg"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "default.yaml").write_text("# limits\nsafe_threshold: 10\nsafe_nk_n: 2\nsafe_nk_k: 0.90\n")
    found = check(tmp_path / "request", people=PEOPLE, risk_appetite=tmp_path / "config.json")
    assert dict(found.limits) == DEFAULTS
    pytest.importorskip("yaml")
    found = check(tmp_path / "request", people=PEOPLE, risk_appetite=tmp_path / "default.yaml")
    assert dict(found.limits) == {"safe_threshold": 10, "safe_nk_n": 2, "safe_nk_k": 0.9}
    found.to_sacro(tmp_path / "out")
    profile = json.loads((tmp_path / "out" / "config.json").read_text())
    assert profile["safe_nk_k"] == 0.9


@pytest.mark.parametrize(
    ("appetite", "words"),
    [
        ({"safe_treshold": 10}, "Did you mean 'safe_threshold'"),
        ({"safe_threshold": "ten"}, "a number that is not negative, not 'ten'"),
        ({"safe_nk_k": 0.9}, "belong together"),
        ({"federated": False}, "sets no limit"),
        ("none.json", "cannot be read"),
    ],
)
def test_what_it_could_not_mean_is_refused(appetite, words, tmp_path):
    with pytest.raises(seepage.errors.InputError, match=words):
        check(tmp_path, people=PEOPLE, risk_appetite=appetite)
