"""Of a Delta table in a store its last checkpoint and what came after it are read; names that it maps are followed."""

import json
import uuid
from pathlib import Path

import deltalake
import numpy as np
import pytest

import seepage
from engines.tables import arrow, people
from seepage.execution.storage import Files, _delta
from seepage.execution.storage._delta_log import _placed, tail, vectors


def commit(version: int) -> str:
    return f"{version:020d}.json"


def test_a_version_is_told_by_its_last_checkpoint_and_what_came_after() -> None:
    commits = [commit(i) for i in range(30)]
    log = [*commits, f"{10:020d}.checkpoint.parquet", f"{20:020d}.checkpoint.parquet", "_last_checkpoint"]
    assert sorted(tail(log, None)) == sorted([f"{20:020d}.checkpoint.parquet", *commits[20:]])
    assert sorted(tail(log, 13)) == sorted([f"{10:020d}.checkpoint.parquet", *commits[10:14]])
    assert sorted(tail(log, 4)) == commits[:5]
    # One that is not there is told by all of them which is the newest.
    assert sorted(tail(log, 99)) == sorted(log)


def test_a_checkpoint_that_lacks_a_part_is_none() -> None:
    parts = [f"{10:020d}.checkpoint.{i:010d}.{3:010d}.parquet" for i in (1, 2, 3)]
    commits = [commit(i) for i in range(12)]
    assert sorted(tail([*commits, *parts], None)) == sorted([*parts, *commits[10:]])
    assert sorted(tail([*commits, *parts[:2]], None)) == commits


def rows(source: object) -> list[int]:
    return sorted(Files.of(source).column("person").tolist())  # type: ignore[arg-type]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people"
    for i in range(12):
        deltalake.write_deltalake(str(path), arrow(people(10, start=10 * i, seed=i)), mode="append")
        if i == 7:
            deltalake.DeltaTable(str(path)).create_checkpoint()
    # The log of a folder with such a name is copied like that of a store.
    return path.rename(tmp_path / "people [1]")


def test_every_version_is_whole(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[list[str]] = []

    def noted(*given: object) -> list[str]:
        copied.append(tail(*given))  # type: ignore[arg-type]
        return copied[-1]

    monkeypatch.setattr(_delta, "tail", noted)
    for version in range(12):
        assert rows(seepage.engines.Snapshot(table, version=version)) == list(range(10 * version + 10))
    assert rows(table) == list(range(120))
    assert [len(each) for each in copied] == [*range(1, 8), 2, 3, 4, 5, 6, 6]
    with pytest.raises(seepage.errors.InputError, match="newest version is 11"):
        rows(seepage.engines.Snapshot(table, version=40))


def test_a_vacuumed_version_says_so(tmp_path: Path) -> None:
    path = str(tmp_path / "people")
    deltalake.write_deltalake(path, arrow(people(10)))
    deltalake.write_deltalake(path, arrow(people(10, start=10)), mode="overwrite")
    deltalake.DeltaTable(path).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(seepage.errors.InputError, match=r"version 0 of .*people was vacuumed.*Name a newer version"):
        rows(seepage.engines.Snapshot(path, version=0))
    assert rows(path) == list(range(10, 20))


def test_rows_that_were_deleted_are_found_by_the_name_of_their_file(table: Path) -> None:
    # As Delta writes it: 20 letters for a UUID, after a folder if there is one.
    assert _placed("ab^-aqEH.-t@S}K{vb[*k^") == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert vectors(table / "_delta_log") == set()
    add = {"path": "a.parquet", "deletionVector": {"storageType": "u", "pathOrInlineDv": "^-aqEH.-t@S}K{vb[*k^"}}
    (table / "_delta_log" / commit(12)).write_text(json.dumps({"add": add}))
    assert vectors(table / "_delta_log") == {f"deletion_vector_{uuid.UUID('d2c639aa-8816-431a-aaf6-d3fe2512ff61')}.bin"}


def test_a_table_may_call_its_columns_otherwise_than_its_files(tmp_path: Path) -> None:
    frame = people(60)
    path = tmp_path / "people"
    # Two names were exchanged, one is new, and the column of a partition was renamed.
    inside = {"person": "person", "age": "income", "income": "age", "cost": "col-7f", "region": "old"}
    held = arrow(frame[list(inside)]).rename_columns(list(inside.values()))
    deltalake.write_deltalake(str(path), held, partition_by=["old"])
    log = path / "_delta_log" / commit(0)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
        if "metaData" in line:
            schema = json.loads(line["metaData"]["schemaString"])
            for i, field in enumerate(schema["fields"]):
                known = {"delta.columnMapping.id": i + 1, "delta.columnMapping.physicalName": field["name"]}
                field |= {"metadata": known, "name": next(k for k, v in inside.items() if v == field["name"])}
            line["metaData"] |= {"schemaString": json.dumps(schema), "partitionColumns": ["region"]}
            line["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}
    log.write_text("\n".join(map(json.dumps, lines)))
    found = Files.of(path).table(list(inside)).to_pandas().sort_values("person", ignore_index=True)
    for name in inside:
        np.testing.assert_array_equal(found[name], frame[name])
