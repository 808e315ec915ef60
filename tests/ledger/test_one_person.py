"""Two ids that are one person, and a key that is changed: everybody owes what they owed."""

import secrets

import numpy as np
import pandas as pd
import pytest
from ledger.ending import ends
from ledger.revealed import revealed
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage.ledger import Ledger

KEY, NEW = secrets.token_bytes(32), secrets.token_bytes(32)
PEOPLE = [f"patient {i}" for i in range(40)]
YEARS = {"age": "years"}


def _leak(ids=PEOPLE, alpha=1.0, rows=slice(None)):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.uniform(20, 90, 40), "dose": random.normal(3, 1, 40)})
    y = pd.Series(X["age"] * 0.1 + random.normal(size=40), name="outcome")
    X, y = X.iloc[rows], y.iloc[rows]
    return seepage.measure(Ridge(alpha=alpha).fit(X, y), X, y, noise_scale=1.0, ids=np.asarray(ids)[rows].tolist())


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "ledger", key=KEY, error_floor={"age": 1e-3}, units=YEARS, buckets=4)


def post(ledger, leak=None):
    return ledger.post(_leak() if leak is None else leak, title="one", units=YEARS)


def files(tmp_path):
    place = tmp_path / "ledger"
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("pair", [("7", "007"), ("Zo\u00eb", "Zoe\u0308"), ("x", "x "), (7, "07")])
def test_two_ids_of_one_release_that_a_ledger_takes_for_one_person_are_refused(ledger, pair):
    for ask in (ledger.preview, lambda leak, **rest: ledger.post(leak, title="?", **rest)):
        with pytest.raises(seepage.errors.InputError, match="are one person in a ledger") as refused:
            ask(_leak([*pair, *PEOPLE[2:]]), units=YEARS)
        assert repr(pair[1]) in str(refused.value)
    assert len(ledger.entries) == 1


def test_one_person_written_in_several_ways_over_the_years_has_one_balance(ledger):
    for first in ("007", "7 ", 7.0):
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


def _overspent(tmp_path):
    """A ledger in which two ids are found to be one person, who owes more than was promised then."""
    floors = _leak().error_floor()["age"].to_numpy()
    one, other = np.argsort(floors)[:2]
    promise = {"error_floor": {"age": float(floors.min()) / np.sqrt(2.5)}, "units": YEARS}
    # One bucket, which everybody is in.
    ledger = Ledger.create(tmp_path / "spent", key=KEY, buckets=1, **promise)
    post(ledger)
    ledger.merge(PEOPLE[one], PEOPLE[other])
    assert ledger.balance([PEOPLE[one]])["age"] < promise["error_floor"]["age"]
    return ledger, [one, other]


def test_who_owes_too_much_after_a_merge_keeps_nobody_else_from_further_releases(tmp_path):
    ledger, spent = _overspent(tmp_path)
    others = np.setdiff1d(np.arange(40), spent)
    with ends():
        assert ledger.preview(_leak(rows=others), units=YEARS).fits
        assert post(ledger, _leak(rows=others)).kind == "debit"
        preview = ledger.preview(_leak(), units=YEARS)
        assert (preview.short, preview.factor) == ({"age": 1}, np.inf)
        with pytest.raises(seepage.errors.PolicyError, match="One person would be left"):
            post(ledger)
    assert ledger.audit() == ()


def test_a_release_that_says_nothing_new_about_who_owes_too_much_may_follow(tmp_path):
    ledger, _ = _overspent(tmp_path)
    random = np.random.default_rng(0)
    X = pd.DataFrame({"dose": random.normal(3, 1, 40)})
    y = pd.Series(random.normal(size=40), name="outcome")
    leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0, ids=PEOPLE)
    before = ledger.balance(PEOPLE)["age"]
    with ends():
        assert ledger.preview(leak, without=["age"]).fits
        ledger.post(leak, title="doses", without=["age"])
    np.testing.assert_array_equal(ledger.balance(PEOPLE)["age"], before)


