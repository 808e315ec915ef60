"""From a fitted model and its rows to what it prints about whom."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from seepage._baseline import left_of
from seepage._tables import Array, Model
from seepage.attackers import Form, Formed, Held, Level, Looked, Printed, Slopes
from seepage.attackers.owned import Owned
from seepage.attackers.rows import EqualRecords, level, rare_values
from seepage.errors import InputError, UnsupportedError
from seepage.linear.columns import learns, single_steps
from seepage.linear.information import COEFFICIENTS, ERRORS, Fit, Release, check_published, steps_named
from seepage.linear.printed._modeled import modeled
from seepage.linear.printed._numbers import COUNTS, DISPERSION, Numbers, raw_units
from seepage.linear.results import Covariance
from seepage.linear.rows import Batch, InMemory

# What statsmodels prints with a fitted model.
SUMMARY = "summary"
# Jacobians of so many numbers are kept: several attackers ask for them.
_MOST_KEPT = 2**23
# Encoders learn which values there are: names, of which somebody may be the only holder, and levels are counted.
_NAMES_ONLY = ("OneHotEncoder", "OrdinalEncoder")
# Without a penalty, and with an intercept, coefficients in the units of the columns do not depend on their constants.
_LINEAR = ("MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PCA")


def published_numbers(fit: Fit, named: Sequence[str] | str | None, covariance: Covariance) -> tuple[str, ...]:
    """Return what is printed: all that a table of such a model has, unless somebody names it."""
    has = [COEFFICIENTS]
    if not fit.problem.penalty.any():
        # Of penalized coefficients nobody prints standard errors.
        has.append(ERRORS)
    estimated = covariance.estimated
    if estimated is None:
        estimated = fit.problem.loss.dispersed(np.zeros((1, fit.problem.loss.outputs)), _some_label(fit)) is not None
    if estimated:
        has.append(DISPERSION)
    if fit.classes is not None:
        has.append(COUNTS)
    if named is None or named == SUMMARY:
        return tuple(has)
    check_published(named, has)
    # How many people are in each class is known whoever prints it.
    return tuple(name for name in has if name in named or name == COUNTS)


def _some_label(fit: Fit) -> Array:
    return np.ones((1, fit.problem.loss.label_values))


def in_raw_units(fit: Fit) -> bool:
    """Return whether steps are linear, and the fit the same in the units of the columns."""
    steps = {} if fit.preprocess is None else dict(single_steps(fit.preprocess))
    linear = any(type(step).__name__ in _LINEAR for step in steps.values())
    return linear and not fit.problem.penalty.any() and fit.problem.intercept and raw_units(fit) is not None


def refuse_choices(
    called: str,
    selects: bool,
    balanced: bool,
    search: str | None,
    preprocess: Model | None,
    public: Sequence[str],
    in_raw_units: bool,
) -> None:
    """Refuse what the rows chose before: what is chosen moves by jumps, and no average knows of it.

    Parameters
    ----------
    called : str
        What the model is called.
    selects : bool
        Whether a penalty keeps coefficients at zero.
    balanced : bool
        Whether classes are weighed by how many people are in them.
    search : str or None
        What chose the penalty, if something did.
    preprocess : transformer or None
        The steps before the model.
    public : sequence of str
        Those that everybody may know.
    in_raw_units : bool
        Whether linear steps have no effect on what is published.
    """
    if selects:
        raise UnsupportedError(
            f"{called} has an L1 penalty: which coefficients are zero is a choice that the rows made, and what it "
            "tells is not that of averages. Measure it with noise_scale=, or publish a model with an L2 penalty."
        )
    if balanced:
        raise UnsupportedError(
            f"The classes of this {called} are balanced, so that everybody's weight is a choice that the rows made. "
            "Give class_weight as numbers that were chosen beforehand, or measure with noise_scale=."
        )
    if search is not None:
        raise UnsupportedError(
            f"The penalty was chosen with these rows by {search}, and what a choice tells is not that of averages. "
            "Measure a model whose penalty was chosen beforehand, or this one with noise_scale=."
        )
    steps = {} if preprocess is None else dict(single_steps(preprocess))
    named = steps_named(steps, public)
    for path, step in steps.items():
        called = type(step).__name__
        moments = called == "StandardScaler" or getattr(step, "strategy", None) == "mean"
        moments |= getattr(step, "averages_only", False)
        moments |= in_raw_units and called in _LINEAR
        if path in named or moments or called in _NAMES_ONLY or not learns(step):
            continue
        raise UnsupportedError(
            f"The step {path!r} ({called}) learned from these rows something that is no average of them: a median, a "
            "knot, an extreme, a choice of columns. Nothing is claimed of what it tells. If everybody may know it, say "
            f"public_preprocessing=[{path!r}]; or measure with noise_scale=."
        )


@dataclass(frozen=True, eq=False)
class _Table:
    """A fitted model in memory, as what it prints is asked for."""

    fit: Fit
    release: Release
    numbers: Numbers
    kept: NDArray[np.intp]
    """The private values among all."""
    blocks: dict[str, NDArray[np.intp]]
    names: dict[str, str | None]
    """The column of each attribute; None for the label."""
    owned: Owned
    """The rows of each person."""

    @property
    def rows(self) -> InMemory:
        return cast(InMemory, self.fit.rows)

    @cached_property
    def whole(self) -> Batch:
        """All rows."""
        return self.rows.read(slice(0, self.rows.count))

    def jacobian(self, people: NDArray[np.intp]) -> Slopes:
        small = self.rows.count * len(self.numbers.names) * max(len(self.kept), 1) <= _MOST_KEPT
        return self._every.take(people) if small else self._jacobian(people)

    @cached_property
    def _every(self) -> Slopes:
        return self._jacobian(np.arange(len(self.owned.first)))

    def _jacobian(self, people: NDArray[np.intp]) -> Slopes:
        return self.owned.side_by_side(people, lambda rows: self._of(self.whole.take(rows), rows))

    def _of(self, batch: Batch, places: NDArray[np.intp]) -> Slopes:
        found = self.numbers.slopes(batch, places)
        if batch.missing:
            values = found.formed()
            for place, column in enumerate(self.numbers.coordinate_columns):
                if column in batch.missing:
                    values[batch.missing[column], :, place] = 0.0
            found = Formed(values)
        return found.of(self.kept)

    def shifted(self, people: NDArray[np.intp], attribute: str, by: Array) -> Slopes:
        bent = self._bent(attribute)
        if bent and self.owned.person is None:
            # What a bend makes of another value is not looked at: the value's own slopes stand for it.
            return self.jacobian(people)
        places = self.owned.first[people]
        batch = self.whole.take(places)
        return self._of(batch if bent else self._shifted(batch, attribute, by), places)

    def _bent(self, attribute: str) -> bool:
        """Whether an attribute reaches a step that is not affine."""
        curves = self.numbers.geometry.curves
        if curves is None or self.names[attribute] is None:
            return False
        return bool(np.isin(curves.coordinates, self.kept[self.blocks[attribute]]).any())

    def _shifted(self, batch: Batch, attribute: str, by: Array) -> Batch:
        """Return rows with a number at another value: so much more."""
        if self.names[attribute] is None:
            return replace(batch, labels=batch.labels + by[:, None])
        (place,) = self.kept[self.blocks[attribute]]
        column = self.numbers.geometry.reading[: batch.features.shape[1], [int(place)]].toarray()[:, 0]
        return replace(batch, features=batch.dense() + by[:, None] * column)

    def changed(self, people: NDArray[np.intp], attribute: str, value: Hashable) -> Array:
        name = self.names[attribute]

        def moved(rows: NDArray[np.intp]) -> Array:
            other = self.rows.altered(rows, name, value)
            return np.asarray(self.numbers.moves(other, rows) - self.numbers.moves(self.whole.take(rows), rows))

        return self.owned.added(people, moved)

    def moves(self) -> Held:
        return Held(self.owned.summed(self.numbers.moves(self.whole, np.arange(self.count))))

    def elsewhere(self, person: int) -> Held:
        position = self.numbers.position_without(self.whole.take(self.owned.of_person(person)))
        return replace(self, numbers=self.numbers.at(position)).moves()

    @property
    def form(self) -> Form | None:
        """Where the fit is; another is made alike if it has the same features, in the same units, and the same loss."""
        geometry = self.numbers.geometry
        if geometry.scales is not None:
            return None
        if len(self.owned.first) < self.rows.count:
            return None
        key = (geometry.minimizer.names, repr(geometry.loss), self.fit.problem.size)
        rows = np.column_stack([self.whole.dense(), self.whole.labels])
        return Form(key, geometry.frame.parameters(geometry.position), rows, self._at)

    def _at(self, parameters: Array) -> Looked:
        there = replace(self, numbers=self.numbers.at(self.numbers.position_of(parameters)))
        return Looked(there.moves(), there.jacobian, there.shifted, there.changed)

    def guessed(self) -> dict[str, tuple[Array, float]]:
        """Return how far each number is from a guess that knows the person's other values, and its deviation."""
        design, labels = self.whole.dense(), self.whole.labels
        found = {}
        for name, block in self.blocks.items():
            if name in self.release.categorical or len(block) != 1:
                continue
            column = self.names[name]
            if column is None:
                target, known = labels[:, 0], design
            else:
                (place,) = self.kept[block]
                reached = self.numbers.geometry.reading[:, [int(place)]].toarray()[: design.shape[1], 0] != 0
                curves = self.numbers.geometry.curves
                if curves is not None:
                    reached[curves.features[curves.coordinates == place]] = True
                target = np.asarray(self.rows.column(column), dtype=np.float64)
                known = np.column_stack([design[:, ~reached], labels])
            found[name] = left_of(target, known)
        return found

    def levels(self, unit: NDArray[np.intp] | None) -> tuple[Level, ...]:
        """Return the values that a part of the people have in common: of outcomes, and of two-valued columns."""
        problem = self.fit.problem
        if self.fit.classes is not None:
            values, at = self.fit.classes.tolist(), problem.labels.positions(self.rows.labels)
        else:
            # Two outcomes are classes, whatever is fitted to them.
            outcomes, at = np.unique(self.whole.labels, axis=0, return_inverse=True)
            values = outcomes.ravel().tolist() if outcomes.shape == (2, 1) else []
        found = [level("the outcome", value, at.ravel() == i, problem.size, unit) for i, value in enumerate(values)]
        affine = self.fit.affine
        matrix, design = affine.matrix.tocsr(), self.whole.dense()
        one = np.diff(matrix.indptr) == 1
        factor = np.where(one, np.asarray(matrix.sum(axis=1)).ravel(), 1.0)
        shift = np.where(one & np.isfinite(affine.offset), affine.offset, 0.0)
        # Values are shown in the units of the columns.
        return (*found, *rare_values((design - shift) / factor, self.numbers.geometry.minimizer.names, unit))

    def outcomes(self) -> tuple[float, Held] | None:
        """Return the bits of an outcome given the covariates, and how its scatter moves the numbers."""
        found = modeled(self.numbers, self.fit.problem.labels.codes, self)
        return None if found is None else (found[0], Held(found[1].moves(self.whole, np.arange(self.count))))

    @property
    def count(self) -> int:
        return len(self.whole)

    def added(self, of: Callable[[Batch], Array]) -> Array:
        return of(self.whole)

    def listed(self, of: Callable[[Batch], Array], step: int = 1) -> Array:
        return of(self.whole)[::step]


