"""Terms as steps of scikit-learn, which may leave with the model."""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures

from seepage._near import several
from seepage._tables import Data, Model, Table
from seepage.errors import InputError
from seepage.linear.written._terms import Known, WrittenFactor, WrittenTerm, seems_missing
from seepage.linear.written._toml import key_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _StepPart:
    """Some terms that one step makes."""

    step: Model
    columns: list[str]
    terms: tuple[WrittenTerm, ...]
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Steps:
    """The step before a model, not fitted, and the terms that it makes."""

    step: ColumnTransformer | None
    """None if the terms are columns as they are."""
    terms: tuple[WrittenTerm, ...]
    columns: list[str]

    @classmethod
    def of(cls, terms: Mapping[WrittenTerm, str], known: Known) -> "Steps":
        """Return the step that makes some terms, which are called so."""
        if not terms:
            raise InputError("There is no coefficient but the constant: the model tells of nobody's columns.")
        for term, name in terms.items():
            _check_numbers(term, name, known)
        alone = {term: term.alone for term in terms}
        plain = [t for t, f in alone.items() if f is not None and f.function is None and f.level is None]
        numbers = [factor.column for factor in map(alone.get, plain) if factor is not None]
        parts = [_StepPart("passthrough", numbers, tuple(plain))] if plain else []
        levels: dict[str, list[WrittenTerm]] = {}
        for term, factor in alone.items():
            if factor is not None and factor.level is not None:
                levels.setdefault(factor.column, []).append(term)
        parts += [_levels(column, {term: terms[term] for term in each}, known) for column, each in levels.items()]
        rest = [t for t, f in alone.items() if f is None or f.function is not None]
        parts += [_StepPart(_made(term), term.columns, (term,), term.scale) for term in rest]
        order = tuple(term for part in parts for term in part.terms)
        if len(parts) == 1 and plain:
            return cls(None, order, numbers)
        named = [(_called(part.columns, i), part) for i, part in enumerate(parts, 1)]
        step = ColumnTransformer(
            [(name, part.step, part.columns) for name, part in named],
            transformer_weights={name: part.weight for name, part in named if part.weight != 1} or None,
        )
        used = {column for part in parts for column in part.columns}
        return cls(step, order, [name for name in known.names if name in used])

    def before(self, rows: Data, estimator: Model) -> Model:
        """Return a model with the step in front of it, fitted on some rows."""
        if self.step is None:
            estimator.feature_names_in_ = np.array(self.columns, dtype=object)
            return estimator
        return Pipeline([("columns", self.step.fit(rows)), (type(estimator).__name__.lower(), estimator)])

    def check(self, rows: Data, names: Sequence[str]) -> None:
        """Refuse rows that a function does not take, such as the logarithm of zero."""
        if self.step is None:
            return
        made = np.asarray(self.step.transform(rows), dtype=np.float64)
        for term, name, values in zip(self.terms, names, made.T, strict=True):
            if not np.isfinite(values).all() and any(factor.function is not None for factor, _ in term.powers):
                row = int(np.argmin(np.isfinite(values)))
                column = term.columns[0]
                value = Table.of(rows).column(column)[row]
                raise InputError(
                    f"{name!r} is {values[row]} in row {row}, where {column!r} is {value}. Such a row cannot have been "
                    "part of the fit: leave it out, or fit with another function."
                )


def _called(columns: Sequence[str], number: int) -> str:
    """Return the name of a step: dots and double underscores in it would mean something."""
    return f"{re.sub(r'[^0-9A-Za-z]+', ' ', ' '.join(columns)).strip()} {number}"


def _check_numbers(term: WrittenTerm, name: str, known: Known) -> None:
    for factor, _ in term.powers:
        if factor.level is None and not known.is_number(factor.column):
            values = known.values(factor.column)
            raise InputError(
                f"The coefficient {name!r} takes the column {factor.column!r} for numbers, and it holds none, but "
                f"{str(values[0])!r}. A category has a coefficient for each value but one: {key_of(factor.column)} = "
                f"{{ {key_of(values[-1])} = ... }} below [coefficients], or R's names, such as "
                f"{key_of(f'{factor.column}{values[-1]}')}."
            )


def _levels(column: str, terms: Mapping[WrittenTerm, str], known: Known) -> _StepPart:
    """Return indicators of levels; those of the rows, so that the rule about rare ones holds."""
    values = known.values(column)
    named = {term.powers[0][0].level: term for term in terms}
    left_out = [value for value in values if value not in named]
    if len(left_out) > 1 and known.is_number(column):
        name = next(iter(terms.values()))
        raise InputError(
            f"The coefficient {name!r} was read as that of {column!r} = {next(iter(named))!r}, and {len(left_out):,} "
            f"other values of {column!r} have none: {several(left_out, 6)}. R and Stata leave one out, the base. Is "
            f"{name!r} a column that is missing from the rows?"
        )
    if len(left_out) > 1:
        raise InputError(
            f"{len(left_out)} values of {column!r} have no coefficient: {several(left_out)}. R and Stata leave one "
            f"out, the base. {_about_nothing(left_out)}If it was fitted with some values put together, make that "
            "column before."
        )
    encoder = OneHotEncoder(drop=left_out or None, sparse_output=False)
    kept = [value for value in values if value in named]
    return _StepPart(encoder, [column], tuple(named[value] for value in kept))


def _about_nothing(values: Sequence[Hashable]) -> str:
    return next(map(seems_missing, values), "") or "Is one misspelled, or are these other rows? "


def _made(term: WrittenTerm) -> Model:
    """Return the step that makes one term, but for its scale."""
    made = [_power(factor, power) for factor, power in term.powers]
    if len(made) == 1:
        return made[0]
    product = PolynomialFeatures(degree=(len(made), len(made)), interaction_only=True, include_bias=False)
    if all(step == "passthrough" for step in made) and len(term.columns) == len(made):
        return product
    each = zip(term.powers, made, strict=True)
    factors = [(_called([factor.column], i), step, [factor.column]) for i, ((factor, _), step) in enumerate(each, 1)]
    return Pipeline([("factors", ColumnTransformer(factors)), ("product", product)])


def _power(factor: WrittenFactor, power: int) -> Model:
    """Return the step that makes one factor, to a power."""
    if factor.level is not None:
        return OneHotEncoder(categories=[[factor.level]], handle_unknown="ignore", sparse_output=False)
    steps: list[tuple[str, Model]] = []
    if factor.function is not None:
        function = getattr(np, factor.function)
        steps.append((factor.function, FunctionTransformer(function, feature_names_out="one-to-one")))
    if power > 1:
        steps.append((f"power {power}", PolynomialFeatures(degree=(power, power), include_bias=False)))
    return "passthrough" if not steps else steps[0][1] if len(steps) == 1 else Pipeline(steps)
