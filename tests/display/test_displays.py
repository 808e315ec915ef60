"""The displays: what they draw is what the frames hold."""

import sys
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from pages import ROOT
from people import write_people
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import seepage
from seepage.display import (
    AttackDisplay,
    AttackerKnowledgeDisplay,
    AttributeDisplay,
    BalanceDisplay,
    DistributionDisplay,
    FloorDisplay,
    FrontierDisplay,
    OverlapDisplay,
)

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
LEAK = seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=2.0)
FEW = X[["age", "sex", "bmi"]]
WITHOUT_NOISE = seepage.measure(Ridge().fit(FEW, Y), FEW, Y)
SEX = X["sex"].map({1.0: "f", 2.0: "m"})


def _frontier(**options):
    train, test = X[:300], X[300:]
    model = Ridge().fit(train, Y[:300])
    scales = np.geomspace(1e-4, 10, 9)
    found = seepage.release.frontier(model, train, Y[:300], test, Y[300:], noise_scales=scales, draws=5, **options)
    return FrontierDisplay.from_frame(found.frame, attribute=found.attribute, metric=found.metric)


DISPLAYS = {
    "distribution": lambda: DistributionDisplay.from_leakage(LEAK),
    "distribution by group": lambda: DistributionDisplay.from_leakage(LEAK, groups=SEX),
    "attributes": lambda: AttributeDisplay.from_leakage(LEAK),
    "floor": lambda: FloorDisplay.from_leakage(LEAK, "bmi"),
    "known": lambda: AttackerKnowledgeDisplay.from_leakage(WITHOUT_NOISE, "bmi"),
    "floor without a prior": lambda: FloorDisplay.from_leakage(LEAK, "bmi", prior=None),
    "frontier": _frontier,
    "frontier of penalties": lambda: _frontier(penalties=[1.0, 100.0]),
    "balances": lambda: BalanceDisplay.from_history(
        [[9.0, 3.0, np.inf], [5.0, 2.0, 8.0]],
        releases=["a", "b", "c"],
        attribute="age",
        promise=1.5,
        refused=[4.0, 1.0, 7.0],
    ),
    "overlap of two": lambda: OverlapDisplay.from_patterns(
        ["May", "June"], {("May", "June"): 441, ("June",): 1}, broken=[("June",)]
    ),
    "overlap of two, apart": lambda: OverlapDisplay.from_patterns(["a", "b"], {("a",): 3, ("b",): 4}),
    "overlap of three": lambda: OverlapDisplay.from_patterns(
        ["a", "b", "c"], {("a", "b", "c"): 300, ("a",): 40, ("a", "b"): 3, ("c",): 20}, broken=[("a", "b")]
    ),
    "overlap of many": lambda: OverlapDisplay.from_patterns(
        list("abcdef"), {tuple("abcdef"): 30_000, ("a", "c"): 40, ("a", "b"): 3}, broken=[("a", "b")]
    ),
    "attack": lambda: AttackDisplay.from_frame(
        pd.DataFrame({"floor": [1.0, 2.0], "error": [1.5, 9.0]}), quantity="root mean square error"
    ),
}


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_display_draws_where_it_is_told_and_leaves_the_settings_alone(name, tmp_path):
    before = dict(pyplot.rcParams)
    display = DISPLAYS[name]()
    assert display.ax_ is None
    assert display.plot() is display
    display.figure_.savefig(tmp_path / "own.png")
    figure, ax = pyplot.subplots()
    display.plot(ax)
    assert (display.ax_, display.figure_) == (ax, figure)
    figure.savefig(tmp_path / "given.svg")
    assert dict(pyplot.rcParams) == before


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_picture_is_an_element_of_a_page_that_repeats_itself(name):
    one, other = (DISPLAYS[name]().svg("What <it> shows") for _ in range(2))
    assert one == other
    assert ElementTree.fromstring(one).get("aria-label") == "What <it> shows"
    assert "#000000" not in one


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_missing_matplotlib_names_its_extra(name, monkeypatch):
    display = DISPLAYS[name]()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(seepage.errors.MissingExtraError, match=r'pip install "seepage\[report\]"'):
        display.plot()


def test_the_picture_that_contributing_shows_is_one():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = {}
    exec(text.partition("## How to add a picture")[2].partition("```python\n")[2].partition("```")[0], names)
    display = names["MedianDisplay"].from_leakage(LEAK).plot()
    assert display.ax_.lines[0].get_xdata()[0] == LEAK.examples["eta"].median()