def printed_of(
    fit: Fit,
    release: Release,
    attributes: Sequence[str] | None,
    published: tuple[str, ...],
    label: str,
    person: NDArray[np.intp] | None,
    unit: NDArray[np.intp] | None,
    covariance: Covariance,
) -> Printed:
    """Return what a model prints, and how it moves with the private values of each person."""
    numbers = Numbers.of(fit, release, published, covariance, raw=in_raw_units(fit))
    if fit.rows.missing and {ERRORS, DISPERSION} & set(published):
        raise UnsupportedError(
            "Some cells were filled in with a mean of these rows, and how standard errors and a dispersion move with "
            'it is not counted. Say published=["coefficients"] if nothing else is printed, or fit on rows without gaps.'
        )
    geometry = numbers.geometry
    blocks, kept = numbers.private(fit, attributes, label)
    names = {name: None if name == label and not geometry.public_label else name for name in blocks}
    columns_of = {name: fit.rows.column(column) for name, column in names.items()}
    owned = Owned.of(person, fit.rows.count, blocks, columns_of)
    table = _Table(fit, release, numbers, kept, blocks, names, owned)
    records = EqualRecords.of(np.column_stack([table.whole.dense(), table.whole.labels]))
    return Printed(
        names=numbers.names,
        values=numbers.values,
        whole=numbers.whole,
        moves=table.moves(),
        blocks=owned.blocks,
        jacobian=table.jacobian,
        shifted=table.shifted,
        changed=table.changed,
        elsewhere=table.elsewhere,
        guesses=table.guessed if person is None else dict,
        levels=table.levels(unit),
        record_bits=records.bits,
        scatter=table.outcomes if unit is None else _unmodeled,
        parameters=int(geometry.position.size),
        leverages=lambda: owned.summed(numbers.leverage(table.whole)[:, None])[:, 0],
        twice=records.entered_twice(person),
        form=table.form,
    )


def _unmodeled() -> None:
    """Say that outcomes of people who are not independent, or have several, are not modeled."""


def refuse_weights(weights: Array | None) -> None:
    """Refuse weights that may stand for several people each."""
    if weights is not None and len(weights) and (weights == np.round(weights)).all() and weights.max() > 1:
        raise InputError(
            "sample_weight holds whole numbers above 1, which may be counts of people: a row would then be several "
            "people. Repeat rows that were counted, and leave the weights out; measure other weights with noise_scale=."
        )
