"""Reports: their numbers are those of the frames, in every format, for the right readers."""

import re
import stat
import webbrowser
from datetime import datetime, timezone

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import twins
from hostile import HOSTILE, Checker
from people import write_people
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import seepage
from seepage import Report
from seepage._amounts import up_to_grid
from seepage.report._attributes import CategoryAttribute

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
LEAK = seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=2.0)
POLICY = {"error_floor": {"age": {"floor": 5.0, "unit": "years", "baseline": 13}, "bmi": 4.0}}
MET = {"error_floor": {"age": 5.0}}
EDITIONS = ("internal", "publishable")


@pytest.fixture(scope="module")
def internal():
    return Report.of(LEAK, "internal", policy=POLICY, groups=X["sex"], key=b"key")


def section(report, head):
    """Return the sections whose heading starts so."""
    return next(each for each in report.document.sections if each.head.startswith(head))


def values(table):
    """Return the numbers of each row of a table, by its first cell."""
    return {row[0].text: [cell.value for cell in row[1:]] for row in table.rows}


def test_the_verdict_comes_first_with_units_and_baselines(internal):
    first = internal.document.sections[0]
    assert (first.head, first.mark) == ("Does not meet the policy", "missed")
    text = " ".join(internal.text().split())
    assert "no unbiased guess has a standard error below 5 years; the baseline is 13 years." in text
    assert "states no baseline, the error of a guess without the release, for: bmi." in text
    assert [judgment.met for judgment in internal.verdict.judgments] == [True, False]


def test_factors_of_the_noise_are_those_of_calibration(internal):
    floors = {"age": 5.0, "bmi": 4.0}
    needed = seepage.calibrate(LEAK, error_floor=floors, exact=True, shape="isotropic").scale / 2.0
    assert max(judgment.factor for judgment in internal.verdict.judgments) == up_to_grid(needed)
    assert internal.verdict.enough == seepage.calibrate(LEAK, error_floor=floors, shape="isotropic").scale
    assert f"A noise scale of {internal.verdict.enough:g} meets all of them." in internal.text()


def test_tables_say_what_the_frames_say(internal):
    floors = LEAK.error_floor()
    for called, (half, _, everyone, baseline, _) in values(section(internal, "Attributes").tables[0]).items():
        attribute = called.partition(" (")[0]
        # An error of which the release says nothing has no number.
        assert everyone is None or everyone == pytest.approx(floors[attribute].min(), rel=0.011)
        assert half is None or half == pytest.approx(floors[attribute].median(), rel=0.03)
        assert baseline == pytest.approx(X.join(Y)[attribute].std(ddof=0), rel=6e-3)
    groups = values(section(internal, "Groups by sex").tables[0])
    for called, eta in LEAK.examples["eta"].groupby(X["sex"]):
        count, median, _, high, mean, largest = groups[str(called)]
        assert count == len(eta)
        assert median == pytest.approx(eta.median(), rel=0.02)
        assert high == pytest.approx(eta.quantile(0.95), rel=0.05)
        assert mean == pytest.approx(eta.mean(), rel=6e-3)
        assert largest == pytest.approx(eta.max(), rel=0.011)
    exposed = [row[0] for row in values(section(internal, "The most exposed").tables[0]).values()]
    assert exposed == pytest.approx(LEAK.most_exposed(10)["eta"].to_numpy().tolist(), rel=0.011)


def test_the_interval_of_a_median_is_that_of_resampling(internal):
    eta = LEAK.examples["eta"].to_numpy()
    random = np.random.default_rng(0)
    medians = np.median(eta[random.integers(len(eta), size=(4000, len(eta)))], axis=1)
    ends = [float(each) for each in re.findall(r"[\d.]+\d", section(internal, "Everyone").sentences[0])[1:]]
    assert ends == pytest.approx(np.quantile(medians, [0.025, 0.975]).tolist(), rel=0.03)


