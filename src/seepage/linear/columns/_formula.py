"""Formulas of patsy or formulaic: a design matrix whose groups of columns are those of the terms.

A term that is a column, or the levels of one, is an affine map. Any other is a function of the columns that it names,
linear in the indicators of levels, which is evaluated by the library that has read the formula.
"""
# mypy: disable-error-code="misc"

import ast
import re
from collections.abc import Hashable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from seepage._python import Self
from seepage._tables import Data
from seepage.errors import UnsupportedError
from seepage.linear.columns._affine import Affine
from seepage.linear.columns._claims import Claim
from seepage.linear.columns._steps import through

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Factor:
    """A factor of a term."""

    code: str
    names: tuple[str, ...]
    """The columns of the frame that it names."""
    levels: tuple[Hashable, ...] | None
    """None of a factor of numbers."""
    is_learned: bool
    """Whether it has stored something of the rows besides levels."""
    degrees: float = 0.0
    """The number that a stored deviation takes off the number of rows."""

    @property
    def scaler(self) -> str | None:
        """The scaler of one column that it is, if it is one."""
        found = re.fullmatch(r"(center|standardize|scale)\((?:Q\(['\"])?(.+?)(?:['\"]\))?\)", self.code)
        return found[1] if found and self.names == (found[2].strip("`"),) else None


@dataclass(frozen=True)
class FormulaTerm:
    """Columns of the design that one product of factors makes."""

    columns: tuple[int, ...]
    factors: tuple[Factor, ...]

    @property
    def code(self) -> str:
        """The term in the language of formulas."""
        return ":".join(factor.code for factor in self.factors)

    @property
    def column(self) -> str | None:
        """The column of the frame that the term is, or whose levels it has."""
        factor = self.factors[0]
        if len(self.factors) > 1 or len(factor.names) != 1:
            return None
        name = factor.names[0]
        is_plain = factor.levels is not None or factor.code in (name, f"Q({name!r})", f'Q("{name}")')
        return name if is_plain else None


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
        self.learned = [each for term in self.terms for each in term.factors if each.is_learned]
        used = {name for term in self.terms for each in term.factors for name in each.names}
        self.feature_names_in_ = np.array([str(name) for name in frame.columns if str(name) in used], dtype=object)
        for term in self.terms:
            self._check(term)

    @property
    def averages_only(self) -> bool:
        """Whether what it has stored of the rows are means and deviations, and no knots."""
        return all(each.scaler is not None for each in self.learned)

    def fit(self, X: Data, y: object = None) -> Self:
        """Return the formula: what it stores was stored when the model was made."""
        return self

    def transform(self, X: Data) -> Array:
        """Return the columns of the model."""
        found = self.matrix(X)
        return found if self.intercept is None else np.delete(found, self.intercept, axis=1)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def matrix(self, frame: Any) -> Array:
        """Return all columns of the design, with the intercept; NaN where a number is missing."""
        if not hasattr(self.read, "factor_infos"):
            return np.asarray(deepcopy(self.read).get_model_matrix(frame, output="numpy", na_action="ignore"), float)
        from patsy import NAAction, build_design_matrices

        (matrix,) = build_design_matrices([self.read], frame, NA_action=NAAction(NA_types=[]))
        return np.asarray(matrix, dtype=np.float64)

    def at(self, columns: Sequence[int], values: dict[str, Any]) -> Array:
        """Return columns of the design where some columns of the frame have other values than in the first row."""
        count = len(next(iter(values.values())))
        rows = self.frame[list(self.feature_names_in_)].iloc[np.zeros(count, dtype=int)].reset_index(drop=True)
        return self.matrix(rows.assign(**values))[:, columns]

    def _check(self, term: FormulaTerm) -> None:
        if not any(factor.names for factor in term.factors):
            raise UnsupportedError(f"The term {term.code!r} of the formula names no column of the frame.")
        for factor in term.factors:
            if factor.levels is None:
                continue
            known = len(factor.names) == 1 and set(self.frame[factor.names[0]].dropna().tolist()) <= {*factor.levels}
            if not known:
                raise UnsupportedError(
                    f"The term {factor.code!r} of the formula makes levels of values: they have no derivative, which "
                    "would look like safety and is none. Make a column of the levels before, and name that."
                )


def _terms_of_patsy(design: Any, frame: Any) -> Iterator[FormulaTerm]:
    for term, columns in design.term_slices.items():
        factors = []
        for factor in term.factors:
            info, used = design.factor_infos[factor], set()
            for node in ast.walk(ast.parse(factor.code)):
                if isinstance(node, ast.Name):
                    used.add(node.id)
                elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Q":
                    used.add(ast.literal_eval(node.args[0]))
            names = tuple(str(name) for name in frame.columns if name in used)
            levels = tuple(info.categories) if info.type == "categorical" else None
            is_learned = levels is None and bool(info.state.get("transforms"))
            factors.append(Factor(factor.code, names, levels, is_learned))
        yield FormulaTerm(tuple(range(columns.start, columns.stop)), tuple(factors))


def _terms_of_formulaic(spec: Any, frame: Any) -> Iterator[FormulaTerm]:
    from formulaic.transforms import TRANSFORMS

    for term, columns in spec.term_indices.items():
        factors = []
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
            states = [name for name, each in spec.transform_state.items() if each and name in factor.expr]
            degrees = float(spec.transform_state.get(factor.expr, {}).get("ddof", 0.0))
            levels = tuple(state.get("categories", ())) if is_level else None
            factors.append(Factor(factor.expr, names, levels, bool(states), degrees))
        yield FormulaTerm(tuple(columns), tuple(factors))


