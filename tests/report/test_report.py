"""The report: what it says, in every form, and where it may be written."""

import json
import stat
import time
import webbrowser
from dataclasses import replace
from html import unescape
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from people import write_people
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import seepage
from seepage import Report
from seepage._amounts import up_to_grid
from seepage._facts import personal, public
from seepage.report._document import CategoryAttribute, Rate
from seepage.report._report import SCHEMA_FILE
from seepage.report.write._findings import finding_sentences
from seepage.report.write._verdict import silence_sentence

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
LEAK = seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=2.0)
SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))
EDITIONS = ("internal", "publishable")


def _checked(report):
    """Every form of a report, and its JSON against the schema that ships with the package."""

    def refuse(name):
        raise AssertionError(name)

    SCHEMA.validate(json.loads(report.json(), parse_constant=refuse))
    assert report.html().startswith("<!DOCTYPE html>")
    assert report.markdown().startswith("# ")
    return report


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA.schema)


def test_verdict_first():
    policy = seepage.Policy(error_floor={"age": 5.0, "bmi": 4.0})
    report = _checked(Report.of(LEAK, "internal", policy=policy, groups=X["sex"], units={"age": "years"}))
    page = report.html()
    assert page.index("Does not meet the policy") < page.index("In short") < page.index("Attributes")
    assert [judgment.met for judgment in report.document.verdict.judgments] == [True, False]
    assert "no unbiased guess of age is better than" in page.replace("No", "no")


def test_the_internal_edition_says_what_the_frames_say():
    document = Report.of(LEAK, "internal", groups=X["sex"]).document
    floors = LEAK.error_floor()
    for entry in document.numbers:
        half, _, everyone = entry.floors
        assert everyone.floor.value == pytest.approx(floors[entry.name].min(), rel=0.011)
        assert half.floor.value == pytest.approx(floors[entry.name].median(), rel=0.03)
        assert entry.deviation.value == pytest.approx(X.join(Y)[entry.name].std(ddof=0), rel=6e-3)
    groups = {group.name: group.eta for group in document.groupings[0].groups}
    for name, eta in LEAK.examples["eta"].groupby(X["sex"]):
        assert groups[str(name)].largest.value == pytest.approx(eta.max(), rel=0.011)
        assert groups[str(name)].mean.value == pytest.approx(eta.mean(), rel=6e-3)
        assert groups[str(name)].median.value == pytest.approx(eta.median(), rel=0.02)
        assert groups[str(name)].count.value == len(eta)
    exposed = LEAK.most_exposed(10)["eta"].to_numpy()
    assert [person.eta.value for person in document.exposed] == pytest.approx(exposed.tolist(), rel=0.011)


def test_the_interval_of_a_median_is_that_of_resampling():
    eta = LEAK.examples["eta"].to_numpy()
    random = np.random.default_rng(0)
    medians = np.median(eta[random.integers(len(eta), size=(4000, len(eta)))], axis=1)
    low, high = Report.of(LEAK, "internal").document.eta.interval
    assert [low.value, high.value] == pytest.approx(np.quantile(medians, [0.025, 0.975]), rel=0.03)


def test_factors_of_the_noise_are_those_of_calibration():
    policy = seepage.Policy(error_floor={"age": 5.0, "bmi": 4.0})
    found = Report.of(LEAK, "internal", policy=policy).document.verdict
    needed = seepage.calibrate(LEAK, error_floor={"age": 5.0, "bmi": 4.0}, exact=True, shape="isotropic").scale / 2.0
    # As on the screen: rounded up to the grid that noise is published on.
    assert max(judgment.factor.value for judgment in found.judgments) == up_to_grid(needed)
    assert found.enough.value == seepage.calibrate(LEAK, error_floor={"age": 5.0, "bmi": 4.0}, shape="isotropic").scale
    assert (
        f"A noise scale of {found.enough.value:g} meets all of them."
        in Report.of(LEAK, "internal", policy=policy).markdown()
    )
    assert Report.of(LEAK, "internal", policy=seepage.Policy()).document.verdict.status == "none"


