"""Two regressions that differ by one person, both of which pass by themselves."""

from pathlib import Path

import numpy as np
import pytest
from requests_made import kept, regression, table
from sklearn.datasets import load_diabetes

import seepage
from seepage.errors import InputError
from seepage.request import check

PEOPLE = load_diabetes(as_frame=True, scaled=False).frame.rename(columns={"target": "progress"})
PEOPLE.insert(0, "id", [f"p{i}" for i in range(442)])
FORMULA = "progress ~ age + bmi + bp + s5"


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    regression(folder / "may", PEOPLE, FORMULA, where="id != 'p441'", decimals=6)
    regression(folder / "june", PEOPLE, FORMULA, decimals=6)
    return folder


@pytest.fixture(scope="module")
def verdict(pair):
    return check(pair, people=PEOPLE)


def test_each_passes_and_both_fail_with_the_one_person_named(verdict):
    assert [(each.name, each.word) for each in verdict.outputs] == [("june", "pass"), ("may", "pass")]
    (together,) = verdict.stages
    assert together.word == verdict.word == "fail"
    (finding,) = together.findings
    assert finding.people == ("p441",)
    assert finding.pair == ("june", "may")
    assert "progress" in finding.attributes
    assert finding.figure.value == 0.0


def test_the_person_is_told_from_the_two_files_and_everybodys_covariates(pair):
    """The same by arithmetic: X'X b of one table less that of the other is the newcomer's row times their outcome."""
    columns = ["age", "bmi", "bp", "s5"]
    x = np.column_stack([np.ones(442), PEOPLE[columns]])

    def moments(name, rows):
        lines = (pair / f"{name}.csv").read_text().splitlines()[1:]
        return x[:rows].T @ x[:rows] @ [float(line.rpartition(",")[2]) for line in lines]

    told = np.median((moments("june", 442) - moments("may", 441)) / x[441])
    assert abs(told - PEOPLE["progress"].iloc[441]) < 0.5


def test_leaving_one_of_them_out_passes(verdict, pair, tmp_path):
    mend = verdict.findings[0].mends[0]
    assert (mend.kind, mend.outputs) == ("leave out", ("may",))
    for each in pair.iterdir():
        if each.stem not in mend.outputs:
            (tmp_path / each.name).write_bytes(each.read_bytes())
    assert check(tmp_path, people=PEOPLE).word == "pass"


def test_the_least_noise_that_was_tried_protects_this_person(verdict):
    noise = next(mend for mend in verdict.findings[0].mends if mend.kind == "noise")
    rows = {"june": PEOPLE, "may": kept(PEOPLE, "id != 'p441'")}
    model = seepage.models.ModelTable(family="gaussian", formula=FORMULA)
    (named,) = noise.outputs

    def measured(name, amount):
        plain = seepage.measure(model, rows[name], ids="id", known_records=0, published=["coefficients"])
        if name != named:
            return seepage.measure(model, rows[name], ids="id", known_records=0)
        spread = plain.information.printed.sampling
        added = seepage.release.GaussianNoise(covariance=np.diag((amount * spread) ** 2))
        return seepage.measure(
            model, rows[name], ids="id", known_records=0, published=["coefficients"], noise_scale=added
        )

    composed = seepage.compose({name: measured(name, noise.number) for name in rows})
    floor = composed.error_floor()["progress"].loc["p441"]
    assert floor >= 0.5 * PEOPLE["progress"].std()


def test_the_number_of_people_who_must_differ_is_where_failing_ends(verdict, tmp_path):
    more = next(mend for mend in verdict.findings[0].mends if mend.kind == "more people")
    people = PEOPLE.assign(place=range(442))
    found = {}
    for differ in (3, int(more.number) + 5, 220):
        folder = tmp_path / str(differ)
        folder.mkdir()
        regression(folder / "june", people, FORMULA)
        regression(folder / "may", people, FORMULA, where=f"place < {442 - differ}")
        found[differ] = check(folder, people=people).word
    assert list(found.values()) == ["fail", "review", "pass"]