@through.register
def _(step: Formula, incoming: Affine, path: str) -> Affine:
    parts, rest = [], []
    columns: list[int] = []
    for term in step.terms:
        made = _affine(step, term, incoming, path)
        if made is None:
            rest.append(term)
        else:
            parts.append(made)
            columns += term.columns
    if rest:
        terms = SmoothTerms.of(step, rest)
        inputs = [_column(step, name, incoming) for name in terms.numbers]
        inputs += [_indicators(levels, _column(step, name, incoming)) for name, levels in terms.levels.items()]
        place = f"{path}: {' + '.join(term.code for term in rest)}"
        parts.append(Affine.stacked(inputs).bent(terms, place, reach=terms.reach))
        columns += terms.columns
    return Affine.stacked(parts).take(np.argsort(columns))


def _affine(step: Formula, term: FormulaTerm, incoming: Affine, path: str) -> Affine | None:
    """Return the map of a term that is a column, its levels, or a column that was scaled; None of any other."""
    factor = term.factors[0]
    if term.column is not None:
        column = _column(step, term.column, incoming)
        if factor.levels is None:
            return column
        return _indicators(factor.levels, column).mapped(step.at(term.columns, {term.column: factor.levels}).T)
    uses = [each for each in step.terms if factor in each.factors]
    if factor.scaler is None or not step.averages_only or any(len(each.factors) > 1 for each in uses):
        return None
    low, high = np.ravel(step.at(term.columns, {factor.names[0]: [0.0, 1.0]})).tolist()
    # A deviation with fewer degrees of freedom is one without, times a number that has no value in it.
    count = len(step.frame)
    share = 1.0 if factor.scaler == "center" else float(np.sqrt((count - factor.degrees) / count))
    made = _column(step, factor.names[0], incoming).scaled((high - low) / share).shifted(low / share)
    return made.claimed(Claim(path, centers=True, scales=factor.scaler != "center")).scaled(share)


def _column(step: Formula, name: str, incoming: Affine) -> Affine:
    return incoming.take([step.feature_names_in_.tolist().index(name)])


def _indicators(levels: tuple[Hashable, ...], incoming: Affine) -> Affine:
    column = incoming.raw_column(0)
    assert column is not None, "a formula comes first"
    plain = [level.item() if isinstance(level, np.generic) else level for level in levels]
    return incoming.encoded([column], [[(level,) for level in plain]])


@dataclass(frozen=True, eq=False)
class SmoothTerms:
    """Terms of a formula as a function of numbers and of indicators of levels, linear in these."""

    formula: Formula
    columns: tuple[int, ...]
    """The columns of the design."""
    numbers: tuple[str, ...]
    levels: dict[str, tuple[Hashable, ...]]
    """The levels with an effect, for each column of the frame."""
    others: dict[str, Hashable]
    """The level of rows without an indicator, for each column of the frame."""
    reach: NDArray[np.bool_]
    """An entry for each input that a column depends on, shape (columns, inputs)."""

    @classmethod
    def of(cls, formula: Formula, terms: Sequence[FormulaTerm]) -> "SmoothTerms":
        """Return the function of some terms."""
        columns = [column for term in terms for column in term.columns]
        used = [{name for each in term.factors for name in each.names} for term in terms for _ in term.columns]
        factors = [factor for term in terms for factor in term.factors]
        numbers = tuple(dict.fromkeys(name for each in factors if each.levels is None for name in each.names))
        every = {factor.names[0]: factor.levels for factor in factors if factor.levels is not None}
        reach, levels, others = [[name in names for names in used] for name in numbers], {}, {}
        for name, known in every.items():
            found = []
            for level in known:
                made = formula.matrix(formula.frame.assign(**{name: [level] * len(formula.frame)}))[:, columns]
                effect = np.any(made, axis=0) & np.array([name in names for names in used])
                if effect.any():
                    found.append(level)
                    reach.append(effect.tolist())
            levels[name] = tuple(found)
            others[name] = next((level for level in known if level not in found), known[0])
        return cls(formula, tuple(columns), numbers, levels, others, np.array(reach).T)

    def __call__(self, inputs: Any) -> Array:
        """Return the columns of some rows."""
        inputs = np.asarray(inputs, dtype=np.float64)
        rows, start = np.arange(len(inputs)), len(self.numbers)
        weights = np.ones((len(inputs), len(self.columns)))
        values: dict[str, NDArray[Any]] = {}
        for name, levels in self.levels.items():
            at = slice(start, start + len(levels))
            block = np.column_stack([inputs[rows, at], ~inputs[rows, at].any(axis=1)])
            again, level = np.nonzero(block)
            # A column that does not depend on the levels is the same for each of them.
            share = block[again, level] / block.sum(axis=1)[again]
            depends = self.reach[:, at].any(axis=1)
            weights = weights[again] * np.where(depends, block[again, level][:, None], share[:, None])
            values = {each: known[again] for each, known in values.items()}
            values[name] = np.array([*levels, self.others[name]], dtype=object)[level]
            rows, start = rows[again], at.stop
        chosen = {name: inputs[rows, i] for i, name in enumerate(self.numbers)}
        chosen |= {name: each.tolist() for name, each in values.items()}
        found = np.zeros((len(inputs), len(self.columns)))
        np.add.at(found, rows, weights * self.formula.at(self.columns, chosen))
        return found
