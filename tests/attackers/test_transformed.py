"""What skewness adds is what the characteristic function of a sum says."""

import numpy as np
import pytest

from benchmarks._transform import MOST_APART, POPULATIONS, compared, exact


def sizes(name):
    return (400, 1600) if "rare" in name or "5%" in name else (25, 100)


@pytest.mark.parametrize("name", POPULATIONS)
def test_what_is_claimed_is_the_exact_information(name):
    cells = [cell for unknown in sizes(name) for cell in compared(name, unknown)]
    claimed = [cell for cell in cells if cell["claimed"]]
    assert claimed
    for cell in claimed:
        assert cell["said"] == pytest.approx(cell["exact"], rel=MOST_APART), cell


@pytest.mark.parametrize(("name", "unknown"), [("logistic, 20%", 15), ("rare level", 400), ("70% zeros", 15)])
def test_what_the_expansion_misses_is_not_claimed(name, unknown):
    cells = compared(name, unknown)
    assert max(cell["exact"] / cell["said"] for cell in cells) > 1.2
    assert not any(cell["claimed"] for cell in cells)


def test_a_normal_sum_has_information_one():
    found = exact(np.random.default_rng(0).normal(size=(6000, 2)), 500)
    assert found == pytest.approx(np.eye(2), abs=0.05)


def test_an_exponential_sum_has_the_information_of_a_gamma_variable():
    # Two independent gamma variables of shape m, in deviations: m / (m - 2).
    rng = np.random.default_rng(1)
    grid = -np.log1p(-(np.arange(6000) + 0.5) / 6000)
    scores = np.column_stack([grid, rng.permutation(grid)]) - 1
    scores = scores / scores.std(axis=0)
    assert np.diag(exact(scores, 30)) == pytest.approx(30 / 28, rel=0.01)


def test_without_skewness_the_information_would_be_too_small():
    cells = [cell for cell in compared("exponential", 50) if cell["claimed"]]
    assert cells
    assert max(cell["exact"] for cell in cells) > 1.03
    assert min(cell["said"] for cell in cells) > 1.03
