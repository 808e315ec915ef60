"""How often a category is told by counts and shares, against enumeration."""

from functools import cache
from itertools import combinations, product
from math import comb, factorial, prod

import numpy as np
import pandas as pd
import pytest

import seepage
from seepage.aggregates._chances import counted, linked, with_totals


def _limit(few, total):
    """Return the lower 95% limit of a share, by halving: so few or more are seen with probability 0.05."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        more = sum(comb(total, k) * middle**k * (1 - middle) ** (total - k) for k in range(few, total + 1))
        low, high = (middle, high) if more < 0.05 else (low, middle)
    return low


def _share(own, other):
    few, total = min(own, other), own + other
    if few == 0:
        return 0.0
    return _limit(few, total) if few < 10 else few / total


def _told(own, other):
    """Return the best success rate, with every number that the others may be."""
    total, share = own + other, _share(own, other)
    without = [comb(total, k) * share**k * (1 - share) ** (total - k) for k in range(total + 1)] + [0.0]
    with_ = [0.0, *without[:-1]]
    return sum(max(a, b) for a, b in zip(with_, without, strict=True)) / 2


def _rates(table, frame, name, **given):
    return seepage.measure(table.fit(frame), frame, **given).success_rate(name)


def _with(size, count):
    """Return a ward of so many people of whom so many fell, beside a large one."""
    fell = [1] * count + [0] * (size - count) + [1, 0, 0] * 30
    return pd.DataFrame({"ward": ["A"] * size + ["B"] * 90, "fell": fell})


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 10, 13, 21, 34, 50])
def test_a_share_in_a_cell_is_told_as_often_as_enumeration_says(size):
    table = seepage.models.Aggregate(of=["fell"], by=["ward"], statistics=["share"])
    for count in {0, 1, size // 3, size // 2, size - 1, size}:
        found = _rates(table, _with(size, count), "fell").iloc[:size]
        truth = [_told(count - 1, size - count) if fell else _told(count, size - count - 1) for fell in found["value"]]
        np.testing.assert_allclose(found["success_rate"], truth, atol=1e-9)


@pytest.mark.parametrize("size", range(1, 51, 7))
def test_a_count_is_told_as_often_as_enumeration_says(size):
    frame = pd.DataFrame({"sick": [1] * size + [0] * (200 - size)})
    found = _rates(seepage.models.Aggregate(by=["sick"], statistics=["count"]), frame, "sick")
    np.testing.assert_allclose(found["success_rate"][:size], _told(size - 1, 200 - size), atol=1e-9)
    np.testing.assert_allclose(found["success_rate"][size:], _told(size, 199 - size), atol=1e-9)


def test_every_count_in_every_cell_of_up_to_fifty_people_is_told_as_often_as_enumeration_says():
    pairs = [(own, size - 1 - own) for size in range(1, 51) for own in range(size)]
    own, other = np.array(pairs).T
    found = 0.5 + counted(own, other, 500, 500) / 2
    np.testing.assert_allclose(found, [_told(*pair) for pair in pairs], atol=1e-9)


def test_known_records_are_averaged_over():
    own, other, others, unknown = 12, 15, 60, 25
    share = own / (own + other)
    rate = 0.0
    for left in range(unknown + 1):
        chance = comb(own + other, left) * comb(others - own - other, unknown - left) / comb(others, unknown)
        rate += chance * max(comb(left, k) * share**k * (1 - share) ** (left - k) for k in range(left + 1))
    found = counted(np.array([own]), np.array([other]), others, unknown)
    np.testing.assert_allclose(found, [rate], atol=1e-9)


def _tables(rows, columns):
    """Yield all tables of counts with these sums."""
    if not rows:
        if not any(columns):
            yield ()
        return
    for row in _compositions(rows[0], columns):
        for rest in _tables(rows[1:], tuple(c - r for c, r in zip(columns, row, strict=True))):
            yield (row, *rest)


def _compositions(total, most):
    if len(most) == 1:
        if total <= most[0]:
            yield (total,)
        return
    for first in range(min(total, most[0]) + 1):
        for rest in _compositions(total - first, most[1:]):
            yield (first, *rest)


@pytest.mark.parametrize(("rows", "columns"), [((12, 9, 9), (14, 8, 8)), ((4, 5, 5, 6), (8, 6, 6))])
def test_with_printed_margins_all_tables_that_fit_are_added_up(rows, columns):
    """A person of the first row has the first value, or the second: 3 by 3 with 30 people, 4 by 3 with 20."""
    rows = (rows[0] - 1, *rows[1:])
    laws = {}, {}
    for law, own in zip(laws, (0, 1), strict=True):
        for table in _tables(rows, tuple(count - (place == own) for place, count in enumerate(columns))):
            weight = 1 / prod(factorial(each) for row in table for each in row)
            # Given how many of the row have either value.
            some = law.setdefault(table[0][0] + table[0][1], {})
            some[table[0][0]] = some.get(table[0][0], 0.0) + weight
    for either, law in laws[0].items():
        other = laws[1][either]
        keys = {k + 1 for k in law} | set(other)
        first, second = sum(law.values()), sum(other.values())
        apart = sum(abs(law.get(k - 1, 0.0) / first - other.get(k, 0.0) / second) for k in keys) / 2
        split = either // 2
        found = with_totals(split, either - split, columns[0] - 1, columns[1])
        np.testing.assert_allclose(found, apart, atol=1e-9)


@pytest.mark.parametrize("count", [13, 30])
def test_where_totals_are_known_the_larger_of_both_is_answered(count):
    """Known totals leave a person less to move: only a ward unlike the others is told better by them."""
    frame = _with(40, count)
    table = seepage.models.Aggregate(of=["fell"], by=["ward"], statistics=["count", "share"])
    plain = _rates(table, frame, "fell")["success_rate"][:count]
    known = _rates(table, frame, "fell", known_group_sizes=["fell"])["success_rate"][:count]
    margins = seepage.models.Aggregate(of=["fell"], by=["ward"], statistics=["count", "share"], margins=True)
    both = _rates(margins, frame, "fell")["success_rate"][:count]
    np.testing.assert_allclose(plain, _told(count - 1, 40 - count), atol=1e-9)
    np.testing.assert_allclose(both, known, atol=1e-12)
    law = 0.5 + with_totals(count - 1, 40 - count, count - 1 + 30, 100 - count) / 2
    np.testing.assert_allclose(known, max(law, _told(count - 1, 40 - count)), atol=1e-12)


def _fitting(shares, rows, columns, own, other):
    """Return how far numbers with the own value and one more are apart, over all tables that fit what is printed."""

    @cache
    def ways(row, left):
        if row == len(totals):
            return float(not any(left))
        found = 0.0
        for split in _compositions(totals[row], left):
            weight = prod(shares[row][j] ** t / factorial(t) for j, t in enumerate(split))
            if weight:
                found += weight * ways(row + 1, tuple(a - b for a, b in zip(left, split, strict=True)))
        return found

    law = []
    for k in range(rows[own] + rows[other] + 1):
        totals = list(rows)
        totals[own], totals[other] = k, rows[own] + rows[other] - k
        ways.cache_clear()
        law.append(ways(0, tuple(columns)))
    law = np.array(law) / sum(law)
    return 0.5 * np.abs(np.diff(np.pad(law, 1))).sum()


@pytest.mark.parametrize(("shape", "people"), [((3, 3), 30), ((4, 5), 20), ((2, 2), 12)])
def test_linked_tables_are_told_as_all_tables_that_fit_say(shape, people):
    random = np.random.default_rng(people)
    chance = random.dirichlet(np.full(shape[0] * shape[1], 0.7))
    table = random.multinomial(people - 1, chance).reshape(shape)
    which = np.arange(shape[1])[:, None]
    shares, rows, columns = table / table.sum(), table.sum(axis=1), table.sum(axis=0)
    for own, other in ((0, 1), (1, shape[0] - 1), (shape[0] - 1, 0)):
        if own != other:
            brute = _fitting(shares.tolist(), rows.tolist(), columns.tolist(), own, other)
            np.testing.assert_allclose(linked(table, which, own, other), brute, atol=1e-9)


def test_two_shares_of_the_same_people_tell_more_than_one():
    random = np.random.default_rng(3)
    fell = random.random(30) < 0.5
    frame = pd.DataFrame({"fell": fell, "hurt": fell ^ (random.random(30) < 0.1)})
    both = seepage.models.Aggregate(of=["fell", "hurt"], statistics=["count", "share"])
    one = seepage.models.Aggregate(of=["fell"], statistics=["count", "share"])
    found, alone = _rates(both, frame, "fell")["success_rate"], _rates(one, frame, "fell")["success_rate"]
    assert (found > alone + 0.05).all()
    levels = (frame["fell"].astype(int), frame["hurt"].astype(int))
    for i in range(30):
        others = np.zeros((2, 2), dtype=int)
        np.add.at(others, levels, 1)
        own = int(levels[0][i])
        others[own, levels[1][i]] -= 1
        shares = (others / 29).tolist()
        brute = _fitting(shares, others.sum(axis=1).tolist(), others.sum(axis=0).tolist(), own, 1 - own)
        np.testing.assert_allclose(found[i], 0.5 + brute / 2, atol=1e-9)


def test_cells_of_nobody_and_of_everybody_are_told_with_certainty():
    frame = pd.DataFrame({"ward": list("AB") * 40, "fell": [1, 0] * 20 + [1, 1] * 20})
    table = seepage.models.Aggregate(of=["fell"], by=["ward"], statistics=["share", "count"])
    leak = seepage.measure(table.fit(frame), frame)
    found = leak.success_rate("fell")["success_rate"]
    assert (found[frame["ward"] == "A"] == 1).all()
    assert (found[frame["ward"] == "B"] < 0.7).all()
    (flag,) = (check for check in leak.by_attacker().checks if "0% or 100%" in check.name)
    assert (flag.number, flag.passed) == (1, False)


def test_who_would_be_the_only_one_of_a_cell_is_told():
    frame = pd.DataFrame({"ward": list("AAB") * 30, "sex": ["F", "M", "F"] * 30})
    found = _rates(seepage.models.Aggregate(by=["ward", "sex"], statistics=["count"]), frame, "sex")
    in_b = frame["ward"] == "B"
    assert (found["success_rate"][in_b] == 1).all()
    np.testing.assert_allclose(found["success_rate"][~in_b], _told(29, 30), atol=1e-9)


def test_rates_are_those_of_the_same_release_in_other_words():
    frame = _with(30, 13)
    shares = seepage.models.Aggregate(of=["fell"], by=["ward"], statistics=["count", "share"])
    counts = seepage.models.Aggregate(by=["ward", "fell"], statistics=["count"])
    for name in ("fell", "ward"):
        one, other = (_rates(table, frame, name)["success_rate"] for table in (shares, counts))
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_a_count_by_two_values_prints_rates_between_one_half_and_one(seed):
    random = np.random.default_rng(seed)
    people = int(random.integers(20, 120))
    frame = pd.DataFrame({"sex": random.choice(["f", "m"], people, p=[0.3, 0.7])})
    table = seepage.models.Aggregate(by=["sex"], statistics=["count"]).fit(frame)
    leak = seepage.measure(table, frame)
    for column in leak.by_attacker().columns:
        cell = np.array(column.cells["sex"].values)
        # Without an outcome the covariates alone are not assessed.
        assert ((cell >= 0.5) & (cell <= 1)).all() or column.name == "covariates"
    assert "sex" in str(leak)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_count_against_half_of_the_records_is_inferred_as_often_as_all_worlds_say(count):
    frame = pd.DataFrame({"sex": ["f"] * count + ["m"] * (7 - count)})
    table = seepage.models.Aggregate(by=["sex"], statistics=["count"]).fit(frame)
    rates = seepage.measure(table, frame, known_records=3).success_rate("sex")["success_rate"]
    for person, own in enumerate(frame["sex"]):
        others = frame["sex"].drop(person)
        share, rate = _share(int((others == own).sum()), int((others != own).sum())), 0.0
        for unknown in combinations(others, 3):
            chance = {}
            for world in product((0, 1), repeat=len(unknown)):
                weight = prod(share if one else 1 - share for one in world)
                chance[sum(world)] = chance.get(sum(world), 0.0) + weight
            rate += sum(max(chance.get(k, 0.0), chance.get(k - 1, 0.0)) for k in range(5)) / 2
        np.testing.assert_allclose(rates[person], rate / comb(6, 3), atol=1e-12)


def test_a_value_that_everybody_has_is_not_assessed():
    frame = pd.DataFrame({"ill": [1] * 60})
    leak = seepage.measure(seepage.models.Aggregate(by=["ill"], statistics=["count"]).fit(frame), frame)
    (half,) = (column for column in leak.by_attacker().columns if column.name == "half")
    assert np.isnan(half.cells["ill"].values).all()
