"""`seepage check` of folders of outputs."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from requests_made import line, table

from cli.terminal import Terminal

RNG = np.random.default_rng(3)
PEOPLE = pd.DataFrame(
    {"id": [f"p{i}" for i in range(500)], "age": RNG.integers(18, 90, 500), "sex": RNG.choice(["F", "M"], 500)}
)
PEOPLE["score"] = np.round(20 + 0.5 * PEOPLE["age"] + RNG.normal(0, 8, 500))


@pytest.fixture(scope="module")
def requests(tmp_path_factory):
    folder = tmp_path_factory.mktemp("requests")
    for name in ("harmless", "pair"):
        (folder / name).mkdir()
    line(folder / "harmless" / "model", PEOPLE, "age", "score")
    table(folder / "harmless" / "means", PEOPLE, of=["age"], by=["sex"])
    line(folder / "pair" / "may", PEOPLE, "age", "score", where="id != 'p7'")
    line(folder / "pair" / "june", PEOPLE, "age", "score")
    PEOPLE.to_parquet(folder / "people.parquet")
    found = Terminal(folder)
    yield found
    found.close()


def test_a_harmless_request_ends_with_0_and_another_with_1(requests):
    found = requests.run("seepage check harmless --people people.parquet")
    assert (found.code, found.out.splitlines()[0]) == (0, "PASS: harmless may be published")
    found = requests.run("seepage check pair --people people.parquet")
    assert (found.code, found.out.splitlines()[0]) == (1, "FAIL: pair must not be published as it is")
    assert "Inside only: p7" in " ".join(found.out.split())


def test_json_and_the_page_say_the_same(requests):
    found = requests.run("seepage check pair --people people.parquet --format json --report inside.html")
    said = json.loads(found.out)
    assert said["verdict"] == "fail"
    assert said["together"][0]["findings"][0]["people"] == ["p7"]
    page = (requests.folder / "inside.html").read_text()
    assert "p7" in page
    assert "internal edition" in page.lower()
    assert (requests.folder / "inside.html").stat().st_mode & 0o077 == 0


def test_a_publishable_edition_names_nobody(requests):
    found = requests.run("seepage check pair --people people.parquet --report page.html --edition publishable")
    for written in (found.out, (requests.folder / "page.html").read_text()):
        assert "p7" not in written
        assert "499" not in written


def test_earlier_requests_are_compared_with_a_later_one(requests):
    folder = requests.folder
    for name in ("later", "early"):
        (folder / name).mkdir()
    line(folder / "later" / "may", PEOPLE, "age", "score", where="id != 'p7'")
    line(folder / "early" / "score", PEOPLE, "age", "score", where="age > 50")
    check = "seepage check later --people people.parquet"
    assert requests.run(check).code == 0
    found = requests.run(f"{check} --earlier early --earlier harmless")
    said = " ".join(found.out.split())
    assert (found.code, "Inside only: p7" in said) == (1, True), found.text
    assert "Subtracting may from means, harmless (earlier) reveals age and score of 1 person" in said, found.out


def test_several_folders_make_one_worksheet(requests):
    found = requests.run("seepage check harmless pair --people people.parquet --output sheet.csv")
    assert found.code == 1
    rows = list(csv.DictReader((requests.folder / "sheet.csv").read_text().splitlines()))
    assert [(row["request"], row["output"], row["verdict"]) for row in rows] == [
        ("harmless", "means", "pass"),
        ("harmless", "model", "pass"),
        ("harmless", "all together", "pass"),
        ("pair", "june", "pass"),
        ("pair", "may", "pass"),
        ("pair", "all together", "fail"),
    ]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("seepage check pair", "who are the people in the outputs"),
        ("seepage check pair --people people.parquet --noise 0.1", "leave it out"),
        ("seepage check pair people.parquet --people people.parquet", "is no folder"),
        ("seepage check pair --people none.parquet", "none.parquet"),
        ("seepage check pair --people people.parquet --ids name", "ids is 'name'"),
        ("seepage check pair harmless --people people.parquet --format json", "one worksheet"),
        ("seepage check pair --people people.parquet --format sarif", "text or json"),
    ],
)
def test_what_cannot_be_done_is_said(requests, command, words):
    found = requests.run(command)
    assert found.code == 2
    assert words in " ".join(found.err.replace("│", " ").split())


def test_twins_are_written_to_a_folder(requests):
    found = requests.run("seepage check pair --people people.parquet --out inside")
    assert found.code == 1
    assert "Written: inside (internal edition" in found.out
    folder = requests.folder / "inside"
    assert {each.name for each in folder.iterdir()} == {
        *(f"verdict.{ending}" for ending in ("html", "txt", "json")),
        "verdict-1.png",
    }
    assert "p7" in (folder / "verdict.txt").read_text()
    assert all(each.stat().st_mode & 0o077 == 0 for each in folder.iterdir())
    again = requests.run("seepage check pair --people people.parquet --out inside --edition publishable")
    assert again.code == 2
    again = requests.run("seepage check pair --people people.parquet --out inside --edition publishable --force")
    assert again.code == 1
    assert len(list(folder.iterdir())) == 3
    for each in folder.glob("verdict.[htcj]*"):
        assert "p7" not in each.read_text()


def test_what_is_written_is_not_read_as_an_output(requests):
    found = requests.run("seepage check pair --people people.parquet --out pair/out")
    assert found.code == 2
    assert not (requests.folder / "pair" / "out").exists()


def test_a_folder_for_sacro_holds_the_publishable_edition_whatever_is_printed(requests):
    found = requests.run("seepage check pair --people people.parquet --sacro viewer")
    assert found.code == 1
    assert "Written: viewer (publishable edition)" in found.out
    said = json.loads((requests.folder / "viewer" / "results.json").read_text())
    assert {key: each["status"] for key, each in said["results"].items()} == {
        "june": "pass",
        "may": "pass",
        "pair (verdict)": "fail",
    }
    assert "p7" not in (requests.folder / "viewer" / "pair-verdict.txt").read_text()
    # Decisions may have been written into it.
    assert requests.run("seepage check pair --people people.parquet --sacro viewer --force").code == 2


def test_a_policy_may_hold_acros_risk_appetite(requests):
    (requests.folder / "appetite.toml").write_text("[risk_appetite]\nsafe_threshold = 400\nsafe_dof_threshold = 10\n")
    found = requests.run("seepage check harmless --people people.parquet --policy appetite.toml")
    said = " ".join(found.out.split())
    assert found.code == 1
    assert "safe_threshold 400 is missed" in said
    assert "safe_dof_threshold kept" in said
    assert "No targets were given: values may not be inferred" in said
    found = requests.run("seepage measure harmless/model.toml people.parquet --noise 1 --policy appetite.toml")
    assert found.code == 2


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("[error_floor]\nagee = 5", "'agee', which is no column of the people. Did you mean 'age'?"),
        ("[error_floor]\nsex = 0.3", "error_floor for 'sex', which is a category in this request: set success_rate"),
        ("[success_rate]\nage = 0.75", "success_rate for 'age', which is a number in this request: set error_floor"),
    ],
)
def test_a_policy_that_does_not_fit_the_columns_is_an_error(requests, target, words):
    (requests.folder / "misfit.toml").write_text(f'other_attributes = "public"\n{target}\n')
    found = requests.run("seepage check harmless --people people.parquet --policy misfit.toml")
    assert found.code == 2
    assert words in " ".join(found.text.replace("│", "").split())
