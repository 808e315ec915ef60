"""What preprocessing took from the rows, and whether that may leave.

What is published is in raw units, and nothing of the steps goes with it (see `_raw`). But the fit depends on their
constants, and so does what is published. Means and deviations of these very rows are part of the fit, and measured as
such. A value of a single person (a smallest one, a median, a level that somebody has) is not: it must be given, or
public and said to be.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import singledispatch
from shlex import quote

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from seepage._choices import Choice
from seepage._tables import Model, Table, is_missing, missing_in
from seepage.errors import InputError, UnsupportedError
from seepage.linear.columns import Features, Recoded, Step, is_called, walk, what_was_learned
from seepage.release._names import same_names, written


class Constants(Enum):
    """Where what a step has stored comes from."""

    GIVEN = "given"
    PUBLIC = "public"
    FITTED = "fitted on these rows"


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
class StoredChoice:
    """What a step has stored: which kind of choice that is (None if the rows have none in it), and from where."""

    kind: str | None
    what: str
    origin: Constants

    def choice(self) -> Choice | None:
        """Return it as a choice that the rows made or could have made."""
        if self.kind is None:
            return None
        if self.origin is Constants.FITTED:
            how = "None of this is published, and how it moves with the rows is part of everybody's numbers."
            return Choice(self.kind, self.what, "counted", how)
        how = {
            Constants.GIVEN: "Given by whoever published this, not found in the rows.",
            Constants.PUBLIC: "Public, says whoever published this, and not part of what is measured.",
        }[self.origin]
        return Choice(self.kind, self.what, "declared", how)


@dataclass(frozen=True)
class PublishedSteps:
    """What the steps before a model have stored, and what of it the published model needs.

    Attributes
    ----------
    constants : mapping from str to Stored
        For each step that stores something, what it is and where it comes from.
    levels : mapping from int to Levels
        For each raw column that is a category.
    fills : mapping from int to Fill
        For each raw column whose missing cells are filled with a value that may leave.
    """

    constants: Mapping[str, StoredChoice] = field(default_factory=dict)
    levels: Mapping[int, Levels] = field(default_factory=dict)
    fills: Mapping[int, Fill] = field(default_factory=dict)

    @property
    def fitted(self) -> tuple[str, ...]:
        """The steps whose constants were fitted on these rows."""
        return tuple(name for name, stored in self.constants.items() if stored.origin is Constants.FITTED)


@dataclass(frozen=True, eq=False)
class Unstated:
    """Something that would leave, and that nobody stated to be public.

    Attributes
    ----------
    what : str
        What it is, in words.
    argument, option : str
        How to state it, in Python and on the command line.
    reason : InputError or UnsupportedError
        Why it is refused, with every way out.
    """

    what: str
    argument: str
    option: str
    reason: InputError | UnsupportedError


class _UnstatedError(Exception):
    """Carries what nobody stated out of a step, so that all of it can be told at once."""

    def __init__(self, what: Unstated) -> None:
        super().__init__(what.what)
        self.what = what


def refuse(unstated: Sequence[Unstated]) -> None:
    """Refuse what nobody stated to be public, all of it at once: whoever mends one after the other waits for each."""
    if len(unstated) == 1:
        raise unstated[0].reason
    if unstated:
        listed = "\n".join(f"- {one.what}: {one.argument}" for one in unstated)
        raise UnsupportedError(
            f"{len(unstated)} things would be published with this model that nobody stated to be public:\n{listed}\nIf "
            f"everybody may know them, say so as above (on the command line, {' '.join(x.option for x in unstated)}). "
            'Otherwise choose them without these rows, and fit again: in Python with SimpleImputer(strategy="constant",'
            " fill_value=...) and OneHotEncoder(categories=[...]), in R with factor(x, levels = c(...))."
        )


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
    measured : frozenset of str or None
        The steps that were fitted on these rows, and measured so (see `seepage.linear.information`), by their paths.
        None before anything was measured.
    """

    table: Table
    private: frozenset[int]
    public: Sequence[str]
    categories: Mapping[str, Sequence[object]] | None
    measured: frozenset[str] | None

    def read(self, preprocess: Model) -> tuple[PublishedSteps, list[Unstated]]:
        """Return what the steps have stored, and what of it is neither given, nor public, nor part of the fit."""
        steps = list(walk(preprocess, Features.raw(len(self.table.names)), lambda: self.table.native))
        found = PublishedSteps()
        unstated: list[Unstated] = []
        for step in steps:
            try:
                stored = _stored(step.step, step, self, self._is_public(step))
            except _UnstatedError as reason:
                unstated.append(reason.what)
                continue
            levels = dict(found.levels)
            for column, one in stored.levels.items():
                levels[column] = levels[column].joined(one) if column in levels else one
            found = replace(
                found,
                constants={**found.constants, **stored.constants},
                levels=levels,
                fills={**found.fills, **stored.fills},
            )
        return found, unstated

    def stored(self, at: Step, kind: str | None, origin: Constants) -> dict[str, StoredChoice]:
        """Return what one step has stored, by its name."""
        what = what_was_learned(at, [self.table.names[column] for column in at.columns()])
        return {at.called: StoredChoice(kind, what, origin)}

    def _is_public(self, step: Step) -> bool:
        touched = {coordinate.column for coordinate in step.incoming.coordinates}
        return any(is_called(step.step, step.name, name) for name in self.public) or not touched & self.private

    def is_measured(self, step: Step) -> bool:
        """Return whether what a step learned is part of the measurement, as far as that is known."""
        return self.measured is None or step.name in self.measured

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
        return PublishedSteps(rules.stored(at, "constants", Constants.PUBLIC))
    why = "holds values of single people, such as a smallest and a largest one or which columns matter."
    raise _refused(at, rules, why)


