"""Who is forgotten is in no file, whoever was stopped or is at it; and what cannot be written leaves nothing."""

import errno
import os
import time
from pathlib import Path

import pytest
from ledger.revealed import revealed
from race import PEOPLE, YEARS, leak

import seepage
from seepage.ledger import Ledger
from seepage.ledger._store import FolderStore

KEY = bytes(range(32))


class Stopped(BaseException):
    """Somebody is killed: nothing is cleaned up after that."""


@pytest.fixture
def place(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", key=KEY, error_floor={"age": 1e-3}, units=YEARS, buckets=2)
    post(ledger)
    return tmp_path / "ledger"


def post(ledger):
    return ledger.post(leak(), title="one", units=YEARS)


def opened(place):
    return Ledger(place, key=KEY)


def files(place):
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in Path(place).rglob("*") if path.is_file()}


def holding(place, person):
    """Return the files that hold a person's row, but for the list of those who are forgotten."""
    name, found = bytes(opened(place)._books.names.of([person])[0]), revealed(files(place), KEY)
    # Whatever the key does not open, somebody could be in.
    assert found.keys() == files(place).keys()
    return [path for path, content in found.items() if name in content and not path.startswith("forgotten/")]


def killed_at(ledger, monkeypatch, path, *, after=False):
    """Post, and be killed when a file is written: nothing of what was written before is taken away."""
    create, delete = FolderStore.create, FolderStore.delete

    def stop(store, name, content):
        if name.startswith(path):
            if after:
                create(store, name, content)
            raise Stopped
        return create(store, name, content)

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "create", stop)
        patch.setattr(FolderStore, "delete", lambda *_: None)
        with pytest.raises(Stopped):
            post(ledger)
    assert FolderStore.delete is delete


def test_what_a_killed_post_left_is_listed_and_holds_nobody_who_is_forgotten(place, monkeypatch):
    before = set(files(place))
    killed_at(opened(place), monkeypatch, "entries/")
    left = set(files(place)) - before
    assert len(left) == 4
    ledger = opened(place)
    assert ledger.audit() == ()
    assert set(ledger.orphans) == left
    assert len(holding(place, PEOPLE[5])) == 4
    ledger.forget([PEOPLE[5]])
    assert holding(place, PEOPLE[5]) == []
    assert ledger.orphans == ()
    assert ledger.audit() == ()


def test_a_post_that_is_killed_after_an_erasure_leaves_nobody_who_is_forgotten(place, monkeypatch):
    opened(place).forget([PEOPLE[5]])
    with pytest.raises(seepage.errors.PolicyError, match="must not be in any further release"):
        killed_at(opened(place), monkeypatch, "nothing", after=True)
    assert holding(place, PEOPLE[5]) == []


def test_an_erasure_does_not_destroy_a_post_that_is_under_way(place, monkeypatch):
    slow, others = opened(place), [person for person in PEOPLE if person != PEOPLE[5]]
    append, came = slow._books.log.append, []

    def interrupted(entry):
        if not came:
            # Everything is written, and looks hours old to a clock that is wrong.
            for path in (place / "debits").rglob("*.bin"):
                os.utime(path, (time.time() - 9000,) * 2)
            came.append(opened(place).forget([PEOPLE[5]]))
        return append(entry)

    monkeypatch.setattr(slow._books.log, "append", interrupted)
    random = leak()
    with pytest.raises(seepage.errors.PolicyError, match="One person must not be"):
        slow.post(random, title="with the one who is forgotten meanwhile", units=YEARS)
    assert came
    assert holding(place, PEOPLE[5]) == []
    came.clear()

    def swept(entry):
        if not came:
            came.append(opened(place).sweep())
        return append(entry)

    monkeypatch.setattr(slow._books.log, "append", swept)
    entry = slow.forget([PEOPLE[6]])
    assert came
    assert entry.number == came[0].number + 1
    assert slow.audit() == ()
    assert slow.orphans == ()
    assert slow.eligible(others).tolist() == [person != PEOPLE[6] for person in others]


def test_a_post_under_way_begins_again_after_a_sweep(place, monkeypatch):
    slow, came = opened(place), []
    append = slow._books.log.append

    def swept(entry):
        if not came:
            came.append(opened(place).sweep())
        return append(entry)

    monkeypatch.setattr(slow._books.log, "append", swept)
    assert post(slow).number == 3
    assert slow.audit() == ()
    assert slow.orphans == ()


@pytest.mark.parametrize("at", ["debits/", "balances/", "entries/", "certificates/"])
@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "no space is left"), (errno.EROFS, "may not be written")])
def test_a_full_disk_and_a_closed_one_are_named_and_leave_nothing(place, monkeypatch, at, number, words):
    ledger = opened(place)
    debit, before = post(ledger), files(place)
    write = os.fsync

    def failing(handle):
        name = os.readlink(f"/proc/self/fd/{handle}").removeprefix(f"{place}/")
        if name.startswith(at):
            raise OSError(number, os.strerror(number))
        write(handle)

    monkeypatch.setattr("seepage.ledger._store.os.fsync", failing)
    with pytest.raises(seepage.errors.UnwrittenError, match=words) as refused:
        ledger.released(debit, "{}") if at == "certificates/" else post(ledger)
    assert isinstance(refused.value, OSError)
    monkeypatch.undo()
    assert files(place) == before
    assert ledger.audit() == ()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is there on Linux")
def test_a_full_disk_for_temporary_files_is_named_and_leaves_nothing(place, monkeypatch):
    ledger, before = opened(place), files(place)
    monkeypatch.setattr("seepage.ledger._buckets.tempfile.TemporaryFile", lambda: open("/dev/full", "wb"))  # noqa: SIM115
    with pytest.raises(seepage.errors.UnwrittenError, match=r"A file in .* no space is left"):
        post(ledger)
    monkeypatch.undo()
    assert files(place) == before
    assert ledger.audit() == ()


@pytest.mark.parametrize(("hours", "words"), [(2, "120 minutes ahead of"), (-2, "120 minutes behind")])
def test_a_clock_that_is_wrong_is_named_and_nothing_is_posted(place, monkeypatch, hours, words):
    now, before = time.time, files(place)
    monkeypatch.setattr("seepage.ledger._books.time.time", lambda: now() + 3600 * hours)
    with pytest.raises(seepage.errors.InputError, match=words):
        post(opened(place))
    monkeypatch.undo()
    assert files(place) == before
    post(opened(place))
