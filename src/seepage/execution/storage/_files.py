"""Parquet files on any file system, cut into units of work."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.fs
from numpy.typing import NDArray

from seepage.errors import InputError
from seepage.execution._snapshot import Snapshot
from seepage.execution.storage._columns import Common, HeldColumns, partition_types, read_as
from seepage.execution.storage._contents import METADATA, Contents, DataFile, format_of
from seepage.execution.storage._delta import delta_contents
from seepage.execution.storage._footer import Footer, footers
from seepage.execution.storage._iceberg import iceberg_contents
from seepage.execution.storage._output import OutputFolder
from seepage.execution.storage._paths import Named, refuse_repeated, resolve
from seepage.execution.storage._read import FileStore, Filter, Unit

Path = str | os.PathLike[str]
Paths = Path | Snapshot | Iterable[Path | Snapshot]
"""Each of them a file, a folder, a table, or a pattern such as \"people/*.parquet\"; or a URI of these."""

# Enough work that starting it costs nothing, little enough that repeating it after a failure costs little.
_UNIT_BYTES = 2**26
_READ_AT_ONCE = 2**17


@dataclass(frozen=True, eq=False)
class Files:
    """Parquet files in their order, and the units they are cut into."""

    store: FileStore
    base: str
    """The folder that all paths have in common."""
    paths: tuple[str, ...]
    common: Common
    units: tuple[Unit, ...]
    named: tuple[Named, ...]
    """What was asked for."""
    snapshot: Contents | None = None
    """The table's state that they are, if they are one."""
    whole: "Files | None" = None
    """The same without a filter, if these are what a filter keeps."""

    @classmethod
    def of(cls, source: Paths, filesystem: pa.fs.FileSystem | None = None) -> "Files":
        """Find the files and read their footers.

        Parameters
        ----------
        source : path, URI, sequence of them, or Snapshot
            Each a file, a folder, a pattern such as "people/*.parquet", or a Delta or Iceberg table.
        filesystem : pyarrow.fs.FileSystem, optional
            Where the paths are; found from a URI by default.
        """
        listed = [source] if isinstance(source, str | os.PathLike | Snapshot) else list(source)
        found = [resolve(os.fspath(_path(each)), filesystem) for each in listed]
        if not found:
            raise InputError("No file was given.")
        home = found[0][0]
        if any(not other.equals(home) for other, _ in found):
            raise InputError(f"All files must be on one file system; {listed[0]!r} and another are not.")
        contents = _table(home, found[0][1], listed)
        if contents is not None:
            return cls._read(home, contents.files, (Named(contents.folder, (), "folder"),), contents)
        named = tuple(Named.of(home, path) for _, path in found)
        return cls._read(home, _plain(home, named), named, None)

    @classmethod
    def _read(
        cls,
        filesystem: pa.fs.FileSystem,
        files: Sequence[DataFile],
        named: tuple[Named, ...],
        snapshot: Contents | None,
    ) -> "Files":
        """Read the footers of files."""
        paths = [file.path for file in files]
        with _vacuumed(snapshot):
            known = footers(filesystem, paths)
        if snapshot is None:
            types = partition_types(file.constants for file in files)  # type: ignore[misc]
            helds = [_held_in_folders(file, types, footer.schema) for file, footer in zip(files, known, strict=True)]
            common = Common.of(paths, _with_folders([footer.schema for footer in known], helds, types))
        else:
            helds = [_held_in(snapshot, file, footer.schema) for file, footer in zip(files, known, strict=True)]
            common = Common(pa.schema([(field.name, read_as(field.type)) for field in snapshot.schema]), {})
        units: list[Unit] = []
        for file, footer, held in zip(files, known, helds, strict=True):
            units.extend(_cut(file, footer, held, len(units)))
        if not units:
            told = _listing(paths) if paths else named[0].folder
            raise InputError(f"There is no row in {told}: nobody's leakage can be measured.")
        folders = {path.rpartition("/")[0] for path in paths}
        base = os.path.commonpath(folders) if all(folders) else ""
        return cls(FileStore(filesystem, common.schema), base, tuple(paths), common, tuple(units), named, snapshot)

    @property
    def filesystem(self) -> pa.fs.FileSystem:
        """Where they are."""
        return self.store.filesystem

    @property
    def schema(self) -> pa.Schema:
        """The columns that all of them have, with the types that they are read as."""
        return self.store.schema

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(unit.rows for unit in self.units)

    @property
    def where(self) -> Filter | None:
        """Which of their rows are read."""
        return self.store.where

    def filtered(self, where: Filter) -> "Files":
        """Return the same files with a filter: how many rows of each unit it keeps is to be `counted`."""
        self.require(where.columns, "where")
        # What is wrong with it is told before anything is read.
        where(pa.RecordBatch.from_pylist([], schema=self.schema))
        return replace(self, store=replace(self.store, where=where), whole=self.whole or self)

    def counted(self, rows: Sequence[int]) -> "Files":
        """Return the same once it is known how many rows the filter keeps of each unit."""
        if not any(rows):
            raise InputError(f"where={str(self.where)!r} keeps nobody of {self.count:,} people.")
        units: list[Unit] = []
        start: dict[str, int] = {}
        for unit, count in zip(self.units, rows, strict=True):
            if count:
                units.append(replace(unit, index=len(units), start=start.get(unit.path, 0), rows=count))
                start[unit.path] = start.get(unit.path, 0) + count
        return replace(self, units=tuple(units))

    def known(self) -> dict[str, str]:
        """Return what tells each of them from another that has its name: for a job that may be continued."""
        found: dict[str, list[str]] = {}
        for unit in self.units:
            known = (unit.groups, unit.rows, unit.stamp, unit.held)
            found.setdefault(unit.path, []).append(repr(known))
        return {path: hashlib.sha256("".join(told).encode()).hexdigest()[:32] for path, told in found.items()}

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Return some columns of all rows, for those who hold a number of each row anyway."""
        self.require(columns, "A column")
        kept = pa.schema([self.schema.field(name) for name in columns])
        batches = (batch for unit in self.units for batch in self.store.read(unit, columns, _READ_AT_ONCE))
        return pa.Table.from_batches(batches, schema=kept)

    def column(self, name: str) -> NDArray[np.generic]:
        """Return one column of all rows."""
        return np.asarray(self.table([name]).column(0).to_numpy())

    def positions(self, paths: NDArray[np.str_], rows: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return where rows of single files stand among all rows."""
        first: dict[str, int] = {}
        seen = 0
        for unit in self.units:
            first.setdefault(unit.path, seen)
            seen += unit.rows
        return np.array([first[path] for path in paths.tolist()], dtype=np.intp) + rows

    def unfiltered(self, paths: NDArray[np.str_], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where rows of single files stand in them, those too that a filter leaves out."""
        if self.where is None or self.whole is None:
            return rows
        whole = {(unit.path, unit.groups): unit for unit in self.whole.units}
        found, asked = rows.copy(), set(paths.tolist())
        for unit in self.units:
            if unit.path not in asked:
                continue
            here = np.flatnonzero((paths == unit.path) & (rows >= unit.start) & (rows < unit.start + unit.rows))
            if len(here):
                every = whole[unit.path, unit.groups]
                batches = self.whole.store.read(every, self.where.columns, _READ_AT_ONCE)
                kept = np.flatnonzero(np.concatenate([self.where(batch) for batch in batches]))
                found[here] = every.start + kept[rows[here] - unit.start]
        return found

    def require(self, columns: Iterable[str], what: str) -> None:
        """Refuse columns that the files do not have."""
        self.common.require(columns, what, self.paths[0])

    def refuse_inside(self, filesystem: pa.fs.FileSystem, output: str) -> None:
        """Refuse a folder for results that would be read as rows the next time."""
        if not filesystem.equals(self.filesystem):
            return
        place = os.path.realpath(output) if isinstance(filesystem, pa.fs.LocalFileSystem) else output
        for named in self.named:
            folder = os.path.realpath(named.folder) if place is not output else named.folder
            meant, results = Named(folder, named.parts, named.kind), OutputFolder(filesystem, place.rstrip("/"))
            if any(
                meant.matches(f"{results.path}/{results.place(self.base, unit, 'examples')}") for unit in self.units
            ):
                raise InputError(
                    f"output={output!r} is inside {named.folder}, whose files are the rows: the results would be read "
                    "as people the next time. Name a folder elsewhere."
                )


def _path(each: Path | Snapshot) -> Path:
    return each.path if isinstance(each, Snapshot) else each


def _table(filesystem: pa.fs.FileSystem, path: str, listed: Sequence[Path | Snapshot]) -> Contents | None:
    """Return the snapshot that a path stands for, if it is that of a table."""
    asked = listed[0] if isinstance(listed[0], Snapshot) else Snapshot(listed[0])
    place = path.rstrip("/")
    kind = "Iceberg" if place.endswith(METADATA) else format_of(filesystem, place)
    if kind is None:
        if isinstance(listed[0], Snapshot):
            raise InputError(
                f"{path} is neither a Delta table (with a _delta_log) nor an Iceberg table (with metadata)."
            )
        return None
    if len(listed) > 1:
        raise InputError(f"{path} is a {kind} table, which is read by itself: pass it alone.")
    return (delta_contents if kind == "Delta" else iceberg_contents)(filesystem, place, asked)


def _plain(filesystem: pa.fs.FileSystem, named: Sequence[Named]) -> list[DataFile]:
    """Find files, each once."""
    found: dict[str, DataFile] = {}
    looked: set[str] = set()
    for one in named:
        files, seen = one.files(filesystem)
        _refuse_tables(filesystem, one, seen, looked)
        if not files:
            raise InputError(f"No file matches {'/'.join([one.folder, *(one.parts or ('**', '*.parquet'))])!r}.")
        for path in files:
            found.setdefault(path, DataFile(path, one.values(path)))
    refuse_repeated(filesystem, list(found))
    return list(found.values())


def _refuse_tables(filesystem: pa.fs.FileSystem, named: Named, seen: Sequence[str], looked: set[str]) -> None:
    """Refuse single files of a table: only all that its newest state names are its rows."""
    inside = {path.partition("/_delta_log")[0] for path in seen if "/_delta_log" in path}
    inside |= {path.rpartition("/metadata/")[0] for path in seen if path.endswith(METADATA)}
    around = named.folder
    while around and around not in looked and not inside:
        looked.add(around)
        if format_of(filesystem, around) is not None:
            inside.add(around)
        name = around.rpartition("/")[2]
        # Files of a table are below folders that name partitions, or data.
        around = around.rpartition("/")[0] if "=" in name or name == "data" else ""
    if inside:
        table = sorted(inside)[0]
        raise InputError(
            f"{table} is a table that keeps its past: files in its folder may hold people who were deleted or "
            f"replaced. Pass the table itself, {table!r}, or seepage.engines.Snapshot({table!r}, version=...)."
        )


@contextmanager
def _vacuumed(snapshot: Contents | None) -> Iterator[None]:
    """Say of a table's older state that its files were deleted, if one of them is gone."""
    try:
        yield
    except InputError as error:
        if snapshot is None or snapshot.asked.is_newest or not isinstance(error.__cause__, FileNotFoundError):
            raise
        state = "version" if snapshot.format == "Delta" else "snapshot"
        how = "vacuumed" if snapshot.format == "Delta" else "expired"
        raise InputError(
            f"The {state} {snapshot.version} of {snapshot.folder} was {how}: its log still names files that are gone "
            f"({str(error).partition('. ')[0]}). Name a newer {state}, or none for the newest."
        ) from error


def _held_in_folders(file: DataFile, types: dict[str, pa.DataType], schema: pa.Schema) -> HeldColumns:
    """Return the columns that folders name; a file that has one of them itself is believed."""
    named = {name: value for name, value in file.constants.items() if name not in schema.names}
    whole = {
        name: int(value) if types[name] == pa.int64() and value is not None else value  # type: ignore[call-overload]
        for name, value in named.items()
    }
    return HeldColumns(tuple(sorted(whole.items())))


def _with_folders(
    schemas: Sequence[pa.Schema], helds: Sequence[HeldColumns], types: dict[str, pa.DataType]
) -> list[pa.Schema]:
    """Return the columns of each file, those that its folders name among them; made once of files that are alike."""
    made: dict[tuple[int, tuple[str, ...]], pa.Schema] = {}
    whole = []
    for schema, held in zip(schemas, helds, strict=True):
        named = tuple(name for name, _ in held.constants)
        if (id(schema), named) not in made:
            made[id(schema), named] = pa.schema([*schema, *(pa.field(name, types[name]) for name in named)])
        whole.append(made[id(schema), named])
    return whole


def _held_in(snapshot: Contents, file: DataFile, schema: pa.Schema) -> HeldColumns:
    """Return how a file of a snapshot holds its columns."""
    constants = tuple(sorted(file.constants.items()))
    if snapshot.columns is None:
        # In a Delta table, what the log says of a partition counts, not what the file says.
        called = [(name, held) for name, held in snapshot.physical.items() if name not in file.constants]
        return HeldColumns(constants, (*((name, None) for name in file.constants), *called))
    numbers = {_number(field, snapshot): field.name for field in schema}
    renamed = [(name, numbers.get(number)) for number, name in snapshot.columns.items()]
    return HeldColumns(constants, tuple((name, held) for name, held in renamed if held != name))


def _number(field: pa.Field, snapshot: Contents) -> int | None:
    written = (field.metadata or {}).get(b"PARQUET:field_id")
    return int(written) if written is not None else snapshot.called.get(field.name)


def _cut(file: DataFile, footer: Footer, held: HeldColumns, index: int) -> Iterator[Unit]:
    edges = [0, *accumulate(rows for rows, _ in footer.groups)]
    gone = np.zeros(edges[-1], dtype=bool)
    if file.deleted is not None:
        gone[file.deleted] = True
    first = start = held_bytes = 0
    for group, (_, size) in enumerate(footer.groups):
        held_bytes += size
        if held_bytes < _UNIT_BYTES and group + 1 < len(footer.groups):
            continue
        marks = gone[edges[first] : edges[group + 1]]
        rows = int(len(marks) - marks.sum())
        if rows:
            part = replace(held, deleted=np.packbits(marks).tobytes()) if marks.any() else held
            yield Unit(index, file.path, (first, group + 1), start, rows, held_bytes, footer.stamp, part)
            index += 1
        first, start, held_bytes = group + 1, start + rows, 0


def _listing(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more files"
