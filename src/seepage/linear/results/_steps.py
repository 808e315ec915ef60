"""A formula as steps of scikit-learn, which may leave with the model: a formula is code, and is run to be opened."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from seepage._errors import UnsupportedError
from seepage.linear.columns import SLOPES, Formula
from seepage.linear.results._results import Parts

_WAY_OUT = (
    "Make that column before, and name it in the formula; or build the same model of steps of scikit-learn "
    "(PolynomialFeatures, SplineTransformer with given knots) before seepage.GLM, and publish that."
)


@dataclass(frozen=True)
class _Term:
    """What one term of a formula becomes."""

    column: str
    step: Any
    order: tuple[int, ...]
    """Which of the step's features each column of the term is."""


def with_steps(parts: Parts) -> Parts:
    """Return the same model behind steps of scikit-learn instead of a formula; refuse terms that have no such step."""
    if parts.remarks:
        raise UnsupportedError(
            "Results of fit_regularized are measured, and not published: which coefficients are zero is a choice that "
            "the rows made, and the digits of a penalty that was read back from them tell about them too. Fit "
            "seepage.GLM with that penalty on squares (penalty= and penalize_intercept=True), and publish that."
        )
    if not isinstance(parts.model, Pipeline):
        return parts
    formula, glm = (step for _, step in parts.model.steps)
    assert isinstance(formula, Formula)
    terms = [_term(formula, factors) for factors in _factors(formula)]
    if not terms:
        raise UnsupportedError(
            "This formula has no term but the constant: there is no table of coefficients to publish."
        )
    columns = ColumnTransformer([(f"{term.column} {i}", term.step, [term.column]) for i, term in enumerate(terms)]).fit(
        parts.rows
    )
    starts = np.cumsum([0, *(len(term.order) for term in terms)])
    order = np.concatenate([start + np.asarray(term.order) for start, term in zip(starts, terms, strict=False)])
    made = np.asarray(columns.transform(parts.rows), dtype=np.float64)
    if not np.allclose(made[:, order], formula.transform(parts.rows), rtol=1e-12, atol=0.0):
        raise UnsupportedError(f"The terms of this formula are not what steps of scikit-learn make of them. {_WAY_OUT}")
    moved = clone(glm)
    for name in ("intercept_", "n_features_in_", "classes_", "parameter_"):
        if hasattr(glm, name):
            setattr(moved, name, getattr(glm, name))
    moved.coef_ = np.empty(glm.coef_.shape)
    moved.coef_[..., order] = glm.coef_
    return parts._replace(model=Pipeline([("columns", columns), ("glm", moved)]))


def _factors(formula: Formula) -> list[tuple[Any, Any]]:
    """Return the factor of each term, with its coding; refuse products."""
    found = []
    for subterms in formula.design.term_codings.values():
        for subterm in subterms:
            if len(subterm.factors) > 1:
                listed = ":".join(factor.code for factor in subterm.factors)
                raise UnsupportedError(
                    f"The product {listed!r} of this formula cannot be published as it is. {_WAY_OUT}"
                )
            found += [(factor, subterm.contrast_matrices.get(factor)) for factor in subterm.factors]
    return found


def _term(formula: Formula, coded: tuple[Any, Any]) -> _Term:
    factor, contrast = coded
    info, tree = formula.design.factor_infos[factor], ast.parse(factor.code, mode="eval").body
    column = _column(tree)
    if info.type == "categorical" and column is not None:
        return _levels(factor.code, column, list(info.categories), np.asarray(contrast.matrix))
    if column is not None and (isinstance(tree, ast.Name) or _is_quoted(tree)):
        return _Term(column, "passthrough", (0,))
    function = _function(tree)
    if function is None or column is None:
        raise UnsupportedError(f"The term {factor.code!r} of this formula cannot be published as it is. {_WAY_OUT}")
    return _Term(column, FunctionTransformer(function, feature_names_out="one-to-one"), (0,))


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
    return _Term(column, encoder, tuple(kept.index(level) for level in shown))


def _column(tree: ast.expr) -> str | None:
    """Return the column that a factor is of, if it is one."""
    if isinstance(tree, ast.Name):
        return tree.id
    if not isinstance(tree, ast.Call) or not tree.args:
        return None
    argument = tree.args[0]
    return str(argument.value) if _is_quoted(tree) and isinstance(argument, ast.Constant) else _column(argument)


def _is_quoted(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "Q"


def _function(tree: ast.expr) -> Any:
    """Return the function of numpy that a factor applies to a column, if it is one whose derivative is known."""
    plain = isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and len(tree.args) == 1
    if not plain or not isinstance(tree.args[0], ast.Name):  # type: ignore[attr-defined]
        return None
    found = getattr(np, tree.func.attr, None)  # type: ignore[attr-defined]
    return found if found in SLOPES else None
