"""Rows in files: which format they are in, and whether they are read at once or a batch at a time."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate, takewhile

import pyarrow as pa
import pyarrow.csv

from seepage.cli.terminal import shortened
from seepage.errors import InputError, UnreadableError
from seepage.execution.storage import Files, resolve

# Parquet that takes more than this in memory is streamed by all cores; larger files of other formats are refused.
MOST_IN_MEMORY = 500_000_000
_TEXT_BYTES = 40
_TEXT, _PARQUET = (".csv", ".tsv", ".txt"), (".parquet", ".pq")
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
_HEAD_BYTES = 2**23


@dataclass(frozen=True, eq=False)
class GivenSource:
    """Files of rows.

    Attributes
    ----------
    paths : tuple of str
        As they were given.
    is_csv : bool
        Whether it is one file of text; others are Parquet.
    stream : bool
        Whether they are read a batch at a time.
    """

    paths: tuple[str, ...]
    is_csv: bool
    stream: bool

    @classmethod
    def of(cls, paths: Sequence[str], stream: bool | None = None) -> "GivenSource":
        """Find out what the files are; `stream` overrides the rule of size."""
        formats = {_is_csv(path) for path in paths}
        if len(paths) > 1 and True in formats:
            raise InputError(
                f"Several files are read together if all of them are Parquet; {paths[0]} and others are not."
            )
        source = cls(tuple(paths), True in formats, False)
        if source.is_csv:
            if stream:
                raise InputError(f"{source.name} is CSV; only Parquet files can be streamed.")
            source.names  # noqa: B018  A file that is not there should be known before a model is read.
            if stream is None and source._is_large():
                raise InputError(
                    f"{source.name} has more than {MOST_IN_MEMORY / 1e6:,.0f} MB, and CSV is read at once. Write it as "
                    "Parquet, which is read a batch at a time; or read it with --in-memory."
                )
            return source
        if stream is None:
            row = sum(8 if pa.types.is_primitive(field.type) else _TEXT_BYTES for field in source.files.schema)
            stored = sum(unit.bytes for unit in source.files.units)
            stream = max(stored, row * source.files.count) > MOST_IN_MEMORY
        return replace(source, stream=stream)

    @property
    def name(self) -> str:
        """What messages call it."""
        first = shortened(self.paths[0], 60)
        return first if len(self.paths) == 1 else f"{first} and {len(self.paths) - 1} more files"

    @cached_property
    def files(self) -> Files:
        """The Parquet files, with their footers read."""
        try:
            return Files.of(list(self.paths))
        except UnreadableError as error:
            # No command continues what another began.
            raise InputError(
                f"{error.path} cannot be read as Parquet ({error.reason}). It may be truncated or damaged: write it "
                "again."
            ) from error

    @cached_property
    def names(self) -> list[str]:
        """The columns, without those in which pandas keeps an unnamed index."""
        if self.is_csv:
            with self._opened() as (file, _):
                columns = pa.csv.open_csv(file, **self._options(None)).schema.names
        else:
            # With those that only some of the files have, or with another type: reading one of these is refused.
            columns = self.files.common.names
        twice = [name for name in columns if columns.count(name) > 1] if len(columns) < 10_000 else []
        if twice:
            raise InputError(f"{self.name} has two columns {twice[0]!r}. Rename one of them.")
        return [name for name in columns if not name.startswith("__index_level_")]

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Read some columns of all rows."""
        listed = list(dict.fromkeys(columns))
        if self.is_csv:
            with self._opened() as (file, _):
                found = pa.csv.read_csv(file, **self._options(listed))
        else:
            self.files.require(listed, "A column")
            self._check_types(self.files.schema, listed)
            found = self.files.table(listed)
        self._check_types(found.schema, listed)
        if found.num_rows == 0:
            raise InputError(f"{self.name} has no rows: nobody's leakage can be measured.")
        return found.select(listed)

    def _check_types(self, schema: pa.Schema, columns: Sequence[str]) -> None:
        """Refuse columns that hold no single number or word for each person."""
        for name in columns:
            kind = schema.field(name).type
            if pa.types.is_nested(kind):
                raise InputError(
                    f"The column {shortened(name)!r} of {self.name} holds {shortened(str(kind))}: several values for "
                    "each person. Give each of them a column of its own."
                )
            if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
                why = "text that is not UTF-8. Save the file" if self.is_csv else "bytes. Write it"
                way_out = "as UTF-8" if self.is_csv else "as text or as numbers"
                raise InputError(f"The column {shortened(name)!r} of {self.name} holds {why} {way_out}.")

    def _is_large(self) -> bool:
        """Return whether the file is larger than the limit, unpacked."""
        with self._opened() as (file, size):
            if not self.paths[0].lower().endswith(_COMPRESSED):
                return size > MOST_IN_MEMORY
            blocks = takewhile(len, iter(partial(file.read, _HEAD_BYTES), None))
            return any(total > MOST_IN_MEMORY for total in accumulate(map(len, blocks)))

    @contextmanager
    def _opened(self) -> Iterator[tuple[pa.NativeFile, int]]:
        filesystem, path = resolve(self.paths[0], None)
        try:
            with filesystem.open_input_stream(path) as file:
                yield file, filesystem.get_file_info(path).size
        except FileNotFoundError:
            raise InputError(f"There is no file {self.paths[0]}.") from None
        except UnicodeDecodeError:
            raise InputError(
                f"{self.paths[0]} is not text in UTF-8: the names of its columns cannot be read. Save it as UTF-8."
            ) from None
        except (pa.ArrowException, OSError) as reason:
            words = str(reason).partition("\n")[0]
            way_out = "Is it complete?"
            if "Expected 1 columns" in words:
                way_out = (
                    "It seems to be separated by something else than commas. Write it with commas and decimal points "
                    "(write.csv, not write.csv2), or as Parquet."
                )
            raise InputError(f"{self.paths[0]} cannot be read as CSV: {words}. {way_out}") from None

    def _options(self, columns: Sequence[str] | None) -> dict[str, object]:
        tabs = any(part in self.paths[0].lower() for part in (".tsv", ".txt"))
        return {
            "read_options": pa.csv.ReadOptions(block_size=_HEAD_BYTES),
            "parse_options": pa.csv.ParseOptions(delimiter="\t" if tabs else ","),
            "convert_options": pa.csv.ConvertOptions(
                # An empty cell or R's NA is no value of a text either; in quotes it is one.
                include_columns=columns,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        }


def _is_csv(path: str) -> bool:
    """Return whether a path names a file of text; a folder, a pattern or a URI without a suffix is of Parquet."""
    stem = path.lower().partition("?")[0] if "://" in path else path.lower()
    for ending in _COMPRESSED:
        stem = stem.removesuffix(ending)
    if stem.endswith(_TEXT):
        return True
    if stem.endswith(_PARQUET) or "://" in path or any(letter in path for letter in "*?[") or os.path.isdir(path):
        return False
    if not os.path.exists(path):
        raise InputError(f"There is no file {path}.")
    raise InputError(
        f"{path} is in no format that can be read here. Rows come as CSV (.csv) or Parquet (.parquet, or a folder of "
        "them)."
    )
