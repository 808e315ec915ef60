"""What a file is: its size, its footer, and when it was written or what its store calls this content.

A footer says where every page is and, mostly, between which values; a store's ETag or version changes with the
content. So a file that was replaced is noticed when it is opened, though it be of the same size. Of a small file, which
is read at once, all bytes are known.
"""

import hashlib
import os
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from seepage.errors import InputError
from seepage.execution.storage._paths import naming

# As much as pyarrow itself reads at first: most footers are shorter.
_TAIL = 2**16
_END = 8


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells a file from whatever may take its place."""

    size: int
    mark: str
    """A version, an ETag, or the time of the last change."""
    digest: str
    """A hash of the footer; of the whole file, if it is small."""


@dataclass(frozen=True, eq=False)
class Opened:
    """A Parquet file that was opened, and what it is."""

    source: pa.NativeFile
    metadata: pq.FileMetaData
    stamp: Stamp
    whole: bool
    """Whether all of it was read, and its stamp is that of what was read."""

    @classmethod
    def of(cls, filesystem: pa.fs.FileSystem, path: str) -> "Opened":
        """Open a file and read its footer."""
        with naming(path):
            source, size, mark = _opened(filesystem, path)
            tail = source.read_at(min(size, _TAIL), max(size - _TAIL, 0))
            length = int.from_bytes(tail[-_END:-4], "little") + _END
            if len(tail) < length <= size:
                tail = source.read_at(length, size - length)
            whole = len(tail) == size
            digest = hashlib.sha256(tail if whole else tail[-length:]).hexdigest()
            metadata = pq.read_metadata(pa.BufferReader(tail))
            if whole:
                # All of it is here: a small file is asked for once, not for each of its columns.
                source.close()
                source = pa.BufferReader(tail)
        return cls(source, metadata, Stamp(size, mark, digest), whole)


def check_unchanged(filesystem: pa.fs.FileSystem, path: str, stamp: Stamp, found: Stamp | None = None) -> None:
    """Refuse a file that is not what it was; without `found`, look at it again."""
    if found is None:
        with naming(path):
            source, size, mark = _opened(filesystem, path)
            source.close()
        found = Stamp(size, mark, stamp.digest)
    if found == stamp:
        return
    if found.size != stamp.size:
        what = f"its {stamp.size} bytes are {found.size}"
    elif found.digest != stamp.digest:
        what = "it holds something else"
    else:
        what = "it was written again"
    raise InputError(
        f"{path} has changed since the job began: {what}. The numbers would mix two tables: start again, with the "
        "files left as they are."
    )


def _opened(filesystem: pa.fs.FileSystem, path: str) -> tuple[pa.NativeFile, int, str]:
    if isinstance(filesystem, pa.fs.LocalFileSystem):
        # Before it is opened: what takes its name in between is noticed the next time somebody looks.
        changed = os.stat(path).st_mtime_ns
        source = filesystem.open_input_file(path)
        return source, source.size(), str(changed)
    source = filesystem.open_input_file(path)
    marks = {name.lower(): value.decode() for name, value in source.metadata().items()}
    # Where versions are not kept any more, all new ones are called null.
    known = [marks[name] for name in ("versionid", "etag") if marks.get(name)]
    return source, source.size(), " ".join(known) or str(filesystem.get_file_info(path).mtime_ns)
