"""What was let out is recorded in a ledger, and a later request is read together with what comes near."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import seepage
from seepage.ledger import Ledger
from seepage.request._recorded import laid_out

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def people():
    random = np.random.default_rng(0)
    ages, sexes = random.integers(20, 90, 900), random.choice(["f", "m"], 900)
    return pd.DataFrame({"id": np.arange(900), "age": ages, "sex": sexes, "income": random.normal(40, 9, 900)})


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "ledger", key=KEY, eta=10.0)


def request(folder, people, *, digits=2, **filters):
    """Write a folder of means of income, each for those whom a filter keeps, as a table in CSV."""
    folder.mkdir()
    for name, where in filters.items():
        kept = people.query(where) if where else people
        (folder / f"{name}.csv").write_text(f"income\n{kept['income'].mean():.{digits}f}\n")
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


def held_against(earlier, request, people, ledger):
    """Check a request with all that was let out, and with what a ledger finds of it, and see that both say the same."""
    seepage.request.record(earlier, people=people, ledger=ledger)
    whole, near = (seepage.request.check(request, people=people, earlier=each) for each in (earlier, ledger))
    assert whole.word == near.word
    found = [{person for finding in each.findings for person in finding.people} for each in (whole, near)]
    assert found[0] == found[1]
    return near, found[0]


def tables(folder, **said):
    """Write a folder of means and counts of income, which are made from the people."""
    folder.mkdir()
    for name, more in said.items():
        (folder / f"{name}.toml").write_text(f'of = ["income"]\n{more}\n')
    return folder


def test_what_was_recorded_is_the_union_of_two_outputs_of_one_request(people, ledger, tmp_path):
    may = tables(tmp_path / "may", all="", old='where = "age >= 60"')
    june = tables(tmp_path / "june", men='where = "sex == m"', women='where = "sex == f and id != 17"')
    verdict, found = held_against(may, june, people, ledger)
    assert verdict.word == "fail"
    assert 17 in found


def test_nine_people_are_too_few_for_a_table_however_few_numbers_it_has(people, ledger, tmp_path):
    may = request(tmp_path / "may", people, all=None)
    june = request(tmp_path / "june", people, most="id >= 9")
    verdict, found = held_against(may, june, people, ledger)
    assert (verdict.word, found) == ("fail", set(range(9)))


def regression(folder, people, where=None):
    """Write a folder of a regression of those whose income is known, with as many digits as programs write."""
    kept = people.query(where) if where else people
    known = kept.dropna()
    model = LinearRegression().fit(known[["age"]], known["income"])
    folder.mkdir()
    (folder / "model.csv").write_text(
        f"term,estimate\n(Intercept),{model.intercept_:.12f}\nage,{model.coef_[0]:.12f}\n"
    )
    filtered = f'where = "{where}"\n' if where else ""
    (folder / "model.toml").write_text(f'family = "gaussian"\noutcome = "income"\n{filtered}')
    return folder


def test_people_without_a_value_are_in_no_output_and_all_digits_hide_nobody(people, ledger, tmp_path):
    some = people.assign(income=people["income"].where(people["id"] >= 100))
    may, june = regression(tmp_path / "may", some), regression(tmp_path / "june", some, "id != 117")
    verdict, found = held_against(may, june, some, ledger)
    assert verdict.word == "fail"
    assert 117 in found
    assert len(ledger.outputs[0].places()) == 800


BY_WARD = 'by = ["ward"]'
LESS_ONE = 'where = "ward == 2 and id != 17"'


@pytest.mark.parametrize(
    ("may", "june"),
    [
        ({"wards": BY_WARD}, {"ward": LESS_ONE}),
        ({"ward": LESS_ONE}, {"wards": BY_WARD}),
        ({"wards": BY_WARD}, {"three": 'where = "ward <= 2 and id != 17"'}),
        ({"cells": 'by = ["ward", "sex"]'}, {"ward": LESS_ONE}),
        ({"cells": 'by = ["ward", "sex"]'}, {"wards": f'{BY_WARD}\nwhere = "id != 17"'}),
        # By two tables, or beside another output of the same request.
        ({"women": f'{BY_WARD}\nwhere = "sex == f"', "men": f'{BY_WARD}\nwhere = "sex == m"'}, {"ward": LESS_ONE}),
        ({"women": f'{BY_WARD}\nwhere = "sex == f"'}, {"men": f'{BY_WARD}\nwhere = "sex == m"', "ward": LESS_ONE}),
        ({"all": "", "others": f'{BY_WARD}\nwhere = "ward != 2"'}, {"ward": LESS_ONE}),
    ],
)
def test_cells_of_tables_are_outputs_too(people, ledger, tmp_path, may, june):
    some = people.assign(ward=people["id"] % 5)
    verdict, found = held_against(tables(tmp_path / "may", **may), tables(tmp_path / "june", **june), some, ledger)
    assert verdict.word == "fail"
    assert 17 in found


def test_whoever_has_a_value_is_a_part_of_shares_and_of_curves(people, ledger, tmp_path):
    some = people.assign(smokes=people["id"] % 3 == 2, time=1.0 + people["id"] % 4, event=(people["id"] % 8 < 4) * 1)
    june = tables(
        tmp_path / "june", smokers='where = "smokes == True and id != 17"', late='where = "time > 2 and id != 14"'
    )
    may = tmp_path / "may"
    may.mkdir()
    (may / "shares.toml").write_text('of = ["smokes"]\nstatistics = ["share"]\n')
    (may / "curve.toml").write_text('duration = "time"\nevent = "event"\ntimes = [1.0, 2.0]\n')
    seepage.request.record(may, people=some, ledger=ledger)
    shares, curve = (
        len({*each.divisions[0].tolist()}) for each in sorted(ledger.outputs, key=lambda one: one.name)[::-1]
    )
    assert (shares, curve) == (2, 6)
    verdict = seepage.request.check(june, people=some, earlier=ledger)
    assert {"curve, entry 1 (earlier)", "shares, entry 2 (earlier)"} < {*verdict.stages[-1].outputs}


@pytest.mark.parametrize(("beside", "word"), [("", "fail"), (" + sex", "review")])
def test_the_people_of_a_level_are_a_part_of_a_regression(people, ledger, tmp_path, beside, word):
    some = people.assign(ward=[f"w{i % 5}" for i in people["id"]])
    design = np.column_stack([np.ones(900), pd.get_dummies(some[["ward", "sex"][: 1 + bool(beside)]], drop_first=True)])
    fitted = np.linalg.lstsq(design.astype(float), some["income"], rcond=None)[0]
    terms = ["(Intercept)", *(f"C(ward)w{i}" for i in range(1, 5)), "sexm"]
    rows = [f"{term},{number:.4f}" for term, number in zip(terms, fitted, strict=False)]
    may = tmp_path / "may"
    may.mkdir()
    (may / "model.csv").write_text("\n".join(["term,estimate", *rows]))
    (may / "model.toml").write_text(f'family = "gaussian"\nformula = "income ~ C(ward){beside}"\n')
    june = tables(tmp_path / "june", ward='where = "ward == w2 and id != 17"')
    verdict, _ = held_against(may, june, some, ledger)
    assert verdict.word == word
    assert len(verdict.stages[-1].outputs) == 2
    (parts,) = ledger.outputs[0].divisions
    assert len(np.unique(parts)) == (10 if beside else 5)


def test_an_earlier_output_with_many_numbers_asks_for_more_people_than_a_new_one(people, ledger, tmp_path):
    """Forty people are enough for a line, and too few for nine coefficients."""
    random = np.random.default_rng(1)
    some = people.assign(**{name: random.normal(size=900) for name in "abcdefg"})
    for folder, columns, where in (("may", ["age", *"abcdefg"], None), ("june", ["age"], "id >= 30")):
        kept = some.query(where) if where else some
        model = LinearRegression().fit(kept[columns], kept["income"])
        numbers = zip(["(Intercept)", *columns], [model.intercept_, *model.coef_], strict=True)
        (tmp_path / folder).mkdir()
        rows = ["term,estimate", *(f"{name},{number:.4f}" for name, number in numbers)]
        (tmp_path / folder / "model.csv").write_text("\n".join(rows))
        said = f'where = "{where}"\n' if where else ""
        (tmp_path / folder / "model.toml").write_text(f'family = "gaussian"\noutcome = "income"\n{said}')
    verdict, _ = held_against(tmp_path / "may", tmp_path / "june", some, ledger)
    assert len(verdict.stages[-1].outputs) == 2
    # The line alone does not ask for so many.
    again = Ledger.create(tmp_path / "again", key=KEY, eta=1.0)
    seepage.request.record(tmp_path / "june", people=some, ledger=again)
    assert again.outputs[0].hidden_by < 30 < ledger.outputs[0].hidden_by


def test_recording_goes_on_after_what_cannot_be_read(people, ledger, tmp_path):
    """It was let out all the same: about whom its filter keeps, or about everybody if that cannot be read either."""
    may = tables(
        tmp_path / "may",
        a_median='statistics = ["median"]',
        b_column='by = ["nowhere"]\nwhere = "age >= 60"',
        c_filter='where = "nowhere == 1"',
        d_nobody='where = "age > 200"',
        f_good='where = "sex == f"',
    )
    (may / "e_latin.csv").write_bytes("höhe\n1.5\n".encode("latin-1"))
    (may / "e_latin.toml").write_text('of = ["income"]\nstatistics = ["mean"]\n')
    assert [*seepage.request.record(may, people=people, ledger=ledger)] == [
        *("a_median", "b_column", "c_filter", "d_nobody", "e_latin", "f_good")
    ]
    about = {each.name: len(each.places()) for each in ledger.outputs}
    old, women = int((people["age"] >= 60).sum()), int((people["sex"] == "f").sum())
    assert [*about.values()] == [900, old, 900, 900, 900, women]
    # As it was, byte by byte, for whoever reads it again.
    (latin,) = (each for each in ledger.outputs if each.name == "e_latin")
    with laid_out([latin]) as (folder,):
        assert (folder / "e_latin.csv").read_bytes() == (may / "e_latin.csv").read_bytes()
    june = tables(tmp_path / "june", all="")
    verdict = seepage.request.check(june, people=people, earlier=ledger)
    assert verdict.word == "review"
    assert "c_filter, entry 3 (earlier) is not read with this request" in " ".join(verdict.text().split())


@pytest.mark.parametrize("from_a_ledger", [False, True])
def test_what_was_let_out_and_cannot_be_read_again_is_named(people, ledger, tmp_path, from_a_ledger):
    may, fewer = request(tmp_path / "may", people, digits=4, all=None), people[people["id"] != 17]
    (may / "plot.png").write_bytes(b"...")
    seepage.request.record(may, people=people, ledger=ledger)
    # Whoever has both tables knows the income of one person, and the table of people has this person no more.
    june = request(tmp_path / "june", fewer, digits=4, all=None)
    verdict = seepage.request.check(june, people=fewer, earlier=ledger if from_a_ledger else may)
    assert verdict.word == "review"
    (reason,) = verdict.stages[-1].reasons
    assert "(earlier) is not read with this request: all.csv is not the table of these people" in reason
    assert "plot" not in verdict.text()


def test_who_is_forgotten_is_in_no_further_output(people, ledger, tmp_path):
    may = request(tmp_path / "may", people, all=None)
    seepage.request.record(may, people=people, ledger=ledger)
    ledger.forget([17, 18])
    verdict = seepage.request.check(may, people=people, earlier=ledger)
    assert verdict.word == "fail"
    assert "2 of its people are forgotten in the ledger" in verdict.outputs[0].reasons[0]
    assert ledger.forgotten([16, 17, "18 "]).tolist() == [False, True, True]
    assert "forgotten" not in seepage.request.check(may, people=people, earlier=may).text()


def test_what_an_output_said_of_who_is_forgotten_since_is_not_taken_for_nothing(people, ledger, tmp_path):
    # A table that is made anew from the people, and not read from a file, is the same for those who are left.
    may = tables(tmp_path / "may", all="")
    seepage.request.record(may, people=people, ledger=ledger)
    ledger.forget([17])
    fewer = people[people["id"] != 17]
    verdict = seepage.request.check(may, people=fewer, earlier=ledger)
    assert verdict.word == "review"
    assert "was about 1 person more, forgotten since" in " ".join(verdict.text().split())
    assert [each.forgotten for each in ledger.outputs] == [1]
    # Let out now, it is another output, which is about everybody whom it was made of.
    seepage.request.record(may, people=fewer, ledger=ledger)
    assert [each.forgotten for each in ledger.outputs] == [1, 0]
    seepage.request.record(may, people=fewer, ledger=ledger)
    ledger.rotate(bytes(32))
    assert [each.forgotten for each in ledger.outputs] == [1, 0]