def test_categories_are_told_by_their_success_rates():
    frame = X.assign(sex=np.where(X["sex"] > 1, "f", "m"))

    columns = make_column_transformer((OneHotEncoder(drop="first"), ["sex"]), remainder="passthrough")
    leak = seepage.measure(make_pipeline(columns, Ridge()).fit(frame, Y), frame, Y, noise_scale=3.0)
    report = _checked(Report.of(leak, "internal", policy=seepage.Policy(success_rate={"sex": 0.9})))
    (entry,) = report.document.categories
    best = leak.success_rate("sex")["success_rate"].max()
    assert best <= entry.rates[-1].success_rate.value <= best + 0.0101
    assert report.document.findings.attributes[0] == entry.name == "sex"
    assert "At equal odds, no attacker can tell anyone's “sex”" in finding_sentences(report.document)[0]


def test_pseudonyms_are_resolved_by_the_file_of_people(tmp_path):
    report = Report.of(LEAK, "internal")
    path = tmp_path / "people.parquet"
    path.write_text("open to all")
    path.chmod(0o644)
    report.write_people(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    people = pq.read_table(path).to_pandas()
    assert len(people) == len(X) == people["pseudonym"].nunique()
    first = report.document.exposed[0].pseudonym
    row = people.set_index("pseudonym").loc[first]
    assert row["eta"] == people["eta"].max()
    assert row["id"] == str(LEAK.examples["eta"].argmax())
    np.testing.assert_array_equal(people["eta of age"], LEAK.attributes["age"])
    assert Report.of(LEAK, "internal").document.exposed[0].pseudonym != first
    same = [Report.of(LEAK, "internal", key=b"one key").document.exposed for _ in range(2)]
    assert same[0] == same[1]


def test_ids_of_people_are_in_no_report():
    ids = [f"patient {i}" for i in range(len(X))]
    leak = seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=2.0, ids=ids)
    report = Report.of(leak, "internal")
    assert "patient " not in report.html() + report.json() + report.markdown()


def test_files_are_closed_to_others_where_they_hold_people(tmp_path):
    for edition, mode in (("internal", 0o600), ("publishable", None)):
        report = Report.of(LEAK, edition)
        for name, write in (("page.html", report.write_html), ("twin.json", report.write_json)):
            write(tmp_path / name)
            found = stat.S_IMODE((tmp_path / name).stat().st_mode)
            assert found == mode if mode else found & 0o400
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "twin.json"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_report_can_be_read_from_its_json(tmp_path, edition):
    report = Report.of(LEAK, edition, groups=X["sex"] if edition == "internal" else None)
    report.write_json(tmp_path / "report.json")
    again = Report.read(tmp_path / "report.json")
    for form in ("html", "markdown", "json", "__repr__"):
        assert getattr(again, form)() == getattr(report, form)()
    with pytest.raises(
        seepage.errors.SeepageError, match="Make it anew" if edition == "internal" else "nothing about single"
    ):
        again.write_people(tmp_path / "people.parquet")
    assert not (tmp_path / "people.parquet").exists()


