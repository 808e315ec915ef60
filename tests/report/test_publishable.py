"""The publishable edition: what one extreme person does to it, and what it never says."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import seepage
from seepage.leakage import Sketch
from seepage.report._edition import Edition
from seepage.report.build._histogram import grid, histogram

SIZE = 10
PUBLIC, INTERNAL = Edition("publishable", SIZE), Edition("internal", SIZE)
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e-?\d+)?")
RANDOM = np.random.default_rng(0)
COUNT = 3000
ORDINARY = pd.DataFrame(RANDOM.normal([50, 25, 120], [12, 4, 15], (COUNT, 3)), columns=["age", "bmi", "pressure"])
OUTCOME = ORDINARY.to_numpy() @ [0.3, 1.0, 0.2] + RANDOM.normal(0, 10, COUNT)
GROUPS = pd.DataFrame({"sex": RANDOM.choice(["f", "m"], COUNT), "ward": RANDOM.choice(["a", "b", "c"], COUNT)})
GROUPS.loc[5:12, "ward"] = "the small ward"
POLICY = seepage.Policy(error_floor={"age": 20.0}, eta=3.0)


class Document(HTMLParser):
    """Everything a page holds, in order: tags, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        # Ids of a picture are made of its content; coordinates and the rest stay.
        kept = [f"{k}={v}" for k, v in attrs if k not in ("id", "aria-labelledby")]
        self.parts.append(" ".join([tag, *kept]))

    def handle_data(self, data):
        self.parts.append(data)
        self.text.append(data)


def _report(edition, person=None, eta=None, model=None, row=7, **options):
    """Report on people of whom one may have other values, or another leakage."""
    X, y = ORDINARY.copy(), OUTCOME.copy()
    if person is not None:
        X.loc[row], y[row] = person[:3], person[3]
    model = Ridge(alpha=1.0).fit(X, y) if model is None else model.fit(X, y > np.median(y))
    leak = seepage.measure(model, X, y if isinstance(model, Ridge) else y > np.median(y), noise_scale=0.05)
    if eta is not None:
        # The same release, but for how much it says of this one person.
        for columns in (leak.information.examples(), leak.information.attributes()):
            for values in columns.values():
                values[row] *= eta
    return leak.report(edition, policy=POLICY, groups=GROUPS, **options)


def _without_time(text):
    return re.sub(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(Z| UTC))?", "then", text)


@pytest.mark.parametrize("factor", [30.0, 1e4, 1e9])
def test_nothing_changes_with_how_extreme_the_most_exposed_person_is(factor):
    once, again = _report("publishable", eta=factor), _report("publishable", eta=17 * factor)
    for form in ("json", "markdown"):
        assert _without_time(getattr(once, form)()) == _without_time(getattr(again, form)())
    parts = [[_without_time(part) for part in Document(report.html()).parts] for report in (once, again)]
    assert parts[0] == parts[1]
    # The test sees what it should: the internal edition does change.
    internal = [_report("internal", eta=e, key=b"k") for e in (factor, 17 * factor)]
    assert _without_time(internal[0].json()) != _without_time(internal[1].json())


@pytest.mark.parametrize("smallest_group", [10, 50])
def test_an_ordinary_person_who_becomes_extreme_moves_nothing_by_more_than_a_step(smallest_group):
    once = _report("publishable", smallest_group=smallest_group)
    again = _report("publishable", eta=1e6, smallest_group=smallest_group)
    for first, second in zip(_numbers(once), _numbers(again), strict=True):
        # Counts are rounded to the smallest group; values to two digits.
        assert abs(first - second) <= max(smallest_group, 0.11 * abs(first))


def _numbers(report):
    found = []

    def walk(value, name=""):
        if isinstance(value, dict):
            for key, each in value.items():
                walk(each, key)
        elif isinstance(value, list):
            for each in value:
                walk(each, name)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append(float(value))

    walk({key: value for key, value in report.content.items() if key != "created"})
    return found


