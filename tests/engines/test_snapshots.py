"""A table that keeps its past is read as the state that was asked for, with the numbers of that state in memory."""

import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import FileScanTask, Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType
from sklearn.linear_model import Ridge

import seepage
from engines.tables import FEATURES, arrow, catalog, people
from seepage.engines import Local
from seepage.execution.storage import Files
from seepage.execution.storage._iceberg import deleted_rows

JOB = seepage.engines.Job(Local(workers=1))


def check(source: Any, truth: pd.DataFrame, features: list[str], folder: Path) -> seepage.Leakage:
    """Compare what is measured of a source with what is measured of the same rows in memory."""
    model = Ridge(alpha=1.0).fit(truth[features], truth["cost"])
    expected = seepage.measure(model, truth[features], truth["cost"], noise_scale=0.5, ids=truth["person"].to_numpy())
    shutil.rmtree(folder, ignore_errors=True)
    leak = seepage.measure(
        model,
        source,
        target="cost",
        noise_scale=0.5,
        ids="person",
        groups="region",
        job=seepage.engines.Job(Local(workers=1), folder),
    )
    ours = leak.examples.to_table().to_pandas().set_index("person").sort_index()
    theirs = expected.examples.sort_index()
    assert ours.index.tolist() == theirs.index.tolist()
    np.testing.assert_allclose(ours[["eta", "dfil"]], theirs, rtol=1e-9)
    regions = truth.set_index("person")["region"].sort_index()
    assert ours["region"].tolist() == regions.tolist()
    north = (truth["region"] == "north").to_numpy()
    assert leak.joint({"region": "north"}) == pytest.approx(expected.joint(north), rel=1e-9)
    return leak


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table with deletes, overwrites, new columns and partitions; six versions."""
    path = str(tmp_path_factory.mktemp("delta") / "people")
    write = deltalake.write_deltalake
    write(path, arrow(people(300)), partition_by=["region", "year"])
    write(path, arrow(people(200, start=300, seed=1)), mode="append")
    deltalake.DeltaTable(path).delete("person < 40 or year = 2021")
    wider = people(150, start=1000, seed=2).assign(visits=lambda frame: frame["person"] % 7)
    write(path, arrow(wider), mode="append", schema_mode="merge")
    write(
        path,
        arrow(wider.assign(region="north", person=wider["person"] + 500)),
        mode="overwrite",
        predicate="region = 'north'",
    )
    deltalake.DeltaTable(path).optimize.compact()
    return path


def rows_of(path: str, version: int) -> pd.DataFrame:
    """Return what Delta's own reader finds."""
    return deltalake.DeltaTable(path, version=version).to_pandas()


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_a_delta_table_is_measured_as_it_was(delta: str, version: int, tmp_path: Path) -> None:
    leak = check(seepage.engines.Snapshot(delta, version=version), rows_of(delta, version), FEATURES, tmp_path / "out")
    assert f"version {version} of the Delta table people" in leak.assumptions[-1]


def test_the_folder_of_a_table_is_its_newest_state(delta: str, tmp_path: Path) -> None:
    newest = rows_of(delta, 5)
    leak = check(delta, newest, FEATURES, tmp_path / "out")
    assert leak.information.count == len(newest) < sum(1 for _ in Path(delta).rglob("*.parquet")) * 1000
    # Partitions are columns like others, also as features.
    check(delta, newest, ["age", "year"], tmp_path / "out")
    assert json.loads((tmp_path / "out/_seepage/job.json").read_text())["snapshot"].endswith("version=5)")


def test_a_column_that_came_later_is_missing_in_older_rows(delta: str, tmp_path: Path) -> None:
    model = Ridge().fit(people(50).assign(visits=1.0)[["age", "visits"]], np.arange(50.0))
    with pytest.raises(seepage.errors.InputError, match="missing value in column 'visits'"):
        seepage.measure(model, seepage.engines.Snapshot(delta, version=3), target="cost", noise_scale=1.0, job=JOB)


def test_a_time_names_the_version_of_that_time(delta: str, tmp_path: Path) -> None:
    history = {entry["version"]: entry["timestamp"] for entry in deltalake.DeltaTable(delta).history()}
    for number, written in history.items():
        # A machine that has much to do writes an entry later than the entry says, and the file's time counts.
        os.utime(Path(delta) / "_delta_log" / f"{number:020d}.json", (written / 1000,) * 2)
    then = datetime.fromtimestamp((history[2] + 1) / 1000, UTC)
    version = max(number for number, time in history.items() if time <= history[2] + 1)
    for at in (then, then.isoformat()):
        check(seepage.engines.Snapshot(delta, at=at), rows_of(delta, version), FEATURES, tmp_path / "out")
    with pytest.raises(seepage.errors.InputError, match="did not exist at"):
        seepage.engines.fit(Ridge(), seepage.engines.Snapshot(delta, at="2001-01-01T00:00:00Z"), target="cost")


