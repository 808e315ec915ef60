"""Small files that unpack to gigabytes, or never end: each gets an answer within the limits of a file."""

import json
import pickle
import subprocess
import sys

import pytest
from inspected import PEOPLE

from seepage.inspection import Finder, _budget

FILES = r"""
import gzip, io, json, pickle, struct, zipfile
import numpy as np, pyarrow as pa, pyarrow.parquet as pq

def written(write, *arguments, **options):
    file = io.BytesIO()
    write(*arguments, file, **options)
    return file.getvalue()

def batches(open_writer, batch, count):
    file = io.BytesIO()
    with open_writer(file, batch.schema) as writer:
        for _ in range(count):
            writer.write_batch(batch)
    return file.getvalue()

def shared_members():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("0", bytes(8 << 20))
        archive.filelist *= 3000
    return file.getvalue()

def table(k):
    return b"\x80\x02]q\x00(" + b"G\x3f\xf0\0\0\0\0\0\0" * k + b"e0](" + b"h\x00" * k + b"e."

def long_text(kind):
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(30_000, np.int32)), pa.array(["x" * 50_000], kind))

def in_lists(array):
    return pa.ListArray.from_arrays(pa.array(np.arange(len(array) + 1), pa.int32()), array)

zstd = pa.ipc.IpcWriteOptions(compression="zstd")
zeros = pa.record_batch({"a": np.zeros(10_000_000)})
long_list = pa.ListArray.from_arrays(pa.array([0, 100_000_000], pa.int32()), pa.nulls(100_000_000))
_, view, text = pa.array(["x" * 50_000], pa.string_view()).buffers()
many = [None, pa.py_buffer(view.to_pybytes()[:16] * 30_000), text]
views = pa.record_batch({"a": pa.Array.from_buffers(pa.string_view(), 30_000, many)})
head = json.dumps({f"a{i}": {"dtype": "F64", "shape": [8], "data_offsets": [0, 64]} for i in range(20_000)}).encode()
FILES = {
    "table.pkl": table(10_000),
    "itself.pkl": b"\x80\x02]q\x00(" + b"h\x00" * 100_000 + b"e.",
    "tuples.pkl": b"\x80\x02)" + b"\x85" * 50_000 + b".",
    "pickles.pkl": pickle.dumps(1.5) * 20_000,
    "text.parquet": written(pq.write_table, pa.table({"a": long_text(pa.string())})),
    "bytes.parquet": written(pq.write_table, pa.table({"a": long_text(pa.binary())})),
    "lists.parquet": written(pq.write_table, pa.table({"a": in_lists(long_text(pa.string()))})),
    "zeros.parquet": batches(lambda file, schema: pq.ParquetWriter(file, schema, compression="zstd"), zeros, 5),
    "zeros.feather": batches(lambda file, schema: pa.ipc.new_file(file, schema, options=zstd), zeros, 10),
    "text.feather": batches(pa.ipc.new_file, pa.record_batch({"a": long_text(pa.string())}), 1),
    "views.feather": batches(pa.ipc.new_file, views, 1),
    "nulls.feather": batches(pa.ipc.new_file, pa.record_batch({"a": long_list}), 1),
    "streams.gz": gzip.compress(b"") * 50_000,
    "members.zip": shared_members(),
    "many.safetensors": struct.pack("<Q", len(head)) + head + bytes(64),
}
"""

RUN = r"""
import resource, sys, time
sys.path[:0] = [PLACE]
from pathlib import Path
from inspected import PEOPLE
from seepage.inspection import Finder

finder = Finder.of(PEOPLE, ids="id")
finder.inspected_bytes(b"a,b,c\n" * 30, "warm.csv")
print(json.dumps(["", "", 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]), flush=True)
for name, content in FILES.items():
    start = time.thread_time()
    found = finder.inspected_bytes(content, name)
    seconds, memory = time.thread_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([name, found.verdict, seconds, memory]), flush=True)
"""


def test_files_end_within_seconds_and_a_gigabyte(tmp_path):
    import inspected

    (tmp_path / "files.py").write_text(FILES + RUN.replace("PLACE", repr(str(inspected.__file__.rpartition("/")[0]))))
    ran = subprocess.run([sys.executable, tmp_path / "files.py"], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    (_, _, _, before), *answers = map(json.loads, ran.stdout.splitlines())
    passed = ("table.pkl", "itself.pkl", "tuples.pkl", "nulls.feather")
    for name, verdict, seconds, memory in answers:
        assert seconds < 10, name
        assert memory - before < 1_000_000, name
        assert verdict == ("pass" if name in passed else "review"), name


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("small.json", json.dumps({f"k{i}": {"a": i, "b": -i} for i in range(20_000)}).encode()),
        ("words.txt", b"one two three 4 5 6\n" * 200_000),
    ],
)
def test_the_part_that_was_not_reached_in_time_is_named(monkeypatch, name, content):
    monkeypatch.setattr(_budget, "_MOST_SECONDS", 0.3)
    (finding,) = Finder.of(PEOPLE).inspected_bytes(content, name).findings
    assert (finding.kind, finding.word) == ("unread", "review")
    assert finding.where.startswith(name)
    assert "0.3 seconds are over" in finding.sentence()


def test_each_file_of_a_folder_has_limits_of_its_own(tmp_path):
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(1.5) * 11_000)
    PEOPLE.to_csv(tmp_path / "b.csv")
    found = Finder.of(PEOPLE).inspected(tmp_path)
    assert found.verdict == "fail"
    assert found.findings[0].where.startswith("b.csv")
    assert Finder.of(PEOPLE).inspected(tmp_path / "a.pkl").verdict == "review"
