"""The exact information of a linear model's release about people in files."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from seepage._tables import Array
from seepage.errors import InputError, UnansweredError
from seepage.leakage import Distances, Distribution, Exposed, PeopleInMemory
from seepage.leakage.types import By, Kind, Variance, Who
from seepage.linear.files._facts import FactFinder, Facts, Gathering
from seepage.linear.files._people import PeopleInFiles, StoredColumns
from seepage.linear.files._rows import FileRows
from seepage.linear.files._scores import MOST, Scores, ScoresSummary, places
from seepage.linear.information import ExactInformation, Scorer
from seepage.linear.objective import JointSums, Nothing
from seepage.linear.rows import Reading
from seepage.meaning import EmpiricalPrior


@dataclass(frozen=True, eq=False, kw_only=True)
class FileInformation(ExactInformation):
    """Exact Fisher information about people in files: written where it was measured, never gathered."""

    people: PeopleInFiles
    rows: FileRows
    _known: dict[tuple[Kind, str | None], ScoresSummary] = field(default_factory=dict, repr=False)
    """Summaries that were made already, and by which column they are grouped."""

    @property
    def count(self) -> int:
        return self.rows.count

    @property
    def private_values(self) -> int:
        return self.geometry.private_values()

    def examples(self) -> StoredColumns:
        return self._stored("examples")

    def attributes(self) -> StoredColumns:
        return self._stored("attributes")

    def distributions(self, kind: Kind) -> Mapping[str, Distribution]:
        return self._summary(kind).columns

    def distribution_at(self, kind: Kind, name: str, factor: float) -> Distribution:
        if factor == 1.0:
            return self.distributions(kind)[name]
        # Another pass over the files; what was written stays what was measured.
        rows = replace(self.rows, output=None)
        changed = replace(self, rows=rows, geometry=self.geometry.at(factor), _known={})
        return changed.distributions(kind)[name]

    def _elsewhere(self) -> "FileInformation":
        return replace(self, rows=replace(self.rows, output=None), _known={})

    def groups(self, by: By) -> dict[Hashable, Distribution]:
        found = self._summary("examples", self.people.column(by)).groups
        return dict(sorted(found.items()))

    def top(self, count: int) -> Exposed:
        top = self._summary("examples").top
        if count > MOST or top is None:
            raise UnansweredError(
                f"Only the {MOST} most exposed people are kept by name. Ask for fewer, or filter the frame `examples`."
            )
        columns = {name: column.to_numpy() for name, column in zip(top.column_names, top.columns, strict=True)}
        shown = {name: values[:count] for name, values in columns.items()}
        file, row = places(self.rows.reader.roles)
        rows = self.rows.files.positions(shown[file], shown[row])
        # Who looks there must find the person, whom a filter may have given another place.
        shown[row] = self.rows.files.unfiltered(shown[file], shown[row])
        ids = rows if self.people.name is None else shown.pop(self.people.name)
        return Exposed(rows, PeopleInMemory(ids, self.people.library, self.people.name or "id"), shown)

    def variances(self) -> Mapping[str, Variance]:
        numbers, found = self._numbers, (self._facts.squares / self._facts.count).tolist()
        single = dict(zip(numbers, found, strict=False))
        if len(found) == len(numbers):
            return single
        # The label is last, and has a number for each target.
        return {**single, numbers[-1]: tuple(found[len(numbers) - 1 :])}

    def spreads(self, attribute: str) -> tuple[EmpiricalPrior, ...]:
        at = self._numbers.index(attribute)
        # The label is last, and has a number for each target.
        return self._spreads[at:] if attribute == self._numbers[-1] else self._spreads[at : at + 1]

    @cached_property
    def _spreads(self) -> tuple[EmpiricalPrior, ...]:
        # A pass of its own: how narrow the bins must be is known once the variances are.
        deviations = np.sqrt(self._facts.squares / self._facts.count).tolist()
        return self.rows.add(Gathering(self._finding, tuple(deviations)), "gathering values").each

    @property
    def reading(self) -> Reading:
        return self.rows.reader.reading

    def extremes(self) -> tuple[float, float | None]:
        weight, factors = self._facts.largest_weight, self.reading.class_weight
        if self.rows.reader.roles.weight is None:
            return self._facts.largest_norm, None
        # The largest is of weights times class weights; which class it is in was not kept.
        return self._facts.largest_norm, weight if factors is None else weight / float(factors.min())

    @property
    def _numbers(self) -> list[str]:
        return [name for name in self.attribute_names if name not in self.categorical]

    @property
    def _finding(self) -> FactFinder:
        columns = tuple(name for name in self._numbers if not self.is_label(name))
        return FactFinder(self.rows.reader, columns, len(columns) < len(self._numbers))

    @cached_property
    def _facts(self) -> Facts:
        return self.rows.add(self._finding, "variances")

    def distances(self, attribute: str, values: Sequence[Hashable] | None) -> Distances:
        raise UnansweredError(
            f"The success rate of {attribute!r} is found by refits, which are made in memory: measure a frame of the "
            "rows. Over files eta, error_floor() and joint_information_loss() are answered."
        )

    def joint_information_loss(self, who: Who, attribute: str | None) -> float:
        if who is not None and not isinstance(who, Mapping):
            raise UnansweredError(
                'People in files are chosen by values of their columns: joint_information_loss({"column": value}).'
            )
        self.rows.files.require(list(who or ()), "joint_information_loss's column")
        geometry = self.geometry_of(attribute)
        add = Scorer(geometry).joint_gram if geometry.stacked else geometry.joint_sums
        sums: JointSums | Array | Nothing = self.rows.joint_information_loss(add, who)
        if isinstance(sums, Nothing):
            raise InputError(f"Nobody has {dict(who or {})!r}: nothing can be said about nobody.")
        if isinstance(sums, JointSums):
            return geometry.joint_eta(sums)
        return float(np.sqrt(max(np.linalg.eigvalsh(sums)[-1], 0.0)))

    def _summary(self, kind: Kind, column: str | None = None) -> ScoresSummary:
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

    def _stored(self, kind: Kind) -> StoredColumns:
        if self.rows.output is None:
            raise UnansweredError(
                "What the release says of each person was not kept. Measure with output=, a folder for their rows; "
                "summary(), by_group(), most_exposed() and joint_information_loss() need none."
            )
        self._summary(kind)
        names = ("eta", "dfil") if kind == "examples" else self.attribute_names
        files, output = self.rows.files, self.rows.output
        places = tuple(output.place(files.base, unit, kind) for unit in files.units)
        return StoredColumns(output, kind, names, places, self.people.name)
