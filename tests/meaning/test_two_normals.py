"""Two releases whose means and noises differ: the best test's success, against integration and simulation."""

import numpy as np
import pytest
from likelihoods import integrated, simulated

from seepage.meaning import TwoNormals, success_rate


def _drawn(random, axes):
    """Return a shift and variances, small ones and large ones."""
    shift = random.normal(size=axes) * 10 ** random.uniform(-2, 0.5)
    return shift, np.exp(random.normal(size=axes) * 10 ** random.uniform(-2.5, 0.3))


@pytest.mark.parametrize("seed", range(30))
def test_over_the_plane_it_is_the_integral(seed):
    random = np.random.default_rng(seed)
    shift, ratio = _drawn(random, 2)
    if seed % 6 == 0:
        shift = np.zeros(2)
    odds = 1.0 if seed % 2 else float(np.exp(random.normal()))
    expected = integrated((np.zeros(2), np.eye(2)), (shift, np.diag(ratio)), odds)
    found = TwoNormals(shift[None], ratio[None]).success_rate(odds)[0]
    # Never below, and nowhere a millionth above.
    assert -1e-10 <= found - expected <= 1e-6


def test_with_one_noise_it_is_what_is_known():
    shift = np.array([0.0, 1e-4, 0.01, 0.3, 1.0, 4.0, 12.0, 60.0])
    pairs = TwoNormals(np.column_stack([0.6 * shift, 0.8 * shift]), np.ones((len(shift), 2)))
    np.testing.assert_allclose(pairs.distance(), shift, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(pairs.length(), shift, rtol=1e-12)
    for odds in (1e-6, 0.2, 1.0, 7.0):
        np.testing.assert_allclose(pairs.success_rate(odds), success_rate(shift, odds), atol=1e-10)


@pytest.mark.parametrize("axes", [1, 5, 40])
def test_of_many_axes_no_simulation_is_better(axes):
    random, draws = np.random.default_rng(axes), 20_000
    for _ in range(6):
        shift, ratio = _drawn(random, axes)
        shift, ratio = shift / np.sqrt(axes), ratio ** (1 / np.sqrt(axes))
        rate, error = simulated((np.zeros(axes), np.eye(axes)), (shift, np.diag(ratio)), draws, random)
        found = float(TwoNormals(shift[None], ratio[None]).success_rate()[0])
        assert abs(found - rate) <= 4.5 * error


def test_more_noise_is_never_told_better_and_what_stays_is_the_shape():
    random = np.random.default_rng(4)
    pairs = TwoNormals(*(np.stack(each) for each in zip(*(_drawn(random, 4) for _ in range(20)), strict=True)))
    rates = np.stack([pairs.at(factor).success_rate() for factor in (0.5, 1.0, 2.0, 10.0, np.inf)])
    assert (np.diff(rates, axis=0) <= 1e-6).all()
    assert (rates[-1] > 0.5).all()


def test_releases_beside_each_other_are_one_of_more_axes():
    random = np.random.default_rng(5)
    one, other = (_drawn(random, 2) for _ in range(2))
    both = TwoNormals(one[0][None], one[1][None]).beside(TwoNormals(other[0][None], other[1][None]))
    rate, error = simulated(
        (np.zeros(4), np.eye(4)), (np.hstack([one[0], other[0]]), np.diag([*one[1], *other[1]])), 50_000, random
    )
    assert abs(both.success_rate()[0] - rate) <= 4.5 * error
    # What differs in nothing adds nothing.
    wide = TwoNormals.together([both, TwoNormals(np.ones((1, 1)), np.ones((1, 1)))])
    np.testing.assert_allclose(wide.distance(), [both.distance()[0], 1.0], rtol=1e-9)


def test_what_is_not_known_stays_unknown():
    pairs = TwoNormals(np.array([[np.nan, 0.0], [1.0, 0.0]]), np.array([[1.0, 1.0], [2.0, 1.0]]))
    assert np.isnan(pairs.distance()).tolist() == [True, False]
    assert np.isnan(pairs.success_rate(3.0)).tolist() == [True, False]
    broken = TwoNormals.between(np.zeros((2, 2)), np.stack([np.diag([1.0, -0.1]), np.full((2, 2), np.nan)]))
    assert np.isnan(broken.distance()).all()
