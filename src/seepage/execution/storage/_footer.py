"""What is kept of the footers of files.

A footer holds sizes and statistics of each column of each row group, hundreds of kilobytes in memory; which rows to
read is told by a few numbers of it. So footers are read some at a time, and only these numbers stay.
"""

import gc
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs

from seepage.execution.storage._at_once import at_once
from seepage.execution.storage._identity import Opened, Stamp

# Read before the last are dropped.
_PAGE = 2**8


@dataclass(frozen=True, eq=False, slots=True)
class Footer:
    """What planning needs to know of a file."""

    stamp: Stamp
    schema: pa.Schema
    """The same object for all files that are alike."""
    groups: tuple[tuple[int, int], ...]
    """The rows and the bytes, uncompressed, of each row group."""


def footers(filesystem: pa.fs.FileSystem, paths: Sequence[str]) -> list[Footer]:
    """Read the footers of files, and keep what planning needs."""
    alike: dict[bytes, pa.Schema] = {}

    def read(path: str) -> Footer:
        opened = Opened.of(filesystem, path)
        opened.source.close()
        metadata = opened.metadata
        # What a writer notes of its own, such as the rows that an index counts, differs from file to file.
        schema = metadata.schema.to_arrow_schema().remove_metadata()
        schema = alike.setdefault(schema.serialize().to_pybytes(), schema)
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        return Footer(opened.stamp, schema, tuple((group.num_rows, group.total_byte_size) for group in groups))

    found: list[Footer] = []
    for at in range(0, len(paths), _PAGE):
        found += at_once(read, paths[at : at + _PAGE])
        # A footer and its schema hold each other, and few objects of many bytes are no reason to look for garbage.
        gc.collect(1)
    return found
