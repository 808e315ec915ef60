"""A model, the rows it was fitted on, and the roles of their columns, as a command names them."""

import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from seepage._tables import Column, Data, Frame, Listed, Model, Table, column_values
from seepage.cli.input._models import check_model, is_table, read_model
from seepage.cli.input._sources import GivenSource
from seepage.cli.terminal import Amount, Waiting, did_you_mean, listing, shortened
from seepage.errors import InputError, MinimizerError, SeepageError, UnsupportedError
from seepage.leakage import Leakage

if TYPE_CHECKING:
    from seepage.cli.input._policies import PolicyFile
    from seepage.linear import ModelTable
    from seepage.linear.written import AssembledTable


@dataclass(frozen=True, eq=False)
class RowsInMemory:
    """Rows as the library takes them."""

    X: Data
    y: Listed
    ids: Listed
    groups: Listed
    weights: Listed
    offset: Listed = None


@dataclass(frozen=True, eq=False)
class CommandQuestion:
    """A model and its rows, as the options of a command name them."""

    asked: Any
    waiting: Waiting
    stream: bool | None
    target: tuple[str, ...]
    """Of a survival model, the columns of status and time."""
    private: tuple[str, ...] | None
    weight: str | None
    table: "ModelTable | None"
    """The model, if it is written as a table."""

    @classmethod
    def of(cls, waiting: Waiting, asked: Any, *, stream: bool | None) -> "CommandQuestion":
        """Split the options that hold several names."""
        labels, columns = separate(asked.target or ()), listed(asked.private)
        if (asked.time is None) != (asked.status is None):
            raise InputError("A survival model has two outcomes: name both columns, --time COLUMN and --status COLUMN.")
        if asked.time is not None and asked.status is not None:
            if labels:
                raise InputError("--time and --status are the outcome of a survival model: leave --target out.")
            labels = (asked.status, asked.time)
        weight, table = asked.sample_weight, _table(asked, labels)
        if table is not None:
            labels, weight = table.outcome, table.weights
        elif not labels:
            check_model(asked.model)
            raise InputError(
                "Which column does the model predict? Name it with --target COLUMN; of a survival model, with --time "
                "COLUMN and --status COLUMN."
            )
        if asked.public_label and columns is not None and set(columns) & set(labels):
            raise InputError(f"{labels[0]!r} cannot be private and known (--public-label) at the same time.")
        return cls(asked, waiting, stream, labels, columns, weight, table)

    @property
    def groups(self) -> str | None:
        """The column of groups, of a command that compares them."""
        return getattr(self.asked, "groups", None)

    def check_names(self, file: "PolicyFile") -> None:
        """Refuse a policy about columns that are not private, before anything is measured."""
        if self.table is None:
            columns = (*self.features, *self.target)
            private = [name for name in columns if self.private is None or name in (*self.private, *self.target)]
            names = (*file.policy.error_floor, *file.policy.success_rate)
            _check_known(
                names, private, f"The policy {file.path} names {{}}, which is no private column of this model."
            )

    @cached_property
    def source(self) -> GivenSource:
        """The files of rows."""
        source = GivenSource.of(self.asked.files, self.stream)
        options: dict[str, tuple[str | None, ...]] = {"--ids": (self.asked.ids,), "--groups": (self.groups,)}
        if self.table is None:
            outcome = "--target" if self.asked.time is None else "--status, --time"
            options = {outcome: self.target, **options, "--sample-weight": (self.weight,)}
        for option, names in options.items():
            _check_known(filter(None, names), source.names, f"{option} is {{}}, which is no column of {source.name}.")
        return source

    @cached_property
    def model(self) -> Model:
        """The fitted model."""
        # The files are looked at first: they tell of a mistake sooner.
        self.source  # noqa: B018
        if self.table is not None:
            return self.assembled.model
        with self.waiting.doing("reading the model"):
            return read_model(self.asked.model, self.asked.trust or ())

    @cached_property
    def assembled(self) -> "AssembledTable":
        """The model of a table, and its rows."""
        assert self.table is not None
        if self.source.stream:
            raise UnsupportedError(
                "The fit of a formula cannot be taken from files a batch at a time yet. Read the rows into memory: "
                "--in-memory"
            )
        columns = self.table.columns(self.source.names)
        roles = [name for name in (self.asked.ids, self.groups) if name is not None]
        with self.waiting.doing(f"reading {self.source.name}"):
            return self.table.on(as_frame(self.source.table([*columns, *roles])))

    @cached_property
    def features(self) -> list[str]:
        """The columns that the model takes: by the names it was fitted on, or all that have no other use."""
        from seepage.linear.columns import fitted_columns, split

        steps, estimator = split(self.model)
        names, source = fitted_columns(steps, estimator), self.source
        if names is not None:
            message = f"The model was fitted on a column {{}}, which {source.name} does not have."
            _check_known(names, source.names, message)
            return names
        names = [name for name in source.names if name not in {*self.target, self.asked.ids, self.groups, self.weight}]
        count = getattr(estimator, "n_features_in_", None)
        if steps is None and count not in (None, len(names)):
            raise InputError(
                f"The model takes {count} columns; {source.name} has {len(names)} that could be: {listing(names)}. "
                "Name the column of people's ids (--ids), and leave out of the file what is no feature."
            )
        return names

    @cached_property
    def attributes(self) -> list[str] | None:
        """The private columns that are features; None for all."""
        if self.private is None:
            return None
        wanted = [name for name in self.private if name not in self.target]
        _check_known(wanted, self.features, "--private names {}, which is no column that the model takes.")
        return wanted

    @cached_property
    def rows(self) -> RowsInMemory:
        """All rows, in memory."""
        from seepage.linear.columns import knows_none, split

        if self.table is not None:
            X, weights = self.assembled.X, self.assembled.sample_weight
            ids, groups = (None if name is None else Table.of(X).column(name) for name in (self.asked.ids, self.groups))
            return RowsInMemory(X, self.assembled.y, ids, groups, weights, self.assembled.offset)
        roles = (self.asked.ids, self.groups, self.weight)
        with self.waiting.doing(f"reading {self.source.name}"):
            table = self.source.table([*self.features, *self.target, *filter(None, roles)])
        steps, estimator = split(self.model)
        if steps is None and hasattr(estimator, "n_features_in_"):
            self._check_numbers(table)
        frame = _with_missing(as_frame(table), table, None if knows_none(steps) else np.nan)
        y: Any = _columns(frame, self.target) if len(self.target) > 1 else frame[self.target[0]]
        if self.asked.time is not None:
            event, time = (column_values(frame[name]) for name in self.target)
            fields = [(self.target[0], bool), (self.target[1], np.float64)]
            y = np.array([*zip(event != 0, time, strict=True)], dtype=fields)
        extra = [None if name is None else _labels(table, name) for name in roles]
        return RowsInMemory(_columns(frame, self.features), y, *extra)

    def _check_numbers(self, table: pa.Table) -> None:
        """Refuse text in the columns of a model that encodes none, by its column and row."""
        for name in self.features:
            if _is_text(table.schema.field(name).type):
                cells = table.column(name).to_pylist()
                row = next((i for i, cell in enumerate(cells) if not _is_number(cell)), 0)
                raise InputError(
                    f"The column {shortened(name)!r} of {self.source.name} holds {cells[row]!r} in row {row}, which is "
                    "no number, and the model has no step that encodes text: correct it, or leave the row out."
                )

    def measured(
        self,
        noise: Amount | None,
        *,
        published: Sequence[str] | None = None,
        output: Path | None = None,
        digits: int | str | None = None,
    ) -> Leakage:
        """Measure the release with some noise, or without any but that of digits."""
        from seepage.execution import Job
        from seepage.linear import measure
        from seepage.trees import is_trees

        asked = partial(
            measure,
            self.model,
            noise_scale=None if noise is None else noise.noise,
            published=published,
            digits=digits,
            public_label=self.asked.public_label,
            attributes=self.attributes,
            public_preprocessing=tuple(self.asked.public_preprocessing or ()),
        )
        if is_trees(self.model):
            names = ("digits", "private", "public_label", "public_preprocessing", "stream")
            given = [f"--{name.replace('_', '-')}" for name in names if getattr(self.asked, name, None)]
            for option in [*(["--noise"] if noise is not None else []), *given]:
                raise UnsupportedError(
                    f"{option} is not supported for trees, which are measured as their file is published. Leave it "
                    f"out: seepage measure {self.asked.model} {self.source.name} --target {self.target[0]}"
                )
        if self.source.stream and self.asked.time is not None:
            raise UnsupportedError("Survival models need all rows at once: read them with --in-memory.")
        if not self.source.stream:
            rows = self.rows
            self._check_classes(rows)
            with self.applying():
                leak = asked(rows.X, rows.y, ids=rows.ids, sample_weight=rows.weights, offset=rows.offset)
            return leak if self.table is None else self.assembled.remarked(leak)
        if output is not None:
            output.mkdir(mode=0o700, exist_ok=True)
        return asked(
            list(self.source.paths),
            target=self.target,
            sample_weight=self.weight,
            ids=self.asked.ids,
            # The results of a column and its groups cannot stand in one file: groups of one are counted afterward.
            groups=None if self.groups in self.features else self.groups,
            job=Job(output=output),
        )

    def _check_classes(self, rows: RowsInMemory) -> None:
        """Refuse a target that holds something else than what the model tells apart."""
        from seepage.linear.columns import split

        classes = getattr(split(self.model)[1], "classes_", None)
        if self.table is not None or classes is None or len(self.target) > 1:
            return
        for value in dict.fromkeys(column_values(rows.y).tolist()):
            if value is not None and value == value and value not in classes.tolist():
                raise InputError(
                    f"--target is {self.target[0]!r}, which holds {value!r}, and the model tells apart: "
                    f"{listing([repr(each) for each in classes.tolist()])}. Name the column that it predicts."
                )

    @contextmanager
    def applying(self) -> Iterator[None]:
        """Say of which rows it was that a step of the model would not take them."""
        try:
            yield
        except MinimizerError as reason:
            if self.table is not None:
                raise
            also = f"Or it predicts another column than {', '.join(map(repr, self.target))} (--target)."
            raise MinimizerError(f"{reason} {also}", reason.distance) from None
        except ValueError as reason:
            # What a step of the model says is the cause of what the library says.
            cause = reason.__cause__ if isinstance(reason, SeepageError) else reason
            if not isinstance(cause, ValueError) or isinstance(cause, SeepageError):
                raise
            raise InputError(f"The model cannot be applied to the rows of {self.source.name}: {cause}") from cause

    @property
    def grouping(self) -> Listed:
        """What `by_group` is asked for: labels of rows in memory, the column of streamed ones, or nothing."""
        if self.groups is None:
            return None
        return self.groups if self.source.stream else self.rows.groups

    @property
    def named_grouping(self) -> str | Mapping[str, Listed] | None:
        """The same with the name of the column, as a report takes it."""
        if self.groups is None or self.source.stream:
            return self.groups
        return {self.groups: self.rows.groups}


