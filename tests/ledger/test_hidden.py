"""What the files of a ledger say to somebody who has everything but the key and one value."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from ledger.revealed import revealed
from sklearn.linear_model import Ridge

import seepage
from seepage.ledger import Ledger

KEY, OTHER = bytes(range(32)), bytes(32)
PEOPLE = [f"patient {i}" for i in range(30)]
YEARS = {"age": "years"}
# What is drawn, or a keyed hash of what is drawn: no two ledgers have it alike.
DRAWN = re.compile(r"[0-9a-f]{16,}")


def measured(age, people=PEOPLE):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.uniform(20, 90, 30), "income": random.normal(40, 9, 30)})
    X["children"] = random.integers(0, 2, 30) + 0.0
    # A third number of children: without it, the column has two values and is a category.
    X.loc[7, ["age", "children"]] = age, 2.0 if age > 65 else 1.0
    y = 0.1 * X["age"] + random.normal(size=30)
    X, y = X[: len(people)], y[: len(people)]
    return seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0, ids=people)


def written(place, age):
    """Do all that a ledger can do, about people of whom one has some age; return its files."""
    ledger = Ledger.create(place, key=KEY, error_floor={"age": 1e-3}, units=YEARS, buckets=4)
    debit = ledger.post(measured(age), title="one", units=YEARS)
    ledger.released(debit, json.dumps({"about": "the release"}))
    ledger.post(measured(age), title="two", units=YEARS)
    ledger.forget([PEOPLE[3], PEOPLE[7]])
    ledger.merge(PEOPLE[4], PEOPLE[5])
    ledger.rotate(OTHER)
    assert ledger.audit() == ()
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.fixture
def both(tmp_path):
    """The files of two ledgers that differ in one person's age."""
    return [written(tmp_path / str(age), age) for age in (31.0, 74.0)]


def told(files):
    """Return what everybody can see of files: how they are called and how long they are; and the entries."""
    found = []
    for path, content in files.items():
        text = DRAWN.sub(_as_long, content.decode()) if path.startswith("entries/") else len(content)
        text = re.sub(r'"when":"[^"]*"', "", text) if isinstance(text, str) else text
        found.append((DRAWN.sub("drawn", path), text))
    return sorted(found, key=str)


def _as_long(drawn):
    return "x" * len(drawn[0])


def test_nothing_that_can_be_read_without_the_key_depends_on_a_value(both):
    one, other = both
    assert len(one) > 10
    assert told(one) == told(other)


def test_which_files_a_merge_and_an_erasure_write_anew_does_not_tell_who_was_in_which(tmp_path):
    listed = []
    for place, pair in ((tmp_path / "both", PEOPLE[:2]), (tmp_path / "one", [PEOPLE[2], PEOPLE[25]])):
        ledger = Ledger.create(place, key=KEY, error_floor={"age": 1e-3}, units=YEARS, buckets=1)
        ledger.post(measured(31.0), title="everybody", units=YEARS)
        ledger.post(measured(31.0, PEOPLE[:20]), title="some", units=YEARS)
        merged, forgotten = ledger.merge(*pair), ledger.forget(pair[1:])
        listed.append([sorted(entry.body["debits"]) for entry in (merged, forgotten)])
        assert ledger.audit() == ()
    assert listed == [[["1", "2"]] * 2] * 2


def test_the_amounts_are_there_for_whoever_has_the_key(both):
    one, other = (revealed(files, OTHER, KEY) for files in both)
    squares = measured(31.0).attributes["age"].to_numpy() ** 2
    debits = b"".join(content for path, content in one.items() if path.startswith("debits/"))
    assert all(square.tobytes() in debits for square in squares[10:])
    assert not any(square.tobytes() in debits for square in measured(74.0).attributes["age"].to_numpy()[10:] ** 2)
    assert one.keys() == both[0].keys()
    assert other.keys() == both[1].keys()


def test_no_amount_and_no_deviation_stands_there_in_the_clear(both):
    leak = measured(31.0)
    amounts = [*leak.attributes["age"].to_numpy() ** 2, *leak.examples["eta"].to_numpy() ** 2]
    deviation = repr(float(np.sqrt(leak.information.variances()["age"])))
    for content in both[0].values():
        assert not any(amount.tobytes() in content for amount in amounts)
        assert deviation[:8].encode() not in content
