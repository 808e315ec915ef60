"""Guarantees of a stated (epsilon, delta), against the worst mechanisms and against simulated attackers."""

import numpy as np
import pytest
from scipy.optimize import brentq, linprog
from scipy.stats import norm

from seepage.errors import InputError
from seepage.meaning import from_epsilon, gaussian_epsilon


def _largest_by_program(epsilon, delta, steps, share):
    """Return the largest share of right guesses: a linear program over the probabilities of one answer."""
    odds, rows, limits = np.exp(epsilon), [], []
    for step in range(steps):
        for first, second in ((step, step + 1), (step + 1, step)):
            row = np.zeros(steps + 1)
            row[first], row[second] = 1, -odds
            # The answer, and its opposite.
            rows += [row, -row]
            limits += [delta, delta - 1 + odds]
    gain = np.zeros(steps + 1)
    gain[0], gain[-1] = share, -(1 - share)
    solved = linprog(-gain, A_ub=rows, b_ub=limits, bounds=[(0, 1)] * (steps + 1))
    return -solved.fun + 1 - share


@pytest.mark.parametrize(("neighbors", "steps"), [("replace", 1), ("add or remove", 2)])
def test_rates_are_the_largest_that_any_mechanism_allows(neighbors, steps):
    random = np.random.default_rng(steps)
    for _ in range(40):
        epsilon, delta = random.uniform(0, 4), random.choice([0.0, 1e-5, 0.01, 0.2])
        odds, baseline = np.exp(random.normal()), random.uniform()
        stated = from_epsilon(epsilon, delta, neighbors=neighbors)
        largest = _largest_by_program(epsilon, delta, steps, odds / (1 + odds))
        assert stated.success_rate(odds) == pytest.approx(largest, abs=1e-9)
        # One step, whichever the neighbors are.
        advantage = 2 * _largest_by_program(epsilon, delta, 1, 0.5) - 1
        assert stated.membership_advantage == pytest.approx(advantage, abs=1e-9)
        rate = min(np.exp(epsilon) * baseline + delta, 1 - np.exp(-epsilon) * (1 - delta - baseline), 1.0)
        assert stated.reconstruction_rate(baseline) == pytest.approx(rate, abs=1e-12)


def _laplace(random, epsilon, delta, steps, count):
    """Return releases of each of two values that are 1 apart, and their log odds."""
    scale = 1 / (steps * epsilon)
    releases = np.array([[0.0], [1.0]]) + random.laplace(scale=scale, size=(2, count))
    return (np.abs(releases) - np.abs(releases - 1)) / scale


def _gaussian(random, epsilon, delta, steps, count):
    distance = steps * brentq(lambda ratio: gaussian_epsilon(ratio, delta) - epsilon, 1e-3, 50)
    releases = np.array([[0.0], [distance]]) + random.normal(size=(2, count))
    return distance * releases - distance**2 / 2


def _flipped(random, epsilon, delta, steps, count):
    """A coin that shows the value with odds e^epsilon, once for each step, or with probability delta for sure."""
    shown = random.uniform(size=(steps, 2, count)) < 1 / (1 + np.exp(-epsilon))
    sign = np.array([[-1.0], [1.0]])
    if steps == 2:
        # Out with the one record and in with the other: the middle data set is reached by both.
        first = np.where(shown[0] & shown[1], 1, np.where(~shown[0] & ~shown[1], -1, 0))
        log_odds = sign * first * 2 * epsilon
    else:
        log_odds = sign * np.where(shown[0], 1, -1) * epsilon
    return np.where(random.uniform(size=(2, count)) < delta, sign * np.inf, log_odds)


