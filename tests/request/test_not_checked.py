"""Cells and entries of a folder that are compared with nothing need a look."""

import json

import numpy as np
import pandas as pd
import pytest
from requests_made import said

from seepage.request import check

RNG = np.random.default_rng(4)
PEOPLE = pd.DataFrame({"id": np.arange(300), "age": RNG.integers(18, 90, 300), "sex": RNG.choice(["F", "M"], 300)})
PEOPLE["pay"] = np.round(1000 + 10 * PEOPLE["age"] + RNG.normal(0, 100, 300))
MEANS = PEOPLE.groupby("sex")["pay"].agg(["count", "mean"]).round(1).reset_index()
DESIGN = np.column_stack([np.ones(300), PEOPLE["age"]])
SLOPES, (SQUARES,), *_ = np.linalg.lstsq(DESIGN, PEOPLE["pay"])
ERRORS = np.sqrt(SQUARES / 298 * np.linalg.inv(DESIGN.T @ DESIGN).diagonal())
TERMS = pd.DataFrame({"term": ["(Intercept)", "age"], "estimate": SLOPES.round(3), "std.error": ERRORS.round(3)})


def _of(folder, made, **says):
    made.to_csv(folder / "output.csv", index=False)
    said(folder / "output", **says)
    return check(folder, people=PEOPLE)


def _of_means(folder, made):
    return _of(folder, made, of=["pay"], by=["sex"], statistics=["mean", "count"])


def _of_terms(folder, made):
    return _of(folder, made, family="gaussian", formula="pay ~ age")


def _assert_not_checked(verdict, part):
    sentence = f"Not checked, form not known: {part}. Read this yourself, or ask for the file without it."
    assert verdict.word == "review"
    assert verdict.outputs[0].reasons == (sentence,)
    assert json.loads(verdict.to_json())["outputs"][0]["reasons"] == [sentence]
    assert sentence in " ".join(verdict.text().split())
    assert "Not checked, " in verdict.html()


def test_numbers_that_are_compared_pass(tmp_path):
    assert _of_means(tmp_path, MEANS).word == "pass"
    numbered = MEANS.rename(columns={"mean": "mean of pay"})
    numbered.insert(0, "", [1, 2])
    assert _of_means(tmp_path, numbered).word == "pass"
    assert _of_terms(tmp_path, TERMS).word == "pass"
    more = TERMS.assign(**{"t value": (SLOPES / ERRORS).round(2)})
    counted = pd.concat([more.astype(str), pd.DataFrame({"term": ["N"], "estimate": ["300"]})])
    assert _of_terms(tmp_path, counted).word == "pass"


def test_a_level_is_compared_with_all_of_its_digits(tmp_path):
    people = PEOPLE.assign(day=np.where(PEOPLE["sex"] == "F", 20240101, 20240102))
    made = people.groupby("day").size().rename("count").reset_index()
    made.to_csv(tmp_path / "days.csv", index=False)
    said(tmp_path / "days", by=["day"], statistics=["count"])
    assert check(tmp_path, people=people).word == "pass"
    for digits in (".1721", ".0000000000001721"):
        made.assign(day=[f"20240101{digits}", "20240102"]).to_csv(tmp_path / "days.csv", index=False)
        assert "form not known: row 2" in check(tmp_path, people=people).outputs[0].reasons[0]


def test_digits_that_the_people_do_not_make_are_those_of_another_table(tmp_path):
    exact = PEOPLE.groupby("sex")["pay"].agg(["count", "mean"]).reset_index()
    for made in (
        exact.assign(count=[f"{count}.00001721" for count in exact["count"]]),
        exact.assign(mean=[f"{mean:.3f}1721" for mean in exact["mean"]]),
    ):
        assert _of_means(tmp_path, made).outputs[0].reasons[0].startswith("Not these people's numbers")


@pytest.mark.parametrize(
    ("made", "part"),
    [
        (MEANS.rename(columns={"mean": "mean of pay"}).assign(richest=[4721.0, 4890.0]), "column 4 ('richest')"),
        (MEANS.rename(columns={"mean": "Jane Doe has 4721"}), "column 3 ('Jane Doe has 4721')"),
    ],
    ids=["column", "head"],
)
def test_a_cell_of_a_table_that_is_not_compared_is_listed(tmp_path, made, part):
    _assert_not_checked(_of_means(tmp_path, made), part)