@_stored.register(MinMaxScaler)
@_stored.register(MaxAbsScaler)
@_stored.register(RobustScaler)
def _(step: MinMaxScaler | MaxAbsScaler | RobustScaler, at: Step, rules: Rules, public: bool) -> PublishedSteps:
    if public:
        kind = "medians" if isinstance(step, RobustScaler) else "extremes"
        return PublishedSteps(rules.stored(at, kind, Constants.PUBLIC))
    raise _refused(at, rules, "holds values of single people, such as a smallest and a largest one, or a median.")


def _refused(at: Step, rules: Rules, why: str, instead: str = "") -> _UnstatedError:
    return _unstated(
        at,
        rules,
        f"The step {at.called} {why} What is published would depend on them in ways that nobody measures. {instead}If "
        f"they are public, as limits that were stated before anybody saw the data, {_declared(at)} Otherwise put a "
        "StandardScaler, or a step with constants of your own, in its place.",
    )


def _unstated(at: Step, rules: Rules, why: str) -> _UnstatedError:
    """Return that what a step learned is not known to be public."""
    what = what_was_learned(at, [rules.table.names[column] for column in at.columns()])
    argument, option = f"public_preprocessing=[{at.name!r}]", f"--public-preprocessing {quote(at.name)}"
    return _UnstatedError(Unstated(what, argument, option, UnsupportedError(why)))


def _declared(at: Step) -> str:
    """Return how to say that what a step has stored is public."""
    return f"say so: public_preprocessing=[{at.name!r}] (on the command line, --public-preprocessing {quote(at.name)})."


@_stored.register
def _(step: StandardScaler, at: Step, rules: Rules, public: bool) -> PublishedSteps:
    if public:
        return PublishedSteps(rules.stored(at, "means", Constants.PUBLIC))
    if not (step.with_mean or step.with_std):
        return PublishedSteps(rules.stored(at, None, Constants.GIVEN))
    if not rules.is_measured(at):
        raise _other_constants(at, rules)
    return PublishedSteps(rules.stored(at, "means", Constants.FITTED))


def _other_constants(at: Step, rules: Rules) -> _UnstatedError:
    return _unstated(
        at,
        rules,
        f"The step {at.called} is not measured: it has other constants than these rows give, or another step stands "
        f"behind it that hides what it did. If its constants are public, {_declared(at)} Otherwise fit it on the rows "
        "that the model was fitted on, as the last step before the model.",
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
            raise _fills_in(at, rules)
        if not rules.is_measured(at):
            raise _other_constants(at, rules)
    origin = Constants.GIVEN if given else Constants.PUBLIC if public else Constants.FITTED
    fills = {}
    for column, value in zip(at.raw_columns(), np.asarray(step.statistics_).tolist(), strict=True):
        if column is not None and (given or public):
            fills[column] = Fill(step.missing_values, value)
        elif column is not None and not is_missing(step.missing_values):
            # Its marker is a number like any other to whoever does not know better.
            fills[column] = Fill(step.missing_values, np.nan)
    kind = "medians" if step.strategy == "median" else "filled cells"
    return PublishedSteps(rules.stored(at, kind, origin), fills=fills)


def _fills_in(at: Step, rules: Rules) -> _UnstatedError:
    """Refuse what is filled in and moves with no average: a median is somebody's value, a mode a choice of the rows."""
    strategy, columns = at.step.strategy, ", ".join(rules.table.names[column] for column in at.columns())
    what = {
        "median": f"medians of {columns}, and a median is the value of one or two people",
        "most_frequent": f"most frequent values of {columns}, and which those are was decided by these rows",
    }.get(strategy if isinstance(strategy, str) else "", f"values of {columns} that were taken from these rows")
    return _unstated(
        at,
        rules,
        f"The step {at.called} fills in {what}. The published model would carry them without noise. If everybody may "
        f"know them, {_declared(at)} Otherwise fill in values that were chosen without these rows, and fit again: "
        'SimpleImputer(strategy="constant", fill_value=...).',
    )


@_stored.register(FunctionTransformer)
@_stored.register(Recoded)
def _(step: FunctionTransformer | Recoded, at: Step, rules: Rules, public: bool) -> PublishedSteps:
    # They hold nothing but what they were given.
    return PublishedSteps(rules.stored(at, None, Constants.GIVEN))


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
    origin = Constants.PUBLIC if public and not listed else Constants.GIVEN
    return PublishedSteps(rules.stored(at, "levels", origin), levels=levels)


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
    typed = [f"--categories {shlex.quote(f'{name}={written(each)}')}" for name, each in missing.items()]
    if rules.categories is not None:
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
    why = (
        f"The step {at.called} names levels of {column!r} as it found them in the rows: {named!r}. That one is there, "
        f"or is not rare, can tell who has it. {way_out}"
    )
    if rules.categories is None:
        raise _unstated(at, rules, why)
    levels = f"which levels there are of {', '.join(missing)}"
    raise _UnstatedError(Unstated(levels, f"categories={missing!r}", " ".join(typed), UnsupportedError(why)))


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
        return PublishedSteps(rules.stored(at, "kept columns", Constants.PUBLIC))
    raise _refused(
        at,
        rules,
        "chose its columns by the values of these people.",
        "Name the columns instead, in a ColumnTransformer. ",
    )