def test_a_time_means_the_same_in_a_store(tmp_path: Path) -> None:
    from fsspec.implementations.local import LocalFileSystem

    store = pa.fs.PyFileSystem(pa.fs.FSSpecHandler(LocalFileSystem()))
    table = tmp_path / "people"
    begin = datetime.now(UTC).timestamp()
    for version in range(3):
        deltalake.write_deltalake(str(table), arrow(people(40, start=40 * version)), mode="append")
        # Hours apart, as the log tells it.
        os.utime(table / "_delta_log" / f"{version:020d}.json", (begin + 3600 * version,) * 2)
    # No pattern, since it exists.
    table = table.rename(tmp_path / "people[1]")
    for version in range(3):
        then = datetime.fromtimestamp(begin + 3600 * version + 60, UTC)
        for filesystem in (None, store):
            files = Files.of(seepage.engines.Snapshot(table, at=then), filesystem)
            assert files.snapshot is not None
            assert (files.snapshot.version, files.count) == (version, 40 * (version + 1))


def test_a_copied_log_does_not_tell_the_time(tmp_path: Path) -> None:
    table = tmp_path / "people"
    deltalake.write_deltalake(str(table), arrow(people(40)))
    then = datetime.now(UTC)
    os.utime(table / "_delta_log" / f"{0:020d}.json", (then.timestamp() + 3600,) * 2)
    with pytest.raises(seepage.errors.InputError, match=r"written, or copied, after.*version="):
        Files.of(seepage.engines.Snapshot(table, at=then))


def test_a_version_that_is_not_there_is_refused_with_the_newest(delta: str) -> None:
    with pytest.raises(seepage.errors.InputError, match="newest version is 5"):
        seepage.engines.fit(Ridge(), seepage.engines.Snapshot(delta, version=99), target="cost")


@pytest.mark.parametrize("inside", ["*/*/*.parquet", "**/*.parquet", "region=north", "region=north/*/*.parquet"])
def test_single_files_of_a_table_are_refused(delta: str, inside: str) -> None:
    with pytest.raises(
        seepage.errors.InputError, match=r"people is a table that keeps its past.*seepage\.engines\.Snapshot"
    ):
        seepage.engines.fit(Ridge(), f"{delta}/{inside}", target="cost", features=FEATURES, job=JOB)
    with pytest.raises(seepage.errors.InputError, match="keeps its past"):
        seepage.engines.fit(Ridge(), Path(delta).parent, target="cost", features=FEATURES, job=JOB)


def test_rows_that_a_deletion_vector_marks_are_not_people(tmp_path: Path) -> None:
    path, frame = str(tmp_path / "people"), people(120)
    deltalake.write_deltalake(path, arrow(frame), configuration={"delta.enableDeletionVectors": "true"})
    gone = np.array([0, 7, 8, 64, 119])
    mark_deleted(Path(path), gone)
    leak = check(path, frame.drop(index=gone), FEATURES, tmp_path / "out")
    assert leak.information.count == 115


def test_rows_are_deleted_from_their_own_file_though_another_has_its_name(tmp_path: Path) -> None:
    # A percent sign is the folder's own, and stands for no other letter.
    table, frame = tmp_path / "people%20here", people(60).assign(region=["north", "south"] * 30)
    for region, part in frame.groupby("region"):
        (table / f"region={region}").mkdir(parents=True)
        arrow(part.drop(columns="region")).to_pandas().to_parquet(table / f"region={region}/part-0.parquet")
    plain = table.rename(tmp_path / "plain")
    regions = deltalake.Schema([deltalake.Field("region", "string")])
    deltalake.convert_to_deltalake(str(plain), partition_by=regions, partition_strategy="hive")
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}
    (plain / "_delta_log" / f"{1:020d}.json").write_text(json.dumps(protocol))
    mark_deleted(plain, np.array([0, 3]), "region=north/part-0.parquet")
    plain.rename(table)
    (table / "_delta_log" / f"{2:020d}.json").write_text(
        (table / "_delta_log" / f"{2:020d}.json").read_text().replace(str(plain), str(table).replace("%", "%25"))
    )
    check(str(table), frame.drop(index=[0, 6]), FEATURES, tmp_path / "out")


