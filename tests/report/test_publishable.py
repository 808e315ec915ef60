"""The publishable edition: verdicts, and what was given or is public."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import seepage
from seepage import Report
from seepage._facts import Assumption, Number, Origin, given, personal
from seepage.report._document import DrawnHistogram, Floor

COUNT = 1200
RANDOM = np.random.default_rng(0)
ORDINARY = pd.DataFrame(RANDOM.normal([50, 25, 120], [12, 4, 15], (COUNT, 3)), columns=["age", "bmi", "pressure"])
OUTCOME = pd.Series(ORDINARY.to_numpy() @ [0.3, 1.0, 0.2] + RANDOM.normal(0, 10, COUNT), name="outcome")
POLICY = seepage.Policy(error_floor={"bmi": 2.0})


def _leak(X=ORDINARY, noise_scale=0.5):
    return seepage.measure(Ridge(alpha=1.0).fit(X, OUTCOME), X, OUTCOME, noise_scale=noise_scale)


def test_the_page_holds_the_verdict_and_no_number_about_the_rows():
    """Other rows, as many of them: the same page, but for the time."""
    others = ORDINARY * [1.5, 0.7, 1.1] + [3.0, 4.0, -9.0]
    found = []
    for rows in (ORDINARY, others):
        report = Report.of(_leak(rows), "publishable", policy=POLICY, units={"age": "years"})
        found.append(replace(report.document, created="2026-01-01T00:00:00Z"))
    assert found[0] == found[1]
    document, text = found[0], report.markdown()
    assert document.verdict.status == "met"
    assert document.eta is document.dfil is document.utility is document.exposed is None
    assert "In short" not in text + report.html()


@pytest.mark.parametrize(
    ("name", "value"), [("groups", np.arange(COUNT) % 2), ("prior", {"age": 144.0}), ("categories", ["sex"])]
)
def test_numbers_about_the_rows_are_for_the_internal_edition(name, value):
    with pytest.raises(seepage.errors.InputError, match=f"{name} asks for numbers about the rows"):
        Report.of(_leak(), "publishable", **{name: value})


def test_a_target_may_be_about_a_category():
    X = ORDINARY.assign(sex=RANDOM.integers(2, size=COUNT))
    leak = seepage.measure(Ridge().fit(X, OUTCOME), X, OUTCOME, noise_scale=50.0)
    report = Report.of(leak, "publishable", policy={"success_rate": {"sex": 0.9}})
    assert report.document.verdict.status == "met"


def test_a_missed_policy_has_no_page():
    with pytest.raises(seepage.errors.PolicyError, match="misses its policy") as reason:
        Report.of(_leak(noise_scale=0.01), "publishable", policy={"error_floor": {"age": 50.0}})
    assert reason.value.factor > 1
    found = Report.of(_leak(noise_scale=0.01), "internal", policy={"error_floor": {"age": 50.0}})
    assert found.document.verdict.status == "missed"


PERSONAL = {
    "a floor": lambda document: replace(
        document,
        numbers=(
            replace(
                document.numbers[0],
                floors=(Floor(given(1.0), personal(3.0), None, None),),
            ),
        ),
    ),
    "a count": lambda document: replace(document, people=personal(1200)),
    "a number in a sentence": lambda document: replace(
        document, assumptions=(Assumption("rows", "The largest is {x}.", {"x": personal(98.7)}),)
    ),
    "bars": lambda document: replace(
        document,
        eta=replace(
            Report.of(_leak(), "internal").document.eta, histogram=DrawnHistogram((1.0, 2.0), (3,), Origin.PERSONAL)
        ),
    ),
    "the cost of noise": lambda document: replace(document, utility=Report.of(_leak(), "internal").document.utility),
}


@pytest.fixture(scope="module")
def page():
    return Report.of(_leak(), "publishable")


@pytest.mark.parametrize("what", PERSONAL)
def test_a_personal_number_is_refused_when_the_document_is_made(page, what):
    with pytest.raises(ValueError, match="holds nothing personal"):
        PERSONAL[what](page.document)


@pytest.mark.parametrize("form", ["html", "html_snippet", "markdown", "json", "to_model_card", "write_html"])
def test_a_personal_number_is_refused_in_every_format(page, form, tmp_path):
    """Put where the type was not looking: behind a field of a document that was made already."""
    from skops.card import Card

    report = replace(page, document=replace(page.document))
    number = Number(98.7654, Origin.PERSONAL)
    object.__setattr__(report.document, "people", number)
    arguments = {"to_model_card": [Card(Ridge(), template=None)], "write_html": [tmp_path / "page.html"]}
    with pytest.raises(ValueError, match="people is"):
        getattr(report, form)(*arguments.get(form, []))
    assert not (tmp_path / "page.html").exists()


def test_a_file_with_a_personal_number_is_refused(page, tmp_path):
    found = json.loads(page.json())
    found["people"]["origin"] = "personal"
    (tmp_path / "page.json").write_text(json.dumps(found))
    with pytest.raises(seepage.errors.InputError, match="people is: leave it to the internal edition"):
        Report.read(tmp_path / "page.json")


def test_a_noise_scale_off_the_grid_is_not_told():
    scale = 0.5123456
    report = Report.of(_leak(noise_scale=scale), "publishable")
    assert "0.512" not in report.html() + report.json() + report.markdown()
    assert report.document.noise.scale is None
    assert Report.of(_leak(), "publishable").document.noise.scale == given(0.5)
    assert "0.512346" in Report.of(_leak(noise_scale=scale), "internal").html()


def test_a_report_does_not_travel_with_its_people(page):
    import pickle

    with pytest.raises(seepage.errors.UnsupportedError, match="must not travel"):
        pickle.dumps(page)


def test_a_missed_page_tells_nobody_to_write_python():
    with pytest.raises(seepage.errors.PolicyError, match="The internal edition says by how much"):
        Report.of(_leak(), "publishable", policy={"error_floor": {"age": 1e6}})


def test_one_is_one():
    rows = np.random.default_rng(5).normal(size=(50, 1))
    leak = seepage.measure(Ridge().fit(rows, rows[:, 0]), rows, rows[:, 0], noise_scale=50.0, public_label=True)
    report = Report.of(leak, "publishable", policy={"error_floor": {"x0": 1.0}}, units={"x0": "years"})
    assert "50 people, 1 private attribute," in report.html()
    assert "below 1 year." in report.markdown()
    assert "1 private attribute," in repr(leak)
    assert "1 private attribute (" in leak.summary()
