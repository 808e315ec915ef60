"""Several files that appear together, or not at all."""

import os
import secrets
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from seepage._errors import InputError


@dataclass(frozen=True)
class NewFile:
    """A file to be written: where, what, and whether its owner alone may read it."""

    path: Path
    content: bytes
    private: bool


def write_together(files: Sequence[NewFile]) -> None:
    """Write several files under other names, and move all of them to their places once each is complete.

    If one cannot be written or moved, those that were moved are taken back and what was there before is as it was. A
    process that is killed between two moves leaves some of them: put last what must not be there without the others.
    """
    places = [_place(file.path) for file in files]
    for i, place in enumerate(places):
        if place in places[:i]:
            raise InputError(f"{files[i].path} is to be written twice, with different contents.")
    staged: list[str] = []
    moved: list[tuple[Path, str | None]] = []
    try:
        for file, place in zip(files, places, strict=True):
            staged.append(_staged(file, place))
        for name, place in zip(list(staged), places, strict=True):
            moved.append((place, _set_aside(place)))
            os.replace(name, place)
            staged.remove(name)
    except BaseException:
        for place, former in reversed(moved):
            _put_back(place, former)
        for name in staged:
            _remove(name)
        raise
    for _, former in moved:
        if former is not None:
            _remove(former)
    for folder in {place.parent for place in places}:
        _settle(folder)


def _place(path: Path) -> Path:
    """Return the file that a path names, its folder found through any links."""
    if not path.parent.is_dir():
        raise InputError(f"There is no folder {str(path.parent)!r} to write {path.name!r} into.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: name a file in it.")
    if path.exists() and not path.is_file():
        raise InputError(f"{str(path)!r} is no file but a device or a pipe, which would be replaced by one.")
    return path.parent.resolve() / path.name


def _staged(file: NewFile, place: Path) -> str:
    # Made with mode 0600: there is no moment at which others could open it.
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(file.content)
            opened.flush()
            os.fsync(opened.fileno())
        if not file.private:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
    except BaseException:
        _remove(name)
        raise
    return name


def _set_aside(place: Path) -> str | None:
    """Keep what is at a place under a second name; return that name."""
    if not os.path.lexists(place):
        return None
    former = str(place.parent / f".{place.name[:40]}.{secrets.token_hex(4)}")
    try:
        os.link(place, former, follow_symlinks=False)
    except OSError:
        # Not every file system has second names.
        os.replace(place, former)
    return former


def _put_back(place: Path, former: str | None) -> None:
    if former is not None:
        os.replace(former, place)
        # Two names of one file are left as they are by a move.
        _remove(former)
    else:
        _remove(place)


def _remove(path: str | Path) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _settle(folder: Path) -> None:
    """See to it that moves survive a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
