"""Somebody who counts every world that a table could have come from is not better than what is claimed."""

import numpy as np
import pytest

from benchmarks._worlds import MOST_BETTER, Lattice, binary_outcomes, counted, one_of_two, said, through_the_door


@pytest.mark.parametrize("make", [binary_outcomes, one_of_two])
@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize(("numbers", "unknown"), [(2, 8), (2, 12), (3, 8), (3, 12), (4, 12), (2, 15)])
@pytest.mark.parametrize("step", [0.01, 0.1, 0.5, 1.0])
def test_no_toy_is_claimed_that_counting_tells_better(make, share, numbers, unknown, step):
    rng = np.random.default_rng([numbers, unknown])
    for _ in range(2 if unknown < 15 else 1):
        toy = make(unknown + 1, numbers, share, rng)
        theory, claimed, steps = said(toy, step)
        assert not claimed or counted(toy, steps) < theory + MOST_BETTER


def test_counting_finds_the_one_world_that_fits_where_digits_say_too_much():
    toy = binary_outcomes(13, 3, 0.5, np.random.default_rng(0))
    theory, claimed, steps = said(toy, 0.01)
    assert counted(toy, steps) > 0.97 > theory + 0.1
    assert not claimed


def test_some_toys_are_claimed_and_agree():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(8):
        toy = one_of_two(16, 2, 0.5, rng)
        theory, claimed, steps = said(toy, 0.5)
        if claimed:
            found.append(counted(toy, steps) - theory)
    assert len(found) >= 6
    assert abs(np.mean(found)) < MOST_BETTER


def test_sums_over_all_worlds_are_those_of_brute_force():
    rng = np.random.default_rng(2)
    lattice = Lattice(rng.integers(0, 3, (9, 1)), rng.uniform(0.2, 0.8, 9))
    at, weight = lattice.worlds(4)
    rows, share = np.delete(lattice.rows, 4, axis=0), np.delete(lattice.share, 4)
    worlds = (np.arange(2**8)[:, None] >> np.arange(8)) & 1
    likely = np.prod(np.where(worlds, share, 1 - share), axis=1)
    sums = worlds @ rows
    for place, expected in zip(at, weight, strict=True):
        assert likely[(sums == place).all(axis=1)].sum() == pytest.approx(expected, rel=1e-9)
    assert weight.sum() == pytest.approx(1.0)


def test_a_label_of_a_logistic_model_is_told_as_often_as_counting_all_worlds_does():
    rows = list(through_the_door("one column", 40, digits_of=[None]))
    claimed = [row for row in rows if row["claimed"] > 0.5]
    assert {row["case"] for row in claimed} == {"one column, coefficients", "one column, a table"}
    for row in claimed:
        assert row["claimed exact"] < row["claimed theory"] + MOST_BETTER, row


def test_nothing_is_claimed_of_a_table_with_three_decimals_of_25_people():
    rows = {(row["case"], row["step"]): row["claimed"] for row in through_the_door("few people", 2, digits_of=[3])}
    assert rows["few people, a table", "3 decimals"] == 0
    assert rows["few people, coefficients", "3 decimals"] == 0
