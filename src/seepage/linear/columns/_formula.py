"""Formulas of patsy or formulaic: a design matrix, and the columns of it that each term makes.

A term of one number that is a straight line in it is an affine map, and so are the levels of one column. Other terms
are smooth functions of the columns that they name, linear in the indicators of levels.
"""
# mypy: disable-error-code="misc"

import ast
from collections.abc import Hashable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from seepage._python import Self
from seepage._tables import Data
from seepage.errors import UnsupportedError
from seepage.linear.columns._features import Claim, Features
from seepage.linear.columns._steps import through

Array = NDArray[np.float64]

_SCALERS = ("center(", "scale(", "standardize(")


@dataclass
class FormulaTerm:
    """Columns of the design matrix that one product of factors makes."""

    code: str
    columns: tuple[int, ...]
    numbers: tuple[str, ...] = ()
    """The columns of the frame that enter as numbers."""
    levels: dict[str, tuple[Hashable, ...]] = field(default_factory=dict)
    """The levels of the columns of the frame that enter as categories."""
    fitted: tuple[str, ...] = ()
    """The factors that store numbers of the rows."""
    line: tuple[float, float] | None = None
    """Slope and constant of a term that is a straight line in one column."""

    def add(self, code: str, names: tuple[str, ...], levels: tuple[Hashable, ...] | None, frame: Any) -> None:
        """Add a factor; refuse levels that are not the values of one column."""
        if levels is None:
            self.numbers = tuple(dict.fromkeys((*self.numbers, *names)))
            return
        if len(names) != 1 or not set(frame[names[0]].dropna().tolist()) <= {*levels}:
            raise UnsupportedError(
                f"The term {code!r} of the formula makes levels of values: they have no derivative, which "
                "would look like safety and is none. Make a column of the levels before, and name that."
            )
        self.levels[names[0]] = tuple(level.item() if isinstance(level, np.generic) else level for level in levels)


class Formula(TransformerMixin, BaseEstimator):
    """The design matrix of a formula of patsy or formulaic, without its intercept.

    Parameters
    ----------
    read : DesignInfo of patsy or ModelSpec of formulaic
        The formula, with the numbers that it has stored.
    frame : data frame
        The rows that it was made for.
    """

    def __init__(self, read: Any, frame: Any) -> None:
        self.read = read
        self.frame = frame
        names = list(read.column_names)
        self.intercept = names.index("Intercept") if "Intercept" in names else None
        terms = _terms_of_patsy(read, frame) if hasattr(read, "factor_infos") else _terms_of_formulaic(read, frame)
        self.terms = [term for term in terms if term.columns != (self.intercept,)]
        for term in self.terms:
            if not term.numbers and not term.levels:
                raise UnsupportedError(f"The term {term.code!r} of the formula names no column of the frame.")
        used = {name for term in self.terms for name in (*term.numbers, *term.levels)}
        self.feature_names_in_ = np.array([str(name) for name in frame.columns if str(name) in used], dtype=object)
        for term in self.terms:
            term.line = self._line(term)

    @property
    def averages_only(self) -> bool:
        """Whether the numbers that it has stored of the rows are means and deviations, and no knots."""
        return all(code.startswith(_SCALERS) for term in self.terms for code in term.fitted)

    @property
    def stores_rows(self) -> bool:
        """Whether it has stored levels or numbers of the rows."""
        return any(term.levels or term.fitted for term in self.terms)

    def fit(self, X: Data, y: object = None) -> Self:
        """Return the formula: what it stores was stored when the model was made."""
        return self

    def transform(self, X: Data) -> Array:
        """Return the columns of the model."""
        found = self.matrix(X)
        return found if self.intercept is None else np.delete(found, self.intercept, axis=1)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def get_feature_names_out(self, input_features: object = None) -> list[str]:
        """Return the terms of the columns."""
        return [str(name) for i, name in enumerate(self.read.column_names) if i != self.intercept]

    def matrix(self, frame: Any) -> Array:
        """Return all columns of the design, with the intercept; NaN where a number is missing."""
        if not hasattr(self.read, "factor_infos"):
            return np.asarray(deepcopy(self.read).get_model_matrix(frame, output="numpy", na_action="ignore"), float)
        from patsy import NAAction, build_design_matrices

        (matrix,) = build_design_matrices([self.read], frame, NA_action=NAAction(NA_types=[]))
        return np.asarray(matrix, dtype=np.float64)

    def at(self, columns: Sequence[int], values: Mapping[str, Any]) -> Array:
        """Return columns of the design where some columns of the frame have other values than in the first row."""
        count = len(next(iter(values.values())))
        rows = self.frame[list(self.feature_names_in_)].iloc[np.zeros(count, dtype=int)].reset_index(drop=True)
        return self.matrix(rows.assign(**values))[:, columns]

    def _line(self, term: FormulaTerm) -> tuple[float, float] | None:
        if len(term.numbers) != 1 or term.levels or len(term.columns) != 1:
            return None
        x = np.asarray(self.frame[term.numbers[0]], dtype=np.float64)
        low, high = np.nanmin(x), np.nanmax(x)
        high = high if high > low else low + 1.0
        x = np.concatenate([[low, high], low + (high - low) * np.array([0.13, 0.29, 0.5, 0.71, 0.87]), x])
        try:
            made = self.at(term.columns, {term.numbers[0]: x})[:, 0]
        except Exception:
            # A function that takes no number between those of the rows is no line.
            return None
        slope = float((made[1] - made[0]) / (high - low))
        constant = float(made[0] - slope * low)
        size = 1e-12 * (abs(constant) + abs(slope) * np.abs(x))
        return (slope, constant) if (np.abs(made - slope * x - constant) <= size)[~np.isnan(x)].all() else None