def test_what_is_no_report_is_refused(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("<html>")
    with pytest.raises(seepage.errors.InputError, match="is not JSON"):
        Report.read(path)
    path.write_text('{"schema": "urn:seepage:report:99"}')
    with pytest.raises(seepage.errors.InputError, match=r"'urn:seepage:report:99'; this version of seepage reads"):
        Report.read(path)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(seepage.errors.InputError, match=r"no folder '.*reports' to write 'page.html' into"):
        Report.of(LEAK, "internal").write_html(tmp_path / "reports" / "page.html")


@pytest.mark.parametrize(
    ("rates", "sentence"),
    [
        (
            (0.55, 0.7),
            "At equal odds, no attacker can tell anyone's “gene” more than 70% of the time; for half the people",
        ),
        ((0.55, 0.7), "best attacker tells anyone's “gene” up to about 70% of the time; for half the people about"),
        ((0.55, 1.0), "can tell “gene” of some people almost for certain; for half the people at most 55% of the time"),
        ((1.0, 1.0), "can tell “gene” of half the people almost for certain"),
    ],
)
def test_success_rates_are_put_into_words(rates, sentence):
    exact = "about" not in sentence
    values = tuple(Rate(public(share), personal(rate), exact) for share, rate in zip((0.5, 1.0), rates, strict=True))
    document = Report.of(LEAK, "internal").document
    first = replace(document.findings, attributes=("gene",))
    document = replace(document, categories=(CategoryAttribute("gene", values, None),), findings=first)
    assert sentence in finding_sentences(document)[0]


def test_the_page_opens_from_a_file_of_its_owner(monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    path = Report.of(LEAK, "internal").open()
    assert opened == [path.as_uri()]
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o600, 0o700]
    path.unlink()
    path.parent.rmdir()


def test_people_in_files(tmp_path):
    people = write_people(tmp_path / "data", rows=3000)
    model = Ridge().fit(people.X, people.frame["outcome"])
    leak = seepage.measure(model, people.pattern, target="outcome", noise_scale=0.05, ids="person", groups="region")
    memory = seepage.measure(model, people.X, people.frame["outcome"], noise_scale=0.05)
    policy = seepage.Policy(error_floor={"x0": 0.5}, eta=1.0, quantile=0.99)
    report = _checked(Report.of(leak, "internal", policy=policy))
    other = Report.of(memory, "internal", policy=policy, groups=people.frame["region"], prior=None)
    found, known = report.document, other.document
    assert [group.name for group in found.groupings[0].groups] == [group.name for group in known.groupings[0].groups]
    assert found.eta == known.eta
    floors = [{e.name: [each.floor for each in e.floors] for e in document.numbers} for document in (found, known)]
    assert floors[0] == floors[1]
    assert found.verdict.status == known.verdict.status
    page = _checked(Report.of(leak, "publishable", policy={"error_floor": {"x0": 1e-6}}))
    assert page.document.verdict.status == "met"
    internal = Report.of(leak, "internal")
    assert len(internal.document.exposed) == 10
    with pytest.raises(seepage.errors.UnansweredError, match="output="):
        internal.write_people(tmp_path / "people.parquet")
    assert _checked(Report.of(leak, "internal", groups="kind")).document.groupings[0].name == "kind"


def test_groups_are_given_in_many_ways():
    one = Report.of(LEAK, "internal", groups=X["sex"]).document.groupings
    assert [grouping.name for grouping in one] == ["sex"]
    assert Report.of(LEAK, "internal", groups={"sex": X["sex"].to_numpy()}).document.groupings == one
    assert Report.of(LEAK, "internal", groups=X[["sex"]]).document.groupings == one
    assert Report.of(LEAK, "internal", groups=X["sex"].to_list()).document.groupings[0].groups == one[0].groups


def test_a_model_card_gets_a_section():
    from skops.card import Card

    card = Card(Ridge().fit(X, Y), template=None)
    report = Report.of(LEAK, "publishable", policy={"error_floor": {"age": 5.0}})
    assert report.to_model_card(card) is card
    text = card.render()
    assert "# Privacy of the training data" in text
    assert "Meets the policy" in text
    assert "most exposed people\n" not in text
    with pytest.raises(seepage.errors.InputError, match=r"needs a skops\.card\.Card, not dict"):
        report.to_model_card({})
    with pytest.raises(seepage.errors.InputError, match=r'make the report with Report.of\(leak, "publishable"\)'):
        Report.of(LEAK, "internal").to_model_card(card)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"policy": {"floor": 1.0}},
            "A policy has error_floor, success_rate, eta, quantile and other_attributes, not {'floor': 1.0}",
        ),
        ({"policy": 3}, "A policy has error_floor, success_rate, eta, quantile and other_attributes, not 3"),
        ({"units": {"height": "cm"}}, "no private attribute 'height'"),
        ({"categories": ["height"]}, "no private attribute 'height'"),
        ({"prior": "public"}, 'prior must be "data"'),
        ({"prior": {"age": -1.0}}, "must be positive, not -1.0"),
        ({"prior": {"height": 1.0}}, "no private attribute 'height'"),
        ({"groups": "height"}, "no column 'height'"),
        ({"groups": X["sex"][:3]}, "a group label for each of the 442 people"),
    ],
)
def test_wrong_arguments_are_answered(options, message):
    with pytest.raises(seepage.errors.InputError, match=message):
        Report.of(LEAK, "internal", **options)


