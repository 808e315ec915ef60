"""The files of a Delta table's snapshot, as its log tells them."""

import os
import posixpath
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.fs

from seepage.errors import InputError, MissingExtraError
from seepage.execution._snapshot import Snapshot
from seepage.execution.storage._at_once import at_once
from seepage.execution.storage._contents import Contents, DataFile
from seepage.execution.storage._delta_log import tail, vectors
from seepage.execution.storage._paths import naming, resolve

if TYPE_CHECKING:
    from deltalake import DeltaTable

# What a table may ask of its readers and is done here, or is about columns that hold no numbers. Others could change
# what its files mean.
_FEATURES = frozenset(
    {
        *("deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint"),
        *("vacuumProtocolCheck", "variantType", "variantType-preview"),
    }
)
_ORDINARY = re.compile(r"[\w/. -]*")


def delta_contents(filesystem: pa.fs.FileSystem, folder: str, asked: Snapshot) -> Contents:
    """Read the log of a Delta table."""
    try:
        import deltalake
    except ImportError as error:
        raise MissingExtraError(
            f'{folder} is a Delta table, whose log says which files are its rows: pip install "seepage[delta]"'
        ) from error
    with _log_here(filesystem, folder, asked) as place:
        try:
            table = deltalake.DeltaTable(place, version=asked.version)
            time = asked.time()
            if time is not None:
                _check_time(table, folder, asked)
                table.load_as_version(time)
                _check_log(table, place, folder, asked)
            return _contents(filesystem, folder, asked, table)
        except Exception as error:
            # It has errors of its own, and lets those of other libraries through.
            if isinstance(error, InputError):
                raise
            told = str(error).partition("\n")[0].replace(place, folder)
            raise InputError(f"{folder} cannot be read as {asked!r} ({told}).{_newest(place)}") from error


def _contents(filesystem: pa.fs.FileSystem, folder: str, asked: Snapshot, table: "DeltaTable") -> Contents:
    _check_features(folder, table)
    schema = pa.schema(table.schema().to_arrow())
    partitions = table.metadata().partition_columns
    actions = pa.table(table.get_add_actions())
    values = actions.column("partition").to_pylist() if partitions else [{}] * len(actions)
    root = table.table_uri.rstrip("/") + "/"
    # By the whole path: files of two partitions may have the same name.
    gone = {
        unquote(row["filepath"].removeprefix(root)): np.flatnonzero(~np.asarray(row["selection_vector"], dtype=bool))
        for batch in table.deletion_vectors()
        for row in pa.record_batch(batch).to_pylist()
    }
    files = []
    for written, constants in zip(actions.column("path").to_pylist(), values, strict=True):
        place = _placed(filesystem, folder, written)
        files.append(DataFile(place, {name: constants[name] for name in partitions}, gone.pop(unquote(written), None)))
    if gone:
        raise InputError(
            f"{folder} marks rows of {next(iter(gone))} as deleted, which is none of its files. Write the snapshot to "
            "another table, and measure that."
        )
    files.sort(key=lambda file: file.path)
    return Contents("Delta", asked, folder, table.version(), schema, tuple(files), physical=_physical(table))


def _placed(filesystem: pa.fs.FileSystem, folder: str, written: str) -> str:
    """Return where a file of the log is: below the table, or anywhere if it is a clone of another."""
    path = unquote(written)
    if "://" in path:
        return resolve(path, filesystem)[1]
    return path if path.startswith("/") else posixpath.join(folder, path)


@contextmanager
def _log_here(filesystem: pa.fs.FileSystem, folder: str, asked: Snapshot) -> Iterator[str]:
    """Copy what tells a state of a table in a store to this machine: whatever reaches the rows reaches the log."""
    # Its library decodes a percent sign, and then reads another folder's log; a bracket ends the process.
    if isinstance(filesystem, pa.fs.LocalFileSystem) and _ORDINARY.fullmatch(folder):
        yield folder
        return
    with tempfile.TemporaryDirectory() as here:
        selector = pa.fs.FileSelector(f"{folder}/_delta_log", recursive=True)
        seen = {info.path[len(folder) + 12 :].lstrip("/"): info for info in filesystem.get_file_info(selector)}
        names = [name for name, info in seen.items() if info.type == pa.fs.FileType.File]
        # What a time means is told by the times of all commits.
        wanted = names if asked.at is not None else tail((name for name in names if "/" not in name), asked.version)
        wanted = [*dict.fromkeys([*wanted, *(name for name in names if name.startswith("_sidecars/"))])]

        def copy(path: str) -> None:
            target = Path(here) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with naming(f"{folder}/{path}"), filesystem.open_input_file(f"{folder}/{path}") as source:
                target.write_bytes(source.read())

        at_once(copy, [f"_delta_log/{name}" for name in wanted])
        for name in wanted:
            # A version is of the time at which its entry in the log was written.
            if (written := seen[name].mtime_ns) is not None:
                os.utime(Path(here, "_delta_log", name), ns=(written, written))
        held = sorted(vectors(Path(here, "_delta_log")))
        kinds = at_once(lambda path: filesystem.get_file_info(f"{folder}/{path}").type, held)
        # Of what was replaced since, it may be gone.
        at_once(copy, [path for path, kind in zip(held, kinds, strict=True) if kind == pa.fs.FileType.File])
        yield here


def _check_features(folder: str, table: "DeltaTable") -> None:
    protocol = table.protocol()
    strange = sorted({*(protocol.reader_features or ())} - _FEATURES)
    mapping = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if mapping in ("none", "name"):
        strange = [feature for feature in strange if feature != "columnMapping"]
    else:
        strange = sorted({*strange, "columnMapping"})
    if strange:
        raise InputError(
            f"{folder} is a Delta table that asks its readers for {', '.join(strange)}, which is not done here. Write "
            "the snapshot to a table without it, or as Parquet files, and measure these."
        )


def _physical(table: "DeltaTable") -> dict[str, str]:
    """Return what files call columns that were renamed since, or have names that Parquet does not take."""
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") == "none":
        return {}
    return {
        field.name: str(field.metadata.get("delta.columnMapping.physicalName", field.name))
        for field in table.schema().fields
    }


def _check_time(table: "DeltaTable", folder: str, asked: Snapshot) -> None:
    """Refuse a time before the table; its library would take the first state that it knows."""
    history = [entry["timestamp"] for entry in table.history() if "timestamp" in entry]
    time = asked.time()
    if time is not None and history and time.timestamp() * 1000 < min(history):
        raise InputError(f"{folder} did not exist at {asked.at!r}, or its log of that time is gone.")


def _check_log(table: "DeltaTable", place: str, folder: str, asked: Snapshot) -> None:
    """Refuse a log that was copied: its library takes the times of the files in it, and the first if all are late."""
    entry, time = Path(place, "_delta_log", f"{table.version():020d}.json"), asked.time()
    kept_inside = table.metadata().configuration.get("delta.enableInCommitTimestamps", "false") == "true"
    if time is not None and not kept_inside and entry.exists() and entry.stat().st_mtime > time.timestamp():
        raise InputError(
            f"The log of {folder} was written, or copied, after {asked.at!r}: which version was of that time cannot be "
            "told. Name it with version=."
        )


def _newest(place: str) -> str:
    import deltalake

    try:
        return f" Its newest version is {deltalake.DeltaTable(place).version()}."
    except Exception:
        return ""
