"""Names of people: the same person has one name, others have others, and it takes the key to make it."""

import hashlib
import re
import unicodedata
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
    written = unicodedata.normalize("NFC", text.decode()).strip()
    whole = re.fullmatch(r"([0-9]+)(\.0+)?", written)
    text = (str(int(whole[1])) if whole else written).encode()
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
        ["007"],
        ["7.0"],
        ["7.00", " 07.0"],
        ["7 ", "\t7", "0007\u00a0", "07"],
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
    assert {bytes(name) for name in NAMES.of(ids)} == {one_by_one(b"7")}


def test_names_of_many_are_those_of_each() -> None:
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("aé0"), random.integers(1, 24))) for _ in range(500)]
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
    texts = [b"\0", b"\0\0", b"a", b"a\0", b"a" * 15, b"a" * 16, b"a" * 15 + b"\0"]
    many = [*texts, *(str(i).encode() for i in range(100_000))]
    assert len({bytes(name) for name in NAMES.of(many)}) == len(many)
    assert bytes(Names(b"another secret of as many").of([7])[0]) != bytes(NAMES.of([7])[0])


@pytest.mark.parametrize("given", [None, True, 1.5, float("nan"), float("inf"), pd.NA, pd.Timestamp("2026-01-01")])
def test_what_names_nobody_is_refused(given) -> None:
    for ids in ([given], [given, 7], ["x", given]):
        with pytest.raises(seepage.errors.InputError, match=r"names nobody|is no id"):
            NAMES.of(ids)


def test_bytes_that_are_no_text_are_compared_as_they_are() -> None:
    one, other, text = b"\xff\x00\x20", b"\xff\x00", b"caf\xc3\xa9 "
    found = NAMES.of([one, other, text])
    assert len(set(found.tolist())) == 3
    # Text among them is text, whoever it stands beside.
    assert found[2] == NAMES.of(["caf\u00e9"])[0] == NAMES.of([text])[0]
    assert found[0] == NAMES.of([one])[0]


@pytest.mark.parametrize("given", ["", " ", "\u00a0\t", b""])
def test_an_id_without_a_letter_is_refused(given) -> None:
    for ids in ([given], [given, "x"], [given, 7]):
        with pytest.raises(seepage.errors.InputError, match="names nobody"):
            NAMES.of(ids)


def test_letters_are_composed_and_case_and_signs_count() -> None:
    assert len({bytes(name) for name in NAMES.of(["Zo\u00eb", "Zoe\u0308", " Zo\u00eb"])}) == 1
    others = ["Zo\u00eb", "zo\u00eb", "Zoe", "0", "-7", "7", "7a", "07a", "0x7", "7.5", "7.", "\u0667"]
    assert len({bytes(name) for name in NAMES.of(others)}) == len(others)
    assert bytes(NAMES.of(["000"])[0]) == bytes(NAMES.of([0])[0])


def test_another_key_makes_other_names_of_names_without_any_id() -> None:
    ids = [*range(50), "a long name of somebody who has many", "Zo\u00eb"]
    newer = NAMES.followed_by(b"another secret of as many")
    newest = newer.followed_by(b"and a third secret of many")
    assert (newer.renamed(NAMES.of(ids)) == newer.of(ids)).all()
    assert (newest.renamed(newer.of(ids)) == newest.of(ids)).all()
    every = [bytes(name) for names in (NAMES, newer, newest, Names(newer.key)) for name in names.of(ids)]
    assert len(set(every)) == len(every)


def test_what_is_hidden_is_shown_to_the_key_and_as_what_it_is_about() -> None:
    hidden = NAMES.hidden(b"something", "about this")
    assert b"something" not in hidden
    assert NAMES.shown(hidden, "about this") == b"something"
    assert NAMES.shown(hidden, "about that") is None
    assert Names(b"another secret of as many").shown(hidden, "about this") is None
    assert NAMES.shown(hidden[:-1] + bytes([hidden[-1] ^ 1]), "about this") is None
    assert NAMES.shown(b"", "about this") is None


@pytest.mark.parametrize("size", [0, 1, 4087, 4088, 4089, 100_000, 2_000_000])
def test_what_is_hidden_comes_back_whole_and_how_long_it_is_shows_in_steps(size):
    content = bytes(range(256)) * (size // 256) + bytes(size % 256)
    hidden = NAMES.hidden(content, "about this")
    assert NAMES.shown(hidden, "about this") == content
    assert len(hidden) <= max(4096, 1.04 * size) + 4096
    assert len({len(NAMES.hidden(bytes(size + more), "about this")) for more in range(100)}) <= 2


def test_a_person_who_comes_twice_is_refused_also_from_one_file_to_the_next() -> None:
    with Spool(4) as spool:
        for text in ("007", "7"):
            spool.put(NAMES.of([text]), {"a": np.ones(1)})
        with pytest.raises(seepage.errors.InputError, match="are one person in a ledger"):
            list(spool.buckets())


def test_a_spool_gives_back_what_was_put_into_it_bucket_by_bucket() -> None:
    random = np.random.default_rng(1)
    parts = []
    with Spool(8) as spool:
        for number in range(5):
            names = NAMES.of(np.arange(200) + 200 * number)
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
