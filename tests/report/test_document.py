"""What a report says is data: whole, typed, and every number with where it comes from."""

import copy
import json
import random
from dataclasses import replace

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hostile import HOSTILE, Checker
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import seepage
from seepage import Leakage, Report
from seepage._facts import Assumption, given, personal, public
from seepage.report._report import SCHEMA_FILE

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
LEAK = seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=2.0)
SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))
POLICY = {"error_floor": {"age": 5.0, "bmi": 4.0}, "eta": 3.0}
# What a page for everybody promises must be kept, whatever value anybody tried has: by a release with more noise.
SAFE = seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=50.0)
EDITIONS = ("internal", "publishable")


def _report(edition, leak=None, **options):
    known = leak or (LEAK if edition == "internal" else SAFE)
    if edition == "internal":
        options = {"groups": X["sex"], **options}
    return Report.of(known, edition, policy=POLICY, units={"age": "years"}, **options)


def _numbers(value, path=""):
    """Every number in a document, with its path and origin; those without an origin have None."""
    if isinstance(value, dict):
        if set(value) >= {"value", "origin"}:
            yield path, value["value"], value["origin"]
            return
        if "origin" in value:
            yield from ((f"{path}.{key}", each, value["origin"]) for key in ("edges", "counts") for each in value[key])
            return
        for key, each in value.items():
            yield from _numbers(each, f"{path}.{key}")
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from _numbers(each, f"{path}[{i}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value, None


@pytest.mark.parametrize("edition", EDITIONS)
def test_every_number_says_where_it_comes_from(edition):
    found = list(_numbers(json.loads(_report(edition, prior={"age": 100.0} if edition == "internal" else None).json())))
    assert len(found) > (50 if edition == "internal" else 8)
    assert [path for path, _, origin in found if origin is None] == []
    origins = {path: origin for path, _, origin in found}
    assert origins[".people"] == "public"
    if edition == "publishable":
        assert "personal" not in origins.values()
        return
    assert origins[".shares[0]"] == "public"
    assert origins[".verdict.judgments[0].target.limit"] == origins[".noise.scale"] == "given"
    # Only what the user gave or everybody knows is anything else than personal.
    others = {path.rpartition(".")[2].partition("[")[0] for path, origin in origins.items() if origin != "personal"}
    assert others <= {
        *("people", "count", "shares", "share", "asked", "limit", "quantile", "scale", "deviation"),
        *("standard_errors", "wider"),
    }
    counts = [origin for path, origin in origins.items() if path.startswith(".groupings") and path.endswith("count")]
    assert set(counts) == {"personal"}


def test_a_prior_is_given_or_personal():
    def origin(**options):
        return next(each for each in _report("internal", **options).document.numbers if each.name == "age").deviation

    assert origin(prior={"age": 100.0}) == given(10.0)
    assert origin() == personal(origin().value)


def _mutated(document, chance):
    """Break one entry of a document."""
    places = []

    def walk(value):
        if isinstance(value, dict | list):
            for key, each in value.items() if isinstance(value, dict) else enumerate(value):
                places.append((value, key))
                walk(each)

    walk(document)
    parent, key = chance.choice(places)
    kind = chance.choice(["replace", "replace", "replace", "delete", "add"])
    if kind == "delete" and isinstance(parent, dict):
        del parent[key]
    elif kind == "add" and isinstance(parent, dict):
        parent["surprise"] = 1
    else:
        wrong = [None, True, 1, -1.5, "x", "internal", [], [1], {}, {"value": 1}, 10**400, "2026-13-01T00:00:00Z"]
        parent[key] = chance.choice(wrong)
    return document


@pytest.mark.parametrize("edition", EDITIONS)
def test_what_the_schema_refuses_is_refused_and_the_rest_is_written(tmp_path, edition):
    """A thousand documents with one entry broken: refused by name, or as good as any."""
    whole, chance, path = (
        json.loads(_report(edition).json()),
        random.Random(0),
        tmp_path / "report.json",
    )
    refused = 0
    for _ in range(500):
        document = _mutated(copy.deepcopy(whole), chance)
        path.write_text(json.dumps(document))
        report, reason = _read(path)
        if report is None:
            refused += 1
            assert "is no report" in reason or "has the schema" in reason
            assert len(reason) < 600
            continue
        assert SCHEMA.is_valid(document)
        Checker(report.html())
        report.markdown()
    assert refused > 250


def _read(path):
    try:
        return Report.read(path), ""
    except seepage.errors.InputError as reason:
        return None, str(reason)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("edition",), "<img src=x onerror=alert(1)>", "edition must be one of"),
        (("verdict", "status"), "met' onclick='", "verdict.status must be one of"),
        (("people", "value"), "442", "people.value must be a number, not '442'"),
        (("people", "origin"), "secret", "people.origin must be one of"),
        (("created",), "yesterday", "does not match format"),
        (("numbers", 0, "floors", 0), None, r"numbers\[0\].floors\[0\] must have named entries"),
        (("eta", "histogram", "edges", 0), -1.0, "edges of bars are positive"),
        (("eta", "histogram", "counts"), [1], "edges are not those of 1 bars"),
        (("exposed", 0, "pseudonym"), "`Jane Doe`", "is no pseudonym"),
        (("shares", 0, "value"), 1e999, "must be a finite number"),
        (("assumptions", 0, "template"), "{scale.__class__}", "places"),
        (("assumptions", 0, "template"), "{scale:>999999999}", "places"),
    ],
)
def test_a_report_made_by_hand_is_refused_by_the_place_that_is_wrong(tmp_path, place, value, message):
    document = json.loads(_report("internal").json())
    parent = document
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    path = tmp_path / "report.json"
    path.write_text(json.dumps(document))
    with pytest.raises(seepage.errors.InputError, match=message):
        Report.read(path)


