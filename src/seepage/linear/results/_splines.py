"""Splines of a formula as those of scikit-learn: the same functions in another basis."""

import ast
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import SplineTransformer

from seepage._errors import UnsupportedError
from seepage.linear.columns import Factor, named

Array = NDArray[np.float64]

# What each continues with beyond its outer knots, as scikit-learn calls it, and what else it may be told.
_KINDS = {"bs": ("error", {"degree", "include_intercept"}), "cr": ("linear", set()), "cs": ("linear", set())}


def spline_of(factor: Factor) -> tuple[SplineTransformer, Array] | None:
    """Return splines of scikit-learn, and how a factor's columns are sums of them; None if it is no spline.

    Both are all the piecewise polynomials with the same knots, or some of them, so that the sums are found from a few
    points between these.
    """
    tree = factor.tree
    called = ast.unparse(tree.func) if isinstance(tree, ast.Call) else ""
    if not isinstance(tree, ast.Call) or called not in _KINDS:
        return None
    extrapolation, more = _KINDS[called]
    given = _given(tree)
    needed = {"lower_bound", "upper_bound"} | ({"knots"} if called != "bs" else set())
    if len(tree.args) != 1 or named(tree.args[0]) is None or not set(given) <= {*needed, *more, "knots"}:
        return None
    if not needed <= set(given):
        lacking = ", ".join(sorted(needed - set(given)))
        raise UnsupportedError(
            f"The term {factor.code!r} of this formula took values of single people for {lacking}. Give numbers of "
            f"your own: {called}({factor.names[0]}, knots=[40, 60], lower_bound=20, upper_bound=90), and fit again."
        )
    knots = np.array([given["lower_bound"], *given.get("knots", ()), given["upper_bound"]], dtype=np.float64)
    degree = int(given.get("degree", 3))
    if (np.diff(knots) <= 0).any() or degree < 1:
        return None
    # Between each two knots as many points as a polynomial has coefficients, and one more, which tells whether it fits.
    inside = (np.arange(degree + 2) + 0.5) / (degree + 2)
    points = (knots[:-1, None] + np.diff(knots)[:, None] * inside).ravel()
    step = SplineTransformer(degree=degree, knots=knots[:, None], extrapolation=extrapolation)
    made = np.asarray(factor.evaluated(_frame(factor.names[0], points)), dtype=np.float64)
    basis = step.fit(points[:, None]).transform(points[:, None])
    found = np.linalg.lstsq(basis, made, rcond=None)[0]
    return (step, found.T) if np.allclose(basis @ found, made, rtol=0, atol=1e-11 * np.abs(made).max()) else None


def _given(tree: ast.Call) -> dict[str, Any]:
    """Return what a function is told in numbers."""
    found = {}
    for keyword in tree.keywords:
        try:
            found[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except ValueError:
            found[f"{keyword.arg}, by name"] = None
    return found


def _frame(name: str, values: Array) -> Any:
    import pandas as pd

    return pd.DataFrame({name: values})
