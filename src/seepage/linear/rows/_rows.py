"""Rows as numbers, a batch at a time: labels, features, weights, and their checks.

Passes use a batch only by `project`, `gram` and `total`, which hide whether features are dense or sparse and whether
there is an intercept.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import Literal, NamedTuple, Protocol, TypeVar

import numba
import numpy as np
import pyarrow as pa
from numba.core.compiler_lock import global_compiler_lock
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin

from seepage._tables import Array, Column, Data, Listed, Table, column_values
from seepage.errors import InputError
from seepage.linear.columns import Features, Missing, bent_values, check_map, missing_cells
from seepage.linear.rows._threads import in_threads

IN_TICKS = (
    "dates or times, which are counted in ticks: an error of so many microseconds says nothing to anyone. Make it a "
    "number of days before fitting and measuring: "
    '(column - pandas.Timestamp("2000-01-01")) / pandas.Timedelta(days=1), '
    "or column / pandas.Timedelta(days=1) for lengths of time."
)


@dataclass(frozen=True, eq=False)
class Labels:
    """How labels become the numbers that the loss sees."""

    classes: Column | None
    """The classes of a classifier; None for a regression."""
    codes: Array | None
    """One row of numbers for each class."""
    outputs: int
    above_zero: Literal["at least", "more than"] | None = None
    """What the loss asks of labels that are numbers, if it asks anything."""

    def check(self, numbers: Array, start: int) -> None:
        """Refuse labels for which the loss is no loss; `start` is what messages call the first row."""
        if self.above_zero is None:
            return
        wrong = numbers < 0 if self.above_zero == "at least" else numbers <= 0
        if wrong.any():
            row, output = np.argwhere(wrong)[0]
            raise InputError(
                f"y is {numbers[row, output]:g} in row {start + row}, and the labels of this model must be "
                f"{self.above_zero} 0. Drop the row, or choose a loss that knows such labels."
            )

    def encode(self, labels: Column) -> Array:
        """Return labels as numbers, shape (n, outputs)."""
        if self.classes is None or self.codes is None:
            if labels.dtype.kind in "mM":
                raise InputError(f"The target holds {IN_TICKS}")
            try:
                numbers = np.asarray(labels, dtype=np.float64)
            except (TypeError, ValueError):
                raise InputError(f"The target of a regression must be numbers, not {labels[:1].tolist()!r}.") from None
            numbers = numbers.reshape(len(numbers), -1)
            if numbers.shape[1] != self.outputs:
                raise InputError(f"y has {numbers.shape[1]} columns; the model was fitted on {self.outputs}.")
            return numbers
        return self.codes[self.positions(labels)]

    def positions(self, labels: Column) -> NDArray[np.intp]:
        """Return the index of each label among the classes."""
        assert self.classes is not None
        try:
            index = np.searchsorted(self.classes, labels).clip(0, len(self.classes) - 1)
            strange = self.classes[index] != labels
        except TypeError:
            strange = np.ones(len(labels), dtype=bool)
        if np.any(strange):
            value = labels[np.argmax(strange)].item()
            raise InputError(f"y holds {value!r}, which is none of the model's classes {self.classes.tolist()}.")
        return np.asarray(index)


class Rebalanced(NamedTuple):
    """By what weights are multiplied when one record changes its class or leaves; NaN if its class is then gone."""

    factors: Array
    """Of each class, shape (n, classes)."""
    old: Array
    """Of the class that the record was in."""
    new: Array
    """Of the class that it comes into."""


@dataclass(frozen=True, eq=False)
class Balance:
    """How the rows of each class weigh as much as those of any other: by W / (classes * size of the class)."""

    sizes: Array
    """Of the classes: how many rows each has, or the sum of their sample weights."""
    by_weight: bool

    def moved(self, old: NDArray[np.intp], new: int | None, weights: Array | None) -> Rebalanced:
        """Return how weights change with one record's class.

        Parameters
        ----------
        old : ndarray of int, shape (n,)
            The class of each record.
        new : int or None
            The class that it comes into, if it does not leave.
        weights : ndarray of shape (n,), optional
            The sample weights of the records.
        """
        rows = np.arange(len(old))
        size = np.ones(len(old)) if weights is None or not self.by_weight else weights
        sizes = np.tile(self.sizes, (len(old), 1))
        sizes[rows, old] -= size
        if new is not None:
            sizes[:, new] += size
        # What is left of the only row of a class is rounding.
        gone = sizes <= 1e-12 * self.sizes
        total = sizes.sum(axis=1, keepdims=True) / self.sizes.sum()
        with np.errstate(divide="ignore"):
            factors = np.where(gone, np.nan, total * self.sizes / sizes)
        return Rebalanced(factors, factors[rows, old], factors[:, 0 if new is None else new])

    def largest(self, sample_weight: float | None) -> float:
        """Return what eq. 5.9 takes for the largest weight, whatever the labels are.

        A class weighs W / classes, and its share of the gradient is that times a mean over its rows. One record moves
        the means of two classes by no more than the bound on a row each, or that of one by twice as much: as if it
        weighed as much as a class. Where the mean itself is weighted, a record may be all of it in both.

        Parameters
        ----------
        sample_weight : float or None
            The largest, if there are any.
        """
        whole = float(self.sizes.sum() / len(self.sizes))
        if sample_weight is None:
            return whole
        return 2 * whole if self.by_weight else sample_weight * whole


def sparse_gram(features: sparse.csr_array, weights: Array) -> Array:
    """Return X^T diag(weights) X, touching only pairs of numbers that are there."""
    found = np.zeros((features.shape[1], features.shape[1]))
    _add_pairs(features.indptr, features.indices, features.data, weights, found)
    return found


@numba.njit(cache=True, nogil=True)
def _add_pairs(starts, columns, values, weights, found):  # type: ignore[no-untyped-def]
    for row in range(weights.shape[0]):
        for i in range(starts[row], starts[row + 1]):
            scaled = weights[row] * values[i]
            line = found[columns[i]]
            for j in range(starts[row], starts[row + 1]):
                line[columns[j]] += scaled * values[j]


Result = TypeVar("Result")

# Beyond these magnitudes squares and their products leave float64.
_LARGEST = 1e75
_SMALLEST = 1e-75
# A batch of 2^18 numbers and its products stay in the processor's cache; a wide one needs at least twice as many rows
# as columns for its sums to be worth adding, up to 2^22 numbers.
_USUAL_NUMBERS = 2**18
_MOST_NUMBERS = 2**22
_SPARSE_NUMBERS = 2**20
# A ColumnTransformer changes the warning filters of the whole process while it works and then puts back what it found:
# two threads in it at once warn of each other, and can leave no filters at all behind. So does numba while it compiles.
_CHANGING_FILTERS = global_compiler_lock
# Two numbers that each so many people have are codes, whatever they are.
_SHARE_OF_CODES = 0.01


def batch_rows(features: int, slopes: int = 0) -> int:
    """Return how many rows make a batch: fewer if each has many slopes of steps that are not affine."""
    width = max(features, 1)
    usual = max(min(max(_USUAL_NUMBERS // width, 2 * width), _MOST_NUMBERS // width), 64)
    return max(min(usual, _MOST_NUMBERS // max(slopes, 1)), 1)


@dataclass(frozen=True, eq=False)
class Batch:
    """A few rows: features, labels as numbers, and weights."""

    features: Array | sparse.csr_array
    labels: Array
    """Shape (n, outputs)."""
    weights: Array | None
    intercept: bool
    missing: Missing = field(default_factory=dict)
    """Who lacks a value in which raw column."""
    sample_weights: Array | None = None
    """The weights without those of classes: what a scaler may have been fitted with."""
    bent: Array | None = None
    """The coordinates that reach steps which are not affine, if there are any, shape (n, coordinates)."""
    offset: Array | None = None
    """What is added to each row's first margin, if something is."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def width(self) -> int:
        """The number of coefficients, with the intercept."""
        return int(self.features.shape[1]) + self.intercept

    @property
    def every_weight(self) -> Array:
        """The weight of each row: one where none were given."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> "Batch":
        """Return some of the rows, by index, mask or range."""
        weights = None if self.weights is None else self.weights[rows]
        missing = {column: mask[rows] for column, mask in self.missing.items()}
        sample_weights = None if self.sample_weights is None else self.sample_weights[rows]
        bent = None if self.bent is None else self.bent[rows]
        offset = None if self.offset is None else self.offset[rows]
        return Batch(
            self.features[rows], self.labels[rows], weights, self.intercept, missing, sample_weights, bent, offset
        )

    def dense(self) -> Array:
        """Return X as a dense array."""
        features = self.features
        return features if isinstance(features, np.ndarray) else np.asarray(features.toarray())

    def columns(self, features: NDArray[np.intp]) -> Array:
        """Return some of the features as a dense array."""
        values = self.features[:, features]
        return np.asarray(values if isinstance(values, np.ndarray) else values.toarray())

    def augmented(self) -> Array:
        """Return [X, 1] as a dense array."""
        return np.column_stack([self.dense(), np.ones(len(self))]) if self.intercept else self.dense()

    def project(self, matrix: Array) -> Array:
        """Return [X, 1] @ matrix."""
        if not self.intercept:
            return np.asarray(self.features @ matrix)
        product = np.asarray(self.features @ matrix[:-1])
        product += matrix[-1]
        return product

    def margins(self, parameters: Array) -> Array:
        """Return what the loss sees of each row at some parameters, shape (n, outputs)."""
        found = self.project(parameters)
        if self.offset is not None:
            found[:, 0] += self.offset
        return found

    def total(self, values: Array) -> Array:
        """Return [X, 1]^T @ values."""
        product = np.asarray(self.features.T @ values)
        return np.vstack([product, values.sum(axis=0)]) if self.intercept else product

    def gram(self, weights: Array) -> Array:
        """Return [X, 1]^T diag(weights) [X, 1]."""
        if sparse.issparse(self.features):
            return self._sparse_gram(weights)
        if len(weights) and (weights == weights[0]).all():
            return np.asarray(weights[0] * self._plain_gram())
        # The symmetric form B^T B, with weights that have roots, costs half the flops.
        positive = weights.min(initial=0.0) >= 0.0
        factor = np.sqrt(weights) if positive else weights
        scaled = np.empty((len(self), self.width))
        np.multiply(self.features, factor[:, None], out=scaled[:, : self.features.shape[1]])
        if self.intercept:
            scaled[:, -1] = factor
        return np.asarray(scaled.T @ scaled) if positive else self.total(scaled)

    def _plain_gram(self) -> Array:
        inner = np.asarray(self.features.T @ self.features)
        if not self.intercept:
            return inner
        whole = np.empty((self.width, self.width))
        whole[:-1, :-1] = inner
        whole[-1, :-1] = whole[:-1, -1] = self.features.sum(axis=0)
        whole[-1, -1] = len(self)
        return whole

    def _sparse_gram(self, weights: Array) -> Array:
        features = sparse.csr_array(self.features)
        inner = sparse_gram(features, weights)
        if not self.intercept:
            return inner
        whole = np.empty((self.width, self.width))
        whole[:-1, :-1] = inner
        whole[-1, :-1] = whole[:-1, -1] = features.T @ weights
        whole[-1, -1] = weights.sum()
        return whole


class RowData(Protocol):
    """Where batches come from, again for every pass."""

    @property
    def count(self) -> int:
        """The number of rows."""
        ...

    def few(self) -> Batch:
        """Return the first few rows, unchecked."""
        ...

    @property
    def missing(self) -> Missing:
        """Who lacks a value in which raw column."""
        ...

    def is_two_valued(self, column: int) -> bool:
        """Return whether a raw column has two values that look like codes."""
        ...

    def is_time(self, column: int) -> bool:
        """Return whether a raw column holds dates, times or lengths of time."""
        ...

    def total(self, of: Callable[[Batch], Result], check: tuple[str, ...] | None = None) -> Result:
        """Add a function of batches up, refusing bad values of the features that `check` names."""
        ...


class Mover(Protocol):
    """Who goes over rows that are in memory, when it is not the threads of this process."""

    def total(self, rows: "InMemory", of: Callable[[Batch], Result], check: tuple[str, ...] | None) -> Result:
        """Add a function of batches up, refusing bad values of the features that `check` names."""
        ...

    def each(self, rows: "InMemory", of: Callable[[Batch], Result]) -> Iterator[tuple[slice, Result]]:
        """Return a function of each batch, with where its rows stand."""
        ...


@dataclass(frozen=True, eq=False)
class Reading:
    """How raw rows become a batch: the model's own preprocessing and coding of labels. Holds no rows."""

    preprocess: TransformerMixin | None
    """A fitted transformer, or None."""
    labels: Labels
    class_weight: Array | None
    intercept: bool
    affine: Features
    """What preprocessing does to the raw columns."""
    balance: Balance | None = None
    """What the class weights are balanced by, if they are."""

    def batch(self, table: Data, labels: Column, weights: Array | None, offset: Array | None = None) -> Batch:
        """Return a few raw rows as a batch."""
        sample_weights = weights
        if self.class_weight is not None:
            factor = self.class_weight[self.labels.positions(labels)]
            weights = factor if weights is None else weights * factor
        encoded, bent = self.labels.encode(labels), None
        if self.affine.curves:
            bent = bent_values(self.affine, Table(table, ()))
        return Batch(
            self.features(table),
            encoded,
            weights,
            self.intercept,
            sample_weights=sample_weights,
            bent=bent,
            offset=offset,
        )

    def largest_weight(self, sample_weight: float | None) -> float:
        """Return the most that a row may weigh, whatever its label and those of others are.

        Parameters
        ----------
        sample_weight : float or None
            The largest, if there are any.
        """
        if self.balance is not None:
            return self.balance.largest(sample_weight)
        largest = 1.0 if self.class_weight is None else float(self.class_weight.max())
        return largest if sample_weight is None else largest * sample_weight

    def features(self, table: Data) -> Array | sparse.csr_array:
        """Return the features of a few raw rows."""
        if self.preprocess is None:
            return numbers(table)
        try:
            with _CHANGING_FILTERS:
                transformed = self.preprocess.transform(table)
        except (TypeError, ValueError) as error:
            raise InputError(f"The steps before the model refuse these rows: {error}") from error
        return numbers(transformed)


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rows that are in memory already, read a batch at a time."""

    table: Table
    labels: Column
    weights: Array | None
    """The sample weights, without those of classes."""
    reading: Reading
    batch_size: int
    first: int = 0
    """What messages call the first row."""
    mover: Mover | None = None
    offset: Array | None = None
    """What is added to each row's first margin, if something is."""

    @property
    def count(self) -> int:
        return len(self.table)

    def few(self) -> Batch:
        return self.read(slice(0, min(self.batch_size, self.count)))

    def spans(self, *, summed: bool = False) -> list[slice]:
        """Return where each batch begins and ends, in order; batches of sums may be larger."""
        size = self.batch_size
        if summed and sparse.issparse(self.table.native):
            # Sparse rows hold few numbers, but what they add up to is dense: add it up seldom.
            size = max(size, _SPARSE_NUMBERS * self.count // max(self.table.native.nnz, 1))
        return [slice(at, min(at + size, self.count)) for at in range(0, self.count, size)]

    @cached_property
    def missing(self) -> Missing:
        """Who lacks a value in which column; steps before the model may fill it in."""
        return {} if self.reading.preprocess is None else missing_cells(self.reading.affine, self.table)

    def read(self, span: slice, check: tuple[str, ...] | None = None) -> Batch:
        """Return the rows of one span."""
        native = self.table.rows(span.start, span.stop)
        batch = self.reading.batch(native, self.labels[span], *self._given(span))
        if self.missing:
            batch = replace(batch, missing={column: mask[span] for column, mask in self.missing.items()})
        if check is not None:
            table = Table(native, self.table.names)
            check_filled(batch, table, self.first + span.start)
            check_batch(batch, self.first + span.start, check)
            self.reading.labels.check(batch.labels, self.first + span.start)
            if self.reading.preprocess is not None:
                check_map(
                    self.reading.affine,
                    table,
                    batch.features,
                    batch.missing,
                    self.reading.preprocess,
                    self.first + span.start,
                )
        return batch

    def is_two_valued(self, column: int) -> bool:
        values = self.table.column_at(column)
        known = values[~self.missing[column]] if column in self.missing else values
        others = known[known != known[0]] if len(known) else known
        if not len(others) or not (others == others[0]).all():
            return False
        # Codes are integers side by side; of other numbers two may be all that there are by chance, as in a corner of
        # an image where one person left ink.
        codes = known.dtype.kind not in "iuf" or (known.dtype.kind in "iu" and int(np.ptp(known)) <= 2)
        return bool(codes or min(len(others), len(known) - len(others)) >= _SHARE_OF_CODES * len(known))

    def is_time(self, column: int) -> bool:
        return self.table.column_at(column).dtype.kind in "mM"

    def picked(self, rows: NDArray[np.intp]) -> Batch:
        """Return some rows by their places."""
        batch = self.reading.batch(self.table.picked(rows), self.labels[rows], *self._given(rows))
        return replace(batch, missing={column: mask[rows] for column, mask in self.missing.items()})

    def altered(self, rows: slice | NDArray[np.intp], attribute: str | None, value: object) -> Batch:
        """Return the rows of one span, or some by their places, with one attribute (None: the label) set to a value."""
        labels = self.labels[rows]
        if attribute is None:
            # The record comes with the weight of its new class; balanced weights move besides: see `rebalanced`.
            return self.reading.batch(self.table.taken(rows), np.full(len(labels), value), *self._given(rows))
        return self.reading.batch(self.table.rows_with(rows, attribute, value), labels, *self._given(rows))

    def _given(self, rows: NDArray[np.intp] | slice) -> tuple[Array | None, Array | None]:
        """Return what some rows weigh, and what is added to their margins."""
        weights = None if self.weights is None else self.weights[rows]
        return weights, None if self.offset is None else self.offset[rows]

    def classes(self, rows: slice | NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Return which class each of some rows is in, if there are classes."""
        coder = self.reading.labels
        return None if coder.classes is None else coder.positions(self.labels[rows])

    def rebalanced(self, rows: slice | NDArray[np.intp], label: object) -> Rebalanced | None:
        """Return how balanced class weights move when a row takes another label, or (None) is taken out."""
        balance, old = self.reading.balance, self.classes(rows)
        if balance is None or old is None:
            return None
        new = None if label is None else int(self.reading.labels.positions(np.array([label]))[0])
        return balance.moved(old, new, None if self.weights is None else self.weights[rows])

    def column(self, attribute: str | None) -> Column:
        """Return the raw values of one attribute (None: the label)."""
        return self.labels if attribute is None else self.table.column(attribute)

    def total(self, of: Callable[[Batch], Result], check: tuple[str, ...] | None = None) -> Result:
        if self.mover is not None:
            return self.mover.total(self, of, check)
        if check is not None and self.reading.preprocess is not None:
            check_raw(self.table, self.reading.affine, self.missing, self.first)

        def part(span: slice) -> Result:
            batch = self.read(span, check)
            with np.errstate(over="ignore", invalid="ignore"):
                return of(batch)

        return reduce(add, in_threads(part, self.spans(summed=True), "adding up"))

    def each(self, of: Callable[[Batch], Result]) -> Iterator[tuple[slice, Result]]:
        """Return a function of each batch, with where its rows stand."""
        if self.mover is not None:
            return self.mover.each(self, of)
        return in_threads(lambda span: (span, of(self.read(span))), self.spans(), "scoring")


def numbers(table: Data) -> Array | sparse.csr_array:
    """Return a table as float64, dense or sparse."""
    if sparse.issparse(table):
        return sparse.csr_array(table, dtype=np.float64)
    if hasattr(table, "to_numpy"):
        table = table.to_numpy()
    elif isinstance(table, pa.Table | pa.RecordBatch):
        table = np.column_stack([column.to_numpy() for column in table.columns])
    table = np.asarray(table)
    # Digits written as text would convert silently, and mean that the model was fitted on something else.
    text = table.dtype.kind in "USO" and any(isinstance(value, str | bytes) for value in table.ravel())
    try:
        return np.asarray("text" if text else table, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "X holds values that are not numbers, and the model has no step that encodes them. Pass X as the model was "
            "fitted on it, or put the encoder and the model in one Pipeline."
        ) from None


def check_batch(batch: Batch, start: int, names: tuple[str, ...]) -> None:
    """Refuse values that no number could be computed from."""
    check_values(batch.features, stored(batch.features), start, names, "X")
    check_values(batch.labels, batch.labels, start, ("y",) * batch.labels.shape[1], "y")


def stored(table: Array | sparse.csr_array) -> Array:
    """Return the numbers that a table holds, without the zeros that a sparse one leaves out."""
    return np.asarray(table.data if sparse.issparse(table) else table, dtype=np.float64)


@numba.njit(cache=True, nogil=True)
def can_be_squared(values):  # type: ignore[no-untyped-def]
    """Return whether all values are zero or have a square that float64 can hold."""
    wrong = 0
    # Counting, by index and without a branch, is what the compiler can do several at a time.
    for i in range(values.shape[0]):
        size = abs(values[i])
        wrong += (not (size < _LARGEST)) | ((size != 0.0) & (size <= _SMALLEST))
    return wrong == 0


def check_values(table: Array | sparse.csr_array, values: Array, start: int, names: tuple[str, ...], what: str) -> None:
    """Refuse NaN, infinity, and magnitudes that cannot be squared."""
    if can_be_squared(values.ravel(order="K")):
        return
    dense = table if isinstance(table, np.ndarray) else table.toarray()
    size = np.abs(dense)
    wrong = ~(size < _LARGEST) | ((size > 0) & (size < _SMALLEST))
    row, column = np.argwhere(wrong)[0]
    value = dense[row, column]
    where = f"row {start + row}" if what == "y" else f"row {start + row}, column {names[column]!r}"
    if np.isnan(value):
        raise InputError(f"{what} has a missing value (NaN) in {where}. Drop or fill it before fitting and measuring.")
    if np.isinf(value):
        raise InputError(f"{what} is infinite in {where}.")
    raise InputError(
        f"{what} holds {value:g} in {where}: its square leaves the range of float64. Rescale it to another unit."
    )


def check_filled(batch: Batch, table: Table, start: int) -> None:
    """Refuse missing values that no step of the model fills in."""
    values = stored(batch.features)
    if not batch.missing or not np.isnan(values.sum()):
        return
    unfilled = np.isnan(replace(batch, intercept=False).augmented()).any(axis=1)
    for column, mask in batch.missing.items():
        if (mask & unfilled).any():
            row = start + int(np.flatnonzero(mask & unfilled)[0])
            raise InputError(
                f"X has a missing value in column {table.names[column]!r} (row {row}), and no step of the model fills "
                "it in. Put a SimpleImputer into the Pipeline, or drop the row, before fitting and measuring."
            )


def check_raw(table: Table, affine: Features, missing: Missing, start: int = 0) -> None:
    """Refuse extreme raw values, which preprocessing could hide, in the columns that reach the model."""
    if not table.is_frame and table.native.dtype.kind in "biuf" and can_be_squared(stored(table.native).ravel("K")):
        return
    for column in sorted({coordinate.column for coordinate in affine.coordinates}):
        values = table.column_at(column)
        known = values[~missing[column]] if column in missing else values
        if values.dtype.kind in "iuf" and not can_be_squared(np.asarray(known, dtype=np.float64)):
            numbers = np.where(missing[column], 0.0, values) if column in missing else values.astype(np.float64)
            check_values(numbers[:, None], numbers, start, (table.names[column],), "X")


def checked_weights(sample_weight: Listed, count: int) -> Array | None:
    """Return one weight a row, none of them negative or missing."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(column_values(sample_weight), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight must be numbers.") from None
    if weights.shape != (count,):
        raise InputError(f"sample_weight must have one entry for each of the {count} rows, not shape {weights.shape}.")
    check_values(weights[:, None], weights, 0, ("sample_weight",), "sample_weight")
    if (weights < 0).any():
        raise InputError(f"sample_weight is negative in row {int(np.argmax(weights < 0))}.")
    return weights


def checked_offset(offset: Listed, count: int) -> Array | None:
    """Return what is added to the margin of each row; None where that is nothing."""
    if offset is None:
        return None
    try:
        found = np.asarray(column_values(offset), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("offset must be numbers.") from None
    if found.shape != (count,):
        raise InputError(f"offset must have one entry for each of the {count} rows, not shape {found.shape}.")
    check_values(found[:, None], found, 0, ("offset",), "offset")
    return found if found.any() else None


# The Hessian, its inverse, the response to the data and its rotation, in the pass that holds most of them.
_MATRICES = 4
WIDEST = 20_000


def _matrices_bytes(width: int) -> int:
    """Return the memory of the square matrices that a worker holds."""
    return _MATRICES * 8 * width**2


def check_width(width: int) -> None:
    """Refuse data so wide that its matrices would not fit, before anything is computed."""
    if width > WIDEST:
        needed, limit = (f"{_matrices_bytes(size) / 1e9:,.0f} GB" for size in (width, WIDEST))
        raise InputError(
            f"The model has {width:,} parameters, and each worker would need {needed} for its square matrices; up to "
            f"{WIDEST:,} parameters ({limit}) are measured. Fit on fewer features: select them, or reduce them with "
            "TruncatedSVD in the pipeline."
        )