@pytest.mark.parametrize(
    ("quantity", "values"),
    [("error_floor", np.geomspace(0.01, 100, 9)), ("success_rate", [1.0, 1.0, 1.0, 1.0, 0.999, 0.99, 0.9, 0.7, 0.55])],
)
def test_noise_scales_are_written_beside_the_line_and_never_over_each_other(quantity, values):
    score = np.array([0.5, 0.5, 0.499, 0.498, 0.49, 0.45, 0.3, 0.0, -2.0])
    curve = {quantity: np.array(values), "noise_scale": np.geomspace(1e-4, 10, 9), "score": score}
    curve |= {"score_low": score - 0.1, "score_high": score + 0.1, "exact_score": np.full(9, 0.5)}
    display = FrontierDisplay({1.0: curve}, "age", "r2", 1.0, 0.95).plot()
    display.figure_.canvas.draw()
    low = display.ax_.get_ylim()[0]
    boxes = [text.get_window_extent() for text in display.ax_.texts if text.xy[1] > low]
    assert 3 < len(boxes) <= 8
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    dots = display.ax_.transData.transform(np.c_[values, score])
    for start, stop in pairwise(dots):
        line = start + np.linspace(0, 1, 300)[:, None] * (stop - start)
        assert not any(box.contains(*point) for box in boxes for point in line)


def test_the_distribution_counts_everyone_once():
    display = DistributionDisplay.from_leakage(LEAK, groups=SEX).plot()
    eta = LEAK.examples["eta"]
    filled = [patch for patch in display.ax_.patches if patch.get_fill()]
    for (name, known), patch in zip(display.groups.items(), filled, strict=True):
        density, edges, _ = patch.get_data()
        expected, _ = np.histogram(eta[name == SEX], edges)
        np.testing.assert_allclose(density * np.diff(np.log10(edges)) * known.count, expected, atol=3.5)
        assert known.mean == pytest.approx(eta[name == SEX].mean())
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend[0].startswith("f (mean")


def test_many_groups_are_drawn_below_each_other():
    groups = np.array(["a", "b", "c", "d"])[np.arange(len(X)) % 4]
    display = DistributionDisplay.from_leakage(LEAK, groups=groups).plot()
    eta = LEAK.examples["eta"]
    filled = [patch for patch in display.ax_.patches if patch.get_fill()]
    assert display.ax_.get_legend() is None
    for place, ((name, known), patch) in enumerate(zip(display.groups.items(), filled, strict=True)):
        top, edges, baseline = patch.get_data()
        assert np.all(baseline == place)
        # None reaches the next, and heights are those of the counts.
        assert (place - 1 < top).all() and (top <= place).all()  # noqa: PT018
        counts = (place - top) * np.diff(np.log10(edges)) * known.count
        expected, _ = np.histogram(eta[groups == name], edges)
        assert np.corrcoef(counts, expected)[0, 1] > 0.98
    assert [text.get_text()[0] for text in display.ax_.get_yticklabels()] == list(display.groups)


def test_categories_have_no_floor():
    frame = X.assign(sex=SEX)
    columns = make_column_transformer((OneHotEncoder(drop="first"), ["sex"]), remainder="passthrough")
    leak = seepage.measure(make_pipeline(columns, Ridge()).fit(frame, Y), frame, Y, noise_scale=3.0)
    with pytest.raises(seepage.errors.InputError, match="'sex' is not among the private attributes that are numbers"):
        FloorDisplay.from_leakage(leak, "sex")


def test_attributes_are_ranked_by_what_is_left():
    display = AttributeDisplay.from_leakage(LEAK, most=20)
    left = LEAK.remaining_variance()
    worst = left.min()
    assert [worst[name] for name in display.left] == sorted(worst)
    for name, shown in display.left.items():
        assert shown[2] == pytest.approx(worst[name], rel=1e-9)
        assert shown[0] == pytest.approx(left[name].median(), rel=0.02)
    assert len(AttributeDisplay.from_leakage(LEAK, prior={"age": 100.0}).left) == 1
    with pytest.raises(seepage.errors.UnansweredError, match="give prior"):
        AttributeDisplay.from_leakage(LEAK, prior=None)


def test_the_floor_is_a_distribution_function():
    display = FloorDisplay.from_leakage(LEAK, "bmi").plot()
    floors = LEAK.error_floor()["bmi"].to_numpy()
    x, share = display.ax_.lines[0].get_data()
    for at in range(0, len(x), 40):
        assert 100 * np.mean(floors <= x[at] * 1.002) == pytest.approx(share[at], abs=1.0)
    assert display.prior.deviation == pytest.approx(X["bmi"].std(ddof=0))
    prior = display.ax_.lines[1].get_xdata()
    assert prior.max() <= display.prior.deviation
    known = np.sort(LEAK.error_floor(prior="data")["bmi"])
    np.testing.assert_allclose(
        np.sort(prior), known[np.unique(np.linspace(0, len(known) - 1, 400).round()).astype(int)]
    )


