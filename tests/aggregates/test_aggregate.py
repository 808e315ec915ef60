"""Tables as models: what they take, what they refuse, and what a measurement of them answers."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import seepage
from seepage.errors import InputError, UnansweredError, UnsupportedError
from seepage.models import Aggregate, KaplanMeier

RANDOM = np.random.default_rng(2)
N = 300
FRAME = pd.DataFrame(
    {
        "ward": RANDOM.choice(["A", "B"], N),
        "sex": RANDOM.choice(["F", "M"], N),
        "age": RANDOM.normal(60.0, 10.0, N).round(),
        "event": RANDOM.random(N) < 0.3,
        "time": RANDOM.exponential(4.0, N),
    }
)
TABLE = Aggregate(of=["age", "event"], by=["ward", "sex"], statistics=["mean", "count", "share", "sd"], margins=True)


@pytest.fixture(scope="module")
def leak():
    return seepage.measure(TABLE.fit(FRAME), FRAME)


def test_a_table_is_measured_like_a_regression_without_noise(leak):
    assert isinstance(leak, seepage.attackers.SamplingLeakage)
    assert leak.assurance == "approximate"
    assert leak.information.attacker.known == 0
    assert leak.information.attribute_names == ("age", "event", "ward", "sex")
    assert leak.information.categorical == {"event", "ward", "sex"}
    assert leak.success_rate("event")["success_rate"].between(0.5, 1.0).all()
    assert leak.error_floor().columns.tolist() == ["age"]
    assert leak.error_floor()["age"].notna().mean() > 0.8
    assert (leak.not_assessed()["event"] == "").all()
    assert len(leak.rounded_table()) == len(leak.information.printed.names) == 9 * 4
    assert next(column.name for column in leak.by_attacker().columns) == "population"


def test_who_knows_more_tells_more(leak):
    rates = [leak.against(known).success_rate("event")["success_rate"] for known in (0, 0.5, 0.9, "all")]
    for fewer, more in itertools.pairwise(rates):
        assert (more >= fewer - 1e-12).all()
    assert (rates[-1] == 1).all()
    with pytest.raises(UnansweredError, match="covariates"):
        leak.against("covariates").success_rate("event")


def test_attributes_narrow_what_is_private():
    found = seepage.measure(TABLE.fit(FRAME), FRAME, attributes=["event"])
    assert found.information.attribute_names == ("event",)
    with pytest.raises(InputError, match=r"'evnt'.*Did you mean 'event'"):
        seepage.measure(TABLE, FRAME, attributes=["evnt"])


def test_polars_in_polars_out():
    frame = pl.from_pandas(FRAME)
    table = Aggregate(of=["age", "event"], by=["ward"], margins=True).fit(frame)
    assert isinstance(table.frame_, pl.DataFrame)
    assert table.frame_["ward"].to_list() == ["A", "B", "all"]
    found = seepage.measure(table, frame)
    other = seepage.measure(Aggregate(of=["age", "event"], by=["ward"], margins=True).fit(FRAME), FRAME)
    np.testing.assert_allclose(found.error_floor()["age"].to_numpy(), other.error_floor()["age"], rtol=1e-12)


def test_a_filter_says_for_whom():
    table = Aggregate(of=["event"], by=["sex"], statistics=["count", "share"], where="age >= 60 and ward == A")
    some = FRAME[(FRAME["age"] >= 60) & (FRAME["ward"] == "A")]
    assert table.fit(FRAME).frame_["count"].sum() == len(some)
    found = seepage.measure(table, FRAME)
    assert found.error_floor().index.equals(some.index)
    same = seepage.measure(Aggregate(of=["event"], by=["sex"], statistics=["count", "share"]).fit(some), some)
    pd.testing.assert_frame_equal(found.success_rate("event"), same.success_rate("event"))
    ids = seepage.measure(table, pl.from_pandas(FRAME)).success_rate("event")["id"].to_list()
    assert ids == some.index.tolist()
    assert any("age >= 60" in sentence for sentence in found.assumptions)


@pytest.mark.parametrize("statistic", ["median", "min", "max", "quantile", "mode", "Median"])
def test_values_of_single_people_are_refused_by_name(statistic):
    with pytest.raises(UnsupportedError, match=f"A {statistic} is the value of one person.*Print the"):
        Aggregate(of=["age"], statistics=["mean", statistic]).fit(FRAME)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (Aggregate(of=["age"], statistics=["std"]), "Did you mean 'sd'"),
        (Aggregate(of="age"), "list of columns"),
        (Aggregate(of=["age"], statistics="mean"), "a list"),
        (Aggregate(of=["age"], statistics=[]), "empty"),
        (Aggregate(by=["ward"], statistics=["mean"]), "of is empty"),
        (Aggregate(of=["ward"], by=["ward"]), "in of and in by"),
        (Aggregate(of=["age", "age"]), "twice"),
        (Aggregate(of=["aeg"]), "Did you mean 'age'"),
        (Aggregate(of=["age"], statistics=["share"]), "is a number"),
        (Aggregate(of=["event"], statistics=["sd"]), "is a category"),
        (KaplanMeier(times=[3.0, 1.0]), "increasing"),
        (KaplanMeier(times=[3.0], event="age"), "1 or 0"),
        (KaplanMeier(times=[3.0], duration="event"), "times: numbers"),
    ],
)
def test_what_makes_no_table_is_refused(table, says):
    with pytest.raises(InputError, match=says):
        table.fit(FRAME)


def test_missing_times_are_refused():
    gaps = FRAME.assign(age=FRAME["age"].where(FRAME.index != 4))
    with pytest.raises(InputError, match="'age' is missing for 1 of 300 people"):
        KaplanMeier(times=[30.0], duration="age", event="event").fit(gaps)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"noise_scale": 1.0}, "noise_scale= is not answered for tables"),
        ({"y": FRAME["age"]}, "y= says nothing of a table"),
        ({"published": ["coefficients"]}, "published= says nothing"),
        ({"clusters": "ward"}, "clusters= says nothing"),
        ({"ids": "ward"}, "several rows"),
    ],
)
def test_what_says_nothing_of_a_table_is_refused(given, says):
    with pytest.raises((InputError, UnsupportedError), match=says):
        seepage.measure(TABLE.fit(FRAME), FRAME, **given)


def test_other_rows_are_refused():
    with pytest.raises(InputError, match="fitted on other rows"):
        seepage.measure(TABLE.fit(FRAME), FRAME.assign(age=FRAME["age"] + (FRAME.index == 3)))
    with pytest.raises(InputError, match="not fitted"):
        seepage.measure(Aggregate(of=["age"]), FRAME)
    with pytest.raises(InputError, match="data frame"):
        seepage.measure(TABLE, None)


def test_a_fitted_table_holds_nothing_of_the_people():
    """What it prints is all that a copy of it takes along."""
    large = pd.concat([FRAME] * 40, ignore_index=True)
    assert len(pickle.dumps(TABLE.fit(large))) < 10_000


def test_small_cells_are_named_to_output_checkers():
    frame = FRAME.assign(ward=["C"] * 4 + ["A"] * 150 + ["B"] * 146, cost=[1e6, *range(1, 300)])
    table = Aggregate(of=["age", "cost"], by=["ward"], statistics=["mean", "count"]).fit(frame)
    checks = {check.name: check for check in seepage.measure(table, frame).by_attacker().checks}
    smallest = checks["people in the smallest cell"]
    assert (smallest.number, smallest.passed, smallest.rule) == (4, False, "at least 10, ward=C")
    assert checks["cells with fewer than ten people"].number == 1
    assert checks["the two largest of a sum"].number > 0.99
    assert not checks["the two largest of a sum"].passed


def test_estimates_of_survival_are_measured():
    table = KaplanMeier(times=[1.0, 4.0], by=["ward"]).fit(FRAME)
    found = seepage.measure(table, FRAME)
    assert found.information.attribute_names == ("event", "ward")
    rates = found.success_rate("event")
    assert rates["success_rate"].between(0.5, 0.75).all()
    assert table.frame_.columns.tolist() == ["ward", "time", "survival"]
    # Who was followed beyond the last time has no event before it.
    beyond = FRAME["time"] > 4.0
    assert (rates["success_rate"][beyond] == 0.5).all()
    assert "people at risk at the last time" in str(found)


def test_survival_that_falls_to_nobody_tells_the_event_of_whoever_was_last():
    # Nobody is left at 1,000 only if the last to be followed had an event; if that one had none, somebody is.
    last = FRAME["time"].idxmax()
    for event in (True, False):
        frame = FRAME.assign(event=FRAME["event"].where(FRAME.index != last, event).astype(FRAME["event"].dtype))
        table = KaplanMeier(times=[1.0, 1000.0]).fit(frame)
        assert (table.frame_["survival"].iloc[-1] == 0) == event
        told = seepage.measure(table, frame).success_rate("event")["success_rate"][last]
        # That no zero is printed tells it as surely; by averages nothing is claimed of so few.
        assert told == 1.0 if event else np.isnan(told)
