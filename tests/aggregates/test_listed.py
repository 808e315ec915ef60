"""Tables of listed numbers, and of columns with missing values."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import seepage
from seepage.models import Aggregate
from seepage.tables import NumberTable, TableNumber

RNG = np.random.default_rng(0)
COUNT = 600
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, COUNT).astype(float),
        "sex": RNG.choice(["F", "M"], COUNT),
        "ill": (RNG.random(COUNT) < 0.3).astype(int),
        "ward": RNG.choice(["a", "b", "c"], COUNT),
    }
)
GAPS = PEOPLE.assign(age=PEOPLE["age"].where(RNG.random(COUNT) > 0.1))
GAPS["ward"] = GAPS["ward"].astype(object).where(RNG.random(COUNT) > 0.1, None)


def _cells(by):
    """Yield the cells of some columns, and of fewer of them."""
    for size in range(len(by) + 1):
        for some in combinations(by, size):
            for key in PEOPLE[list(some)].drop_duplicates().itertuples(index=False):
                yield tuple(zip(some, key, strict=True))


def _numbers(cells):
    return [
        TableNumber(*number, cell)
        for cell in cells
        for number in (("count", None, None), ("mean", "age", None), ("sd", "age", None), ("mean", "ill", 1))
    ]


def _measured(table, people):
    return seepage.measure(table.fit(people), people, known_records=0)


def test_all_cells_and_margins_are_an_aggregate():
    whole = _measured(
        Aggregate(of=["age", "ill"], by=["sex", "ward"], statistics=["mean", "sd", "count"], margins=True), PEOPLE
    )
    listed = _measured(NumberTable(numbers=_numbers(_cells(["sex", "ward"]))), PEOPLE)
    np.testing.assert_allclose(listed.error_floor()["age"], whole.error_floor()["age"], rtol=1e-9)
    for name in ("ill", "sex", "ward"):
        rates = [each.success_rate(name)["success_rate"] for each in (listed, whole)]
        np.testing.assert_allclose(*rates, rtol=1e-9)


@pytest.mark.parametrize("by", [["ward"], ["sex", "ward"]])
def test_missing_values_are_left_out_of_their_statistics(by):
    table = NumberTable(numbers=_numbers(cell for cell in _cells(by) if len(cell) == len(by))).fit(GAPS)
    found = dict(zip(table.frame_["name"], table.frame_["value"], strict=True))
    expected = GAPS.groupby(by)["age"].agg(["mean", "std"])
    for key, row in expected.iterrows():
        cell = "".join(f", {name}={value}" for name, value in zip(by, [key] if by == ["ward"] else key, strict=True))
        assert found[f"mean of age{cell}"] == pytest.approx(row["mean"])
        assert found[f"sd of age{cell}"] == pytest.approx(row["std"])


def test_a_mean_is_that_of_people_without_missing_values():
    mean = NumberTable(numbers=[TableNumber("mean", "age", None, ())])
    present = GAPS[GAPS["age"].notna()]
    floors = _measured(mean, GAPS).error_floor()["age"]
    np.testing.assert_allclose(floors[present.index], _measured(mean, present).error_floor()["age"], rtol=0.01)
    assert np.isinf(floors[GAPS["age"].isna()]).all()


def test_nothing_is_inferred_of_a_missing_category():
    counts = NumberTable(numbers=[TableNumber("count", None, None, (("ward", each),)) for each in "abc"])
    rates = _measured(counts, GAPS).success_rate("ward")["success_rate"]
    assert set(rates.index) == set(GAPS.index[GAPS["ward"].notna()])
    complete = GAPS[GAPS["ward"].notna()]
    np.testing.assert_allclose(rates, _measured(counts, complete).success_rate("ward")["success_rate"], atol=0.002)


def test_shares_of_different_cells_are_those_of_separate_tables():
    ill, cell = ("mean", "ill", 1), (("sex", "F"),)
    numbers = [TableNumber(*ill, cell), TableNumber("count", None, None, (("ward", "a"),))]
    found = _measured(NumberTable(numbers=numbers), PEOPLE)
    assert found.success_rate("ill")["success_rate"].max() < 0.6
    assert found.success_rate("ward")["success_rate"].max() < 0.6
