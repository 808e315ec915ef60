"""A ledger on an object store: only the first of two writers commits, and one that lets both is no place for it."""

import pytest
from engines.store import BUCKET, object_store
from race import PEOPLE, YEARS, leak

import seepage
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
    stale = Entry.after(second.entries[-1], "debit", {}, second._books.names)
    first.post(found, title="first", units=YEARS)
    # Whoever has not seen this entry yet must not commit on top of what it saw.
    assert not second._books.log.append(stale)
    assert second.post(found, title="second", units=YEARS).number == 2
    with pytest.raises(seepage.errors.PolicyError):
        first.post(found, title="third", units=YEARS)
    assert [entry.body["title"] for entry in seepage.ledger.Ledger(place, key=KEY).releases] == ["first", "second"]
    assert float(first.balance(PEOPLE)["age"].min()) == pytest.approx(floor)
    assert not second.audit()


def test_a_store_that_lets_a_second_writer_replace_an_object_is_refused(place, monkeypatch) -> None:
    from moto.s3.responses import S3Response

    writing = S3Response._key_response_put

    def careless(response, *given):
        response.headers = {name: value for name, value in response.headers.items() if name != "If-None-Match"}
        return writing(response, *given)

    monkeypatch.setattr(S3Response, "_key_response_put", careless)
    careless_place = place.replace("/ledger?", "/careless?")
    with pytest.raises(seepage.errors.InputError, match="conditional writes"):
        seepage.ledger.Ledger.create(careless_place, key=KEY, eta=1.0)
    with pytest.raises(seepage.errors.InputError, match="There is no ledger"):
        seepage.ledger.Ledger(careless_place, key=KEY)


def test_a_store_that_refuses_is_named(place) -> None:
    nowhere = place.replace("bucket/", "elsewhere/")
    with pytest.raises(seepage.errors.SeepageError, match="elsewhere"):
        seepage.ledger.Ledger.create(nowhere, key=KEY, eta=1.0)
