"""How values are distributed, exactly and in a sketch, and what resampling says of them."""

import time

import numpy as np
import pytest

import seepage
from seepage.leakage import GroupLeakage, Sketch, Values

RANDOM = np.random.default_rng(0)
SETS = {
    "lognormal": np.exp(RANDOM.normal(size=501)),
    "even count": np.exp(RANDOM.normal(size=500)),
    "some zeros": np.where(RANDOM.random(400) < 0.1, 0.0, RANDOM.gamma(2.0, size=400)),
    "two people": np.array([1.0, 3.0]),
    "one person": np.array([2.5]),
    "equal": np.full(40, 0.7),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("kind", [Values.of, Sketch.of], ids=["values", "sketch"])
def test_a_distribution_is_that_of_its_values(name, kind):
    values = SETS[name]
    known, error = kind(values), 2.1 * kind(values).relative_error
    assert (known.count, known.zeros) == (len(values), (values == 0).sum())
    assert (known.smallest, known.largest) == (values.min(), values.max())
    assert known.mean == pytest.approx(values.mean(), rel=1e-12)
    assert known.deviation == pytest.approx(values.std(), rel=1e-6, abs=1e-7)
    ranks = np.arange(len(values))
    np.testing.assert_allclose(known.ranked(ranks), np.sort(values), rtol=error + 1e-15)
    edges = np.array([0.1, 0.5, 1.0, 2.0, 4.0])
    inner = np.digitize(values[values > 0], edges[1:-1])
    np.testing.assert_allclose(known.counted(edges), np.bincount(inner, minlength=4), atol=1 if error else 0)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.95, 1.0])
def test_a_quantile_lies_between_the_values_next_to_it(name, share):
    # However few people there are: of two, the median is between them.
    expected = np.quantile(SETS[name], share)
    assert Sketch.of(SETS[name]).quantile(share) == pytest.approx(expected, rel=2.1e-3)
    assert Values.of(SETS[name]).quantile(share) == pytest.approx(expected, rel=1e-14)


def test_whoever_is_infinitely_exposed_is_more_exposed_than_anybody_else():
    values = np.array([3.0, np.inf, 1.0, 0.0, 2.0, np.inf])
    sketch, halves = Sketch.of(values), Sketch.of(values[:3]) + Sketch.of(values[3:])
    for known in (Values.of(values), sketch, halves, halves + sketch):
        size = known.count // len(values)
        np.testing.assert_allclose(
            known.ranked(np.arange(known.count)), np.repeat(np.sort(values), size), rtol=2.1 * Sketch.relative_error
        )
        assert known.mean == known.largest == known.quantile(0.9) == np.inf
        assert known.quantile(0.4) == pytest.approx(2.0, rel=2.1 * Sketch.relative_error)


def test_sketches_add_up():
    values = SETS["lognormal"]
    parts, whole = Sketch.of(values[:100]) + Sketch.of(values[100:]), Sketch.of(values)
    ranks = np.arange(len(values))
    np.testing.assert_array_equal(parts.ranked(ranks), whole.ranked(ranks))
    assert (parts.count, parts.largest) == (whole.count, whole.largest)
    assert Values.of(values).sketched().ranked(ranks).tolist() == whole.ranked(ranks).tolist()


@pytest.mark.parametrize("count", [1, 2, 9, 60, 61, 1000, 1501])
@pytest.mark.parametrize("kind", [Values.of, Sketch.of], ids=["values", "sketch"])
def test_resampled_statistics_are_distributed_as_those_of_resamples(count, kind):
    values = np.random.default_rng(count).exponential(size=count)
    # Of few people, a rare resample decides about the spread.
    draws = 40_000 if count < 100 else 4000
    drawn = kind(values).resampled(np.random.default_rng(1), draws)
    samples = values[np.random.default_rng(2).integers(count, size=(draws, count))]
    for name, statistic in {"mean": np.mean, "median": np.median, "max": np.max}.items():
        expected = statistic(samples, axis=1)
        scale = expected.std() + 1e-3
        assert drawn[name].mean() == pytest.approx(expected.mean(), abs=0.1 * scale)
        assert drawn[name].std() == pytest.approx(expected.std(), abs=0.1 * scale)
        for share in (0.05, 0.5, 0.95):
            # A quantile of discrete draws may fall to either side of a gap: compare shares, not values.
            end = np.quantile(expected, share)
            low, high = (drawn[name] < end * (1 - 2e-3)).mean(), (drawn[name] <= end * (1 + 2e-3)).mean()
            assert low - 0.03 <= share <= high + 0.03


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9, 10])
def test_medians_and_maxima_without_resamples_are_those_of_all_resamples(count, monkeypatch):
    # So few that every resample can be listed, or very many drawn: the shares of each value must agree.
    monkeypatch.setattr("seepage.leakage._distribution._DRAWN_ONE_BY_ONE", 0)
    values = np.random.default_rng(count).exponential(size=count)
    found = Values.of(values).resampled(np.random.default_rng(1), 200_000)
    samples = values[np.random.default_rng(2).integers(count, size=(200_000, count))]
    for name, statistic in {"median": np.median, "max": np.max}.items():
        for value in values:
            share = (statistic(samples, axis=1) <= value * (1 + 1e-12)).mean()
            assert (found[name] <= value * (1 + 1e-12)).mean() == pytest.approx(share, abs=0.006)


def test_groups_of_a_million_people_take_seconds():
    values = np.random.default_rng(0).exponential(size=10**6)
    labels = np.random.default_rng(1).choice(np.array(["f", "m", "x"], dtype=object), 10**6)
    from seepage.leakage._groups import split

    start = time.process_time()
    frame = GroupLeakage(split(values, labels), "pandas").frame
    assert time.process_time() - start < 2.0
    assert frame["count"].sum() == 10**6
    for name, mean in zip(frame["group"], frame["mean"], strict=True):
        assert mean == pytest.approx(values[labels == name].mean())


@pytest.mark.parametrize("labels", [["a", None, "b"], [1.0, np.nan, 2.0], np.array(["a", np.nan, "b"], dtype=object)])
def test_a_missing_label_is_refused(labels):
    from seepage.leakage._groups import split

    with pytest.raises(seepage.errors.InputError, match="missing group label"):
        split(np.ones(3), np.array(labels))


def test_labels_of_several_types_are_refused():
    from seepage.leakage._groups import split

    with pytest.raises(seepage.errors.InputError, match="several types"):
        split(np.ones(2), np.array(["a", 1], dtype=object))
