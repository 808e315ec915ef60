"""What files take in memory is known before they are read: from footers, or a batch at a time."""

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from seepage.cli.input import _sources
from seepage.cli.input._decoded import decoded_bytes
from seepage.cli.input._sources import GivenSource
from seepage.errors import InputError
from seepage.execution.storage import Files

ROWS = 50_000
COLUMNS = {
    "one number": pa.array(np.full(ROWS, 7.0)),
    "many numbers": pa.array(np.random.default_rng(1).normal(size=ROWS)),
    "small numbers": pa.array(np.arange(ROWS) % 5, type=pa.int32()),
    "one word": pa.array(["a ward of some length"] * ROWS, type=pa.large_string()),
    "many words": pa.array([f"patient number {i:06d}" for i in range(ROWS)], type=pa.large_string()),
    "few words": pa.array([("north", "south", "west")[i % 3] for i in range(ROWS)], type=pa.large_string()),
}


@pytest.mark.parametrize("what", [*COLUMNS, "all"])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_it_is_what_the_arrays_take(tmp_path: Path, what: str, compression: str) -> None:
    table = pa.table(COLUMNS if what == "all" else {what: COLUMNS[what]})
    pq.write_table(table, tmp_path / "people.parquet", compression=compression, row_group_size=20_000)
    found = decoded_bytes(Files.of([tmp_path / "people.parquet"]))
    assert found == pytest.approx(table.nbytes, rel=0.2)


def test_a_small_file_of_large_columns_is_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({f"column {i}": COLUMNS["one number"] for i in range(20)})
    path = tmp_path / "people.parquet"
    pq.write_table(table, path)
    assert path.stat().st_size < 0.02 * table.nbytes
    monkeypatch.setattr(_sources, "MOST_IN_MEMORY", table.nbytes - 1)
    assert GivenSource.of([str(path)]).stream
    assert not GivenSource.of([str(path)], False).stream
    monkeypatch.setattr(_sources, "MOST_IN_MEMORY", table.nbytes)
    assert not GivenSource.of([str(path)]).stream


LARGE = pa.table({f"column {i}": COLUMNS["many numbers"] for i in range(30)})


def _write(path: Path, table: pa.Table) -> None:
    if path.name.startswith("stream"):
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=10_000)
    elif path.suffix in (".arrow", ".feather"):
        pa.feather.write_feather(table, str(path), compression="lz4" if path.suffix == ".feather" else "uncompressed")
    else:
        with pa.output_stream(str(path), compression="detect") as file:
            pa.csv.write_csv(table, file)


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.feather", "people.arrow", "stream.arrow"])
def test_other_formats_obey_the_same_limit_and_name_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    _write(path, LARGE)
    monkeypatch.setattr(_sources, "MOST_IN_MEMORY", round(1.1 * LARGE.nbytes))
    GivenSource.of([str(path)])
    monkeypatch.setattr(_sources, "MOST_IN_MEMORY", round(0.9 * LARGE.nbytes))
    with pytest.raises(InputError, match=r"Write it as Parquet.*--in-memory"):
        GivenSource.of([str(path)])
    assert not GivenSource.of([str(path)], False).stream


def test_a_packed_text_is_not_unpacked_to_see_that_it_is_large(tmp_path: Path) -> None:
    path = tmp_path / "people.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"age\n")
        for _ in range(150):
            file.write(b"1\n" * 500_000)
    assert path.stat().st_size < 1_000_000
    tracemalloc.start()
    with pytest.raises(InputError, match="more than 500 MB"):
        GivenSource.of([str(path)])
    assert tracemalloc.get_traced_memory()[1] < 100_000_000
    tracemalloc.stop()
