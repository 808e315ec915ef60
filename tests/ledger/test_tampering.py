"""Edits of the database without the key: the next post is refused, an audit names them, or a certificate shows them."""

import hashlib
import json
import shutil
import sqlite3
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from race import PEOPLE, YEARS, leak
from sklearn.linear_model import Ridge

import seepage
from seepage.ledger import Entry, Ledger
from seepage.ledger._books import state_of
from seepage.ledger._names import Names
from seepage.ledger._sums import PersonSums

KEY, OTHER_KEY = bytes(range(32)), bytes(32)
ROOM = 3


def publish(ledger, file):
    """Publish one model, with a certificate that names its debit."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.uniform(20, 90, 12)})
    y = X["age"] * 0.1 + random.normal(size=12)
    terms = {"noise_scale": 1.0, "accept": None, "ids": PEOPLE, "ledger": ledger}
    units = None if ledger is None else YEARS
    seepage.publish(Ridge().fit(X, y), X, y, **terms, units=units).write(file)
    return file, file.with_suffix(".certificate.json")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A ledger whose budget is spent by three releases, and a copy from before the third."""
    folder = tmp_path_factory.mktemp("ledger")
    place, before = folder / "ledger.db", folder / "before.db"
    floor = float(leak().error_floor()["age"].min()) / np.sqrt(ROOM + 0.5)
    ledger = Ledger.create(place, key=KEY, error_floor={"age": floor}, units=YEARS)
    certificates = [publish(ledger, folder / f"{number}.toml") for number in range(ROOM - 1)]
    ledger.forget(["a stranger"])
    shutil.copy(place, before)
    certificates.append(publish(ledger, folder / "last.toml"))
    return SimpleNamespace(place=place, before=before, certificates=certificates, head=ledger.head)


@pytest.fixture
def place(made, tmp_path):
    return shutil.copy(made.place, tmp_path / "ledger.db")


def execute(place, statement, *values):
    with sqlite3.connect(place) as connection:
        rows = connection.execute(statement, values).fetchall()
    connection.close()
    return rows


def hashed(content):
    return hashlib.sha256(content).hexdigest()


def freed(content):
    """Return sums of the same people, who owe nothing."""
    sums = PersonSums.read(content)
    return PersonSums(sums.names, {name: np.zeros(len(sums)) for name in sums.columns}).content()


def edited_entry(place, number, change):
    ((text,),) = execute(place, "SELECT entry FROM seepage_entries WHERE number = ?", number)
    entry = json.loads(text)
    change(entry)
    text = json.dumps(entry, sort_keys=True, separators=(",", ":"))
    execute(place, "UPDATE seepage_entries SET entry = ? WHERE number = ?", text, number)


def freed_sums(place, made):
    for bucket, content in execute(place, "SELECT bucket, content FROM seepage_sums"):
        execute(place, "UPDATE seepage_sums SET content = ? WHERE bucket = ?", freed(content), bucket)


def freed_sums_with_hashes(place, made):
    for bucket, content in execute(place, "SELECT bucket, content FROM seepage_sums"):
        free = freed(content)
        execute(place, "UPDATE seepage_sums SET content = ?, hash = ? WHERE bucket = ?", free, hashed(free), bucket)


def freed_sums_with_hashes_and_state(place, made):
    freed_sums_with_hashes(place, made)
    hashes = dict(execute(place, "SELECT bucket, hash FROM seepage_sums"))
    edited_entry(place, last(place), lambda entry: entry.update(state=state_of(hashes)))


def sums_of_before(place, made):
    for row in execute(made.before, "SELECT hash, content, bucket FROM seepage_sums"):
        execute(place, "UPDATE seepage_sums SET hash = ?, content = ? WHERE bucket = ?", *row)


def swapped_buckets(place, made):
    (one, *first), (other, *second) = execute(place, "SELECT bucket, hash, content FROM seepage_sums")[:2]
    execute(place, "UPDATE seepage_sums SET hash = ?, content = ? WHERE bucket = ?", *second, one)
    execute(place, "UPDATE seepage_sums SET hash = ?, content = ? WHERE bucket = ?", *first, other)


