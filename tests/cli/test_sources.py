"""Large files of rows are streamed, or refused with the way out."""

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from seepage.cli.input import _sources
from seepage.cli.input._sources import GivenSource
from seepage.errors import InputError

PEOPLE = pd.DataFrame({f"column {i}": np.full(50_000, 7.0) for i in range(20)})
LIMIT = 8 * 50_000 * 20


def test_a_small_file_of_large_columns_is_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.parquet"
    PEOPLE.to_parquet(path)
    assert path.stat().st_size < 0.02 * LIMIT
    monkeypatch.setattr(_sources, "MOST_IN_MEMORY", LIMIT - 1)
    assert GivenSource.of([str(path)]).stream
    assert not GivenSource.of([str(path)], False).stream
    monkeypatch.setattr(_sources, "MOST_IN_MEMORY", LIMIT)
    assert not GivenSource.of([str(path)]).stream


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz"])
def test_text_is_refused_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = tmp_path / name
    PEOPLE.to_csv(path, index=False)
    size = len(PEOPLE.to_csv(index=False))
    monkeypatch.setattr(_sources, "MOST_IN_MEMORY", size)
    GivenSource.of([str(path)])
    monkeypatch.setattr(_sources, "MOST_IN_MEMORY", size - 1)
    with pytest.raises(InputError, match=r"Write it as Parquet.*--in-memory"):
        GivenSource.of([str(path)])
    assert not GivenSource.of([str(path)], False).stream


def test_a_packed_text_is_not_unpacked_to_see_that_it_is_large(tmp_path: Path) -> None:
    path = tmp_path / "people.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"age\n")
        for _ in range(51):
            file.write(b"1\n" * 5_000_000)
    tracemalloc.start()
    with pytest.raises(InputError, match="more than 500 MB"):
        GivenSource.of([str(path)])
    assert tracemalloc.get_traced_memory()[1] < 100_000_000
    tracemalloc.stop()
