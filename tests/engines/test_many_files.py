"""Memory of a file before its rows are read does not grow with its footer."""

import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seepage.execution.storage import Files, _footer
from seepage.execution.storage._identity import Opened


def written(folder: Path, files: int, columns: int, rows: int = 6) -> Path:
    folder.mkdir()
    random = np.random.default_rng(0)
    for i in range(files):
        table = pa.table({f"x{j}": random.normal(size=rows) for j in range(columns)})
        pq.write_table(table, folder / f"{i:03d}.parquet", row_group_size=2)
    return folder


def test_footers_are_dropped_when_they_were_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: weakref.WeakSet[pq.FileMetaData] = weakref.WeakSet()
    most, read = 0, Opened.of

    def of(*given: Any) -> Opened:
        nonlocal most
        opened = read(*given)
        alive.add(opened.metadata)
        most = max(most, len(alive))
        return opened

    monkeypatch.setattr(Opened, "of", of)
    monkeypatch.setattr(_footer, "_PAGE", 20)
    files = Files.of(written(tmp_path / "data", 200, 3))
    assert len(files.units) == 200
    assert most <= 21


def test_a_unit_holds_as_much_of_a_wide_file_as_of_a_narrow_one(tmp_path: Path) -> None:
    narrow, wide = (
        len(pickle.dumps([unit.stamp for unit in Files.of(written(tmp_path / f"{n}", 20, n)).units])) for n in (2, 200)
    )
    assert wide < 1.1 * narrow
