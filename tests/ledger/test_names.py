"""Pseudonyms: one person has one, other people have others, and only the key makes them."""

import hashlib
import hmac
import re
import unicodedata
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import Ridge

import seepage
from seepage.ledger._names import Names
from seepage.ledger._sums import PersonSums, added, bucket_of

KEY = b"a secret of twenty-six let"
NAMES = Names(KEY)


def one_by_one(text: str) -> bytes:
    """The pseudonym of one id, as the module says it is made."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = "".join(str(unicodedata.decimal(letter, letter)) for letter in text if unicodedata.category(letter) != "Cf")
    whole = re.fullmatch(r"([0-9]+)(\.0+)?", text := text.strip())
    text = str(int(whole[1])) if whole else text
    key = hmac.digest(KEY, b"people", "sha256")
    return hashlib.blake2b(text.encode(), digest_size=16, key=key).digest()


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
        ["\uff17", "\ufeff7", "7\u200b", "\u0667", "0\uff17", "\uff17.0"],
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
    assert {bytes(name) for name in NAMES.of(ids)} == {one_by_one("7")}


def test_names_of_many_are_those_of_each() -> None:
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("aé0"), random.integers(1, 24))) for _ in range(500)]
    for some in (texts, [text for text in texts if len(text.encode()) > 15], [text for text in texts if len(text) < 7]):
        assert [bytes(name) for name in NAMES.of(some)] == [one_by_one(text) for text in some]
    mixed = [3, "x", UUID(int=5), -(2**70), 2.0**60, np.int64(4)]
    written = ["3", "x", str(UUID(int=5)), str(-(2**70)), str(2**60), "4"]
    assert [bytes(name) for name in NAMES.of(mixed)] == [one_by_one(text) for text in written]
    assert [bytes(name) for name in NAMES.of(pa.array(texts)[7:9].to_numpy(zero_copy_only=False))] == [
        one_by_one(text) for text in texts[7:9]
    ]
    assert len(NAMES.of([])) == 0


def test_two_people_share_no_pseudonym() -> None:
    texts = ["\0", "\0\0", "a", "a\0", "a" * 15, "a" * 16, "a" * 15 + "\0"]
    many = [*texts, *(str(i) for i in range(100_000))]
    assert len({bytes(name) for name in NAMES.of(many)}) == len(many)
    assert bytes(Names(b"another secret of as many").of([7])[0]) != bytes(NAMES.of([7])[0])


@pytest.mark.parametrize("given", [None, True, 1.5, float("nan"), float("inf"), pd.NA, pd.Timestamp("2026-01-01")])
def test_a_missing_or_broken_number_is_refused(given) -> None:
    for ids in ([given], [given, 7], ["x", given]):
        with pytest.raises(seepage.errors.InputError, match="is no id"):
            NAMES.of(ids)


def test_bytes_are_text_or_hexadecimal() -> None:
    one, other, text = b"\xff\x00\x20", b"\xff\x00", b"caf\xc3\xa9 "
    names = NAMES.of([one, other, text])
    assert len(set(names.tolist())) == 3
    assert names[2] == NAMES.of(["caf\u00e9"])[0] == NAMES.of([text])[0]
    assert names[0] == NAMES.of([one])[0] == NAMES.of(["ff0020"])[0]


@pytest.mark.parametrize("given", ["", " ", "\u00a0\t", b""])
def test_an_id_without_a_letter_is_refused(given) -> None:
    for ids in ([given], [given, "x"], [given, 7]):
        with pytest.raises(seepage.errors.InputError, match="is empty"):
            NAMES.of(ids)


def test_case_and_forms_of_letters_do_not_count_and_signs_do() -> None:
    same = ["Zo\u00eb", "Zoe\u0308", " zo\u00eb", "ZO\u00cb", "\ufeffzo\u00eb", "Zo\u200b\u00eb", "\uff3ao\u00eb"]
    assert len({bytes(name) for name in NAMES.of(same)}) == 1
    assert len({bytes(name) for name in NAMES.of(["P7", "p7", "p7\u200b", "\ufeffP7", "P\uff17"])}) == 1
    assert len({bytes(name) for name in NAMES.of(["stra\u00dfe", "STRASSE"])}) == 1
    others = ["Zo\u00eb", "Zoe", "0", "-7", "7", "7a", "07a", "0x7", "7.5", "7."]
    assert len({bytes(name) for name in NAMES.of(others)}) == len(others)
    assert bytes(NAMES.of(["000"])[0]) == bytes(NAMES.of([0])[0])


def test_tombstones_are_other_pseudonyms() -> None:
    names = NAMES.of(range(50))
    tombstones = NAMES.tombstones(names)
    assert len({*tombstones, *(bytes(name).hex() for name in names)}) == 100
    assert Names(b"another secret of as many").tombstones(names) != tombstones


@pytest.mark.parametrize("ids", [["007", "7"], ["P7", "p7"]])
def test_two_ids_of_one_release_that_are_one_person_are_refused(tmp_path, ids) -> None:
    ledger = seepage.ledger.Ledger.create(tmp_path / "ledger.db", key=KEY, eta=1e3)
    x, y = np.random.default_rng(0).normal(size=(2, 9, 1))
    ids = [*ids, *(f"other {i}" for i in range(7))]
    leak = seepage.measure(Ridge().fit(x, y[:, 0]), x, y[:, 0], noise_scale=1.0, ids=ids)
    for ask in (ledger.preview, lambda leak: ledger.post(leak, title="?")):
        with pytest.raises(seepage.errors.InputError, match=f"{ids[0]!r} and {ids[1]!r} of this release"):
            ask(leak)
    assert len(ledger.entries) == 1


def test_sums_are_written_and_read_and_cut_into_buckets() -> None:
    random = np.random.default_rng(1)
    sums = PersonSums.of(NAMES.of(range(1000)), {"a": random.random(1000), "b": random.random(1000)})
    assert (np.sort(sums.names.view("S16")) == sums.names.view("S16")).all()
    parts = dict(sums.buckets())
    assert list(parts) == sorted(set(bucket_of(sums.names).tolist()))
    again = [PersonSums.read(part.content()) for part in parts.values()]
    assert (np.concatenate([part.names for part in again]) == sums.names).all()
    for name in "ab":
        np.testing.assert_array_equal(np.concatenate([part.columns[name] for part in again]), sums.columns[name])
    halves = [PersonSums(sums.names[part], {"a": sums.columns["a"][part]}) for part in (slice(600), slice(400, 1000))]
    expected = sums.columns["a"] * (1 + (np.arange(1000) >= 400) * (np.arange(1000) < 600))
    np.testing.assert_allclose(added(PersonSums.nobody(), added(*halves)).columns["a"], expected, rtol=1e-15)
