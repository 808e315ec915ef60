"""The columns that a formula makes of a data frame, traced to the columns of the frame.

A term is a product of factors. A factor that is a column passes as it is, one of levels is an affine map of their
indicators, and any other (a logarithm, a spline with its stored knots) is a function of the columns that it names,
differentiated as such; products are powers of what their factors make.
"""
# mypy: disable-error-code="misc"

import ast
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from seepage._errors import UnsupportedError
from seepage._tables import Data
from seepage.linear.columns._affine import Affine
from seepage.linear.columns._claims import Claim
from seepage.linear.columns._curve import Powers
from seepage.linear.columns._functions import Unknown
from seepage.linear.columns._steps import through

Array = NDArray[np.float64]

# What patsy has learned of the rows with each: a mean, or a mean and a deviation.
_SCALERS = ("center", "standardize", "scale")


class Formula(TransformerMixin, BaseEstimator):
    """The design matrix of a formula of patsy, without its intercept."""

    def __init__(self, design: Any, columns: Sequence[Any]) -> None:
        self.design = design
        self.columns = columns
        names = [str(name) for name in columns]
        used = dict.fromkeys(name for factor in design.factor_infos for name in _names(factor, names))
        self.feature_names_in_ = np.array([name for name in names if name in used], dtype=object)

    @property
    def intercept(self) -> int | None:
        """Which of the columns is the intercept, if there is one."""
        names = list(self.design.column_names)
        return names.index("Intercept") if "Intercept" in names else None

    def fit(self, X: Data, y: object = None) -> Self:
        """Return the formula: what it stores was stored when the model was made."""
        return self

    def transform(self, X: Data) -> Array:
        """Return the columns of the model."""
        from patsy import build_design_matrices

        (matrix,) = build_design_matrices([self.design], X, NA_action="raise")
        found = np.asarray(matrix, dtype=np.float64)
        return found if self.intercept is None else np.delete(found, self.intercept, axis=1)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _names(factor: Any, among: Sequence[str]) -> list[str]:
    """Return the columns of a frame that a factor names."""
    found = []
    for node in ast.walk(ast.parse(factor.code, mode="eval")):
        if isinstance(node, ast.Name):
            found.append(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Q":
            found += [each.value for each in node.args if isinstance(each, ast.Constant)]
    return [str(name) for name in dict.fromkeys(found) if name in among]


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """Evaluates a factor of numbers, with what it has stored."""

    factor: Any
    state: Any

    def __call__(self, frame: Any) -> NDArray[Any]:
        found = np.asarray(self.factor.eval(self.state, frame))
        return found[:, None] if found.ndim == 1 else found


@through.register
def _(step: Formula, incoming: Affine, path: str) -> Affine:
    names = [str(name) for name in step.feature_names_in_]
    makers = {factor: _factor(step, factor, incoming, names, path) for factor in step.design.factor_infos}
    parts: list[Affine] = []
    for subterms in step.design.term_codings.values():
        for subterm in subterms:
            if not subterm.factors:
                continue
            coded = []
            for factor in subterm.factors:
                contrast = subterm.contrast_matrices.get(factor)
                made = makers[factor]
                coded.append(made if contrast is None else made.mapped(np.asarray(contrast.matrix).T))
            parts.append(coded[0] if len(coded) == 1 else _product(coded, path))
    return Affine.stacked(parts)


def _factor(step: Formula, factor: Any, incoming: Affine, names: list[str], path: str) -> Affine:
    """Return what a factor makes: numbers, or an indicator of each level."""
    info = step.design.factor_infos[factor]
    named = _names(factor, names)
    at = [names.index(name) for name in named]
    tree = ast.parse(factor.code, mode="eval").body
    if info.type == "categorical":
        plain = isinstance(tree, ast.Name) or (
            isinstance(tree, ast.Call)
            and isinstance(tree.func, ast.Name)
            and tree.func.id in ("C", "Q")
            and (isinstance(tree.args[0], ast.Name | ast.Constant))
        )
        column = incoming.raw_column(at[0]) if len(at) == 1 else None
        if not plain or column is None:
            raise UnsupportedError(
                f"The term {factor.code!r} of the formula makes levels of values: they have no derivative, which would "
                "look like safety and is none. Make a column of the levels before, and name that."
            )
        levels: list[tuple[Hashable, ...]] = [(_plain(level),) for level in info.categories]
        return incoming.take(at).encoded([column], [levels])
    if isinstance(tree, ast.Name):
        return incoming.take(at)
    if not named:
        raise UnsupportedError(f"The term {factor.code!r} of the formula names no column of the frame.")
    scaler = _scaler(tree)
    if scaler is not None and len(at) == 1 and _alone(step, factor):
        made = _scaled(factor, info.state, incoming.take(at), named[0])
        return made.claimed(Claim(path, centers=True, scales=scaler != "center"))
    curve = Unknown(_Evaluated(factor, info.state), len(at), int(info.num_columns), tuple(named), factor.eval, None)
    return incoming.take(at).bent(curve, f"{path}: {factor.code}" if path else factor.code)


def _scaler(tree: ast.expr) -> str | None:
    """Return which of patsy's scalers a factor is, of one column and nothing else."""
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in _SCALERS:
        plain = len(tree.args) == 1 and isinstance(tree.args[0], ast.Name) and not tree.keywords
        return tree.func.id if plain else None
    return None


def _alone(step: Formula, factor: Any) -> bool:
    """Return whether a factor is in no product, and the formula has learned nothing else, such as knots."""
    info = step.design.factor_infos
    rest = [each for each in info if not _scaler(ast.parse(each.code, mode="eval").body)]
    learned = any(info[each].type == "numerical" and info[each].state.get("transforms") for each in rest)
    return not learned and all(factor not in term.factors or len(term.factors) == 1 for term in step.design.terms)


def _scaled(factor: Any, state: Any, incoming: Affine, name: str) -> Affine:
    """Return a column less its mean, perhaps over its deviation, both as the formula has stored them."""
    import pandas as pd

    low, high = np.ravel(factor.eval(state, pd.DataFrame({name: [0.0, 1.0]}))).tolist()
    return incoming.scaled(high - low).shifted(low)


def _plain(level: Any) -> Hashable:
    found: Hashable = level.item() if isinstance(level, np.generic) else level
    return found


def _product(factors: Sequence[Affine], path: str) -> Affine:
    """Return the products of one column of each factor, those of the first going round fastest."""
    starts = np.cumsum([0, *(each.features for each in factors)])
    powers = []
    for combination in product(*(range(each.features) for each in reversed(factors))):
        row = np.zeros(int(starts[-1]), dtype=np.int64)
        for start, at in zip(starts, combination[::-1], strict=False):
            row[start + at] = 1
        powers.append(row)
    return Affine.stacked(factors).bent(Powers(np.array(powers), None), path)
