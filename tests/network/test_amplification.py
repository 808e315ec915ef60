"""The share of information that secret sampling leaves, against numerical integration and simulation."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom, norm

import seepage
from experiments._private import kappa
from seepage.network import poisson_factors, without_replacement_factor
from seepage.network._amplification import replacement_divergence, step_factors, tabulated

RATES = [1e-6, 1e-3, 0.01, 0.1, 0.5, 0.9, 1.0]
RATIOS = [0.0, 0.01, 0.3, 1.0, 2.0, 5.0, 12.0]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("ratio", RATIOS)
def test_factors_equal_their_integrals(rate, ratio):
    def post(t):
        with np.errstate(over="ignore"):
            return 1 / (1 + (1 - rate) / rate * np.exp(-(ratio * t + ratio**2 / 2)))

    def integral(f):
        # The turn of the posterior from 0 to 1, where the integrator has to look.
        turn = (np.log((1 - rate) / rate) - ratio**2 / 2) / ratio if ratio > 0 and rate < 1 else 0.0
        return quad(f, -14, 14, points=[float(np.clip(turn, -13, 13))], limit=500, epsabs=1e-14, epsrel=1e-11)[0]

    k_perp, k_par = poisson_factors(rate, ratio)
    assert k_perp == pytest.approx(integral(lambda t: norm.pdf(t) * post(t)), rel=1e-8)
    assert k_par == pytest.approx(integral(lambda t: norm.pdf(t) * t * t * post(t)), rel=1e-8)
    table = tabulated(rate)(np.array([ratio]))
    assert table[0][0] == pytest.approx(rate * float(k_perp), rel=1e-6)
    assert table[1][0] == pytest.approx(rate * float(k_par), rel=1e-6)


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.3])
def test_the_table_is_exact_to_a_millionth_everywhere(rate):
    ratio = np.random.default_rng(0).uniform(0, 30, 4000)
    exact, table = poisson_factors(rate, ratio), tabulated(rate)(ratio)
    np.testing.assert_allclose(table[0], rate * exact[0], rtol=1e-6)
    np.testing.assert_allclose(table[1], rate * exact[1], rtol=1e-6)


@pytest.mark.parametrize(("rate", "batches", "ratio"), [(0.02, 1, 0.5), (0.2, 1, 3.0), (0.1, 2, 1.0), (0.3, 3, 2.0)])
def test_several_batches_in_a_step_by_simulating_the_score(rate, batches, ratio):
    """A person may be in several of the batches that a step adds up: the mixture has as many components."""
    random = np.random.default_rng(2)
    draws = 1_000_000
    j = random.binomial(batches, rate, draws)
    o = random.standard_normal((draws, 2))
    o[:, 0] += ratio * j
    count = np.arange(batches + 1)
    chance = binom.pmf(count, batches, rate) * np.exp(o[:, :1] * count * ratio - (count * ratio) ** 2 / 2)
    chance /= chance.sum(1, keepdims=True)
    along = (chance * count * (o[:, :1] - count * ratio)).sum(1)
    across = (chance @ count) * o[:, 1]
    for score, found in zip((across, along), step_factors(rate, batches, ratio), strict=True):
        assert abs((score**2).mean() - found) < 4 * (score**2).std() / np.sqrt(draws)
    np.testing.assert_allclose(
        tabulated(rate, batches)(np.array([ratio])), [[f] for f in step_factors(rate, batches, ratio)], rtol=1e-6
    )
    np.testing.assert_allclose(step_factors(rate, 1, ratio), rate * np.array(poisson_factors(rate, ratio)))


@pytest.mark.parametrize(("rate", "ratio"), [(0.01, 1.0), (0.1, 0.5), (0.3, 2.0), (0.01, 3.0)])
def test_the_fisher_information_of_the_mixture_along_the_gradient(rate, ratio):
    """For a scalar, q k_par / s^2 is the information of q N(g, s^2) + (1 - q) N(0, s^2) about g, here with s = 1."""

    def density(o, g):
        return rate * norm.pdf(o - g) + (1 - rate) * norm.pdf(o)

    def integrand(o):
        slope = rate * (o - ratio) * norm.pdf(o - ratio)
        return slope**2 / density(o, ratio)

    whole = quad(integrand, -12, 12 + ratio, limit=400, epsabs=1e-13)[0]
    assert whole == pytest.approx(rate * float(poisson_factors(rate, ratio)[1]), rel=1e-7)


def test_the_published_example():
    k_perp, k_par = poisson_factors(0.01, 1.0)
    assert (round(float(k_perp), 3), round(float(k_par), 3)) == (0.026, 0.047)
    assert kappa(0.01, noise_multiplier=2.0, delta=1e-5) == pytest.approx(0.69, abs=5e-3)
    assert kappa(0.01, noise_multiplier=2.0, delta=1e-9) == pytest.approx(0.93, abs=5e-3)


@given(rate=st.floats(1e-9, 1.0), ratio=st.floats(0, 50))
def test_factors_are_shares(rate, ratio):
    for k in poisson_factors(rate, ratio):
        assert 0 < k <= 1 + 1e-9
        assert k >= rate * (1 - 1e-9) or ratio > 0


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5, np.nan])
def test_a_rate_that_is_no_probability_is_refused(rate):
    with pytest.raises(seepage.errors.InputError, match="sample_rate"):
        poisson_factors(rate, 1.0)


@pytest.mark.parametrize(("rate", "noise"), [(0.01, 1.0), (0.2, 0.8), (0.5, 3.0), (0.01, 0.4)])
def test_the_divergence_of_replacing_a_record_by_integration_and_over_pairs(rate, noise):
    """In the plane, for pairs of gradients of norm up to C: none is farther apart than opposite ones."""
    r = 1 / noise
    side = np.linspace(-9 - 3 * r, 9 + 3 * r, 901)
    x, y = np.meshgrid(side, side)
    cell = (side[1] - side[0]) ** 2

    def bell(a, b):
        return np.exp(-((x - a) ** 2 + (y - b) ** 2) / 2) / (2 * np.pi)

    def divergence(first, second):
        p, q = (rate * bell(*g) + (1 - rate) * bell(0, 0) for g in (first, second))
        return np.log((p**2 / np.maximum(q, 1e-300)).sum() * cell)

    found = replacement_divergence(rate, noise)
    assert divergence((r, 0), (-r, 0)) == pytest.approx(found, rel=1e-4)
    for size, angle in ((1.0, 2.0), (1.0, 1.0), (0.7, np.pi), (0.0, 0.0), (0.4, 2.5)):
        other = (size * r * np.cos(angle), size * r * np.sin(angle))
        assert divergence((r, 0), other) <= found * (1 + 1e-4)
        assert divergence(other, (r, 0)) <= found * (1 + 1e-4)


def test_replacing_is_more_than_adding_and_four_times_it_without_sampling():
    from opacus.accountants.analysis.rdp import compute_rdp

    def adding(rate):
        return float(compute_rdp(q=rate, noise_multiplier=1.0, steps=1, orders=[2])[0])

    assert 1000 * adding(0.01) == pytest.approx(0.172, abs=5e-4)
    assert 1000 * replacement_divergence(0.01, 1.0) == pytest.approx(0.458, abs=5e-4)
    assert replacement_divergence(1.0, 1.0) == pytest.approx(4 * adding(1.0))
    with pytest.raises(seepage.errors.InputError, match="noise_multiplier"):
        replacement_divergence(0.1, 0.0)


def information_of_a_secret_batch(gradients, size):
    """Return the Fisher information about the first of these gradients: all batches of a size, noise of scale 1."""
    axis = np.linspace(-14, 14, 701)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1)

    def density(first):
        every = np.array([first, *gradients[1:]])
        centers = [every[list(batch)].sum(0) for batch in combinations(range(len(every)), size)]
        return np.mean([np.exp(-((grid - center) ** 2).sum(-1) / 2) / (2 * np.pi) for center in centers], axis=0)

    here, step = density(gradients[0]), 1e-4
    moved = [
        (density(gradients[0] + step * unit) - density(gradients[0] - step * unit)) / (2 * step) for unit in np.eye(2)
    ]
    area = (axis[1] - axis[0]) ** 2
    return np.array([[(a * b / np.maximum(here, 1e-300)).sum() * area for a in moved] for b in moved])


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_batch_drawn_without_replacement_leaves_no_more_than_its_factor(size):
    random = np.random.default_rng(size)
    for _ in range(3):
        gradients = random.normal(size=(4, 2))
        farthest = np.linalg.norm(gradients[1:] - gradients[0], axis=1).max()
        found = np.linalg.eigvalsh(information_of_a_secret_batch(gradients, size))[-1]
        bound = size / 4 * float(without_replacement_factor(size, 4, farthest))
        assert 0 < found <= bound * (1 + 1e-6)
        # Without credit it would be the rate itself: there is something to gain.
        assert bound < size / 4


@pytest.mark.parametrize(("people", "size", "larger"), [(4, 2, "across"), (12, 1, "along")])
def test_the_factor_without_replacement_is_reached_where_all_others_are_alike(people, size, larger):
    gradients = np.array([[0.8, 0.3], *[[-0.5, -0.2]] * (people - 1)])
    found = np.linalg.eigvalsh(information_of_a_secret_batch(gradients, size))
    distance, rate = np.linalg.norm(gradients[0] - gradients[1]), size / people
    across, along = (rate * float(each) for each in poisson_factors(rate, distance))
    assert found == pytest.approx(sorted([across, along]), rel=1e-5)
    # Either may be the larger one: which it is depends on the rate.
    assert (across > along) == (larger == "across")
    assert found[-1] == pytest.approx(rate * float(without_replacement_factor(size, people, distance)), rel=1e-2)


def test_the_factor_without_replacement_grows_and_is_below_kappa():
    factors = without_replacement_factor(600, 60_000, np.linspace(0, 60, 500))
    assert (np.diff(factors) >= 0).all()
    assert factors[0] == pytest.approx(0.01)
    assert factors[-1] <= 1
    for noise in (0.5, 1.0, 2.0, 5.0):
        assert without_replacement_factor(600, 60_000, 2.2306 / noise) < kappa(0.01, noise, 1e-9)
    assert without_replacement_factor(5, 5, [0.0, 3.0]) == pytest.approx([1.0, 1.0])
    with pytest.raises(seepage.errors.InputError, match="between 1 and the number of people, 5, not 6"):
        without_replacement_factor(6, 5, 1.0)
