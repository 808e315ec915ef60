"""A fitted model with the rows it was fitted on, in one notation, and what its release is."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._facts import BOUND, Assumption, personal, public
from seepage._noise import GaussianNoise
from seepage._tables import Column, Data, Listed, Model, Table, column_values, plain
from seepage.errors import InputError, MinimizerError, UnsupportedError
from seepage.linear.columns import Features, feature_names, features_of, fitted_columns, is_single, search_of, split
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._preprocessing import AddingFilled, Preprocessing, SolvedSteps, preprocessing_of
from seepage.linear.information._shape import MovingShape, Shaping, noise_assumptions
from seepage.linear.objective import (
    A_FEW_TIMES,
    STATED,
    Minimizer,
    NewtonSums,
    Problem,
    balance_of,
    check_supported,
    class_weight_of,
    escape_of,
    labels_of,
    minimize,
    minimize_absolute,
    newton_sums,
    no_minimizer,
    read,
)
from seepage.linear.rows import (
    IN_TICKS,
    Frame,
    InMemory,
    Labels,
    Reading,
    RowData,
    batch_rows,
    check_width,
    checked_offset,
    checked_weights,
)

Array = NDArray[np.float64]
# What of a model is published whatever else stays, and what may be beside it.
COEFFICIENTS, ERRORS = "coefficients", "standard errors"
# Residuals smaller than this share of the labels have lost half of their digits to the difference.
_NO_SCATTER = 1e-7
# A linear program over more parameters than these is solved only where a minimizer seems to be found.
_MOST_PARAMETERS = 1000


@dataclass(frozen=True, eq=False)
class Weights:
    """The weight of all rows, and of each class if there are classes."""

    total: float
    counts: Array | None = None
    """The number of rows of each class."""
    weighted: Array | None = None
    """The sum of their sample weights."""


class Source(ABC):
    """Rows as they were given, before a model says how to read them."""

    @property
    @abstractmethod
    def header(self) -> Table:
        """The raw columns that the model takes; their rows may be elsewhere."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of rows."""

    @abstractmethod
    def classes(self) -> Column:
        """Return the labels that there are, in order."""

    @abstractmethod
    def outputs(self) -> int:
        """Return how many labels a row has."""

    @abstractmethod
    def weights(self, labels: Labels, balanced: bool) -> Weights:
        """Return what rows weigh; those of each class at least if classes are to be balanced."""

    @abstractmethod
    def rows(self, reading: Reading, batch_size: int) -> RowData:
        """Return the rows as a model reads them."""


