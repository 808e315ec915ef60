"""From a fitted model and its rows to what it prints about whom."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Model
from seepage.attackers import Form, Formed, Held, Level, Looked, Printed, Slopes
from seepage.attackers.owned import Owned
from seepage.attackers.rows import EqualRecords, level, rare_values
from seepage.errors import InputError, UnsupportedError
from seepage.linear.columns import learns, single_steps
from seepage.linear.information import COEFFICIENTS, ERRORS, Fit, Fitted, Release, check_published, steps_named
from seepage.linear.printed._guess import RowGuess, guesses_of, record
from seepage.linear.printed._modeled import modeled
from seepage.linear.printed._numbers import COUNTS, DISPERSION, Numbers, classes_of, in_columns, raw_units
from seepage.linear.results import Covariance
from seepage.linear.rows import Batch

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
        estimated = fit.problem.loss.estimates_dispersion
    if estimated:
        has.append(DISPERSION)
    if fit.classes is not None:
        has.append(COUNTS)
    if named is None or named == SUMMARY:
        return tuple(has)
    check_published(named, has)
    # How many people are in each class is known whoever prints it.
    return tuple(name for name in has if name in named or name == COUNTS)


def in_raw_units(fit: Fit) -> bool:
    """Return whether steps are linear, and the fit the same in the units of the columns."""
    steps = {} if fit.preprocess is None else dict(single_steps(fit.preprocess))
    linear = any(type(step).__name__ in _LINEAR for step in steps.values())
    return linear and not fit.problem.penalty.any() and fit.problem.intercept and raw_units(fit) is not None


def refuse_choices(
    fit: Fitted,
    preprocess: Model | None,
    public: Sequence[str],
    *,
    selects: bool = False,
    balanced: bool = False,
    in_raw_units: bool = False,
) -> None:
    """Refuse data-dependent choices: they change by jumps.

    Parameters
    ----------
    fit : Fitted
    preprocess : transformer or None
        The steps before the model.
    public : sequence of str
        Steps that are public.
    selects, balanced : bool, default=False
        Whether a penalty keeps coefficients at zero; whether classes are weighed by their numbers of people.
    in_raw_units : bool, default=False
        Whether linear steps have no effect on what is published.
    """
    called, search = fit.called, fit.search
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
class PrintedRows:
    """A fitted model in memory, as what it prints is asked for."""

    fit: Fit
    numbers: Numbers
    kept: NDArray[np.intp]
    """The private values among all."""
    blocks: dict[str, NDArray[np.intp]]
    categorical: frozenset[str]
    names: dict[str, str | None]
    """The column of each attribute; None for the label."""
    owned: Owned
    """The rows of each person."""

    whole: Batch
    """All rows."""
    altered: Callable[[Numbers, NDArray[np.intp], str, Hashable], Array]
    """Changes of numbers if an attribute of some rows takes a value."""

    def jacobian(self, people: NDArray[np.intp]) -> Slopes:
        return self._every.take(people) if self._is_small else self._jacobian(people)

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
        return self._of(batch if bent else self.guesses[attribute].moved(batch, by), places)

    def _bent(self, attribute: str) -> bool:
        """Whether an attribute reaches a step that is not affine."""
        curves = self.numbers.geometry.curves
        if curves is None or self.names[attribute] is None:
            return False
        return bool(np.isin(curves.coordinates, self.kept[self.blocks[attribute]]).any())

    def changed(self, people: NDArray[np.intp], attribute: str, value: Hashable) -> Array:
        if not self._is_small:
            return self._changed(people, attribute, value)
        if (attribute, value) not in self._changes:
            self._changes[attribute, value] = self._changed(np.arange(len(self.owned.first)), attribute, value)
        return np.asarray(self._changes[attribute, value][people])

    @cached_property
    def _changes(self) -> dict[tuple[str, Hashable], Array]:
        """Changes of the numbers by attribute and value: attackers with any knowledge need the same."""
        return {}

    @property
    def _is_small(self) -> bool:
        return self.count * len(self.numbers.names) * max(len(self.kept), 1) <= _MOST_KEPT

    def _changed(self, people: NDArray[np.intp], attribute: str, value: Hashable) -> Array:
        return self.owned.added(people, lambda rows: self.altered(self.numbers, rows, attribute, value))

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
        if len(self.owned.first) < self.count:
            return None
        key = (geometry.minimizer.names, repr(geometry.loss), self.fit.problem.size)
        return Form(key, geometry.frame.parameters(geometry.position), lambda: record(self.whole), self._at)

    def _at(self, parameters: Array) -> Looked:
        there = replace(self, numbers=self.numbers.at(self.numbers.position_of(parameters)))
        return Looked(there.moves(), there.jacobian, there.shifted, there.changed)

    @cached_property
    def _bent_values(self) -> dict[str, Array]:
        """Numbers that reach steps which are not affine."""
        return {name: np.asarray(self.fit.rows.column(name), float) for name in self._single if self._bent(name)}

    @property
    def _single(self) -> dict[str, NDArray[np.intp]]:
        return {n: block for n, block in self.blocks.items() if n not in self.categorical and len(block) == 1}

    @cached_property
    def guesses(self) -> dict[str, RowGuess]:
        label = next((name for name, column in self.names.items() if column is None), None)
        return guesses_of(self.numbers, self._single, self.kept, label, record(self.whole), self._bent_values)

    def guessed(self) -> dict[str, tuple[Array, Array]]:
        """Return how far each number is above its guess, and the deviation of that."""
        return {
            name: (guess.rest(self.whole, self._bent_values.get(name)), guess.deviations(self.whole))
            for name, guess in self.guesses.items()
        }

    def levels(self, unit: NDArray[np.intp] | None) -> tuple[Level, ...]:
        """Return the values that a part of the people have in common: of outcomes, and of two-valued columns."""
        problem = self.fit.problem
        if self.fit.classes is not None:
            values, at = self.fit.classes.tolist(), classes_of(self.whole, np.asarray(problem.labels.codes))
        else:
            # Two outcomes are classes, whatever is fitted to them.
            outcomes, at = np.unique(self.whole.labels, axis=0, return_inverse=True)
            values = outcomes.ravel().tolist() if outcomes.shape == (2, 1) else []
        found = [level("the outcome", value, at.ravel() == i, problem.size, unit) for i, value in enumerate(values)]
        design = in_columns(self.fit, self.whole.dense())
        return (*found, *rare_values(design, self.numbers.geometry.minimizer.names, unit))

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

    def printed(self, unit: NDArray[np.intp] | None) -> Printed:
        """Return what is printed; people of one unit are not independent of each other."""
        numbers, records = self.numbers, EqualRecords.of(record(self.whole))
        return Printed(
            names=numbers.names,
            values=numbers.values,
            whole=numbers.whole,
            moves=self.moves(),
            blocks=self.owned.blocks,
            jacobian=self.jacobian,
            shifted=self.shifted,
            changed=self.changed,
            elsewhere=self.elsewhere,
            guesses=self.guessed if self.owned.person is None else dict,
            levels=self.levels(unit),
            record_bits=records.bits,
            scatter=self.outcomes if unit is None else lambda: None,
            parameters=int(numbers.geometry.position.size),
            leverages=lambda: self.owned.summed(numbers.leverage(self.whole)[:, None])[:, 0],
            twice=records.entered_twice(self.owned.person),
            form=self.form,
        )


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
    whole = fit.rows.read(slice(0, fit.rows.count))

    def altered(numbers: Numbers, rows: NDArray[np.intp], attribute: str, value: Hashable) -> Array:
        other = fit.rows.altered(rows, names[attribute], value)
        return np.asarray(numbers.moves(other, rows) - numbers.moves(whole.take(rows), rows))

    return PrintedRows(fit, numbers, kept, blocks, release.categorical, names, owned, whole, altered).printed(unit)


def refuse_weights(weights: Array | None) -> None:
    """Refuse weights that may stand for several people each."""
    if weights is not None and len(weights) and (weights == np.round(weights)).all() and weights.max() > 1:
        raise InputError(
            "sample_weight holds whole numbers above 1, which may be counts of people: a row would then be several "
            "people. Repeat rows that were counted, and leave the weights out; measure other weights with noise_scale=."
        )
