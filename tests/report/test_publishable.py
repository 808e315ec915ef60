"""The publishable edition: a release of its own, whose numbers are noised and counted, and which is attacked first."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import seepage
from seepage._facts import Assumption, Number, Origin, given, personal
from seepage.leakage import Leakage
from seepage.linear.information import Anew
from seepage.report import Report
from seepage.report._document import Histogram
from seepage.report._edition import Edition
from seepage.report.count import NOISE, SHARES, attacked, contents_of, counted, logarithms, noised
from seepage.report.count._noised import nearest_on_grid

SIZE, COUNT = 10, 1200
RANDOM = np.random.default_rng(0)
ORDINARY = pd.DataFrame(RANDOM.normal([50, 25, 120], [12, 4, 15], (COUNT, 3)), columns=["age", "bmi", "pressure"])
OUTCOME = pd.Series(ORDINARY.to_numpy() @ [0.3, 1.0, 0.2] + RANDOM.normal(0, 10, COUNT), name="outcome")
GROUPS = pd.DataFrame({"sex": RANDOM.choice(["f", "m"], COUNT), "ward": RANDOM.choice(["a", "b", "c"], COUNT)})
GROUPS.loc[5:16, "ward"] = "the small ward"
POLICY = seepage.Policy(error_floor={"bmi": 2.0})
MODELS = {"ridge": Ridge(alpha=1.0), "logistic": LogisticRegression(tol=1e-10, max_iter=5000)}


def _leak(kind="ridge", X=ORDINARY, y=OUTCOME, noise_scale=0.5):
    labels = y if kind == "ridge" else (y > OUTCOME.median()).astype(int)
    return seepage.measure(seepage.fit(MODELS[kind], X, labels), X, labels, noise_scale=noise_scale)


def _contents(leak, groups=GROUPS, policy=None):
    return contents_of(leak.information, policy=policy, groups=groups, smallest_group=SIZE)


def _numbers(leak, contents=None):
    contents = _contents(leak) if contents is None else contents
    return contents.values(logarithms(leak.information, contents.attributes))


@pytest.fixture(scope="module", params=MODELS)
def release(request):
    leak = _leak(request.param)
    contents = _contents(leak)
    return request.param, leak, contents, counted(leak.information, contents)


def test_information_of_the_page_is_that_of_refitting_everything(release):
    """Every number of the page, with a person's value moved a little and all of it computed anew."""
    kind, leak, _, page = release
    names = leak.information.attribute_names
    base, step = _numbers(leak), 1e-4
    for person in (3, 700):
        for i, name in enumerate(ORDINARY):
            moved = []
            for sign in (1, -1):
                X = ORDINARY.copy()
                X.loc[person, name] += sign * step
                other = _leak(kind, X)
                # Who is among whom a mean is over is as it was: the step is small.
                moved.append(_numbers(other))
            slopes = (moved[0] - moved[1]) / (2 * step)
            assert len(slopes) == len(base)
            expected = np.linalg.norm(slopes / _contents(leak).noise)
            assert page.attributes()[names[i]][person] == pytest.approx(expected, rel=1e-5)


def test_composed_with_the_model_the_page_adds_its_information(release):
    _, leak, _, page = release
    both = seepage.compose([leak, Leakage(page)])
    for name in leak.information.attribute_names:
        expected = np.hypot(leak.information.attributes()[name], page.attributes()[name])
        np.testing.assert_allclose(both.information.attributes()[name], expected, rtol=1e-12)
    # An upper bound, and one that is not far off.
    eta, single = page.examples()["eta"], np.max([*page.attributes().values()], axis=0)
    assert (eta >= single * (1 - 1e-12)).all()
    assert np.median(eta / single) < 2


def test_measuring_anew_agrees_with_measuring_the_changed_data(release):
    kind, leak, contents, _ = release
    changes = [(3, "age", 80.0), (700, "bmi", 15.0), (9, "pressure", 200.0)]
    if kind == "ridge":
        changes.append((44, "outcome", 150.0))
    found = Anew(leak.information, contents.attributes, with_eta=True).each(changes, lambda _, other: other)
    for (person, name, value), other in zip(changes, found, strict=True):
        X, y = ORDINARY.copy(), OUTCOME.copy()
        if name == "outcome":
            y[person] = value
        else:
            X.loc[person, name] = value
        again = _leak(kind, X, y)
        expected = np.exp(logarithms(again.information, contents.attributes))
        np.testing.assert_allclose(other.information, expected, rtol=1e-6)
        np.testing.assert_allclose(other.eta, again.examples["eta"], rtol=1e-6)
        moved = again.information.geometry.parameters - leak.information.geometry.parameters
        assert other.distance == pytest.approx(np.linalg.norm(moved) / 0.5, rel=1e-6)


