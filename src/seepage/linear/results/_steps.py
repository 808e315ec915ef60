"""A formula as steps of scikit-learn, which may leave with the model: a formula is code, and is run to be opened."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from seepage._tables import Data, Model
from seepage.errors import UnsupportedError
from seepage.linear.columns import Formula, FormulaTerm, Recoded

Array = NDArray[np.float64]


def with_steps(model: Model, rows: Data) -> Model:
    """Return a model behind steps of scikit-learn instead of a formula; refuse terms that have no such step."""
    formula = model[0] if isinstance(model, Pipeline) else None
    if not isinstance(formula, Formula):
        return model
    terms = [_term(formula, term) for term in formula.terms]
    if not terms:
        raise UnsupportedError(
            "This formula has no term but the constant: there is no table of coefficients to publish."
        )
    steps = [(f"{column} {i}", step, [column]) for i, (column, step) in enumerate(terms)]
    columns = ColumnTransformer(steps, sparse_threshold=0.0).fit(rows)
    made, own = np.asarray(columns.transform(rows), dtype=np.float64), formula.transform(rows)
    if not np.allclose(made, own, rtol=1e-12, atol=1e-12 * float(np.abs(own).max())):
        raise UnsupportedError(
            "The terms of this formula are not what steps of scikit-learn make of them. Make its columns before, name "
            "them in the formula, and publish that."
        )
    return Pipeline([("columns", columns), *model.steps[1:]])


def _term(formula: Formula, term: FormulaTerm) -> tuple[str, Any]:
    """Return the column of a term and the step that makes its features; refuse functions and products of columns."""
    if not term.numbers and len(term.levels) == 1:
        ((name, levels),) = term.levels.items()
        return name, _levels(levels, formula.at(term.columns, term.levels))
    if term.line != (1.0, 0.0):
        raise UnsupportedError(
            f"The term {term.code!r} of this formula is measured, and not published. Make its columns before, name "
            "them in the formula, and publish that."
        )
    return term.numbers[0], "passthrough"


def _levels(levels: Sequence[Hashable], coding: Array) -> Any:
    """Return indicators of levels; those of the rows, so that the rule about rare ones holds."""
    known = np.unique(np.asarray(levels, dtype=object if isinstance(levels[0], str) else None)).tolist()
    matrix = np.array([coding[levels.index(level)] for level in known]).T
    # The level that all others are compared with needs no indicator.
    unused = np.flatnonzero(~matrix.any(axis=0)).tolist()
    drop = [known[unused[0]]] if len(unused) == 1 else None
    matrix = matrix if drop is None else np.delete(matrix, unused, axis=1)
    step = OneHotEncoder(drop=drop, sparse_output=False)
    if np.array_equal(matrix, np.eye(matrix.shape[1])):
        return step
    return Pipeline([("made", step), ("coded", Recoded(matrix))])