def test_an_attack_is_drawn_person_by_person():
    found = seepage.verify(LEAK, seepage.attacks.AttributeInversion("age"), trials=20)
    display = found.plot()
    points = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(points, found.frame[["floor", "error"]].to_numpy())
    assert display.ax_.get_xlabel() == "root mean square error, floor"


def test_people_in_files_are_drawn_from_their_distributions(tmp_path):
    people = write_people(tmp_path / "data", rows=2000)
    model = Ridge().fit(people.X, people.frame["outcome"])
    leak = seepage.measure(model, people.pattern, target="outcome", noise_scale=0.05, groups="region")
    assert list(DistributionDisplay.from_leakage(leak).plot().groups) == ["north", "south", "east"]
    FloorDisplay.from_leakage(leak, "x0", prior={"x0": 1.0}).plot()
    AttributeDisplay.from_leakage(leak, prior={"x0": 1.0, "x1": 1.0}).plot()


def test_names_are_drawn_as_they_are(tmp_path):
    names = ["$x$ & <b>", "a\nb", "x" * 5000, r"\frac{"]
    frame = pd.DataFrame(X.to_numpy()[:, :4], columns=names)
    leak = seepage.measure(Ridge().fit(frame, Y), frame, Y, noise_scale=1.0)
    groups = np.array(names)[np.arange(len(Y)) % 4]
    for display in (
        AttributeDisplay.from_leakage(leak),
        DistributionDisplay.from_leakage(leak, groups=groups),
        FloorDisplay.from_leakage(leak, names[2], unit="$"),
    ):
        display.plot().figure_.savefig(tmp_path / "names.png")


def test_balances_show_the_most_exposed_person_and_the_promise():
    floors = np.array([[9.0, 3.0, 4.0], [5.0, 2.0, 8.0]])
    shown = BalanceDisplay.from_history(floors, releases=["a", "b"], attribute="age", promise=1.5).plot().ax_
    _, labels = shown.get_legend_handles_labels()
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in shown.get_lines()}
    np.testing.assert_array_equal(lines["the most exposed person"], floors.min(axis=1))
    np.testing.assert_array_equal(lines["the median person"], np.median(floors, axis=1))
    np.testing.assert_array_equal(lines["promised to everybody"], [1.5, 1.5])
    assert "refused" not in labels
    # Nothing about age in the first release, and nothing about one of ten people in the second.
    late = np.array([[np.inf] * 10, [np.inf, *range(2, 11)]])
    shown = BalanceDisplay.from_history(late, releases=["a", "b"], attribute="age", promise=1.5).plot()
    shown.figure_.canvas.draw()
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in shown.ax_.get_lines()}
    np.testing.assert_array_equal(lines["the most exposed person"], [np.inf, 2.0])
    with pytest.raises(seepage.errors.InputError, match="2 releases are named, the last of them refused"):
        BalanceDisplay.from_history(floors, releases=["a", "b"], attribute="age", promise=1.5, refused=[1.0, 1.0, 1.0])


def test_errors_fall_with_what_is_known_and_end_where_nothing_is_claimed():
    display = AttackerKnowledgeDisplay.from_leakage(WITHOUT_NOISE, "bmi")
    assert (np.diff(display.errors[:, 0]) < 0).all()
    assert display.errors[0, 0] < display.baseline
    assert display.assessed == pytest.approx(display.shares[-1])
    assert display.assessed == pytest.approx(1 - WITHOUT_NOISE.information.claims.fewest / 441, abs=1 / 441)
    with pytest.raises(seepage.errors.InputError, match="without noise"):
        AttackerKnowledgeDisplay.from_leakage(LEAK, "bmi")
    with pytest.raises(seepage.errors.InputError, match="numbers"):
        AttackerKnowledgeDisplay.from_leakage(WITHOUT_NOISE, "sex")


def test_an_overlap_shows_how_many_people_are_in_which_outputs_and_stars_those_who_are_left():
    shown = DISPLAYS["overlap of three"]().plot().ax_
    assert {text.get_text() for text in shown.texts} == {"300", "40", "3*", "20"}
    assert "* a target is missed" in shown.get_xlabel()
    many = DISPLAYS["overlap of many"]()
    assert [region[1:] for region in many.regions()] == [(3, True), (30_000, False), (40, False)]
    assert {text.get_text() for text in many.plot().ax_.texts} == {"3*", "30,000", "40"}


def test_an_overlap_of_an_output_that_there_is_not_is_refused():
    with pytest.raises(seepage.errors.InputError, match="names some of the outputs"):
        OverlapDisplay.from_patterns(["a"], {("b",): 3})