def test_an_edition_that_there_is_not_is_refused():
    with pytest.raises(seepage.errors.InputError, match='must be "internal" or "publishable", not \'public\''):
        Report.of(LEAK, "public")


@pytest.mark.parametrize("edition", EDITIONS)
def test_extreme_data_is_reported(edition):
    """Nobody is exposed, or only one person is there."""
    flat = np.ones((60, 2))
    leak = seepage.measure(Ridge().fit(flat, np.zeros(60)), flat, np.zeros(60), noise_scale=1.0)
    _checked(Report.of(leak, edition, groups=np.zeros(60) if edition == "internal" else None))
    one = seepage.measure(Ridge().fit(X[:1], Y[:1]), X[:1], Y[:1], noise_scale=1.0)
    _checked(Report.of(one, edition, groups=["a"] if edition == "internal" else None))


def test_the_report_needs_no_matplotlib(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    _checked(Report.of(LEAK, "internal", groups=X["sex"]))


def test_a_million_people_take_seconds_and_little_room():
    random = np.random.default_rng(0)
    rows = random.normal(size=(1_000_000, 4))
    labels = rows.sum(axis=1) + random.normal(size=len(rows))
    leak = seepage.measure(Ridge().fit(rows, labels), rows, labels, noise_scale=1e-3)
    leak.information.examples(), leak.information.attributes(), leak.information.variances()
    groups = random.choice(["north", "south", "east"], len(rows))
    start = time.process_time()
    report = Report.of(leak, "internal", groups=groups, policy=seepage.Policy(eta=1.0))
    assert len(report.html().encode()) < 1e6
    assert len(report.json()) < 1e6
    assert time.process_time() - start < 5


def test_the_schema_ships_with_the_package():
    assert SCHEMA_FILE.parent == Path(seepage.report.__file__).parent


def test_what_cannot_be_found_is_said():
    """Most people are kinds of their own: without their record nothing decides the coefficient of their kind."""
    random = np.random.default_rng(0)
    kind = np.concatenate([np.repeat(["a", "b"], 30), [f"only {i}" for i in range(120)]])
    people = pd.DataFrame({"age": random.normal(size=180), "kind": kind})
    encode = make_column_transformer((OneHotEncoder(drop="first"), ["kind"]), remainder="passthrough")
    target = people["age"] + random.normal(size=180)
    model = make_pipeline(encode, LinearRegression()).fit(people, target)
    leak = seepage.measure(model, people, target, noise_scale=0.5)
    with pytest.warns(RuntimeWarning, match="another kind of 120 of 180 people"):
        report = _checked(Report.of(leak, "internal", policy=seepage.Policy(success_rate={"kind": 0.6})))
    (entry,) = report.document.categories
    reason = silence_sentence(entry.silence, report.document)
    assert "could not be refitted" in reason
    with pytest.raises(seepage.errors.UnansweredError, match="counts as missed"):
        Report.of(leak, "publishable", policy=seepage.Policy(success_rate={"kind": 0.6}))
    assert report.document.verdict.status == "withheld"
    assert reason in unescape(report.html())


def test_composed_releases_are_reported():
    both = seepage.compose([LEAK, LEAK])
    for edition in EDITIONS:
        _checked(Report.of(both, edition, groups=X["sex"] if edition == "internal" else None))


@pytest.mark.parametrize("edition", EDITIONS)
def test_who_decided_is_told_as_they_said_it(edition, tmp_path):
    said = {"policy": "Release of <models>", "version": "3.1", "approver": "Dr. Søndergård", "date": "2026-11-12"}
    report = _checked(Report.of(LEAK, edition, decision={**said, "note": "Second reading."}))
    assert json.loads(report.json())["decision"] == {**said, "note": "Second reading."}
    assert "Approved by Dr. Søndergård on 2026-11-12, under Release of &lt;models&gt;, version 3.1." in report.html()
    assert "Approved by Dr. Søndergård" in report.markdown()
    report.write_json(tmp_path / "report.json")
    assert Report.read(tmp_path / "report.json").document == report.document
    assert "decision" not in json.loads(Report.of(LEAK, edition).json())
    with pytest.raises(seepage.errors.InputError, match="YEAR-MONTH-DAY"):
        Report.of(LEAK, edition, decision={**said, "date": "soon"})
