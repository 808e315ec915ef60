"""The columns that a formula makes of a data frame, traced to the columns of the frame.

A term is a product of factors. A factor that is a column passes as it is, one of levels is an affine map of their
indicators, a spline is one of scikit-learn with its stored knots, and any other (a logarithm) is a function of the
columns that it names, differentiated as such; products are powers of what their factors make.
"""
# mypy: disable-error-code="misc"

from collections.abc import Hashable, Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from seepage._tables import Data
from seepage.errors import UnsupportedError
from seepage.linear.columns._affine import Affine
from seepage.linear.columns._basis import basis_of
from seepage.linear.columns._claims import Claim
from seepage.linear.columns._curve import Powers
from seepage.linear.columns._design import Factor
from seepage.linear.columns._formulaic import of_formulaic
from seepage.linear.columns._functions import CalledFunction
from seepage.linear.columns._patsy import of_patsy
from seepage.linear.columns._steps import through

Array = NDArray[np.float64]


class Formula(TransformerMixin, BaseEstimator):
    """The design matrix of a formula of patsy or formulaic, without its intercept.

    Parameters
    ----------
    read : DesignInfo of patsy or ModelSpec of formulaic
        The formula, with what it has stored.
    frame : data frame
        The rows that it was made for.
    """

    def __init__(self, read: Any, frame: Any) -> None:
        self.read = read
        self.frame = frame
        names = [str(name) for name in frame.columns]
        is_patsy = hasattr(read, "factor_infos")
        self.design = of_patsy(read, names) if is_patsy else of_formulaic(read, frame)
        used = {name for factor in self.design.factors for name in factor.names}
        self.feature_names_in_ = np.array([name for name in names if name in used], dtype=object)

    @property
    def intercept(self) -> int | None:
        """Which of the columns is the intercept, if there is one."""
        return self.design.intercept

    @property
    def averages_only(self) -> bool:
        """Whether what it has stored of the rows are means and deviations, and no knots."""
        return all(each.scaler is not None for each in self.design.factors if each.learned)

    def fit(self, X: Data, y: object = None) -> Self:
        """Return the formula: what it stores was stored when the model was made."""
        return self

    def transform(self, X: Data) -> Array:
        """Return the columns of the model."""
        found = self.design.matrix(X)
        return found if self.intercept is None else np.delete(found, self.intercept, axis=1)

    def __sklearn_is_fitted__(self) -> bool:
        return True


@through.register
def _(step: Formula, incoming: Affine, path: str) -> Affine:
    makers = {factor.code: _made(step, factor, incoming, path) for factor in step.design.factors}
    parts: list[Affine] = []
    for each in step.design.products:
        coded = []
        for factor, coding in each.factors:
            made = makers[factor.code]
            coded.append(made if coding is None else _coded(made, coding))
        part = coded[0] if len(coded) == 1 else _product(coded, path)
        parts.append(part if each.scale == 1.0 else part.scaled(each.scale))
    return Affine.stacked(parts)


def _made(step: Formula, factor: Factor, incoming: Affine, path: str) -> Affine:
    """Return what a factor makes: numbers, or an indicator of each level."""
    names = step.feature_names_in_.tolist()
    at = [names.index(name) for name in factor.names]
    if factor.levels is not None:
        column = incoming.raw_column(at[0]) if len(at) == 1 else None
        if factor.column is None or column is None:
            raise UnsupportedError(
                f"The term {factor.code!r} of the formula makes levels of values: they have no derivative, which would "
                "look like safety and is none. Make a column of the levels before, and name that."
            )
        levels: list[tuple[Hashable, ...]] = [(_plain(level),) for level in factor.levels]
        return incoming.take(at).encoded([column], [levels])
    if not at:
        raise UnsupportedError(f"The term {factor.code!r} of the formula names no column of the frame.")
    if factor.column is not None:
        return incoming.take(at)
    if factor.scaler is not None and step.design.stands_alone(factor):
        return _scaled(step, factor, incoming.take(at), path)
    basis, place = basis_of(factor), f"{path}: {factor.code}" if path else factor.code
    if basis is not None:
        return through(basis.step, incoming.take(at), place).mapped(basis.matrix)
    curve = CalledFunction(factor.evaluated, len(at), factor.features, factor.names, factor.evaluated, None)
    return incoming.take(at).bent(curve, place)


def _coded(levels: Affine, coding: Array) -> Affine:
    """Return the columns of a coding, without the level that has none: nobody's values are more for its name."""
    return levels.mapped(coding.T).take(range(coding.shape[1]))


def _scaled(step: Formula, factor: Factor, incoming: Affine, path: str) -> Affine:
    """Return a column less its mean, perhaps over its deviation, both as the formula has stored them."""
    import pandas as pd

    low, high = np.ravel(factor.evaluated(pd.DataFrame({factor.names[0]: [0.0, 1.0]}))).tolist()
    # A deviation with fewer degrees of freedom is one without, times a number that is nobody's.
    count = len(step.frame)
    share = 1.0 if factor.scaler == "center" else float(np.sqrt((count - factor.degrees) / count))
    made = incoming.scaled((high - low) / share).shifted(low / share)
    return made.claimed(Claim(path, centers=True, scales=factor.scaler != "center")).scaled(share)


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
