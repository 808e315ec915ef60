"""Ids of people in files: each names one row, or the measurement is refused with what repeats itself."""

import uuid
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from here import Here
from sklearn.linear_model import Ridge

import seepage
from seepage.execution.storage import FileStore
from seepage.linear.files import _ids
from seepage.linear.files._ids import hashed

ONE = seepage.engines.Job(engine=seepage.engines.Local(workers=1))
KINDS = {
    "text": lambda i: f"person {i}",
    "numbers": lambda i: int(i) - 20,
    "fractions": lambda i: i / 7,
    "days": lambda i: pd.Timestamp("2020-01-01") + pd.Timedelta(days=int(i)),
}


def _write(folder, ids, kind):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(len(ids), 3)), columns=["a", "b", "y"])
    frame["id"] = [KINDS[kind](i) for i in ids]
    for part in range(3):
        frame.iloc[part::3].to_parquet(folder / f"{part}.parquet", row_group_size=7)
    return frame, Ridge().fit(frame[["a", "b"]], frame["y"])


@pytest.mark.parametrize("kind", KINDS)
def test_repeated_ids_are_refused_with_their_count(tmp_path, kind):
    random = np.random.default_rng(len(kind))
    unique, some = tmp_path / "unique", tmp_path / "repeated"
    unique.mkdir(), some.mkdir()
    _, model = _write(unique, random.permutation(80), kind)
    leak = seepage.measure(model, unique, target="y", ids="id", noise_scale=1.0, job=ONE)
    assert leak.information.count == 80
    drawn = random.integers(0, 60, 80)
    _, model = _write(some, drawn, kind)
    counts = np.bincount(drawn)
    expected = rf"holds {(counts > 1).sum()} ids more than once \(.* names {counts.max()} rows\).*in memory"
    with pytest.raises(seepage.errors.InputError, match=expected):
        seepage.measure(model, some, target="y", ids="id", noise_scale=1.0, job=ONE)


def _reads(monkeypatch):
    """Count how often each unit is read, by a job that runs here."""
    read, seen = FileStore.read, Counter()

    def counted(store, unit, columns, batch_size):
        seen[unit.index] += list(columns) == ["id"]
        return read(store, unit, columns, batch_size)

    monkeypatch.setattr(FileStore, "read", counted)
    return seen


def test_ids_are_read_once(tmp_path, monkeypatch):
    _, model = _write(tmp_path, range(80), "text")
    seen = _reads(monkeypatch)
    seepage.measure(model, tmp_path, target="y", ids="id", noise_scale=1.0, job=seepage.engines.Job(engine=Here()))
    assert set(seen.values()) == {1}


def test_ids_that_repeat_are_read_twice(tmp_path, monkeypatch):
    # The same person in the first file and in the last.
    _, model = _write(tmp_path, [0, *range(1, 79), 0][:80], "text")
    seen = _reads(monkeypatch)
    with pytest.raises(seepage.errors.InputError, match=r"holds 1 ids more than once .'person 0' names 2 rows"):
        seepage.measure(model, tmp_path, target="y", ids="id", noise_scale=1.0, job=seepage.engines.Job(engine=Here()))
    assert set(seen.values()) == {2}


def test_a_shared_hash_is_no_repetition(tmp_path, monkeypatch):
    _, model = _write(tmp_path, range(40), "text")
    # However badly ids were hashed, they are compared as they are in the end.
    monkeypatch.setattr(_ids, "_mixed", lambda values: values % np.uint64(5))
    assert seepage.measure(model, tmp_path, target="y", ids="id", noise_scale=1.0, job=ONE).information.count == 40


def test_a_missing_id_is_refused(tmp_path):
    frame, model = _write(tmp_path, range(40), "text")
    frame.assign(id=frame["id"].where(frame.index != 5)).to_parquet(tmp_path / "0.parquet")
    with pytest.raises(seepage.errors.InputError, match="lacks the id of somebody"):
        seepage.measure(model, tmp_path / "0.parquet", target="y", ids="id", noise_scale=1.0, job=ONE)


@pytest.mark.parametrize("coded", [False, True])
def test_a_number_that_is_none_names_nobody(tmp_path, coded):
    frame, model = _write(tmp_path, range(40), "fractions")
    # Whoever writes Arrow tables of numpy's arrays has no null for it.
    ids = pa.array(np.where(frame.index < 38, frame["id"], np.nan))
    assert not ids.null_count
    held = pa.Table.from_pandas(frame.drop(columns="id"), preserve_index=False)
    pq.write_table(held.append_column("id", ids.dictionary_encode() if coded else ids), tmp_path / "0.parquet")
    with pytest.raises(seepage.errors.InputError, match="lacks the id of somebody"):
        seepage.measure(model, tmp_path / "0.parquet", target="y", ids="id", noise_scale=1.0, job=ONE)


