"""The numbers of a fit that tables print: functions of a coefficient b and its standard error s.

b, s, b/s, its square, p-values, b - c s, b + c s, and exp of a coefficient or of an end of an interval
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t
from sklearn.pipeline import Pipeline

from seepage.linear.columns import Formula
from seepage.linear.objective import GLM
from seepage.linear.survival import SurvivalFit

Array = NDArray[np.float64]

COEFFICIENT, EXPONENTIATED = "coefficient", "exponentiated coefficient"
_CONSTANT = re.compile(r"(\b|_)(intercept|cons|const|constant)(\b|_)")
_LEVEL = re.compile(r"\[(?:[TSH]\.)?([^\[\]]*)\]")
# What a label has of a product or a function, and not of a column or a level.
_MADE = re.compile(r"[#^*/]|(?<![a-z])(?:x|log|ln|exp|sqrt|sq|squared)(?![a-z])")
_WORD = re.compile(r"[^\W\d_]+|\d+")
# What heads and labels may say besides names of columns.
_WORDS = re.compile(
    "estimates?|coefs?|coefficients?|b|beta|std|err|error|standard|se|bse|statistic|t|z|value|wald|chi|chisq|square|pr|p|"
    "sig|df|exp|odds|or|hr|irr|hazard|ratio|rate|ci|conf|confidence|limits?|lower|upper|low|high|interval|bound|point|"
    "95|97|90|99|2|5|observations|obs|num|n|parameter|parm|terms?|names?|variables?|effect|levels?|models?|row|step|"
    "intercept|cons|const|constant|c|i|log|sqrt|factor|true|vs|for|of|in|the|equation|maximum|likelihood|analysis"
)


@dataclass(frozen=True)
class TableTerm:
    """A coefficient, by what its label must contain."""

    columns: tuple[str, ...]
    """None of the constant."""
    levels: tuple[str, ...] = ()
    number: int = 0
    """The place among the coefficients of its category, as SPSS counts them."""
    is_made: bool = False
    """Whether it is a product, or a function of a column."""

    def is_labelled(self, label: str, heading: str) -> bool:
        """Return whether a label, below its heading, contains the columns of the term, and its levels."""
        if not self.columns:
            return _CONSTANT.search(label.lower()) is not None
        if self.is_made != bool(_MADE.search(label.lower()) or (self.is_made and ":" in label)):
            return False
        rest = f"{label} {heading}".lower()
        for name in map(str.lower, self.columns):
            if name not in rest:
                return False
            rest = rest.replace(name, " ", 1)
        is_numbered = len(self.levels) == 1 and f"({self.number})" in rest
        return is_numbered or all(_plain(level) in rest for level in self.levels)


def says_only(text: str, names: Sequence[str]) -> bool:
    """Return whether a head or a label holds nothing but some names, and words of statistics."""
    text = text.lower()
    for name in sorted(map(_plain, names), key=len, reverse=True):
        text = text.replace(name, " ")
    return all(map(_WORDS.fullmatch, _WORD.findall(text))) or re.fullmatch(r"\(\d\)", text.strip()) is not None


def terms_of(formula: Formula) -> list[TableTerm]:
    """Return the term of each coefficient of a formula, without the constant."""
    names = formula.read.column_names
    found = []
    for term in formula.terms:
        columns = (*term.numbers, *term.levels)
        is_plain = len(columns) == 1 and (bool(term.levels) or term.code in (columns[0], f"Q({columns[0]!r})"))
        for number, column in enumerate(term.columns, 1):
            found.append(TableTerm(columns, tuple(_LEVEL.findall(names[column])), number, not is_plain))
    return found


def _plain(level: str) -> str:
    return level.lower().removesuffix(".0")


class Kind(NamedTuple):
    """One number of each coefficient."""

    values: Array
    steps: Array
    """By how much each moves if the coefficient moves by its standard error."""
    slopes: Array
    """The largest derivative of each, in the coefficient or the standard error."""


@dataclass(frozen=True, eq=False)
class FittedNumbers:
    """The numbers of a fit, kind by kind."""

    terms: tuple[TableTerm, ...]
    kinds: dict[str, Kind]

    @classmethod
    def of(cls, terms: Sequence[TableTerm], b: Array, s: Array, free: int) -> "FittedNumbers":
        """Return those of coefficients, their standard errors, and the degrees of freedom that are left."""
        one = np.ones(len(b))
        with np.errstate(all="ignore"):
            z = b / s
            ratio = np.exp(b)
            kinds = {
                COEFFICIENT: Kind(b, s, one),
                EXPONENTIATED: Kind(ratio, ratio * s, ratio),
                "standard error": Kind(s, s, one),
                "standard error of the exponentiated coefficient": Kind(ratio * s, ratio * s, ratio * np.maximum(s, 1)),
                "statistic": Kind(z, one, np.maximum(1, abs(z)) / s),
                "squared statistic": Kind(z**2, 2 * abs(z), 2 * abs(z) * np.maximum(1, abs(z)) / s),
                "degrees of freedom": Kind(one, 0 * one, 0 * one),
            }
            for name, law in {"normal": norm, "t": t(max(free, 1))}.items():
                density = 2 * law.pdf(z)
                kinds[f"p ({name})"] = Kind(2 * law.sf(abs(z)), density, density * np.maximum(1, abs(z)) / s)
                for share in (0.95, 0.9, 0.99):
                    c = float(law.ppf((1 + share) / 2))
                    for side, end in {"lower": b - c * s, "upper": b + c * s}.items():
                        called = f"{side} end of {share:.0%} ({name})"
                        kinds[called] = Kind(end, s, c * one)
                        kinds[f"exp of {called}"] = Kind(np.exp(end), np.exp(end) * s, c * np.exp(end))
        return cls(tuple(terms), kinds)


def fitted_numbers(model: Pipeline, rows: Any, features: Array, outcome: Array) -> FittedNumbers:
    """Return the numbers of a fitted model, in the units of the columns.

    Parameters
    ----------
    model : Pipeline
        A formula, perhaps a scaler, and a generalized linear model or a Cox model.
    rows : AssembledTable
    features, outcome : ndarray
        What the last step was fitted on.
    """
    formula, *scalers, last = (step for _, step in model.steps)
    units = np.append(scalers[0].scale_ if scalers else np.ones(features.shape[1]), 1.0)
    terms, theta = terms_of(formula), np.append(np.ravel(last.coef_), last.intercept_)
    if last.fit_intercept:
        terms.append(TableTerm(()))
    if isinstance(last, GLM):
        covariance = _covariance(last, features, outcome, rows.sample_weight, rows.offset)
    else:
        covariance = SurvivalFit.of(model, rows.X, rows.y, rows.sample_weight).minimum.inverse
    size = len(terms)
    errors = np.sqrt(np.diag(covariance))
    return FittedNumbers.of(terms, theta[:size] / units[:size], errors / units[:size], len(features) - size)


def _covariance(glm: GLM, features: Array, outcome: Array, weights: Array | None, offset: Array | None) -> Array:
    """Return the covariance of coefficients and intercept by the observed information."""
    design = np.column_stack([features, np.ones(len(features))]) if glm.fit_intercept else features
    theta = np.append(np.ravel(glm.coef_), glm.intercept_)[: design.shape[1]]
    margins = (design @ theta + (0.0 if offset is None else offset))[:, None]
    each, label = np.ones(len(design)) if weights is None else weights, outcome[:, None]
    hessian = design.T @ (design * (each * glm.loss.derivatives(margins, label).curvature[:, 0, 0])[:, None])
    hessian[np.diag_indices(features.shape[1])] += glm.penalty
    sizes = np.sqrt(abs(np.diag(hessian)))
    free, dispersion = len(design) - len(theta), 1.0
    if glm.loss.estimates_dispersion:
        dispersion = float(each @ glm.loss.squares(margins, label).square[:, 0]) / max(free, 1)
    return np.asarray(np.linalg.inv(hessian / np.outer(sizes, sizes)) * dispersion / np.outer(sizes, sizes))