@dataclass(frozen=True, eq=False)
class SourceInMemory(Source):
    """Rows that are in memory."""

    table: Table
    labels: Column
    sample_weight: Array | None
    offset: Array | None = None

    @classmethod
    def of(
        cls,
        X: Data,
        y: Listed,
        columns: Sequence[str] | None,
        sample_weight: Listed = None,
        offset: Listed = None,
    ) -> "SourceInMemory":
        """Check that there is a label, a weight and an offset for each row."""
        if y is None:
            raise InputError("y is missing: give the labels that the model was fitted on.")
        table = Table.of(X, columns)
        weights, added = checked_weights(sample_weight, len(table)), checked_offset(offset, len(table))
        return cls(table, _labels(y, table), weights, added)

    @property
    def header(self) -> Table:
        return self.table

    @property
    def count(self) -> int:
        return len(self.table)

    def classes(self) -> Column:
        return np.unique(self.labels)

    def outputs(self) -> int:
        return 1 if self.labels.ndim == 1 else self.labels.shape[1]

    def weights(self, labels: Labels, balanced: bool) -> Weights:
        each = self.sample_weight
        total = float(self.count if each is None else each.sum())
        if labels.classes is None:
            return Weights(total)
        index = labels.positions(self.labels)
        counts = np.bincount(index, minlength=len(labels.classes)).astype(np.float64)
        weighted = counts if each is None else np.bincount(index, each, len(counts)).astype(np.float64)
        return Weights(total, counts, weighted)

    def rows(self, reading: Reading, batch_size: int) -> InMemory:
        return InMemory(self.table, self.labels, self.sample_weight, reading, batch_size, offset=self.offset)


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of a release; `seepage.measure` says what the fields are."""

    noise: GaussianNoise
    public_label: bool = False
    attributes: Sequence[str] | None = None
    numbers: Collection[str] | None = None
    public_preprocessing: Sequence[str] = ()
    published: Sequence[str] | None = None


@dataclass(frozen=True, eq=False)
class Release:
    """What is published about whom, and how it moves with their values."""

    geometry: Geometry
    noise: GaussianNoise
    """With the covariance that its shape made of the rows, if it has one."""
    shaping: Shaping
    """What another noise takes its shape from."""
    attribute_names: tuple[str, ...]
    categorical: frozenset[str]
    assumptions: tuple[Assumption, ...]
    units: Mapping[str, str]
    """How the label of a classifier is counted."""
    preprocessing: Preprocessing
    """Which steps before the model were fitted on these rows, and which are taken as public."""

    @classmethod
    def of(
        cls,
        fit: "Fit",
        minimizer: Minimizer,
        question: "Question",
        label: str,
    ) -> "Release":
        """Return the release of a model's parameters, as far as it is asked about."""
        names, noise, public_label = fit.table.names, question.noise, question.public_label
        columns = fit.private_columns(question.attributes)
        preprocessing, scales = preprocessing_of(fit, fit.solved(minimizer), noise, question.public_preprocessing)
        errors_of = fit.coefficients_with_errors() if fit.errors else None
        shaping = Shaping(fit.problem, minimizer, fit.affine, names, fit.rows, scales, errors_of)
        noise, shape = shaping.noise(noise)
        if scales is not None and noise.scale is None:
            # What the noise's shape made of this model, whatever it made of another one before.
            scales = replace(scales, covariance=noise.known())
        geometry = Geometry.of(fit.problem, minimizer, fit.affine, columns, noise, public_label, scales, shape)
        private = [names[column] for column in columns]
        categorical = {names[column] for column in columns if fit.affine.is_categorical(column)}
        categorical |= fit.two_valued(columns) - checked_numbers(question.numbers, names)
        if not public_label:
            private.append(label if label not in private else f"{label} (label)")
            if fit.problem.labels.classes is not None:
                categorical.add(private[-1])
        assumptions = _assumptions(fit, noise, shape, minimizer, private, public_label, preprocessing)
        assumptions += tuple(_about_zeros(minimizer, len(geometry.still)))
        codes = fit.problem.labels.codes
        units = {} if public_label or codes is None else {private[-1]: _coding(codes)}
        return cls(geometry, noise, shaping, tuple(private), frozenset(categorical), assumptions, units, preprocessing)


class Fitted(ABC):
    """A fitted model with the rows it was fitted on, of whatever kind: what others than `measure` ask of it."""

    model: Model
    """With the steps before it, as it can be published."""
    affine: Features
    table: Table
    rows: Any
    estimator: Model
    """The fitted model, without the steps before it."""
    search: str | None
    """What chose the penalty by looking at the data, if something did."""

    @property
    @abstractmethod
    def called(self) -> str:
        """What the model is called."""

    @property
    @abstractmethod
    def outcome_columns(self) -> tuple[Column, ...]:
        """What was predicted, one column after the other."""

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """What was predicted is called so, if the model knows names for it."""
        return ()

    @property
    def classes(self) -> Column | None:
        """The classes that the model tells apart, if it does."""
        return None

    @property
    def unpublished(self) -> str | None:
        """Why the model is measured and not published, if it is not."""
        return None

    def named_outputs(self, outputs: int) -> list[str] | None:
        """Return what so many published outputs are called; None for one that needs no name."""
        return None

    def private_columns(self, attributes: Sequence[str] | None) -> list[int]:
        """Return the raw columns that are private."""
        return private_columns(self.affine, self.rows, self.table.names, attributes)


