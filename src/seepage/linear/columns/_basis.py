"""Splines of a formula as those of scikit-learn: the same functions in another basis.

Both are all the piecewise polynomials with the same knots, or some of them. How the one are sums of the other is found
from a few points between the knots, where both are evaluated.
"""

import ast
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import SplineTransformer

from seepage.linear.columns._design import Factor, named

Array = NDArray[np.float64]

# What each continues with beyond its outer knots, as scikit-learn calls it.
_BEYOND = {"bs": "error", "cr": "linear", "cs": "linear"}
_TOLD = {"df", "knots", "lower_bound", "upper_bound", "degree", "include_intercept", "constraints"}


class Basis(NamedTuple):
    """Splines of scikit-learn, and how the columns of a factor are sums of them."""

    step: SplineTransformer
    matrix: Array
    """Shape (columns, splines)."""
    told: dict[str, Any]
    """What the formula says of them in numbers."""


def basis_of(factor: Factor) -> Basis | None:
    """Return the splines that a factor is made of, with the knots that it has stored; None if it is another thing."""
    tree, knots = factor.tree, np.unique(np.asarray(factor.knots, dtype=np.float64))
    if not isinstance(tree, ast.Call) or len(knots) < 2 or ast.unparse(tree.func) not in _BEYOND:
        return None
    told = _told(tree)
    if told is None or len(tree.args) != 1 or named(tree.args[0]) is None or not set(told) <= _TOLD:
        return None
    degree = int(told.get("degree", 3))
    if degree < 1:
        return None
    # Between each two knots as many points as a polynomial has coefficients, and one more, which tells whether it fits.
    inside = (np.arange(degree + 2) + 0.5) / (degree + 2)
    points = (knots[:-1, None] + np.diff(knots)[:, None] * inside).ravel()
    step = SplineTransformer(degree=degree, knots=knots[:, None], extrapolation=_BEYOND[ast.unparse(tree.func)])
    made = np.asarray(factor.evaluated(_frame(factor.names[0], points)), dtype=np.float64)
    splines = step.fit(points[:, None]).transform(points[:, None])
    found = np.linalg.lstsq(splines, made, rcond=None)[0]
    fits = np.allclose(splines @ found, made, rtol=0, atol=1e-11 * float(np.abs(made).max()))
    return Basis(step, found.T, told) if fits else None


def _told(tree: ast.Call) -> dict[str, Any] | None:
    try:
        return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in tree.keywords}
    except ValueError:
        return None


def _frame(name: str, values: Array) -> Any:
    import pandas as pd

    return pd.DataFrame({name: values})
