"""A formula as steps of scikit-learn, which may leave with the model: a formula is code, and is run to be opened."""

import ast
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from itertools import product as product_of
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures

from seepage.errors import UnsupportedError
from seepage.linear.columns import SLOPES, Factor, Formula, Product, Recoded, named
from seepage.linear.results._results import Parts
from seepage.linear.results._splines import given_splines

Array = NDArray[np.float64]

_WAY_OUT = (
    "Make that column before, and name it in the formula; or build the same model of steps of scikit-learn "
    "(PolynomialFeatures, SplineTransformer with given knots) before seepage.models.GLM, and publish that."
)


@dataclass(frozen=True, eq=False)
class _Term:
    """What one term of a formula becomes."""

    columns: tuple[str, ...]
    step: Any
    width: int
    """How many features the step makes."""
    matrix: Array | None = None
    """How the columns of the term are sums of these, shape (columns, width); None if they are the same."""

    def whole(self) -> Any:
        """Return the step that makes the columns of the term."""
        return self.step if self.matrix is None else Pipeline([("made", self.step), ("coded", Recoded(self.matrix))])


def with_steps(parts: Parts) -> Parts:
    """Return the same model behind steps of scikit-learn instead of a formula; refuse terms that have no such step."""
    if parts.remarks:
        raise UnsupportedError(
            "Results of fit_regularized are measured, and not published: which coefficients are zero is a choice that "
            "the rows made, and the digits of a penalty that was read back from them tell about them too. Fit "
            "seepage.models.GLM with that penalty on squares (penalty= and penalize_intercept=True), and publish that."
        )
    if not isinstance(parts.model, Pipeline):
        return parts
    formula, glm = (step for _, step in parts.model.steps)
    assert isinstance(formula, Formula)
    terms = [_product(product) for product in formula.design.products]
    if not terms:
        raise UnsupportedError(
            "This formula has no term but the constant: there is no table of coefficients to publish."
        )
    columns = _side_by_side([(term.columns, term.whole()) for term in terms]).fit(parts.rows)
    made, own = np.asarray(columns.transform(parts.rows), dtype=np.float64), formula.transform(parts.rows)
    if not np.allclose(made, own, rtol=1e-12, atol=1e-12 * float(np.abs(own).max())):
        raise UnsupportedError(f"The terms of this formula are not what steps of scikit-learn make of them. {_WAY_OUT}")
    return parts._replace(model=Pipeline([("columns", columns), ("glm", glm)]))


def _side_by_side(steps: Sequence[tuple[tuple[str, ...], Any]]) -> ColumnTransformer:
    return ColumnTransformer(
        [(f"{' '.join(columns)} {i}", step, list(columns)) for i, (columns, step) in enumerate(steps)],
        sparse_threshold=0.0,
    )


def _product(product: Product) -> _Term:
    """Return the step of a term: that of its factor, or all products of one feature of each factor."""
    terms = [_term(factor, coding) for factor, coding in product.factors]
    if product.scale != 1.0:
        listed = ":".join(factor.code for factor, _ in product.factors)
        raise UnsupportedError(f"The term {listed!r} of this formula is scaled by {product.scale:g}. {_WAY_OUT}")
    if len(terms) == 1:
        return terms[0]
    starts = np.cumsum([0, *(term.width for term in terms)]).tolist()
    # scikit-learn multiplies every choice of so many features, of which some are of one factor: those are left out.
    place = {choice: i for i, choice in enumerate(combinations(range(starts[-1]), len(terms)))}
    chosen = [
        place[tuple(start + at for start, at in zip(starts, choice[::-1], strict=False))]
        for choice in product_of(*(range(term.width) for term in reversed(terms)))
    ]
    step = Pipeline(
        [
            ("factors", _side_by_side([(term.columns, term.step) for term in terms])),
            ("products", PolynomialFeatures((len(terms), len(terms)), interaction_only=True, include_bias=False)),
            ("taken", ColumnTransformer([("taken", "passthrough", chosen)])),
        ]
    )
    # Products of sums are sums of products, those of the first factor going round fastest.
    matrices = [np.eye(term.width) if term.matrix is None else term.matrix for term in reversed(terms)]
    matrix = None if all(term.matrix is None for term in terms) else reduce(_kron, matrices)
    columns = tuple(dict.fromkeys(name for term in terms for name in term.columns))
    return _Term(columns, step, len(chosen), matrix)


def _kron(one: Array, other: Array) -> Array:
    return np.asarray(np.kron(one, other))


def _term(factor: Factor, coding: Array | None) -> _Term:
    if factor.levels is not None and factor.column is not None and coding is not None:
        return _levels(factor.column, factor.levels, coding)
    if factor.column is not None:
        return _Term((factor.column,), "passthrough", 1)
    splines = given_splines(factor)
    if splines is not None:
        matrix = splines.matrix if coding is None else coding.T @ splines.matrix
        return _Term(factor.names, splines.step, matrix.shape[1], matrix)
    step = _function(factor.tree) or _power(factor.tree)
    if step is None:
        raise UnsupportedError(f"The term {factor.code!r} of this formula cannot be published as it is. {_WAY_OUT}")
    return _Term(factor.names, step, 1)


def _levels(column: str, levels: Sequence[Hashable], coding: Array) -> _Term:
    """Return indicators of levels; those of the rows, so that the rule about rare ones holds."""
    known = np.unique(np.asarray(levels, dtype=object if isinstance(levels[0], str) else None)).tolist()
    matrix = np.array([coding[levels.index(level)] for level in known]).T
    # The level that all others are compared with needs no indicator.
    unused = np.flatnonzero(~matrix.any(axis=0)).tolist()
    drop = [known[unused[0]]] if len(unused) == 1 else None
    matrix = matrix if drop is None else np.delete(matrix, unused, axis=1)
    step = OneHotEncoder(drop=drop, sparse_output=False)
    same = np.array_equal(matrix, np.eye(matrix.shape[1]))
    return _Term((column,), step, matrix.shape[1], None if same else matrix)


def _function(tree: ast.expr) -> FunctionTransformer | None:
    """Return the function of numpy that a factor applies to a column, if it is one whose derivative is known."""
    if not isinstance(tree, ast.Call) or len(tree.args) != 1 or tree.keywords or named(tree.args[0]) is None:
        return None
    # As patsy knows it, np.log; or as formulaic does besides, log.
    called = tree.func.attr if isinstance(tree.func, ast.Attribute) else ast.unparse(tree.func)
    found = getattr(np, called, None)
    known = isinstance(found, np.ufunc) and found in SLOPES
    return FunctionTransformer(found, feature_names_out="one-to-one") if known else None


def _power(tree: ast.expr) -> PolynomialFeatures | None:
    """Return what takes a column to the power that a factor does: I(x ** 2), or {x ** 2}."""
    if isinstance(tree, ast.Call) and ast.unparse(tree.func) == "I" and len(tree.args) == 1:
        tree = tree.args[0]
    if not isinstance(tree, ast.BinOp) or not isinstance(tree.op, ast.Pow) or named(tree.left) is None:
        return None
    power = tree.right.value if isinstance(tree.right, ast.Constant) else None
    return PolynomialFeatures((power, power), include_bias=False) if isinstance(power, int) and power > 0 else None
