"""A written model and its rows, put together."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from seepage._facts import Assumption, personal
from seepage._tables import Data, Listed, Model, Table, column_values, default_library, frame, missing_in
from seepage.errors import InputError, UnsupportedError
from seepage.execution.storage import Files
from seepage.leakage import Leakage
from seepage.linear.objective import GLM
from seepage.linear.survival import Cox
from seepage.linear.written._families import COX
from seepage.linear.written._outcomes import as_numbers, labels, numbers, offset_of, outcomes, set_classes
from seepage.linear.written._roles import WrittenRoles
from seepage.linear.written._steps import Steps
from seepage.linear.written._terms import Known, WrittenTerm

Array = NDArray[np.float64]


class Assembled(NamedTuple):
    """A model and its rows, as other functions of this library take them."""

    model: Model
    X: Data
    y: Listed
    sample_weight: Listed
    offset: Array | None
    """What was added to each row's margin, if something was."""
    kept: NDArray[np.bool_]
    """Which rows these are of those that were given."""
    names: tuple[str, ...]
    """What each coefficient was called, in the order of `coef_`."""
    units: Array
    """What each was multiplied by: the standard deviation of its feature, where the model standardizes."""
    products: tuple[str, ...]
    """Those of a category with something else."""
    remarks: tuple[Assumption, ...]
    """What is taken for granted besides what every model takes for granted."""

    def cut(self, values: Listed) -> Listed:
        """Return one value for each row that was kept, from one for each that was given."""
        if values is None or isinstance(values, str) or self.kept.all():
            return values
        found = column_values(values)
        if len(found) != len(self.kept):
            raise InputError(f"There are {len(self.kept)} rows, and {len(found)} values were given for them.")
        return found[self.kept]

    def check_publishable(self) -> None:
        """Refuse what is measured, and has no place in a published model yet."""
        if self.products:
            raise UnsupportedError(
                f"The coefficient {self.products[0]!r} is of a product of a category, which is measured and not "
                "published yet. Make a column of that product before, fit with it by its name, and publish that."
            )

    def remarked(self, leak: Leakage) -> Leakage:
        """Return a measurement of it that says these."""
        if not self.remarks:
            return leak
        found = leak.information
        return replace(leak, information=replace(found, assumptions=(*found.assumptions, *self.remarks)))


class AssembledInFiles(NamedTuple):
    """A model for rows in files, and the columns that it was fitted with."""

    model: Model
    target: str
    sample_weight: str | None


def assembled(roles: WrittenRoles, people: Data) -> Assembled:
    """Return a written model and the rows of a frame that it was fitted on."""
    whole = _as_steps_take(Table.of(people))
    if not whole.is_frame:
        raise InputError("A model that is written down names its columns: give its rows as a data frame.")
    if len(whole) == 0:
        raise InputError("X has no rows: nobody's leakage can be measured.")
    known = _known(whole)
    others = roles.check(known)
    terms = roles.terms(known)
    used = list(dict.fromkeys([*(name for term in terms for name in term.columns), *others]))
    kept = ~np.any([missing_in(whole.column(name)) for name in used], axis=0)
    if not kept.any():
        raise InputError(f"Every row has a missing value in one of the columns {', '.join(used[:12])}.")
    rows = whole if kept.all() else Table.of(whole.picked(np.flatnonzero(kept)))
    remarks = [] if kept.all() else [_left_out(len(kept), int((~kept).sum()))]
    known = _known(rows)
    features = {term: called for term, called in terms.items() if term.powers}
    steps = Steps.of({term: name for term, (name, _) in features.items()}, known)
    coefficients = np.array([features[term][1] for term in steps.terms])
    names = tuple(features[term][0] for term in steps.terms)
    weights = None if roles.weights is None else numbers(rows, roles.weights, "weights")
    y: Listed
    if roles.family == COX:
        estimator: Model = _cox(roles, terms, len(rows))
        y, offset = outcomes(roles, rows), None
    else:
        estimator = _glm(roles, terms)
        y, weights = labels(roles, estimator, rows, weights)
        offset = offset_of(roles, rows)
    estimator.coef_, estimator.n_features_in_ = coefficients, len(coefficients)
    X = Table.of(rows.native, steps.columns).native
    with np.errstate(all="ignore"):
        model = steps.before(X, estimator)
        steps.check(X, names)
    units = np.ones(len(coefficients))
    if roles.glmnet is not None and roles.family != COX:
        outcome = as_numbers(y, estimator)
        # What glmnet takes the deviation of, where it does.
        left = outcome if offset is None or roles.family != "gaussian" else outcome - offset
        estimator.penalty = roles.glmnet.penalty(roles.family, left, weights)
        if roles.glmnet.standardize:
            model, units = _standardized(model, X, weights)
        if roles.family == "gaussian":
            remarks.append(_MOVING)
    products = tuple(features[term][0] for term in steps.terms if term.is_product_of_levels)
    return Assembled(model, rows.native, y, weights, offset, kept, names, units, products, tuple(remarks))


