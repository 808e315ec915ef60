"""A folder for SACRO Viewer, read by the field names that it documents; `tests/sacro` lets ACRO itself read one."""

import hashlib
import json
import re
import sys
from dataclasses import replace

import pytest
from requests_made import PEOPLE, line, table

import seepage
from seepage.request import check


def _requested(folder, people=PEOPLE):
    folder.mkdir()
    line(folder / "may", people, "age", "score", where="id != 'p7'")
    line(folder / "june", people, "age", "score")
    table(folder / "means", people, of=["age"], by=["sex"])
    (folder / "results.json").write_text('{"version": "0", "results": {}}')
    (folder / "settings.json").write_text("{no JSON")
    (folder / "request-verdict.txt").write_text("mine")
    return folder


@pytest.fixture(scope="module")
def verdict(tmp_path_factory):
    return check(_requested(tmp_path_factory.mktemp("sacro") / "request"), people=PEOPLE)


@pytest.fixture(scope="module")
def folder(verdict, tmp_path_factory):
    found = tmp_path_factory.mktemp("viewer") / "out"
    verdict.to_sacro(found)
    return found


def _seen(folder):
    """Find and read the results as the viewer does: of all JSON there, one alone has a version and results."""
    known = {path: json.loads(path.read_text()) for path in folder.glob("*.json")}
    (found,) = (each for each in known.values() if "version" in each and "results" in each)
    return found


def test_the_viewer_finds_each_output_with_its_file(verdict, folder):
    found = _seen(folder)
    major, minor, *_ = found["version"].split(".")
    assert (int(major), int(minor)) >= (0, 4)
    assert {key: each["status"] for key, each in found["results"].items()} == {
        "june": "pass",
        "may": "pass",
        "means": "pass",
        "request-verdict.txt": "review",
        "results.json": "review",
        "settings.json": "review",
        "request (verdict)": "fail",
    }
    wanted = {"uid", "status", "type", "properties", "files", "outcome", "command", "summary", "timestamp"}
    for key, each in found["results"].items():
        assert wanted | {"comments", "exception"} <= set(each)
        assert each["uid"] == key
        # What stands before the first semicolon is shown as the status.
        assert each["summary"].split("; ")[0] == each["status"]
        assert each["properties"]["method"]
        assert each["files"]
        for file in each["files"]:
            written = (folder / file["name"]).read_bytes()
            assert (folder / "checksums" / f"{file['name']}.txt").read_text() == hashlib.sha256(written).hexdigest()
    for output in verdict.outputs:
        (file,) = found["results"][output.name]["files"]
        assert (folder / file["name"]).read_bytes() == (verdict.folder / output.file).read_bytes()
    files = [each["name"] for each in found["results"]["request (verdict)"]["files"]]
    assert files == [f"request-verdict.{ending}" for ending in ("txt", "json")]


def test_the_risk_profile_is_what_was_asked(verdict, folder):
    assert json.loads((folder / "config.json").read_text())["seepage_policy"] == verdict.asked


def test_nobody_is_in_it(folder, verdict):
    own = {each.file for each in verdict.outputs}
    for path in folder.glob("*.*"):
        if path.suffix != ".png" and path.name not in own:
            for private in ("p7", "499", "1 person", "±"):
                assert private not in path.read_text(), path.name


def test_one_private_value_changes_the_outputs_alone(tmp_path):
    others = PEOPLE.copy()
    others.loc[7, "score"] += 31
    found = []
    for name, people in (("one", PEOPLE), ("other", others)):
        (tmp_path / name).mkdir()
        check(_requested(tmp_path / name / "request", people), people=people).to_sacro(tmp_path / f"{name} out")
        files = {each.name: each.read_bytes() for each in (tmp_path / f"{name} out").iterdir() if each.is_file()}
        files["results.json"] = re.sub(rb'"timestamp": "[^"]*"', b"", files["results.json"])
        found.append(files)
    changed = {name for name in found[0] if found[0][name] != found[1][name]}
    assert changed == {"may.csv", "june.csv"} & changed
    assert changed
    assert set(found[0]) == set(found[1])


def test_names_are_no_markup(verdict, tmp_path):
    named = replace(verdict.outputs[0], name="<img src=x onerror=alert(1)>", what="<b>", file="", findings=())
    replace(verdict, outputs=(named,), stages=()).to_sacro(tmp_path / "out")
    (each, whole) = _seen(tmp_path / "out")["results"].values()
    assert "<" not in each["summary"] + each["properties"]["method"] + whole["summary"]
    assert "<" not in (tmp_path / "out" / "request-verdict.txt").read_text()


def test_a_folder_that_was_reviewed_stays(verdict, folder):
    with pytest.raises(seepage.errors.InputError, match="may have written into it"):
        verdict.to_sacro(folder)


def test_an_output_that_is_gone_is_said(tmp_path):
    found = check(_requested(tmp_path / "request"), people=PEOPLE)
    (tmp_path / "request" / "may.csv").unlink()
    with pytest.raises(seepage.errors.InputError, match="check the request again"):
        found.to_sacro(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_neither_folder_nor_session_is_refused(verdict):
    with pytest.raises(seepage.errors.InputError, match="a session of ACRO"):
        verdict.to_sacro(3)
    assert "acro" not in sys.modules
