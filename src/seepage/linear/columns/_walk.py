"""The steps before a model one by one, each with what goes into it and with what it learned, in words."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial, singledispatch

import narwhals as nw
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
from seepage.linear.columns._steps import positions, through


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


def walk(step: Model, incoming: Affine, data: Callable[[], Data], path: tuple[str, ...] = ()) -> Iterator[Step]:
    """Yield the steps that do something, each by the way that leads to it, with what goes in.

    What only holds other steps (a Pipeline, a ColumnTransformer, a FeatureUnion) is not yielded, but what is in it.
    """
    if step is None or isinstance(step, str) or (isinstance(step, FunctionTransformer) and step.func is None):
        return
    if isinstance(step, Pipeline):
        for name, inner in step.steps:
            yield from walk(inner, incoming, data, (*path, name))
            if inner is not None and not isinstance(inner, str):
                incoming, data = through(inner, incoming, name), partial(_after, inner, data)
    elif isinstance(step, ColumnTransformer):
        for name, inner, columns in step.transformers_:
            index = positions(columns, step)
            if len(index):
                yield from walk(inner, incoming.take(index), partial(_taken, data, index.tolist()), (*path, name))
    elif isinstance(step, FeatureUnion):
        for name, inner in step.transformer_list:
            yield from walk(inner, incoming, data, (*path, name))
    else:
        yield Step(path, step, incoming, data)


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


@_learned.register
def _(step: MinMaxScaler | MaxAbsScaler, called: str) -> str:
    return "the smallest and largest values of {columns}"


@_learned.register
def _(step: RobustScaler, called: str) -> str:
    return "the medians and quantiles of {columns}"


@_learned.register
def _(step: OneHotEncoder, called: str) -> str:
    return "which levels there are of {columns}" + (", and which are rare" if step._infrequent_enabled else "")


@_learned.register
def _(step: SplineTransformer, called: str) -> str:
    return "the knots of the splines of {columns}"


@_learned.register
def _(step: PCA | TruncatedSVD, called: str) -> str:
    return "the principal axes of {columns}"


@_learned.register
def _(step: SelectorMixin, called: str) -> str:
    return "which columns were chosen among {columns}"