def test_zero_is_one_id_whatever_its_sign(tmp_path):
    frame, model = _write(tmp_path, range(40), "fractions")
    frame.assign(id=np.where(frame.index == 7, -0.0, frame["id"])).to_parquet(tmp_path / "0.parquet")
    with pytest.raises(seepage.errors.InputError, match=r"holds 1 ids more than once .*0\.0 names 2 rows"):
        seepage.measure(model, tmp_path / "0.parquet", target="y", ids="id", noise_scale=1.0, job=ONE)


def _uuids():
    # Some end in zeros, which are digits like others.
    drawn = [uuid.UUID(bytes=np.random.default_rng(i).bytes(16)) for i in range(38)]
    return [uuid.UUID(int=5 << 64), uuid.UUID(int=0), *drawn]


BYTES = {
    "uuid": (pa.uuid(), str),
    "fixed": (pa.binary(16), lambda each: each.bytes),
    "large": (pa.large_binary(), lambda each: each.bytes),
    "view": (pa.binary_view(), lambda each: each.bytes),
}


def _written_with(folder, ids):
    frame, model = _write(folder, range(40), "text")
    for path in folder.iterdir():
        path.unlink()
    plain = pa.Table.from_pandas(frame[["a", "b", "y"]], preserve_index=False)
    pq.write_table(plain.append_column("id", ids), folder / "people.parquet", row_group_size=7)
    return frame, model


@pytest.mark.parametrize("kind", BYTES)
def test_ids_may_be_uuids_or_bytes(tmp_path, kind):
    held, shown = BYTES[kind]
    known, people, output = _uuids(), tmp_path / "people", tmp_path / "leakage"
    people.mkdir()
    frame, model = _written_with(people, pa.array([each.bytes for each in known], held))
    job = seepage.engines.Job(engine=seepage.engines.Local(workers=1), output=output)
    leak = seepage.measure(model, people, target="y", ids="id", noise_scale=1.0, job=job)
    expected = seepage.measure(model, frame[["a", "b"]], frame["y"], noise_scale=1.0, ids=known)
    found = leak.examples.to_table().to_pandas()
    assert found["id"].tolist() == [shown(each) for each in known]
    np.testing.assert_allclose(found["eta"], expected.examples["eta"], rtol=1e-9)
    assert leak.most_exposed(1)["id"].to_pylist() == [shown(expected.most_exposed(1).index[0])]
    for some in (known[:2], known[5:9]):
        assert leak.joint_information_loss(ids=[shown(each) for each in some]) == pytest.approx(
            expected.joint_information_loss(ids=some), rel=1e-9
        )
    if kind == "uuid":
        assert leak.joint_information_loss(ids=known[:3]) == pytest.approx(
            expected.joint_information_loss(ids=known[:3]), rel=1e-9
        )
    promised = {"error_floor": {"a": 0.01}, "units": {"a": "years"}}
    ledger = seepage.ledger.Ledger.create(tmp_path / "ledger", key=b"k" * 32, **promised)
    ledger.post(leak, title="first", units={"a": "years"})
    # A ledger knows UUIDs by their text, whether they were read from files or were in memory.
    assert ledger.knows(known if kind == "uuid" else [each.bytes for each in known]).all()


def test_a_uuid_that_is_repeated_or_missing_is_refused(tmp_path):
    known = [each.bytes for each in _uuids()]
    _, model = _written_with(tmp_path, pa.array([known[3], *known[1:]], pa.uuid()))
    with pytest.raises(seepage.errors.InputError, match=f"'{uuid.UUID(bytes=known[3])}' names 2 rows"):
        seepage.measure(model, tmp_path, target="y", ids="id", noise_scale=1.0, job=ONE)
    _, model = _written_with(tmp_path, pa.array([*known[:20], None, *known[21:]], pa.uuid()))
    with pytest.raises(seepage.errors.InputError, match="lacks the id of somebody"):
        seepage.measure(model, tmp_path, target="y", ids="id", noise_scale=1.0, job=ONE)


def test_uuids_of_an_arrow_column_are_those_of_a_list():
    known = _uuids()
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "y"])
    model = Ridge().fit(frame[["a", "b"]], frame["y"])
    for ids in (pa.array([each.bytes for each in known], pa.uuid()), known):
        leak = seepage.measure(model, frame[["a", "b"]], frame["y"], noise_scale=1.0, ids=ids)
        assert leak.examples.index.tolist() == known
    # Bytes keep the zeros that they end in.
    raw = [b"a", b"a\0", *(each.bytes for each in known[2:])]
    leak = seepage.measure(model, frame[["a", "b"]], frame["y"], noise_scale=1.0, ids=raw)
    assert leak.examples.index.tolist() == raw


def test_hashes_of_different_ids_differ_and_of_slices_agree():
    ids = pa.array([f"{i}" for i in range(200_000)])
    whole = hashed(ids, "id")
    assert len(np.unique(whole)) == len(ids)
    np.testing.assert_array_equal(hashed(ids[1000:3000], "id"), whole[1000:3000])
    np.testing.assert_array_equal(hashed(ids.dictionary_encode(), "id"), whole)
    assert len(np.unique(hashed(pa.array(np.arange(200_000)), "id"))) == 200_000
