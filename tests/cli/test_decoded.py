"""What Parquet files take in memory is known from their footers, before a row is read."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seepage.cli.input import _sources
from seepage.cli.input._decoded import decoded_bytes
from seepage.cli.input._sources import Source
from seepage.engines.storage import Files

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
    assert Source.of([str(path)]).stream
    assert not Source.of([str(path)], False).stream
    monkeypatch.setattr(_sources, "MOST_IN_MEMORY", table.nbytes)
    assert not Source.of([str(path)]).stream
