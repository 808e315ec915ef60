"""Files that are whole or not there, and closed to others where they hold people."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO

from seepage._errors import InputError


def write_file(
    path: str | os.PathLike[str], content: str | bytes | Callable[[IO[bytes]], object], *, private: bool = False
) -> None:
    """Write a file beside its place and move it there: until then, what was there before stays.

    A private file is made readable by its owner alone: there is no moment at which others could open it. Text is
    encoded as UTF-8; content may also be a function that writes to the open file.
    """
    place = Path(os.path.realpath(path))
    if not place.parent.is_dir():
        raise InputError(f"There is no folder {str(place.parent)!r} to write {place.name!r} into.")
    if place.is_dir():
        raise InputError(f"{str(place)!r} is a folder: name a file in it.")
    if place.exists() and not place.is_file():
        # A device or a pipe is written to, never replaced.
        with place.open("wb") as file:
            _fill(file, content)
        return
    waiting = place.with_name(f".{place.name[:40]}.{secrets.token_hex(8)}")
    handle = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            _fill(file, content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(waiting, place)
    except BaseException:
        waiting.unlink(missing_ok=True)
        raise


def _fill(file: IO[bytes], content: str | bytes | Callable[[IO[bytes]], object]) -> None:
    if isinstance(content, str):
        file.write(content.encode())
    elif isinstance(content, bytes):
        file.write(content)
    else:
        content(file)