@dataclass(frozen=True, eq=False)
class Fit(Fitted):
    """A fitted model with the rows it was fitted on, read into one notation."""

    model: Model
    problem: Problem
    affine: Features
    table: Table
    rows: Any
    preprocess: Model | None
    """The steps before it."""
    estimator: Model
    search: str | None
    errors: bool = False
    """Whether standard errors are published beside the coefficients."""

    @property
    def called(self) -> str:
        return self.problem.estimator

    @property
    def outcome_columns(self) -> tuple[Column, ...]:
        assert isinstance(self.rows, InMemory)
        return tuple(np.atleast_2d(self.rows.labels.T))

    @property
    def classes(self) -> Column | None:
        return self.problem.labels.classes

    @property
    def unpublished(self) -> str | None:
        if self.problem.selects:
            return (
                f"A {self.called} with an L1 penalty is not published: which coefficients are zero is a choice that "
                "the rows made, and whoever sees it sees them without noise. Publish a model with an L2 penalty on "
                "columns that were chosen beforehand, or with public rows; if everybody may know the choice, keep it "
                "as a step: make_pipeline(SelectFromModel(Lasso()), Ridge()) with "
                'public_preprocessing=["selectfrommodel"].'
            )
        return None

    def named_outputs(self, outputs: int) -> list[str] | None:
        if outputs == 1:
            return None
        if self.classes is None:
            return [f"output {i}" for i in range(outputs)]
        # The first class may be the one that the others are compared with.
        return [f"class {label}" for label in self.classes[len(self.classes) - outputs :]]

    @classmethod
    def of(cls, model: Model, X: Data, y: Listed, sample_weight: Listed, offset: Listed = None) -> "Fit":
        """Read a model and its rows in memory."""
        return Fit.assembled(model, SourceInMemory.of(X, y, fitted_columns(*split(model)), sample_weight, offset))

    @classmethod
    def assembled(cls, model: Model, source: Source) -> "Fit":
        """Check that a model and its rows can belong together, and read them.

        Parameters
        ----------
        model : estimator or Pipeline
            Fitted, or filled in as if it were.
        source : Source
            Where its rows are.
        """
        preprocess, estimator = split(model)
        check_supported(estimator)
        affine = features_of(preprocess, estimator, source.header.names)
        check_width(np.size(estimator.coef_))
        labels = labels_of(estimator)
        balanced = getattr(estimator, "class_weight", None) is not None
        weights = source.weights(labels, balanced)
        class_weight = class_weight_of(estimator, weights.counts, weights.weighted)
        balance = balance_of(estimator, weights.counts, weights.weighted)
        total = weights.total
        if class_weight is not None and weights.weighted is not None:
            total = float(class_weight @ weights.weighted)
        reading = Reading(preprocess, labels, class_weight, bool(estimator.fit_intercept), affine, balance)
        rows = source.rows(reading, batch_rows(affine.count, affine.slopes))
        problem = read(estimator, labels, class_weight, total, source.count)
        if isinstance(source, SourceInMemory) and source.offset is not None and problem.loss.label_values > 1:
            raise UnsupportedError(
                f"An offset is added to one margin, and this {problem.estimator} has {problem.loss.outputs}. Fit it "
                "without one."
            )
        return Fit(model, problem, affine, source.header, rows, preprocess, estimator, search_of(model))

    def publishing(self, names: Sequence[str] | None) -> "Fit":
        """Return the same where nothing but what is named leaves; all that was fitted by default."""
        has = (COEFFICIENTS, *self.problem.beside)
        check_published(names, (*has, ERRORS))
        if names is None:
            return self
        kept = [i for i, name in enumerate(has) if name in names]
        problem = self.problem
        if len(kept) < len(has):
            problem = replace(problem, basis=problem.basis[kept])
        return replace(self, problem=problem, errors=ERRORS in names)

    def coefficients_with_errors(self) -> Array:
        """Return the coefficients in units of the columns, the intercept last, as rows of (coefficients, parameters).

        Those of reference levels, which are zero for everybody, are not among them.
        """
        way_out = f'publish ["{COEFFICIENTS}"] alone'
        if self.problem.penalty.any():
            raise UnsupportedError(
                f"This {self.called} has a penalty, which pulls its coefficients away from what they estimate: an "
                f"interval around them would not hold what it promises, so it has no standard errors to publish. "
                f"Fit without a penalty, or {way_out}."
            )
        if self.affine.curves or self.problem.loss.outputs > 1:
            why = "has a function or a product of columns" if self.affine.curves else "has several outputs"
            if self.problem.beside:
                why = f"fits {' and '.join(self.problem.beside)} beside its coefficients"
            raise UnsupportedError(
                f"Standard errors leave with models of one output that take columns as they are, and this "
                f"{self.called} {why}. {way_out.capitalize()}."
            )
        found = self.affine.matrix.toarray().T
        found = found[found.any(axis=1)]
        if self.problem.intercept:
            found = np.column_stack([found, np.zeros(len(found))])
            found = np.vstack([found, np.append(self.affine.offset, 1.0)])
        return np.asarray(found)

    def minimize(self, *, start_is_fit: bool = True) -> Minimizer:
        """Return the exact minimizer near the model, or refuse a model that was not fitted on these rows."""
        features = feature_names(self.affine, self.table.names)
        names = (*features, "(intercept)") if self.problem.intercept else features
        checked = False

        def evaluate(position: Array, frame: Frame) -> NewtonSums:
            nonlocal checked
            of = partial(newton_sums, loss=self.problem.loss, position=position, frame=frame)
            sums: NewtonSums = self.rows.total(of, None if checked else features)
            checked = True
            return sums

        # Rows that are given in single precision are what they are; what steps make of them is rounded to it.
        precision = np.float32 if self.preprocess is not None and is_single(self.table) else np.float64
        walk = minimize_absolute if self.problem.selects else minimize
        frame = self._frame()
        refuse = partial(self._refuse_endless, frame, names, single=precision is not np.float64)
        try:
            found = walk(self.problem, evaluate, names, frame, start_is_fit=start_is_fit, precision=precision)
        except MinimizerError:
            # Newton's steps can fail in many ways where there is nothing to find.
            refuse(None)
            raise
        if found.faded:
            refuse(found)
        return found

    def _refuse_endless(self, frame: Frame, names: tuple[str, ...], found: Minimizer | None, *, single: bool) -> None:
        """Refuse coefficients that grow without limit (eq. 4.7), whether a minimizer seems to be found or not."""
        problem = self.problem
        free = (problem.penalty == 0) & (problem.absolute == 0)
        if problem.free is not None:
            free = free & problem.free
        if found is None and free.sum() > _MOST_PARAMETERS:
            return
        turned = None if found is None else (found.frame, found.inverse)
        escape = escape_of(problem.loss, free, self.rows.total, frame, turned=turned, single=single)
        if escape is not None:
            raise no_minimizer(escape, names, problem.estimator)

    def solved(self, minimizer: Minimizer) -> SolvedSteps:
        """Return what the equations of the steps before the model need to know of it."""
        problem, theta = self.problem, minimizer.parameters

        def filled(features: NDArray[np.intp], columns: tuple[tuple[int, ...], ...]) -> Array:
            adding = AddingFilled(features, columns, problem.loss, minimizer.frame, minimizer.position, theta)
            return np.asarray(self.rows.total(adding)).reshape(len(features), -1)

        # Parameters beside the coefficients have no feature that a scaler could move.
        published = 1 if problem.beside else len(problem.basis)
        return SolvedSteps(
            problem.estimator,
            theta,
            problem.penalty,
            problem.intercept,
            published,
            minimizer.undecided,
            minimizer.active,
            filled,
        )

    def _frame(self) -> Frame:
        """Return where to look at the rows from: any place among them will do, so the first few tell it."""
        problem = self.problem
        held = not problem.intercept or problem.penalty[-1].any() or problem.absolute[-1].any()
        return Frame() if held else Frame.around(self.rows.few())

    def two_valued(self, columns: Sequence[int]) -> set[str]:
        """Return the columns with two values: an error in units of such a code says nothing."""
        return {self.table.names[column] for column in columns if self.rows.is_two_valued(column)}


