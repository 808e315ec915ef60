"""From visits to all steps: unbiased, and standard errors mean what they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seepage.network._estimator import estimate, freedom, limits
from seepage.network._schedule import Stretches
from seepage.network._state import RunState


@given(steps=st.integers(1, 400), sweeps=st.integers(1, 12), beyond=st.integers(0, 100))
def test_stretches_cover_all_steps_once(steps, sweeps, beyond):
    stretches = Stretches(steps, sweeps)
    for step in range(0, steps + beyond, 7):
        at = stretches.at(step)
        assert stretches.start(at) <= step < stretches.start(at + 1)
    assert stretches.start(min(sweeps, steps)) == steps


def test_each_person_is_visited_once_in_a_stretch_at_a_step_drawn_uniformly():
    stretches, random = Stretches(10, 1), np.random.default_rng(0)
    counts = np.zeros((7, 10))
    for _ in range(3000):
        seen = np.zeros(7)
        for step, parts in stretches.visits(0, np.arange(7), 3, random).items():
            for rows in parts:
                assert len(rows) <= 3
                seen[rows] += 1
                counts[rows, step] += 1
        assert (seen == 1).all()
    # 300 expected in each cell: six standard deviations.
    assert np.abs(counts - 300).max() < 6 * np.sqrt(300)


def test_people_named_twice_are_visited_twice_at_steps_drawn_uniformly():
    stretches, random = Stretches(10, 1), np.random.default_rng(0)
    counts, seen = np.zeros(10), np.zeros(3)
    for _ in range(3000):
        visits = stretches.visits(0, np.array([0, 1, 2, 3, 4, 5, 6, 2]), 3, random)
        found = [step for step, parts in visits.items() for rows in parts if 2 in rows]
        assert all(len(np.unique(rows)) == len(rows) for parts in visits.values() for rows in parts)
        counts[found] += 1
        seen[len(found)] += 1
    assert seen[0] == 0
    assert seen[2] > 0.8 * 3000
    assert np.abs(counts - counts.mean()).max() < 6 * np.sqrt(counts.mean())


def test_the_trend_takes_most_of_the_error_away():
    """People who differ by a factor, in a training whose information falls by ten: what is left is next to nothing."""
    random, steps, people = np.random.default_rng(0), 200, 300
    levels, trend = random.lognormal(0, 0.5, people), np.exp(-np.linspace(0, np.log(10), steps))
    values = levels[:, None] * trend
    stretches, visits = Stretches(steps, 4), RunState(people, 1)
    for stretch in range(4):
        for step, parts in stretches.visits(stretch, np.arange(people), 8, random).items():
            for rows in parts:
                visits.add("visits", rows, step, stretch, values[rows, step : step + 1], values[rows, step : step + 1])
    taken = np.full((people, 4), 50.0)
    found = estimate(visits.table("visits"), stretches, np.ones(steps), taken, taken)
    error = np.abs(found.traces[:, 0] / values.sum(1) - 1)
    plain = np.abs(found.plain[:, 0] / values.sum(1) - 1)
    assert np.median(error) < 0.02
    assert np.median(error) < np.median(plain) / 5
    assert np.median(np.sqrt(found.variance) / values.sum(1)) < 0.05


def test_standard_errors_are_those_of_repetitions_where_people_differ_by_orders_of_magnitude():
    """The same information is visited at other steps and in other directions, again and again."""
    random, steps, people, values = np.random.default_rng(0), 120, 400, 6
    levels, moments = random.lognormal(0, 3, people), random.uniform(0, 6, (people, 1))
    over_time = np.exp(np.sin(moments + np.linspace(0, 40, steps))) * np.exp(-np.linspace(0, 2, steps))
    roots = random.normal(size=(people, 2, values)) * np.sqrt(levels)[:, None, None]
    stretches, taken = Stretches(steps, 4), np.full((people, 4), steps / 4)
    found, errors = [], []
    for _ in range(40):
        visits = RunState(people, 1)
        for stretch in range(4):
            for step, parts in stretches.visits(stretch, np.arange(people), 50, random).items():
                for rows in parts:
                    signs = random.integers(0, 2, (len(rows), values, 1)) * 2.0 - 1
                    value = over_time[rows, step, None] * ((roots[rows] @ signs) ** 2).sum(1)
                    visits.add("visits", rows, step, stretch, value, value)
        estimates = estimate(visits.table("visits"), stretches, np.ones(steps), taken, taken)
        root = np.sqrt(estimates.traces[:, 0])
        found.append(root)
        errors.append(np.sqrt(estimates.variance) / (2 * root))
    said, real = np.mean(errors, axis=0), np.std(found, axis=0, ddof=1)
    truth = (roots**2).sum((1, 2)) * over_time.sum(1)
    assert np.median(real / np.sqrt(truth)) > 0.2
    # Of those who are little exposed as of those who are much.
    for some in np.array_split(np.argsort(levels), 4):
        assert 0.75 < np.median(said[some] / real[some]) < 1.5
        assert np.mean(np.square(found)[:, some] / truth[some]) == pytest.approx(1, abs=0.1)


def test_a_single_visit_alone_has_no_standard_error_and_a_second_one_of_somebody_else_lends_theirs():
    stretches, none = Stretches(2, 2), np.zeros((1, 1))
    visits = RunState(2, 1)
    visits.add("visits", np.array([0]), 0, 0, none + 2.0, none + 2.0)
    taken = np.ones((2, 2))
    found = estimate(visits.table("visits"), stretches, np.ones(2), taken, taken)
    assert np.isnan(found.variance[0])
    visits.add("visits", np.array([1]), 0, 0, none + 1.0, none + 1.0)
    visits.add("visits", np.array([1]), 1, 1, none + 1.5, none + 1.5)
    found = estimate(visits.table("visits"), stretches, np.ones(2), taken, taken)
    assert np.isfinite(found.variance).all()
    assert found.traces[0, 0] == pytest.approx(4.0, rel=0.3)


def test_people_who_took_no_part_have_no_information():
    visits = RunState(2, 1)
    for step in range(2):
        visits.add("visits", np.array([0, 1]), step, step, np.full((2, 1), 2.0), np.full((2, 1), 2.0))
    taken = np.array([[1.0, 1.0], [0.0, 0.0]])
    found = estimate(visits.table("visits"), Stretches(2, 2), np.ones(2), taken, taken)
    np.testing.assert_allclose(found.traces[:, 0], [4.0, 0.0])
    assert found.variance[1] == 0
    assert found.plain[1, 0] == 0


def test_shares_of_visits_say_how_much_visits_vary_whatever_levels_are():
    random, people = np.random.default_rng(0), 4000
    count = random.integers(2, 7, people).astype(float)
    for shape in (0.5, 3.0, 40.0):
        drawn = random.lognormal(0, 2, (people, 1)) * random.gamma(shape, size=(people, 6)) / shape
        drawn *= np.arange(6) < count[:, None]
        total = drawn.sum(1)
        degrees, _ = freedom(total / count, count, (drawn**2).sum(1) / total**2, count)
        # Chi-square with two degrees of freedom for each unit of shape.
        assert np.median(degrees / count) == pytest.approx(2 * shape, rel=0.1)


def test_limits_are_one_sided_right_where_a_standard_error_is_not():
    """Four squares of a normal number each: chi-square with four degrees of freedom, for everybody."""
    random, people = np.random.default_rng(0), 20_000
    drawn = random.normal(size=(people, 4)) ** 2
    total = drawn.sum(1)
    degrees, doubtful = freedom(total / 4, np.full(people, 4.0), (drawn**2).sum(1) / total**2, np.full(people, 4.0))
    low, high = limits(total, 2 * total**2 / degrees, 2 * total**2 / doubtful)
    assert np.mean(low > 4) == pytest.approx(0.025, abs=0.006)
    # Some are far above by chance, and might have been below: it errs to the safe side.
    assert np.mean(high < 4) < 0.027
    root, error = np.sqrt(total), np.sqrt(total / degrees / 2)
    assert np.mean(root + 1.96 * error < 2) > 0.1


def test_limits_without_doubt_are_the_quantiles_of_chi_square():
    estimate, degrees = np.array([3.0, 3.0, 3.0]), np.array([1.0, 4.0, 400.0])
    low, high = limits(estimate, 2 * estimate**2 / degrees, 2 * estimate**2 / degrees)
    np.testing.assert_allclose(low, estimate * degrees / stats.chi2.ppf(0.975, degrees), rtol=1e-9)
    np.testing.assert_allclose(high, estimate * degrees / stats.chi2.ppf(0.025, degrees), rtol=1e-9)


def test_limits_of_nothing_of_what_is_sure_and_of_what_is_not_known():
    low, high = limits(np.array([0.0, 0.0, 2.0, 2.0]), np.array([0.0, 1.0, 0.0, np.nan]), np.array([0, 1, 0, np.nan]))
    np.testing.assert_array_equal(low, [0, 0, 2, np.nan])
    np.testing.assert_array_equal(high, [0, np.inf, 2, np.nan])


def test_people_exposed_in_few_steps_differ_from_those_who_never_are():
    """A tenth gives much away in the last quarter of training alone, in one of many directions; the others evenly."""
    random, steps, people = np.random.default_rng(0), 80, 200
    over_time = np.ones((people, steps))
    most = np.arange(people) < 20
    over_time[:20] = 0.1
    over_time[:20, 60:] = 40.0
    truth = over_time.sum(1)
    stretches, taken = Stretches(steps, 4), np.full((people, 4), steps / 4)
    missed, by_errors = [], []
    for _ in range(40):
        visits = RunState(people, 1)
        for stretch in range(4):
            for step, parts in stretches.visits(stretch, np.arange(people), 50, random).items():
                for rows in parts:
                    direction = np.where(most[rows], random.normal(size=len(rows)) ** 2, 1.0)
                    value = (over_time[rows, step] * direction)[:, None]
                    visits.add("visits", rows, step, stretch, value, value)
        found = estimate(visits.table("visits"), stretches, np.ones(steps), taken, taken)
        total = found.traces[:, 0]
        missed.append((limits(total, found.variance, found.doubt)[1] < truth)[most])
        root = np.sqrt(total) + 1.96 * np.sqrt(found.variance / total) / 2
        by_errors.append((root**2 < truth)[most])
    assert np.mean(missed) < 0.05
    assert np.mean(by_errors) > 0.15
