"""The steps before a model one by one: the features before each, and what it learned from rows."""

from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import narwhals as nw
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from seepage._tables import Data, Frame, Model
from seepage.linear.columns._features import Features
from seepage.linear.columns._formula import Formula
from seepage.linear.columns._steps import Recoded, through


@dataclass(frozen=True, eq=False)
class Step:
    """One step that does something, with what goes into it."""

    path: tuple[str, ...]
    step: Model
    incoming: Features
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
        return [self.incoming.raw_column(feature) for feature in range(self.incoming.count)]


def walk(
    step: Model, incoming: Features | None = None, data: Callable[[], Data] = lambda: None, path: tuple[str, ...] = ()
) -> Generator[Step, None, Features | None]:
    """Yield the steps that do something, each with its path, the features before it and the rows that reach it.

    A step that holds others (a Pipeline, a ColumnTransformer, a FeatureUnion) is not yielded; those in it are. What
    the generator returns are the features behind all of them, or None if there are none to begin with.
    """
    if isinstance(step, Pipeline):
        for name, inner in step.steps:
            incoming = yield from walk(inner, incoming, data, (*path, name))
            data = data if inner is None or isinstance(inner, str) else partial(_after, inner, data)
        return incoming
    if isinstance(step, ColumnTransformer | FeatureUnion):
        parts, weights = [], step.transformer_weights or {}
        for name, inner, columns in _side_by_side(step):
            taken = incoming if columns is None or incoming is None else incoming.take(columns)
            rows = data if columns is None else partial(_taken, data, columns)
            part = yield from walk(inner, taken, rows, (*path, name))
            if part is not None:
                parts.append(part.scaled(weights[name]) if name in weights else part)
        return None if incoming is None else Features.stacked(parts)
    if step is None or isinstance(step, str) or (isinstance(step, FunctionTransformer) and step.func is None):
        return incoming
    yield Step(path, step, cast(Features, incoming), data)
    return None if incoming is None else through(step, incoming, ".".join(path))


@through.register(Pipeline)
@through.register(FeatureUnion)
@through.register(ColumnTransformer)
def _(step: Model, incoming: Features, path: str) -> Features:
    steps = walk(step, incoming, path=(path,) if path else ())
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast(Features, end.value)


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


def _side_by_side(step: Model) -> Iterator[tuple[str, object, list[int] | None]]:
    """Yield the steps that another one holds side by side: their names, and their columns (None for all)."""
    if isinstance(step, FeatureUnion):
        every: list[tuple[str, object, list[int] | None]] = [
            (name, inner, None) for name, inner in step.transformer_list
        ]
    else:
        places = step._transformer_to_input_indices
        every = [(name, inner, list(places[name])) for name, inner, _ in step.transformers_ if len(places[name])]
    return (each for each in every if not (isinstance(each[1], str) and each[1] == "drop"))


def _after(step: Model, data: Callable[[], Data]) -> Data:
    return step.transform(data())


def _taken(data: Callable[[], Data], index: list[int]) -> Data:
    rows: Frame = data()
    frame = nw.from_native(rows, eager_only=True, pass_through=True)
    return frame[:, index].to_native() if isinstance(frame, nw.DataFrame) else rows[:, index]


def is_called(step: object, path: str, name: str) -> bool:
    """Return whether a name is that of a step: all that lead to it, one of them, or its class in small letters."""
    return name in (path, *path.split("."), type(step).__name__.lower())


def learns(step: object) -> bool:
    """Return whether a step learned something from rows that could be told."""
    if isinstance(step, SimpleImputer):
        return bool(step.strategy != "constant")
    if isinstance(step, StandardScaler):
        return bool(step.with_mean or step.with_std)
    if isinstance(step, SplineTransformer):
        return isinstance(step.knots, str)
    if isinstance(step, OneHotEncoder):
        # Which levels are rare is a choice that the rows made, also among those that were listed.
        return isinstance(step.categories, str) or bool(step._infrequent_enabled)
    if isinstance(step, Formula):
        return step.stores_rows
    return not isinstance(step, FunctionTransformer | MissingIndicator | PolynomialFeatures | Recoded)


# Longer lists of columns are cut: a sentence is to be read.
_FEW = 8
_FILLED = {"mean": "the means", "median": "the medians", "most_frequent": "the most frequent values"}
_LEARNED: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (SimpleImputer, lambda step: f"{_FILLED.get(step.strategy, 'the values')} that fill in"),
    (
        StandardScaler,
        lambda step: (
            f"the {' and '.join(['means'] * bool(step.with_mean) + ['standard deviations'] * bool(step.with_std))} of"
        ),
    ),
    ((MinMaxScaler, MaxAbsScaler), lambda step: "the smallest and largest values of"),
    (RobustScaler, lambda step: "the medians and quantiles of"),
    (OneHotEncoder, lambda step: "which levels there are of"),
    (SplineTransformer, lambda step: "the knots of the splines of"),
    ((PCA, TruncatedSVD), lambda step: "the principal axes of"),
    (SelectorMixin, lambda step: "which columns were chosen among"),
)


def what_was_learned(step: Step, names: Collection[str]) -> str:
    """Return what a step learned of some columns, in words for whoever does not know its name."""
    words = next((words(step.step) for kind, words in _LEARNED if isinstance(step.step, kind)), None)
    if isinstance(step.step, Formula):
        levels = dict.fromkeys(name for term in step.step.terms for name in term.levels)
        is_fitted = any(term.fitted for term in step.step.terms)
        words, names = ("what the formula stored of", names) if is_fitted else ("which levels there are of", levels)
    listed = list(names)
    more = "" if len(listed) <= _FEW else f" and {len(listed) - _FEW} more"
    rare = ", and which are rare" if getattr(step.step, "_infrequent_enabled", False) else ""
    return f"{words or f'what {step.called} learned of'} {', '.join(listed[:_FEW])}{more}{rare}"