def test_categories_have_success_rates():
    frame = X.assign(sex=np.where(X["sex"] > 1, "f", "m"))
    columns = make_column_transformer((OneHotEncoder(drop="first"), ["sex"]), remainder="passthrough")
    leak = seepage.measure(make_pipeline(columns, Ridge()).fit(frame, Y), frame, Y, noise_scale=3.0)
    report = Report.of(leak, "internal", policy={"success_rate": {"sex": 0.9}})
    rate = values(section(report, "Attributes").tables[1])["sex"][-1]
    best = leak.success_rate("sex")["success_rate"].max()
    assert best <= rate <= best + 0.0101
    assert "At equal odds, no attacker infers anyone's “sex”" in section(report, "In short").sentences[0]


@pytest.mark.parametrize(
    ("rates", "exact", "words"),
    [
        (
            (0.55, 0.6, 0.7),
            True,
            "no attacker infers anyone's “gene” more than 70% of the time; for half the people at",
        ),
        (
            (0.55, 0.6, 0.7),
            False,
            "best attacker infers anyone's “gene” up to about 70% of the time; for half the people",
        ),
        ((0.55, 0.6, 1.0), True, "infers “gene” of some people almost for certain; for half the people at most 55%"),
        ((1.0, 1.0, 1.0), True, "infers “gene” of half the people almost for certain"),
    ],
)
def test_success_rates_are_put_into_words(rates, exact, words):
    assert words in CategoryAttribute("gene", rates, exact).sentence()


def test_pseudonyms_are_resolved_by_the_file_of_people(internal, tmp_path):
    path = tmp_path / "people.parquet"
    path.write_text("open to all")
    path.chmod(0o644)
    internal.write_people(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    people = pq.read_table(path).to_pandas()
    assert len(people) == len(X) == people["pseudonym"].nunique()
    row = people.set_index("pseudonym").loc[next(iter(values(section(internal, "The most exposed").tables[0])))]
    assert (row["eta"], row["id"]) == (people["eta"].max(), str(LEAK.examples["eta"].argmax()))
    np.testing.assert_array_equal(people["eta of age"], LEAK.attributes["age"])
    with pytest.raises(seepage.errors.InputError, match="nothing about single people"):
        Report.of(LEAK, "publishable").write_people(path)


def test_ids_of_people_are_in_no_report():
    leak = seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=2.0, ids=[f"patient {i}" for i in range(len(X))])
    report = Report.of(leak, "internal")
    assert "patient " not in report.html() + report.json() + report.text()


@pytest.mark.parametrize("edition", EDITIONS)
def test_files_say_the_same_and_are_for_the_right_readers(edition, internal, tmp_path):
    report = internal if edition == "internal" else Report.of(LEAK, edition, policy=MET, units={"age": "years"})
    report.write(tmp_path / "out")
    found = twins.said(tmp_path / "out", "report")
    assert Report.read(tmp_path / "out" / "report.json").document == report.document
    numbers = {name: set(re.findall(r"[\d.,]*\d", words)) for name, words in found.items() if name != "json"}
    assert numbers["html"] == numbers["txt"]
    for each in report.document.sections:
        for words in (
            each.head,
            *each.sentences,
            *(cell.text for table in each.tables for row in table.rows for cell in row),
        ):
            for name, said in found.items():
                assert " ".join(words.split()) in said, name
    pictures = {each.name for each in (tmp_path / "out").glob("*.png")}
    assert pictures == ({"report-1.png", "report-2.png"} if edition == "internal" else set())
    for each in (tmp_path / "out", *(tmp_path / "out").iterdir()):
        assert (stat.S_IMODE(each.stat().st_mode) & 0o077 == 0) == (edition == "internal")
    with pytest.raises(seepage.errors.InputError, match="replace=True"):
        report.write(tmp_path / "out")
    (tmp_path / "out" / "people.csv").write_text("p7")
    with pytest.raises(seepage.errors.InputError, match="name a new folder"):
        report.write(tmp_path / "out", replace=True)


def test_other_rows_change_no_byte_of_what_is_for_everybody(tmp_path, monkeypatch):
    monkeypatch.setattr("seepage.report._report._now", lambda: datetime(2026, 1, 1, tzinfo=timezone.utc))
    found = []
    for name, rows in (("one", X), ("other", X * 1.1 + 1)):
        leak = seepage.measure(Ridge().fit(rows, Y), rows, Y, noise_scale=2.0)
        Report.of(leak, "publishable", policy=MET).write(tmp_path / name)
        found.append({each.name: each.read_bytes() for each in (tmp_path / name).iterdir()})
    assert found[0] == found[1]


