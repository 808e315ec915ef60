"""What somebody sees who measures for the first time: summaries, notebooks, completion, and answers to mistakes."""

import re
import time
from contextlib import contextmanager

import jedi
import numba
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import seepage
from seepage.execution.storage import _progress
from seepage.leakage import Summary, exposed_through, told_categories

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
MODEL = Ridge().fit(X, Y)
LEAK = seepage.measure(MODEL, X, Y, noise_scale=2.0)


def _lines(leak, first):
    return [line.split() for line in leak.summary().splitlines() if re.match(rf"{first}\s", line)]


def test_a_blind_guess_stands_beside_every_floor():
    floors, known = LEAK.error_floor(), X.join(Y)
    for name in floors:
        ((_, baseline, *cells),) = _lines(LEAK, name)
        assert float(baseline.strip("±")) == pytest.approx(known[name].std(ddof=0), rel=1e-3)
        # The release says nothing of whom it leaves more than 99% of what was uncertain.
        told = 1 / LEAK.attributes[name].quantile([0.5, 0.95, 1.0]).to_numpy()
        silent = told**2 / (told**2 + known[name].var(ddof=0)) > 0.99
        words = " ".join(cells).replace("says nothing", "nothing").split()
        for word, floor, says_nothing in zip(words, told, silent, strict=True):
            assert (word == "nothing") == says_nothing
            assert says_nothing or float(word.strip("±")) == pytest.approx(floor, rel=1e-3)
    assert "says nothing" in LEAK.summary()


def test_categories_and_labels_have_their_success_rates():
    y = pd.Series(np.where(Y > 140, "high", "low"), name="course")
    leak = seepage.measure(LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y), X, y, noise_scale=3.0)
    for name in ("sex", "course"):
        rates = leak.success_rate(name)["success_rate"]
        ((_, coin, *shown),) = _lines(leak, name)
        assert coin == "50%"
        wanted = [rates.median(), rates.quantile(0.95), rates.max()]
        assert [float(rate.strip("%")) / 100 for rate in shown] == pytest.approx(wanted, rel=6e-3)


def test_certainty_is_claimed_for_nobody_who_is_not_certain():
    assert Summary.of(LEAK.information).rates[0].percents()[-1].endswith("%")
    near = seepage.leakage.Spread("sex", 0.5, 0.99951, 1.0)
    assert near.percents() == ["50%", "over 99.9%", "over 99.9%"]


@pytest.mark.parametrize("seed", range(20))
def test_the_attribute_through_which_somebody_is_exposed_most(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(12, 40))
    frame = pd.DataFrame(random.normal(size=(n, 3)) * random.uniform(0.1, 30, 3), columns=["a", "b", "c"])
    frame["d"] = random.integers(0, 2, n)
    y = pd.Series(frame.to_numpy() @ random.normal(size=4) + random.normal(size=n) * random.uniform(0.1, 50), name="y")
    noise = float(random.uniform(0.01, 1.0))
    ids = [f"p{i}" for i in random.permutation(n)]
    leak = seepage.measure(Ridge().fit(frame, y), frame, y, noise_scale=noise, ids=ids)

    row = int(np.argmax(leak.examples["eta"].to_numpy()))
    moved = {name: leak.attributes[name].iloc[row] * frame.join(y)[name].std(ddof=0) for name in ("a", "b", "c", "y")}
    moved["d"] = leak.information.distances("d", None).farthest()[row]
    first = Summary.of(leak.information).most_exposed[0]
    best = max(moved, key=moved.get)
    assert (first.called, first.through.attribute) == (ids[row], best)
    assert first.through.moved == pytest.approx(moved[best], rel=1e-4)
    assert f"Most exposed: person {ids[row]}," in leak.summary().replace("\n", " ")
    assert f"most of all through {best} (" in leak.summary().replace("\n", " ")
    sections = {each.head: each for each in seepage.Report.of(leak, "internal").document.sections}
    *_, through, guess, baseline = sections["The most exposed people"].tables[0].rows[0]
    assert through.text == best
    if best == "d":
        assert guess.value == pytest.approx(seepage.meaning.success_rate(moved[best]), abs=0.011)
    else:
        spread = (frame.join(y))[best].std(ddof=0)
        assert guess.value == pytest.approx(spread / moved[best], rel=0.011)
        assert baseline.value == pytest.approx(spread, rel=0.011)


def test_people_are_chosen_by_their_ids():
    ids = [f"P{i:04d}" for i in range(len(X))]
    leak = seepage.measure(MODEL, X, Y, noise_scale=2.0, ids=ids)
    some = ["P0007", "P0092", "P0007"]
    mask = np.isin(np.arange(len(X)), [7, 92])
    assert (
        leak.joint_information_loss(ids=some)
        == LEAK.joint_information_loss(mask)
        == LEAK.joint_information_loss(ids=[92, 7])
    )
    assert leak.joint_information_loss(ids="P0007", attribute="age") == LEAK.joint_information_loss(
        X.index == 7, attribute="age"
    )
    with pytest.raises(seepage.errors.InputError, match=r"Nobody is called 'Q1'.*'P0000', 'P0001'"):
        leak.joint_information_loss(ids=["Q1"])
    with pytest.raises(seepage.errors.InputError, match="give one of them"):
        leak.joint_information_loss(mask, ids=some)
    numbered = seepage.measure(Ridge().fit(X.to_numpy(), Y), X.to_numpy(), Y.to_numpy(), noise_scale=2.0)
    assert numbered.joint_information_loss(ids=[7, 92]) == pytest.approx(LEAK.joint_information_loss(mask))