def mark_deleted(table: Path, rows: np.ndarray, file: str = "") -> None:
    """Delete rows of one of a table's files as the protocol says: a roaring bitmap beside it, named in the log."""
    from pyroaring import BitMap64

    bitmap = struct.pack("<I", 1681511377) + BitMap64(rows.tolist()).serialize()
    name = "deletion_vector_0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f.bin"
    content = b"\x01" + struct.pack(">I", len(bitmap)) + bitmap + struct.pack(">I", zlib.crc32(bitmap))
    (table / name).write_bytes(content)
    log = sorted((table / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in log[0].read_text().splitlines()]
    (add,) = (action["add"] for action in actions if "add" in action and action["add"]["path"].startswith(file))
    vector = {"storageType": "p", "pathOrInlineDv": f"file://{table / name}", "offset": 1}
    vector |= {"sizeInBytes": len(bitmap), "cardinality": len(rows)}
    remove = {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}
    lines = [{"remove": remove}, {"add": add | {"deletionVector": vector}}]
    (table / "_delta_log" / f"{len(log):020d}.json").write_text("\n".join(map(json.dumps, lines)))


def test_what_a_table_asks_of_its_readers_is_done_or_named(tmp_path: Path) -> None:
    path = tmp_path / "people"
    deltalake.write_deltalake(str(path), arrow(people(20)))
    log = path / "_delta_log" / f"{0:020d}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "metaData" in line:
            line["metaData"]["configuration"]["delta.columnMapping.mode"] = "id"
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
    log.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(seepage.errors.InputError, match="columnMapping"):
        seepage.engines.fit(Ridge(), path, target="cost", features=FEATURES, job=JOB)


States = tuple[Table, list[tuple[int, pd.DataFrame]]]


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> States:
    """A table with deletes, overwrites, renamed, dropped and added columns and partitions; and each of its states."""
    states: list[tuple[int, pd.DataFrame]] = []
    with catalog(tmp_path_factory.mktemp("iceberg") / "lake") as lake:
        first = arrow(people(300).assign(income=lambda frame: frame["income"].astype("float32"), code=1.0))
        table = lake.create_table("lake.people", schema=first.schema)

        def note() -> None:
            states.append((table.current_snapshot().snapshot_id, table.scan().to_pandas()))

        with table.update_spec() as spec:
            spec.add_field("region", IdentityTransform(), "region")
        table.append(first)
        note()
        table.delete("person < 40")
        note()
        with table.update_schema() as schema:
            schema.rename_column("age", "years_old")
            schema.update_column("income", DoubleType())
            schema.delete_column("code")
        with table.update_schema() as schema:
            # Another column of an old name: what older files hold under it is not it.
            schema.add_column("code", LongType())
        more = people(200, start=300, seed=1).rename(columns={"age": "years_old"}).assign(code=3)
        table.append(arrow(more))
        note()
        table.overwrite(arrow(more.assign(person=more["person"] + 400)), "region = 'north'")
        note()
    return table, states


def test_every_snapshot_of_an_iceberg_table_is_measured_as_it_was(iceberg: States, tmp_path: Path) -> None:
    table, states = iceberg
    folder = table.location().removeprefix("file://")
    for number, rows in states:
        age = "age" if "age" in rows else "years_old"
        leak = check(seepage.engines.Snapshot(folder, version=number), rows, [age, "income"], tmp_path / "out")
        assert f"snapshot {number} of the Iceberg table people" in leak.assumptions[-1]
    newest = states[-1][1]
    for source in (folder, table.metadata_location, seepage.engines.Snapshot(table.metadata_location)):
        check(source, newest, ["years_old", "income"], tmp_path / "out")
    then = datetime.fromtimestamp(table.metadata.snapshots[0].timestamp_ms / 1000, UTC)
    check(seepage.engines.Snapshot(folder, at=then), states[0][1], ["age", "income"], tmp_path / "out")


def test_the_newest_state_has_the_columns_of_today(tmp_path: Path) -> None:
    with catalog(tmp_path / "lake") as lake:
        kept = f"file://{tmp_path}/metadata_elsewhere"
        properties = {"write.metadata.path": kept}
        table = lake.create_table("lake.people", schema=arrow(people(60)).schema, properties=properties)
        table.append(arrow(people(60)))
        for old, new in (("age", "aside"), ("income", "age"), ("aside", "income")):
            with table.update_schema() as schema:
                schema.rename_column(old, new)
        with table.update_schema() as schema:
            schema.add_column("dose", DoubleType(), default_value=2.5)
        table.append(arrow(people(30, start=60, seed=1).assign(dose=1.0)))
        with table.update_schema() as schema:
            schema.rename_column("dose", "amount")
        check(table.metadata_location, table.scan().to_pandas(), ["age", "amount"], tmp_path / "out")


def test_a_dropped_column_does_not_come_back_under_its_name(iceberg: States) -> None:
    table, states = iceberg
    assert states[-1][1]["code"].isna().any()
    model = Ridge().fit(np.column_stack([np.arange(9.0), np.ones(9)]), np.arange(9.0))
    model.feature_names_in_ = np.array(["years_old", "code"], dtype=object)
    with pytest.raises(seepage.errors.InputError, match="missing value in column 'code'"):
        seepage.measure(model, table.metadata_location, target="cost", noise_scale=1.0, job=JOB)


def test_an_iceberg_snapshot_that_is_not_there_is_refused(iceberg: States) -> None:
    folder = iceberg[0].location().removeprefix("file://")
    with pytest.raises(seepage.errors.InputError, match="has no snapshot 12; it has"):
        seepage.engines.fit(Ridge(), seepage.engines.Snapshot(folder, version=12), target="cost")
    with pytest.raises(seepage.errors.InputError, match="had no rows at"):
        seepage.engines.fit(Ridge(), seepage.engines.Snapshot(folder, at="2001-01-01T00:00:00+00:00"), target="cost")


def test_two_newest_states_are_left_to_the_catalog(iceberg: States, tmp_path: Path) -> None:
    shutil.copytree(iceberg[0].location().removeprefix("file://"), tmp_path / "people")
    newest = max((tmp_path / "people" / "metadata").glob("*.metadata.json"))
    shutil.copy(newest, newest.with_name(f"{newest.name[:5]}-another.metadata.json"))
    with pytest.raises(seepage.errors.InputError, match=r"two newest states.*catalog"):
        seepage.engines.fit(Ridge(), tmp_path / "people", target="cost")


@pytest.fixture
def counted(tmp_path: Path) -> tuple[Path, list[int]]:
    """A table as Hadoop keeps it, without a catalog: v1, v2, ...; and how many rows each of its states has."""
    with catalog(tmp_path / "lake") as lake:
        table = lake.create_table("lake.people", schema=arrow(people(1)).schema)
        rows = [0]
        for start in (0, 40, 80):
            table.append(arrow(people(40, start=start)))
            rows.append(start + 40)
        table.delete("person < 10")
        folder = Path(shutil.copytree(table.location().removeprefix("file://"), tmp_path / "people"))
    for number, path in enumerate(sorted((folder / "metadata").glob("*.metadata.json")), start=1):
        path.rename(path.with_name(f"v{number}.metadata.json"))
    return folder / "metadata", [*rows, 110]


@pytest.mark.parametrize("said", ["5", "4", "2"])
def test_a_hint_that_is_late_leads_to_the_newest_state(counted: tuple[Path, list[int]], said: str) -> None:
    metadata, rows = counted
    (metadata / "version-hint.text").write_text(said)
    assert Files.of(metadata.parent).count == rows[-1]
    assert Files.of(seepage.engines.Snapshot(metadata / "v4.metadata.json")).count == rows[3]


@pytest.mark.parametrize(("said", "gone"), [("9", ""), ("5", "v5"), ("2", "v3"), ("2", "v2"), ("newest", ""), ("", "")])
def test_a_hint_that_leads_nowhere_is_refused(counted: tuple[Path, list[int]], said: str, gone: str) -> None:
    metadata, _ = counted
    (metadata / "version-hint.text").write_text(said)
    if gone:
        (metadata / f"{gone}.metadata.json").unlink()
    with pytest.raises(seepage.errors.InputError, match=rf"version-hint\.text says '{said}', .*Snapshot"):
        Files.of(metadata.parent)


def test_a_hint_that_names_an_older_state_of_a_catalog_is_refused(iceberg: States, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(iceberg[0].location().removeprefix("file://"), tmp_path / "people"))
    *_, older, newest = (path.name.removesuffix(".metadata.json") for path in sorted(folder.glob("metadata/*.json")))
    (folder / "metadata" / "version-hint.text").write_text(older)
    with pytest.raises(seepage.errors.InputError, match=rf"says '{older}', and the newest state there is .*{newest}"):
        Files.of(folder)
    (folder / "metadata" / "version-hint.text").write_text(newest)
    assert Files.of(folder).count == len(iceberg[1][-1][1])


@pytest.mark.parametrize("end", [".gz.metadata.json", ".metadata.json.gz"])
def test_a_compressed_state_is_a_state(counted: tuple[Path, list[int]], end: str) -> None:
    metadata, rows = counted
    (metadata / "version-hint.text").write_text("4")
    (metadata / f"v5{end}").write_bytes(gzip.compress((metadata / "v5.metadata.json").read_bytes()))
    (metadata / "v5.metadata.json").unlink()
    assert Files.of(metadata.parent).count == rows[-1]
    with pytest.raises(seepage.errors.InputError, match="keeps its past"):
        Files.of(metadata.parent / "data")


def test_what_other_systems_hold_is_refused_with_what_to_pass(delta: str, iceberg: States) -> None:
    import polars

    for strange, way_out in (
        (deltalake.DeltaTable(delta), r"seepage\.engines\.Snapshot\(table\.table_uri"),
        (iceberg[0], r"seepage\.engines\.Snapshot\(table\.metadata_location"),
        (pa.dataset.dataset(arrow(people(3))), r"dataset\.to_table\(\)"),
        (polars.LazyFrame({"a": [1.0]}), r"collect\(\)"),
    ):
        with pytest.raises(seepage.errors.InputError, match=way_out):
            seepage.engines.fit(Ridge(), strange, target="cost")


WITHOUT = """
import sys
sys.modules["deltalake"] = sys.modules["pyiceberg"] = None
import seepage
from sklearn.linear_model import Ridge
for path in sys.argv[1:]:
    try:
        seepage.engines.fit(Ridge(), path, target="cost")
    except seepage.errors.MissingExtraError as error:
        print(error)
"""


def test_without_its_library_a_table_is_refused_with_the_extra(delta: str, iceberg: States) -> None:
    paths = (delta, iceberg[0].location().removeprefix("file://"))
    told = subprocess.run([sys.executable, "-c", WITHOUT, *paths], capture_output=True, text=True, check=True)
    first, second = told.stdout.splitlines()
    assert "seepage[delta]" in first
    assert "seepage[iceberg]" in second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"version": 1, "at": "2020-01-01T00:00:00Z"}, "leave one out"),
        ({"version": "newest"}, "whole number"),
        ({"at": "yesterday"}, "no time"),
        ({"at": "2020-01-01"}, "time zone"),
    ],
)
def test_a_snapshot_that_cannot_be_meant_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(seepage.errors.InputError, match=message):
        seepage.engines.Snapshot("people", **arguments)


