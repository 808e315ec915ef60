"""The row-local pass over files: one Parquet file of results a unit, and a summary that adds up."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seepage._tables import Array
from seepage.errors import InputError
from seepage.execution.storage import OutputFolder, Unit
from seepage.leakage import Sketch
from seepage.leakage.types import Kind
from seepage.linear.files._roles import Roles
from seepage.linear.files._rows import FileReader
from seepage.linear.information import WARM, Scorer
from seepage.linear.rows import Batch, one_thread

# The most exposed people that a summary knows by name.
MOST = 100
# Rows that are written at once: small row groups are slow to read.
_PIECE = 2**17


@dataclass(frozen=True, eq=False)
class ScoresSummary:
    """What is known of all people together."""

    columns: Mapping[str, Sketch]
    groups: Mapping[Hashable, Sketch]
    top: pa.Table | None
    """The most exposed people, the largest eta first; None when attributes were scored."""

    def __add__(self, other: "ScoresSummary") -> "ScoresSummary":
        columns = {name: known + other.columns[name] for name, known in self.columns.items()}
        groups = {**self.groups, **other.groups}
        for name in self.groups.keys() & other.groups.keys():
            groups[name] = self.groups[name] + other.groups[name]
        top = None if self.top is None or other.top is None else _largest(pa.concat_tables([self.top, other.top]))
        return ScoresSummary(columns, groups, top)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores the rows of a unit, writes them if there is an output, and sums them up."""

    preload: ClassVar[str] = WARM

    reader: FileReader
    scorer: Scorer
    kind: Kind
    names: tuple[str, ...]
    base: str
    output: OutputFolder | None

    @one_thread()
    def __call__(self, unit: Unit) -> ScoresSummary:
        return reduce(add, self._summaries(unit))

    def _summaries(self, unit: Unit) -> Iterator[ScoresSummary]:
        if self.output is None:
            yield from self._summed(unit, self._scored(unit))
            return
        name = self.output.place(self.base, unit, self.kind)
        if self.output.has(name):
            # An earlier job finished this unit: its rows are only read.
            yield from self._summed(unit, self.output.tables(name, unit.rows))
            return
        with self.output.writing(name, self._schema) as write:
            yield from self._summed(unit, map(write, self._scored(unit)))

    @cached_property
    def _schema(self) -> pa.Schema:
        return pa.schema([*self.kept, *((name, pa.float64()) for name in self.names)])

    @property
    def kept(self) -> tuple[pa.Field, ...]:
        """The columns that say who a row is; groups are asked for of examples alone, and may be attributes."""
        of_people = self.kind == "examples"
        return tuple(field for field in self.reader.kept if of_people or field.name == self.reader.roles.ids)

    def _scored(self, unit: Unit) -> Iterator[pa.Table]:
        """Yield the rows of a unit with their scores, many at a time."""
        waiting: list[pa.RecordBatch] = []
        for batch, columns in self.reader.rows(unit):
            kept = [columns.column(field.name) for field in self.kept]
            waiting.append(pa.record_batch([*kept, *self._scores(batch)], schema=self._schema))
            if sum(part.num_rows for part in waiting) >= _PIECE:
                yield pa.Table.from_batches(waiting)
                waiting = []
        if waiting:
            yield pa.Table.from_batches(waiting)

    def _scores(self, batch: Batch) -> list[Array]:
        if self.kind == "attributes":
            return list(np.sqrt(self.scorer.attributes(batch)).T)
        top, trace = self.scorer.examples(batch)
        return [np.sqrt(top), np.sqrt(trace / self._private_values)]

    @cached_property
    def _private_values(self) -> int:
        return max(self.scorer.geometry.private_values(), 1)

    def _summed(self, unit: Unit, pieces: Iterable[pa.Table]) -> Iterator[ScoresSummary]:
        start = unit.start
        for piece in pieces:
            values = {name: piece.column(name).to_numpy() for name in self.names}
            columns = {name: Sketch.of(column) for name, column in values.items()}
            if self.kind == "attributes":
                yield ScoresSummary(columns, {}, None)
            else:
                eta = values["eta"]
                yield ScoresSummary(columns, self._groups(piece, eta), self._top(unit, piece, eta, start))
            start += piece.num_rows

    def _groups(self, piece: pa.Table, values: Array) -> dict[Hashable, Sketch]:
        column = self.reader.roles.groups
        if column is None:
            return {}
        labels = piece.column(column).combine_chunks()
        if pc.is_null(labels, nan_is_null=pa.types.is_floating(labels.type)).to_numpy(zero_copy_only=False).any():
            raise InputError(
                f"The column {column!r} lacks a group for somebody. Give the people without a group a name."
            )
        coded = labels if pa.types.is_dictionary(labels.type) else labels.dictionary_encode()
        # Different for Arrow, some are one group all the same: zero has a sign there.
        names: dict[Hashable, int] = {}
        place = [names.setdefault(name, len(names)) for name in coded.dictionary.to_pylist()]
        codes = np.array(place, dtype=np.intp)[coded.indices.to_numpy()]
        # Sixteen bits sort in linear time.
        order = np.argsort(codes.astype(np.int16) if len(names) < 2**15 else codes, kind="stable")
        parts = np.split(values[order], np.cumsum(np.bincount(codes, minlength=len(names)))[:-1])
        return {name: Sketch.of(part) for name, part in zip(names, parts, strict=True) if len(part)}

    def _top(self, unit: Unit, piece: pa.Table, values: Array, start: int) -> pa.Table:
        rows = np.argpartition(-values, MOST)[:MOST] if len(values) > MOST else np.arange(len(values))
        rows = np.sort(rows)
        found = piece.take(rows)
        file, row = places(self.reader.roles)
        found = found.append_column(file, pa.array([unit.path] * len(rows), pa.string()))
        return _largest(found.append_column(row, pa.array(start + rows)))


def places(roles: Roles) -> tuple[str, str]:
    """Return what the columns are called that say where a row is: the files may have columns of such names."""
    taken = (roles.ids, roles.groups)
    return "file (of the row)" if "file" in taken else "file", "row (in its file)" if "row" in taken else "row"


def _largest(people: pa.Table) -> pa.Table:
    """Return the first rows in descending order of eta, ties in the order of the input."""
    return people.take(np.argsort(-people.column("eta").to_numpy(), kind="stable")[:MOST])
