"""Parquet files on any file system, cut into units of work."""

import fnmatch
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seepage._errors import InputError, UnreadableError

Path = str | os.PathLike[str]
Paths = Path | Iterable[Path]
"""Each of them a file, a folder, or a pattern such as \"people/*.parquet\"; or a URI of these."""

# Enough work that starting it costs nothing, little enough that repeating it after a failure costs little.
_UNIT_BYTES = 2**26
_READERS_OF_FOOTERS = 16


@dataclass(frozen=True)
class Unit:
    """A range of row groups of one file."""

    index: int
    """The position among all units, which is the order of the rows."""
    path: str
    groups: tuple[int, int]
    """The first row group, and the one after the last."""
    start: int
    """The first row, counted within the file."""
    rows: int
    bytes: int
    """Uncompressed."""
    size: int
    """Of the whole file, as stored: tells when it was changed."""

    def __str__(self) -> str:
        return f"{self.path} (rows {self.start} to {self.start + self.rows - 1})"


@dataclass(frozen=True, eq=False)
class Files:
    """Parquet files in their order, and the units they are cut into."""

    filesystem: pa.fs.FileSystem
    base: str
    """The folder that all paths have in common."""
    paths: tuple[str, ...]
    schema: pa.Schema
    units: tuple[Unit, ...]

    @classmethod
    def of(cls, source: Paths, filesystem: pa.fs.FileSystem | None = None) -> "Files":
        """Find the files and read their footers.

        Parameters
        ----------
        source : path, URI, or sequence of them
            Each a file, a folder, or a pattern such as "people/*.parquet".
        filesystem : pyarrow.fs.FileSystem, optional
            Where the paths are; found from a URI by default.
        """
        listed = [source] if isinstance(source, str | os.PathLike) else list(source)
        found = [resolve(os.fspath(path), filesystem) for path in listed]
        if not found:
            raise InputError("No file was given.")
        home = found[0][0]
        if any(not other.equals(home) for other, _ in found):
            raise InputError(f"All files must be on one file system; {listed[0]!r} and another are not.")
        paths = [path for _, pattern in found for path in _expand(home, pattern)]
        with ThreadPoolExecutor(_READERS_OF_FOOTERS) as pool:
            footers = list(pool.map(lambda path: _footer(home, path), paths))
        for path, (_, metadata) in zip(paths, footers, strict=True):
            _check_same_columns(paths[0], footers[0][1], path, metadata)
        units: list[Unit] = []
        for path, (size, metadata) in zip(paths, footers, strict=True):
            units.extend(_cut(path, size, metadata, len(units)))
        if not units:
            raise InputError(f"There is no row in {_listing(paths)}: nobody's leakage can be measured.")
        folders = [path.rpartition("/")[0] for path in paths]
        base = os.path.commonpath(folders) if all(folders) else ""
        return cls(home, base, tuple(paths), footers[0][1].schema.to_arrow_schema(), tuple(units))

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(unit.rows for unit in self.units)

    def column(self, name: str) -> NDArray[np.generic]:
        """Return one column of all rows, for those who hold a number of each row anyway."""
        whole = pa.dataset.dataset(list(self.paths), filesystem=self.filesystem, format="parquet")
        return np.asarray(whole.to_table(columns=[name]).column(0).to_numpy())

    def positions(self, paths: NDArray[np.str_], rows: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return where rows of single files stand among all rows."""
        first: dict[str, int] = {}
        seen = 0
        for unit in self.units:
            first.setdefault(unit.path, seen)
            seen += unit.rows
        return np.array([first[path] for path in paths.tolist()], dtype=np.intp) + rows

    def require(self, columns: Sequence[str], what: str) -> None:
        """Refuse columns that the files do not have."""
        for column in columns:
            if column not in self.schema.names:
                raise InputError(
                    f"{what} is {column!r}, which is no column of {self.paths[0]}. Its columns are {self.schema.names}."
                )


def resolve(path: str, filesystem: pa.fs.FileSystem | None) -> tuple[pa.fs.FileSystem, str]:
    """Return the file system of a path or URI, and the path there."""
    if filesystem is not None:
        return filesystem, path.partition("://")[2] or path
    if "://" not in path:
        return pa.fs.LocalFileSystem(), os.path.abspath(path)
    # A pattern is no URI: only the part before its first wildcard is parsed, with the options that follow a "?".
    path, mark, options = path.partition("?")
    fixed = path[: next((i for i, letter in enumerate(path) if letter in "*["), len(path))]
    try:
        found, parsed = pa.fs.FileSystem.from_uri(fixed + mark + options)
    except (pa.ArrowInvalid, OSError, ValueError) as error:
        raise InputError(f"{path!r} names no file system that pyarrow can open: {error}") from error
    return found, parsed.rstrip("/") + ("/" if fixed.endswith("/") else "") + path[len(fixed) :]


def read(filesystem: pa.fs.FileSystem, unit: Unit, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a unit, a batch at a time."""
    with naming(unit.path):
        # With pre_buffer the whole unit would be held in memory.
        source = filesystem.open_input_file(unit.path)
        if source.size() != unit.size:
            raise InputError(
                f"{unit.path} has changed since its footer was read: its {unit.size} bytes are {source.size()}."
            )
        file = pq.ParquetFile(source, pre_buffer=False)
    with source:
        batches = file.iter_batches(batch_size, list(range(*unit.groups)), list(columns), use_threads=False)
        rows = 0
        while True:
            with naming(unit.path):
                batch = next(batches, None)
            if batch is None:
                break
            rows += batch.num_rows
            yield batch
        if rows != unit.rows:
            raise InputError(f"{unit.path} holds {rows} rows where its footer promised {unit.rows}.")


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Name the file in whatever goes wrong with it."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path} is missing. Put it back, or leave it out, and start again.") from error
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableError(path, reason) from error