@pytest.mark.parametrize(
    ("made", "part"),
    [
        (TERMS.assign(note=[4721, 4890]), "column 4 ('note')"),
        (TERMS.assign(**{"std.error": [4721, 4890]}), "column 3 ('std.error')"),
        (TERMS.rename(columns={"term": "Jane Doe has 4721"}), "column 1 ('Jane Doe has 4721')"),
        (pd.concat([TERMS, pd.DataFrame({"term": ["", "R2"], "estimate": ["Jane Doe", 0.71]})]), "row 4, row 5"),
        (TERMS.replace("age", "age of Jane Doe, 4721"), "column 1 ('term')"),
    ],
    ids=["column", "standard errors", "head", "rows", "label"],
)
def test_a_cell_of_a_regression_that_is_not_compared_is_listed(tmp_path, made, part):
    _assert_not_checked(_of_terms(tmp_path, made), part)


def test_numbers_under_swapped_labels_are_those_of_another_table(tmp_path):
    verdict = _of_terms(tmp_path, TERMS.iloc[::-1].assign(term=TERMS["term"].to_numpy()))
    assert verdict.word == "fail"
    assert "Not these people's numbers" in verdict.outputs[0].reasons[0]


def test_a_comment_is_listed(tmp_path):
    _of_means(tmp_path, MEANS)
    with (tmp_path / "output.toml").open("a") as file:
        file.write("where = \"ward == '#'\"\n# Jane Doe has 4721\n")
    _assert_not_checked(check(tmp_path, people=PEOPLE.assign(ward="#")), "a comment of output.toml")


def test_a_comment_behind_a_text_that_ends_in_a_quote_is_listed(tmp_path):
    _of_means(tmp_path, MEANS)
    with (tmp_path / "output.toml").open("a") as file:
        file.write('where = """ward == \'x"""" # Jane Doe has 4721 "\n')
    verdict = check(tmp_path, people=PEOPLE.assign(ward="x"))
    assert "a comment of output.toml" in verdict.outputs[0].reasons[0]


@pytest.mark.parametrize(
    ("says", "reason"),
    [({"parameter": 3.1721}, "parameter is 3.1721"), ({"where": "sex != 'Jane Doe has 4721'"}, "nobody in the data")],
)
def test_a_description_holds_no_value_without_a_meaning(tmp_path, says, reason):
    verdict = _of(tmp_path, TERMS, family="gaussian", formula="pay ~ age", **says)
    assert verdict.word == "review"
    assert reason in verdict.outputs[0].reasons[0]


def test_an_output_whose_file_needs_a_review_does_not_pass(tmp_path):
    people = PEOPLE.assign(folder=np.where(PEOPLE["sex"] == "F", "/home/jane", "/home/john"))
    people.groupby("folder").size().rename("count").reset_index().to_csv(tmp_path / "output.csv", index=False)
    said(tmp_path / "output", by=["folder"], statistics=["count"])
    (output,) = check(tmp_path, people=people).outputs
    assert (output.word, "a path with the name of a user" in output.reasons[0]) == ("review", True)


def test_folders_and_hidden_files_are_listed(tmp_path):
    _of_means(tmp_path, MEANS)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "note").write_text("nothing")
    (tmp_path / ".note").write_text("nothing")
    verdict = check(tmp_path, people=PEOPLE)
    assert [(each.name, each.said) for each in verdict.outputs] == [
        (".note", "not checked"),
        ("more", "not checked"),
        ("output", "pass"),
    ]
    assert verdict.word == "review"
    verdict.to_sacro(tmp_path.parent / "viewer")
    PEOPLE.to_csv(tmp_path / "more" / "rows.csv")
    assert check(tmp_path, people=PEOPLE).word == "fail"


def test_a_folder_of_earlier_outputs_that_is_not_read_needs_a_look(tmp_path):
    for name in ("now", "earlier", "earlier/may"):
        (tmp_path / name).mkdir()
        _of_means(tmp_path / name, MEANS)
    verdict = check(tmp_path / "now", people=PEOPLE, earlier=[tmp_path / "earlier"])
    assert verdict.word == "review"
    assert "may (earlier) is not read with this request" in verdict.text()
