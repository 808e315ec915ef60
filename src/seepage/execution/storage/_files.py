"""Parquet files on any file system, cut into units of work."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
from numpy.typing import NDArray

from seepage.errors import InputError
from seepage.execution.storage._columns import Common, partition_types, read_as
from seepage.execution.storage._footer import Footer, footers
from seepage.execution.storage._output import OutputFolder
from seepage.execution.storage._paths import Named, refuse_repeated, refuse_tables, resolve
from seepage.execution.storage._read import Constants, FileStore, Filter, Unit

if TYPE_CHECKING:
    from deltalake import DeltaTable

Path = str | os.PathLike[str]
Paths: TypeAlias = "Path | Iterable[Path] | DeltaTable"
"""Each path a file, a folder, or a pattern such as \"people/*.parquet\"; or a URI of these."""

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
    state: tuple[str, int] | None = None
    """The name and the version of the Delta table that they belong to."""
    whole: "Files | None" = None
    """The same without a filter, if these are what a filter keeps."""

    @classmethod
    def of(cls, source: Paths, filesystem: pa.fs.FileSystem | None = None) -> "Files":
        """Find the files and read their footers.

        Parameters
        ----------
        source : path, URI, sequence of them, or deltalake.DeltaTable
            Each path a file, a folder, or a pattern such as "people/*.parquet".
        filesystem : pyarrow.fs.FileSystem, optional
            Where the paths are; found from a URI by default.
        """
        if hasattr(source, "to_pyarrow_dataset"):
            return cls._of_table(cast("DeltaTable", source))
        listed = [source] if isinstance(source, str | os.PathLike) else list(source)
        found = [resolve(os.fspath(path), filesystem) for path in listed]
        if not found:
            raise InputError("No file was given.")
        home = found[0][0]
        if any(not other.equals(home) for other, _ in found):
            raise InputError(f"All files must be on one file system; {listed[0]!r} and another are not.")
        named = tuple(Named.of(home, path) for _, path in found)
        folders = _plain(home, named)
        known = footers(home, list(folders))
        types = partition_types(folders.values())
        constants = [
            _named_by_folders(values, types, footer.schema)
            for values, footer in zip(folders.values(), known, strict=True)
        ]
        common = Common.of(list(folders), _with_folders([footer.schema for footer in known], constants, types))
        return cls._cut(home, list(folders), known, constants, common, named)

    @classmethod
    def _of_table(cls, table: "DeltaTable") -> "Files":
        """Read the files that deltalake finds in the log of a table."""
        dataset, partitions = table.to_pyarrow_dataset(), table.metadata().partition_columns
        fragments = sorted(dataset.get_fragments(), key=lambda fragment: str(fragment.path))
        keys = [pa.dataset.get_partition_keys(fragment.partition_expression) for fragment in fragments]
        paths = [fragment.path for fragment in fragments]
        common = Common(pa.schema([(field.name, read_as(field.type)) for field in dataset.schema]), {})
        constants = [tuple((name, values.get(name)) for name in partitions) for values in keys]
        name = unquote(table.table_uri).rstrip("/").rpartition("/")[2]
        files = cls._cut(dataset.filesystem, paths, footers(dataset.filesystem, paths), constants, common, ())
        return replace(files, state=(name, table.version()))

    @classmethod
    def _cut(
        cls,
        filesystem: pa.fs.FileSystem,
        paths: list[str],
        known: Sequence[Footer],
        constants: Sequence[Constants],
        common: Common,
        named: tuple[Named, ...],
    ) -> "Files":
        """Cut files into units of work."""
        units: list[Unit] = []
        for path, footer, values in zip(paths, known, constants, strict=True):
            units.extend(_units(path, footer, values, len(units)))
        if not units:
            raise InputError(f"There is no row in {_listing(paths)}: nobody's leakage can be measured.")
        folders = {path.rpartition("/")[0] for path in paths}
        base = os.path.commonpath(folders) if all(folders) else ""
        return cls(FileStore(filesystem, common.schema), base, tuple(paths), common, tuple(units), named)

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
            known = (unit.groups, unit.rows, unit.stamp, unit.constants)
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


def _plain(filesystem: pa.fs.FileSystem, named: Sequence[Named]) -> dict[str, dict[str, str | None]]:
    """Find files, each once, with the columns that their folders name."""
    found: dict[str, dict[str, str | None]] = {}
    for one in named:
        files, seen = one.files(filesystem)
        refuse_tables(filesystem, one, seen)
        if not files:
            raise InputError(f"No file matches {'/'.join([one.folder, *(one.parts or ('**', '*.parquet'))])!r}.")
        for path in files:
            found.setdefault(path, one.values(path))
    refuse_repeated(filesystem, list(found))
    return found


def _named_by_folders(
    values: Mapping[str, str | None], types: Mapping[str, pa.DataType], schema: pa.Schema
) -> Constants:
    """Return the columns that folders name; a file that has one of them itself is believed."""
    return tuple(
        (name, int(value) if types[name] == pa.int64() and value is not None else value)
        for name, value in sorted(values.items())
        if name not in schema.names
    )


def _with_folders(
    schemas: Sequence[pa.Schema], constants: Sequence[Constants], types: Mapping[str, pa.DataType]
) -> list[pa.Schema]:
    """Return the columns of each file, those that its folders name among them; made once of files that are alike."""
    made: dict[tuple[int, tuple[str, ...]], pa.Schema] = {}
    whole = []
    for schema, values in zip(schemas, constants, strict=True):
        named = tuple(name for name, _ in values)
        if (id(schema), named) not in made:
            made[id(schema), named] = pa.schema([*schema, *(pa.field(name, types[name]) for name in named)])
        whole.append(made[id(schema), named])
    return whole


def _units(path: str, footer: Footer, constants: Constants, index: int) -> Iterator[Unit]:
    first = start = rows = size = 0
    for group, (more, stored) in enumerate(footer.groups):
        rows, size = rows + more, size + stored
        if size < _UNIT_BYTES and group + 1 < len(footer.groups):
            continue
        if rows:
            yield Unit(index, path, (first, group + 1), start, rows, size, footer.stamp, constants)
            index += 1
        first, start, rows, size = group + 1, start + rows, 0, 0


def _listing(paths: Sequence[str]) -> str:
    if len(paths) > 1:
        return f"{paths[0]} and {len(paths) - 1} more files"
    return paths[0] if paths else "the table"
