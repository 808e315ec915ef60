"""Whether the map of some steps is what the steps do.

A class says how its steps are read; an object of it may do something else (a method that was overridden, a cell that
was filled in, a value that was cut off). So the map is compared with what `transform` returned, for every row.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.pipeline import Pipeline

from seepage._tables import Table, missing_in
from seepage.errors import InputError, UnsupportedError
from seepage.linear.columns._affine import Affine, Bend, Coordinate
from seepage.linear.columns._curves import Forward
from seepage.linear.columns._steps import through

Array = NDArray[np.float64]
Features: TypeAlias = Array | sparse.csr_array
# Terms that cancel to so little, in units of their rounding, leave nothing.
_NO_DIGITS = 1e-2
Missing = Mapping[int, NDArray[np.bool_]]
"""For each raw column that lacks a value somewhere, which rows lack it."""

# Rounding in a sum, in units of its terms: of 53 bits, and of 24.
_DOUBLE = 1e-9
_SINGLE = 1e-4


def missing_cells(affine: Affine, table: Table) -> Missing:
    """Return who has no value in which of the columns that reach the model."""
    native = table.native
    if not table.is_frame and native.dtype.kind != "O" and not affine.markers:
        values = native.data if sparse.issparse(native) else native
        if values.dtype.kind != "f" or not np.isnan(values.sum()):
            return {}
    found = {}
    for column in sorted({coordinate.column for coordinate in affine.coordinates}):
        mask = missing_in(table.column_at(column), affine.markers.get(column, ()))
        if mask.any():
            found[column] = mask
    return found


def check_map(
    affine: Affine, table: Table, features: Features, missing: Missing, preprocess: TransformerMixin, start: int
) -> None:
    """Refuse features that are not the map of the rows they were made of.

    Parameters
    ----------
    affine : Affine
        The map.
    table : Table
        Raw rows.
    features : array or sparse array
        What preprocessing made of them.
    missing : mapping
        Their missing cells: what is made of those is not compared.
    preprocess : transformer
        For the message.
    start : int
        What to call the first row.
    """
    if affine.bends:
        _check_bends(affine, table, missing, start)
    wrong = _difference(affine, table, features, missing)
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


def bent_values(affine: Affine, table: Table) -> Array:
    """Return the coordinates that reach a step which is not affine, shape (n, coordinates)."""
    coordinates = affine.bent_coordinates
    numbers, levels = _values(coordinates, table, {})
    found = np.empty((len(table), len(coordinates)))
    is_level = np.array([coordinate.level is not None for coordinate in coordinates], dtype=bool)
    found[:, ~is_level] = numbers if isinstance(numbers, np.ndarray) else numbers.toarray()
    found[:, is_level] = levels.toarray()
    return found


def _check_bends(affine: Affine, table: Table, missing: Missing, start: int) -> None:
    """Refuse rows at which a step has no derivative."""
    entered = {coordinate.column for coordinate in affine.bent_coordinates}
    for column, rows in missing.items():
        if column in entered:
            raise InputError(
                f"X has a missing value in column {table.names[column]!r} (row {start + int(np.argmax(rows))}), which "
                "reaches a step that is not affine. Fill or drop it before fitting and measuring."
            )
    forward, values = Forward(affine, affine.bent_coordinates), bent_values(affine, table)
    for bend in _every(affine):
        inputs = forward.inputs(bend, values)
        lost = bend.curve.lost(inputs, bend.path)
        if lost.any():
            row = int(np.argmax(lost))
            raise UnsupportedError(
                f"The step {bend.path!r} has no derivative in row {start + row} ({int(lost.sum())} of "
                f"{len(table)} rows), where it is given {', '.join(f'{value:g}' for value in inputs[row])}: a kink, an "
                "infinite slope, or a flat piece of what is not flat elsewhere, which would look like safety. Move "
                'such values away (log1p for log), or take SplineTransformer(degree=3, extrapolation="linear").'
            )


def _every(affine: Affine) -> Iterator[Bend]:
    """Yield all bends, those of what goes into others first."""
    for bend in affine.bends:
        yield from _every(bend.incoming)
        yield bend


def _difference(
    affine: Affine, table: Table, features: Features, missing: Missing
) -> tuple[int, int, float, float] | None:
    """Return where features differ from the map: row, feature, what is there, what should be."""
    if _only_scales(affine, table, features):
        matrix = affine.matrix
        columns = np.array([affine.coordinates[i].column for i in matrix.indices], dtype=np.intp)
        if _scaled_alike(table.native, columns, matrix.data, affine.offset, features, _DOUBLE):
            return None
    numbers, levels = _values(affine.coordinates, table, missing)
    is_level = np.array([coordinate.level is not None for coordinate in affine.coordinates], dtype=bool)
    to_numbers, to_levels = affine.matrix[:, ~is_level], affine.matrix[:, is_level]
    if sparse.issparse(features) and not affine.offset.any() and not affine.bends:
        mapped = sparse.csr_array(numbers) @ to_numbers.T + levels @ to_levels.T
        apart = np.abs(sparse.csr_array(features) - mapped)
        if not apart.nnz or apart.max() <= _DOUBLE * np.abs(features).max():
            return None
        mapped = mapped.toarray()
    else:
        mapped = _turned(numbers, to_numbers) + affine.offset
        if is_level.any():
            mapped += (levels @ to_levels.T).toarray()
        if affine.bends:
            bent = Forward(affine, affine.bent_coordinates).bent(bent_values(affine, table))
            mapped = mapped + bent
    given = features if isinstance(features, np.ndarray) else features.toarray()
    gap = np.abs(given - mapped)
    size = np.maximum(given.max(axis=0, initial=0.0), -given.min(axis=0, initial=0.0))
    if (gap.max(axis=0, initial=0.0) <= _DOUBLE * size).all():
        return None
    terms = np.abs(numbers) @ np.abs(to_numbers).T + (levels @ np.abs(to_levels).T).toarray() + np.abs(affine.offset)
    if affine.bends:
        terms = terms + np.abs(bent)
    single = is_single(table)
    differs = ~(gap <= (_SINGLE if single else _DOUBLE) * np.maximum(terms, size))
    differs[:, np.isnan(affine.offset)] = False
    _check_digits(terms, size, np.float32 if single else np.float64)
    columns = np.array([coordinate.column for coordinate in affine.coordinates])
    for column, rows in missing.items():
        reached = np.abs(affine.matrix[:, np.flatnonzero(columns == column)]).sum(axis=1) > 0
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


def _only_scales(affine: Affine, table: Table, features: Features) -> bool:
    """Return whether each feature is one raw number, scaled and shifted: the plainest and largest case."""
    arrays = isinstance(table.native, np.ndarray) and isinstance(features, np.ndarray)
    if affine.bends or not arrays or table.native.dtype != np.float64 or not (np.diff(affine.matrix.indptr) == 1).all():
        return False
    return all(coordinate.level is None for coordinate in affine.coordinates)


@numba.njit(cache=True, nogil=True)
def _scaled_alike(raw, columns, scale, offset, features, tolerance):  # type: ignore[no-untyped-def]
    """Return whether all features are their column times a scale plus an offset, up to rounding in that sum."""
    wrong = 0
    for i in range(features.shape[0]):
        for j in range(features.shape[1]):
            term = raw[i, columns[j]] * scale[j]
            gap = abs(features[i, j] - (term + offset[j]))
            # Without a branch, so that the compiler can take several at a time; NaN counts as wrong.
            wrong += not (gap <= tolerance * (abs(term) + abs(offset[j])))
    return wrong == 0


def _turned(numbers: Features, matrix: sparse.csr_array) -> Array:
    """Return numbers times the transpose of a matrix, which most often holds one number a row."""
    if sparse.issparse(numbers):
        return np.asarray((numbers @ matrix.T).toarray())
    entries = np.diff(matrix.indptr)
    if (entries > 1).any():
        return np.asarray(numbers @ matrix.toarray().T)
    if (entries == 1).all():
        taken = numbers if np.array_equal(matrix.indices, np.arange(numbers.shape[1])) else numbers[:, matrix.indices]
        return np.asarray(taken * matrix.data)
    found = np.zeros((len(numbers), len(entries)))
    found[:, entries == 1] = numbers[:, matrix.indices] * matrix.data
    return found


def _values(coordinates: Sequence[Coordinate], table: Table, missing: Missing) -> tuple[Features, sparse.csr_array]:
    """Return the coordinates of some rows: those that are numbers, and indicators of levels; 0 where missing."""
    numbers = [c.column for c in coordinates if c.level is None]
    if not table.is_frame and table.native.dtype.kind != "O":
        every = numbers == list(range(table.native.shape[1]))
        held = table.native if every else table.native[:, numbers]
        values = held if sparse.issparse(held) else (np.array if missing else np.asarray)(held, dtype=np.float64)
    else:
        values = np.empty((len(table), len(numbers)))
        for i, column in enumerate(numbers):
            known = table.column_at(column)
            if column in missing and known.dtype.kind == "O":
                known = np.where(missing[column], 0.0, known)
            values[:, i] = known
    for i, column in enumerate(numbers):
        if column in missing and not sparse.issparse(values):
            values[missing[column], i] = 0.0
    codes: dict[int, dict[Hashable, int]] = {}
    levels = [coordinate for coordinate in coordinates if coordinate.level is not None]
    for i, coordinate in enumerate(levels):
        codes.setdefault(coordinate.column, {}).update(dict.fromkeys(coordinate.level or (), i))
    rows, columns = [], []
    for column, code in codes.items():
        at = np.array([code.get(value, -1) for value in table.column_at(column).tolist()], dtype=np.intp)
        if column in missing:
            at[missing[column]] = -1
        rows.append(np.flatnonzero(at >= 0))
        columns.append(at[at >= 0])
    where = (np.concatenate(rows), np.concatenate(columns)) if rows else (np.empty(0, int), np.empty(0, int))
    return values, sparse.csr_array((np.ones(len(where[0])), where), shape=(len(table), len(levels)))


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
        affine = through(before, Affine.raw(len(table.names)), "")
        features = before.transform(table.native)
        features = features if sparse.issparse(features) else np.asarray(features, dtype=np.float64)
        if _difference(affine, table, features, missing_cells(affine, table)) is not None:
            return f"{name!r} ({type(step).__name__})"
    return repr(type(preprocess).__name__)
