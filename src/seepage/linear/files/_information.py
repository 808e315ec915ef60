"""The exact information of a linear model's release about people in files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset
from numpy.typing import NDArray

from seepage._errors import InputError, UnansweredError
from seepage._noise import GaussianNoise
from seepage._tables import Frame
from seepage.engines._output import Output
from seepage.leakage._distribution import Distribution
from seepage.leakage._information import Distances, Kind
from seepage.linear.files._facts import Facts, Finding
from seepage.linear.files._rows import FileRows
from seepage.linear.files._scores import MOST, Scores, Summary
from seepage.linear.information._exact import ExactInformation
from seepage.linear.information._geometry import Geometry
from seepage.linear.rows._sums import JointSums, Nothing

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FileInformation(ExactInformation):
    """Exact Fisher information about people in files: written where it was measured, never gathered."""

    rows: FileRows
    geometry: Geometry
    penalty: Array
    attribute_names: tuple[str, ...]
    categorical: frozenset[str]
    assumptions: tuple[str, ...]
    noise: GaussianNoise
    _known: dict[tuple[Kind, str | None], Summary] = field(default_factory=dict, repr=False)
    """Summaries that were made already, and by which column they are grouped."""

    def examples(self) -> "StoredColumns":
        return self._stored("examples")

    def attributes(self) -> "StoredColumns":
        return self._stored("attributes")

    def distributions(self, kind: Kind) -> Mapping[str, Distribution]:
        return self._summary(kind).columns

    def groups(self, column: str | None) -> dict[Any, Distribution]:
        if column is None:
            column = self.rows.reader.roles.groups
        if not isinstance(column, str):
            raise InputError('People in files are grouped by a column of theirs: by_group("column").')
        self.rows.files.require([column], "by_group")
        found = self._summary("examples", column).groups
        return dict(sorted(found.items()))

    def most_exposed(self, count: int) -> Frame:
        top = self._summary("examples").top
        if count > MOST or top is None:
            raise UnansweredError(
                f"Only the {MOST} most exposed people are kept by name. Ask for fewer, or filter the frame `examples`."
            )
        return top.slice(0, count)

    def variances(self) -> Mapping[str, float]:
        facts = self._facts
        return dict(zip(self._numbers, (facts.squares / facts.count).tolist(), strict=True))

    def extremes(self) -> tuple[float, float]:
        return self._facts.largest_norm, self._facts.largest_weight

    @property
    def _numbers(self) -> list[str]:
        return [name for name in self.attribute_names if name not in self.categorical]

    @cached_property
    def _facts(self) -> Facts:
        columns = tuple(name for name in self._numbers if not self.is_label(name))
        work = Finding(self.rows.reader, columns, len(columns) < len(self._numbers))
        found: Facts = self.rows.add(work, "variances")
        return found

    def distances(self, attribute: str, values: Sequence[Any] | None) -> Distances:
        raise UnansweredError(
            "Refitting with another value is for people in memory: measure them, with everybody else, as a frame."
        )

    def joint(self, people: Any, attribute: str | None) -> float:
        if people is not None and not isinstance(people, Mapping):
            raise InputError('People in files are chosen by values of their columns: joint({"column": value}).')
        self.rows.files.require(list(people or ()), "joint's column")
        joining = self.geometry_of(attribute).joining
        sums: JointSums | Nothing = self.rows.joint(joining.sums, people)
        if isinstance(sums, Nothing):
            raise InputError(f"Nobody has {people!r}: nothing can be said about nobody.")
        return joining.eta(sums)

    def _summary(self, kind: Kind, column: str | None = None) -> Summary:
        """Return what is known of all people together; the first call reads every row."""
        reader, output = self.rows.reader, self.rows.output
        if column is None:
            column = reader.roles.groups
        if (kind, column) not in self._known:
            names = ("eta", "dfil") if kind == "examples" else self.attribute_names
            if column != reader.roles.groups:
                # Groups by another column: the same scores once more, so they are not written again.
                kept = (self.rows.files.schema.field(column),)
                reader = replace(reader, roles=replace(reader.roles, groups=column), kept=kept)
                output = None
            work = Scores(reader, self.scorer, kind, names, self.rows.files.base, output)
            self._known[kind, column] = self.rows.add(work, f"scoring {kind}")
        return self._known[kind, column]

    def _stored(self, kind: Kind) -> "StoredColumns":
        if self.rows.output is None:
            raise UnansweredError(
                "What the release says of each person was not kept. Measure with output=, a folder for their rows; "
                "summary(), by_group(), most_exposed() and joint() need none."
            )
        self._summary(kind)
        names = ("eta", "dfil") if kind == "examples" else self.attribute_names
        return StoredColumns(self.rows.output, kind, names)


@dataclass(frozen=True, eq=False)
class StoredColumns(Mapping[str, Array]):
    """Columns of a data set of files, each read when it is asked for."""

    output: Output
    kind: Kind
    names: tuple[str, ...]

    @cached_property
    def dataset(self) -> pa.dataset.Dataset:
        """The files themselves, for reading only what is wanted."""
        return self.output.dataset(self.kind)

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise KeyError(name)
        return np.asarray(self.dataset.to_table(columns=[name]).column(0).to_numpy())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class FilePeople:
    """Who the rows of files are. Frames are Arrow data sets: they are read when asked for rows."""

    ids: str | None
    first: Callable[[], StoredColumns]
    library: str = "pyarrow"

    def frame(self, columns: Mapping[str, Array]) -> Frame:
        """Return stored columns as a data set, and computed ones as a table with the ids."""
        if isinstance(columns, StoredColumns):
            return columns.dataset
        listed = dict(columns)
        if self.ids is not None:
            listed = {self.ids: self.first().dataset.to_table(columns=[self.ids]).column(0), **listed}
        return pa.table(listed)