@pytest.mark.parametrize(("name", "value"), [("groups", X["sex"]), ("prior", {"age": 144.0}), ("categories", ["sex"])])
def test_numbers_about_the_rows_are_for_the_internal_edition(name, value):
    with pytest.raises(seepage.errors.InputError, match=f"{name} asks for numbers about the rows"):
        Report.of(LEAK, "publishable", **{name: value})


def test_a_missed_policy_has_no_page():
    with pytest.raises(seepage.errors.PolicyError, match="The internal edition says by how much") as reason:
        Report.of(LEAK, "publishable", policy=POLICY)
    assert reason.value.factor > 1


def test_a_noise_scale_off_the_grid_is_not_stated():
    leak = seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=0.5123456)
    report = Report.of(leak, "publishable")
    assert "0.512" not in report.html() + report.json() + report.markdown()
    assert "0.512346" in Report.of(leak, "internal").html()


def test_a_report_does_not_travel_with_its_people(internal):
    import pickle

    with pytest.raises(seepage.errors.UnsupportedError, match="must not travel"):
        pickle.dumps(internal)


def test_the_page_opens_from_a_file_of_its_owner(internal, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    path = internal.open()
    assert opened == [path.as_uri()]
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o600, 0o700]
    path.unlink()
    path.parent.rmdir()


def test_hostile_names_and_readers_who_do_not_see_the_page():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(200, len(HOSTILE))), columns=HOSTILE)
    target = pd.Series(frame.sum(axis=1) + random.normal(size=200), name=HOSTILE[0] + "y")
    leak = seepage.measure(Ridge().fit(frame, target), frame, target, noise_scale=0.1)
    groups = {HOSTILE[2]: np.array(HOSTILE[:4])[np.arange(200) % 4], HOSTILE[8]: np.arange(200) % 2}
    report = Report.of(
        leak,
        "internal",
        units={name: name for name in HOSTILE[:8]},
        policy={"error_floor": {HOSTILE[0]: 1e-3, HOSTILE[8]: 1e-3}},
        groups=groups,
        title=f"lone surrogate \ud800 {HOSTILE[0]}{HOSTILE[8]}",
    )
    page = report.html()
    found = Checker(page)
    assert "<script>alert(1)</script>" in " ".join(found.text)
    assert not {"\u202e", "\x00", "\x1b", "\ud800"} & set(page)
    assert "x" * 200 not in page
    assert "<script" not in page
    tags = [tag for tag, _ in found.seen]
    assert tags.count("main") == found.headings.count(1) == found.headings[0] == 1
    assert all(after - before <= 1 for before, after in zip(found.headings, found.headings[1:], strict=False))
    assert all(
        attributes["role"] == "img" and attributes["aria-label"] for tag, attributes in found.seen if tag == "svg"
    )
    assert tags.count("caption") == tags.count("table")
    assert len(found.ids) == len(set(found.ids))
    both = Checker(report._repr_html_() + Report.of(leak, "publishable")._repr_html_())
    assert both.headings[0] == 2
    assert re.findall(r"https?://(?!www\.w3\.org|seepage-privacy\.github\.io)", page) == []
    for wrong in ("url(h", "@import", "@font-face"):
        assert wrong not in page
    assert "default-src 'none'" in page


def test_rules_of_the_page_reach_nothing_outside_of_it(internal):
    rules = re.search(r"<style>(.*?)</style>", internal.html_snippet(), re.DOTALL).group(1)
    for selector in re.findall(r"(?:^|\})\s*([^@{}]+)\{", rules):
        assert all(part.strip().startswith(".seepage-report") for part in selector.split(",")), selector