def _check_known(names: Iterable[str], known: list[str], message: str) -> None:
    """Refuse a name that is not among some others, with the nearest of them."""
    for name in names:
        if name not in known:
            near = did_you_mean(name, known)
            raise InputError(f"{message.format(repr(shortened(name)))} {near}There are: {listing(known)}.")


def _table(asked: Any, labels: tuple[str, ...]) -> "ModelTable | None":
    """Return a model that is no estimator: a formula or a table; None if it is one."""
    from seepage.linear import ModelTable

    model, family, weights = asked.model, asked.family, asked.sample_weight
    if asked.formula is not None:
        if family is None:
            raise InputError("Of which family is the formula? Name it with --family binomial (or gaussian, poisson).")
        if labels:
            raise InputError(f"The formula {asked.formula!r} names its outcome itself: leave --target out.")
        return ModelTable(formula=asked.formula, family=family, weights=weights)
    if not is_table(model):
        if model.suffix.lower() == ".csv":
            check_model(model)
        if family is not None:
            raise InputError(f"{model} knows its family itself: leave --family out.")
        return None
    for option, given in {"--target": labels, "--sample-weight": weights, "--family": family}.items():
        if given:
            raise InputError(f"{model} names its outcome, weights and family itself: leave {option} out.")
    return ModelTable.read(model)


