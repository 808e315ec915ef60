"""What is handed to SACRO, read by ACRO itself.

ACRO holds pandas below 3, which everything else is tested with: these tests run in an environment of their own.
"""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from requests_made import line, table

from seepage.request import check

# pandas', about how ACRO calls it.
pytestmark = pytest.mark.filterwarnings("ignore:The provided callable:FutureWarning")

RNG = np.random.default_rng(5)
PEOPLE = pd.DataFrame(
    {"id": [f"p{i}" for i in range(500)], "age": RNG.integers(18, 90, 500), "sex": RNG.choice(["F", "M"], 500)}
)
PEOPLE["score"] = np.round(20 + 0.5 * PEOPLE["age"] + RNG.normal(0, 8, 500))


@pytest.fixture(scope="module")
def acro():
    import acro

    return acro


@pytest.fixture(scope="module")
def verdict(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sacro") / "request"
    folder.mkdir()
    line(folder / "may", PEOPLE, "age", "score", where="id != 'p7'")
    line(folder / "june", PEOPLE, "age", "score")
    table(folder / "means", PEOPLE, of=["age"], by=["sex"])
    (folder / "notes.log").write_text("see results\n")
    (folder / "drawing.svg").write_text("<svg/>\n")
    return check(folder, people=PEOPLE)


WANTED = {
    "drawing.svg": "review",
    "june": "pass",
    "may": "pass",
    "means": "pass",
    "notes.log": "review",
    "request (verdict)": "fail",
}


def _verified(folder):
    for each in (folder / "checksums").iterdir():
        written = (folder / each.name.removesuffix(".txt")).read_bytes()
        assert hashlib.sha256(written).hexdigest() == each.read_text()
    return {each.name.removesuffix(".txt") for each in (folder / "checksums").iterdir()}


def test_acro_loads_the_folder(acro, verdict, tmp_path):
    verdict.to_sacro(tmp_path / "out")
    records = acro.record.load_records(str(tmp_path / "out"))
    assert {key: records.get(key).status for key in records.get_keys()} == WANTED
    june = records.get("june")
    assert june.properties["method"] == "gaussian regression of score"
    (frame,) = june.output
    assert list(frame["Estimate"]) == list(pd.read_csv(verdict.folder / "june.csv")["Estimate"])
    whole = records.get("request (verdict)")
    assert "FAIL: request must not be published as it is" in whole.summary
    assert list(whole.outcome["verdict"]) == ["fail"]
    assert "p7" not in records.print()
    assert {"june.csv", "results.json", "config.json"} <= _verified(tmp_path / "out")


def test_a_session_of_acro_takes_them_beside_its_own(acro, verdict, tmp_path, monkeypatch):
    # It keeps pictures of its own in the folder that it runs in.
    monkeypatch.chdir(tmp_path)
    session = acro.ACRO()
    session.crosstab(PEOPLE["sex"], PEOPLE["age"] > 50)
    verdict.to_sacro(session)
    session.finalise("out", "json")
    records = acro.record.load_records("out")
    found = {key: records.get(key).status for key in records.get_keys()}
    assert WANTED.items() <= found.items()
    assert found["output_0"] == "pass"
    # What a session blocks is not copied into it.
    assert "this session blocks .svg" in records.get("drawing.svg").comments[0]
    assert not (tmp_path / "out" / "drawing.svg").exists()
    assert (tmp_path / "out" / "june.csv").read_bytes() == (verdict.folder / "june.csv").read_bytes()
    assert "request-verdict.txt" in _verified(tmp_path / "out")
    assert "p7" not in (tmp_path / "out" / "results.json").read_text()


def test_two_requests_in_one_session_keep_their_files(acro, verdict, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = acro.ACRO()
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        line(folder / f"{name} line", PEOPLE, "age", "score")
        check(folder, people=PEOPLE).to_sacro(session)
    session.finalise("out", "json")
    text = [(tmp_path / "out" / f"{name}-verdict.txt").read_text() for name in ("first", "second")]
    assert "PASS: first may be published" in text[0]
    assert "PASS: second may be published" in text[1]
    entries = json.loads((tmp_path / "out" / "results.json").read_text())["results"]
    assert {"first line", "first (verdict)", "second line", "second (verdict)"} <= set(entries)


WARDS = PEOPLE.assign(
    ward=RNG.choice(["north", "south", "west"], 500, p=[0.5, 0.44, 0.06]), income=np.round(RNG.lognormal(10, 1, 500))
)
CASES = {
    "counts": (WARDS, None),
    "a rare ward": (WARDS.assign(ward=np.where(np.arange(500) < 3, "isle", WARDS["ward"])), None),
    "means": (WARDS, "mean"),
    "means with a giant": (WARDS.assign(income=np.where(np.arange(500) == 9, 1e9, WARDS["income"])), "mean"),
    "sums with two giants": (WARDS.assign(income=np.where(np.arange(500) < 2, 1e9, WARDS["income"])), "sum"),
    "below zero": (WARDS.assign(income=WARDS["income"] - 20_000), "mean"),
    "deviations": (WARDS, "std"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_risk_appetite_is_answered_as_acro_does(acro, name, tmp_path, monkeypatch):
    """The word by ACRO's rules is that of ACRO's own table of the same people."""
    people, statistic = CASES[name]
    monkeypatch.chdir(tmp_path)
    session = acro.ACRO()
    more = {} if statistic is None else {"values": people["income"], "aggfunc": statistic}
    session.crosstab(people["sex"], people["ward"], **more)
    (tmp_path / "request").mkdir()
    of = {"of": ["income"], "statistics": [{"std": "sd"}.get(statistic, statistic)]}
    keys = {"statistics": ["count"]} if statistic is None else of
    table(tmp_path / "request" / "table", people, by=["sex", "ward"], **keys)
    (output,) = check(tmp_path / "request", people=people, risk_appetite=session.config).outputs
    record = session.results.get_index(0)
    theirs = record.fair["check_status"]
    names = {"safe_threshold": "MinimumThresholdCheck", "safe_nk_k": "NKCheck", "safe_pratio_p": "PPercentCheck"}
    names["safe_dof_threshold"] = "MinimumDoFCheck"
    assert {names[each.name]: each.word for each in output.rules} == {
        key: word for key, word in theirs.items() if key in names.values()
    }


@pytest.mark.parametrize("count", [9, 12, 13, 500])
def test_degrees_of_freedom_are_those_of_acro(acro, count, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session, people = acro.ACRO(), PEOPLE.iloc[:count]
    session.olsr("score ~ age", people)
    (tmp_path / "request").mkdir()
    line(tmp_path / "request" / "line", people, "age", "score")
    (output,) = check(tmp_path / "request", people=people, risk_appetite=session.config).outputs
    (rule,) = output.rules
    record = session.results.get_index(0)
    assert rule.word == record.status
    assert f"dof={rule.number:.0f}" in record.summary
