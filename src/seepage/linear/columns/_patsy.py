"""Formulas as patsy reads them."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage.linear.columns._design import Design, Factor, Product

Array = NDArray[np.float64]


def of_patsy(design: Any, names: Sequence[str]) -> Design:
    """Return what a design of patsy says, of a frame with columns of these names."""
    factors = {factor: _factor(factor, design.factor_infos[factor], names) for factor in design.factor_infos}
    products = []
    for subterms in design.term_codings.values():
        for subterm in subterms:
            if subterm.factors:
                coded = [(factors[each], subterm.contrast_matrices.get(each)) for each in subterm.factors]
                products.append(
                    Product(tuple((one, None if by is None else np.asarray(by.matrix)) for one, by in coded))
                )
    columns = list(design.column_names)
    intercept = columns.index("Intercept") if "Intercept" in columns else None
    return Design(tuple(products), intercept, partial(_matrix, design))


def _matrix(design: Any, frame: Any) -> Array:
    from patsy import build_design_matrices

    (matrix,) = build_design_matrices([design], frame, NA_action="raise")
    return np.asarray(matrix, dtype=np.float64)


def _factor(factor: Any, info: Any, names: Sequence[str]) -> Factor:
    tree = ast.parse(factor.code, mode="eval").body
    levels = tuple(info.categories) if info.type == "categorical" else None
    return Factor(
        code=factor.code,
        tree=tree,
        names=_names(tree, names),
        levels=levels,
        features=int(info.num_columns) if levels is None else len(levels),
        evaluated=_Evaluated(factor, info.state),
        learned=levels is None and bool(info.state.get("transforms")),
        knots=() if levels is not None else _knots(info.state),
    )


def _knots(state: Any) -> tuple[float, ...]:
    """Return the knots of a factor that is one spline."""
    stored = list(state.get("transforms", {}).values())
    found = getattr(stored[0], "_all_knots", None) if len(stored) == 1 else None
    return () if found is None else tuple(np.asarray(found).tolist())


def _names(tree: ast.expr, among: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a frame that a piece of code names."""
    found: list[object] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.append(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Q":
            found += [each.value for each in node.args if isinstance(each, ast.Constant)]
    return tuple(str(name) for name in dict.fromkeys(found) if name in among)


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """Evaluates a factor of numbers, with what it has stored."""

    factor: Any
    state: Any

    def __call__(self, frame: Any) -> NDArray[Any]:
        found = np.asarray(self.factor.eval(self.state, frame))
        return found[:, None] if found.ndim == 1 else found
