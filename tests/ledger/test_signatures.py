"""Every release in a ledger has a certificate, and an audit says who signed it."""

import json
import secrets

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from ledger.revealed import opened
from sklearn.linear_model import Ridge

import seepage
from seepage.ledger import Ledger

PEOPLE = [f"patient {i}" for i in range(40)]
YEARS = {"age": "years"}
KEY = secrets.token_bytes(32)


def _fit():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.uniform(20, 90, 40), "dose": random.normal(3, 1, 40)})
    y = pd.Series(X["age"] * 0.1 + random.normal(size=40), name="outcome")
    return Ridge().fit(X, y), X, y


@pytest.fixture
def ledger(tmp_path):
    place = tmp_path / "ledger"
    return Ledger.create(place, key=KEY, buckets=4, error_floor={"age": 5.0}, units=YEARS)


@pytest.fixture
def publish(ledger, tmp_path):
    def published(name, **options):
        found = seepage.publish(*_fit(), noise_scale=1.0, accept=None, ids=PEOPLE, ledger=ledger, units=YEARS)
        found.write(tmp_path / f"{name}.skops", **options)
        return tmp_path / f"{name}.certificate.json"

    return published


@pytest.fixture
def signing(tmp_path):
    return tmp_path / "signing.key", seepage.release.new_key(tmp_path / "signing.key")


def test_a_signed_certificate_takes_the_place_of_the_one_that_a_release_left_with(ledger, publish, signing):
    secret, public = signing
    certificate = publish("model", sign=secret)
    assert ledger.audit() == ()
    assert [fault.reason for fault in ledger.audit(signer=public)] == ["is not signed"]
    entry = ledger.signed(certificate)
    assert (entry.kind, entry.body["release"]) == ("signed", 2)
    assert ledger.audit(signer=public) == ()
    path = entry.body["certificate"][0]
    kept = json.loads(opened(path, ledger._books.store.read(path), KEY))
    assert kept == json.loads(certificate.read_text())
    # The signature is good in the eyes of whoever never saw our code: what is signed is said on the page of keys.
    named = {name: kept["signature"][name] for name in ("algorithm", "public_key")}
    text = json.dumps({**kept, "signature": named}, sort_keys=True, separators=(",", ":")).encode()
    owner = load_pem_private_key(secret.read_bytes(), None).public_key()
    owner.verify(bytes.fromhex(kept["signature"]["value"]), b"seepage certificate\n" + text)


def test_a_certificate_of_another_release_or_an_edited_one_is_refused(ledger, publish, signing, tmp_path):
    secret, _ = signing
    unsigned = publish("plain")
    with pytest.raises(seepage.errors.InputError, match="is not signed"):
        ledger.signed(unsigned)
    certificate = publish("model", sign=secret)
    entries = json.loads(certificate.read_text())
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps({**entries, "people": 41}))
    with pytest.raises(seepage.errors.InputError, match="edited after it was signed"):
        ledger.signed(edited)
    with pytest.raises(seepage.errors.InputError, match="There is no file"):
        ledger.signed(tmp_path / "nothing.json")
    stranger = seepage.release.Certificate.read(unsigned)
    stranger = seepage.release.Certificate(**{**vars(stranger), "people": 41, "signature": None}).signed(secret)
    stranger.write(edited)
    with pytest.raises(seepage.errors.InputError, match="not the certificate of any release"):
        ledger.signed(edited)
    assert [entry.kind for entry in ledger.entries] == ["created", "debit", "release", "debit", "release"]
    assert len(list((tmp_path / "ledger" / "certificates").iterdir())) == 2
    assert ledger.audit() == ()


def test_an_audit_names_a_broken_signature_and_another_signer(ledger, publish, signing, tmp_path):
    secret, public = signing
    ledger.signed(publish("model", sign=secret))
    other = seepage.release.new_key(tmp_path / "other.key")
    [fault] = ledger.audit(signer=other)
    assert "signed with another key" in fault.reason
    # What was broken before it was noted has the right hash.
    leak = seepage.measure(*_fit(), noise_scale=1.0, ids=PEOPLE)
    signed = json.loads(publish("second", sign=secret).read_text())
    ledger.released(ledger.post(leak, title="third", units=YEARS), json.dumps({**signed, "people": 41}))
    faults = ledger.audit()
    assert [fault.reason for fault in faults] == [
        "was edited after it was signed: the signature does not belong to what it says"
    ]
    assert {fault.reason for fault in ledger.audit(signer=public)} == {faults[0].reason, "is not signed"}