def _terms_of_patsy(design: Any, frame: Any) -> Iterator[FormulaTerm]:
    for term, columns in design.term_slices.items():
        made = FormulaTerm(":".join(factor.code for factor in term.factors), tuple(range(columns.start, columns.stop)))
        for factor in term.factors:
            info, used = design.factor_infos[factor], set()
            for node in ast.walk(ast.parse(factor.code)):
                if isinstance(node, ast.Name):
                    used.add(node.id)
                elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Q":
                    used.add(ast.literal_eval(node.args[0]))
            names = tuple(str(name) for name in frame.columns if name in used)
            made.add(factor.code, names, info.categories if info.type == "categorical" else None, frame)
            made.fitted += (factor.code,) * (info.type != "categorical" and bool(info.state.get("transforms")))
        yield made


def _terms_of_formulaic(spec: Any, frame: Any) -> Iterator[FormulaTerm]:
    from formulaic.transforms import TRANSFORMS

    for term, columns in spec.term_indices.items():
        made = FormulaTerm(":".join(factor.expr for factor in term.factors), tuple(columns))
        for factor in term.factors:
            used = spec.factor_variables[factor]
            for variable in used:
                if variable.source == "context" and str(variable).split(".")[0] not in TRANSFORMS:
                    raise UnsupportedError(
                        f"The term {factor.expr!r} of the formula takes {str(variable)!r} from the program around it, "
                        "which formulaic does not keep. Make a column of it before, and name that; or let patsy read "
                        'the formula: statsmodels.formula.options.formula_engine = "patsy".'
                    )
            names = tuple(str(name) for name in frame.columns if name in {str(each) for each in used})
            kind, state = spec.encoder_state.get(factor.expr, (None, {}))
            is_level = kind is not None and kind.value == "categorical"
            made.add(factor.expr, names, state.get("categories", ()) if is_level else None, frame)
            stored = any(each and name in factor.expr for name, each in spec.transform_state.items())
            made.fitted += (factor.expr,) * (stored and not is_level)
        yield made


