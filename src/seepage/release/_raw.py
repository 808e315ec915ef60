"""A model in the units of the raw columns: what is published.

Where preprocessing is an affine map, features = T xi + t (eq. 2.2), a model of features is one of raw columns:

    theta . (T xi + t) + b  =  (T^T theta) . xi + (t . theta + b).

The estimator is built from nothing. It takes numbers as they come and indicators of the levels of categories, each with
its coefficient: A (theta, b), with A read off above. No mean and no scale of any step is in it. Noise of covariance
Sigma on (theta, b) is noise of covariance A Sigma A^T here.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from seepage._noise import GaussianNoise
from seepage._tables import Array, Data, Model, Table, default_library, frame
from seepage.errors import UnsupportedError
from seepage.linear.columns import Features, features_of, fitted_columns, search_of, split, walk
from seepage.release._block import Block, in_a_row
from seepage.release._copy import bare_copy, set_parameters, without_penalty
from seepage.release._preprocessing import Levels, PublishedSteps

DIGITS = 8
"""How many significant digits are published: the grid that OpenDP draws on, divided by a scale, would tell it."""
# A published number that is a smaller share of its noise has fewer digits.
_SMALLEST = 1e-3
# Singular values below this share of the largest are rounding.
_RANK = 1e-9


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
    def of(cls, model: Model, table: Table, preprocessing: PublishedSteps) -> "RawModel":
        """Fold the steps of a model into its coefficients."""
        preprocess, estimator = split(model)
        if search_of(model) is not None:
            estimator = without_penalty(estimator)
        affine = features_of(preprocess, estimator, table.names)
        blocks = _blocks(affine, preprocessing)
        matrix = _matrix(affine, preprocessing.levels, blocks)
        if preprocessing.fitted:
            other = features_of(_with_other_constants(preprocess, table, preprocessing), estimator, table.names)
            _check_noise(preprocessing, estimator, matrix, _matrix(other, preprocessing.levels, blocks))
        is_named = fitted_columns(preprocess, estimator) is not None
        library = (table.library or default_library()) if is_named else None
        return cls(estimator, table.names, library, blocks, matrix)

    def parameter_names(self) -> list[str]:
        """Return what each parameter of one output belongs to, the intercept last if there is one."""
        words = [word for block in self.blocks for word in block.words(self.names)]
        return [*words, "intercept"] if self.matrix[[-1], : self._parameters].nnz else words

    @property
    def _parameters(self) -> int:
        """How many parameters of the pipeline one output has."""
        return int(self.matrix.shape[1]) - (not self.estimator.fit_intercept)

    def rows(self) -> Array:
        """Return A for one output: from the pipeline's parameters to each published one."""
        found = self.matrix[:, : self._parameters].toarray()
        return np.asarray(found if self.matrix[[-1], : self._parameters].nnz else found[:-1])

    def folded(self, parameters: Array) -> Array:
        """Return A times parameters of the pipeline, for each output."""
        return np.asarray((self.matrix[:, : self._parameters] @ parameters.T).T)

    def deviations(self, noise: GaussianNoise) -> Array:
        """Return the standard deviation of the noise on each published parameter, for each output."""
        matrix = self.matrix[:, : self._parameters]
        if noise.scale is not None:
            return np.asarray(noise.scale * np.sqrt(matrix.power(2).sum(axis=1)))[None]
        p, covariance = matrix.shape[1], noise.known()
        squares = [
            np.einsum("ij,ij->i", matrix @ covariance[at : at + p, at : at + p], matrix.toarray())
            for at in range(0, len(covariance), p)
        ]
        return np.asarray(np.sqrt(squares))

    def with_parameters(
        self, parameters: Array, *, digits: int | None = DIGITS, noise: GaussianNoise | None = None
    ) -> Model:
        """Return the estimator in raw units.

        Parameters
        ----------
        parameters : ndarray of shape (outputs, p)
            Of the pipeline: for each output its coefficients, then its intercept if it has one.
        digits : int or None
            How many significant digits to keep; None for all.
        noise : GaussianNoise, optional
            What the parameters carry: no more digits are kept of a number next to zero than of a thousandth of its
            noise, so that what is published is on a grid that no rounding before it can be told from.
        """
        raw = self.folded(parameters)
        if digits is not None:
            raw = rounded(raw, np.zeros_like(raw) if noise is None else self.deviations(noise), digits)
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
            named |= block.examples()
        count = max((len(each) for each in named.values()), default=1)
        rows = {column: (named.get(column, (0.0,)) * count)[:count] for column in used}
        parts = []
        for i, block in enumerate(self.blocks, 1):
            columns = list(block.columns) if self.library is None else [self.names[c] for c in block.columns]
            parts.append((f"{block.kind} {i}", in_a_row(block.steps()), columns))
        step = ColumnTransformer(parts, verbose_feature_names_out=False)
        whole = [rows.get(column, (0.0,) * count) for column in range(len(self.names))]
        is_text = any(isinstance(value, str) for each in whole for value in each)
        nobody: Data = np.array(whole, dtype=object if is_text else np.float64).T
        if self.library is not None:
            nobody = frame({self.names[column]: each for column, each in rows.items()}, self.library)
        with np.errstate(all="ignore"):
            return step.fit(nobody)


