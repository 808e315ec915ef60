"""One Parquet file a unit of work, whole or not there at all."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq

from seepage._errors import InputError
from seepage.engines.storage._files import Unit, naming, resolve

# Readers of a folder of Parquet files skip names that begin so.
_KEPT = "_seepage"


@dataclass(frozen=True, eq=False)
class Output:
    """A folder that a job writes to, and can be continued in."""

    filesystem: pa.fs.FileSystem
    path: str

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        job: Mapping[str, object],
        *,
        resume: bool,
        filesystem: pa.fs.FileSystem | None = None,
    ) -> "Output":
        """Make the folder and note the job in it; continue only the same job, and only when asked to."""
        home, place = resolve(str(path), filesystem)
        output = cls(home, place.rstrip("/"))
        note = f"{output.path}/{_KEPT}/job.json"
        text = json.dumps(dict(job), indent=1, sort_keys=True)
        with output._writable():
            if home.get_file_info(note).type == pa.fs.FileType.File:
                with home.open_input_file(note) as source:
                    _check_same_job(output.path, json.loads(source.read()), json.loads(text), resume)
                return output
            selector = pa.fs.FileSelector(output.path, allow_not_found=True)
            if home.get_file_info(output.path).type == pa.fs.FileType.File or home.get_file_info(selector):
                raise InputError(f"output={output.path!r} is not an empty folder. Name one that is, or a new one.")
            home.create_dir(f"{output.path}/{_KEPT}", recursive=True)
        output.put(f"{_KEPT}/job.json", text.encode())
        return output

    def place(self, base: str, unit: Unit, kind: str) -> str:
        """Return the name of a unit's file: like the input's below `base`, but led by the unit's position."""
        folder, _, name = unit.path[len(base) :].strip("/").rpartition("/")
        return "/".join(part for part in (kind, folder, f"{unit.index:06d}-{name}") if part)

    def has(self, name: str) -> bool:
        """Return whether a file was finished."""
        return bool(self.filesystem.get_file_info(f"{self.path}/{name}").type == pa.fs.FileType.File)

    def get(self, name: str) -> bytes:
        """Return the content of a finished file."""
        with naming(f"{self.path}/{name}"), self.filesystem.open_input_file(f"{self.path}/{name}") as source:
            return bytes(source.read())

    def put(self, name: str, content: bytes) -> None:
        """Write a small file."""
        with self.replacing(name) as path, self.filesystem.open_output_stream(path) as sink:
            sink.write(content)

    def tables(self, name: str, rows: int, size: int) -> Iterator[pa.Table]:
        """Yield the rows of a finished Parquet file, so many at a time."""
        with naming(f"{self.path}/{name}"), self.filesystem.open_input_file(f"{self.path}/{name}") as source:
            file = pq.ParquetFile(source, pre_buffer=False)
            if file.metadata.num_rows != rows:
                raise InputError(f"{self.path}/{name} holds {file.metadata.num_rows} rows, not {rows}: delete it.")
            for batch in file.iter_batches(size, use_threads=False):
                yield pa.Table.from_batches([batch])

    @contextmanager
    def writing(self, name: str, schema: pa.Schema) -> Iterator[Callable[[pa.Table], pa.Table]]:
        """Open a Parquet file that appears under its name only when it is complete; what is written is handed back."""
        with (
            self.replacing(name) as path,
            self.filesystem.open_output_stream(path) as sink,
            # Ids and measurements hardly repeat: a dictionary of them is work for nothing.
            pq.ParquetWriter(sink, schema, use_dictionary=False, compression="lz4") as writer,
        ):

            def write(table: pa.Table) -> pa.Table:
                writer.write_table(table)
                return table

            yield write

    @contextmanager
    def replacing(self, name: str) -> Iterator[str]:
        """Write under a name nobody reads, then rename: a worker that dies leaves nothing behind that looks whole."""
        temporary, final = f"{self.path}/{_KEPT}/{uuid4().hex}.unfinished", f"{self.path}/{name}"
        with self._writable():
            try:
                yield temporary
                self.filesystem.create_dir(final.rpartition("/")[0], recursive=True)
                self.filesystem.move(temporary, final)
            except BaseException:
                if self.filesystem.get_file_info(temporary).type == pa.fs.FileType.File:
                    self.filesystem.delete_file(temporary)
                raise

    def dataset(self, kind: str) -> pa.dataset.Dataset:
        """Return the finished files of one kind, in the order of the input."""
        selector = pa.fs.FileSelector(f"{self.path}/{kind}", recursive=True)
        paths = [info.path for info in self.filesystem.get_file_info(selector) if info.type == pa.fs.FileType.File]
        paths.sort(key=lambda path: path.rpartition("/")[2])
        return pa.dataset.dataset(paths, filesystem=self.filesystem, format="parquet")

    def forget(self, kind: str | None = None) -> None:
        """Delete what dead workers left, and what was kept for continuing if a kind is named."""
        selector = pa.fs.FileSelector(f"{self.path}/{_KEPT}", recursive=True)
        for info in self.filesystem.get_file_info(selector):
            kept = kind is not None and f"/{kind}/" in info.path
            if info.type == pa.fs.FileType.File and (kept or info.path.endswith(".unfinished")):
                self.filesystem.delete_file(info.path)

    def kept(self, name: str) -> str:
        """Return the name of a file that is no result."""
        return f"{_KEPT}/{name}"

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"output={self.path!r} cannot be written to ({error}). Free space or choose another folder, then "
                "continue with resume=True."
            ) from error


def _check_same_job(path: str, earlier: Mapping[str, object], job: Mapping[str, object], resume: bool) -> None:
    if not resume:
        raise InputError(f"output={path!r} holds an earlier job. Name another folder, or continue with resume=True.")
    for key in sorted({*earlier, *job}):
        if earlier.get(key) != job.get(key):
            raise InputError(
                f"resume=True cannot continue the job in {path!r}: it differs from this one in its {key}. Name another "
                "folder."
            )