def _expand(filesystem: pa.fs.FileSystem, pattern: str) -> list[str]:
    wild = any(letter in pattern for letter in "*?[")
    if not wild:
        with naming(pattern):
            kind = filesystem.get_file_info(pattern).type
        if kind == pa.fs.FileType.File:
            return [pattern]
        if kind == pa.fs.FileType.NotFound:
            raise InputError(f"{pattern} does not exist.")
        pattern = f"{pattern.rstrip('/')}/*.parquet"
    first = next(i for i, letter in enumerate(pattern) if letter in "*?[")
    folder = pattern[:first].rpartition("/")[0]
    # Only below a further slash or a double star can a match be in a deeper folder.
    deep = "/" in pattern[first:] or "**" in pattern or not wild
    with naming(folder):
        listed = filesystem.get_file_info(pa.fs.FileSelector(folder, recursive=deep, allow_not_found=True))
    found = sorted(
        info.path
        for info in listed
        if info.type == pa.fs.FileType.File
        and fnmatch.fnmatchcase(info.path, pattern)
        and not any(part[:1] in "._" for part in info.path[len(folder) :].strip("/").split("/"))
    )
    if not found:
        raise InputError(f"No file matches {pattern!r}.")
    return found


def _footer(filesystem: pa.fs.FileSystem, path: str) -> tuple[int, pq.FileMetaData]:
    with naming(path), filesystem.open_input_file(path) as source:
        return source.size(), pq.ParquetFile(source, pre_buffer=False).metadata


def _check_same_columns(first: str, expected: pq.FileMetaData, path: str, found: pq.FileMetaData) -> None:
    ours, theirs = set(expected.schema.names), set(found.schema.names)
    if ours != theirs:
        odd = sorted(ours ^ theirs)[0]
        has, lacks = (first, path) if odd in ours else (path, first)
        raise InputError(f"The files differ in their columns: {has} has {odd!r}, {lacks} has not.")


def _cut(path: str, size: int, metadata: pq.FileMetaData, index: int) -> Iterator[Unit]:
    first = start = rows = held = 0
    for group in range(metadata.num_row_groups):
        entry = metadata.row_group(group)
        rows += entry.num_rows
        held += entry.total_byte_size
        last = group + 1 == metadata.num_row_groups
        if rows and (held >= _UNIT_BYTES or last):
            yield Unit(index, path, (first, group + 1), start, rows, held, size)
            index, first, start, rows, held = index + 1, group + 1, start + rows, 0, 0


def _listing(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more files"