def test_a_snapshot_of_plain_files_is_refused(tmp_path: Path) -> None:
    people(9).to_parquet(tmp_path / "people.parquet")
    with pytest.raises(seepage.errors.InputError, match="neither a Delta table"):
        seepage.engines.fit(Ridge(), seepage.engines.Snapshot(tmp_path, version=1), target="cost")


def test_rows_that_iceberg_deletes_beside_their_file_are_found_or_the_way_is_named(tmp_path: Path) -> None:
    """With the library's own tasks: it plans delete files of other engines, and writes none itself."""
    with catalog(tmp_path / "lake") as lake:
        table = lake.create_table("lake.people", schema=arrow(people(1)).schema)
        table.append(arrow(people(50)))
        (task,) = table.scan().plan_files()
    here = pa.fs.LocalFileSystem()
    for name, places in (("first", [3, 4]), ("second", [4, 49])):
        rows = {"file_path": [task.file.file_path] * 2 + ["file:///another.parquet"], "pos": [*places, 0]}
        pq.write_table(pa.table(rows), tmp_path / f"{name}.parquet")

    def deleting(name: str, content: DataFileContent) -> DataFile:
        return DataFile.from_args(
            content=content,
            file_path=f"file://{tmp_path}/{name}.parquet",
            file_format=FileFormat.PARQUET,
            partition=Record(),
        )

    both = {deleting(name, DataFileContent.POSITION_DELETES) for name in ("first", "second")}
    found = deleted_rows(here, [FileScanTask(task.file, both)])
    assert {path: rows.tolist() for path, rows in found.items()} == {task.file.file_path: [3, 4, 49]}
    strange = {deleting("first", DataFileContent.EQUALITY_DELETES)}
    with pytest.raises(seepage.errors.InputError, match=r"first\.parquet deletes rows in a way .*equality_deletes"):
        deleted_rows(here, [FileScanTask(task.file, strange)])
