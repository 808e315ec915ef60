"""Files that are whole or not there, and closed to others where they hold people."""

import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from seepage.errors import InputError

Content = str | bytes | Callable[[IO[bytes]], object]


@dataclass(frozen=True)
class NewFile:
    """A file to be written: where, what, and whether its owner alone may read it."""

    path: str | os.PathLike[str]
    content: Content
    private: bool = False


def write_file(path: str | os.PathLike[str], content: Content, *, private: bool = False) -> None:
    """Write a file beside its place and move it there: until then, what was there before stays.

    A private file is made readable by its owner alone: there is no moment at which others could open it. Text is
    encoded as UTF-8; content may also be a function that writes to the open file.
    """
    place = _place(path)
    if place.exists() and not place.is_file():
        # A device or a pipe is written to, never replaced.
        with place.open("wb") as file:
            _fill(file, content)
        return
    write_together([NewFile(path, content, private)])


def write_together(files: Sequence[NewFile]) -> None:
    """Write several files beside their places, and move all of them there once each is complete.

    If one cannot be written or moved, those that were moved are taken back and what was there before is as it was. A
    process that is killed between two moves leaves some of them: put last what must not be there without the others.
    """
    places = [_place(file.path) for file in files]
    for i, place in enumerate(places):
        if place in places[:i]:
            raise InputError(f"{os.fspath(files[i].path)!r} is to be written twice, with different contents.")
        if place.exists() and not place.is_file():
            raise InputError(f"{str(place)!r} is no file but a device or a pipe, which would be replaced by one.")
    waiting: list[Path] = []
    moved: list[tuple[Path, Path | None]] = []
    try:
        for file, place in zip(files, places, strict=True):
            waiting.append(_beside(place))
            _stage(waiting[-1], file)
        for name, place in zip(waiting, places, strict=True):
            former = _second_name(place) if len(files) > 1 else None
            moved.append((place, former))
            os.replace(name, place)
    except BaseException:
        _take_back(moved, waiting)
        raise
    for _, former in moved:
        if former is not None:
            former.unlink(missing_ok=True)


def _take_back(moved: Sequence[tuple[Path, Path | None]], waiting: Sequence[Path]) -> None:
    for (place, former), name in reversed(list(zip(moved, waiting, strict=False))):
        if former is not None:
            os.replace(former, place)
            # Two names of one file are left as they are by a move.
            former.unlink(missing_ok=True)
        elif not name.exists():
            place.unlink(missing_ok=True)
    for name in waiting:
        name.unlink(missing_ok=True)


def _place(path: str | os.PathLike[str]) -> Path:
    place = Path(os.path.realpath(path))
    if not place.parent.is_dir():
        raise InputError(f"There is no folder {str(place.parent)!r} to write {place.name!r} into.")
    if place.is_dir():
        raise InputError(f"{str(place)!r} is a folder: name a file in it.")
    return place


def _beside(place: Path) -> Path:
    return place.with_name(f".{place.name[:40]}.{secrets.token_hex(8)}")


def _stage(waiting: Path, file: NewFile) -> None:
    # Windows would write other line ends otherwise.
    binary = getattr(os, "O_BINARY", 0)
    handle = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, 0o600 if file.private else 0o666)
    with os.fdopen(handle, "wb") as opened:
        _fill(opened, file.content)
        opened.flush()
        os.fsync(opened.fileno())


def _second_name(place: Path) -> Path | None:
    """Keep what is at a place under a second name; return that name."""
    if not place.exists():
        return None
    former = _beside(place)
    try:
        os.link(place, former)
    except OSError:
        # Not every file system has second names.
        os.replace(place, former)
    return former


def _fill(file: IO[bytes], content: Content) -> None:
    if isinstance(content, str):
        file.write(content.encode())
    elif isinstance(content, bytes):
        file.write(content)
    else:
        content(file)
