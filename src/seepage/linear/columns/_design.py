"""What a formula says of its columns, whichever library read it: products of factors, each of some columns of a frame.

A factor makes numbers, or indicators of levels. What its library has stored of the rows (levels, knots, means) is kept,
so that new rows are treated as the old ones were.
"""

import ast
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# What has learned a mean of the rows with each, or a mean and a deviation.
_SCALERS = ("center", "standardize", "scale")


@dataclass(frozen=True, eq=False)
class Factor:
    """What stands between the colons and plus signs of a formula."""

    code: str
    tree: ast.expr
    names: tuple[str, ...]
    """The columns of the frame that it names."""
    levels: tuple[Hashable, ...] | None
    """The values that it has an indicator for; None if it makes numbers."""
    features: int
    evaluated: Callable[[Any], NDArray[Any]]
    """Returns its numbers for the rows of a frame, shape (n, features)."""
    learned: bool
    """Whether it has stored something of the rows besides levels."""
    knots: tuple[float, ...] = ()
    """Those of a spline, as it has stored them."""
    degrees: float = 0.0
    """What its deviation, if it has stored one, takes off the number of rows."""

    @property
    def column(self) -> str | None:
        """The column that it is as it stands, or whose levels it has."""
        tree = self.tree
        if self.levels is not None and _called(tree) == "C" and isinstance(tree, ast.Call) and tree.args:
            tree = tree.args[0]
        return named(tree)

    @property
    def scaler(self) -> str | None:
        """Which scaler it is, of one column and nothing else."""
        tree = self.tree
        if self.levels is not None or not isinstance(tree, ast.Call) or _called(tree) not in _SCALERS:
            return None
        plain = len(tree.args) == 1 and named(tree.args[0]) is not None and not tree.keywords
        return _called(tree) if plain else None


@dataclass(frozen=True, eq=False)
class Product:
    """Factors that are multiplied, each column of one with each of the others; those of the first go round fastest."""

    factors: tuple[tuple[Factor, Array | None], ...]
    """Each with the coding of its features, shape (features, columns); None if all stay as they are."""
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of a formula in order, without its intercept."""

    products: tuple[Product, ...]
    intercept: int | None
    """Where the intercept stands among all columns, if there is one."""
    matrix: Callable[[Any], Array]
    """Returns all columns for the rows of a frame."""

    @property
    def factors(self) -> tuple[Factor, ...]:
        """All factors, each once."""
        return tuple({factor.code: factor for each in self.products for factor, _ in each.factors}.values())

    def stands_alone(self, factor: Factor) -> bool:
        """Return whether a factor is in no product, and the formula has learned nothing else, such as knots."""
        if any(each.learned and each.scaler is None for each in self.factors):
            return False
        within = [each for each in self.products if any(one is factor for one, _ in each.factors)]
        return all(len(each.factors) == 1 and each.scale == 1.0 for each in within)


def named(tree: ast.expr) -> str | None:
    """Return the column that a piece of code names and does nothing to."""
    if isinstance(tree, ast.Name):
        return tree.id
    if _called(tree) == "Q" and isinstance(tree, ast.Call) and tree.args and isinstance(tree.args[0], ast.Constant):
        return str(tree.args[0].value)
    return None


def _called(tree: ast.expr) -> str | None:
    return tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else None
