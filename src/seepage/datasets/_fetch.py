"""Where the files of a data set are, and how they come here: found in a folder, or downloaded and checked.

A file is looked for in the folder that the caller names; without one, in the folder that SEEPAGE_DATA names (which is
only ever read) and then in ~/seepage_data. Downloads go to the caller's folder or to ~/seepage_data. They arrive under
another name, and get their own only when their checksum is right: half a file is never read as a whole one.
"""

import gzip
import hashlib
import os
import tempfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from seepage.errors import DatasetError

VARIABLE = "SEEPAGE_DATA"
_CHUNK = 2**20
# Answers of HTTP: a part of the file, as asked; and that nothing is behind where it was asked to start.
_PARTIAL, _NOTHING_THERE = 206, 416
_PATIENCE = 60.0
"""Seconds without an answer after which the next address is tried."""

Folder = str | os.PathLike[str]


@dataclass(frozen=True)
class Download:
    """One file of a data set: its name in the folder, where it is published, and how it is recognized."""

    name: str
    urls: tuple[str, ...]
    sha256: str
    """Of what is downloaded; of its contents if it is compressed with gzip and `compressed` says so."""
    compressed: bool = False
    convert: Callable[[Path, Path], None] | None = None
    """Writes the file (second path) from what was downloaded (first path); it is kept as it is by default."""
    otherwise: str = ""
    """How to get it where no address is stable."""


def get_data_home(data_home: Folder | None = None) -> Path:
    """Return the folder that downloads go to.

    Parameters
    ----------
    data_home : path, optional
        A folder of your own; ~/seepage_data by default.

    Examples
    --------
    >>> from seepage.datasets import get_data_home
    >>> get_data_home().name
    'seepage_data'
    """
    return Path("~/seepage_data" if data_home is None else data_home).expanduser()


def is_here(source: Download, data_home: Folder | None) -> bool:
    """Return whether a file is in one of the folders that are looked into."""
    return any((folder / source.name).is_file() for folder in _folders(data_home))


def fetch(source: Download, data_home: Folder | None, download: bool, *, resume: bool = False) -> Path:
    """Return the path of a file, downloading it if it is nowhere and may be.

    With `resume`, what has arrived of a download that breaks off stays beside the file, under another name, and the
    next one goes on there.
    """
    looked = _folders(data_home)
    for folder in looked:
        if (folder / source.name).is_file():
            return folder / source.name
    if not download or not source.urls:
        raise DatasetError(_not_found(source, looked, download))
    path = get_data_home(data_home) / source.name
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with nullcontext(part) if resume else _temporary(path) as received, _temporary(path) as finished:
        _download(source, received)
        if source.convert is None:
            received.replace(path)
        else:
            source.convert(received, finished)
            finished.replace(path)
            received.unlink(missing_ok=True)
    return path


def contents(source: Download, data_home: Folder | None, download: bool) -> bytes:
    """Return the contents of a file, unzipped, after checking that they are the published ones."""
    path = fetch(source, data_home, download)
    raw = path.read_bytes()
    try:
        raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (EOFError, OSError) as error:
        raise DatasetError(f"{path} is damaged ({error}). Delete it and load the data set again.") from error
    if hashlib.sha256(raw).hexdigest() != source.sha256:
        raise DatasetError(f"{path} is not the published file: its checksum differs. Delete it and load again.")
    return raw


def _folders(data_home: Folder | None) -> list[Path]:
    if data_home is not None:
        return [get_data_home(data_home)]
    named = os.environ.get(VARIABLE)
    return [*([Path(named).expanduser()] if named else []), get_data_home()]


def _not_found(source: Download, looked: list[Path], download: bool) -> str:
    sentence = f"There is no {source.name} in {' or '.join(str(folder) for folder in looked)}."
    if not source.urls:
        return f"{sentence} {source.otherwise} Put it there, or let the variable {VARIABLE} name the folder it is in."
    assert not download
    return (
        f"{sentence} Load with download=True to get it from {source.urls[0]}, or let the variable {VARIABLE} name the "
        "folder it is in."
    )


@contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """Give a path beside another one, on the same disk, and leave nothing there."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _download(source: Download, path: Path) -> None:
    """Download from the first address that gives the published file."""
    failures = []
    for url in source.urls:
        try:
            goes_on = path.exists() and path.stat().st_size > 0
            found = _received(url, path, source.compressed)
            if goes_on and found != source.sha256:
                # What it went on from was of something else.
                path.unlink()
                found = _received(url, path, source.compressed)
        except (OSError, EOFError, HTTPException, urllib.error.URLError) as error:
            failures.append(f"{url}: {error}")
            continue
        if found == source.sha256:
            return
        path.unlink()
        failures.append(f"{url}: the checksum is {found}, not {source.sha256}; it was not kept")
    raise DatasetError(
        f"{source.name} could not be downloaded. Get it yourself and let the variable {VARIABLE} name its folder.\n"
        + "\n".join(failures)
    )


def _received(url: str, path: Path, compressed: bool) -> str:
    """Download a file and return its checksum; what cannot be read as a whole has none."""
    _receive(url, path)
    try:
        return _digest(path, compressed)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return "that of a damaged file"


def _receive(url: str, path: Path) -> None:
    """Download a file, going on behind what is there already if the server can."""
    start = path.stat().st_size if path.exists() else 0
    asked = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    try:
        answer = urllib.request.urlopen(asked, timeout=_PATIENCE)
    except urllib.error.HTTPError as error:
        if not start or error.code != _NOTHING_THERE:
            raise
        # All of it, or more, is here already: the checksum says which.
        return
    with answer, path.open("ab") as file:
        if answer.status != _PARTIAL:
            start = 0
            file.truncate(0)
        expected = answer.headers.get("Content-Length")
        while chunk := answer.read(_CHUNK):
            file.write(chunk)
            file.flush()
        size = path.stat().st_size - start
    if expected is not None and size != int(expected):
        raise OSError(f"only {size} of {expected} bytes arrived")


def _digest(path: Path, compressed: bool) -> str:
    found = hashlib.sha256()
    with gzip.open(path) if compressed else path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()
