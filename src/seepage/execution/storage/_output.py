"""One Parquet file a unit of work, whole or not there at all."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq

from seepage.errors import InputError, UnreadableError
from seepage.execution.storage._paths import naming, resolve
from seepage.execution.storage._read import VERIFIED, WITH_CHECKSUMS, Unit

# Readers of a folder of Parquet files skip names that begin so.
_KEPT = "_seepage"
_DAMAGED = f"{_KEPT}/damaged.json"


@dataclass(frozen=True, eq=False)
class OutputFolder:
    """A folder that a job writes to, and can be continued in."""

    filesystem: pa.fs.FileSystem
    path: str
    new: bool = False
    """Whether it was empty when the job began: nobody has to ask a store for what was finished earlier."""

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        job: Mapping[str, object],
        *,
        resume: bool,
        filesystem: pa.fs.FileSystem | None = None,
    ) -> "OutputFolder":
        """Make the folder and note the job in it; continue only the same job, and only when asked to."""
        home, place = resolve(str(path), filesystem)
        output = cls(home, place.rstrip("/"))
        note = f"{output.path}/{_KEPT}/job.json"
        text = json.dumps(dict(job), indent=1, sort_keys=True)
        with output._writable():
            if home.get_file_info(note).type == pa.fs.FileType.File:
                with home.open_input_file(note) as source:
                    output._check_same_job(json.loads(source.read()), json.loads(text), resume)
                output.put(f"{_KEPT}/job.json", text.encode())
                return output
            selector = pa.fs.FileSelector(output.path, allow_not_found=True)
            if home.get_file_info(output.path).type == pa.fs.FileType.File or home.get_file_info(selector):
                raise InputError(f"output={output.path!r} is not an empty folder. Name one that is, or a new one.")
            home.create_dir(f"{output.path}/{_KEPT}", recursive=True)
        output.put(f"{_KEPT}/job.json", text.encode())
        return replace(output, new=True)

    def place(self, base: str, unit: Unit, kind: str) -> str:
        """Return the name of a unit's file: like the input's below `base`, but led by the unit's position."""
        folder, _, name = unit.path[len(base) :].strip("/").rpartition("/")
        return "/".join(part for part in (kind, folder, f"{unit.index:06d}-{name}") if part)

    def has(self, name: str) -> bool:
        """Return whether a file was finished by an earlier job."""
        return not self.new and self._is_there(name)

    def _is_there(self, name: str) -> bool:
        return bool(self.filesystem.get_file_info(f"{self.path}/{name}").type == pa.fs.FileType.File)

    def get(self, name: str) -> bytes:
        """Return the content of a finished file."""
        with naming(f"{self.path}/{name}"), self.filesystem.open_input_file(f"{self.path}/{name}") as source:
            return bytes(source.read())

    def put(self, name: str, content: bytes) -> None:
        """Write a small file."""
        with self._appearing(name) as sink:
            sink.write(content)

    def tables(self, name: str, rows: int) -> Iterator[pa.Table]:
        """Yield the tables that a finished Parquet file was written of."""
        with self._sound(name), self.filesystem.open_input_file(f"{self.path}/{name}") as source:
            file = pq.ParquetFile(source, pre_buffer=False, **VERIFIED)
            if file.metadata.num_rows != rows:
                raise pa.ArrowInvalid(f"it holds {file.metadata.num_rows} rows, not {rows}")
            for group in range(file.metadata.num_row_groups):
                with self._sound(name):
                    table = file.read_row_group(group, use_threads=False)
                yield table

    @contextmanager
    def writing(self, name: str, schema: pa.Schema) -> Iterator[Callable[[pa.Table], pa.Table]]:
        """Open a Parquet file that appears under its name only when it is complete; what is written is handed back."""
        # Ids and measurements hardly repeat: a dictionary of them is work for nothing.
        options = {"use_dictionary": False, "compression": "lz4", **WITH_CHECKSUMS}
        with self._appearing(name) as sink, pq.ParquetWriter(sink, schema, **options) as writer:

            def write(table: pa.Table) -> pa.Table:
                writer.write_table(table)
                return table

            yield write

    @contextmanager
    def _appearing(self, name: str) -> Iterator[pa.NativeFile]:
        """Write under a name nobody reads, then rename: a worker that dies leaves nothing behind that looks whole."""
        temporary, final = f"{self.path}/{_KEPT}/{uuid4().hex}.unfinished", f"{self.path}/{name}"
        with self._writable():
            try:
                with self.filesystem.open_output_stream(temporary) as file:
                    yield file
                self.filesystem.create_dir(final.rpartition("/")[0], recursive=True)
                self.filesystem.move(temporary, final)
            except BaseException:
                if self.filesystem.get_file_info(temporary).type == pa.fs.FileType.File:
                    self.filesystem.delete_file(temporary)
                raise

    def dataset(self, places: Sequence[str]) -> pa.dataset.Dataset:
        """Return finished files in their order; one that is missing is named."""
        paths = [f"{self.path}/{place}" for place in places]
        folder = os.path.commonpath([path.rpartition("/")[0] for path in paths])
        selector = pa.fs.FileSelector(folder, recursive=True, allow_not_found=True)
        there = {info.path for info in self.filesystem.get_file_info(selector) if info.type == pa.fs.FileType.File}
        missing = [path for path in paths if path not in there]
        if missing:
            more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise InputError(
                f"{missing[0]} is missing{more}: these results are not whole. Measure again with resume=True, which "
                "repeats what is missing."
            )
        return pa.dataset.dataset(paths, filesystem=self.filesystem, format="parquet")

    def forget(self, kind: str | None = None) -> None:
        """Delete what dead workers left, and what was kept for continuing if a kind is named."""
        selector = pa.fs.FileSelector(f"{self.path}/{_KEPT}", recursive=True)
        for info in self.filesystem.get_file_info(selector):
            kept = kind is not None and f"/{kind}/" in info.path
            if info.type == pa.fs.FileType.File and (kept or info.path.endswith(".unfinished")):
                self.filesystem.delete_file(info.path)

    def excuse(self, path: str) -> None:
        """Note that a file of rows was damaged: who continues the job may have written it again."""
        self.put(_DAMAGED, json.dumps([*self._excused(), path]).encode())

    def _excused(self) -> list[str]:
        return list(json.loads(self.get(_DAMAGED))) if self._is_there(_DAMAGED) else []

    def _check_same_job(self, earlier: Mapping[str, Any], job: Mapping[str, Any], resume: bool) -> None:
        if not resume:
            raise InputError(
                f"output={self.path!r} holds an earlier job. Name another folder, or continue with resume=True."
            )
        differ = sorted(key for key in {*earlier, *job} if earlier.get(key) != job.get(key))
        if not differ:
            return
        before, now = earlier.get("files", {}), job.get("files", {})
        changed = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
        # What was added up is kept by what a file was; what was scored rests on all of them.
        if differ == ["files"] and {*changed} <= {*self._excused()} and not self._has_any("examples"):
            return
        told = ""
        if changed:
            state = "is gone" if changed[0] not in now else "is new" if changed[0] not in before else "has changed"
            more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
            told = f" {changed[0]} {state}{more}."
        raise InputError(
            f"resume=True cannot continue the job in {self.path!r}: it differs from this one in its "
            f"{' and its '.join(differ)}.{told} Name another folder."
        )

    def _has_any(self, kind: str) -> bool:
        return bool(self.filesystem.get_file_info(pa.fs.FileSelector(f"{self.path}/{kind}", allow_not_found=True)))

    def kept(self, name: str) -> str:
        """Return the name of a file that is no result."""
        return f"{_KEPT}/{name}"

    @contextmanager
    def _sound(self, name: str) -> Iterator[None]:
        """Say of a result that cannot be read what to do about it."""
        try:
            with naming(f"{self.path}/{name}"):
                yield
        except UnreadableError as error:
            raise InputError(
                f"{error.path} is a result of an earlier job that cannot be read ({error.reason}). Delete it, and "
                "continue with resume=True, which repeats it."
            ) from error

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"output={self.path!r} cannot be written to ({error}). Free space or choose another folder, then "
                "continue with resume=True."
            ) from error
