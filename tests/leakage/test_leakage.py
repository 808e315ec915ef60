"""The result: its frames, groups, summary, and what it keeps to itself."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import seepage
from seepage._facts import Origin, given

X, Y = load_diabetes(return_X_y=True, as_frame=True)
MODEL = Ridge().fit(X, Y)
LEAK = seepage.measure(MODEL, X, Y, noise_scale=0.1)


def test_pandas_keeps_its_index():
    index = pd.Index([f"patient {i}" for i in range(len(X))], name="who")
    leak = seepage.measure(MODEL, X.set_axis(index), Y, noise_scale=0.1)
    assert leak.examples.index.equals(index)
    assert list(leak.examples.columns) == ["eta", "dfil"]
    assert list(leak.attributes.columns) == [*X.columns, "target"]


def test_ids_name_the_rows():
    ids = np.arange(1000, 1442)
    assert seepage.measure(MODEL, X, Y, noise_scale=0.1, ids=ids).examples.index.tolist() == ids.tolist()
    other = seepage.measure(MODEL, pl.from_pandas(X), Y, noise_scale=0.1, ids=ids).examples
    assert other["id"].to_list() == ids.tolist()


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_frames_come_back_in_the_library_they_came_in(convert):
    north = (X["age"] > 0).to_numpy()
    given = convert(X.assign(ward=np.where(north, "north", "south")))
    leak = seepage.measure(MODEL, given, Y, noise_scale=0.1)
    assert type(leak.examples) is type(given)
    assert type(leak.error_floor()) is type(given)
    # A column that does not reach the model groups people.
    found = leak.by_group("ward").frame
    assert type(found) is type(given)
    np.testing.assert_allclose(np.asarray(found["mean"]), LEAK.by_group(north).frame["mean"][::-1], rtol=1e-12)
    joint = leak.joint_information_loss({"ward": "north"})
    assert joint == pytest.approx(LEAK.joint_information_loss(north), rel=1e-12)
    eta = leak.examples["eta"].to_numpy()
    np.testing.assert_allclose(eta, LEAK.examples["eta"], rtol=1e-12)


def test_arrays_give_pandas_and_numbered_columns():
    leak = seepage.measure(Ridge().fit(X.to_numpy(), Y), X.to_numpy(), Y.to_numpy(), noise_scale=0.1)
    assert list(leak.attributes.columns) == [*(f"x{i}" for i in range(10)), "label"]
    pd.testing.assert_frame_equal(leak.examples, LEAK.examples, rtol=1e-12)
    mask = X["sex"] == X["sex"][0]
    joint = leak.joint_information_loss({"x1": X["sex"][0]})
    assert joint == pytest.approx(LEAK.joint_information_loss(mask), rel=1e-10)


def test_public_attributes_say_less():
    few = seepage.measure(MODEL, X, Y, noise_scale=0.1, attributes=["age", "bmi"], public_label=True)
    assert few.information.attribute_names == ("age", "bmi")
    assert (few.examples["eta"] <= LEAK.examples["eta"] + 1e-12).all()
    np.testing.assert_allclose(few.attributes["bmi"], LEAK.attributes["bmi"], rtol=1e-12)
    assert any("Known to the attacker besides: sex, bp" in sentence for sentence in few.assumptions)


def test_the_error_floor_is_the_inverse():
    floors = LEAK.error_floor()
    assert set(LEAK.attributes) - set(floors) == {"sex"}
    np.testing.assert_allclose(floors * LEAK.attributes[list(floors)], 1.0)


def test_groups_are_compared_with_intervals():
    groups = np.where(X["sex"] > 0, "f", "m")
    found = LEAK.by_group(groups)
    frame = found.frame.set_index("group")
    eta = LEAK.examples["eta"]
    for name in ("f", "m"):
        assert frame.loc[name, "count"] == (groups == name).sum()
        assert frame.loc[name, "mean"] == pytest.approx(eta[groups == name].mean())
        assert frame.loc[name, "median"] == pytest.approx(eta[groups == name].median())
        assert frame.loc[name, "max"] == eta[groups == name].max()
        assert frame.loc[name, "mean_low"] < frame.loc[name, "mean"] < frame.loc[name, "mean_high"]
    difference, low, high = found.difference()
    assert difference == pytest.approx(abs(frame.loc["f", "mean"] - frame.loc["m", "mean"]))
    assert low < difference < high
    ratio, low, high = found.ratio("median")
    assert low < ratio < high
    assert ratio >= 1


def test_bootstrap_intervals_cover_a_mean_as_often_as_they_say():
    random = np.random.default_rng(0)
    from seepage.leakage import GroupLeakage, Values

    covered = 0
    for trial in range(200):
        values = random.exponential(size=60)
        groups = GroupLeakage({"a": Values.of(values)}, "pandas", confidence=0.9, resamples=200, seed=trial)
        covered += groups.frame["mean_low"][0] <= 1.0 <= groups.frame["mean_high"][0]
    assert 0.8 < covered / 200 < 0.96


def test_a_result_is_frozen_and_computes_nothing_twice():
    with pytest.raises(dataclasses.FrozenInstanceError):
        LEAK.information = None
    assert LEAK.examples is LEAK.examples
    assert LEAK.information.attributes() is LEAK.information.attributes()
    assert repr(LEAK) == "Leakage(442 people, 11 private attributes, exact)"
    assert isinstance(LEAK.information, seepage.leakage.Information)


def test_groups_given_to_measure_are_those_that_are_compared():
    named = X.assign(ward=np.where(X["age"] > 0, "north", "south"))
    by_name = seepage.measure(MODEL, named, Y, noise_scale=0.1, groups="ward")
    by_label = seepage.measure(MODEL, X, Y, noise_scale=0.1, groups=named["ward"])
    expected = LEAK.by_group(named["ward"]).frame
    for leak in (by_name, by_label):
        assert leak.people.grouping == "ward"
        pd.testing.assert_frame_equal(leak.by_group().frame, expected)
        pd.testing.assert_frame_equal(leak.by_group("ward").frame, expected)
    north = (named["ward"] == "north").to_numpy()
    assert by_label.joint_information_loss({"ward": "north"}) == pytest.approx(
        LEAK.joint_information_loss(north), rel=1e-12
    )
    for wrong, message in (("height", "no column 'height'"), (named["ward"][:3], "each of the 442 rows")):
        with pytest.raises(seepage.errors.InputError, match=message):
            seepage.measure(MODEL, X, Y, noise_scale=0.1, groups=wrong)


def test_assumptions_know_where_their_numbers_come_from():
    found = {one.kind: one for one in LEAK.information.assumptions}
    assert found["release"].numbers["scale"] == given(0.1, "g")
    assert found["minimizer"].numbers["distance"].origin is Origin.PERSONAL
    assert not found["minimizer"].numbers["distance"].may_leave
    assert [one.sentence() for one in LEAK.information.assumptions] == list(LEAK.assumptions)
    hidden = found["minimizer"].sentence(lambda number: "some" if not number.may_leave else number.text())
    assert hidden == "The numbers hold at the exact minimizer; the model was some standard errors from it."
    twice = seepage.compose([LEAK, LEAK]).information.assumptions
    assert sum(one.kind == "minimizer" for one in twice) == 2
    assert {one.numbers["scale"] for one in twice if one.kind == "release"} == {given(0.1, "g")}


def test_names_of_columns_are_left_as_they_are():
    odd = X.rename(columns={"age": "score 2.1375 {x}", "bmi": "{0}"})
    leak = seepage.measure(Ridge().fit(odd, Y), odd, Y, noise_scale=0.1, attributes=["sex"])
    assert "Known to the attacker besides: score 2.1375 {x}, {0}, bp" in " ".join(leak.assumptions)
    assert "score 2.1375 {x}, {0}" in " ".join(seepage.compose([leak, leak]).assumptions)
