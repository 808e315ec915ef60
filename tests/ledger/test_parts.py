"""Parts of outputs are held against parts of others: a ward less one person, after a table by wards."""

from itertools import combinations

import numpy as np
import pytest

import seepage
from seepage.ledger import Ledger, OutputPeople

KEY, NEW = bytes(range(32)), bytes(32)
FILES = {"table.toml": 'by = ["ward"]'}
COUNT = 600


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "ledger", key=KEY, eta=1.0, buckets=2)


@pytest.fixture
def in_small_steps(monkeypatch):
    """Look at a few people first, and count large tables by sorting."""
    monkeypatch.setattr("seepage.ledger._parts._FIRST", 150)
    monkeypatch.setattr("seepage.ledger._parts._MOST_PAIRS", 12)


def near(ledger, people, few, beside=()):
    return {each.name for each in ledger.near(people, fewer_than=few, beside=beside)}


def parts_of(people):
    """Yield how an output divides people, each way as sets."""
    ids = list(people.ids)
    for division in people.divisions or ([0] * len(ids),):
        yield [{one for one, at in zip(ids, division, strict=True) if at == part} for part in sorted(set(division))]


def is_near(one, other, few):
    """Say by sets whether a part of one, or all of it, is some parts of the other, but for few."""
    for own in parts_of(one):
        for target in (*own, set().union(*own)):
            for parts in parts_of(other):
                for count in range(1, len(parts) + 1):
                    for some in combinations(parts, count):
                        union = set().union(*some)
                        # Who is only in the union is no more than who is in both: else nothing is nearer.
                        if len(target ^ union) < few and any(len(each & target) > len(each - target) for each in some):
                            return True
    return False


def drawn(random, columns):
    """Return an output about those whom one or two columns keep, by some columns, of which a few people moved."""
    kept = np.ones(COUNT, dtype=bool)
    for column in random.choice(3, random.integers(0, 3), replace=False):
        kept &= np.isin(columns[column], random.choice(4, random.integers(1, 4), replace=False))
    kept[random.choice(COUNT, random.integers(0, 5), replace=False)] ^= True
    ids = np.flatnonzero(kept) if kept.any() else np.arange(3)
    divisions = []
    for column in random.choice(3, random.integers(0, 3), replace=False):
        division = columns[column][ids].copy()
        division[random.choice(len(ids), min(3, len(ids)), replace=False)] = random.integers(4)
        divisions.append(division.tolist())
    return OutputPeople(ids.tolist(), divisions)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.usefixtures("in_small_steps")
def test_no_part_that_is_nearly_some_parts_of_another_is_missed(ledger, seed):
    random = np.random.default_rng(seed)
    columns = [random.integers(random.integers(2, 5), size=COUNT) for _ in range(3)]
    outputs = {f"output {i}": drawn(random, columns) for i in range(5)}
    new = drawn(random, columns)
    if seed % 3 == 0:
        # Somebody who is in no output before.
        new = OutputPeople([*new.ids, COUNT], [[*each, each[0]] for each in new.divisions])
    for name, people in outputs.items():
        ledger.record(name, FILES, people)
    for few in (2, 6, 12):
        wanted = {name for name, each in outputs.items() if is_near(new, each, few) or is_near(each, new, few)}
        assert wanted <= near(ledger, new, few)


WARD = np.arange(COUNT) % 5
SEX = np.arange(COUNT) // 5 % 2
AGE = np.arange(COUNT) // 10 % 6


def about(kept, *columns, less=(), strangers=0):
    """Return an output about some people, by some columns, less some of them, and with some who are in no other."""
    ids = np.setdiff1d(np.flatnonzero(kept), less)
    return OutputPeople([*ids, *range(COUNT, COUNT + strangers)], [column[ids] for column in columns])


