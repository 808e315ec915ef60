"""What is held of a file before its rows are read does not grow with its footer, and a store is asked little of it."""

import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from here import Here
from sklearn.linear_model import Ridge

import seepage
from engines.store import BUCKET, Faults, client, faulty, filesystem, object_store
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


@pytest.mark.parametrize("columns", [2, 40])
def test_a_small_file_in_a_store_is_asked_for_once(
    tmp_path: Path, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    folder, faults = written(tmp_path / "data", 3, columns), Faults()
    with object_store() as store, faulty(store, faults) as address:
        for path in folder.iterdir():
            client(store).upload_file(str(path), BUCKET, f"rows/{path.name}")
        files = Files.of(f"{BUCKET}/rows", filesystem(address))
        faults.requests = 0
        read = [batch for unit in files.units for batch in files.store.read(unit, files.schema.names, 100)]
    assert sum(batch.num_rows for batch in read) == 18
    # Its size and name, and all of its bytes.
    assert faults.requests == 3 * 2


def test_a_job_asks_a_store_for_rows_alone_and_one_that_continues_for_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    folder = written(tmp_path / "data", 5, 3)
    people = pa.concat_tables(pq.read_table(path) for path in sorted(folder.iterdir())).to_pandas()
    model = Ridge().fit(people[["x0", "x1"]], people["x2"])
    asked: list[str] = []

    def noted(method: str, path: str) -> bool:
        asked.append(f"{method} {path}")
        return False

    with object_store() as store, faulty(store, Faults(refusal=(500, ""), refuses=noted)) as address:
        for path in folder.iterdir():
            client(store).upload_file(str(path), BUCKET, f"rows/{path.name}")
        for resume in (False, True):
            asked.clear()
            job = seepage.engines.Job(Here(), f"{BUCKET}/out", resume=resume, filesystem=filesystem(address))
            leak = seepage.measure(model, f"{BUCKET}/rows", target="x2", noise_scale=0.5, job=job)
            rows, results = (
                [each.split()[0] for each in asked if f"{place}004" in each]
                for place in ("/rows/", "/out/examples/000")
            )
            # To plan, to add up and, if it was not done before, to score: how large a file is, and all of it.
            assert rows == ["HEAD", "GET"] * (2 if resume else 3)
            assert (results[0] == "HEAD" and "PUT" not in results) if resume else results == ["PUT"]
    assert leak.information.count == 30