def private_columns(
    affine: Features, rows: RowData, names: Sequence[str], attributes: Sequence[str] | None
) -> list[int]:
    """Return the raw columns that are private: all that reach the model, or those that somebody named."""
    numbers = {coordinate.column for coordinate in affine.coordinates if coordinate.level is None}
    columns = _asked_for(affine, names, attributes)
    for column in columns:
        if column in numbers and rows.is_time(column):
            raise InputError(
                f"The column {names[column]!r} holds {IN_TICKS} If it is known to everybody, leave it out of "
                "attributes=[...]."
            )
    return columns


def _asked_for(affine: Features, names: Sequence[str], attributes: Sequence[str] | None) -> list[int]:
    if attributes is None:
        return sorted({coordinate.column for coordinate in affine.coordinates})
    if isinstance(attributes, str):
        raise InputError(f"attributes must be a list of column names; write attributes=[{attributes!r}].")
    missing = [name for name in attributes if name not in names]
    if missing:
        raise InputError(f"attributes names {missing[0]!r}, which is no column of X: {list(names)}.")
    return [names.index(name) for name in dict.fromkeys(attributes)]


def _few(names: Sequence[str]) -> str:
    return f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"


def _coding(codes: Array) -> str:
    """Say which numbers stand for classes: two releases may use others, and a unit is then another part of a change."""
    if codes.shape[1] == 1:
        return f"{codes[0, 0]:g} and {codes[1, 0]:g}"
    return f"{codes.shape[1]} numbers, {np.ptp(codes[:, 0]):.3g} apart"


