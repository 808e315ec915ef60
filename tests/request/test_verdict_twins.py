"""A verdict as a folder: the page and its twins, each complete by itself."""

import shutil
import stat
from dataclasses import replace

import numpy as np
import pytest
import twins
from requests_made import PEOPLE as EVERYBODY
from requests_made import line, table

import seepage
from seepage.request import check

WARDS = np.random.default_rng(6).choice(["north", "south"], 500)
PEOPLE = EVERYBODY.assign(ward=np.where(np.arange(500) == 3, "hermitage", WARDS))
LONG = "a_table_of_means_with_a_name_that_is_longer_than_any_column_of_a_terminal_of_eighty_columns"


def _requested(folder, people):
    """Lay out a request that passes, fails by itself, fails together, and is not looked into, in parts."""
    folder.mkdir()
    line(folder / "may", people, "age", "score", where="id != 'p7'")
    line(folder / "june", people, "age", "score")
    table(folder / LONG, people, of=["age"], by=["sex"])
    table(folder / "wards", people, of=["score"], by=["ward"])
    (folder / "figure.png").write_bytes(b"")
    return folder


@pytest.fixture(scope="module")
def verdict(tmp_path_factory):
    return check(_requested(tmp_path_factory.mktemp("twins") / "request", PEOPLE), people=PEOPLE)


@pytest.fixture(scope="module", params=["internal", "publishable"])
def written(request, verdict, tmp_path_factory):
    found = verdict if request.param == "internal" else verdict.for_everybody()
    folder = tmp_path_factory.mktemp(request.param) / "out"
    found.write(folder)
    return found, folder


def test_each_twin_is_complete(written):
    verdict, folder = written
    wanted = ["fail", verdict.asked]
    for each in verdict.outputs:
        wanted += [each.name, each.said, each.what]
    assert verdict.findings
    for finding in verdict.findings:
        wanted += [finding.sentence(), *(mend.sentence() for mend in finding.mends)]
    wanted += [stage.name for stage in verdict.stages]
    for name, text in twins.said(folder, "verdict").items():
        for each in wanted:
            assert _solid(each) in _solid(text), name
        assert ("p7" in text) == verdict.internal, name


def _solid(text):
    """Return text without spaces: a name that is wider than a line is broken."""
    return text.replace(" ", "").lower()


def test_pictures_are_there_and_not_blank(written):
    verdict, folder = written
    names = {each.name for each in folder.glob("*.png")}
    assert names == ({"verdict-1.png"} if verdict.internal else set())
    for name in names:
        twins.looked_at(folder / name)


def test_the_internal_edition_is_closed_to_others(written):
    verdict, folder = written
    for each in (folder, *folder.iterdir()):
        assert (stat.S_IMODE(each.stat().st_mode) & 0o077 == 0) == verdict.internal


def test_nothing_about_anybody_is_in_any_publishable_file(verdict, tmp_path):
    verdict.for_everybody().write(tmp_path / "out")
    private = ("p7", "p3", "499", "500", "441", "1 person", "hermitage", "±", "Nearest", "Inside", "of the time:")
    for name, text in twins.said(tmp_path / "out", "verdict").items():
        for each in private:
            assert each not in text, name
    # Attributes that rows chose; those of files and of the rule stand in what was asked for.
    for each in verdict.for_everybody().findings:
        assert "reveals a value of at least one person" in each.sentence()
        assert not each.mends


def _files(folder, people, where):
    found = check(_requested(folder / "request", people), people=people).for_everybody()
    found.write(where)
    words = [each.said for each in found.outputs] + [each.word for each in found.stages]
    return words, {each.name: each.read_bytes() for each in sorted(where.iterdir())}


def test_one_private_value_changes_no_byte_while_the_words_are_the_same(tmp_path):
    """The score of somebody in the difference, and the age of the one who is alone in a ward."""
    others = PEOPLE.copy()
    others.loc[7, "score"] += 31
    others.loc[3, "age"] = 18 if others.loc[3, "age"] > 50 else 89
    found = []
    for name, people in (("one", PEOPLE), ("other", others)):
        (tmp_path / name).mkdir()
        found.append(_files(tmp_path / name, people, tmp_path / f"{name} out"))
    assert found[0][0] == found[1][0]
    assert found[0][1] == found[1][1]
    assert set(found[0][1]) == {f"verdict.{ending}" for ending in ("html", "txt", "json")}


def test_who_makes_it_fail_and_how_many_changes_no_byte(tmp_path):
    """Other people in the difference: other findings, pairs and mends, and the same words."""
    found = []
    for name, where in (("one", "id != 'p7'"), ("several", "id != 'p7' and id != 'p8' and id != 'p9'")):
        folder = tmp_path / name / "request"
        folder.mkdir(parents=True)
        line(folder / "may", PEOPLE, "age", "score", where=where)
        line(folder / "june", PEOPLE, "age", "score")
        table(folder / "means", PEOPLE, of=["score"], by=["sex"])
        verdict = check(folder, people=PEOPLE)
        assert verdict.word == "fail"
        verdict.for_everybody().write(tmp_path / f"{name} out")
        found.append({each.name: each.read_bytes() for each in (tmp_path / f"{name} out").iterdir()})
    assert found[0] == found[1]


def test_a_folder_that_holds_something_else_is_refused(verdict, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "people.csv").write_text("p7")
    with pytest.raises(seepage.errors.InputError, match="name a new folder"):
        verdict.write(tmp_path / "out", replace=True)
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["people.csv"]


def test_nothing_of_an_earlier_edition_stays(verdict, tmp_path):
    verdict.write(tmp_path / "out")
    with pytest.raises(seepage.errors.InputError, match="replace=True"):
        verdict.for_everybody().write(tmp_path / "out")
    verdict.for_everybody().write(tmp_path / "out", replace=True)
    assert not (tmp_path / "out" / "verdict-1.png").exists()
    for text in twins.said(tmp_path / "out", "verdict").values():
        assert "p7" not in text


def test_names_are_no_markup(verdict, tmp_path):
    named = replace(verdict.outputs[0], name="=cmd|' /C calc'!A0", what="<img src=x>\x1b[31m")
    replace(verdict, outputs=(named,), stages=()).for_everybody().write(tmp_path / "out")
    assert "<img" not in (tmp_path / "out" / "verdict.html").read_text()
    assert "\x1b" not in (tmp_path / "out" / "verdict.txt").read_text()


def test_two_files_with_one_stem_have_two_names(tmp_path):
    folder = _requested(tmp_path / "request", PEOPLE)
    shutil.copy(folder / "june.toml", folder / "june.png")
    shutil.copy(folder / "june.csv", folder / "wards.skops")
    names = [each.name for each in check(folder, people=PEOPLE).outputs]
    assert len(set(names)) == len(names)