BEHIND = {
    "ridge": (StandardScaler(), Ridge(alpha=30.0)),
    "without means": (StandardScaler(with_mean=False), Ridge(alpha=30.0)),
    "ranges of other rows": (StandardScaler(), MinMaxScaler((2, 3)), Ridge(alpha=3.0)),
    "logistic": (StandardScaler(), LogisticRegression(C=0.02, tol=1e-11, max_iter=5000)),
}


def _scaled(kind, X=ORDINARY, y=OUTCOME, noise_scale=0.5):
    labels = (y > OUTCOME.median()).astype(int) if kind == "logistic" else y
    steps, rows = [clone(step) for step in BEHIND[kind]], X
    for step in steps[:-1]:
        step.fit(np.array([[-4.0] * 3, [4.0] * 3]) if isinstance(step, MinMaxScaler) else rows)
        rows = step.transform(rows)
    steps[-1].fit(rows, labels)
    return seepage.measure(make_pipeline(*steps), X, labels, noise_scale=noise_scale)


@pytest.mark.parametrize("kind", BEHIND)
def test_measuring_anew_takes_the_scaler_along(kind):
    leak = _scaled(kind)
    information = leak.information
    names, geometry = ("bmi", "age", "pressure"), information.geometry
    assert geometry.scales is not None
    changes = [(3, "age", 900.0), (700, "bmi", -300.0), (9, "pressure", 200.0)]
    if kind != "logistic":
        changes.append((44, "outcome", 150.0))
    found = Anew(information, names, with_eta=True).each(changes, lambda _, other: other)
    for (person, name, value), other in zip(changes, found, strict=True):
        X, y = ORDINARY.copy(), OUTCOME.copy()
        if name == "outcome":
            y[person] = value
        else:
            X.loc[person, name] = value
        again = _scaled(kind, X, y)
        expected = np.exp(logarithms(again.information, names))
        np.testing.assert_allclose(other.information, expected, rtol=1e-6)
        np.testing.assert_allclose(other.eta, again.examples["eta"], rtol=1e-6)
        by_refit = information.distances(name, [value])
        assert other.distance == pytest.approx(by_refit.distance[person, 0], rel=1e-8)


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
@pytest.mark.parametrize("noise_scale", [0.5, 100.0])
def test_information_of_the_page_goes_through_the_scaler(kind, noise_scale):
    """Much noise leaves what its shape tells."""
    leak = _scaled(kind, noise_scale=noise_scale)
    contents = _contents(leak)
    page = counted(leak.information, contents)
    # Who is among whom a mean is over is as it was: the step is small.
    step = 1e-4
    for person in (3, 700):
        for name in ORDINARY:
            moved = []
            for sign in (1, -1):
                X = ORDINARY.copy()
                X.loc[person, name] += sign * step
                moved.append(_numbers(_scaled(kind, X, noise_scale=noise_scale)))
            expected = np.linalg.norm((moved[0] - moved[1]) / (2 * step) / contents.noise)
            assert page.attributes()[name][person] == pytest.approx(expected, rel=1e-5)


def test_a_page_behind_a_scaler_of_the_same_rows_has_numbers_and_is_attacked():
    report = Report.of(_scaled("ridge"), "publishable", policy=POLICY, groups=GROUPS)
    assert report.document.numbers_told
    assert report.document.trials.people.value >= 10
    assert len(report.leakage.information.parts) == 2


FILLED = ORDINARY.mask(np.arange(COUNT)[:, None] % 7 == [1, 9, 9])


@pytest.mark.parametrize(
    ("steps", "rows"),
    [
        ((SimpleImputer(), StandardScaler(), Ridge(alpha=30.0)), FILLED),
        ((SimpleImputer(strategy="median"), StandardScaler(), Ridge(alpha=30.0)), FILLED),
        ((StandardScaler(), Ridge(alpha=30.0, fit_intercept=False)), ORDINARY),
    ],
    ids=["means", "medians", "no intercept"],
)
def test_what_is_not_counted_through_a_scaler_leaves_verdicts_alone(steps, rows):
    leak = seepage.measure(make_pipeline(*steps).fit(rows, OUTCOME), rows, OUTCOME, noise_scale=2.0)
    assert leak.information.geometry.scales is not None
    assert _contents(leak) is None
    report = Report.of(leak, "publishable", policy=POLICY, groups=GROUPS)
    assert not report.document.numbers_told
    assert report.document.trials.people.value >= 5
    assert "a scaler that learned from the same rows" in report.markdown()


