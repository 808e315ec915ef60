"""A decision rests only on what was written: what was changed, lost or put back since is named, and ends."""

import secrets
import shutil

import numpy as np
import pytest
from ledger.ending import ends
from race import PEOPLE, YEARS, leak

import seepage
from seepage.ledger import Entry, Ledger

KEY = secrets.token_bytes(32)
ROOM = 3


@pytest.fixture
def place(tmp_path):
    """A ledger with room for three and a half releases, which holds three."""
    floor = float(leak().error_floor()["age"].min()) / np.sqrt(ROOM + 0.5)
    ledger = Ledger.create(tmp_path / "ledger", key=KEY, error_floor={"age": floor}, units=YEARS, buckets=2)
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


def test_nothing_is_decided_on_balances_that_were_changed(place):
    before, open_already = {path: path.read_bytes() for path in place.glob("balances/*/*")}, opened(place)
    assert len(before) == 2
    for path, content in before.items():
        path.write_bytes(content[:-1])
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


def test_a_file_that_is_gone_is_named(place):
    path = next(place.glob("balances/*/*"))
    path.unlink()
    with ends(), pytest.raises(seepage.errors.LedgerError, match="is missing") as refused:
        post(opened(place))
    assert refused.value.place == str(path.relative_to(place))


def test_an_entry_that_somebody_adds_while_the_ledger_is_open_is_checked_too(place):
    ledger, other = opened(place), opened(place)
    assert len(ledger.releases) == ROOM
    # Sealed with the key, and put where it does not belong.
    stray = Entry.after(other.entries[1], "debit", {**other.entries[1].body}, other._books.names)
    stray = Entry(ROOM + 1, stray.kind, stray.when, stray.body, stray.previous, stray.seal)
    assert other._books.log.append(stray)
    with pytest.raises(seepage.errors.LedgerError, match=f"{ROOM + 1}.json was changed"):
        post(ledger)


def put_back(copy, path):
    shutil.rmtree(path)
    shutil.copytree(copy, path)


@pytest.fixture
def roomy(tmp_path):
    return Ledger.create(tmp_path / "ledger", key=KEY, error_floor={"age": 1e-3}, units=YEARS, buckets=2)


def test_an_older_copy_of_everything_is_noticed_by_whoever_saw_the_newer(roomy, tmp_path):
    place = tmp_path / "ledger"
    post(roomy)
    shutil.copytree(place, tmp_path / "before")
    reader = opened(place)
    post(roomy)
    head = roomy.head
    assert len(reader.releases) == 2
    put_back(tmp_path / "before", place)
    # Who posted it knows of it without having read it.
    for seen in (roomy, reader):
        for ask in (post, lambda ledger: ledger.preview(leak(), units=YEARS), lambda ledger: ledger.head):
            with ends(), pytest.raises(seepage.errors.LedgerError, match=r"2\.json is gone or another"):
                ask(seen)
        assert any("entry 2 with the seal that was read before" in fault.reason for fault in seen.audit())
    # Somebody else goes on from there: that is another ledger by then.
    for _ in range(3):
        post(opened(place))
    with ends(), pytest.raises(seepage.errors.LedgerError, match=r"2\.json is gone or another"):
        post(roomy)
    with pytest.raises(seepage.errors.LedgerError, match="the seal that was kept elsewhere"):
        Ledger(place, key=KEY, head=head)


@pytest.mark.parametrize("given", ["", "7", "a:b", "0" * 64, "1:" + "0" * 63, "-1:" + "0" * 64])
def test_what_is_no_head_is_told_what_one_is(place, given):
    with pytest.raises(seepage.errors.InputError, match="seepage ledger head"):
        Ledger(place, key=KEY, head=given)
    with pytest.raises(seepage.errors.InputError, match="seepage ledger head"):
        opened(place).audit(head=given)


def test_an_entry_that_was_taken_out_under_an_open_ledger_ends(roomy, tmp_path):
    for _ in range(3):
        post(roomy)
    early = opened(tmp_path / "ledger")
    post(roomy), post(roomy)
    (tmp_path / "ledger" / "entries" / "000000000004.json").unlink()
    # One who has not seen it must not put another in its place.
    for ledger in (early, opened):
        with ends(), pytest.raises(seepage.errors.LedgerError, match=r"000000000004.json is missing, and entry 5"):
            post(ledger if ledger is early else opened(tmp_path / "ledger"))
    assert not (tmp_path / "ledger" / "entries" / "000000000004.json").exists()


def test_a_file_that_no_ledger_wrote_is_a_fault_and_one_that_was_left_is_an_orphan(roomy, tmp_path):
    post(roomy)
    left = tmp_path / "ledger" / "debits" / f"0-{'a' * 16}" / "1.bin"
    left.parent.mkdir()
    left.write_text("left by whoever was killed")
    (tmp_path / "ledger" / "notes.txt").write_text("mine")
    assert [str(fault) for fault in roomy.audit()] == ["notes.txt: was written by no ledger"]
    assert set(roomy.orphans) == {str(left.relative_to(tmp_path / "ledger")), "notes.txt"}
    roomy.sweep()
    assert not left.exists()
    assert roomy.orphans == ("notes.txt",)


def test_a_folder_in_the_place_of_the_next_entry_is_named(place):
    (place / "entries" / f"{ROOM + 1:012}.json").mkdir()
    with pytest.raises(seepage.errors.InputError, match="is no file, and stands in the place of one"):
        Ledger(place, key=KEY).forget(PEOPLE[:1])
