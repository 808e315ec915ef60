"""Coefficients that somebody wrote down beside those of a new fit: a checksum of the rows, and why it fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from seepage._facts import Assumption
from seepage._tables import Column, Model, Table
from seepage.errors import MinimizerError, SeepageError
from seepage.linear.columns import fitted_columns, split
from seepage.linear.survival import Cox
from seepage.linear.written._assembled import Assembled
from seepage.linear.written._outcomes import as_numbers
from seepage.linear.written._toml import value_of

Array = NDArray[np.float64]

_DIGITS = 'Write them with 17 digits: sprintf("%.17g", coef(fit)) in R, %24.16e in Stata, repr() in Python'
# How near two fits are that are the same one, next to the effects of all coefficients.
_SAME = 0.01
# With more digits a number is taken as it is.
_PRINTED = 15
# How far rounding may move predictions, next to how far they are spread, in coefficients that tell whose rows they are.
_CHECKSUM = 0.1


class _Row(NamedTuple):
    """A coefficient as it was written, as the rows have it, and what a unit of it moves."""

    name: str
    written: float
    fitted: float
    effect: float

    def __str__(self) -> str:
        # As many digits as it takes to tell them apart.
        digits = next((d for d in (6, 9, 12) if f"{self.written:.{d}g}" != f"{self.fitted:.{d}g}"), 17)
        return f"{self.name} {self.written:.{digits}g} and {self.fitted:.{digits}g}"

    @property
    def rounding(self) -> float:
        """How far the number may be from the one that it was rounded from."""
        exponent = Decimal(repr(self.written)).normalize().as_tuple().exponent
        assert isinstance(exponent, int)
        return 0.5000001 * 10.0 ** min(exponent, 0)

    @property
    def is_rounded(self) -> bool:
        """Whether the number that was written is the other one with fewer digits."""
        return abs(self.written - self.fitted) <= self.rounding


def settled(given: Assembled, *, written: bool) -> Assembled:
    """Return a model with the coefficients of its rows, where those that were written are a checksum of them.

    Parameters
    ----------
    given : Assembled
    written : bool
        Whether somebody wrote coefficients down at all. All of their digits are taken as they are, and whether they are
        the minimizer is looked at by whoever measures; those that were printed with fewer are compared with a new fit.
    """
    estimator = split(given.model)[1]
    if written and any(_digits(number) > _PRINTED for number in (*estimator.coef_, estimator.intercept_)):
        return given
    fitted = _fit(clone(estimator), _features(given), _outcome(given, estimator), given, quiet=written)
    if fitted is None:
        return given
    if written:
        rows = _beside(given, fitted)
        moved = np.sqrt(sum((row.rounding * row.effect) ** 2 for row in rows))
        spread = float(np.std(_features(given) @ fitted.coef_))
        if not all(row.is_rounded for row in rows) or moved > _CHECKSUM * spread:
            # What is different is said where the coefficients are refused.
            return given
    estimator.coef_, estimator.intercept_ = fitted.coef_, fitted.intercept_
    return given._replace(remarks=(*given.remarks, _ROUNDED if written else _FITTED))


def _digits(number: float) -> int:
    return len(Decimal(repr(float(number))).normalize().as_tuple().digits)


_ROUNDED = Assumption(
    "written",
    "The coefficients were given with few digits: measured is the fit to these rows, which rounds to them.",
)
_FITTED = Assumption("written", "No coefficients were given: measured is the fit of the formula to these rows.")


@contextmanager
def explaining(given: Assembled) -> Iterator[None]:
    """Say what is different where a written model is not the minimizer on its rows."""
    try:
        yield
    except MinimizerError as error:
        if np.isnan(error.distance):
            raise
        raise MinimizerError(_sentence(given, error), error.distance) from None


def _sentence(given: Assembled, error: MinimizerError) -> str:
    estimator = split(given.model)[1]
    fitted = _fit(clone(estimator), _features(given), _outcome(given, estimator), given)
    if fitted is None:
        return str(error)
    rows = _beside(given, fitted)
    worst = sorted(rows, key=lambda row: -abs(row.written - row.fitted) * row.effect)[:3]
    start = (
        f"The coefficients are not those of these rows: they are {error.distance:.2g} standard errors away. Written, "
        f"and fitted again: {'; '.join(map(str, worst))}."
    )
    if all(row.is_rounded for row in rows):
        return f"{start} They have been rounded, and too few digits are left to tell whose rows they are. {_DIGITS}."
    found = _instead(given, rows)
    if found is not None:
        return f"{start} {found}"
    if isinstance(estimator, Cox):
        other = "rows, weights, strata, ties or another penalty"
    elif estimator.fit_intercept:
        other = "rows, weights, offset or another penalty"
    else:
        other = "rows, weights, offset or penalty, or with an intercept, which the table does not have"
    return (
        f"{start} They were fitted with other {other}; or they carry noise already, as published ones do; or the "
        "solver stopped early: fit with a smaller tolerance."
    )


def _beside(given: Assembled, fitted: Model) -> list[_Row]:
    """Return each coefficient beside the one of a fit to the same rows."""
    estimator = split(given.model)[1]
    effect = _features(given).std(axis=0) * given.units
    each = zip(given.names, estimator.coef_ / given.units, fitted.coef_ / given.units, effect, strict=True)
    rows = [_Row(name, *map(float, numbers)) for name, *numbers in each]
    if estimator.fit_intercept:
        rows.append(_Row("(Intercept)", float(estimator.intercept_), float(fitted.intercept_), 1.0))
    return rows


def _features(given: Assembled) -> Array:
    preprocess, estimator = split(given.model)
    rows = Table.of(given.X, fitted_columns(preprocess, estimator)).native
    return np.asarray(rows if preprocess is None else preprocess.transform(rows), dtype=np.float64)


def _outcome(given: Assembled, estimator: Model) -> Column:
    if isinstance(estimator, Cox):
        return np.asarray(given.y)
    return as_numbers(given.y, estimator)


def _fit(model: Model, features: Array, y: Column, given: Assembled, *, quiet: bool = True) -> Model | None:
    more = {} if given.offset is None else {"offset": given.offset}
    try:
        with np.errstate(all="ignore"):
            return model.fit(features, y, given.sample_weight, **more)
    except (SeepageError, np.linalg.LinAlgError, FloatingPointError):
        if not quiet:
            raise
        return None


def _instead(given: Assembled, rows: list[_Row]) -> str | None:
    """Return which other setting the coefficients are those of, if it is one that is often mistaken."""
    estimator, features = split(given.model)[1], _features(given)
    y = _outcome(given, estimator)
    if isinstance(estimator, Cox):
        other = "breslow" if estimator.ties == "efron" else "efron"
        fitted = _fit(clone(estimator).set_params(ties=other), features, y, given)
        if fitted is not None and _same(estimator, fitted, rows, given.units):
            return f'They are those of the other way to count ties: write ties = "{other}".'
        return None
    if hasattr(estimator, "classes_"):
        fitted = _fit(clone(estimator), features, 1.0 - as_numbers(given.y, estimator), given)
        if fitted is not None and _same(estimator, fitted, rows, given.units):
            return f"They are those of the other outcome: write success = {value_of(estimator.classes_.tolist()[0])}."
    return None


def _same(estimator: Model, fitted: Model, rows: list[_Row], units: Array) -> bool:
    effects = np.array([row.effect for row in rows[: len(units)]])
    size = np.abs(fitted.coef_ / units * effects).max()
    return bool(np.abs((estimator.coef_ - fitted.coef_) / units * effects).max() <= _SAME * size)
