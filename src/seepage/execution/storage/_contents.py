"""What one state of a table holds: which of the files in its folder are its rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.fs
from numpy.typing import NDArray

from seepage.errors import InputError
from seepage.execution._snapshot import Snapshot
from seepage.execution.storage._patience import refused

Format = Literal["Delta", "Iceberg"]
# How files end that tell the states of an Iceberg table.
METADATA = (".metadata.json", ".metadata.json.gz")


@dataclass(frozen=True, eq=False)
class DataFile:
    """A file of a snapshot."""

    path: str
    constants: Mapping[str, object] = field(default_factory=dict)
    """Columns that have one value in all of its rows, and are not in the file."""
    deleted: NDArray[np.int64] | None = None
    """Rows that were deleted since it was written, by their place in it."""


@dataclass(frozen=True, eq=False)
class Contents:
    """What a snapshot holds."""

    format: Format
    asked: Snapshot
    folder: str
    version: int
    schema: pa.Schema
    files: tuple[DataFile, ...]
    columns: Mapping[int, str] | None = None
    """Where columns are told by numbers: which they are, whatever a file calls them."""
    called: Mapping[str, int] = field(default_factory=dict)
    """The numbers of columns in files that have none, by their names there."""

    physical: Mapping[str, str] = field(default_factory=dict)
    """What files call columns, where a log tells it."""

    @property
    def pinned(self) -> Snapshot:
        """What names this state, whatever is written to the table later."""
        return Snapshot(self.asked.path, self.version)

    @property
    def name(self) -> str:
        """The last word of its folder."""
        return self.folder.rstrip("/").rpartition("/")[2]


def format_of(filesystem: pa.fs.FileSystem, folder: str) -> Format | None:
    """Return which kind of table a folder is, if it is one."""
    base = folder.rstrip("/")
    try:
        below = [f"{base}/{name}" for name in ("_delta_log", "metadata", ".hoodie")]
        log, metadata, hudi = filesystem.get_file_info(below)
    except NotADirectoryError:
        # Some file systems say so of what is below a file, where others find nothing.
        return None
    except PermissionError as error:
        raise refused(folder, error) from error
    if hudi.type == pa.fs.FileType.Directory:
        raise InputError(
            f"{folder} is a Hudi table, which is not read here: its folder holds rows that were replaced. Write its "
            "newest snapshot as Parquet files, and pass these."
        )
    if log.type == pa.fs.FileType.Directory:
        return "Delta"
    if metadata.type == pa.fs.FileType.Directory and metadata_files(filesystem, folder):
        return "Iceberg"
    return None


def metadata_files(filesystem: pa.fs.FileSystem, folder: str) -> list[str]:
    """Return the files that tell the states of an Iceberg table."""
    selector = pa.fs.FileSelector(f"{folder.rstrip('/')}/metadata", allow_not_found=True)
    found = [info.path for info in filesystem.get_file_info(selector)]
    return sorted(path for path in found if path.endswith((*METADATA, "version-hint.text")))