def test_two_files_that_hold_one_person_are_previewed_as_they_are_posted(ledger, tmp_path):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.uniform(20, 90, 40), "dose": random.normal(3, 1, 40)})
    y = X["age"] * 0.1 + random.normal(size=40)
    X.assign(outcome=y, patient=PEOPLE)[:20].to_parquet(tmp_path / "a.parquet")
    X.assign(outcome=y, patient=PEOPLE)[20:].to_parquet(tmp_path / "b.parquet")
    stored = seepage.measure(
        Ridge().fit(X, y),
        f"{tmp_path}/*.parquet",
        target="outcome",
        ids="patient",
        noise_scale=1.0,
        job=seepage.engines.Job(output=tmp_path / "scores"),
    )
    floors = stored.error_floor()["age"].to_numpy()
    one, other = np.argmin(floors[:20]), 20 + np.argmin(floors[20:])
    # Room for each, and not for both in one.
    promise = {"error_floor": {"age": float(floors.min()) / np.sqrt(1.5)}, "units": YEARS}
    ledger = Ledger.create(tmp_path / "files", key=KEY, buckets=4, **promise)
    assert ledger.preview(stored, units=YEARS).fits
    ledger.merge(PEOPLE[one], PEOPLE[other])
    with ends():
        preview = ledger.preview(stored, units=YEARS)
        assert (preview.fits, preview.short) == (False, {"age": 1})
        with pytest.raises(seepage.errors.PolicyError, match="One person would be left"):
            post(ledger, stored)


def test_the_noise_that_would_fit_is_the_same_under_whatever_names_people_are_known(tmp_path):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.uniform(20, 90, 40), "dose": random.normal(3, 1, 40)})
    y = pd.Series(X["age"] * 0.1 + random.normal(size=40), name="outcome")
    # What a scaler learned is not hidden by all of the noise, so that the factor is searched for person by person.
    leak = seepage.measure(make_pipeline(StandardScaler(), Ridge()).fit(X, y), X, y, noise_scale=0.1, ids=PEOPLE)
    assert leak.information.stays
    owed = leak.error_floor()["age"].to_numpy() ** -2
    # Whoever owes the least for it has spent nearly everything before, and nobody else much.
    spender = int(np.argmin(owed))
    before = X.assign(age=np.where(np.arange(40) == spender, 170.0, X["age"]))
    model, former = Ridge().fit(before, y), [f"former {i}" for i in range(40)]
    spent = [seepage.measure(model, before, y, noise_scale=0.05, ids=ids) for ids in (PEOPLE, former)]
    most = spent[0].error_floor()["age"].iloc[spender] ** -2 + 0.02 * owed[spender]
    ledgers = [
        Ledger.create(tmp_path / name, key=KEY, buckets=4, error_floor={"age": most**-0.5}, units=YEARS)
        for name in ("one", "other")
    ]
    for ledger, each in zip(ledgers, spent, strict=True):
        post(ledger, each)
    for pair in zip(former, PEOPLE, strict=True):
        ledgers[1].merge(*pair)
    factors = [ledger.preview(leak, units=YEARS).factor for ledger in ledgers]
    assert 1 < factors[0] == factors[1] < np.inf


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
    held = [path for path, content in revealed(files(tmp_path), KEY).items() if name in content]
    assert {path.partition("/")[0] for path in held} == {"forgotten", "aliases"}
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
    # Whoever has the old key alone opens nothing, and whoever has both finds nobody under the old name.
    assert all(path.startswith("entries/") for path in revealed(files(tmp_path), KEY))
    found = revealed(files(tmp_path), KEY, NEW)
    assert found.keys() == files(tmp_path).keys()
    for name in old.of(PEOPLE):
        assert not any(bytes(name) in content for content in found.values())
    assert not any(KEY.hex().encode() in content or KEY in content for content in found.values())
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


def test_no_promise_is_told_by_an_entry_whose_seal_is_broken(ledger, tmp_path):
    ledger.rotate(NEW)
    path = tmp_path / "ledger" / "entries" / "000000000000.json"
    path.write_bytes(path.read_bytes().replace(b'"years"', b'"weeks"'))
    for ask in (lambda one: one.limits, lambda one: one.units):
        with pytest.raises(seepage.errors.LedgerError, match="its seal is broken"):
            ask(Ledger(tmp_path / "ledger", key=NEW))


def test_a_request_is_paid_for_once_also_when_a_merge_left_nobody_in_a_bucket(tmp_path):
    ledger = Ledger.create(tmp_path / "many", key=KEY, eta=100.0, buckets=256)
    debit = ledger.post(_leak(), title="one", request="a")
    held = ledger._books.state().debits[debit.number]
    sizes = {bucket: len(ledger._books.sums(stored)) for bucket, stored in held.items()}
    names = ledger._books.names.of(PEOPLE)
    buckets = names.view(np.uint8).reshape(len(names), -1)[:, 0]
    alone = next(person for person, bucket in zip(PEOPLE, buckets.tolist(), strict=True) if sizes[bucket] == 1)
    ledger.merge(next(person for person in PEOPLE if person != alone), alone)
    again = ledger.post(_leak(), title="one", request="a")
    assert again.number == debit.number
    assert len(ledger.releases) == 1
