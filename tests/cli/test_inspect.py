"""`seepage inspect`, and what `check` and `publish` do with it."""

import json
import pickle
import shlex

import numpy as np
import pytest
from inspected import PEOPLE
from requests_made import line, table
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from cli.terminal import Terminal
from seepage.errors import PolicyError

X, Y = PEOPLE[["age", "bmi", "glucose"]], PEOPLE["marker"]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    folder = tmp_path_factory.mktemp("house")
    PEOPLE.to_parquet(folder / "people.parquet")
    (folder / "neighbors.pkl").write_bytes(pickle.dumps(KNeighborsRegressor().fit(X, Y)))
    (folder / "ridge.pkl").write_bytes(pickle.dumps(Ridge().fit(X, Y)))
    found = Terminal(folder)
    yield found
    found.close()


def test_a_file_of_people_ends_with_1_and_another_with_0(house):
    found = house.run("seepage inspect neighbors.pkl --data people.parquet --ids id")
    assert (found.code, found.out.splitlines()[0]) == (1, "FAIL: neighbors.pkl must not be published")
    assert "Please send a table of the coefficients instead" in " ".join(found.out.split())
    found = house.run("seepage inspect ridge.pkl --data people.parquet --ids id")
    assert (found.code, found.out.splitlines()[0]) == (0, "PASS: ridge.pkl holds no values of these people")


def test_pipelines_get_json_and_sarif(house):
    said = json.loads(house.run("seepage inspect neighbors.pkl -d people.parquet --format json").out)
    assert (said["verdict"], said["findings"][0]["kind"], said["findings"][0]["people"]) == ("fail", "rows", 300)
    house.run("seepage inspect neighbors.pkl ridge.pkl -d people.parquet --format sarif --out found.sarif")
    log = json.loads((house.folder / "found.sarif").read_text())
    assert log["runs"][0]["results"][0]["ruleId"] == "seepage/inspect-rows"


def test_what_does_not_go_together_is_refused(house):
    assert house.run("seepage inspect ridge.pkl --ids id").code == 2
    assert house.run("seepage inspect ridge.pkl --data people.parquet --out ridge.pkl --force").code == 2


def test_a_request_fails_by_what_is_in_its_files(house):
    folder = house.folder / "request"
    folder.mkdir()
    people = PEOPLE.rename(columns={"marker": "score"})
    people.to_parquet(house.folder / "scored.parquet")
    line(folder / "model", people, "age", "score")
    table(folder / "means", people, of=["bmi"], by=["ward"])
    said = json.loads(house.run("seepage check request --people scored.parquet --format json").out)
    words = {each["name"]: each["verdict"] for each in said["outputs"]}
    assert "fail" not in words.values()
    (folder / "fit.pkl").write_bytes(pickle.dumps(KNeighborsRegressor().fit(X, Y)))
    (folder / "notes.txt").write_text(" ".join(PEOPLE["id"][:5]))
    with (folder / "means.toml").open("a") as file:
        file.write("".join(f"# {each!r}\n" for each in PEOPLE["glucose"][:20].tolist()))
    found = house.run("seepage check request --people scored.parquet --format json")
    after = {each["name"]: each for each in json.loads(found.out)["outputs"]}
    assert found.code == 1
    failed = dict.fromkeys(("fit.pkl", "notes.txt", "means"), "fail")
    assert {name: each["verdict"] for name, each in after.items()} == {**words, **failed}
    assert "fit.pkl" in after["fit.pkl"]["reasons"][0]
    # How many people there are is nothing for everybody.
    public = json.loads(house.run("seepage check request --people scored.parquet -f json --edition publishable").out)
    told = {each["name"]: each for each in public["outputs"]}
    assert (told["fit.pkl"]["verdict"], told["fit.pkl"]["reasons"]) == ("fail", [])


def test_nothing_is_published_that_holds_people(house, monkeypatch):
    import skops.io
    from typer.testing import CliRunner

    from seepage.cli._app import app
    from seepage.release import _table

    skops.io.dump(Ridge().fit(X, Y), house.folder / "model.skops")
    ask = "seepage publish model.skops people.parquet --target marker --noise 0.1 --without-policy --out {}.skops"
    assert house.run(ask.format("first")).code == 0
    honest = _table.as_skops

    def leaky(estimator):
        estimator.rows_ = np.asarray(X)
        return honest(estimator)

    monkeypatch.setattr(_table, "as_skops", leaky)
    monkeypatch.chdir(house.folder)
    found = CliRunner().invoke(app, shlex.split(ask.format("second"))[1:])
    assert isinstance(found.exception, PolicyError)
    assert str(found.exception).startswith("Nothing was written. second.skops")
    assert not (house.folder / "second.skops").exists()
