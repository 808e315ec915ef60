"""Estimates of a training that was visited here and there, over repetitions of it."""

import pytest

from benchmarks import coverage

MISSED = "all in all steps, a strong trend"
"""Half of the people give nearly everything away in five steps of a hundred: most visits miss them."""
WIDE = ("secret sampling, few values", "shuffled batches, few values")
"""Errors are reported up to 1.6 times as large as they are, above the goal of 1.5."""


@pytest.mark.parametrize("name", coverage.SETTINGS)
def test_estimates_are_unbiased_and_intervals_cover(name):
    """In a hundred repetitions; `python -m benchmarks coverage` takes four hundred."""
    found = coverage.study(name, seeds=100)
    assert abs(found.bias) < 5 * found.bias_error + 0.01
    assert (0.8 if name == MISSED else 0.92) < found.coverage < 0.99
    assert found.above < (0.15 if name == MISSED else 0.05)
    assert name == MISSED or 0.7 < found.error < (1.7 if name in WIDE else 1.5)


@pytest.mark.parametrize("name", coverage.PRIVATE_RUNS)
def test_intervals_cover_in_a_training_with_opacus(name):
    found = coverage.studied(name, seeds=40)
    assert abs(found.bias) < 5 * found.bias_error + 0.01
    assert 0.92 < found.coverage < 0.99
    assert found.above < 0.06
    assert 0.7 < found.error < 1.7