def test_a_number_in_several_scaled_features_is_not_shown():
    columns = make_column_transformer(
        (StandardScaler(), ["age", "bmi"]), (StandardScaler(with_mean=False), ["pressure", "bmi"])
    )
    leak = seepage.measure(
        make_pipeline(columns, Ridge(alpha=30.0)).fit(ORDINARY, OUTCOME), ORDINARY, OUTCOME, noise_scale=2.0
    )
    contents = _contents(leak)
    assert contents.attributes == ("age", "pressure", "outcome")
    # It moves them all the same.
    told, step = counted(leak.information, contents).attributes()["bmi"], 1e-4
    for person in (3, 700):
        moved = []
        for sign in (1, -1):
            X = ORDINARY.copy()
            X.loc[person, "bmi"] += sign * step
            model = make_pipeline(clone(columns), Ridge(alpha=30.0)).fit(X, OUTCOME)
            moved.append(_numbers(seepage.measure(model, X, OUTCOME, noise_scale=2.0)))
        expected = np.linalg.norm((moved[0] - moved[1]) / (2 * step) / contents.noise)
        assert told[person] == pytest.approx(expected, rel=1e-5)


def test_the_page_holds_what_was_fixed_beforehand():
    report = Report.of(_leak(), "publishable", policy=POLICY, groups=GROUPS, units={"age": "years"})
    document = report.document
    # Those of the policy first, then the columns in their order.
    assert [entry.name for entry in document.numbers] == ["bmi", "age", "pressure", "outcome"]
    for entry in document.numbers:
        assert [each.share.value for each in entry.floors] == list(SHARES)
        floors = [each.floor.value for each in entry.floors]
        assert floors == sorted(floors, reverse=True)
        assert all(each == nearest_on_grid(each) for each in floors)
        assert all(each.floor.origin is Origin.NOISED for each in entry.floors)
    assert document.eta is document.dfil is document.utility is document.exposed is None
    assert document.page_noise.value == NOISE
    # Fixed by sizes and policy: 4 who move the page most, 4 most exposed, 4 by chance; 5 values of one attribute.
    assert (document.trials.people.value, document.trials.values.value) == (12, 60)
    text = report.markdown()
    assert "For 95% of people, no unbiased guess of age is better than about ± " in text
    assert "about as exposed as everyone" in text
    assert "tells these from the truth better than promised" in text
    assert "the small ward" not in report.html() + report.json() + text


def test_a_given_prior_goes_with_noised_floors_and_the_data_have_none():
    report = Report.of(_leak(), "publishable", prior={"age": 144.0})
    entry = next(each for each in report.document.numbers if each.name == "age")
    assert entry.deviation == given(12.0)
    for each in entry.floors:
        expected = 1 / (1 + 144.0 / each.floor.value**2)
        # At least so much: in whole percents, rounded down.
        assert expected - 0.01 <= each.variance_left.value <= expected + 1e-9
        assert each.variance_left.origin is Origin.NOISED
    with pytest.raises(seepage.InputError, match="State what is known beforehand"):
        Report.of(_leak(), "publishable", prior="data")


@pytest.mark.parametrize("kind", MODELS)
def test_floors_are_those_of_the_people_up_to_their_noise(kind):
    leak = _leak(kind)
    contents = _contents(leak)
    values = _numbers(leak)
    floors = leak.error_floor()
    for i, name in enumerate(contents.attributes):
        for j, share in enumerate(SHARES):
            assert np.exp(values[3 * i + j]) == pytest.approx(np.quantile(floors[name], 1 - share), rel=0.12)
    draws = np.array([[*noised(contents, values).floors["age"]] for _ in range(300)])
    # About as many draws as there should be are within a factor of e^0.35 and half a step of the grid.
    spread = np.abs(np.log(np.median(draws, axis=0) / np.exp(values[: len(SHARES)])))
    assert (spread < 0.8).all()
    assert 1 < len(np.unique(draws[:, 0])) <= 6


