"""Files that are whole or not there, and closed to others where they hold people."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from seepage._errors import InputError


def write_file(path: str | os.PathLike[str], write: Callable[[IO[bytes]], Any], *, private: bool) -> None:
    """Write a file beside its place and move it there; if it is private, nobody else can ever read it."""
    place = Path(path)
    if not place.parent.is_dir():
        raise InputError(f"There is no folder {str(place.parent)!r} to write {place.name!r} into.")
    # Made with mode 0600: there is no moment at which others could open it.
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        if not private:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
        os.replace(name, place)
    except BaseException:
        os.unlink(name)
        raise
