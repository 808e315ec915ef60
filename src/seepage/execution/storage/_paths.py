"""Names of files as people write them: paths, folders, patterns and URIs."""

import fnmatch
import os
import posixpath
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs

from seepage.errors import InputError, SeepageError, UnreadableError

# An object store has no root: names begin with a bucket.
_OBJECT_STORES = ("s3", "gcs", "abfs")
_WILD = "*?["
_SUFFIXES = (".parquet", ".parq", ".pq")
_NOBODY = "__HIVE_DEFAULT_PARTITION__"


def resolve(path: str, filesystem: pa.fs.FileSystem | None) -> tuple[pa.fs.FileSystem, str]:
    """Return the file system of a path or URI, and the path there."""
    if not path:
        raise InputError("A path is empty: name a file, a folder or a pattern.")
    if filesystem is not None:
        path = path.partition("://")[2] or path
        while isinstance(filesystem, pa.fs.SubTreeFileSystem):
            # By the names that files have outside it, so that each of them has one.
            filesystem, path = filesystem.base_fs, posixpath.join(filesystem.base_path, path.lstrip("/"))
        if isinstance(filesystem, pa.fs.LocalFileSystem):
            return filesystem, os.path.abspath(path)
        return filesystem, _plain(filesystem, path)
    if "://" not in path:
        return pa.fs.LocalFileSystem(), os.path.abspath(path)
    if path.startswith("file://"):
        plain = path.removeprefix("file://").removeprefix("localhost")
        # Iceberg writes names with percent signs as they are.
        return pa.fs.LocalFileSystem(), os.path.abspath(plain if os.path.exists(plain) else unquote(plain))
    # A pattern is no URI: only the part before its first wildcard is parsed, with the options that follow a "?".
    path, mark, options = path.partition("?")
    fixed = path[: next((i for i, letter in enumerate(path) if letter in "*["), len(path))]
    try:
        found, parsed = pa.fs.FileSystem.from_uri(fixed + mark + options)
    except (pa.ArrowInvalid, OSError, ValueError) as error:
        raise InputError(f"{path!r} names no file system that pyarrow can open: {error}") from error
    whole = parsed.rstrip("/") + ("/" if fixed.endswith("/") else "") + path[len(fixed) :]
    return found, _plain(found, whole)


def _plain(filesystem: pa.fs.FileSystem, path: str) -> str:
    """Return the one name that a store's file has: clients that send requests take `./` and `..` out of them too."""
    rooted = path.startswith("/") and filesystem.type_name not in _OBJECT_STORES
    return ("/" if rooted else "") + posixpath.normpath(path).lstrip("/")


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Name the file in whatever goes wrong with it."""
    try:
        yield
    except SeepageError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path} is missing. Put it back, or leave it out, and start again.") from error
    except PermissionError as error:
        raise InputError(f"{path} may not be read ({error}). Ask its owner for the right to it.") from error
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableError(path, reason) from error


@dataclass(frozen=True)
class Named:
    """What a path stands for: one file, or whatever matches below a folder."""

    folder: str
    """All that is found is below it."""
    parts: tuple[str, ...]
    """What may follow, folder by folder: `**` is any number of folders, other wildcards stay in theirs."""
    kind: Literal["file", "folder", "pattern"]

    @classmethod
    def of(cls, filesystem: pa.fs.FileSystem, path: str) -> "Named":
        """Tell what a path is; one that exists is not a pattern, whatever letters it has."""
        plain = path.rstrip("/") or path
        with naming(path):
            kind = filesystem.get_file_info(plain).type
        if kind == pa.fs.FileType.File:
            folder, _, name = plain.rpartition("/")
            return cls(folder, (name,), "file")
        if kind == pa.fs.FileType.Directory:
            return cls(plain, (), "folder")
        if not any(letter in path for letter in _WILD):
            raise InputError(f"{path} does not exist.")
        pieces = plain.split("/")
        first = next(i for i, piece in enumerate(pieces) if any(letter in piece for letter in _WILD))
        return cls("/".join(pieces[:first]), tuple(pieces[first:]), "pattern")

    def matches(self, path: str) -> bool:
        """Return whether a file is meant: it matches, or lies in a folder that does and looks like Parquet."""
        if self.folder and not path.startswith(f"{self.folder.rstrip('/')}/"):
            return False
        pieces = path[len(self.folder) :].strip("/").split("/")
        if self.kind == "file":
            return pieces == list(self.parts)
        if self.kind == "pattern" and _fits(pieces, self.parts):
            return not any(_is_hidden(piece) and not self._says(piece) for piece in pieces)
        # Writers of clusters make a folder where others make a file.
        whole = self.kind == "folder" or any(_fits(pieces[:i], self.parts) for i in range(1, len(pieces)))
        return whole and pieces[-1].lower().endswith(_SUFFIXES) and not any(_is_hidden(piece) for piece in pieces)

    def _says(self, piece: str) -> bool:
        """Return whether a hidden name is asked for by its first letter."""
        return any(_is_hidden(part) and fnmatch.fnmatchcase(piece, part) for part in self.parts)

    def files(self, filesystem: pa.fs.FileSystem) -> tuple[list[str], list[str]]:
        """Return the files that are meant, in order, and everything that was seen on the way."""
        if self.kind == "file":
            return ["/".join(part for part in (self.folder, *self.parts) if part)], []
        deep = self.kind == "folder" or len(self.parts) > 1 or "**" in self.parts
        seen = _below(filesystem, self.folder, deep)
        if not deep:
            # A folder that matches is read like one that was named.
            folders = [path for path, is_file in seen if not is_file and _fits([path.rpartition("/")[2]], self.parts)]
            seen += [entry for folder in folders for entry in _below(filesystem, folder, True)]
        return sorted({path for path, is_file in seen if is_file and self.matches(path)}), [path for path, _ in seen]

    def values(self, path: str) -> dict[str, str | None]:
        """Return the columns that the folders of a file name: `region=north/year=2020`."""
        pieces = path[len(self.folder) :].strip("/").split("/")[:-1]
        named = (piece.partition("=") for piece in pieces if piece.find("=") > 0)
        return {unquote(key): None if value == _NOBODY else unquote(value) for key, _, value in named}


def _fits(pieces: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether the pieces of a path fit a pattern, folder by folder."""
    if not parts:
        return not pieces
    if len(parts) == 1 and parts[0] == "**":
        # At the end it stands for what is in a folder, not for the folder's own name.
        return bool(pieces)
    if parts[0] == "**":
        return any(_fits(pieces[i:], parts[1:]) for i in range(len(pieces) + 1))
    return bool(pieces) and fnmatch.fnmatchcase(pieces[0], parts[0]) and _fits(pieces[1:], parts[1:])