def _blocks(affine: Features, preprocessing: PublishedSteps) -> tuple[Block, ...]:
    """Return the raw columns that reach the model, those together that are taken in the same way."""
    found: dict[tuple[bool, str, str], list[int]] = {}
    for column, is_level in sorted({(c.column, c.level is not None) for c in affine.coordinates}):
        unknown = preprocessing.levels[column].others if is_level else ""
        found.setdefault((is_level, repr(preprocessing.fills.get(column)), unknown), []).append(column)
    return tuple(
        Block.of(columns, preprocessing, as_levels=is_level)
        for (is_level, _, _), columns in sorted(found.items(), key=lambda item: (item[0][0], item[1]))
    )


def rounded(values: Array, deviations: Array, digits: int = DIGITS) -> Array:
    """Return numbers with so many digits of themselves, or of a thousandth of their noise if that is larger."""
    finest = np.broadcast_to(_SMALLEST * deviations, values.shape)
    each = [_on_grid(value, least, digits) for value, least in zip(values.flat, finest.flat, strict=True)]
    return np.array(each).reshape(values.shape)


def _on_grid(value: float, least: float, digits: int) -> float:
    """Return a number with so many digits of itself, or of the power of ten below `least` if that is larger."""
    size = max(abs(value), 10.0 ** np.floor(np.log10(least)) if least > 0 else 0.0)
    if size == 0.0 or not np.isfinite(size):
        return value
    places = digits - 1 - int(np.floor(np.log10(size)))
    # Python rounds decimals correctly, whatever floats are.
    return round(float(value), places)


def _matrix(affine: Features, levels: Mapping[int, Levels], blocks: Sequence[Block]) -> sparse.csr_array:
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
    top = turn.tocsr() @ affine.matrix.T
    top = sparse.hstack([top, sparse.csr_array((top.shape[0], 1))])
    return sparse.csr_array(sparse.vstack([top, np.append(constant, 1.0)[None]]))


def _with_other_constants(preprocess: Model, table: Table, preprocessing: PublishedSteps) -> Model:
    """Return a copy of the steps in which those that were fitted on the rows have drawn other constants."""
    copy, generator = deepcopy(preprocess), np.random.default_rng(0)
    for at in walk(copy, Features.raw(len(table.names)), lambda: table.native):
        if isinstance(at.step, StandardScaler) and at.called in preprocessing.fitted:
            for name in ("mean_", "scale_"):
                own = getattr(at.step, name)
                if own is not None:
                    setattr(
                        at.step, name, own * generator.uniform(1.0, 2.0, len(own)) + generator.uniform(size=len(own))
                    )
    return copy


def _check_noise(
    preprocessing: PublishedSteps, estimator: Model, matrix: sparse.csr_array, other: sparse.csr_array
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
    steps = ", ".join(preprocessing.fitted)
    raise UnsupportedError(
        f"In raw units this model would have more parameters than carry noise, and they would tell the constants of "
        f"{steps} exactly. Way out: fit_intercept=True or StandardScaler(with_mean=False), and no step behind the "
        "scaler that leaves fewer columns; then fit again."
    )