@through.register
def _(step: Formula, incoming: Features, path: str) -> Features:
    place = {name: incoming.take([i]) for i, name in enumerate(step.feature_names_in_)}
    parts: list[Features] = []
    columns: list[int] = []
    smooth: dict[tuple[str, ...], list[FormulaTerm]] = {}
    counted = all(term.line and term.code.startswith(_SCALERS) for term in step.terms if term.fitted)
    for term in step.terms:
        if term.line is not None:
            made = place[term.numbers[0]].scaled(term.line[0]).shifted(term.line[1])
            parts.append(_claimed(step, term, made, path) if term.fitted and counted else made)
        elif not term.numbers and len(term.levels) == 1:
            ((name, levels),) = term.levels.items()
            parts.append(_indicators(place[name], levels).mapped(step.at(term.columns, term.levels).T))
        else:
            smooth.setdefault(tuple(term.levels), []).append(term)
            continue
        columns += term.columns
    for terms in smooth.values():
        function, reach = SmoothTerms.of(step, terms)
        inputs = [place[name] for name in function.numbers]
        inputs += [_indicators(place[name], levels) for name, levels in function.levels.items()]
        called = f"{path}: {' + '.join(term.code for term in terms)}"
        parts.append(Features.stacked(inputs).bent(function, called, reach=reach))
        columns += function.columns
    return Features.stacked(parts).take(np.argsort(columns))


def _indicators(column: Features, levels: tuple[Hashable, ...]) -> Features:
    raw = column.raw_column(0)
    assert raw is not None, "a formula comes first"
    return column.encoded([raw], [[(level,) for level in levels]])


def _claimed(step: Formula, term: FormulaTerm, made: Features, path: str) -> Features:
    """Return a centered or standardized column that says so."""
    if term.code.startswith("center("):
        return made.claimed(Claim(path, centers=True))
    # A deviation with one degree of freedom less is one without, times a number that has no value in it.
    count = len(step.frame)
    spread, fewer = np.nanstd(step.matrix(step.frame)[:, term.columns]), np.sqrt((count - 1) / count)
    share = fewer if np.isclose(spread, fewer, rtol=1e-9, atol=0.0) else 1.0
    return made.scaled(1 / share).claimed(Claim(path, centers=True, scales=True)).scaled(share)


@dataclass(frozen=True, eq=False)
class SmoothTerms:
    """Terms with the same categories as a function of numbers and of indicators of levels, linear in these."""

    formula: Formula
    columns: tuple[int, ...]
    """The columns of the design."""
    numbers: tuple[str, ...]
    levels: Mapping[str, tuple[Hashable, ...]]
    """The levels with an effect."""

    @classmethod
    def of(cls, formula: Formula, terms: Sequence[FormulaTerm]) -> "tuple[SmoothTerms, NDArray[np.bool_]]":
        """Return the function of some terms, and the inputs that each of its columns depends on."""
        columns = [column for term in terms for column in term.columns]
        numbers = tuple(dict.fromkeys(name for term in terms for name in term.numbers))
        reach = [[name in term.numbers for term in terms for _ in term.columns] for name in numbers]
        levels = {}
        for name, known in terms[0].levels.items():
            rows = [formula.frame.assign(**{name: [level] * len(formula.frame)}) for level in known]
            effects = [formula.matrix(each)[:, columns].any(axis=0) for each in rows]
            levels[name] = tuple(level for level, effect in zip(known, effects, strict=True) if effect.any())
            reach += [effect.tolist() for effect in effects if effect.any()]
        return cls(formula, tuple(columns), numbers, levels), np.array(reach).T

    def __call__(self, inputs: Any) -> Array:
        """Return the columns of some rows."""
        inputs = np.asarray(inputs, dtype=np.float64)
        sizes = [len(self.numbers), *(len(levels) for levels in self.levels.values())]
        numbers, *blocks = np.split(inputs, np.cumsum(sizes)[:-1], axis=1)
        found = np.zeros((len(inputs), len(self.columns)))
        for picked in product(*(range(size) for size in sizes[1:])):
            weight = np.ones(len(inputs))
            for block, i in zip(blocks, picked, strict=True):
                weight = weight * block[:, i]
            rows = np.flatnonzero(weight)
            if len(rows):
                values: dict[str, Any] = dict(zip(self.numbers, numbers[rows].T, strict=True))
                for (name, levels), i in zip(self.levels.items(), picked, strict=True):
                    values[name] = [levels[i]] * len(rows)
                found[rows] += weight[rows, None] * self.formula.at(self.columns, values)
        return found