def test_ratios_of_groups_are_those_of_their_people():
    leak = _leak()
    contents = _contents(leak)
    values = _numbers(leak)
    logs = np.log(leak.attributes[list(contents.attributes)].to_numpy())
    ratios = values[3 * len(contents.attributes) :][: len(contents.groups)]
    for group, ratio in zip(contents.groups, ratios, strict=True):
        inside, everyone = np.median(logs[group.members], axis=0), np.median(logs, axis=0)
        assert ratio == pytest.approx((inside - everyone).mean(), abs=0.12)
    counts = values[-len(contents.groups) :]
    np.testing.assert_allclose(np.exp(counts), [group.members.sum() for group in contents.groups])
    assert {group.name for group in contents.groups} == {"f", "m", "a", "b", "c"}


def test_fewer_than_a_thousand_people_get_verdicts_alone_whatever_their_values():
    for seed in (1, 2):
        random = np.random.default_rng(seed)
        rows = random.normal(size=(999, 3)) * 10.0**seed
        leak = seepage.measure(Ridge().fit(rows, rows.sum(axis=1)), rows, rows.sum(axis=1), noise_scale=0.5)
        report = Report.of(leak, "publishable", groups=np.arange(999) % 2)
        assert not any(entry.floors for entry in report.document.numbers)
        assert report.document.exposures == ()
        assert report.document.page_noise is None
        assert "holds the verdict alone" in report.markdown()
        assert "1,000 people or more" in report.markdown()
        assert "Numbers are" not in report.markdown() + report.html()
        assert report.leakage is report._leak
    assert _contents(_leak(X=ORDINARY[:1000], y=OUTCOME[:1000]), GROUPS[:1000]) is not None
    # Twice the smallest group asks for more people.
    leak = _leak(X=ORDINARY[:1000], y=OUTCOME[:1000])
    assert contents_of(leak.information, policy=None, groups=None, smallest_group=51) is None


def test_a_target_about_a_category_leaves_verdicts_alone():
    X = ORDINARY.assign(sex=(GROUPS["sex"] == "f").astype(int))
    leak = seepage.measure(Ridge().fit(X, OUTCOME), X, OUTCOME, noise_scale=50.0)
    report = Report.of(leak, "publishable", policy={"success_rate": {"sex": 0.9}})
    assert report.document.verdict.status == "met"
    assert not report.document.numbers_told


def test_a_missed_policy_has_no_page():
    with pytest.raises(seepage.PolicyError, match="misses its policy") as reason:
        Report.of(_leak(noise_scale=0.01), "publishable", policy={"error_floor": {"age": 50.0}})
    assert reason.value.factor > 1
    found = Report.of(_leak(noise_scale=0.01), "internal", policy={"error_floor": {"age": 50.0}})
    assert found.document.verdict.status == "missed"


def test_the_verdict_is_about_model_and_page_together():
    leak = _leak(noise_scale=50.0)
    page = counted(leak.information, _contents(leak, None))
    worst = float(page.attributes()["age"].max())
    alone = float(leak.information.attributes()["age"].max())
    # What the model keeps, and model and page do not.
    floor = 1 / np.sqrt(alone * np.hypot(alone, worst))
    policy = seepage.Policy(error_floor={"age": floor})
    assert not policy.shortfalls(leak)
    with pytest.raises(seepage.PolicyError, match="misses its policy"):
        Report.of(leak, "publishable", policy=policy)


def test_an_attack_that_does_better_than_promised_stops_the_page():
    leak = _leak()
    contents = _contents(leak)
    page = counted(leak.information, contents)
    both = seepage.compose([leak, Leakage(page)])
    largest = {name: float(both.information.attributes()[name].max()) for name in contents.attributes}
    kept = seepage.Policy(error_floor={"age": 0.4 / largest["age"]})
    assert attacked(leak, contents, page, kept, composed=both, seed=0).reached < 1
    # A promise that is kept for small steps, and that one extreme value breaks.
    broken = seepage.Policy(error_floor={"age": 1 / largest["age"]})
    with pytest.raises(seepage.PolicyError, match="one more step of the grid"):
        attacked(leak, contents, page, broken, composed=both, seed=0)
    far = seepage.Policy(error_floor={"age": 3 / largest["age"]})
    with pytest.raises(seepage.PolicyError, match="one more step of the grid"):
        attacked(leak, contents, page, far, composed=both, seed=0)


def test_how_many_were_attacked_is_told_by_the_sizes_and_not_by_the_values():
    """Somebody who has one of the values already, or is chosen twice, is tried less: nobody may see that."""

    def told(leak, seed):
        contents = _contents(leak)
        page = counted(leak.information, contents)
        both = seepage.compose([leak, Leakage(page)])
        found = attacked(leak, contents, page, seepage.Policy(error_floor={"age": 0.5}), composed=both, seed=seed)
        return found.people, found.values

    exposed = int(_leak().information.attributes()["age"].argmax())
    found = set()
    for share in (0.0, 0.5, 1.0):
        people = ORDINARY.copy()
        people.loc[exposed, "age"] = np.quantile(ORDINARY["age"], share, method="nearest")
        found |= {told(_leak(X=people), seed) for seed in (0, 1)}
    assert found == {(12, 60)}


