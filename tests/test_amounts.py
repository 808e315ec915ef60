"""Amounts as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._amounts import clock, on_grid, rounded, size, up_to_grid


@pytest.mark.parametrize(
    ("value", "up"),
    [(2.418, 2.5), (2.5, 2.5), (0.1 + 0.2, 0.31), (1234.5, 1300.0), (0.0301, 0.031), (9.99, 10.0), (1e-9, 1e-9)],
)
def test_noise_is_rounded_up_to_two_digits(value, up):
    assert rounded(value, 2, "up") == up >= value


@given(st.floats(1e-290, 1e290), st.integers(1, 6))
def test_the_safe_side_is_kept_and_never_far(value, digits):
    low, near, high = (rounded(value, digits, way) for way in ("down", "near", "up"))
    assert low <= value <= high
    assert low <= near <= high
    assert high - low <= 1.01 * 10.0 ** (math.floor(math.log10(value)) - digits + 1) + 1e-15 * value
    assert all(float(f"{each:.{digits}g}") == each for each in (low, near, high))


def test_nothing_and_everything_stay_what_they_are():
    assert rounded(0.0, 2, "up") == 0.0
    assert rounded(math.inf, 2, "down") == math.inf


@pytest.mark.parametrize(
    ("value", "up"),
    [(1.0, 1.0), (1.01, 2.0), (2.0, 2.0), (2.1, 5.0), (5.0001, 10.0), (0.1 * 2, 0.2), (0.3, 0.5), (0.1 * 0.2, 0.02)],
)
def test_scales_go_up_to_the_next_point_of_the_grid(value, up):
    assert up_to_grid(value) == up


def test_a_number_is_on_the_grid_whatever_arithmetic_left_in_its_last_bits():
    assert on_grid(0.1 * 0.2)
    assert on_grid(5e-300)
    assert not any(map(on_grid, (0.1 * 3, 2.5, 0.2001, 0.0, -1.0, math.inf, math.nan)))


@given(st.floats(1e-290, 1e290))
def test_the_grid_costs_at_most_two_and_a_half_times_and_never_comes_short(value):
    up = up_to_grid(value)
    assert on_grid(up)
    assert up_to_grid(up) == up
    # A relative 5e-13 below is what snapping leaves out.
    assert (1 - 1e-12) * value <= up <= 2.5 * (1 + 1e-12) * value


def test_sizes_and_times():
    assert [size(5), size(1234), size(999_999_999_999), size(2e15)] == ["5 B", "1.23 kB", "1e+03 GB", "2e+03 TB"]
    assert [clock(0.2), clock(61), clock(3600)] == ["0:00", "1:01", "1:00:00"]
