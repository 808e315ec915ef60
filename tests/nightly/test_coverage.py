"""Estimates of a training that was visited here and there, over repetitions of it."""

import pytest

from benchmarks import coverage


@pytest.mark.parametrize("name", coverage.SETTINGS)
def test_estimates_are_unbiased_and_intervals_cover(name):
    """In a hundred repetitions; `python -m benchmarks coverage` takes a thousand."""
    found = coverage.study(name, seeds=100)
    assert abs(found.bias) < 5 * found.bias_error + 0.01
    assert 0.9 < found.coverage < 0.99


@pytest.mark.parametrize("name", ["no sampling, a trend", "secret sampling, rare"])
def test_intervals_of_dfil_cover_also_where_only_some_people_are_neighbors(name):
    assert 0.9 < coverage.study(name, seeds=10, people=200).coverage_dfil < 0.995
