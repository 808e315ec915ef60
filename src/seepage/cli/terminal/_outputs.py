"""Files that a command writes: never onto what it reads, never onto each other, and over others only if asked."""

import glob
import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

from seepage.errors import InputError

_WILD = "*?["


def check_outputs(
    outputs: Mapping[str, Path | None], *, inputs: Mapping[str, str | Path | None], force: bool, folders: bool = False
) -> None:
    """Refuse to write where something would be destroyed or nothing can be written, before any work is done.

    Parameters
    ----------
    outputs, inputs : mapping
        What is written and read, by the name of each on the command line; what is None is not there.
    force : bool
        Whether files that exist may be replaced.
    folders : bool
        Whether an output may be a folder.
    """
    given = {name: path for name, path in outputs.items() if path is not None}
    for i, (name, path) in enumerate(given.items()):
        _check_place(path, folders)
        for other, earlier in list(given.items())[:i]:
            if _same(path, earlier):
                raise InputError(f"{name} and {other} are the same file ({path}): one would destroy the other.")
        for other, source in inputs.items():
            if source is not None and _is_read(path, source):
                raise InputError(f"{name} is {path}, which is read here ({other} {source}). Choose another name.")
    for path in given.values():
        if not force and os.path.lexists(path) and not (folders and path.is_dir()):
            raise InputError(f"{path} exists. Choose another name, or replace it with --force.")


def data_inputs(data: list[str]) -> dict[str, str | Path | None]:
    """Return the files of rows as `check_outputs` takes them."""
    return {"DATA" if i == 0 else f"DATA {i + 1}:": path for i, path in enumerate(data) if "://" not in path}


def _check_place(path: Path, folders: bool) -> None:
    if path.is_dir() and not folders:
        raise InputError(f"{path} is a folder: name a file in it.")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(f"{path} is no file but a device or a pipe, which would be replaced by one.")
    if not path.parent.is_dir():
        raise InputError(f"There is no folder {path.parent} to write {path.name} to. Make it first.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InputError(f"Nothing can be written to the folder {path.parent}. Choose another one.")


def _is_read(path: Path, source: str | Path) -> bool:
    if isinstance(source, str) and any(letter in source for letter in _WILD) and not os.path.exists(source):
        matches = fnmatch(os.path.abspath(path), os.path.abspath(source))
        return matches or any(_same(path, Path(one)) for one in glob.iglob(source, recursive=True))
    return any(_same(path, one) for one in _and_above(path, Path(source)))


def _and_above(path: Path, source: Path) -> Iterator[Path]:
    """Yield what is read, and for a folder the file in it that would be read next time."""
    yield source
    if source.is_dir() and source.resolve() in _place(path).parents:
        yield path


def _same(one: Path, other: Path) -> bool:
    if _place(one) == _place(other) or one.resolve() == other.resolve():
        return True
    # A file may have two names without any link between them.
    return one.exists() and other.exists() and os.path.samefile(one, other)


def _place(path: Path) -> Path:
    """Return where a file is written: a link there is replaced, and not what it leads to."""
    return path.parent.resolve() / path.name
