"""Two ids that are one person, and a key that is changed: everybody owes what they owed."""

import secrets

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import seepage
from seepage.ledger import Ledger

KEY, NEW = secrets.token_bytes(32), secrets.token_bytes(32)
PEOPLE = [f"patient {i}" for i in range(40)]
YEARS = {"age": "years"}


def _leak(ids=PEOPLE, alpha=1.0, rows=slice(None)):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.uniform(20, 90, 40), "dose": random.normal(3, 1, 40)})
    y = pd.Series(X["age"] * 0.1 + random.normal(size=40), name="outcome")
    X, y = X[rows], y[rows]
    return seepage.measure(Ridge(alpha=alpha).fit(X, y), X, y, noise_scale=1.0, ids=list(ids)[rows])


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "ledger", key=KEY, error_floor={"age": 1e-3}, units=YEARS, buckets=4)


def post(ledger, leak=None):
    return ledger.post(_leak() if leak is None else leak, title="one", units=YEARS)


def files(tmp_path):
    return [path.read_bytes() for path in (tmp_path / "ledger").rglob("*") if path.is_file()]


@pytest.mark.parametrize("pair", [("7", "007"), ("Zo\u00eb", "Zoe\u0308"), ("x", "x "), (7, "07")])
def test_two_ids_of_one_release_that_a_ledger_takes_for_one_person_are_refused(ledger, pair):
    for ask in (ledger.preview, lambda leak, **rest: ledger.post(leak, title="?", **rest)):
        with pytest.raises(seepage.errors.InputError, match="are one person in a ledger") as refused:
            ask(_leak([*pair, *PEOPLE[2:]]), units=YEARS)
        assert repr(pair[1]) in str(refused.value)
    assert len(ledger.entries) == 1


def test_one_person_written_in_several_ways_over_the_years_has_one_balance(ledger):
    for first in ("007", "7 ", "7"):
        post(ledger, _leak([first, *PEOPLE[1:]]))
    single = float(_leak().error_floor()["age"].iloc[0])
    np.testing.assert_allclose(ledger.balance([7, "7", "0007"])["age"], single / np.sqrt(3), rtol=1e-12)


def test_merged_people_owe_for_each_release_at_least_what_one_person_with_both_rows_does(ledger):
    others = slice(2, None)
    post(ledger), post(ledger, _leak(alpha=3.0, rows=others)), post(ledger, _leak(alpha=2.0, rows=slice(1, None)))
    before = ledger.balance(PEOPLE)
    entry = ledger.merge(PEOPLE[0], PEOPLE[1])
    assert entry.kind == "merged"
    found = ledger.balance(PEOPLE)
    for name in ("age", "dose", "eta", "trace"):
        np.testing.assert_array_equal(found[name][2:], before[name][2:])
        assert found[name][0] == found[name][1]
    # The first release has both, the third the second alone.
    both, second = _leak().error_floor()["age"][:2].to_numpy(), _leak(alpha=2.0, rows=slice(1, None))
    alone = float(second.error_floor()["age"].iloc[0])
    assert found["age"][0] == pytest.approx(((1 / both).sum() ** 2 + alone**-2) ** -0.5, rel=1e-12)
    # Measured as one person from the beginning, the release says less than this bound and more than the sum.
    one = _leak([PEOPLE[0], PEOPLE[0], *PEOPLE[2:]])
    row = {str(person): i for i, person in enumerate(one.people.ids)}[PEOPLE[0]]
    true = one.error_floor()["age"].to_numpy()[row] ** -2 + alone**-2
    assert found["age"][0] ** -2 >= true * (1 - 1e-9)
    assert ledger.audit() == ()
    assert ledger.orphans == ()
    np.testing.assert_array_equal(ledger.history(PEOPLE[:2])["age"][-1], found["age"][:2])