def test_single_people_are_in_no_publishable_report(tmp_path):
    internal, public_ = (json.loads(_report(edition).json()) for edition in EDITIONS)
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**public_, "exposed": internal["exposed"]}))
    with pytest.raises(seepage.errors.InputError, match="holds nothing about single people"):
        Report.read(path)


def test_a_bomb_of_brackets_is_refused(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("[" * 200_000)
    with pytest.raises(seepage.errors.InputError, match="is not JSON"):
        Report.read(path)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("text", HOSTILE[:8])
def test_text_of_a_report_made_by_hand_is_shown_and_never_obeyed(tmp_path, edition, text):
    document = json.loads(_report(edition).json())

    def walk(value):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(each, dict | list):
                walk(each)
            elif key in ("title", "name", "unit", "attribute", "grouping", "most", "least", "reason"):
                value[key] = text
        if "names" in value:
            value["names"] = dict.fromkeys(value["names"], text)

    walk(document)
    document["versions"] = {text: text}
    document["findings"]["attributes"] = [text]
    path = tmp_path / "report.json"
    path.write_text(json.dumps(document))
    report = Report.read(path)
    for page in (report.html(), report.html_snippet()):
        Checker(page)
        assert "<script" not in page
    assert "<script" not in report.markdown()


def _assuming(*assumptions):
    information = replace(SAFE.information, assumptions=(*SAFE.information.assumptions, *assumptions))
    return Leakage(information)


def test_given_numbers_off_the_grid_are_withheld():
    """A scale with all its digits may have been calibrated to somebody."""
    said = Assumption(
        "rounding", "Noise of deviation {low} to {high}.", {"low": given(1234.0, "g"), "high": given(5000.0, "g")}
    )
    leak = _assuming(said)
    for form in ("html", "json", "markdown"):
        assert "1234" not in getattr(_report("publishable", leak), form)()
    assert "Noise of deviation \\(withheld\\) to 5000." in _report("publishable", leak).markdown()
    assert "Noise of deviation 1234 to 5000." in _report("internal", leak).markdown()


def test_a_name_that_holds_a_number_stays_a_name():
    frame = pd.DataFrame({"score 2.1375": X["age"], "scale 1234": X["bmi"], "bp": X["bp"]})
    leak = seepage.measure(Ridge().fit(frame, Y), frame, Y, noise_scale=2.0, attributes=["bp"])
    for edition in EDITIONS:
        report = Report.of(leak, edition)
        text = report.markdown()
        assert "score 2.1375" in text
        assert "scale 1234" in text
        assert "score 2.1375" in report.html()


def test_sentences_about_the_rows_are_withheld_from_everybody():
    leak = _assuming(
        Assumption(
            "scatter", "The largest is {largest} of {count}.", {"largest": personal(98.7654), "count": public(442)}
        )
    )
    report = _report("publishable", leak)
    assert "The largest is" not in report.html() + report.json() + report.markdown()
    assert "The largest is 98.77 of 442." in _report("internal", leak).markdown()


def test_a_policy_may_be_the_mapping_that_publish_takes():
    asked = {"error_floor": {"age": 5.0}, "quantile": 0.9}
    one, other = (Report.of(LEAK, "internal", policy=each).document for each in (asked, seepage.Policy(**asked)))
    assert one.verdict == other.verdict
    assert one.verdict.judgments[0].target.quantile.value == 0.9


def test_targets_are_data_and_their_names_are_short_only_on_pages():
    long = "x" * 300
    frame = X.rename(columns={"age": long})
    leak = seepage.measure(Ridge().fit(frame, Y), frame, Y, noise_scale=2.0)
    report = Report.of(leak, "internal", policy={"error_floor": {long: 5.0}})
    (judgment,) = report.document.verdict.judgments
    assert judgment.target.attribute == long
    assert long not in report.html() + report.markdown()
    assert long in report.json()


def test_the_room_that_is_left_is_rounded_to_the_safe_side():
    for floor in np.linspace(1.0, 1.3, 7):
        verdict = Report.of(LEAK, "internal", policy={"error_floor": {"age": float(floor)}})
        (judgment,) = verdict.document.verdict.judgments
        (share,) = [word for word in verdict.markdown().split() if word.endswith("%") and "room" in verdict.markdown()][
            :1
        ]
        assert float(share.rstrip("%")) / 100 >= judgment.factor.value - 1e-9


def test_whoever_lacks_a_category_is_not_among_those_whose_category_is_told():
    drawn = np.random.default_rng(7)
    rows = pd.DataFrame({"age": drawn.normal(size=300), "ward": drawn.choice(["east", "west"], 300)})
    dose = rows["age"] + (rows["ward"] == "east") + drawn.normal(size=300)
    lacks = np.arange(300) % 10 == 0
    rows["ward"] = rows["ward"].where(~lacks)
    words = make_pipeline(SimpleImputer(strategy="constant", fill_value="west"), OneHotEncoder())
    columns = make_column_transformer((words, ["ward"]), ("passthrough", ["age"]))
    leak = seepage.measure(make_pipeline(columns, Ridge()).fit(rows, dose), rows, dose, noise_scale=0.1)
    report = seepage.Report.of(leak, "internal")
    [ward] = [entry for entry in report.document.categories if entry.name == "ward"]
    rates = leak.success_rate("ward")["success_rate"].dropna()
    assert set(rates.index) == set(np.flatnonzero(~lacks))
    # Rounded up, to the percent.
    assert rates.max() <= ward.rates[-1].success_rate.value < rates.max() + 0.011
    assert "ward" in report.html()