def test_what_model_and_page_tell_together_composes_with_other_releases():
    report = Report.of(_leak(), "publishable", groups=GROUPS)
    both = report.leakage
    assert len(both.information.parts) == 2
    assert (both.attributes["age"] > report._leak.attributes["age"]).all()
    again = seepage.compose([both, report._leak])
    assert len(again.information.parts) == 3
    with pytest.raises(seepage.UnansweredError, match="read from a file"):
        replace(report, _leak=None).leakage  # noqa: B018


PERSONAL = {
    "a floor": lambda document: replace(
        document,
        numbers=(
            replace(
                document.numbers[0],
                floors=(replace(document.numbers[0].floors[0], floor=personal(3.0)), *document.numbers[0].floors[1:]),
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
            Report.of(_leak(), "internal").document.eta, histogram=Histogram((1.0, 2.0), (3,), Origin.PERSONAL)
        ),
    ),
    "the cost of noise": lambda document: replace(document, utility=Report.of(_leak(), "internal").document.utility),
}


@pytest.fixture(scope="module")
def page():
    return Report.of(_leak(), "publishable", groups=GROUPS)


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
    with pytest.raises(seepage.InputError, match="people is: noise it and count it"):
        Report.read(tmp_path / "page.json")


def test_every_number_of_the_page_is_given_public_or_noised(page):
    origins = re.findall(r'"origin": "(\w+)"', page.json())
    assert len(origins) > 30
    assert set(origins) == {"given", "public", "noised"}


def test_a_noise_scale_off_the_grid_is_not_told():
    scale = 0.5123456
    report = Report.of(_leak(noise_scale=scale), "publishable")
    assert "0.512" not in report.html() + report.json() + report.markdown()
    assert report.document.noise.scale is None
    assert Report.of(_leak(), "publishable").document.noise.scale == given(0.5)
    assert "0.512346" in Report.of(_leak(noise_scale=scale), "internal").html()


def test_the_grid():
    assert [nearest_on_grid(each) for each in (1.0, 1.4, 1.5, 3.1, 3.2, 7.0, 7.2, 0.00034)] == [
        *(1.0, 1.0, 2.0, 2.0, 5.0, 5.0, 10.0, 0.0005)
    ]


@pytest.mark.parametrize(("edition", "size"), [("public", 10), ("publishable", 1)])
def test_wrong_editions_are_refused(edition, size):
    with pytest.raises(seepage.InputError, match="must be"):
        Edition(edition, size)


def test_a_report_does_not_travel_with_its_people(page):
    import pickle

    with pytest.raises(seepage.UnsupportedError, match="must not travel"):
        pickle.dumps(page)


def test_a_page_about_many_people_and_a_category_says_that_the_category_is_the_reason():
    random = np.random.default_rng(4)
    rows = pd.DataFrame({"age": random.normal(50, 10, 2500), "ward": random.integers(2, size=2500)})
    y = rows.sum(axis=1) + random.normal(size=2500)
    leak = seepage.measure(LinearRegression().fit(rows, y), rows, y, noise_scale=100.0)
    report = Report.of(leak, "publishable", policy={"success_rate": {"ward": 0.9}})
    assert "a target is about a category" in report.markdown()
    assert "1,000 people" not in report.markdown()
    assert "Numbers are" not in report.markdown() + report.html()


def test_a_missed_page_tells_nobody_to_write_python():
    with pytest.raises(seepage.PolicyError, match="The internal edition says by how much"):
        Report.of(_leak(), "publishable", policy={"error_floor": {"age": 1e6}})


def test_one_is_one():
    rows = np.random.default_rng(5).normal(size=(50, 1))
    leak = seepage.measure(Ridge().fit(rows, rows[:, 0]), rows, rows[:, 0], noise_scale=50.0, public_label=True)
    report = Report.of(leak, "publishable", policy={"error_floor": {"x0": 1.0}}, units={"x0": "years"})
    assert "50 people, 1 private attribute," in report.html()
    assert "below 1 year." in report.markdown()
    assert "1 private attribute," in repr(leak)
    assert "1 private attribute (" in leak.summary()