def checked_numbers(numbers: Collection[str] | None, names: Sequence[str]) -> set[str]:
    """Return the columns that somebody called numbers; refuse those that there are not."""
    if isinstance(numbers, str):
        raise InputError(f"numbers must be a list of column names; write numbers=[{numbers!r}].")
    missing = [name for name in numbers or () if name not in names]
    if missing:
        raise InputError(f"numbers names {missing[0]!r}, which is no column of X: {list(names)}.")
    return set(numbers or ())


def _labels(y: Listed, table: Table) -> Column:
    labels = plain(column_values(y))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if len(table) == 0:
        raise InputError("X has no rows: nobody's leakage can be measured.")
    if labels.ndim not in (1, 2) or len(labels) != len(table):
        raise InputError(f"X has {len(table)} rows and y has shape {labels.shape}: one label a row is needed.")
    return labels


ATTACKER = (
    Assumption(
        "attacker",
        "The attacker knows all but one person's private values: every other record, the weights and the penalty.",
    ),
    BOUND,
)
"""What every bound takes for granted of whoever guesses."""


def steps_assumptions(steps: Preprocessing) -> Iterator[Assumption]:
    """Yield which steps before the model were fitted on the rows at hand, and which are taken as public."""
    if steps.fitted:
        yield Assumption(
            "raw units",
            "Learned from these rows, and not published: {what}. The model is published in the units of the columns, "
            "with noise that was drawn in its own. That both move with the rows is counted.",
            names={"what": "; ".join(one.what for one in steps.fitted)},
        )
    if steps.held:
        yield Assumption(
            "refits",
            "In success rates, how means enter a penalty on the intercept is held as it is.",
        )
    if steps.without_intercept:
        yield Assumption(
            "means",
            "The model has no intercept that would carry noise, so the means that are taken away before it are "
            "taken as public.",
        )
    if stated := [one.what for one in steps.public if one.stated]:
        yield Assumption(
            "preprocessing",
            "Stated to be public, and not part of what is measured: {what}.",
            names={"what": "; ".join(stated)},
        )
    if silent := [one.what for one in steps.public if not one.stated]:
        yield Assumption(
            "preprocessing",
            "Taken as public, though nobody stated it, and not part of what is measured: {what}.",
            names={"what": "; ".join(silent)},
        )
    if steps.filled:
        yield Assumption(
            "filled",
            "What fills in the missing cells of {columns} was given, not taken from these rows.",
            names={"columns": _few(steps.filled)},
        )


def check_published(names: Sequence[str] | None, has: Sequence[str]) -> None:
    """Refuse names that are not among what a model has, and a release without its coefficients."""
    if names is None:
        return
    if isinstance(names, str):
        raise InputError(f"published lists what leaves: write published=[{names!r}].")
    for name in names:
        if name not in has:
            raise InputError(f"published names {name!r}; this model has {list(has)}.")
    if COEFFICIENTS not in names:
        raise InputError(
            f"published={list(names)!r} leaves out {COEFFICIENTS!r}, without which there is no model to publish: write "
            f"published={[COEFFICIENTS, *names]!r}."
        )


def fit_assumptions(
    search: str | None, columns: Sequence[str], private: Sequence[str], distance: float
) -> Iterator[Assumption]:
    """Yield what is taken for granted of how a model was fitted: its penalty, the public columns, its minimizer."""
    if search is not None:
        yield Assumption(
            "penalty",
            "The penalty was chosen with these rows by {search}; it is taken as known and fixed, and what the choice "
            "tells about them is not counted.",
            names={"search": search},
        )
    public = [name for name in columns if name not in private]
    if public:
        yield Assumption("public columns", "Known to the attacker besides: {columns}.", names={"columns": _few(public)})
    yield Assumption(
        "minimizer",
        "The numbers hold at the exact minimizer; the model was {distance} standard errors from it.",
        {"distance": personal(distance, ".1g")},
    )