def test_measurements_are_no_groups():
    for groups in ("bmi", X["bmi"], X["bmi"].to_numpy()):
        with pytest.raises(
            seepage.errors.InputError, match=r"163 different numbers \(18.0, 18.1, 18.5, ...\) of 442 people"
        ):
            LEAK.by_group(groups)
    with pytest.raises(seepage.errors.InputError, match=r"pandas\.cut"):
        seepage.Report.of(LEAK, "internal", groups="bmi")
    assert len(LEAK.by_group(pd.cut(X["bmi"], 4).astype(str)).frame) == 4
    # Codes, of which there are many people each, are groups.
    wards = np.arange(len(X)) % 40
    assert len(LEAK.by_group(wards).frame) == 40
    assert len(LEAK.by_group("sex").frame) == 2


def test_notebooks_show_results_and_no_markup_of_anybody_else():
    evil = "<script>alert(1)</script>"
    frame = X.rename(columns={"bmi": evil})
    leak = seepage.measure(Ridge().fit(frame, Y), frame, Y, noise_scale=2.0)
    frontier = seepage.release.frontier(MODEL, X, Y, X, Y, noise_scales=[0.1, 1.0], draws=3, attribute="age")
    policy = seepage.Policy(error_floor={evil: 1.0}, success_rate={"sex": 0.9})
    certificate = seepage.publish(MODEL, X, Y, noise_scale=2.0, accept={"error_floor": {"age": 5.0}}).certificate
    pages = [shown._repr_html_() for shown in (leak, policy, frontier, certificate)]
    assert not any(evil in page for page in pages)
    assert all(page.count("<article") == 1 for page in pages)
    assert "says nothing" in pages[0]
    assert "&lt;script&gt;" in pages[0]
    assert "standard error below 1" in pages[1]
    assert "error floor" in pages[2]
    assert "standard error below 5" in pages[3]


def test_looking_at_people_in_files_reads_none(tmp_path):
    X.assign(target=Y).to_parquet(tmp_path / "people.parquet")
    leak = seepage.measure(MODEL, tmp_path / "people.parquet", target="target", noise_scale=2.0)
    before = set(leak.information._known)
    assert "442 people, 11 private attributes" in leak._repr_html_()
    assert set(leak.information._known) == before


@pytest.mark.parametrize("shown", [LEAK, LEAK.by_group("sex"), seepage.Policy(eta=1.0), MODEL])
def test_names_complete(shown, tmp_path, monkeypatch):
    # Others who complete names at the same time write to the cache that everybody shares.
    monkeypatch.setattr(jedi.settings, "cache_directory", tmp_path)
    found = {name.name for name in jedi.Interpreter("shown.", [{"shown": shown}]).complete()}
    assert {name for name in dir(shown) if not name.startswith("_")} <= found


@pytest.mark.parametrize(
    ("arguments", "settings", "answer"),
    [
        ((None, X, Y), {}, "The model is None"),
        ((Ridge, X, Y), {}, r"Ridge is a class, not a fitted model.*Ridge\(...\).fit\(X, y\)"),
        (("model.skops", X, Y), {}, "'model.skops' is a path"),
        ((X, Y, MODEL), {}, "A DataFrame was given as the model, which comes first"),
        ((MODEL, X, Y), {"noise_scale": "2.0"}, "not '2.0': write noise_scale=0.1, without quotes"),
        ((MODEL, X, Y), {"noise_scale": True}, "is a number, the standard deviation"),
        ((MODEL, X, Y), {"noise_scale": 0}, "infinite information.*seepage.release.suggest"),
    ],
)
def test_natural_mistakes_get_kind_answers(arguments, settings, answer):
    with pytest.raises(seepage.errors.SeepageError, match=answer):
        seepage.measure(*arguments, **{"noise_scale": 2.0, **settings})


def test_a_model_is_no_measurement():
    for asked in (
        lambda: seepage.calibrate(MODEL, error_floor={"age": 5.0}, shape="isotropic").scale,
        lambda: seepage.Report.of(MODEL, "internal"),
        lambda: seepage.release.suggest(MODEL),
    ):
        with pytest.raises(seepage.errors.InputError, match=r"not Ridge: leak = seepage.measure\(model, X, y"):
            asked()