def assembled_in_files(roles: WrittenRoles, files: Files) -> AssembledInFiles:
    """Return a written model for rows in Parquet files."""
    needs = {
        "Cox's risk sets": roles.family == COX,
        "an offset": roles.offset is not None or roles.exposure is not None,
        "counts of successes and failures": len(roles.outcome) > 1,
        "which outcome is a success": roles.success is not None,
        "glmnet's standard deviations": roles.glmnet is not None,
        "the fit of a formula": roles.formula is not None,
    }
    for what, needed in needs.items():
        if needed:
            raise UnsupportedError(
                f"{what[0].upper()}{what[1:]} cannot be taken from files a batch at a time yet. Read the rows into "
                "memory: seepage.measure(table, frame, ...), or --in-memory on the command line."
            )
    types = {field.name: field.type for field in files.schema}
    known = Known(list(types), files.column, lambda name: _is_number(types[name]))
    roles.check(known)
    terms = roles.terms(known)
    features = {term: called for term, called in terms.items() if term.powers}
    steps = Steps.of({term: name for term, (name, _) in features.items()}, known)
    estimator = _glm(roles, terms)
    estimator.coef_ = np.array([features[term][1] for term in steps.terms])
    estimator.n_features_in_ = len(estimator.coef_)
    if roles.family == "binomial":
        set_classes(estimator, np.array(known.values(roles.outcome[0])), roles.outcome[0])
    return AssembledInFiles(steps.before(_nobody(steps.columns, known), estimator), roles.outcome[0], roles.weights)


def _as_steps_take(people: Table) -> Table:
    """Return a frame of a library that steps of scikit-learn take."""
    if people.library == "pyarrow" and default_library() == "pandas":
        return Table.of(people.native.to_pandas(ignore_metadata=True))
    return people


def _known(rows: Table) -> Known:
    return Known(rows.names, rows.column, partial(_holds_numbers, rows))


def _holds_numbers(rows: Table, name: str) -> bool:
    column = rows.column(name)
    if column.dtype.kind in "iufb":
        return True
    return column.dtype == object and all(isinstance(value, int | float) for value in column[~missing_in(column)])


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def _nobody(columns: list[str], known: Known) -> Data:
    """Return rows of nobody in which every level is there once, for steps to learn the levels from."""
    values = {
        name: [1.0] if known.is_number(name) and name not in known.seen else known.values(name) for name in columns
    }
    most = max(len(each) for each in values.values())
    return frame({name: (each * most)[:most] for name, each in values.items()}, default_library())


def _left_out(count: int, missing: int) -> Assumption:
    return Assumption(
        "left out",
        "{missing} of {count} rows have a missing value in a column of the model and were left out, as R and Stata "
        "leave them out when they fit.",
        {"missing": personal(missing, ",d"), "count": personal(count, ",d")},
    )


_MOVING = Assumption(
    "penalty of the outcome",
    "glmnet divides lambda by the standard deviation of a Gaussian outcome. The penalty that comes of it is taken as "
    "known and fixed, and what it tells about the outcomes is not counted.",
)


def _glm(roles: WrittenRoles, terms: Mapping[WrittenTerm, tuple[str, float]]) -> GLM:
    link, link_parameter = roles.link
    found = GLM(
        roles.family,
        link,
        parameter=roles.parameter,
        link_parameter=link_parameter,
        penalty=roles.penalty,
        fit_intercept=WrittenTerm() in terms,
    )
    # Refuses what the model does not know.
    found.loss  # noqa: B018
    found.link, found.link_parameter = found.named_link
    found.intercept_ = terms[WrittenTerm()][1] if WrittenTerm() in terms else 0.0
    return found


def _cox(roles: WrittenRoles, terms: Mapping[WrittenTerm, tuple[str, float]], count: int) -> Cox:
    if WrittenTerm() in terms:
        raise InputError(f"A Cox model has no intercept, and there is a coefficient {terms[WrittenTerm()][0]!r}.")
    if roles.glmnet is None:
        return Cox(ties=roles.ties, penalty=roles.penalty)
    if roles.weights is not None and roles.glmnet.standardize:
        raise UnsupportedError(
            "glmnet's standard deviations of weighted rows are not measured for Cox models. Fit with standardize = "
            "FALSE, on columns that you scaled by known constants."
        )
    standardized = roles.glmnet.standardize
    return Cox(ties=roles.ties, penalty=roles.glmnet.penalty_of_cox(count), standardized=standardized)


def _standardized(model: Model, X: Data, weights: Array | None) -> tuple[Model, Array]:
    """Return a model of columns divided by their standard deviations, as glmnet fits it, and these."""
    steps = model.steps if isinstance(model, Pipeline) else [("glm", model)]
    features = X if len(steps) == 1 else steps[0][1].transform(X)
    scaler = StandardScaler(with_mean=False).fit(features, sample_weight=weights)
    glm = steps[-1][1]
    glm.coef_ = glm.coef_ * scaler.scale_
    if hasattr(glm, "feature_names_in_"):
        del glm.feature_names_in_
    return Pipeline([*steps[:-1], ("standardscaler", scaler), steps[-1]]), np.asarray(scaler.scale_)