def _about_zeros(minimizer: Minimizer, still: int) -> Iterator[Assumption]:
    """Yield the assumptions of a model with an L1 penalty, of which `still` attributes have no slope."""
    active = minimizer.active
    if active is None:
        return
    yield Assumption(
        "active set",
        "The L1 penalty keeps {zeros} of {count} parameters at zero. Noise is on these as on all others: a zero "
        "without noise would be a release of its own. Eta, dfil, floors and joint information are exact while the same "
        "coefficients are zero; for a change of a value that makes others zero, nothing is promised. Success rates are "
        "of refits, with the zeros of each.",
        {"zeros": personal(len(active.inactive), "d"), "count": public(len(active.signs), "d")},
    )
    if still:
        yield Assumption(
            "without slope",
            "Attributes whose coefficients are all zero move nothing until they move everything: eta of {unmoved} "
            "of them is unanswered, not zero. Success rates between two of their values are answered.",
            {"unmoved": personal(still, "d")},
        )
    if active.differing:
        yield Assumption(
            "support",
            "At the exact minimizer {differing} coefficients are zero that are not in the model, or the other way "
            "round: its solver stopped before they were decided.",
            {"differing": personal(active.differing, "d")},
        )


def _assumptions(
    fit: Fit,
    noise: GaussianNoise,
    shape: MovingShape | None,
    minimizer: Minimizer,
    private: Sequence[str],
    public_label: bool,
    preprocessing: Preprocessing,
) -> tuple[Assumption, ...]:
    found = [
        *noise_assumptions(noise, shape, fit.problem.estimator),
        *ATTACKER,
        Assumption(
            "label",
            "The label is known to the attacker."
            if public_label
            else "The label is private and counts as one of the values.",
        ),
    ]
    found += steps_assumptions(preprocessing)
    # What is beside the coefficients is in the outputs after the first.
    staying = [name for i, name in enumerate(fit.problem.beside, 1) if not fit.problem.basis[:, i].any()]
    if staying:
        found.append(
            Assumption(
                "not published",
                "Fitted together with the coefficients, and not published: {parameters}.",
                names={"parameters": _few(staying)},
            )
        )
    if fit.problem.class_weight is not None:
        found.append(
            Assumption(
                "class weights",
                "Class weights are public. Eta of the label is at these weights; its success rates are of refits with "
                "the weights that go with the other label.",
            )
        )
    if isinstance(fit.rows, InMemory) and fit.rows.offset is not None:
        found.append(
            Assumption(
                "offset",
                "What was added to each person's margin (an offset, or the logarithm of an exposure) is known to the "
                "attacker. It is not published: whoever uses the coefficients adds that of their own rows.",
            )
        )
    if fit.rows.missing or np.isnan(fit.affine.offset).any():
        found.append(
            Assumption(
                "imputation",
                "Which cells are missing is public. Nobody's value is in a cell that was filled in, so it is "
                "unanswered.",
            )
        )
    found += fit_assumptions(fit.search, fit.table.names, private, minimizer.distance)
    if minimizer.rounding > STATED:
        found.append(
            Assumption(
                "rounding",
                "Some columns are nearly combinations of others, or were computed in single precision: rounding leaves "
                "an error of up to {rounding} of the median person's numbers, or of one's own where they are larger.",
                {"rounding": personal(minimizer.rounding, ".0e")},
            )
        )
    if 0 < minimizer.scatter < _NO_SCATTER:
        digits = A_FEW_TIMES * np.finfo(np.float64).eps / minimizer.scatter
        found.append(
            Assumption(
                "scatter",
                "The model comes as near to the labels as {scatter} of their size, and what is left has lost as many "
                "digits: rounding leaves an error of up to {digits} of the median person's numbers, or of one's "
                "own where they are larger.",
                {"scatter": personal(minimizer.scatter, ".0e"), "digits": personal(float(digits), ".0e")},
            )
        )
    if minimizer.undecided.size:
        found.append(
            Assumption(
                "least norm",
                "Several parameters fit this data equally well, and the model is the one of least norm among them: "
                "values move only as the columns can move together, as one level of a category moves to another.",
            )
        )
    return tuple(found)
