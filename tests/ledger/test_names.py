"""Names of people: the same person has one name, others have others, and it takes the key to make it."""

import hashlib
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import seepage
from seepage.ledger._buckets import BucketSums, Spool, bucket_of
from seepage.ledger._names import Names

KEY = b"a secret of twenty-six let"
NAMES = Names(KEY)


def one_by_one(text: bytes) -> bytes:
    """The name of one id, block by block, as the module says it is made."""
    if len(text) > 15:
        key = hashlib.sha256(b"people of long names " + KEY).digest()
        return hashlib.blake2b(text, digest_size=16, key=key).digest()
    block = text + bytes(15 - len(text)) + bytes([len(text)])
    cipher = Cipher(algorithms.AES(hashlib.sha256(b"people " + KEY).digest()), modes.ECB()).encryptor()
    return bytes(a ^ b for a, b in zip(cipher.update(block), block, strict=True))


@pytest.mark.parametrize(
    "ids",
    [
        [7],
        ["7"],
        [7.0],
        [b"7"],
        (each for each in [7]),
        [np.int8(7)],
        [Decimal(7)],
        np.array([7], dtype=np.uint64),
        np.array([7.0], dtype=np.float32),
        np.array(["7"]),
        np.array([7], dtype=object),
        pd.Series(["7"]),
        pd.Index([7]),
        pa.array([7]),
        pd.array([7], dtype="Int64"),
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_a_person_has_one_name_however_the_id_is_written(ids) -> None:
    assert [bytes(name) for name in NAMES.of(ids)] == [one_by_one(b"7")]


def test_names_of_many_are_those_of_each() -> None:
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("aé0"), random.integers(0, 24))) for _ in range(500)]
    for some in (texts, [text for text in texts if len(text.encode()) > 15], [text for text in texts if len(text) < 7]):
        assert [bytes(name) for name in NAMES.of(some)] == [one_by_one(text.encode()) for text in some]
    mixed = [3, "x", UUID(int=5), -(2**70), 2.0**60, np.int64(4)]
    written = ["3", "x", str(UUID(int=5)), str(-(2**70)), str(2**60), "4"]
    assert [bytes(name) for name in NAMES.of(mixed)] == [one_by_one(text.encode()) for text in written]
    # A slice of a longer array starts in the midst of its bytes.
    assert [bytes(name) for name in NAMES.of(pa.array(texts)[7:9].to_numpy(zero_copy_only=False))] == [
        one_by_one(text.encode()) for text in texts[7:9]
    ]
    assert len(NAMES.of([])) == 0


def test_nobody_shares_a_name() -> None:
    # Ends of zeros are no part of the padding.
    texts = [b"", b"\0", b"\0\0", b"a", b"a\0", b"a" * 15, b"a" * 16, b"a" * 15 + b"\0"]
    many = [*texts, *(str(i).encode() for i in range(100_000))]
    assert len({bytes(name) for name in NAMES.of(many)}) == len(many)
    assert bytes(Names(b"another secret of as many").of([7])[0]) != bytes(NAMES.of([7])[0])


@pytest.mark.parametrize("given", [None, True, 1.5, float("nan"), float("inf"), pd.NA, pd.Timestamp("2026-01-01")])
def test_what_names_nobody_is_refused(given) -> None:
    for ids in ([given], [given, 7], ["x", given]):
        with pytest.raises(seepage.errors.InputError, match=r"names nobody|is no id"):
            NAMES.of(ids)


def test_a_spool_gives_back_what_was_put_into_it_bucket_by_bucket() -> None:
    random = np.random.default_rng(1)
    parts = []
    with Spool(8) as spool:
        for number in range(5):
            names = NAMES.of(random.integers(0, 300, 200))
            columns = {"a": random.random(200)} | ({"b": random.random(200)} if number != 2 else {"b": np.zeros(200)})
            parts.append((names, columns))
            spool.put(names, columns)
        found = dict(spool.buckets())
    every = np.concatenate([names for names, _ in parts])
    whole = BucketSums.of(every, {name: np.concatenate([columns[name] for _, columns in parts]) for name in "ab"})
    assert list(found) == sorted(set(bucket_of(every, 8).tolist()))
    assert (np.concatenate([sums.names for sums in found.values()]) == whole.names).all()
    for name in "ab":
        joined = np.concatenate([sums.columns[name] for sums in found.values()])
        np.testing.assert_allclose(joined, whole.columns[name], rtol=1e-12)
