"""A skops file, looked at without loading it.

Loading makes objects, and a small file can ask for very many: a compressed array of zeros takes a thousandth of its
size. So what a file would take is counted first, from the directory of the archive and the heads of its arrays, and
nothing in it is run or believed.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from seepage.errors import InputError

Node = Mapping[str, Any]
"""An object in the description of a file, as JSON: what is in it is not believed."""
MOST_BYTES = 500_000_000
"""The most that the arrays of a model may take, decoded."""
MOST_DESCRIPTION = 50_000_000
"""The most that its description may take: each named column takes about 250 bytes."""
_MOST_ENTRIES = 100_000
_DEEPEST = 200
_DESCRIPTION = "schema.json"


@dataclass(frozen=True, eq=False)
class SkopsFile:
    """The description of a model in a skops file whose sizes are within the limits.

    Attributes
    ----------
    path : Path
        Where it is.
    description : mapping
        The tree of its objects, as skops writes it.
    """

    path: Path
    description: Node

    @classmethod
    def of(cls, path: Path) -> "SkopsFile":
        """Look at a file; refuse one that is damaged or would take too much memory."""
        with _opened(path) as archive:
            entries = archive.infolist()
            sizes = {entry.filename: entry.file_size for entry in entries}
            if len(entries) > _MOST_ENTRIES or len(sizes) < len(entries):
                raise InputError(f"{path} is no skops file: it has {len(entries):,} entries, some of one name.")
            if sizes.get(_DESCRIPTION, 0) > MOST_DESCRIPTION:
                raise _too_large(path, "its description", sizes[_DESCRIPTION], MOST_DESCRIPTION)
            description = json.loads(archive.read(_DESCRIPTION))
            if not isinstance(description, dict):
                raise InputError(f"{path} is no skops file: its description is no object.")
            # An array that is named often is read as often.
            named = [name for node in _nodes(path, description) if isinstance(name := node.get("file"), str)]
            unpacked = {name: _unpacked(path, archive, name, sizes[name]) for name in dict.fromkeys(named)}
            total = sum(unpacked[name] for name in named)
        if total > MOST_BYTES:
            raise _too_large(path, "the arrays in it", total, MOST_BYTES)
        return cls(path, description)

    @property
    def class_name(self) -> str:
        """The name of the outermost class, as the file says."""
        return str(self.description.get("__class__"))


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive, and name it in whatever goes wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except InputError:
        raise
    except OSError as reason:
        raise InputError(f"{path} cannot be read: {reason.strerror or reason}.") from None
    except RecursionError:
        raise _too_deep(path) from None
    except (EOFError, KeyError, IndexError, TypeError, ValueError, RuntimeError, zipfile.error, zlib.error) as reason:
        # Also what other versions of zip can do: encrypt, compress in another way.
        raise InputError(f"{path} cannot be read as a skops file ({type(reason).__name__}: {reason}).") from None


def _nodes(path: Path, description: Node) -> Iterator[Node]:
    """Yield every object of the description."""
    waiting: list[tuple[object, int]] = [(description, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _DEEPEST:
            raise _too_deep(path)
        if isinstance(node, dict):
            yield node
            waiting.extend((child, depth + 1) for child in node.values())
        elif isinstance(node, list):
            waiting.extend((child, depth + 1) for child in node)


def _unpacked(path: Path, archive: zipfile.ZipFile, name: str, size: int) -> int:
    """Return what an entry takes in memory: itself, and the arrays packed in it."""
    with archive.open(name) as entry:
        start = entry.read(8)
        if start.startswith(b"\x93NUMPY"):
            return max(size, _array_bytes(path, io.BytesIO(start + entry.read(min(size, 2**20))), size))
        if not start.startswith(b"PK"):
            return size
        if size > MOST_BYTES:
            return size
        # A sparse matrix is an archive of its own.
        with zipfile.ZipFile(io.BytesIO(start + entry.read())) as inner:
            return size + sum(one.file_size for one in inner.infolist())


def _array_bytes(path: Path, file: IO[bytes], size: int) -> int:
    """Return what the head of an array says that it takes; it may not say more than there is."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    held = prod(shape) * dtype.itemsize
    if held > size:
        raise InputError(
            f"{path} is damaged: an array of it should have {held:,} bytes, and is stored in {size:,}. Write it again."
        )
    return int(held)


def _too_deep(path: Path) -> InputError:
    return InputError(f"{path} is no model: its description is nested more than {_DEEPEST} levels deep.")


def _too_large(path: Path, what: str, found: int, most: int) -> InputError:
    return InputError(
        f"{path} would take too much memory: {what} would be {found / 1e6:,.0f} MB, and at most {most / 1e6:,.0f} MB "
        "are read. A linear model needs far less; is this the right file?"
    )
