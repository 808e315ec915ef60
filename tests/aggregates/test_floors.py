"""Errors of an attacker who is simulated: the others are drawn anew, and one value is read off the table."""

import numpy as np
import pandas as pd
import pytest

import seepage

RANDOM = np.random.default_rng(5)
N = 240
FRAME = pd.DataFrame(
    {
        "ward": RANDOM.choice(["A", "B", "C"], N, p=[0.5, 0.3, 0.2]),
        "age": RANDOM.normal(60.0, 12.0, N),
        "cost": RANDOM.gamma(6.0, 10.0, N),
    }
)
DRAWS = 4000


def _tables(ward, columns, statistics):
    """Return the numbers of many tables, written down anew, shape (draws, numbers)."""
    found = []
    for cell in "ABC":
        some = ward == cell
        size = some.sum(axis=1)
        found.append(size)
        for x in columns.values():
            total = (some * x).sum(axis=1)
            rest = some * (x - (total / size)[:, None])
            each = {"mean": total / size, "sum": total, "sd": np.sqrt((rest**2).sum(axis=1) / (size - 1))}
            found += [each[name] for name in statistics]
    return np.column_stack(found)


def _attacked(person, name, statistics, random):
    """Return the error of the best linear guess of a value that has no bias, in tables that it has not seen."""
    others = np.setdiff1d(np.arange(N), person)
    drawn = np.column_stack([random.choice(others, (DRAWS, N - 1)), np.full(DRAWS, person)])
    ward, columns = FRAME["ward"].to_numpy()[drawn], {each: FRAME[each].to_numpy()[drawn] for each in ("age", "cost")}
    spread, truth, tables = FRAME[name].std(), FRAME[name][person], []
    for more in (-spread, spread):
        columns[name][:, -1] = truth + more
        tables.append(_tables(ward, columns, statistics))
    low, high = tables
    half = DRAWS // 2
    slope = (high[:half] - low[:half]).mean(axis=0) / (2 * spread)
    middle = (low[:half] + high[:half]) / 2
    rest = middle - middle.mean(axis=0)
    weights = np.linalg.pinv(rest.T @ rest, rcond=1e-12, hermitian=True) @ slope
    errors = [
        (seen[half:] - middle.mean(axis=0)) @ weights / (slope @ weights) - more
        for seen, more in ((low, -spread), (high, spread))
    ]
    return np.sqrt(np.mean(np.square(errors)))


@pytest.mark.parametrize("statistics", [["mean"], ["mean", "sd"], ["sum"]])
def test_a_simulated_attacker_errs_as_the_answer_says(statistics):
    table = seepage.models.Aggregate(of=["age", "cost"], by=["ward"], statistics=[*statistics, "count"])
    leak = seepage.measure(table.fit(FRAME), FRAME)
    answers, random, seen = leak.error_floor(), np.random.default_rng(0), 0
    for cell in "ABC":
        for name in ("age", "cost"):
            known = answers[name][(FRAME["ward"] == cell) & answers[name].notna()]
            if len(known):
                # Somebody in the middle, of whom the value says something.
                person = known.sort_values().index[len(known) // 4]
                ratio = _attacked(int(person), name, statistics, random) / answers[name][person]
                assert 0.9 < ratio < 1.2, (cell, name, ratio)
                seen += 1
    assert seen >= 4


def test_the_mean_of_a_cell_with_its_size_is_off_by_the_others_of_the_cell():
    """Of a mean and a count the error is the deviation of the others times the root of how many they are, nearly."""
    table = seepage.models.Aggregate(of=["age"], by=["ward"], statistics=["mean", "count"])
    found = seepage.measure(table.fit(FRAME), FRAME).error_floor()["age"]
    for cell in "ABC":
        some = FRAME["ward"] == cell
        wanted = FRAME["age"][some].std() * np.sqrt(some.sum() - 1)
        assert found[some].median() == pytest.approx(wanted, rel=0.06)


def test_small_cells_are_not_claimed_and_large_ones_beside_them_are():
    frame = FRAME.assign(ward=["D"] * 6 + ["A"] * 117 + ["B"] * 117)
    table = seepage.models.Aggregate(of=["age"], by=["ward"], statistics=["mean", "count"])
    leak = seepage.measure(table.fit(frame), frame)
    floors, reasons = leak.error_floor()["age"], leak.not_assessed()["age"]
    assert floors[:6].isna().all()
    assert (reasons[:6] == "too few unknown people with one value").all()
    assert floors[6:].notna().mean() > 0.95
    rates = leak.success_rate("ward")
    # Means tell more of a small cell than its count does, and how much is not known.
    assert rates["success_rate"][rates["value"] == "D"].isna().all()
    assert rates["success_rate"][(rates["value"] == "A") & (rates["other"] == "B")].notna().mean() > 0.9


def test_who_is_alone_in_a_cell_is_told():
    frame = FRAME.assign(ward=["D"] + ["A"] * 119 + ["B"] * 120)
    table = seepage.models.Aggregate(of=["age"], by=["ward"], statistics=["mean", "count"])
    leak = seepage.measure(table.fit(frame), frame)
    assert leak.error_floor()["age"][0] == 0
    assert "Nothing protects age of 1 person" in str(leak)
