"""What was let out is recorded in a ledger, and a later request is read together with what comes near."""

import numpy as np
import pandas as pd
import pytest

import seepage
from seepage.ledger import Ledger

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def people():
    random = np.random.default_rng(0)
    ages, sexes = random.integers(20, 90, 900), random.choice(["f", "m"], 900)
    return pd.DataFrame({"id": np.arange(900), "age": ages, "sex": sexes, "income": random.normal(40, 9, 900)})


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "ledger", key=KEY, eta=10.0)


def request(folder, people, **filters):
    """Write a folder of means of income, each for those whom a filter keeps, as a table in CSV."""
    folder.mkdir()
    for name, where in filters.items():
        kept = people.query(where) if where else people
        (folder / f"{name}.csv").write_text(f"income\n{kept['income'].mean():.2f}\n")
        said = f'where = "{where}"\n' if where else ""
        (folder / f"{name}.toml").write_text(f'of = ["income"]\nstatistics = ["mean"]\n{said}')
    return folder


def test_the_difference_to_what_was_recorded_is_found_and_the_rest_is_not_read(people, ledger, tmp_path, monkeypatch):
    may = request(tmp_path / "may", people, all=None, old="age >= 60", women="sex == 'f'", young="age < 35")
    assert list(seepage.request.record(may, people=people, ledger=ledger)) == ["all", "old", "women", "young"]
    june = request(tmp_path / "june", people, most="id != 17")
    verdict = seepage.request.check(june, people=people, earlier=ledger)
    assert verdict.word == "fail"
    assert verdict.findings[0].people == (17,)
    assert any("all, entry 1 (earlier)" in name for name in verdict.stages[-1].outputs)
    # The same as with all of the folder, of which three are nowhere near.
    assert len(verdict.stages[-1].outputs) == 2
    whole = seepage.request.check(june, people=people, earlier=may)
    assert (whole.word, whole.findings[0].people) == ("fail", (17,))
    assert len(whole.stages[-1].outputs) == 5


def test_the_difference_to_a_union_of_two_that_were_recorded_is_found(people, ledger, tmp_path):
    may = request(tmp_path / "may", people, women="sex == 'f'", men="sex == 'm'", young="age < 35")
    seepage.request.record(may, people=people, ledger=ledger)
    june = request(tmp_path / "june", people, most="id != 17")
    verdict = seepage.request.check(june, people=people, earlier=ledger)
    assert {name.partition(",")[0] for name in verdict.stages[-1].outputs} == {"most", "women", "men"}
    assert verdict.word == "fail"


def test_what_is_recorded_twice_is_once_and_pictures_are_not(people, ledger, tmp_path):
    may = request(tmp_path / "may", people, old="age >= 60")
    (may / "plot.png").write_bytes(b"...")
    for _ in range(2):
        assert list(seepage.request.record(may, people=people, ledger=ledger)) == ["old"]
    assert len(ledger.outputs) == 1
    assert len(ledger.outputs[0].places()) == (people["age"] >= 60).sum()
    far = request(tmp_path / "far", people, young="age < 35")
    verdict = seepage.request.check(far, people=people, earlier=ledger)
    assert (verdict.word, len(verdict.stages)) == ("pass", 0)
