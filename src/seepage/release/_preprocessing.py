"""What preprocessing took from the rows, and whether that may leave.

What is published is in raw units, and nothing of the steps goes with it (see `_raw`). But the fit depends on their
constants, and so does what is published. Means and deviations of these very rows are part of the fit, and measured as
such. A value of a single person (a smallest one, a median, a level that somebody has) is not: it must be given, or
public and said to be.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial, singledispatch
from shlex import quote

import narwhals as nw
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

from seepage._tables import Data, Frame, Model, Table, is_missing, missing_in
from seepage.errors import InputError, UnsupportedError
from seepage.linear.columns import Affine, Recoded, is_called, positions, through
from seepage.release._names import same_names, written


class Constants(Enum):
    """Where what a step has stored comes from."""

    GIVEN = "given"
    PUBLIC = "public"
    FITTED = "fitted on these rows"


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


@dataclass(frozen=True)
class Fill:
    """What stands for a missing value in a raw column, and what to put there."""

    marker: object
    value: object


@dataclass(frozen=True)
class Levels:
    """The values of a raw column that one-hot encoders know."""

    named: tuple[object, ...]
    together: tuple[object, ...]
    """Those that an encoder put together for being rare."""
    unknown: str
    """What becomes of others, as scikit-learn calls it."""

    @property
    def others(self) -> str:
        """What becomes of values without a name: whoever put rare ones together takes them for one of those."""
        return "ignore" if self.together else self.unknown

    def joined(self, other: "Levels") -> "Levels":
        """Return what two encoders of one column know: together is what both put together."""
        named = list(dict.fromkeys([*self.named, *other.named]))
        together = [value for value in self.together if value in other.together]
        named += [value for value in (*self.together, *other.together) if value not in (*together, *named)]
        if all(isinstance(value, int | float) for value in named):
            named.sort()
        return Levels(tuple(named), tuple(together), "error" if "error" in (self.unknown, other.unknown) else "ignore")


@dataclass(frozen=True)
class PublishedSteps:
    """What the steps before a model have stored, and what of it the published model needs.

    Attributes
    ----------
    constants : mapping from str to Constants
        For each step that stores something, where that comes from.
    levels : mapping from int to Levels
        For each raw column that is a category.
    fills : mapping from int to Fill
        For each raw column whose missing cells are filled with a value that may leave.
    """

    constants: Mapping[str, Constants] = field(default_factory=dict)
    levels: Mapping[int, Levels] = field(default_factory=dict)
    fills: Mapping[int, Fill] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Rules:
    """What may leave without a word.

    Attributes
    ----------
    table : Table
        The training rows.
    private : frozenset of int
        The raw columns that are private: what was taken from others is public.
    public : sequence of str
        The steps whose constants are public, by name.
    categories : mapping from str to sequence, or None
        The levels that were given of the columns of a formula or a table; None if the encoders are the user's own.
    measured : frozenset of str
        The steps that were fitted on these rows, and measured so (see `seepage.linear.information`), by their paths.
    """

    table: Table
    private: frozenset[int]
    public: Sequence[str]
    categories: Mapping[str, Sequence[object]] | None
    measured: frozenset[str]

    def read(self, preprocess: Model) -> PublishedSteps:
        """Return what the steps have stored; refuse what is neither given, nor public, nor part of the fit."""
        steps = list(walk(preprocess, Affine.raw(len(self.table.names)), lambda: self.table.native))
        found = PublishedSteps()
        for step in steps:
            stored = _stored(step.step, step, self, self._is_public(step))
            levels = dict(found.levels)
            for column, one in stored.levels.items():
                levels[column] = levels[column].joined(one) if column in levels else one
            found = replace(
                found,
                constants={**found.constants, **stored.constants},
                levels=levels,
                fills={**found.fills, **stored.fills},
            )
        return found

    def _is_public(self, step: Step) -> bool:
        touched = {coordinate.column for coordinate in step.incoming.coordinates}
        return any(is_called(step.step, step.name, name) for name in self.public) or not touched & self.private

    def lacks_values(self, step: Step) -> bool:
        """Return whether a cell that reaches an imputer is missing in the training rows."""
        reached = Table.of(step.data())
        marker = step.step.missing_values
        markers = () if is_missing(marker) else (marker,)
        return any(missing_in(reached.column_at(i), markers).any() for i in range(len(reached.names)))


@singledispatch
def _stored(step: object, at: Step, rules: Rules, public: bool) -> PublishedSteps:
    """Return what a step has stored, or refuse it."""
    if public:
        return PublishedSteps({at.called: Constants.PUBLIC})
    raise _refused(at, "holds values of single people, such as a smallest and a largest one or which columns matter.")


def _refused(at: Step, why: str, instead: str = "") -> UnsupportedError:
    return UnsupportedError(
        f"The step {at.called} {why} What is published would depend on them in ways that nobody measures. {instead}If "
        f"they are public, as limits that were stated before anybody saw the data, {_declared(at)} Otherwise put a "
        "StandardScaler, or a step with constants of your own, in its place."
    )


def _declared(at: Step) -> str:
    """Return how to say that what a step has stored is public."""
    return f"say so: public_preprocessing=[{at.name!r}] (on the command line, --public-preprocessing {quote(at.name)})."


@_stored.register
def _(step: StandardScaler, at: Step, rules: Rules, public: bool) -> PublishedSteps:
    if public:
        return PublishedSteps({at.called: Constants.PUBLIC})
    if not (step.with_mean or step.with_std):
        return PublishedSteps({at.called: Constants.GIVEN})
    if at.name not in rules.measured:
        raise _other_constants(at)
    return PublishedSteps({at.called: Constants.FITTED})


def _other_constants(at: Step) -> UnsupportedError:
    return UnsupportedError(
        f"The step {at.called} is not measured: it has other constants than these rows give, or another step stands "
        f"behind it that hides what it did. If its constants are public, {_declared(at)} Otherwise fit it on the rows "
        "that the model was fitted on, as the last step before the model: behind splines, powers and functions."
    )


@_stored.register
def _(step: SimpleImputer, at: Step, rules: Rules, public: bool) -> PublishedSteps:
    if step.add_indicator:
        raise _tells_missing(at, "add_indicator=False")
    given = step.strategy == "constant"
    lacks = rules.lacks_values(at)
    # What a step would fill in, and did not for anybody, has no part in the fit.
    if lacks and not given and not public:
        if step.strategy != "mean":
            instead = 'Fill in a value of your own, with SimpleImputer(strategy="constant", fill_value=...). '
            raise _refused(at, f"fills in a value of single people (strategy={step.strategy!r}).", instead)
        if at.name not in rules.measured:
            raise _other_constants(at)
    origin = Constants.GIVEN if given else Constants.PUBLIC if public else Constants.FITTED
    fills = {}
    for column, value in zip(at.raw_columns(), np.asarray(step.statistics_).tolist(), strict=True):
        if column is not None and (given or public):
            fills[column] = Fill(step.missing_values, value)
        elif column is not None and not is_missing(step.missing_values):
            # Its marker is a number like any other to whoever does not know better.
            fills[column] = Fill(step.missing_values, np.nan)
    return PublishedSteps({at.called: origin}, fills=fills)


@_stored.register
def _(step: PolynomialFeatures | FunctionTransformer | Recoded, at: Step, rules: Rules, public: bool) -> PublishedSteps:
    # They hold nothing but what they were given.
    return PublishedSteps({at.called: Constants.GIVEN})


@_stored.register
def _(step: SplineTransformer, at: Step, rules: Rules, public: bool) -> PublishedSteps:
    if not isinstance(step.knots, str):
        return PublishedSteps({at.called: Constants.GIVEN})
    if public:
        return PublishedSteps({at.called: Constants.PUBLIC})
    what = "the smallest and largest values" if step.knots == "uniform" else "quantiles"
    raise _refused(
        at,
        f"took its knots from these people: {what}, which are values of single people.",
        "Give it knots of your own, SplineTransformer(knots=[[20.0], [40.0], [60.0], [80.0]]), one row per knot and "
        "one column per column, and fit again. ",
    )


@_stored.register
def _(step: MissingIndicator, at: Step, rules: Rules, public: bool) -> PublishedSteps:
    raise _tells_missing(at, "leaving it out")


def _tells_missing(at: Step, way_out: str) -> UnsupportedError:
    return UnsupportedError(
        f"The step {at.called} tells the model which cells are missing, and a model in raw units has no place for that."
        f" Way out: {way_out}, and fit again."
    )


@_stored.register
def _(step: OneHotEncoder, at: Step, rules: Rules, public: bool) -> PublishedSteps:
    rare = step.infrequent_categories_ if step._infrequent_enabled else [None] * len(step.categories_)
    levels = {}
    for i, column in enumerate(at.raw_columns()):
        assert column is not None
        values = step.categories_[i].tolist()
        missing = [value for value in values if is_missing(value)]
        if missing:
            # An imputer of NaN passes over None, which is how columns of text lack a value.
            marker = ", missing_values=None" if None in missing else ""
            raise UnsupportedError(
                f"The step {at.called} has a level for missing values of {rules.table.names[column]!r}, and a model in "
                "raw units has no place for that. Way out: name them before the encoder, with "
                f'SimpleImputer(strategy="constant", fill_value="missing"{marker}), and fit again.'
            )
        together = [] if (few := rare[i]) is None else few.tolist()
        named = [value for value in values if value not in together]
        unknown = "error" if step.handle_unknown == "error" else "ignore"
        levels[column] = Levels(tuple(named), tuple(together), unknown)
    # Which levels are rare is a choice that the rows made, also among those that were listed.
    listed = not isinstance(step.categories, str) and not step._infrequent_enabled
    if not (listed or public):
        _check_given(at, rules, {rules.table.names[column]: list(each.named) for column, each in levels.items()})
    return PublishedSteps({at.called: Constants.PUBLIC if public and not listed else Constants.GIVEN}, levels=levels)


def _check_given(at: Step, rules: Rules, found: Mapping[str, list[object]]) -> None:
    """Refuse names of levels that were found in the rows: which they are can tell what one person's is."""
    given = {} if rules.categories is None else rules.categories
    for column, named in found.items():
        if column in given and not same_names(named, given[column]):
            raise InputError(
                f"categories={{{column!r}: {list(given[column])!r}}} was given, and the model has the levels "
                f"{named!r}. List the same, and fit again if one is missing from the rows."
            )
    missing = {column: named for column, named in found.items() if column not in given}
    if not missing:
        return
    column, named = next(iter(missing.items()))
    if rules.categories is not None:
        typed = [f"--categories {shlex.quote(f'{name}={written(each)}')}" for name, each in missing.items()]
        way_out = (
            f"If everybody may know that somebody has each, list them: categories={missing!r} (on the command line, "
            f"{' '.join(typed)})."
        )
    else:
        way_out = (
            'List every level that there is, whether or not somebody has it (with handle_unknown="ignore", those to be '
            f"named), and fit again: {_with_lists(at.step, list(found.values()))}. If the levels are public, "
            f"{_declared(at)}"
        )
    raise UnsupportedError(
        f"The step {at.called} names levels of {column!r} as it found them in the rows: {named!r}. That one is there, "
        f"or is not rare, can tell who has it. {way_out}"
    )


def _with_lists(step: OneHotEncoder, lists: list[list[object]]) -> str:
    """Return the same encoder with lists of levels, as code."""
    usual = OneHotEncoder().get_params()
    own = {name: value for name, value in step.get_params().items() if repr(value) != repr(usual[name])}
    own["categories"] = lists
    if step._infrequent_enabled:
        own["handle_unknown"] = "ignore"
    own = {name: value for name, value in own.items() if name not in ("min_frequency", "max_categories", "dtype")}
    return f"OneHotEncoder({', '.join(f'{name}={value!r}' for name, value in own.items())})"


@_stored.register
def _(step: SelectorMixin, at: Step, rules: Rules, public: bool) -> PublishedSteps:
    if public:
        return PublishedSteps({at.called: Constants.PUBLIC})
    raise _refused(
        at, "chose its columns by the values of these people.", "Name the columns instead, in a ColumnTransformer. "
    )
