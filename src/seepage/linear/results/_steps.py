"""A formula as steps of scikit-learn, which may leave with the model: a formula is code, and is run to be opened."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from itertools import product as product_of
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures

from seepage._errors import UnsupportedError
from seepage.linear.columns import SLOPES, Factor, Formula, Product, named
from seepage.linear.results._results import Parts

_WAY_OUT = (
    "Make that column before, and name it in the formula; or build the same model of steps of scikit-learn "
    "(PolynomialFeatures, SplineTransformer with given knots) before seepage.GLM, and publish that."
)


@dataclass(frozen=True)
class _Term:
    """What one term of a formula becomes."""

    columns: tuple[str, ...]
    step: Any
    width: int
    """How many features the step makes."""
    order: tuple[int, ...]
    """Which of them each column of the term is."""


def with_steps(parts: Parts) -> Parts:
    """Return the same model behind steps of scikit-learn instead of a formula; refuse terms that have no such step."""
    if not isinstance(parts.model, Pipeline):
        return parts
    formula, glm = (step for _, step in parts.model.steps)
    assert isinstance(formula, Formula)
    terms = [_product(product) for product in formula.design.products]
    if not terms:
        raise UnsupportedError(
            "This formula has no term but the constant: there is no table of coefficients to publish."
        )
    columns = _side_by_side(terms).fit(parts.rows)
    starts = np.cumsum([0, *(term.width for term in terms)])
    order = np.concatenate([start + np.asarray(term.order) for start, term in zip(starts, terms, strict=False)])
    made = np.asarray(columns.transform(parts.rows), dtype=np.float64)
    if not np.allclose(made[:, order], formula.transform(parts.rows), rtol=1e-12, atol=0.0):
        raise UnsupportedError(f"The terms of this formula are not what steps of scikit-learn make of them. {_WAY_OUT}")
    moved = clone(glm)
    for name in ("intercept_", "n_features_in_", "classes_"):
        if hasattr(glm, name):
            setattr(moved, name, getattr(glm, name))
    moved.coef_ = np.empty(len(order))
    moved.coef_[order] = glm.coef_
    return parts._replace(model=Pipeline([("columns", columns), ("glm", moved)]))


def _side_by_side(terms: Sequence[_Term]) -> ColumnTransformer:
    return ColumnTransformer(
        [(f"{' '.join(term.columns)} {i}", term.step, list(term.columns)) for i, term in enumerate(terms)],
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
        for choice in product_of(*(term.order for term in reversed(terms)))
    ]
    step = Pipeline(
        [
            ("factors", _side_by_side(terms)),
            ("products", PolynomialFeatures((len(terms), len(terms)), interaction_only=True, include_bias=False)),
            ("taken", ColumnTransformer([("taken", "passthrough", chosen)])),
        ]
    )
    columns = tuple(dict.fromkeys(name for term in terms for name in term.columns))
    return _Term(columns, step, len(chosen), tuple(range(len(chosen))))


def _term(factor: Factor, coding: NDArray[np.float64] | None) -> _Term:
    if factor.levels is not None and factor.column is not None and coding is not None:
        return _levels(factor.code, factor.column, factor.levels, coding)
    if factor.column is not None:
        return _Term((factor.column,), "passthrough", 1, (0,))
    step = _function(factor.tree) or _power(factor.tree)
    if step is None:
        raise UnsupportedError(f"The term {factor.code!r} of this formula cannot be published as it is. {_WAY_OUT}")
    return _Term(factor.names, step, 1, (0,))


def _levels(code: str, column: str, levels: Sequence[Any], contrast: NDArray[np.float64]) -> _Term:
    """Return indicators of levels; those of the rows, so that the rule about rare ones holds."""
    if not np.isin(contrast, (0.0, 1.0)).all() or (contrast.sum(axis=0) != 1).any():
        raise UnsupportedError(
            f"The levels of {code!r} are coded by contrasts that are no indicators. Code them as they are by default "
            "(Treatment): the fitted values are the same."
        )
    known = np.unique(np.asarray(levels, dtype=object if isinstance(levels[0], str) else None)).tolist()
    shown = [levels[i] for i in contrast.argmax(axis=0)]
    left_out = [level for level in known if level not in shown]
    kept = [level for level in known if level in shown]
    encoder = OneHotEncoder(drop=left_out or None, sparse_output=False)
    return _Term((column,), encoder, len(kept), tuple(kept.index(level) for level in shown))


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
