"""A model in the units of the raw columns: what is published.

Preprocessing is an affine map, features = T xi + t (eq. 2.2), so that a model of features is one of raw columns:

    theta . (T xi + t) + b  =  (T^T theta) . xi + (t . theta + b).

The estimator is built from nothing. It takes numbers as they come and indicators of the levels of categories, each with
its coefficient: A (theta, b), with A read off above. No mean and no scale of any step is in it. Noise of covariance
Sigma on (theta, b) is noise of covariance A Sigma A^T here.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from seepage._errors import UnsupportedError
from seepage._tables import Model, Table, default_library, frame
from seepage.linear.columns import Affine, affine_of, fitted_columns, search_of, split
from seepage.release._copy import bare_copy, set_parameters, without_penalty
from seepage.release._preprocessing import Constants, Fill, Levels, Preprocessing, walk

Array = NDArray[np.float64]

DIGITS = 8
"""How many significant digits are published: the grid that OpenDP draws on, divided by a scale, would tell it."""
# Singular values below this share of the largest are rounding.
_RANK = 1e-9


@dataclass(frozen=True)
class Block:
    """Raw columns that the published model takes in the same way: as numbers, or as indicators of their levels."""

    columns: tuple[int, ...]
    levels: tuple[tuple[object, ...], ...] | None
    """For each column the values that are named; None for numbers."""
    unknown: str
    """What becomes of other values, as scikit-learn calls it."""
    fill: Fill | None

    def taken(self) -> list[tuple[int, tuple[object, ...]]]:
        """Return what each coefficient belongs to: a column, and the value of it for a level."""
        if self.levels is None:
            return [(column, ()) for column in self.columns]
        return [(column, (value,)) for column, each in zip(self.columns, self.levels, strict=True) for value in each]

    def step(self) -> Model:
        """Return what turns the columns into numbers, not fitted."""
        steps: list[tuple[str, Model]] = []
        if self.fill is not None:
            given = {"missing_values": self.fill.marker, "fill_value": self.fill.value}
            steps.append(("fill", SimpleImputer(strategy="constant", keep_empty_features=True, **given)))
        if self.levels is not None:
            named = [list(each) for each in self.levels]
            steps.append(("levels", OneHotEncoder(categories=named, handle_unknown=self.unknown)))
        return Pipeline(steps) if len(steps) == 2 else steps[0][1] if steps else "passthrough"


@dataclass(frozen=True, eq=False)
class RawModel:
    """How a fitted model looks in raw units.

    Attributes
    ----------
    estimator : estimator
        The last step of the model, fitted.
    names : tuple of str
        The raw columns.
    library : str or None
        In which library to name them; None if the model does not know them by name.
    blocks : tuple of Block
        What the published model takes, in order.
    matrix : sparse array
        A: from the pipeline's parameters of one output, its intercept last, to those of this model, its intercept last.
    """

    estimator: Model
    names: tuple[str, ...]
    library: str | None
    blocks: tuple[Block, ...]
    matrix: sparse.csr_array

    @classmethod
    def of(cls, model: Model, table: Table, preprocessing: Preprocessing) -> "RawModel":
        """Fold the steps of a model into its coefficients."""
        preprocess, estimator = split(model)
        if search_of(model) is not None:
            estimator = without_penalty(estimator)
        affine = affine_of(preprocess, estimator, table.names)
        blocks = _blocks(affine, preprocessing)
        matrix = _matrix(affine, preprocessing.levels, blocks)
        if Constants.FITTED in preprocessing.constants.values():
            other = affine_of(_with_other_constants(preprocess, table, preprocessing), estimator, table.names)
            _check_noise(preprocessing, estimator, matrix, _matrix(other, preprocessing.levels, blocks))
        is_named = fitted_columns(preprocess, estimator) is not None
        library = (table.library or default_library()) if is_named else None
        return cls(estimator, table.names, library, blocks, matrix)

    def parameter_names(self) -> list[str]:
        """Return what each parameter of one output belongs to, the intercept last if there is one."""
        taken = [pair for block in self.blocks for pair in block.taken()]
        words = [" = ".join([self.names[column], *map(str, value)]) for column, value in taken]
        return [*words, "intercept"] if self.matrix[[-1], : self._parameters].nnz else words

    @property
    def _parameters(self) -> int:
        """How many parameters of the pipeline one output has."""
        return int(self.matrix.shape[1]) - (not self.estimator.fit_intercept)

    def folded(self, parameters: Array) -> Array:
        """Return A times parameters of the pipeline, for each output."""
        return np.asarray((self.matrix[:, : self._parameters] @ parameters.T).T)

    def with_parameters(self, parameters: Array, *, digits: int | None = DIGITS) -> Model:
        """Return the estimator in raw units.

        Parameters
        ----------
        parameters : ndarray of shape (outputs, p)
            Of the pipeline: for each output its coefficients, then its intercept if it has one.
        digits : int or None
            How many significant digits to keep; None for all.
        """
        raw = self.folded(parameters)
        if digits is not None:
            raw = np.array([float(f"{value:.{digits}g}") for value in raw.flat]).reshape(raw.shape)
        copy = bare_copy(self.estimator, raw.shape[1] - 1)
        set_parameters(copy, raw)
        numbers = self.blocks[0] if len(self.blocks) == 1 else None
        every = Block(tuple(range(len(self.names))), None, "", None)
        if numbers != every:
            return Pipeline([("columns", self._columns()), (type(copy).__name__.lower(), copy)])
        if self.library is not None:
            copy.feature_names_in_ = np.array(self.names, dtype=object)
        return copy

    def _columns(self) -> ColumnTransformer:
        """Return the step that takes the raw columns, fitted on rows of nobody: each level once."""
        used = sorted({column for block in self.blocks for column in block.columns})
        named: dict[int, tuple[object, ...]] = {}
        for block in self.blocks:
            named |= zip(block.columns, block.levels, strict=True) if block.levels is not None else ()
        count = max((len(each) for each in named.values()), default=1)
        rows = {column: (named.get(column, (0.0,)) * count)[:count] for column in used}
        parts = []
        for i, block in enumerate(self.blocks, 1):
            columns = list(block.columns) if self.library is None else [self.names[c] for c in block.columns]
            parts.append((f"{'numbers' if block.levels is None else 'levels'} {i}", block.step(), columns))
        step = ColumnTransformer(parts, verbose_feature_names_out=False)
        if self.library is not None:
            return step.fit(frame({self.names[column]: each for column, each in rows.items()}, self.library))
        whole = [rows.get(column, (0.0,) * count) for column in range(len(self.names))]
        is_text = any(isinstance(value, str) for each in whole for value in each)
        return step.fit(np.array(whole, dtype=object if is_text else np.float64).T)


def _blocks(affine: Affine, preprocessing: Preprocessing) -> tuple[Block, ...]:
    """Return the raw columns that reach the model, those together that are taken in the same way."""
    found: dict[tuple[bool, str, str], list[int]] = {}
    for column, is_level in sorted({(c.column, c.level is not None) for c in affine.coordinates}):
        levels = preprocessing.levels[column] if is_level else None
        # Whoever put rare values together takes values that nobody named for one of them.
        unknown = "" if levels is None else "ignore" if levels.together else levels.unknown
        found.setdefault((is_level, repr(preprocessing.fills.get(column)), unknown), []).append(column)
    return tuple(
        Block(
            tuple(columns),
            tuple(preprocessing.levels[column].named for column in columns) if is_level else None,
            unknown,
            preprocessing.fills.get(columns[0]),
        )
        for (is_level, _, unknown), columns in sorted(found.items())
    )


def _matrix(affine: Affine, levels: Mapping[int, Levels], blocks: Sequence[Block]) -> sparse.csr_array:
    """Return A: for each coefficient of the published model, and for its intercept, its row."""
    place: dict[tuple[int, tuple[object, ...]], int] = {}
    for i, (column, level) in enumerate(affine.coordinates):
        place |= {(column, ()): i} if level is None else {(column, (value,)): i for value in level}
    # Rare values that were put together are those that are not named: what they share is part of the intercept, and
    # taken from the values that are. Their names, which few people have, are nowhere.
    shared = {column: place.get((column, each.together[:1])) for column, each in levels.items() if each.together}
    taken = [pair for block in blocks for pair in block.taken()]
    turn = sparse.lil_array((len(taken), len(affine.coordinates)))
    for row, (column, value) in enumerate(taken):
        if (at := place.get((column, value))) is not None:
            turn[row, at] += 1.0
        if value and (at := shared.get(column)) is not None:
            turn[row, at] -= 1.0
    constant = affine.offset.copy()
    for at in shared.values():
        if at is not None:
            constant = constant + affine.matrix[:, [at]].toarray().ravel()
    top = sparse.hstack([turn.tocsr() @ affine.matrix.T, sparse.csr_array((len(taken), 1))])
    return sparse.csr_array(sparse.vstack([top, np.append(constant, 1.0)[None]]))


def _with_other_constants(preprocess: Model, table: Table, preprocessing: Preprocessing) -> Model:
    """Return a copy of the steps in which those that were fitted on the rows have drawn other constants."""
    copy, generator = deepcopy(preprocess), np.random.default_rng(0)
    for at in walk(copy, Affine.raw(len(table.names)), lambda: table.native):
        if isinstance(at.step, StandardScaler) and preprocessing.constants[at.called] is Constants.FITTED:
            for name in ("mean_", "scale_"):
                own = getattr(at.step, name)
                if own is not None:
                    setattr(
                        at.step, name, own * generator.uniform(1.0, 2.0, len(own)) + generator.uniform(size=len(own))
                    )
    return copy


def _check_noise(
    preprocessing: Preprocessing, estimator: Model, matrix: sparse.csr_array, other: sparse.csr_array
) -> None:
    """Refuse a release that would give away constants of the steps without noise.

    What is published lies in the span of A. If that depends on the constants, the span tells them, whatever the noise.
    """
    top = matrix[:-1, :-1]
    if estimator.fit_intercept and top.shape[0] == top.shape[1] == top.nnz == len(np.unique(top.indices)):
        # One feature a column, in any order: A can be inverted.
        return
    used = slice(None, None if estimator.fit_intercept else -1)
    pair = np.hstack([matrix[:, used].toarray(), other[:, used].toarray()])
    for axis in (1, 0):
        size = np.abs(pair).max(axis=axis, keepdims=True)
        pair = pair / np.where(size > 0, size, 1.0)
    if np.linalg.matrix_rank(pair[:, : pair.shape[1] // 2], _RANK) == np.linalg.matrix_rank(pair, _RANK):
        return
    steps = ", ".join(name for name, origin in preprocessing.constants.items() if origin is Constants.FITTED)
    raise UnsupportedError(
        f"In raw units this model would have more parameters than carry noise, and they would tell the constants of "
        f"{steps} exactly. Way out: fit_intercept=True or StandardScaler(with_mean=False), and no step behind the "
        "scaler that leaves fewer columns; then fit again."
    )
