"""Who the rows of files are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.dataset
from numpy.typing import NDArray

from seepage._tables import Array, Column, Frame, Listed, column_values
from seepage.errors import InputError, UnansweredError
from seepage.execution.storage import Files, OutputFolder
from seepage.leakage import People, PeopleInMemory
from seepage.leakage.types import By, Kind, Who


@dataclass(frozen=True, eq=False)
class StoredColumns(Mapping[str, Array]):
    """Columns of a data set of files, each read when it is asked for."""

    output: OutputFolder
    kind: Kind
    names: tuple[str, ...]
    places: tuple[str, ...]
    """The files that hold them, in order."""
    id: str | None
    """The column that names the people."""

    @cached_property
    def dataset(self) -> pa.dataset.Dataset:
        """The files themselves, for reading only what is wanted."""
        return self.output.dataset(self.places)

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise KeyError(name)
        return np.asarray(self.dataset.to_table(columns=[name]).column(0).to_numpy())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class PeopleInFiles(People):
    """People whose rows are in files. Frames are Arrow data sets: they are read when asked for rows."""

    files: Files
    name: str | None = None
    """The column that names them."""
    grouping: str | None = None
    library: str = "pyarrow"

    @cached_property
    def ids(self) -> Column | None:
        return None if self.name is None else self.files.column(self.name)

    def frame(self, columns: Mapping[str, Column]) -> Frame:
        """Return stored columns as a data set, and computed ones as a table with the ids."""
        if isinstance(columns, StoredColumns):
            return columns.dataset
        return pa.table(dict(columns) if self.name is None else {self.name: self.ids, **columns})

    def take(self, rows: NDArray[np.intp]) -> PeopleInMemory:
        return PeopleInMemory(rows if self.ids is None else self.ids[rows], self.library, self.name or "id")

    def chosen(self, ids: Listed) -> Who:
        if self.name is None:
            raise UnansweredError(
                "Nobody in these files has a name. Measure with ids=, the column that names people, or choose them by "
                'values of a column: joint_information_loss({"column": value}).'
            )
        return {self.name: [ids] if isinstance(ids, str) else column_values(ids).tolist()}

    def labels(self, by: By) -> Column:
        return self.files.column(self.column(by))

    def column(self, by: By) -> str:
        """Return the column that people are grouped by."""
        column = self.grouping if by is None else by
        if column is None:
            raise InputError('Which groups? Name a column, by_group("column"), or measure with groups=.')
        if not isinstance(column, str):
            raise UnansweredError('People in files are grouped by a column of theirs: by_group("column").')
        self.files.require([column], "by_group")
        return column