def test_what_takes_over_two_seconds_says_so_and_nothing_else_does(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_somebody_watches", lambda: True)
    with _progress.followed("scoring", 3) as watch:
        watch(3)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(_progress, "_SECONDS_BEFORE", 0.05)
    with _progress.followed("scoring", 3) as watch:
        time.sleep(0.3)
        assert "scoring, 0 of 3 " in capsys.readouterr().err
        watch(1)
        assert "scoring, 1 of 3, 0:0" in capsys.readouterr().err
    # What was written is gone when it ends.
    assert capsys.readouterr().err.strip("\r ") == ""


def test_what_waits_for_a_compiler_says_so_and_nothing_else_does(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_somebody_watches", lambda: True)
    monkeypatch.setattr(_progress, "_SECONDS_BEFORE", 0.05)

    @numba.njit
    def once(x):
        return np.linalg.solve(np.outer(x, x) + np.eye(len(x)), x)

    for says in (True, False):
        with _progress.followed("scoring", 3) as watch:
            once(np.ones(2))
            time.sleep(0.0 if says else 0.3)
            assert ("scoring, 0 of 3 (compiling, once after an installation)" in capsys.readouterr().err) == says
            watch(3)


def test_without_refits_the_attribute_of_the_most_exposed_is_that_of_exact_refits():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X[["mean radius", "mean texture", "mean smoothness"]].assign(ward=np.where(X["mean area"] > 500, "A", "B"))
    columns = make_column_transformer((OneHotEncoder(drop="first"), ["ward"]), remainder="passthrough")
    leak = seepage.measure(make_pipeline(columns, LogisticRegression(max_iter=10_000)).fit(X, y), X, y, noise_scale=0.5)
    rows = leak.information.top(10).rows
    exact = exposed_through(leak.information, rows, told_categories(leak.information, ["ward", "target"]))
    guessed = exposed_through(leak.information, rows, {})
    assert [each.attribute for each in guessed] == [each.attribute for each in exact]
    assert {each.attribute for each in guessed} <= {"ward", "target"}
    assert all(each.floor is None and each.success_rate is None for each in guessed)


def test_passes_that_take_over_two_seconds_together_say_so(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_somebody_watches", lambda: True)
    monkeypatch.setattr(_progress, "_SECONDS_BEFORE", 0.3)
    with _progress.together():
        with _progress.followed("one", 3):
            time.sleep(0.2)
        assert capsys.readouterr().err == ""
        with _progress.followed("two", 3) as watch:
            time.sleep(0.2)
            watch(1)
            assert "two, 1 of 3" in capsys.readouterr().err
    with _progress.followed("three", 3):
        time.sleep(0.2)
    assert "three" not in capsys.readouterr().err


class _Clock:
    """A clock that moves by itself each time it is read."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def monotonic(self):
        self.now += self.step
        return self.now


def test_a_file_gets_a_line_about_the_time_left_every_half_minute(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "time", clock := _Clock(0.0))
    with _progress.followed("scoring", 101) as watch:
        clock.now = 60.0
        # A minute of preparation says nothing about the parts.
        watch(0)
        for _ in range(101):
            clock.now += 1.0
            watch(1)
    assert capsys.readouterr().err.splitlines() == [
        "seepage: scoring, 1 of 101, about 1:40 left",
        "seepage: scoring, 31 of 101, about 1:10 left",
        "seepage: scoring, 61 of 101, about 0:40 left",
    ]
    with _progress.followed("scoring", 20) as watch:
        for _ in range(20):
            clock.now += 1.0
            watch(1)
    assert capsys.readouterr().err == ""


def test_a_table_without_noise_announces_its_time(monkeypatch, capsys):
    some, outcome = X.loc[:59, ["age", "bmi"]], Y[:60]
    leak = seepage.measure(Ridge().fit(some, outcome), some, outcome)
    counts = []

    @contextmanager
    def display(what, units):
        counts.append([units, 0])

        def watch(more):
            counts[-1][1] += more

        yield watch

    with _progress.shown_on(display):
        table = str(leak)
    # Three numbers of 60 people, and four attackers, of which one meets two kinds of noise.
    assert [3 * 60 * 5] * 2 in counts
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(_progress, "time", _Clock(20.0))
    assert str(leak) == table
    lines = [line for line in capsys.readouterr().err.splitlines() if "attackers" in line]
    done, units, left = re.fullmatch(
        r"seepage: errors of .*, ([\d,]+) of ([\d,]+), about ([\d:]+) left", lines[0]
    ).groups()
    minutes, seconds = left.split(":")
    assert units == "900"
    # One reading of the clock, 20 seconds, for each of the fifteen parts.
    assert 60 * int(minutes) + int(seconds) == pytest.approx(20 * (900 / int(done.replace(",", "")) - 1), rel=0.1)


def test_a_summary_tells_of_every_refit():
    told = []

    @contextmanager
    def display(what, units):
        done = []
        yield done.append
        told.append((what, units, sum(done)))

    y = pd.Series(np.where(Y > 140, "high", "low"), name="course")
    leak = seepage.measure(LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y), X, y, noise_scale=3.0)
    with _progress.shown_on(display):
        leak.summary()
    called = "refitting with other values of"
    assert [one for one in told if one[0].startswith(called)] == [
        (f"{called} {name}", len(X), len(X)) for name in ("sex", "course")
    ]
