"""Amounts as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._amounts import clock, rounded, size


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


def test_sizes_and_times():
    assert [size(5), size(1234), size(999_999_999_999), size(2e15)] == ["5 B", "1.23 kB", "1e+03 GB", "2e+03 TB"]
    assert [clock(0.2), clock(61), clock(3600)] == ["0:00", "1:01", "1:00:00"]