def test_a_release_after_a_merge_counts_both_ids_as_one_person(ledger):
    post(ledger)
    ledger.merge(PEOPLE[0], PEOPLE[1])
    before = ledger.balance(PEOPLE)["age"]
    assert ledger.preview(_leak(), units=YEARS).fits
    post(ledger)
    both = _leak().error_floor()["age"].to_numpy()
    expected = before**-2 + np.r_[[(1 / both[:2]).sum() ** 2] * 2, both[2:] ** -2]
    np.testing.assert_allclose(ledger.balance(PEOPLE)["age"] ** -2, expected, rtol=1e-12)
    assert ledger.audit() == ()
    assert ledger.releases[-1].body["people"] == 40


def test_merges_follow_each_other_and_end_with_who_is_forgotten(ledger, tmp_path):
    post(ledger)
    ledger.merge(PEOPLE[1], PEOPLE[2])
    ledger.merge(PEOPLE[0], PEOPLE[1])
    one = ledger.balance(PEOPLE[:3])["age"]
    assert (one == one[0]).all()
    with pytest.raises(seepage.errors.InputError, match="one person in this ledger already"):
        ledger.merge(PEOPLE[2], PEOPLE[0])
    name = bytes(ledger._books.names.of([PEOPLE[0]])[0])
    ledger.forget([PEOPLE[2]])
    assert ledger.eligible(PEOPLE[:4]).tolist() == [False, False, False, True]
    held = [path for path in (tmp_path / "ledger").rglob("*") if path.is_file() and name in path.read_bytes()]
    assert {path.parent.name for path in held} == {"forgotten", "aliases"}
    with pytest.raises(seepage.errors.InputError, match="is forgotten"):
        ledger.merge(PEOPLE[0], PEOPLE[5])
    with pytest.raises(seepage.errors.PolicyError, match="must not be in any further release"):
        post(ledger, _leak(rows=slice(1, None)))
    assert ledger.audit() == ()


def test_a_changed_key_keeps_every_balance_and_opens_alone(ledger, tmp_path):
    place = tmp_path / "ledger"
    post(ledger)
    ledger.merge(PEOPLE[0], PEOPLE[1])
    ledger.forget([PEOPLE[3]])
    open_already, head, old = Ledger(place, key=KEY), ledger.head, ledger._books.names
    before = ledger.balance(PEOPLE)
    assert ledger.rotate(NEW).kind == "rekeyed"
    for one in (ledger, Ledger(place, key=NEW), Ledger(place, key=NEW, head=head)):
        found = one.balance(PEOPLE)
        for name in before:
            np.testing.assert_array_equal(found[name], before[name])
        assert one.eligible(PEOPLE).tolist() == [i != 3 for i in range(40)]
        assert one.audit(head=head) == ()
        assert one.orphans == ()
    # Whoever has the old key alone finds nobody, in no file.
    for name in old.of(PEOPLE):
        assert not any(bytes(name) in content for content in files(tmp_path))
    assert not any(KEY.hex().encode() in content or KEY in content for content in files(tmp_path))
    for ask in (lambda: Ledger(place, key=KEY), lambda: post(open_already), lambda: open_already.balance(PEOPLE)):
        with pytest.raises(seepage.errors.InputError, match="has another key since entry 4"):
            ask()
    with pytest.raises(seepage.errors.InputError, match="not that of the ledger"):
        Ledger(place, key=secrets.token_bytes(32))
    with pytest.raises(seepage.errors.InputError, match="never had"):
        ledger.rotate(KEY)
    post(ledger, _leak(rows=slice(4, None)))
    Ledger(place, key=NEW).rotate(third := secrets.token_bytes(32))
    assert Ledger(place, key=third).audit(head=head) == ()
    assert len(Ledger(place, key=third).releases) == 2


def test_an_entry_from_before_the_key_was_changed_is_still_checked(ledger, tmp_path):
    post(ledger)
    ledger.rotate(NEW)
    path = tmp_path / "ledger" / "entries" / "000000000001.json"
    path.write_bytes(path.read_bytes().replace(b'"title":"one"', b'"title":"two"'))
    with pytest.raises(seepage.errors.LedgerError, match="its seal is broken"):
        post(Ledger(tmp_path / "ledger", key=NEW))