def test_people_in_memory_and_in_files_have_one_document(tmp_path):
    people = write_people(tmp_path / "data", rows=1000)
    model = Ridge().fit(people.X, people.frame["outcome"])
    options = {"noise_scale": 0.05, "ids": "person"}
    files = seepage.measure(model, people.pattern, target="outcome", **options)
    options["ids"] = people.frame["person"]
    memory = seepage.measure(model, people.frame, people.frame["outcome"], **options)
    asked = {"policy": {"error_floor": {"x0": 0.5}, "eta": 1.0, "quantile": 0.9}, "groups": "region", "key": b"key"}
    found = [Report.of(leak, "internal", **asked) for leak in (memory, files)]
    for head in ("Groups by region", "The most exposed"):
        one, other = (section(report, head).tables[0] for report in found)
        assert [row[0].text for row in one.rows] == [row[0].text for row in other.rows]
        for ours, theirs in zip(values(one).values(), values(other).values(), strict=True):
            # A median may be on the other side of a step of rounding.
            assert ours[:2] == pytest.approx(theirs[:2], rel=0.011)
    assert found[0].verdict.status == found[1].verdict.status
    with pytest.raises(seepage.errors.UnansweredError, match="output="):
        found[1].write_people(tmp_path / "people.parquet")


def test_a_model_card_gets_a_section(internal):
    from skops.card import Card

    card = Card(Ridge().fit(X, Y), template=None)
    report = Report.of(LEAK, "publishable", policy=MET)
    assert report.to_model_card(card) is card
    text = card.render()
    assert "# Privacy of the training data" in text
    assert "Meets the policy" in text
    with pytest.raises(seepage.errors.InputError, match=r"needs a skops\.card\.Card, not dict"):
        report.to_model_card({})
    with pytest.raises(seepage.errors.InputError, match=r'make the report with Report.of\(leak, "publishable"\)'):
        internal.to_model_card(card)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": {"floor": 1.0}}, "A policy has error_floor, success_rate, eta, quantile and other_attributes"),
        ({"policy": {"error_floor": {"age": {"unit": "years"}}}}, "is a number, or has a floor, a unit and a baseline"),
        ({"units": {"height": "cm"}}, "no private attribute 'height'"),
        ({"categories": ["height"]}, "no private attribute 'height'"),
        ({"prior": "public"}, 'prior must be "data"'),
        ({"groups": "height"}, "no column 'height'"),
        ({"groups": X["sex"][:3]}, "a group label for each of the 442 people"),
    ],
)
def test_wrong_arguments_are_answered(options, message):
    with pytest.raises(seepage.errors.InputError, match=message):
        Report.of(LEAK, "internal", **options)
    with pytest.raises(seepage.errors.InputError, match='must be "internal" or "publishable"'):
        Report.of(LEAK, "public")


@pytest.mark.parametrize("edition", EDITIONS)
def test_extreme_data_and_composed_releases_are_reported(edition):
    flat = np.ones((60, 2))
    nobody = seepage.measure(Ridge().fit(flat, np.zeros(60)), flat, np.zeros(60), noise_scale=1.0)
    one = seepage.measure(Ridge().fit(X[:1], Y[:1]), X[:1], Y[:1], noise_scale=1.0)
    for leak in (nobody, one, seepage.compose([LEAK, LEAK])):
        report = Report.of(leak, edition)
        assert report.html().startswith("<!DOCTYPE html>")
        assert all((report.text(), report.json()))


@pytest.mark.parametrize("edition", EDITIONS)
def test_who_decided_is_stated_by_the_publisher(edition):
    said = {"policy": "Release of <models>", "version": "3.1", "approver": "Dr. Søndergård", "date": "2026-11-12"}
    report = Report.of(LEAK, edition, decision={**said, "note": "Second reading."})
    words = "Stated by the publisher: Approved by Dr. Søndergård on 2026-11-12, under Release of"
    assert words in section(report, "In short").sentences[0]
    assert "Release of &lt;models&gt;, version 3.1. Second reading." in report.html()
    with pytest.raises(seepage.errors.InputError, match="YEAR-MONTH-DAY"):
        Report.of(LEAK, edition, decision={**said, "date": "soon"})


