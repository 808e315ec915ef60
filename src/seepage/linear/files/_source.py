"""Rows of files as they were given, before a model says how to read them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from seepage._tables import Column, Table
from seepage.errors import InputError
from seepage.execution import Engine, Job, Local, OverRun, in_runs
from seepage.execution.storage import Files, Paths, Progress
from seepage.linear.files._kept import Keeping, Where
from seepage.linear.files._labels import Tally, Tallying
from seepage.linear.files._roles import Roles
from seepage.linear.files._rows import FileReader, FileRows
from seepage.linear.information import Source, Weights
from seepage.linear.rows import Labels, Reading


@dataclass(frozen=True, eq=False)
class SourceInFiles(Source):
    """Rows of Parquet files, and what their columns are for."""

    files: Files
    roles: Roles
    names: tuple[str, ...]
    """The raw columns that the model takes."""
    by_name: bool
    """Whether the model knows its columns by name."""
    job: Job

    @classmethod
    def of(
        cls, paths: Paths, roles: Roles, columns: Sequence[str] | None, job: Job | None, where: str | None = None
    ) -> "SourceInFiles":
        """Open the files, and check that they have the columns that are needed; count whom a filter keeps."""
        job = job or Job()
        files = Files.of(paths, job.filesystem)
        for what, names in roles.named().items():
            files.require(names, what)
            for name in names:
                kind = files.schema.field(name).type
                if pa.types.is_nested(kind):
                    raise InputError(f"{what} is {name!r}, which holds {kind}: several values a row, not one.")
        taken = roles.features(files.common.names) if columns is None else list(columns)
        files.require(taken, "A feature of the model")
        source = cls(files, roles, tuple(taken), columns is not None, job)
        return source if where is None else source._filtered(where)

    def _filtered(self, where: str) -> "SourceInFiles":
        files = self.files.filtered(Where(where))
        runs = in_runs(files.units, self.engine.workers)
        found: dict[int, list[int]] = {}
        with Progress(self.job.progress).of("counting people", len(runs)) as watch:
            for index, counts in self.engine.map(Keeping(files.store), runs):
                found[index] = counts
                watch(1)
        return replace(self, files=files.counted([count for index in range(len(runs)) for count in found[index]]))

    @property
    def engine(self) -> Engine:
        """Who reads them."""
        return self.job.engine or Local()

    @property
    def header(self) -> Table:
        return Table.header(self.names)

    @property
    def count(self) -> int:
        return self.files.count

    def classes(self) -> Column:
        return np.unique(np.array(list(self._tally.classes)))

    def outputs(self) -> int:
        return len(self.roles.target)

    def weights(self, labels: Labels, balanced: bool) -> Weights:
        if self.roles.weight is None and not balanced:
            return Weights(float(self.count))
        if labels.classes is None:
            return Weights(self._weight)
        return Weights(self._tally.weight, *self._tally.of(labels.classes))

    @cached_property
    def _tally(self) -> Tally:
        return self._counted(classifier=True)

    @property
    def _weight(self) -> float:
        return self._counted(classifier=False).weight

    def _counted(self, *, classifier: bool) -> Tally:
        """Count the labels, in a pass over their column alone."""
        runs = in_runs(self.files.units, self.engine.workers)
        with Progress(self.job.progress).of("counting labels", len(runs)) as watch:
            return self.engine.total(OverRun(Tallying(self.files.store, self.roles, classifier)), runs, watch)

    def rows(self, reading: Reading, batch_size: int) -> FileRows:
        # One column may be both.
        named = dict.fromkeys((self.roles.ids, self.roles.groups))
        kept = tuple(self.files.schema.field(name) for name in named if name is not None)
        # Preprocessing looks its columns up in a data frame.
        by_name = self.by_name and reading.preprocess is not None
        reader = FileReader(self.files.store, self.names, self.roles, reading, batch_size, by_name, kept)
        return FileRows(self.files, reader, self.engine, Progress(self.job.progress), None)