def test_two_data_sets_that_differ_in_one_extreme_person_tell_the_same_of_that_person():
    """The person is in the data of the model itself, which is fitted anew."""
    first, second = (250.0, 90.0, 400.0, 900.0), (251.0, 93.0, 417.0, 955.0)
    once, again = _report("publishable", first), _report("publishable", second)
    pages = [report.html() for report in (once, again)]
    for report in (once, again):
        for spread in _spreads(report.content):
            # How many people are in a bar is told of many; that they are is checked below.
            assert min(spread.pop("histogram")["counts"]) >= SIZE
    for a, b in zip(_numbers(once), _numbers(again), strict=True):
        assert abs(a - b) <= 0.11 * abs(a)
    words = [NUMBER.sub("#", _without_time(" ".join(Document(page).text))) for page in pages]
    assert words[0] == words[1]
    # Pictures: their axes and texts stay where they are, and only bars move.
    drawn = [
        re.sub(r'<path d="[^"]*" class="ridge"/>', "", "".join(re.findall("<svg.*?</svg>", page))) for page in pages
    ]
    places = [[float(n) for n in re.findall(r' (?:x|y|x1|x2|y1|y2)="([\d.]+)"', each)] for each in drawn]
    assert len(places[0]) > 50
    np.testing.assert_allclose(places[0], places[1], atol=6)


def _spreads(content):
    return [content["everyone"], *(group for grouping in content["groups"] for group in grouping["groups"])]


def test_no_value_of_a_person_is_in_the_publishable_edition():
    report = _report("publishable", (250.0, 90.0, 400.0, 900.0))
    leak = report._leak
    extremes = [values for name in ("eta", "dfil") for values in [np.sort(leak.examples[name])[-SIZE:]]]
    extremes += [np.sort(leak.attributes[name])[-SIZE:] for name in leak.attributes]
    worst = np.concatenate([*extremes, *(1 / values for values in extremes)])
    found = np.array([n for n in _numbers(report) if n > 0])
    values = [value for entry in report.content["attributes"] for each in entry["values"] for value in [each["floor"]]]
    values += [spread[name] for spread in _spreads(report.content) for name in ("median", "high")]
    assert len(values) > 20
    assert all(value == float(f"{value:.2g}") for value in values if value is not None)
    largest = max(edge for edge in report.content["everyone"]["histogram"]["edges"])
    assert largest < np.sort(leak.examples["eta"])[-1]
    assert report.content["exposed"] is None
    assert report.content["everyone"]["largest"] is report.content["everyone"]["mean"] is None
    assert not np.isclose(worst[:, None], found, rtol=1e-6).any()


def test_small_groups_and_their_names_are_left_out():
    page, data = _report("publishable").html(), _report("publishable").json()
    assert "the small ward" not in page + data
    assert "the small ward" in _report("internal").html()
    ward = next(each for each in json.loads(data)["groups"] if each["name"] == "ward")
    assert ward["others"]
    assert len(ward["groups"]) == 3
    assert all(group["count"] % SIZE == 0 for group in ward["groups"])


def test_what_is_said_of_a_share_of_people_is_true_of_them():
    report = _report("publishable")
    for entry in report.content["attributes"]:
        floors = report._leak.error_floor()[entry["name"]].to_numpy()
        for value in entry["values"]:
            assert np.mean(floors >= value["floor"]) >= value["share"]


def test_the_verdict_is_about_no_more_people_than_it_may_be():
    leak = _report("internal")._leak
    # A floor that all but the most exposed person have.
    floors = np.sort(leak.error_floor()["age"])
    policy = seepage.Policy(error_floor={"age": float(np.sqrt(floors[0] * floors[1]))})
    assert leak.report("internal", policy=policy).content["verdict"]["status"] == "missed"
    found = leak.report("publishable", policy=policy)
    assert found.content["verdict"]["status"] == "met"
    assert found.content["verdict"]["share"] == 0.99
    assert "Meets the policy for 99% of people" in found.html()
    assert "Meets the policy." not in found.markdown()
    assert all(target["factor"] is None for target in found.content["verdict"]["targets"])


