"""A ledger on an object store: one address reaches its files and its log, and only the first of two writers commits."""

import pytest
from engines.store import BUCKET, object_store
from race import PEOPLE, YEARS, leak

import seepage
from seepage.execution.storage import resolve
from seepage.ledger._buckets import Folder
from seepage.ledger._entry import Entry

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, object_store() as address:
        for name, value in (("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b"), ("EC2_METADATA_DISABLED", "true")):
            patch.setenv(f"AWS_{name}", value)
        yield f"s3://{BUCKET}/ledger?endpoint_override={address}&scheme=http&region=us-east-1"


def test_two_writers_of_one_budget(place) -> None:
    found = leak()
    floor = float(found.error_floor()["age"].min()) / 2.0**0.5
    first = seepage.ledger.Ledger.create(place, key=KEY, error_floor={"age": floor}, units=YEARS, buckets=2)
    second = seepage.ledger.Ledger(place, key=KEY)
    stale = Entry.after(second.entries[-1], "debit", {}, second._names)
    first.post(found, title="first", units=YEARS)
    # Whoever has not seen this entry yet must not commit on top of what it saw.
    assert not second._log.append(stale)
    assert second.post(found, title="second", units=YEARS).number == 2
    with pytest.raises(seepage.errors.PolicyError):
        first.post(found, title="third", units=YEARS)
    assert [entry.body["title"] for entry in seepage.ledger.Ledger(place, key=KEY).releases] == ["first", "second"]
    assert float(first.balance(PEOPLE)["age"].min()) == pytest.approx(floor)
    assert not second.audit()


class _Losing:
    """The same store, where somebody deletes each file between its opening and its reading."""

    def __init__(self, store) -> None:
        self.store = store

    def open_input_stream(self, path):
        found = self.store.open_input_stream(path)
        self.store.delete_file(path)
        return found

    def __getattr__(self, name):
        return getattr(self.store, name)


def test_a_file_that_is_replaced_while_it_is_read_is_no_longer_there(place) -> None:
    filesystem, root = resolve(place.replace("/ledger?", "/lost?"), None)
    whole = Folder(filesystem, root.rstrip("/"))
    whole.write_bytes("balances/a/0.parquet", b"something")
    assert whole.read_bytes("balances/a/0.parquet") == b"something"
    with pytest.raises(FileNotFoundError):
        Folder(_Losing(filesystem), whole.root).read_bytes("balances/a/0.parquet")
    whole.delete(["balances/a/0.parquet"])