def last(place):
    return execute(place, "SELECT max(number) FROM seepage_entries")[0][0]


def forged_entry(place, made):
    (text,) = execute(place, "SELECT entry FROM seepage_entries WHERE number = ?", last(place))[0]
    entry = Entry(**json.loads(text))
    body = {"debit": 1, "reason": "a forgery"}
    forged = Entry.after(entry, "reversed", body, mark="", state=entry.state, names=Names(OTHER_KEY))
    execute(place, "INSERT INTO seepage_entries VALUES (?, ?)", forged.number, forged.line())


def forged_debit(place, made):
    rows = execute(place, "SELECT bucket, content FROM seepage_debits WHERE entry = 1")
    for bucket, content in rows:
        seal = Names(OTHER_KEY).seal(f"debit 1 {bucket}", content)
        execute(place, "UPDATE seepage_debits SET seal = ?, content = ? WHERE entry = 1", seal, content)


def statement(*statements):
    def edit(place, made):
        for one in statements:
            execute(place, one)

    return edit


def changed(place_of, **values):
    return lambda place, made: edited_entry(place, place_of, lambda entry: entry.update(values))


def larger_promise(place, made):
    edited_entry(place, 0, lambda entry: entry["body"]["limits"].update({"attribute age": 1e9}))


def remembered(place, made):
    edited_entry(place, 5, lambda entry: entry["body"].update(people=[]))


EDITS = {
    "sums are zero": freed_sums,
    "sums and their hashes": freed_sums_with_hashes,
    "sums, their hashes, and the state of the newest entry": freed_sums_with_hashes_and_state,
    "sums of an older copy": sums_of_before,
    "two buckets are swapped": swapped_buckets,
    "a bucket is deleted": statement("DELETE FROM seepage_sums WHERE bucket = (SELECT min(bucket) FROM seepage_sums)"),
    "all sums are deleted": statement("DELETE FROM seepage_sums"),
    "sums are text": statement("UPDATE seepage_sums SET content = 'nothing'"),
    "a hash is a number": statement("UPDATE seepage_sums SET hash = 7"),
    "a bucket is added": statement("INSERT INTO seepage_sums SELECT 99, hash, content FROM seepage_sums LIMIT 1"),
    "a debit is deleted": statement("DELETE FROM seepage_debits WHERE entry = 1"),
    "a debit is changed": statement("UPDATE seepage_debits SET content = zeroblob(9) WHERE entry = 1"),
    "a debit is forged": forged_debit,
    "a debit is copied": statement(
        "INSERT INTO seepage_debits SELECT 77, bucket, seal, content FROM seepage_debits WHERE entry = 1"
    ),
    "a debit is text": statement("UPDATE seepage_debits SET content = 'nothing'"),
    "the promise is larger": larger_promise,
    "a title is changed": lambda place, made: edited_entry(
        place, 1, lambda entry: entry["body"].update(title="another")
    ),
    "a debit becomes a reversal": changed(3, kind="reversed"),
    "a person is remembered": remembered,
    "a number is a fraction": changed(3, number=3.0),
    "an entry is deleted": statement("DELETE FROM seepage_entries WHERE number = 3"),
    "the newest entries are deleted": statement("DELETE FROM seepage_entries WHERE number > 5"),
    "two entries are swapped": statement(
        "UPDATE seepage_entries SET number = -1 WHERE number = 1",
        "UPDATE seepage_entries SET number = 1 WHERE number = 3",
        "UPDATE seepage_entries SET number = 3 WHERE number = -1",
    ),
    "an entry is forged": forged_entry,
    "an entry is no JSON": statement("UPDATE seepage_entries SET entry = '{' WHERE number = 2"),
    "an entry has a blank more": statement("UPDATE seepage_entries SET entry = entry || ' ' WHERE number = 2"),
    "an entry is a blob": statement("UPDATE seepage_entries SET entry = CAST(entry AS BLOB) WHERE number = 2"),
    "a table is gone": statement("DROP TABLE seepage_sums"),
}
NAMED_BY_AUDIT = {name for name in EDITS if name.startswith("a debit is ")}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_without_the_key_is_refused_at_the_next_post_or_named_by_an_audit(made, place, name):
    opened = Ledger(place, key=KEY)
    EDITS[name](place, made)
    refusals = (seepage.errors.LedgerError, seepage.errors.InputError, seepage.errors.StorageError)
    if name in NAMED_BY_AUDIT:
        assert opened.audit()
        assert Ledger(place, key=KEY).audit()
        return
    # What was spent is spent: a post that goes through would have budget again.
    with pytest.raises(refusals):
        Ledger(place, key=KEY).post(leak(), title="one more", units=YEARS)
    assert opened.audit()