def test_few_people_get_no_numbers():
    leak = seepage.measure(Ridge().fit(ORDINARY[:30], OUTCOME[:30]), ORDINARY[:30], OUTCOME[:30], noise_scale=0.1)
    report = leak.report("publishable", policy=POLICY, groups=GROUPS["sex"][:30])
    assert report.content["shares"] == []
    assert report.content["verdict"]["status"] == "withheld"
    assert all(not entry["values"] for entry in report.content["attributes"])
    assert "Too few people" in report.json()
    report.html(), report.markdown()


def test_digits_of_a_calibrated_noise_are_not_told():
    noise = 0.05123456
    leak = seepage.measure(Ridge().fit(ORDINARY, OUTCOME), ORDINARY, OUTCOME, noise_scale=noise)
    report = leak.report("publishable")
    assert "0.0512" not in report.html() + report.json() + report.markdown()
    assert report.content["noise"]["scale"] == 0.051
    assert "0.0512346" in leak.report("internal").html()


def test_quantiles_are_bounds_and_leave_the_most_exposed_out():
    random = np.random.default_rng(1)
    values = np.exp(random.normal(size=2000))
    known = Sketch.of(values)
    for share in PUBLIC.shares(len(values)):
        bound = PUBLIC.at_most(known, share)
        assert np.mean(values <= bound) >= share
        values_2 = values.copy()
        values_2[np.argsort(values)[-SIZE:]] *= 1e6
        assert PUBLIC.at_most(Sketch.of(values_2), share) == pytest.approx(bound, rel=1e-12)
    assert PUBLIC.shares(2000) == (0.5, 0.95, 0.99)
    assert INTERNAL.shares(2000) == (0.5, 0.95, 1.0)
    assert INTERNAL.at_most(known, 1.0) == values.max()
    assert PUBLIC.at_most(known, 0.999) is None
    assert PUBLIC.middle(known, 0.5) == pytest.approx(np.median(values), rel=0.01)


def test_bars_hold_enough_people_and_do_not_reach_out_to_the_few():
    random = np.random.default_rng(2)
    values = np.concatenate([np.exp(random.normal(size=500)), [1e-9, 1e9]])
    known = Sketch.of(values)
    edges = grid([known], PUBLIC)
    drawn = histogram(known, edges, PUBLIC)
    assert edges[0] > 1e-3
    assert edges[-1] < 1e3
    assert (drawn.counts >= SIZE).all()
    assert (drawn.counts % SIZE == 0).all()
    whole = histogram(known, grid([known], INTERNAL), INTERNAL)
    assert whole.counts.sum() == len(values)
    inner = np.histogram(values, drawn.edges)[0]
    assert (np.abs(inner - drawn.counts) <= SIZE + 5).all()


def test_rounding_is_to_the_safe_side():
    assert [PUBLIC.up(1.201), PUBLIC.down(1.299), PUBLIC.near(1.26)] == [1.3, 1.2, 1.3]
    assert [PUBLIC.up(1.2), PUBLIC.down(0.00012), PUBLIC.up(99.5)] == [1.2, 0.00012, 100.0]
    assert PUBLIC.up(0.0) == 0.0


@pytest.mark.parametrize(("edition", "size"), [("public", 10), ("publishable", 1)])
def test_wrong_editions_are_refused(edition, size):
    with pytest.raises(seepage.InputError, match="must be"):
        Edition(edition, size)


def test_a_classifier_is_reported_the_same_way():
    once, again = (_report("publishable", eta=e, model=LogisticRegression()) for e in (1e3, 1e5))
    assert _without_time(once.json()) == _without_time(again.json())


def test_a_group_that_is_left_out_does_not_widen_the_picture():
    random = np.random.default_rng(3)
    many, few = Sketch.of(np.exp(random.normal(size=500))), Sketch.of(np.full(6, 1e8))
    np.testing.assert_array_equal(grid([many, few], PUBLIC), grid([many], PUBLIC))
    assert grid([many, few], INTERNAL)[-1] > 1e7
    assert len(grid([few], PUBLIC)) == 0
    assert histogram(few, grid([few], PUBLIC), PUBLIC) is None