@pytest.mark.parametrize("mechanism", [_laplace, _gaussian, _flipped])
@pytest.mark.parametrize(("neighbors", "steps"), [("replace", 1), ("add or remove", 2)])
def test_no_simulated_attacker_is_better(mechanism, neighbors, steps):
    random = np.random.default_rng(7)
    for epsilon in (0.2, 0.5, 1.0, 2.0, 4.0):
        for delta in (1e-5, 0.02):
            count = 40_000
            log_odds = mechanism(random, epsilon, delta, steps, count)
            share = 1 / (1 + np.exp(-log_odds))
            stated = from_epsilon(epsilon, delta, neighbors=neighbors)
            right = np.mean([share[0] < 0.5, share[1] >= 0.5])
            assert right <= stated.success_rate() + 3 / np.sqrt(count)
            # The mean of the posterior has the least error; scaled to be without bias, the least of those.
            squared = np.concatenate([share[0] ** 2, (1 - share[1]) ** 2])
            error = np.sqrt(squared.mean() + 4 * squared.std() / np.sqrt(2 * count))
            assert stated.error_floor(1.0) <= error
            centered = (share - 0.5) / (share[1].mean() - share[0].mean())
            unbiased = np.sqrt(np.mean((centered + np.array([[0.5], [-0.5]])) ** 2))
            assert stated.error_floor(1.0, unbiased=True) <= unbiased * (1 + 10 / np.sqrt(count))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.0), (1.0, 1e-5), (3.0, 0.05)])
def test_floors_are_reached_by_a_coin(epsilon, delta):
    right = (1 - delta) / (1 + np.exp(-epsilon))
    guess = right / (1 - delta)
    least = right * (1 - guess) ** 2 + (1 - delta - right) * guess**2
    stated = from_epsilon(epsilon, delta, neighbors="replace")
    assert stated.error_floor(50.0) == pytest.approx(50 * np.sqrt(least), rel=1e-12)


def test_numbers_of_papers_and_of_other_libraries():
    # Guo et al. 2022, sections 2 and 3: right at most 53% and 88% of the time.
    for epsilon, rate in ((0.1, 0.525), (2.0, 0.881)):
        advantage = from_epsilon(epsilon, 0.0, neighbors="replace").membership_advantage
        assert (1 + advantage) / 2 == pytest.approx(rate, abs=5e-4)
    # riskcal: get_advantage_from_adp, and 1 - get_beta_from_adp at a false positive rate of 0.01.
    for epsilon, delta, advantage, rate in (
        (1.0, 1e-3, 0.463, 0.028),
        (3.0, 1e-5, 0.905, 0.201),
        (0.0, 1e-3, 0.001, 0.011),
    ):
        stated = from_epsilon(epsilon, delta, neighbors="add or remove")
        assert stated.membership_advantage == pytest.approx(advantage, abs=5e-4)
        assert stated.reconstruction_rate(0.01) == pytest.approx(rate, abs=5e-4)
    # The distance of a Gaussian mechanism with this guarantee says less than the guarantee allows.
    distance = brentq(lambda ratio: gaussian_epsilon(ratio, 1e-5) - 1.0, 1e-3, 50)
    assert 2 * norm.cdf(distance / 2) - 1 < from_epsilon(1.0, 1e-5, neighbors="replace").membership_advantage


def test_extremes():
    none = from_epsilon(0.0, 0.0, neighbors="add or remove")
    assert (none.membership_advantage, none.success_rate(), none.success_rate(3.0)) == (0.0, 0.5, 0.75)
    assert (none.error_floor(60.0), none.error_floor(60.0, unbiased=True)) == (30.0, np.inf)
    everything = from_epsilon(1e6, 0.0, neighbors="replace")
    assert (everything.success_rate(), everything.error_floor(60.0)) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1.0, 0.0, "replace"), "epsilon is a number of at least 0"),
        ((np.nan, 0.0, "replace"), "epsilon is a number of at least 0"),
        ((1.0, 1.0, "replace"), "below 1, for example 1e-5"),
        ((1.0, None, "replace"), "below 1, for example 1e-5"),
        ((1.0, 1e-5, "remove"), 'neighbors is "add or remove" or "replace"'),
    ],
)
def test_a_guarantee_that_is_none_is_refused(arguments, words):
    epsilon, delta, neighbors = arguments
    with pytest.raises(InputError, match=words):
        from_epsilon(epsilon, delta, neighbors=neighbors)


def test_questions_without_an_answer_are_refused():
    stated = from_epsilon(1.0, 1e-5, neighbors="replace")
    for question, words in (
        (lambda: stated.success_rate(0.0), "prior odds"),
        (lambda: stated.reconstruction_rate(1.5), "between 0 and 1"),
        (lambda: stated.error_floor(-1.0), "length of the interval"),
    ):
        with pytest.raises(InputError, match=words):
            question()
