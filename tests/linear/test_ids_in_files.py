"""Ids of people in files: each names one row, or the measurement is refused with what repeats itself."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import Ridge

import seepage
from seepage.linear.files import _ids
from seepage.linear.files._ids import hashed

ONE = seepage.Job(engine=seepage.engines.Local(workers=1))
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


@pytest.mark.parametrize(("kind", "at_once"), [*((kind, 16) for kind in KINDS), ("text", 2**26)])
def test_repeated_ids_are_refused_with_their_count(tmp_path, monkeypatch, kind, at_once):
    monkeypatch.setattr(_ids, "_MOST_AT_ONCE", at_once)
    random = np.random.default_rng(at_once + len(kind))
    unique, some = tmp_path / "unique", tmp_path / "repeated"
    unique.mkdir(), some.mkdir()
    _, model = _write(unique, random.permutation(80), kind)
    leak = seepage.measure(model, unique, target="y", ids="id", noise_scale=1.0, job=ONE)
    assert leak.information.count == 80
    drawn = random.integers(0, 60, 80)
    _, model = _write(some, drawn, kind)
    counts = np.bincount(drawn)
    expected = rf"holds {(counts > 1).sum()} ids more than once \(.* names {counts.max()} rows\).*in memory"
    with pytest.raises(seepage.InputError, match=expected):
        seepage.measure(model, some, target="y", ids="id", noise_scale=1.0, job=ONE)


def test_a_shared_hash_is_no_repetition(tmp_path, monkeypatch):
    _, model = _write(tmp_path, range(40), "text")
    # However badly ids were hashed, they are compared as they are in the end.
    monkeypatch.setattr(_ids, "_mixed", lambda values: values % np.uint64(5))
    assert seepage.measure(model, tmp_path, target="y", ids="id", noise_scale=1.0, job=ONE).information.count == 40


def test_a_missing_id_is_refused(tmp_path):
    frame, model = _write(tmp_path, range(40), "text")
    frame.assign(id=frame["id"].where(frame.index != 5)).to_parquet(tmp_path / "0.parquet")
    with pytest.raises(seepage.InputError, match="lacks the id of somebody"):
        seepage.measure(model, tmp_path / "0.parquet", target="y", ids="id", noise_scale=1.0, job=ONE)


def test_hashes_of_different_ids_differ_and_of_slices_agree():
    ids = pa.array([f"{i}" for i in range(200_000)])
    whole = hashed(ids, "id")
    assert len(np.unique(whole)) == len(ids)
    np.testing.assert_array_equal(hashed(ids[1000:3000], "id"), whole[1000:3000])
    np.testing.assert_array_equal(hashed(ids.dictionary_encode(), "id"), whole)
    assert len(np.unique(hashed(pa.array(np.arange(200_000)), "id"))) == 200_000
