"""A decision rests only on what was written: what was changed, lost, put back or rewritten since is named, and ends."""

import json
import secrets
import shutil
import signal
import sqlite3
from contextlib import contextmanager
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from race import PEOPLE, YEARS, leak

import seepage
from seepage.ledger import Entry, Ledger

KEY = secrets.token_bytes(32)
ROOM = 3


@contextmanager
def ends(seconds=30):
    """Fail where something would go on for ever."""

    def stop(*_):
        pytest.fail(f"has not ended within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=["sqlite", "delta"])
def place(request, tmp_path):
    """A ledger with room for three and a half releases, which holds three."""
    floor = float(leak().error_floor()["age"].min()) / np.sqrt(ROOM + 0.5)
    ledger = Ledger.create(
        tmp_path / "ledger", key=KEY, error_floor={"age": floor}, units=YEARS, store=request.param, buckets=2
    )
    for number in range(ROOM):
        post(ledger, str(number))
    return tmp_path / "ledger"


def opened(place):
    return Ledger(place, key=KEY)


def post(ledger, title="one more"):
    return ledger.post(leak(), title=title, units=YEARS)


def questions(ledger):
    return (
        lambda: post(ledger),
        lambda: ledger.preview(leak(), units=YEARS),
        lambda: ledger.balance(PEOPLE),
        lambda: ledger.eligible(PEOPLE),
        lambda: ledger.closest(),
        lambda: ledger.knows(PEOPLE),
        lambda: ledger.forget(PEOPLE[:1]),
    )


def without_charges(content):
    """Return a file of balances as whoever lacks the key could write it: the same people, who owe nothing."""
    table = pq.read_table(pa.BufferReader(content))
    free = {name: np.zeros(len(table)) for name in table.column_names[1:]}
    written = pa.BufferOutputStream()
    pq.write_table(pa.table({"person": table["person"], **free}, schema=table.schema), written)
    return written.getvalue().to_pybytes()


def test_nothing_is_decided_on_balances_that_were_changed(place):
    before, open_already = {path: path.read_bytes() for path in place.glob("balances/*/*")}, opened(place)
    assert len(before) == 2
    for path, content in before.items():
        path.write_bytes(without_charges(content))
    for ledger in (open_already, opened(place)):
        for ask in questions(ledger):
            with pytest.raises(seepage.errors.LedgerError, match="was changed after it was committed") as refused:
                ask()
            assert refused.value.place in {str(path.relative_to(place)) for path in before}
    for path, content in before.items():
        path.write_bytes(content)
    # As they were, they say again what they did: there is no room.
    for ledger in (open_already, opened(place)):
        with pytest.raises(seepage.errors.PolicyError):
            post(ledger)
    assert len(open_already.releases) == ROOM
    assert open_already.audit() == ()


def test_one_flipped_bit_of_a_balance_or_of_who_is_forgotten_is_named(place):
    opened(place).forget(PEOPLE[:1])
    random, files = np.random.default_rng(0), [*place.glob("balances/*/*"), *place.glob("forgotten/*")]
    assert len(files) == 3
    for path in files:
        content = path.read_bytes()
        for at in random.integers(len(content), size=5).tolist():
            changed = bytearray(content)
            changed[at] ^= 1 << int(random.integers(8))
            path.write_bytes(changed)
            with pytest.raises(seepage.errors.LedgerError) as refused:
                opened(place).preview(leak(), units=YEARS)
            assert refused.value.place == str(path.relative_to(place))
        path.write_bytes(content)
    assert opened(place).preview(leak(), units=YEARS).forgotten == 1


def test_a_file_that_is_gone_is_named(place):
    path = next(place.glob("balances/*/*"))
    path.unlink()
    with pytest.raises(seepage.errors.LedgerError, match="is missing") as refused:
        post(opened(place))
    assert refused.value.place == str(path.relative_to(place))


def forge(place, number, change):
    """Change what an entry says without the key, wherever it is kept."""

    def forged(text):
        entry = json.loads(text)
        change(entry)
        return json.dumps(entry, sort_keys=True, separators=(",", ":"))

    if (place / "releases.sqlite").exists():
        with sqlite3.connect(place / "releases.sqlite") as database:
            (text,) = database.execute("SELECT entry FROM releases WHERE number = ?", (number,)).fetchone()
            database.execute("UPDATE releases SET entry = ? WHERE number = ?", (forged(text), number))
        database.close()
        return
    actions = (place / "releases" / "_delta_log" / f"{number:020}.json").read_text().splitlines()
    (file,) = [place / "releases" / json.loads(each)["add"]["path"] for each in actions if '"add"' in each]
    table = pq.read_table(file)
    entries = pa.array([forged(table["entry"][0].as_py())], table.schema.field("entry").type)
    pq.write_table(table.set_column(1, table.schema.field("entry"), entries), file)


@pytest.mark.parametrize("number", [1, ROOM])
def test_an_entry_that_was_changed_without_the_key_is_named(place, number):
    forge(place, number, lambda entry: entry["body"].update(balances={}))
    ledger = opened(place)
    for ask in (*questions(ledger), lambda: ledger.head, lambda: ledger.releases):
        with pytest.raises(seepage.errors.LedgerError, match="its seal is broken") as refused:
            ask()
        assert refused.value.place.startswith(f"entry {number} of releases")
    assert any(fault.place == f"entry {number}" for fault in ledger.audit())


def test_an_entry_that_somebody_adds_while_the_ledger_is_open_is_checked_too(place):
    ledger, other = opened(place), opened(place)
    assert len(ledger.releases) == ROOM
    # Sealed with the key, and put where it does not belong.
    stray = Entry.after(other.entries[1], "debit", {**other.entries[1].body}, other._names)
    stray = Entry(ROOM + 1, stray.kind, stray.when, stray.body, stray.previous, stray.seal)
    assert other._log.append(stray)
    with pytest.raises(seepage.errors.LedgerError, match=f"entry {ROOM + 1} of releases"):
        post(ledger)


def put_back(copy, path):
    if path.is_dir():
        shutil.rmtree(path)
        shutil.copytree(copy, path)
    else:
        shutil.copy(copy, path)


def kept(path, copy):
    (shutil.copytree if path.is_dir() else shutil.copy)(path, copy)
    return copy


def test_an_older_copy_of_everything_is_noticed_by_whoever_saw_the_newer(tmp_path):
    for store in ("sqlite", "delta"):
        place = tmp_path / store
        ledger = Ledger.create(place, key=KEY, error_floor={"age": 1e-3}, units=YEARS, store=store, buckets=2)
        post(ledger)
        copy = kept(place, tmp_path / f"{store} before")
        reader = opened(place)
        post(ledger)
        assert len(reader.releases) == 2
        put_back(copy, place)
        # Who posted it knows of it without having read it.
        for seen in (ledger, reader):
            with ends(), pytest.raises(seepage.errors.LedgerError, match="no longer holds entry 2"):
                post(seen)
            with ends(), pytest.raises(seepage.errors.LedgerError, match="no longer holds entry 2"):
                seen.preview(leak(), units=YEARS)
            assert any("entry 2, which was read" in fault.reason for fault in seen.audit())
        # Somebody else goes on from there: that is another ledger by then.
        for _ in range(3):
            post(opened(place))
        with ends(), pytest.raises(seepage.errors.LedgerError, match="no longer holds entry 2"):
            post(ledger)


def test_an_older_log_among_newer_files_ends_for_everybody(tmp_path):
    for store, name in (("sqlite", "releases.sqlite"), ("delta", "releases")):
        place = tmp_path / store
        ledger = Ledger.create(place, key=KEY, error_floor={"age": 1e-3}, units=YEARS, store=store, buckets=2)
        post(ledger)
        copy, newer = kept(place / name, tmp_path / f"{store} log"), opened(place)
        post(ledger), post(ledger)
        now = kept(place / name, tmp_path / f"{store} log now")
        put_back(copy, place / name)
        for one in (ledger, newer, opened(place)):
            with ends(), pytest.raises(seepage.errors.LedgerError) as refused:
                post(one)
            assert refused.value.place == name
        put_back(now, place / name)
        assert post(opened(place)).number == 4
        assert opened(place).audit() == ()


def test_an_entry_that_was_taken_out_under_an_open_ledger_ends(tmp_path):
    place = tmp_path / "ledger"
    ledger = Ledger.create(place, key=KEY, error_floor={"age": 1e-3}, units=YEARS, store="sqlite", buckets=2)
    for _ in range(3):
        post(ledger)
    with sqlite3.connect(place / "releases.sqlite") as database:
        database.execute("DELETE FROM releases WHERE number = 2")
    database.close()
    with ends(), pytest.raises(seepage.errors.LedgerError, match="takes no entry 4"):
        post(ledger)
    with ends(), pytest.raises(seepage.errors.LedgerError, match="is missing: entry 3 stands in its place"):
        post(opened(place))


@pytest.fixture
def table(tmp_path):
    """A ledger in a Delta table, with three releases and room for many."""
    ledger = Ledger.create(tmp_path / "ledger", key=KEY, error_floor={"age": 1e-3}, units=YEARS, buckets=2)
    for _ in range(3):
        post(ledger)
    return ledger, deltalake.DeltaTable(tmp_path / "ledger" / "releases")


def optimized(found: deltalake.DeltaTable) -> str:
    found.optimize.compact()
    return "OPTIMIZE"


def rewound(found: deltalake.DeltaTable) -> str:
    found.alter.set_table_properties({"delta.appendOnly": "false"})
    found.restore(2)
    return "SET TBLPROPERTIES"


@pytest.mark.parametrize("rewritten", [optimized, rewound])
def test_a_table_that_somebody_else_rewrote_ends_with_who_did_what_and_the_way_out(table, tmp_path, rewritten):
    ledger, found = table
    ran = rewritten(found)
    for one in (ledger, opened(tmp_path / "ledger")):
        for ask in questions(one):
            with (
                ends(),
                pytest.raises(seepage.errors.LedgerError, match=rf"somebody else rewrote its table \({ran}\)") as end,
            ):
                ask()
            assert end.value.place == "releases/_delta_log/00000000000000000004.json"
            assert "whose number is 4 or more" in end.value.way_out
        assert one.audit()[0].place == end.value.place
    # The way out is one.
    for path in (tmp_path / "ledger" / "releases" / "_delta_log").iterdir():
        if path.name[:20].isdigit() and int(path.name[:20]) >= 4:
            path.rename(tmp_path / path.name)
    with ends():
        assert post(opened(tmp_path / "ledger")).number == 4
    assert len(opened(tmp_path / "ledger").releases) == 4
    assert opened(tmp_path / "ledger").audit() == ()


def test_a_table_that_was_rewritten_and_vacuumed_names_the_file_that_is_gone(table, tmp_path):
    _, found = table
    copy = kept(tmp_path / "ledger" / "releases", tmp_path / "backup")
    found.optimize.compact()
    found.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with ends(), pytest.raises(seepage.errors.LedgerError, match="is missing") as gone:
        post(opened(tmp_path / "ledger"))
    assert (copy / Path(gone.value.place).relative_to("releases")).exists()


def test_a_gap_that_is_left_by_half_of_the_way_out_ends_too(table, tmp_path):
    ledger, found = table
    rewound(found)
    (tmp_path / "ledger" / "releases" / "_delta_log" / "00000000000000000004.json").unlink()
    for one in (ledger, opened(tmp_path / "ledger")):
        with ends(), pytest.raises(seepage.errors.SeepageError):
            post(one)
