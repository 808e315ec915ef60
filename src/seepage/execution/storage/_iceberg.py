"""The files of an Iceberg table's snapshot, as its manifests tell them."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seepage.errors import InputError, MissingExtraError
from seepage.execution._snapshot import Snapshot
from seepage.execution.storage._contents import METADATA, Contents, DataFile, metadata_files
from seepage.execution.storage._paths import naming, resolve

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile as Entry
    from pyiceberg.table import FileScanTask, Table


def iceberg_contents(filesystem: pa.fs.FileSystem, place: str, asked: Snapshot) -> Contents:
    """Read the metadata of an Iceberg table, of its folder or of one of its metadata files."""
    try:
        import pyiceberg  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f'{place} is an Iceberg table, whose metadata says which files are its rows: pip install "seepage[iceberg]"'
        ) from error
    location = place if place.endswith(METADATA) else _newest(filesystem, place)
    table = _opened(filesystem, location)
    # Metadata may be kept away from the table.
    folder = location.rpartition("/metadata/")[0] or resolve(table.location(), filesystem)[1]
    snapshot = _chosen(table, folder, asked)
    # The newest state has the columns of today, which may have been renamed since its rows were written.
    scan = table.scan(snapshot_id=None if asked.is_newest else snapshot)
    # Nested columns have numbers too; only whole columns are read here.
    columns = {field.field_id: field.name for field in scan.projection().fields}
    try:
        tasks = list(scan.plan_files())
    except (ValueError, NotImplementedError) as error:
        raise InputError(
            f"{folder} cannot be read ({error}). Rewrite its data files, so that deleted rows are gone from them, and "
            "measure that snapshot."
        ) from error
    positions = deleted_rows(filesystem, tasks)
    given = {field.name: field.initial_default for field in scan.projection().fields}
    given = {name: value for name, value in given.items() if value is not None}
    files = [_file(filesystem, task, {**given, **_constants(table, task.file, columns)}, positions) for task in tasks]
    mapping = table.name_mapping()
    called = {} if mapping is None else {name: one.field_id for one in mapping for name in one.names}
    return Contents(
        "Iceberg",
        asked,
        folder,
        snapshot,
        scan.projection().as_arrow(),
        tuple(sorted(files, key=lambda file: file.path)),
        columns,
        {name: number for name, number in called.items() if number is not None},
    )


def _newest(filesystem: pa.fs.FileSystem, folder: str) -> str:
    """Return the metadata file that tells the newest state: that with the largest number, if the hint agrees."""
    found = metadata_files(filesystem, folder)
    hint = f"{folder.rstrip('/')}/metadata/version-hint.text"
    numbered = {path: _number(path) for path in found if path != hint}
    largest = max(numbered.values(), default=-1)
    newest = [path for path, number in numbered.items() if number == largest]
    if hint in found:
        with naming(hint), filesystem.open_input_file(hint) as source:
            said = source.read().decode(errors="replace").strip()
        ends = (".gz.metadata.json", *METADATA)
        names = {said, f"{said}.metadata.json", *(f"v{said}{end}" for end in ends)}
        meant = [path for path in newest if path.rpartition("/")[2] in names]
        if not meant and not _is_late(said, numbered):
            raise InputError(
                f"{hint} says {said!r}, and the newest state there is {newest[0] if newest else 'none'}: one of them "
                "is out of date, or files are missing. Pass Snapshot(...) of the metadata file that is meant."
            )
        newest = meant or newest
    if len(newest) > 1:
        raise InputError(
            f"{folder} has two newest states, {newest[0]} and {newest[1]}: a commit failed, and only its catalog knows "
            "which one. Pass Snapshot(table.metadata_location), with the table from the catalog."
        )
    return newest[0]


def _is_late(said: str, numbered: Mapping[str, int]) -> bool:
    """Return whether a hint is only late: who commits v4 writes its file first, and then the hint, if nothing fails."""
    counted = {number for path, number in numbered.items() if path.rpartition("/")[2].startswith("v")}
    largest = max(numbered.values(), default=-1)
    return said.isdecimal() and int(said) <= largest and counted.issuperset(range(int(said), largest + 1))


def _number(path: str) -> int:
    found = re.match(r"v?(\d+)", path.rpartition("/")[2])
    return int(found[1]) if found else -1


def _opened(filesystem: pa.fs.FileSystem, location: str) -> "Table":
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.exceptions import ValidationError
    from pyiceberg.io import FileIO, InputFile, OutputFile
    from pyiceberg.serializers import FromInputFile
    from pyiceberg.table import StaticTable

    class IcebergReading(InputFile):
        """A file of the table's own file system."""

        def __len__(self) -> int:
            return int(filesystem.get_file_info(resolve(self.location, filesystem)[1]).size)

        def exists(self) -> bool:
            info = filesystem.get_file_info(resolve(self.location, filesystem)[1])
            return bool(info.type == pa.fs.FileType.File)

        def open(self, seekable: bool = True) -> Any:
            found = filesystem.open_input_file(resolve(self.location, filesystem)[1])
            # As older writers call it; the newer .gz.metadata.json is known to the library.
            return pa.CompressedInputStream(found, "gzip") if self.location.endswith(".json.gz") else found

    class Here(FileIO):
        """Reads where the rows are read, with the same credentials and patience; writes nothing."""

        def new_input(self, location: str) -> InputFile:
            return IcebergReading(location)

        def new_output(self, location: str) -> OutputFile:
            raise NotImplementedError

        def delete(self, location: str | InputFile | OutputFile) -> None:
            raise NotImplementedError

    io = Here()
    with naming(location):
        try:
            metadata = FromInputFile.table_metadata(io.new_input(location))
        except (ValueError, ValidationError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{location} is no metadata of an Iceberg table ({reason}).") from error
    return StaticTable(("table", location), metadata, location, io, NoopCatalog("table"))


def _chosen(table: "Table", folder: str, asked: Snapshot) -> int:
    """Return the id of the snapshot that was asked for."""
    known = [one.snapshot_id for one in table.metadata.snapshots]
    if asked.version is not None:
        if asked.version not in known:
            raise InputError(f"{folder} has no snapshot {asked.version}; it has {known}.")
        return asked.version
    time = asked.time()
    if time is not None:
        then = table.snapshot_as_of_timestamp(int(time.timestamp() * 1000))
        if then is None:
            first = datetime.fromtimestamp(
                min((one.timestamp_ms for one in table.metadata.snapshots), default=0) / 1e3, UTC
            )
            raise InputError(f"{folder} had no rows at {asked.at!r}: its first snapshot is of {first.isoformat()}.")
        return then.snapshot_id
    newest = table.current_snapshot()
    if newest is None:
        raise InputError(f"{folder} has no snapshot: there is no row in it yet.")
    return newest.snapshot_id


def _file(
    filesystem: pa.fs.FileSystem,
    task: "FileScanTask",
    constants: Mapping[str, object],
    positions: Mapping[str, NDArray[np.int64]],
) -> DataFile:
    entry = task.file
    if entry.file_format.value.lower() != "parquet":
        raise InputError(f"{entry.file_path} is {entry.file_format.value}; only Parquet files are read here.")
    return DataFile(resolve(entry.file_path, filesystem)[1], constants, positions.get(entry.file_path))


def _constants(table: "Table", entry: "Entry", columns: Mapping[int, str]) -> dict[str, object]:
    """Return the partition values that stand for themselves, for files that lack the column."""
    from pyiceberg.transforms import IdentityTransform

    spec = table.specs()[entry.spec_id]
    found = {}
    for place, field in enumerate(spec.fields):
        if isinstance(field.transform, IdentityTransform) and field.source_id in columns:
            found[columns[field.source_id]] = entry.partition[place]
    return found


def deleted_rows(filesystem: pa.fs.FileSystem, tasks: "list[FileScanTask]") -> dict[str, NDArray[np.int64]]:
    """Return the rows that were deleted from each file since it was written."""
    from pyiceberg.manifest import DataFileContent

    wanted = {task.file.file_path for task in tasks}
    gone: dict[str, list[NDArray[np.int64]]] = {}
    for entry in {delete.file_path: delete for task in tasks for delete in task.delete_files}.values():
        if entry.content != DataFileContent.POSITION_DELETES or entry.file_format.value.lower() != "parquet":
            raise InputError(
                f"{entry.file_path} deletes rows in a way that is not read here ({entry.content.name.lower()} in "
                f"{entry.file_format.value}). Rewrite the table's data files, so that the rows are gone from them, and "
                "measure that snapshot."
            )
        path = resolve(entry.file_path, filesystem)[1]
        with naming(path), filesystem.open_input_file(path) as source:
            rows = pq.ParquetFile(source, page_checksum_verification=True).read(columns=["file_path", "pos"])
        files = np.asarray(rows.column("file_path").to_pylist(), dtype=object)
        places = rows.column("pos").to_numpy()
        for each in wanted.intersection(files.tolist()):
            gone.setdefault(each, []).append(places[files == each])
    return {path: np.unique(np.concatenate(parts)) for path, parts in gone.items()}