def test_a_ledger_without_an_edit_is_not_blamed(made, place):
    ledger = Ledger(place, key=KEY, head=made.head)
    assert [seepage.certify(*one, ledger=ledger).ledger.value for one in made.certificates] == ["paid"] * ROOM
    assert ledger.audit(head=made.head) == ()
    with pytest.raises(seepage.errors.PolicyError):
        ledger.post(leak(), title="one more", units=YEARS)


def test_an_older_copy_is_shown_by_a_head_by_a_certificate_and_by_an_open_ledger(made, place):
    opened = Ledger(place, key=KEY)
    assert len(opened.releases) == ROOM
    shutil.copy(made.before, place)
    with pytest.raises(seepage.errors.LedgerError, match="the head that was written down"):
        Ledger(place, key=KEY, head=made.head)
    afresh = Ledger(place, key=KEY)
    assert afresh.audit() == ()
    assert "written down" in str(afresh.audit(head=made.head)[0])
    states = [seepage.certify(*one, ledger=afresh).ledger.value for one in made.certificates]
    assert states == ["paid"] * (ROOM - 1) + ["rolled back"]
    for ask in (lambda: opened.head, lambda: opened.post(leak(), title="x", units=YEARS)):
        with pytest.raises(seepage.errors.LedgerError, match="an older copy was put back"):
            ask()
    assert opened.audit()
    # Another release in the place of the one that is gone does not make it the same ledger.
    afresh.post(leak(), title="another", units=YEARS)
    afresh.forget(["another stranger"])
    with pytest.raises(seepage.errors.LedgerError, match="an older copy was put back"):
        opened.head  # noqa: B018


def test_one_debit_that_paid_for_two_releases_is_shown_by_the_first(made, place, tmp_path):
    ledger = Ledger(place, key=KEY)
    debit = ledger.releases[-1]
    other = publish(None, tmp_path / "again.toml")
    text = json.loads(other[1].read_text()) | {"ledger": {"entry": debit.number, "seal": debit.seal}}
    other[1].write_text(json.dumps(text, indent=2) + "\n")
    verdict = seepage.certify(*other, ledger=ledger)
    assert (verdict.holds, verdict.ledger.value) == (False, "other release")


def test_a_certificate_without_a_ledger_is_not_paid_for(place, tmp_path):
    free = publish(None, tmp_path / "free.toml")
    assert "ledger" not in json.loads(free[1].read_text())
    assert seepage.certify(*free).holds
    verdict = seepage.certify(*free, ledger=Ledger(place, key=KEY))
    assert (verdict.holds, verdict.ledger.value) == (False, "unnamed")


@pytest.mark.parametrize("given", ["", "7", "a:b", "0" * 64, "1:" + "0" * 63, "-1:" + "0" * 64])
def test_a_text_that_is_no_head_is_refused(place, given):
    for ask in (lambda: Ledger(place, key=KEY, head=given), lambda: Ledger(place, key=KEY).audit(head=given)):
        with pytest.raises(seepage.errors.InputError, match="seepage ledger head"):
            ask()


def test_two_ledgers_with_one_key_begin_differently(tmp_path):
    heads = {Ledger.create(tmp_path / f"{i}.db", key=KEY, eta=1.0).head for i in range(5)}
    assert len(heads) == 5
