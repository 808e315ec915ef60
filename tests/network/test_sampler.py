"""Our Poisson sampler."""

import time

import numpy as np
import pytest
from scipy.stats import binom, chi2, kstest

import seepage
from seepage.network import PoissonSampler


def test_each_example_is_drawn_with_exactly_the_rate():
    sampler = PoissonSampler(20, sample_rate=0.3, steps=20_000, seed=0)
    counts = np.zeros(20)
    sizes = []
    for batch in sampler:
        assert batch == sorted(set(batch))
        counts[batch] += 1
        sizes.append(len(batch))
    statistic = ((counts - 6000) ** 2 / (20_000 * 0.3 * 0.7)).sum()
    assert statistic < chi2.ppf(0.9999, 20)
    jittered = np.array(sizes) + np.random.default_rng(0).random(len(sizes)) - 0.5
    grid = binom(20, 0.3)
    assert kstest(jittered, lambda v: np.interp(v, np.arange(-1, 21) + 0.5, grid.cdf(np.arange(-1, 21)))).pvalue > 1e-4


def test_members_are_independent():
    sampler = PoissonSampler(2, sample_rate=0.5, steps=20_000, seed=1)
    both = sum(len(batch) == 2 for batch in sampler)
    assert abs(both - 5000) < 4 * np.sqrt(20_000 * 0.25 * 0.75)


def test_tiny_rates_are_exact_and_cost_what_the_batch_holds():
    count, rate = 10**12, 1e-11
    start = time.perf_counter()
    sampler = PoissonSampler(count, sample_rate=rate, steps=2000, seed=0)
    total = sum(len(batch) for batch in sampler)
    assert time.perf_counter() - start < 5
    assert abs(total - 20_000) < 4 * np.sqrt(20_000)


def test_a_rate_of_one_is_everybody():
    assert list(PoissonSampler(3, sample_rate=1.0, steps=2)) == [[0, 1, 2]] * 2


def test_batches_can_be_empty_and_are_secret_by_default():
    assert any(not batch for batch in PoissonSampler(2, sample_rate=0.1, steps=100, seed=0))
    assert PoissonSampler(2, sample_rate=0.1, steps=1).secret
    assert not PoissonSampler(2, sample_rate=0.1, steps=1, seed=0).secret
    draws = [PoissonSampler(1000, sample_rate=0.5, steps=1).draw().tolist() for _ in range(2)]
    assert draws[0] != draws[1]


@pytest.mark.parametrize(("count", "rate", "steps"), [(0, 0.1, 1), (5, 0.0, 1), (5, 1.1, 1), (5, 0.1, -1)])
def test_wrong_samples_are_refused(count, rate, steps):
    with pytest.raises(seepage.errors.InputError):
        PoissonSampler(count, sample_rate=rate, steps=steps)
