"""Pages side by side: what differences of pages tell is within what was counted for them together."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import seepage
from benchmarks.attack import SETTINGS, attacks, people_of, published, scale_of
from seepage.linear.information import Anew
from seepage.report.count import contents_of, counted, logarithms

RANDOM = np.random.default_rng(7)
EVERYBODY = pd.DataFrame(RANDOM.normal([50, 25], [12, 4], (1250, 2)), columns=["age", "bmi"])
OUTCOME = pd.Series(EVERYBODY.to_numpy() @ [0.3, 1.0] + RANDOM.normal(0, 10, 1250), name="outcome")
WARD = pd.Series(RANDOM.choice(["a", "b"], 1250), name="ward")
# A small step, for which what is linear about a page is all there is, and one of a whole deviation.
SMALL, LARGE = 0.006, 12.0


def _page(rows, groups):
    """Return the measured model of some people, its page, and what that tells about each."""
    X, y = EVERYBODY.iloc[rows], OUTCOME.iloc[rows]
    leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=0.5)
    contents = contents_of(leak.information, policy=None, groups=groups, smallest_group=10)
    return leak, contents, counted(leak.information, contents)


def _moved(leak, contents, changes):
    """Return by how much every number of a page moves with each change, in units of its noise."""
    truth = contents.values(logarithms(leak.information, contents.attributes))

    def moved(_, other):
        return (contents.values(np.log(other.information)) - truth) / contents.noise

    return Anew(leak.information, contents.attributes).each(changes, moved)


def _steps(leak, people, step):
    ages = leak.information.rows.column("age")
    return [(int(person), "age", float(ages[person]) + step) for person in people]


@pytest.fixture(scope="module")
def pages():
    """Pages of 46 populations of 1,000 of the same 1,250 people, twelve of whom are in each."""
    found = []
    for _ in range(46):
        rows = np.concatenate([np.arange(12), 12 + RANDOM.permutation(1238)[:988]])
        leak, contents, page = _page(rows, WARD.iloc[rows])
        moved = [np.array(_moved(leak, contents, _steps(leak, range(12), step))) for step in (SMALL, LARGE)]
        found.append((*moved, page.attributes()["age"]))
    return found


def test_a_thousand_pairs_of_pages_tell_no_more_apart_than_their_sum_says(pages):
    pairs = list(combinations(range(len(pages)), 2))
    assert len(pairs) > 1000
    shares = []
    for first, second in pairs:
        (near, far, told), (also_near, also_far, also_told) = pages[first], pages[second]
        for one, other in ((near, also_near), (far, also_far)):
            # The difference of two pages carries the noise of both, and tells no more than the two side by side.
            together = np.sqrt((one**2).sum(axis=1) + (other**2).sum(axis=1))
            assert (np.linalg.norm(one - other, axis=1) / np.sqrt(2) <= together * (1 + 1e-12)).all()
        small = np.sqrt((near**2).sum(axis=1) + (also_near**2).sum(axis=1))
        shares.append(small / (SMALL * np.hypot(told, also_told)[:12]))
        # A person who moves far may come to where others are: those who move the pages most bound it.
        large = np.sqrt((far**2).sum(axis=1) + (also_far**2).sum(axis=1))
        assert (large <= LARGE * np.hypot(told.max(), also_told.max())).all()
    # What is counted is what is told, and no bound far above it.
    np.testing.assert_allclose(shares, 1.0, rtol=0.05)


def test_groupings_that_differ_by_a_few_people_are_counted_for_them():
    few = np.arange(200, 203)
    wards = pd.DataFrame({"ward": WARD, "ward but for three": WARD.mask(WARD.index.isin(few), "elsewhere")})
    leak, contents, page = _page(np.arange(1250), wards)
    assert len(contents.groups) == 4
    moved = np.linalg.norm(_moved(leak, contents, _steps(leak, few, SMALL)), axis=1)
    np.testing.assert_allclose(moved, SMALL * page.attributes()["age"][few], rtol=0.05)
    _, _, once = _page(np.arange(1250), WARD)
    assert (page.attributes()["age"][few] > once.attributes()["age"][few]).all()


def test_the_page_before_and_after_somebody_joined_tells_what_the_second_was_counted_for():
    leak, contents, page = _page(np.arange(1250), WARD)
    for person in (1249, 600):
        before, known, _ = _page(np.delete(np.arange(1250), person), WARD.drop(person))
        first = known.values(logarithms(before.information, known.attributes)) / known.noise
        values = contents.values(logarithms(leak.information, contents.attributes)) / contents.noise
        (moved,) = _moved(leak, contents, _steps(leak, [person], SMALL))
        # The first page is the same for every value: in the difference, only the second moves.
        distance = np.linalg.norm((values + moved - first) - (values - first))
        assert distance == pytest.approx(SMALL * page.attributes()["age"][person], rel=0.05)


def test_the_best_attacker_of_ten_people_of_diabetes_stays_within_the_promise():
    """Page, certificate, model card and scale, all computed anew for every candidate."""
    setting = SETTINGS["diabetes"]()
    scale = scale_of(setting)
    truth = published(setting, setting.X, scale)
    for person in people_of(setting, 10):
        tried = list(attacks(setting, person, truth, scale))
        assert len(tried) >= 40
        assert not any(each.by_words for each in tried)
        assert max(each.reached for each in tried) <= 1