def test_what_was_let_out_before_is_read_with_it(pair, tmp_path):
    before, now = tmp_path / "before", tmp_path / "now"
    for folder, name in ((before, "may"), (now, "june")):
        folder.mkdir()
        for each in pair.glob(f"{name}.*"):
            (folder / each.name).write_bytes(each.read_bytes())
    assert check(now, people=PEOPLE).word == "pass"
    found = check(now, people=PEOPLE, earlier=[before])
    assert [(each.name, each.word) for each in found.stages] == [("with what was published before", "fail")]
    assert found.findings[0].people == ("p441",)
    # What is out cannot be left out.
    assert found.findings[0].mends[0].outputs == ("june",)


def test_earlier_requests_are_compared_together_by_the_names_of_their_folders(tmp_path):
    """The means of women and of men, of two earlier requests, and that of all but one person."""
    wheres = {"one": ["sex == 1"], "two": ["sex == 2"], "now": ["id != p441"]}
    for folder, (where,) in wheres.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "means.toml").write_text(f'of = ["progress"]\nstatistics = ["mean"]\nwhere = "{where}"\n')
    earlier = [tmp_path / "one", tmp_path / "two"]
    for before in ([], earlier[:1], earlier[1:]):
        assert check(tmp_path / "now", people=PEOPLE, earlier=before).word == "pass"
    found = check(tmp_path / "now", people=PEOPLE, earlier=earlier)
    assert (found.word, found.findings[0].people) == ("fail", ("p441",))
    assert [each.name for each in found.outputs] == ["means"]
    assert f"means, {earlier[1]} (earlier)" in found.stages[0].outputs


@pytest.mark.parametrize("earlier", ["before", Path("before"), 3])
def test_folders_of_earlier_requests_are_listed(pair, earlier):
    with pytest.raises(InputError, match=r"List the folders of earlier requests: earlier=\['may', 'june'\]"):
        check(pair, people=PEOPLE, earlier=earlier)


def test_a_publishable_edition_names_and_counts_nobody(verdict):
    public = verdict.for_everybody()
    for written in (public.text(), public.html(), public.to_json()):
        assert "fail" in written.lower()
        assert "june" in written
        assert "may" in written
        for private in ("p441", "441", "442", "1 person", "6.55", "±"):
            assert private not in written.replace("charset", "")
    for written in (verdict.text(), verdict.html(), verdict.to_json()):
        assert "p441" in written


def test_two_harmless_outputs_pass(tmp_path):
    regression(tmp_path / "all", PEOPLE, FORMULA)
    regression(tmp_path / "smaller", PEOPLE, "progress ~ age + bmi")
    found = check(tmp_path, people=PEOPLE)
    assert found.word == "pass"
    assert found.stages[0].outputs == ("all", "smaller")


def test_a_table_of_means_beside_a_regression_without_one_person_fails(tmp_path):
    regression(tmp_path / "model", PEOPLE, "progress ~ age", where="id != 'p7'")
    table(tmp_path / "means", PEOPLE, of=["progress", "age"], statistics=["mean", "sd"], decimals=6)
    found = check(tmp_path, people=PEOPLE)
    assert found.word == "fail"
    assert {person for each in found.stages[0].findings for person in each.people} == {"p7"}


def test_a_policy_stands_for_the_rule(pair):
    public = seepage.Policy(error_floor={"age": 1e-6}, other_attributes="public")
    found = check(pair, people=PEOPLE, policy=public)
    assert found.findings[0].attributes == ("age",)
    strict = check(pair, people=PEOPLE, policy=seepage.Policy(error_floor={"s5": 10.0}))
    assert [each.word for each in strict.outputs] == ["fail", "fail"]
    assert strict.outputs[0].figure.target == 10.0
