"""The steps before a model one by one, each with what goes into it and with what it learned, in words."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import cast

import narwhals as nw
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from seepage._tables import Data, Frame, Model
from seepage.linear.columns._affine import Affine
from seepage.linear.columns._formula import Formula
from seepage.linear.columns._steps import side_by_side, through


@dataclass(frozen=True, eq=False)
class Step:
    """One step that does something, with what goes into it."""

    path: tuple[str, ...]
    step: Model
    incoming: Affine
    data: Callable[[], Data]
    """Returns the training rows as they reach it."""

    @property
    def name(self) -> str:
        """The names that lead to it, from the outside in."""
        return ".".join(self.path)

    @property
    def called(self) -> str:
        """What messages call it."""
        return f"{self.name} ({type(self.step).__name__})"

    def columns(self) -> list[int]:
        """Return the raw columns that it takes something of."""
        return sorted({coordinate.column for coordinate in self.incoming.coordinates})

    def raw_columns(self) -> list[int | None]:
        """Return which raw column each of its features is, if it is one untouched."""
        return [self.incoming.raw_column(feature) for feature in range(self.incoming.features)]


def walk(
    step: Model, incoming: Affine | None = None, data: Callable[[], Data] = lambda: None, path: tuple[str, ...] = ()
) -> Iterator[Step]:
    """Yield the steps that do something, each with its path, the features before it and the rows that reach it.

    A step that holds others (a Pipeline, a ColumnTransformer, a FeatureUnion) is not yielded; those in it are.
    """
    if step is None or isinstance(step, str) or (isinstance(step, FunctionTransformer) and step.func is None):
        return
    if isinstance(step, Pipeline):
        for name, inner in step.steps:
            yield from walk(inner, incoming, data, (*path, name))
            if incoming is not None and inner is not None and not isinstance(inner, str):
                incoming, data = through(inner, incoming, name), partial(_after, inner, data)
    elif isinstance(step, ColumnTransformer | FeatureUnion):
        for name, inner, columns in side_by_side(step):
            taken = incoming if columns is None or incoming is None else incoming.take(columns)
            rows = data if columns is None else partial(_taken, data, columns.tolist())
            yield from walk(inner, taken, rows, (*path, name))
    else:
        yield Step(path, step, cast(Affine, incoming), data)


def single_steps(step: Model) -> dict[str, Model]:
    """Return the steps that a step is made of, by their paths."""
    return {each.name: each.step for each in walk(step)}


def knows_none(step: Model) -> bool:
    """Return whether steps were fitted on rows in which None, and not NaN, stands for a missing value.

    Files know one kind of missing value; libraries of frames make one or the other of it.
    """
    for each in single_steps(step).values():
        levels = getattr(each, "categories_", ())
        if getattr(each, "missing_values", np.nan) is None or any(v is None for one in levels for v in one.tolist()):
            return True
    return False


def _after(step: Model, data: Callable[[], Data]) -> Data:
    return step.transform(data())


def _taken(data: Callable[[], Data], index: list[int]) -> Data:
    rows: Frame = data()
    frame = nw.from_native(rows, eager_only=True, pass_through=True)
    return frame[:, index].to_native() if isinstance(frame, nw.DataFrame) else rows[:, index]


# Longer lists of columns are cut: a sentence is to be read.
_FEW = 8


def what_was_learned(step: Step, names: Collection[str]) -> str:
    """Return what a step learned of some columns, in words for whoever does not know its name."""
    listed = list(names)
    more = "" if len(listed) <= _FEW else f" and {len(listed) - _FEW} more"
    return _learned(step.step, step.called).format(columns=", ".join(listed[:_FEW]) + more)


@singledispatch
def _learned(step: object, called: str) -> str:
    # A name may hold braces.
    return f"what {called.replace('{', '{{').replace('}', '}}')} learned of {{columns}}"


_FILLED = {"mean": "the means", "median": "the medians", "most_frequent": "the most frequent values"}


@_learned.register
def _(step: SimpleImputer, called: str) -> str:
    what = _FILLED.get(step.strategy, "the values") if isinstance(step.strategy, str) else "the values"
    return f"{what} that fill in {{columns}}"


@_learned.register
def _(step: StandardScaler, called: str) -> str:
    both = ["means"] * bool(step.with_mean) + ["standard deviations"] * bool(step.with_std)
    return f"the {' and '.join(both)} of {{columns}}"


@_learned.register(MinMaxScaler)
@_learned.register(MaxAbsScaler)
def _(step: MinMaxScaler | MaxAbsScaler, called: str) -> str:
    return "the smallest and largest values of {columns}"


@_learned.register
def _(step: RobustScaler, called: str) -> str:
    return "the medians and quantiles of {columns}"


@_learned.register
def _(step: OneHotEncoder, called: str) -> str:
    return "which levels there are of {columns}" + (", and which are rare" if step._infrequent_enabled else "")


@_learned.register
def _(step: Formula, called: str) -> str:
    if any(term.fitted for term in step.terms):
        return "what the formula stored of {columns}"
    names = dict.fromkeys(name for term in step.terms for name in term.levels)
    return f"which levels there are of {', '.join(names)}".replace("{", "{{").replace("}", "}}")


@_learned.register
def _(step: SplineTransformer, called: str) -> str:
    return "the knots of the splines of {columns}"


@_learned.register(PCA)
@_learned.register(TruncatedSVD)
def _(step: PCA | TruncatedSVD, called: str) -> str:
    return "the principal axes of {columns}"


@_learned.register
def _(step: SelectorMixin, called: str) -> str:
    return "which columns were chosen among {columns}"
