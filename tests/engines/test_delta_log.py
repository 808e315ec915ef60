"""Of a Delta table in a store its last checkpoint and what came after it are read; names that it maps are followed."""

import json
import shutil
import struct
import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seepage
from engines.store import BUCKET, client, filesystem, object_store
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
    # Spark writes letters as they are, those too that end a line elsewhere.
    add["partitionValues"] = {"city": "Zürich\u2028Enge\x85"}
    (table / "_delta_log" / commit(12)).write_text(json.dumps({"add": add}, ensure_ascii=False), encoding="utf-8")
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


def marked(table: Path, rows: Sequence[int]) -> dict[str, Any]:
    """Write which rows of a file are gone beside it, and return what a log says of that."""
    from pyroaring import BitMap64

    bitmap = struct.pack("<I", 1681511377) + BitMap64(rows).serialize()
    content = b"\x01" + struct.pack(">I", len(bitmap)) + bitmap + struct.pack(">I", zlib.crc32(bitmap))
    (table / "ab").mkdir()
    (table / _placed("ab^-aqEH.-t@S}K{vb[*k^")).write_bytes(content)
    told = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1}
    return told | {"sizeInBytes": len(bitmap), "cardinality": len(rows)}


def with_sidecars(table: Path, kind: str, gone: Sequence[int]) -> None:
    """Replace a log by a checkpoint of the second version: a list of files that hold what is told of others."""
    log = table / "_delta_log"
    lines = [json.loads(line) for path in sorted(log.glob("*.json")) for line in path.read_text().splitlines()]
    adds = [line["add"] for line in lines if "add" in line]
    last = len(list(log.glob("*.json"))) - 1
    adds[0]["deletionVector"] = marked(table, gone)
    features = {
        "readerFeatures": ["deletionVectors", "v2Checkpoint"],
        "writerFeatures": ["deletionVectors", "v2Checkpoint"],
    }
    (meta,) = (line["metaData"] for line in lines if "metaData" in line)
    told: list[dict[str, Any]] = [
        {"checkpointMetadata": {"version": last}},
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"metaData": meta},
    ]
    (log / "_sidecars").mkdir()
    vector = pa.struct(
        [
            ("storageType", pa.string()),
            ("pathOrInlineDv", pa.string()),
            ("offset", pa.int32()),
            ("sizeInBytes", pa.int32()),
            ("cardinality", pa.int64()),
        ]
    )
    text = pa.map_(pa.string(), pa.string())
    of_file = pa.struct(
        [
            ("path", pa.string()),
            ("partitionValues", text),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("stats", pa.string()),
            ("deletionVector", vector),
        ]
    )
    for some in (adds[:2], adds[2:]):
        name = f"{uuid.uuid4()}.parquet"
        held = [{**add, "partitionValues": list(add["partitionValues"].items())} for add in some]
        pq.write_table(pa.table({"add": pa.array(held, of_file)}), log / "_sidecars" / name)
        size = (log / "_sidecars" / name).stat().st_size
        told.append({"sidecar": {"path": name, "sizeInBytes": size, "modificationTime": 1}})
    for path in log.glob("*.json"):
        if path.name != commit(last):
            path.unlink()
    (log / commit(last)).write_text(json.dumps({"commitInfo": {"operation": "WRITE", "timestamp": 1}}))
    checkpoint = log / f"{last:020d}.checkpoint.{uuid.uuid4()}.{kind}"
    if kind == "json":
        checkpoint.write_text("\n".join(map(json.dumps, told)))
        return
    names = ("checkpointMetadata", "protocol", "metaData", "sidecar")
    meta["format"]["options"] = meta["configuration"] = []
    kinds = {
        "protocol": pa.struct(
            [("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())]
            + [(name, pa.list_(pa.string())) for name in features]
        ),
        "metaData": pa.struct(
            [
                ("id", pa.string()),
                ("name", pa.string()),
                ("description", pa.string()),
                ("format", pa.struct([("provider", pa.string()), ("options", text)])),
                ("schemaString", pa.string()),
                ("partitionColumns", pa.list_(pa.string())),
                ("createdTime", pa.int64()),
                ("configuration", text),
            ]
        ),
    }
    columns = {name: pa.array([line.get(name) for line in told], kinds.get(name)) for name in names}
    pq.write_table(pa.table(columns), checkpoint)


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_checkpoint_of_several_files_is_read_here_and_in_a_store_with_what_was_deleted(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    table = tmp_path / "people"
    for i in range(4):
        deltalake.write_deltalake(str(table), arrow(people(10, start=10 * i, seed=i)), mode="append")
    with_sidecars(table, kind, gone := [0, 3, 9])
    # They are of the file that was written first.
    whole = sorted({*range(40)} - {*gone})
    assert rows(table) == whole
    assert rows(Path(shutil.copytree(table, tmp_path / "people [1]"))) == whole
    with object_store() as store:
        for path in table.rglob("*.*"):
            client(store).upload_file(str(path), BUCKET, f"lake/{path.relative_to(table)}")
        stored = Files.of(f"{BUCKET}/lake", filesystem(store))
        assert sorted(stored.column("person").tolist()) == whole
        # What is gone cannot be told without the file that tells it.
        client(store).delete_object(Bucket=BUCKET, Key=f"lake/{_placed('ab^-aqEH.-t@S}K{vb[*k^')}")
        with pytest.raises(
            seepage.errors.InputError, match=rf"{BUCKET}/lake cannot be read .*{BUCKET}/lake/ab/deletion_vector_"
        ):
            Files.of(f"{BUCKET}/lake", filesystem(store))