def whole_frame(path: str) -> Frame:
    """Return all columns of a file of rows, at once."""
    source = GivenSource.of([path], stream=False)
    return as_frame(source.table(source.names))


def as_frame(table: pa.Table) -> Frame:
    """Return a table as a frame of pandas if that is installed."""
    return table.to_pandas(ignore_metadata=True) if importlib.util.find_spec("pandas") else table


def _columns(frame: Frame, names: Sequence[str]) -> Frame:
    return nw.from_native(frame, eager_only=True).select(names).to_native()


def _with_missing(frame: Frame, table: pa.Table, missing: float | None) -> Frame:
    """Replace missing text in a frame of pandas, which reads it as None below version 3, and as NaN since."""
    if frame is table:
        return frame
    import pandas as pd

    changed = frame.copy(deep=False)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if column.null_count and _is_text(column.type):
            cells = [missing if cell is None else cell for cell in column.to_pylist()]
            changed[name] = pd.Series(cells, index=changed.index, dtype=object)
    return changed


def _is_text(kind: pa.DataType) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _is_number(cell: str | None) -> bool:
    try:
        return cell is None or float(cell) == float(cell)
    except ValueError:
        return False


def _labels(table: pa.Table, name: str) -> Column:
    column = table.column(name)
    return np.array(column.to_pylist()) if column.null_count == 0 else np.array(column.to_pylist(), dtype=object)


def listed(names: str | None) -> tuple[str, ...] | None:
    """Split an option at its commas."""
    if names is None:
        return None
    found = tuple(part.strip() for part in names.split(",") if part.strip())
    if not found:
        raise InputError("A list of columns was given that names none. Separate their names by commas: age,income")
    return found


def separate(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of an option that may be repeated or hold commas."""
    return tuple(part for name in names for part in listed(name) or ())