@pytest.mark.parametrize(
    ("outputs", "new", "wanted"),
    [
        ({"wards": about(WARD >= 0, WARD)}, about(WARD == 3, less=[8]), {"wards"}),
        ({"ward": about(WARD == 3)}, about(WARD >= 0, WARD, less=[8]), {"ward"}),
        ({"wards": about(WARD >= 0, WARD)}, about(WARD <= 2, less=[5, 6]), {"wards"}),
        ({"cells": about(WARD >= 0, WARD * 2 + SEX)}, about(SEX == 0, less=[3]), {"cells"}),
        ({"cells": about(WARD >= 0, WARD * 2 + SEX)}, about(WARD >= 0, WARD, less=[3]), {"cells"}),
        # By wards or by ages: a ward is no age.
        ({"two ways": about(WARD >= 0, AGE, WARD)}, about(WARD == 3, less=[8]), {"two ways"}),
        ({"ages": about(WARD >= 0, AGE)}, about(WARD == 3, less=[8]), set()),
        ({"women": about(SEX == 0, WARD), "men": about(SEX == 1, WARD)}, about(WARD == 3, less=[8]), {"women", "men"}),
        ({"all": about(WARD >= 0), "others": about(WARD != 3, AGE)}, about(WARD == 3, less=[8]), {"all", "others"}),
        ({"all": about(WARD >= 0, AGE), "men": about(SEX == 1, AGE)}, about(SEX == 0, less=[3]), {"all", "men"}),
        ({"all": about(WARD >= 0), "rest": about(WARD != 3, less=[6])}, about(WARD >= 0, WARD, AGE), {"all", "rest"}),
        (
            {"two": about(WARD <= 1), "men": about((WARD <= 1) & (SEX == 1), less=[5])},
            about(SEX == 0, WARD),
            {"two", "men"},
        ),
        (
            {"wards": about(WARD >= 0, WARD), "men": about(SEX == 1, WARD)},
            about(SEX == 0, WARD, less=[3]),
            {"wards", "men"},
        ),
        # The women of a ward, and two others: with the men by wards, all wards say who is missing.
        (
            {"wards": about(WARD >= 0, WARD), "men": about(SEX == 1, WARD, less=[8, 18])},
            about((WARD == 3) & (SEX == 0) | np.isin(np.arange(COUNT), [5, 6]), less=[3]),
            {"wards", "men"},
        ),
        # Four wards are one of them and three parts of another output, whatever parts there are otherwise.
        (
            {
                "all": about(WARD <= 3, (WARD == 3) | (AGE == 0)),
                "parts": about((WARD != 3) | (AGE == 0), WARD),
            },
            about(WARD == 3, less=[8]),
            {"all", "parts"},
        ),
        # Two wards at once, of which the women are asked for by ward.
        (
            {"pairs": about(WARD >= 0, WARD // 2), "men": about(SEX == 1, WARD // 2, less=[5])},
            about((SEX == 0) & ((WARD <= 1) | (AGE == 0)), WARD),
            {"pairs", "men"},
        ),
        ({"wards": about(WARD >= 0, WARD)}, about(WARD == 3, strangers=5), {"wards"}),
        ({"wards": about(WARD >= 0, WARD)}, about(WARD == 3, strangers=6), set()),
        (
            {"women": about(SEX == 0, WARD), "men": about(SEX == 1, WARD)},
            about(WARD == 3, strangers=6),
            set(),
        ),
        ({"young": about(AGE < 3, WARD), "men": about(SEX == 1, WARD)}, about(WARD == 3, less=[8]), set()),
    ],
)
def test_what_people_ask_for_after_tables(ledger, outputs, new, wanted):
    for name, people in outputs.items():
        ledger.record(name, FILES, people)
    assert near(ledger, new, 6) == wanted
    # One of them may be let out beside the new one.
    for name, people in outputs.items():
        again = Ledger.create(f"{ledger._books.store.place} {name}", key=KEY, eta=1.0)
        rest = {other: each for other, each in outputs.items() if other != name}
        for other, each in rest.items():
            again.record(other, FILES, each)
        assert near(again, new, 6, [people]) == wanted - {name}


@pytest.mark.parametrize("count", [2, 255, 256, 257, 600])
def test_every_part_of_many_is_held_apart(ledger, count):
    people = np.arange(3 * count)
    ledger.record("cells", FILES, OutputPeople(people, [people % count]))
    for part in (0, 254 % count, count - 1):
        assert near(ledger, people[people % count == part], 1) == {"cells"}
        assert near(ledger, people[people % count == part][:-1], 1) == set()
    # Two parts of an output, and the rest of the people, in any table of as many cells.
    halves = OutputPeople(people, [np.where(people % count < 2, 2 * count, people)])
    assert near(ledger, halves, 1) == {"cells"}


def parts(ledger, ids):
    """Return the parts of some people in the only output, None for who is not in it."""
    (output,) = ledger.outputs
    at = ledger._books.register(ledger._books.state()).places_of(ledger._books.names.of(ids))
    found = dict(zip(output.places().tolist(), output.divisions[0].tolist(), strict=True))
    return [found.get(place) for place in at.tolist()]


def test_parts_follow_people_who_are_forgotten_or_one_or_have_another_key(ledger, tmp_path):
    ledger.record("letters", FILES, OutputPeople([3, 1, "b", 2, "a"], [[*"zxyyx"]]))
    assert parts(ledger, [1, 2, 3, "a", "b", "c"]) == [0, 1, 2, 0, 1, None]
    ledger.forget([1])
    ledger.merge("c", 3)
    assert parts(ledger, [1, 2, "c", "a", "b"]) == [None, 1, 2, 0, 1]
    # Both are in it: the one whose name stays keeps their part.
    ledger.merge("a", 2)
    ledger.rotate(NEW)
    for one in (ledger, Ledger(tmp_path / "ledger", key=NEW)):
        assert parts(one, ["c", "a", "b"]) == [2, 0, 1]
        assert (one.audit(), one.orphans) == ((), ())
    assert len(ledger.outputs[0].divisions[0]) == 3


def test_an_output_that_divides_people_otherwise_is_another(ledger):
    for wards in ("aab", "aab", "abb"):
        ledger.record("wards", FILES, OutputPeople([1, 2, 3], [[*wards]]))
    assert len(ledger.outputs) == 2
    with pytest.raises(seepage.errors.InputError, match="2 values for 3 people"):
        ledger.record("wards", FILES, OutputPeople([1, 2, 3], [[*"ab"]]))


def test_no_file_says_who_is_in_which_part(ledger, tmp_path):
    ledger.record("wards", FILES, about(WARD >= 0, WARD))
    labels = WARD.astype(np.uint8).tobytes()
    for path in (tmp_path / "ledger").rglob("*.bin"):
        assert labels[:50] not in path.read_bytes()