def test_what_cannot_be_judged_is_said():
    """Most people are kinds of their own: without their record nothing decides the coefficient of their kind."""
    random = np.random.default_rng(0)
    kind = np.concatenate([np.repeat(["a", "b"], 30), [f"only {i}" for i in range(120)]])
    people = pd.DataFrame({"age": random.normal(size=180), "kind": kind})
    encode = make_column_transformer((OneHotEncoder(drop="first"), ["kind"]), remainder="passthrough")
    target = people["age"] + random.normal(size=180)
    model = make_pipeline(encode, LinearRegression()).fit(people, target)
    leak = seepage.measure(model, people, target, noise_scale=0.5)
    with pytest.warns(RuntimeWarning, match="another kind of 120 of 180 people"):
        report = Report.of(leak, "internal", policy={"success_rate": {"kind": 0.6}})
    assert report.verdict.status == "withheld"
    assert "could not be refitted" in " ".join(section(report, "Attributes").sentences)
    with pytest.raises(seepage.errors.UnansweredError, match="counts as missed"):
        Report.of(leak, "publishable", policy={"success_rate": {"kind": 0.6}})


RANDOM = np.random.default_rng(3)
ROWS = RANDOM.normal([0.0, 50.0, 2.0], [1.0, 3.0, 0.5], (300, 3))
OUTCOME = ROWS @ [1.0, 0.5, -2.0] + RANDOM.normal(size=300)
DESIGN = np.column_stack([ROWS, np.ones(300)])


def _cost(model, labels, noise):
    """Return the mean loss, what noise adds, and the coefficients' table."""
    report = Report.of(seepage.measure(model, ROWS, labels, noise_scale=noise), "internal")
    found = section(report, "What the noise costs")
    said = re.search(r" is ([\d.,]+), and the noise adds ([\d.]+)", found.sentences[0])
    return float(said[1]), float(said[2]), found


def test_the_expected_error_is_that_of_many_draws():
    model = Ridge(alpha=3.0).fit(ROWS, OUTCOME)
    without, added, found = _cost(model, OUTCOME, 0.02)
    theta = np.append(model.coef_, model.intercept_)
    draws = theta + 0.02 * RANDOM.normal(size=(20_000, 4))
    losses = 0.5 * np.square(DESIGN @ draws.T - OUTCOME[:, None]).mean(axis=0)
    assert "Exactly so" in found.sentences[0]
    assert without == pytest.approx(0.5 * np.square(DESIGN @ theta - OUTCOME).mean(), rel=6e-3)
    assert without + added == pytest.approx(losses.mean(), rel=0.03)


def test_standard_errors_of_least_squares_are_those_of_the_textbook():
    _, _, found = _cost(LinearRegression().fit(ROWS, OUTCOME), OUTCOME, 0.02)
    residual = OUTCOME - DESIGN @ np.linalg.lstsq(DESIGN, OUTCOME)[0]
    errors = np.sqrt(np.diag(np.linalg.inv(DESIGN.T @ DESIGN)) * (residual @ residual) / (len(ROWS) - 4))
    _, shown, noise = zip(*values(found.tables[0]).values(), strict=True)
    assert shown == pytest.approx(errors.tolist(), rel=6e-3)
    assert noise == pytest.approx((0.02 / errors).tolist(), rel=6e-3)


def test_a_logistic_model_is_computed_to_second_order():
    labels = (np.median(OUTCOME) < OUTCOME).astype(int)
    model = seepage.engines.fit(LogisticRegression(C=10.0), ROWS, labels)
    without, added, found = _cost(model, labels, 0.01)
    theta = np.append(model.coef_[0], model.intercept_)
    margins = DESIGN @ (theta + 0.01 * RANDOM.normal(size=(20_000, 4))).T
    losses = (np.logaddexp(0, margins) - labels[:, None] * margins).mean(axis=0)
    assert "To second order" in found.sentences[0]
    assert without + added == pytest.approx(losses.mean(), rel=0.02)
    share = expit(DESIGN @ theta)
    data = (DESIGN * (share * (1 - share))[:, None]).T @ DESIGN
    inverse = np.linalg.inv(data + np.diag([0.1, 0.1, 0.1, 0.0]))
    errors = np.sqrt(np.diag(inverse @ data @ inverse))
    assert [row[1] for row in values(found.tables[0]).values()] == pytest.approx(errors.tolist(), rel=6e-3)