def _below(filesystem: pa.fs.FileSystem, folder: str, deep: bool) -> list[tuple[str, bool]]:
    """Return what is below a folder, and whether each is a file."""
    with naming(folder or "/"):
        if isinstance(filesystem, pa.fs.LocalFileSystem):
            return list(_walked(folder or "/", deep, set())) if os.path.isdir(folder or "/") else []
        found = filesystem.get_file_info(pa.fs.FileSelector(folder, recursive=deep, allow_not_found=True))
    return [(info.path, info.type == pa.fs.FileType.File) for info in found]


def _walked(folder: str, deep: bool, entered: set[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """Walk folders of this machine, each once: a link may lead back to where it was found."""
    status = os.stat(folder)
    if (status.st_dev, status.st_ino) in entered:
        return
    entered.add((status.st_dev, status.st_ino))
    with os.scandir(folder) as entries:
        # Links last, so that a folder is called by its own name.
        known = sorted(entries, key=lambda entry: (entry.is_symlink(), entry.name))
    for entry in known:
        is_folder = entry.is_dir()
        if deep and entry.is_symlink() and not os.path.exists(entry.path) and not _is_hidden(entry.name):
            raise InputError(f"{entry.path} is a link to nothing: people may be missing. Mend it or take it away.")
        path = f"{folder.rstrip('/')}/{entry.name}"
        yield path, not is_folder
        if is_folder and deep:
            yield from _walked(path, deep, entered)


def refuse_tables(filesystem: pa.fs.FileSystem, named: Named, seen: Sequence[str]) -> None:
    """Refuse the folder of a table, and folders inside: only files that its newest state names hold its rows."""
    if named.kind == "file":
        return
    folder = named.folder
    while "=" in posixpath.basename(folder):
        folder = posixpath.dirname(folder)
    logs = [f"{folder}/_delta_log"]
    if posixpath.basename(folder) == "data":
        logs.append(f"{posixpath.dirname(folder)}/metadata")
    known = [*seen, *(path for log in logs for path, _ in _below(filesystem, log, False))]
    marks = ("/_delta_log/", "/.hoodie/", ".metadata.json/", ".metadata.json.gz/")
    if any(mark in f"{path}/" for path in known for mark in marks):
        raise InputError(
            f"{named.folder} belongs to a table whose folder keeps rows that were deleted or replaced. Pass "
            f"deltalake.DeltaTable(...) in Python; of Iceberg, the list of files that a scan plans."
        )


def refuse_repeated(filesystem: pa.fs.FileSystem, paths: Sequence[str]) -> None:
    """Refuse two names of one file: its people would count twice."""
    if not isinstance(filesystem, pa.fs.LocalFileSystem):
        return
    names: dict[tuple[int, int], str] = {}
    for path in paths:
        with naming(path):
            status = os.stat(path)
        first = names.setdefault((status.st_dev, status.st_ino), path)
        if first != path:
            raise InputError(
                f"{first} and {path} are two names of one file, so that its people would count twice. Leave one out."
            )


def _is_hidden(piece: str) -> bool:
    return piece[:1] in "._"
