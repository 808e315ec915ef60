"""Comparison of features with what the steps before the model made of the same rows.

A class says how its steps are read; an object of it may do something else (a method that was overridden, a cell that
was filled in, a value that was cut off). So the map is compared with what `transform` returned, for every row.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.pipeline import Pipeline

from seepage._tables import Table, missing_in
from seepage.errors import InputError, UnsupportedError
from seepage.linear.columns._features import Coordinate, Curve, Features
from seepage.linear.columns._steps import through

Array = NDArray[np.float64]
Numbers: TypeAlias = Array | sparse.csr_array
# Terms that cancel to so little, in units of their rounding, leave nothing.
_NO_DIGITS = 1e-2
Missing = Mapping[int, NDArray[np.bool_]]
"""For each raw column that lacks a value somewhere, which rows lack it."""

# Rounding in a sum, in units of its terms: of 53 bits, and of 24.
_DOUBLE = 1e-9
_SINGLE = 1e-4


def missing_cells(features: Features, table: Table) -> Missing:
    """Return who has no value in which of the columns that reach the model."""
    native = table.native
    if not table.is_frame and native.dtype.kind != "O" and not features.markers:
        values = native.data if sparse.issparse(native) else native
        if values.dtype.kind != "f" or not np.isnan(values.sum()):
            return {}
    found = {}
    for column in sorted({coordinate.column for coordinate in features.coordinates}):
        mask = missing_in(table.column_at(column), features.markers.get(column, ()))
        if mask.any():
            found[column] = mask
    return found


def check_map(
    features: Features, table: Table, made: Numbers, missing: Missing, preprocess: TransformerMixin, start: int
) -> None:
    """Refuse features that are not the map of the rows they were made of.

    Parameters
    ----------
    features : Features
        The map.
    table : Table
        Raw rows.
    made : array or sparse array
        What preprocessing made of them.
    missing : mapping
        Their missing cells: what is made of those is not compared.
    preprocess : transformer
        For the message.
    start : int
        What to call the first row.
    """
    if features.curves:
        _check_curves(features, table, missing, start)
    wrong = _difference(features, table, made, missing)
    if wrong is None:
        return
    row, feature, given, expected = wrong
    step = _guilty(preprocess, table)
    raise UnsupportedError(
        f"The step {step} does not do what its class says: in row {start + row} feature {feature} is {given:g}, and "
        f"{expected:g} by what the step has stored. A method may be overridden. Way out: measure after it, on its "
        "output, with seepage.measure(model[-1], model[:-1].transform(X), y, ...); its attributes are the transformed "
        "columns."
    )


def bent_values(features: Features, table: Table) -> Array:
    """Return the coordinates that reach a smooth step, shape (n, coordinates)."""
    return _dense(_values(features.curved.coordinates, table, {}))


def _check_curves(features: Features, table: Table, missing: Missing, start: int) -> None:
    """Refuse rows at which a step has no derivative."""
    coordinates = features.curved.coordinates
    entered = {coordinate.column for coordinate in coordinates}
    for column, rows in missing.items():
        if column in entered:
            raise InputError(
                f"X has a missing value in column {table.names[column]!r} (row {start + int(np.argmax(rows))}), which "
                "reaches a step that is not affine. Fill or drop it before fitting and measuring."
            )
    values = bent_values(features, table)
    for curve in _every(features):
        inputs = curve.incoming.values(values, coordinates)
        lost = curve.lost(inputs)
        if lost.any():
            row = int(np.argmax(lost))
            raise UnsupportedError(
                f"The step {curve.path!r} has no derivative in row {start + row} ({int(lost.sum())} of "
                f"{len(table)} rows), where it is given {', '.join(f'{value:g}' for value in inputs[row])}: a kink, an "
                "infinite slope, or a flat piece of what is not flat elsewhere, which would look like safety. Move "
                'such values away (log1p for log), or take SplineTransformer(degree=3, extrapolation="linear").'
            )


def _every(features: Features) -> Iterator[Curve]:
    """Yield all curves, those of what goes into others first."""
    for curve in features.curves:
        yield from _every(curve.incoming)
        yield curve


def _difference(
    features: Features, table: Table, made: Numbers, missing: Missing
) -> tuple[int, int, float, float] | None:
    """Return where features differ from the map: row, feature, what is there, what should be."""
    values, matrix = _values(features.coordinates, table, missing), features.matrix
    if sparse.issparse(made) and not features.offset.any() and not features.curves:
        gap = abs(sparse.csr_array(made) - sparse.csr_array(values) @ matrix.T)
        if not gap.nnz or gap.max() <= _DOUBLE * abs(made).max():
            return None
    mapped = _product(values, matrix) + features.offset
    if features.curves:
        bent = features.curved.values(bent_values(features, table), features.curved.coordinates)
        mapped = mapped + bent
    given = _dense(made)
    gap = np.abs(given - mapped)
    size = np.maximum(given.max(axis=0, initial=0.0), -given.min(axis=0, initial=0.0))
    if (gap.max(axis=0, initial=0.0) <= _DOUBLE * size).all():
        return None
    terms = _product(abs(values), abs(matrix)) + np.abs(features.offset)
    if features.curves:
        terms = terms + np.abs(bent)
    single = is_single(table)
    differs = ~(gap <= (_SINGLE if single else _DOUBLE) * np.maximum(terms, size))
    differs[:, np.isnan(features.offset)] = False
    _check_digits(terms, size, np.float32 if single else np.float64)
    columns = np.array([coordinate.column for coordinate in features.coordinates])
    for column, rows in missing.items():
        reached = abs(matrix)[:, np.flatnonzero(columns == column)].sum(axis=1) > 0
        differs[np.ix_(rows, np.asarray(reached).ravel())] = False
    if not differs.any():
        return None
    row, feature = np.argwhere(differs)[0]
    return int(row), int(feature), float(given[row, feature]), float(mapped[row, feature])


def _check_digits(terms: Array, size: Array, precision: type[np.float32] | type[np.float64]) -> None:
    """Refuse features of which rounding has left nothing."""
    with np.errstate(invalid="ignore"):
        lost = np.finfo(precision).eps * terms.max(axis=0, initial=0.0) > _NO_DIGITS * size
    for feature in np.flatnonzero(lost & (size > 0)):
        raise UnsupportedError(
            f"Feature {feature} of the model is nothing but rounding: the steps before it add terms of up to "
            f"{terms[:, feature].max():.1g} up to at most {size[feature]:.1g}. Whitening does so with a direction in "
            "which the rows do not vary: ask PCA for fewer components, and fit again."
        )


def _dense(values: Numbers) -> Array:
    return values if isinstance(values, np.ndarray) else np.asarray(values.toarray())


def _product(values: Numbers, matrix: sparse.csr_array) -> Array:
    """Return values times the transpose of a matrix, which most often holds one number a row."""
    if isinstance(values, np.ndarray):
        if (np.diff(matrix.indptr) == 1).all():
            return np.asarray(values[:, matrix.indices] * matrix.data)
        return np.asarray(values @ matrix.toarray().T)
    return _dense(values @ matrix.T)


def _values(coordinates: Sequence[Coordinate], table: Table, missing: Missing) -> Numbers:
    """Return the coordinates of some rows, numbers and indicators of levels; 0 where missing."""
    numbers = [i for i, coordinate in enumerate(coordinates) if coordinate.level is None]
    found = _numbers([coordinates[i].column for i in numbers], table, missing)
    if len(numbers) == len(coordinates):
        return found
    places: dict[int, dict[Hashable, int]] = {}
    for i, (column, level) in enumerate(coordinates):
        if level is not None:
            places.setdefault(column, {}).update(dict.fromkeys(level, i))
    rows, at = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for column, place in places.items():
        known = np.array([place.get(value, -1) for value in table.column_at(column).tolist()], dtype=np.intp)
        if column in missing:
            known[missing[column]] = -1
        rows.append(np.flatnonzero(known >= 0))
        at.append(known[known >= 0])
    where, shape = (np.concatenate(rows), np.concatenate(at)), (len(table), len(coordinates))
    levels = sparse.csr_array((np.ones(len(where[0])), where), shape=shape)
    turn = sparse.csr_array((np.ones(len(numbers)), (np.arange(len(numbers)), numbers)), (len(numbers), shape[1]))
    return levels + sparse.csr_array(found) @ turn


def _numbers(columns: Sequence[int], table: Table, missing: Missing) -> Numbers:
    """Return some columns as numbers; 0 where missing."""
    if not table.is_frame and table.native.dtype.kind != "O":
        known = table.native if columns == list(range(table.native.shape[1])) else table.native[:, columns]
        values = known if sparse.issparse(known) else (np.array if missing else np.asarray)(known, dtype=np.float64)
    else:
        values = np.empty((len(table), len(columns)))
        for i, column in enumerate(columns):
            cells = table.column_at(column)
            values[:, i] = np.where(missing[column], 0.0, cells) if column in missing else cells
    for i, column in enumerate(columns):
        if column in missing and not sparse.issparse(values):
            values[missing[column], i] = 0.0
    return values


def is_single(table: Table) -> bool:
    """Return whether steps may have worked in single precision."""
    if table.is_frame:
        return any(table.column_at(i).dtype in (np.float32, np.float16) for i in range(len(table.names)))
    return table.native.dtype in (np.float32, np.float16)


def _guilty(preprocess: TransformerMixin, table: Table) -> str:
    """Return the first step of a pipeline whose output differs from its map."""
    steps = preprocess.steps if isinstance(preprocess, Pipeline) else [("", preprocess)]
    for count, (name, step) in enumerate(steps, 1):
        before = Pipeline(steps[:count])
        features, made = through(before, Features.raw(len(table.names)), ""), before.transform(table.native)
        made = made if sparse.issparse(made) else np.asarray(made, dtype=np.float64)
        if _difference(features, table, made, missing_cells(features, table)) is not None:
            return f"{name!r} ({type(step).__name__})"
    return repr(type(preprocess).__name__)
