"""A table fitted to the people whom it is about."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from seepage._facts import Assumption, personal
from seepage._tables import Data, Frame, Listed, Model, Table, column_values, missing_in
from seepage.errors import InputError, MissingExtraError, UnsupportedError
from seepage.leakage import Leakage
from seepage.linear.objective import GLM
from seepage.linear.results import with_steps
from seepage.linear.survival import Cox
from seepage.linear.written._families import COX
from seepage.linear.written._matched import Comparison, compare
from seepage.linear.written._numbers import fitted_numbers
from seepage.linear.written._outcomes import as_numbers, labels, numbers, survival_outcomes

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AssembledTable:
    """A model and its rows, as other functions of this library take them."""

    model: Model
    X: Frame
    y: Listed
    sample_weight: Listed
    offset: Array | None
    """What was added to each row's margin, if something was."""
    kept: NDArray[np.bool_]
    """The rows without missing values, of those that were given."""
    remarks: tuple[Assumption, ...]
    comparison: Comparison | None
    """The printed numbers next to those of the fit, if some were given."""

    @property
    def decimals(self) -> int | None:
        """The decimals of the coefficients that the printed numbers come to; None if there are none."""
        return None if self.comparison is None else self.comparison.decimals

    def cut(self, values: Listed) -> Listed:
        """Return one value for each row that was kept, from one for each that was given."""
        if values is None or isinstance(values, str) or self.kept.all():
            return values
        listed = column_values(values)
        if len(listed) != len(self.kept):
            raise InputError(f"There are {len(self.kept)} rows, and {len(listed)} values were given for them.")
        return listed[self.kept]

    def with_steps(self) -> "AssembledTable":
        """Return the same behind steps of scikit-learn, which may be published; refuse terms that have none."""
        return replace(self, model=with_steps(self.model, self.X))

    def remarked(self, leak: Leakage) -> Leakage:
        """Return a measurement of it that says what is taken for granted besides."""
        known = leak.information
        return replace(leak, information=replace(known, assumptions=(*known.assumptions, *self.remarks)))


def assembled(table: Any, people: Data) -> AssembledTable:
    """Return a `ModelTable` fitted to the people of a frame."""
    whole = Table.of(people)
    if not whole.is_frame:
        raise InputError("A formula names columns: give the people as a data frame.")
    if len(whole) == 0:
        raise InputError("X has no rows: nobody's leakage can be measured.")
    names = list(whole.names)
    used = table.columns(names)
    kept = ~np.any([missing_in(whole.column(name)) for name in used], axis=0)
    if not kept.any():
        raise InputError(f"Every row has a missing value in one of the columns {', '.join(used[:12])}.")
    rows = Table.of(_as_patsy_takes(whole, np.flatnonzero(kept), used))
    design, offset = table.parsed.design(rows.native, names), table.parsed.offset(rows.native, names)
    weights = None if table.weights is None else numbers(rows, table.weights, "weights")
    y: Listed
    estimator: Model
    if table.family == COX:
        estimator, y = _cox(table, len(rows)), survival_outcomes(table.parsed, rows)
        outcome: Any = np.asarray(y)
        if offset is not None:
            raise UnsupportedError("A Cox model has no offset here: leave it out of the formula.")
    else:
        estimator = _glm(table, has_intercept=design.intercept is not None)
        y, weights = labels(table.parsed, table.success, estimator, rows, weights)
        outcome = as_numbers(y, estimator)
    classes, features = getattr(estimator, "classes_", None), design.transform(rows.native)
    steps, remarks = [("formula", design)], [] if kept.all() else [_left_out(len(kept), int((~kept).sum()))]
    if table.shrinkage is not None and table.family != COX:
        # What glmnet takes the deviation of, where it does.
        is_moving = table.family == "gaussian"
        estimator.penalty = table.shrinkage.penalty(
            table.family, outcome - offset if is_moving and offset is not None else outcome, weights
        )
        remarks += [_MOVING] if is_moving else []
        if table.shrinkage.standardize:
            scaler = StandardScaler(with_mean=False).fit(features, sample_weight=weights)
            features = scaler.transform(features)
            steps.append(("standardscaler", scaler))
    with np.errstate(all="ignore"):
        estimator.fit(features, outcome, weights, **({} if offset is None else {"offset": offset}))
    if classes is not None:
        estimator.classes_ = classes
    model = Pipeline([*steps, (type(estimator).__name__.lower(), estimator)])
    found = AssembledTable(model, rows.native, y, weights, offset, kept, (*remarks, _FITTED), None)
    if table.printed is None:
        return found
    comparison = compare(table.printed, fitted_numbers(model, found, features, outcome), len(rows), names)
    comparison.check()
    return replace(found, comparison=comparison, remarks=(*remarks, *comparison.remarks))


def _as_patsy_takes(whole: Table, rows: NDArray[np.intp], used: Sequence[str]) -> Frame:
    """Return some rows as a frame of pandas whose numbers are numbers: patsy takes every other type for a category."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError(
            'Formulas are read with pandas. Install it with: pip install "seepage[statsmodels]"'
        ) from None
    columns = {name: whole.column(name)[rows] for name in whole.names}
    for name in used:
        kind = columns[name].dtype.kind
        if kind == "b" or (kind == "O" and all(isinstance(value, int | float) for value in columns[name])):
            columns[name] = columns[name].astype(np.float64)
    return pd.DataFrame(columns, index=whole.native.index[rows] if whole.library == "pandas" else None)


def _glm(table: Any, *, has_intercept: bool) -> GLM:
    link, link_parameter = table.named_link
    return GLM(
        table.family,
        link,
        parameter=table.parameter,
        link_parameter=link_parameter,
        penalty=table.penalty,
        fit_intercept=has_intercept,
    )


def _cox(table: Any, count: int) -> Cox:
    ties = table.ties or ("efron" if table.shrinkage is None else "breslow")
    if table.shrinkage is None:
        return Cox(ties=ties, penalty=table.penalty)
    standardized = table.shrinkage.standardize
    if table.weights is not None and standardized:
        raise UnsupportedError(
            "glmnet's standard deviations of weighted rows are not measured for Cox models. Fit with standardize = "
            "FALSE, on columns that you scaled by known constants."
        )
    return Cox(ties=ties, penalty=table.shrinkage.penalty_of_cox(count), standardized=standardized)


def _left_out(count: int, missing: int) -> Assumption:
    return Assumption(
        "left out",
        "{missing} of {count} rows have a missing value in a column of the model and were left out, as R and Stata "
        "leave them out when they fit.",
        {"missing": personal(missing, ",d"), "count": personal(count, ",d")},
    )


_FITTED = Assumption("written", "No printed numbers were given: measured is the fit of the formula to these rows.")
_MOVING = Assumption(
    "penalty of the outcome",
    "glmnet divides lambda by the standard deviation of a Gaussian outcome. The penalty that comes of it is taken as "
    "known and fixed, and what it tells about the outcomes is not counted.",
)
