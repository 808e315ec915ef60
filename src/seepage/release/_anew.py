"""What would be known of everybody if one person had another value, from an exact refit.

The minimizer with the record changed is that of `Refit`; the Hessian there is added up again, and with it everybody's
information. A scaler and an imputer that were fitted on the same rows move along: everybody is seen in the units of the
new one, with what is then filled in.
Nothing is linearized.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage.errors import UnansweredError
from seepage.linear.information import (
    AddingFilled,
    ChangedScales,
    Geometry,
    LinearInformation,
    Scales,
    columns_of,
    scorer_of,
    with_filled_moved,
)
from seepage.linear.objective import newton_sums, penalty_hessian
from seepage.linear.rows import Batch, in_threads

Array = NDArray[np.float64]
Change: TypeAlias = Mapping[int, Mapping[str, float]]
"""Whose values of which attributes become which."""
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Changed:
    """A release had one person another value."""

    distance: float
    """How far the release moves, in units of the noise, whose shape may move too; NaN if no minimizer was found."""
    information: Array
    """About some attributes of each person who was asked about, shape (n, attributes); NaN where there is no value."""
    eta: Array | None
    """Of each of them, if it was asked for."""


@dataclass(frozen=True, eq=False)
class Remeasured:
    """Measures everybody anew with single values changed."""

    information: LinearInformation
    attributes: tuple[str, ...]
    """What to measure; of attributes that are one number each."""
    with_eta: bool = False
    everybody: bool = True
    """Or the first person of each change alone."""

    def each(self, changes: Sequence[Change], of: Callable[[Change, Changed], Result]) -> list[Result]:
        """Return a function of the release of each change, which is forgotten then: it is as large as the data.

        Parameters
        ----------
        changes : sequence of Change
            All of equally many people.
        of : callable
            Of a change and the release that goes with it.
        """
        information = self.information
        rows = len(changes[0]) if changes else 1
        flat = [(person, values) for change in changes for person, values in change.items()]
        before = information.rows.picked(np.array([person for person, _ in flat], dtype=np.intp))
        after = self._after(before, flat)
        refit, moves = information.refit, np.empty((len(changes), information.geometry.parameters.size))
        distances, swaps = np.empty(len(changes)), dict[int, _Swap]()
        for found in refit.exchanged(before, after, rows):
            moves[found.people], pairs = found.moves, refit.apart(found)
            distances[found.people] = information.geometry.lengths(found.moves) if pairs is None else pairs.length()
            for i, which in enumerate(found.people.tolist()):
                at, filled = slice(i * rows, (i + 1) * rows), found.around.near.filled
                changed = None if found.changed is None else found.changed.take(slice(i, i + 1))
                own = found.swapped.before.take(at), found.swapped.after.take(at)
                swaps[which] = _Swap(information, tuple(changes[which]), *own, changed, filled)
        # Made here, once, and not by each of the threads that ask for them.
        _ = self._batches, self._penalty, self._into_frame
        if information.geometry.loss.quadratic:
            _ = self._hessian

        def one(i: int) -> Result:
            return of(changes[i], self._changed(swaps[i], moves[i], float(distances[i])))

        return list(in_threads(one, range(len(changes))))

    def _after(self, before: Batch, changes: Sequence[tuple[int, Mapping[str, float]]]) -> Batch:
        """Return the rows as they become."""
        if self.information.geometry.curves is not None:
            return self._bent(before, changes)
        # Features are affine in each value.
        information = self.information
        features = before.features
        features = features.copy() if isinstance(features, np.ndarray) else np.asarray(features.toarray())
        labels = before.labels.copy()
        for i, (person, values) in enumerate(changes):
            for attribute, value in values.items():
                if information.is_label(attribute):
                    labels[i] = value
                    continue
                own, along = self._moved_by(attribute)
                features[i] += (value - own[person]) * along
        return replace(before, features=features, labels=labels)

    def _moved_by(self, attribute: str) -> tuple[Array, Array]:
        """Return everybody's value of an attribute, and how the features of a row move with it."""
        if attribute not in self._moving:
            information = self.information
            column = information.columns[information.attribute_names.index(attribute)]
            along = information.rows.reading.affine.of_columns((column,)).matrix.toarray()[:, 0]
            self._moving[attribute] = np.asarray(information.rows.column(attribute), dtype=np.float64), along
        return self._moving[attribute]

    @cached_property
    def _moving(self) -> dict[str, tuple[Array, Array]]:
        return {}

    def _bent(self, before: Batch, changes: Sequence[tuple[int, Mapping[str, float]]]) -> Batch:
        """Return the rows as they become through steps that are not affine: preprocessed anew."""
        information = self.information
        features, labels = np.empty((len(changes), before.features.shape[1])), before.labels.copy()
        assert before.bent is not None
        bent = before.bent.copy()
        for i, (person, values) in enumerate(changes):
            if len(values) > 1:
                raise UnansweredError("Behind curves one value of a person is changed at a time.")
            ((attribute, value),) = values.items()
            if information.is_label(attribute):
                features[i], labels[i] = before.take(slice(i, i + 1)).dense()[0], value
                continue
            changed = information.rows.altered(slice(person, person + 1), attribute, value)
            assert changed.bent is not None
            features[i], bent[i] = changed.dense()[0], changed.bent[0]
        return replace(before, features=features, labels=labels, bent=bent)

    def _changed(self, swap: "_Swap", move: Array, distance: float) -> Changed:
        if not np.isfinite(distance):
            return Changed(np.nan, np.empty((0, 0)), None)
        found = self._geometry(swap, move.reshape(self.information.geometry.outputs, -1).T)
        shown = found.of_attributes(self._columns)
        scores = self._scored(shown, swap, lambda scorer, batch: scorer.attributes(batch))
        eta = None
        if self.with_eta:
            eta = np.sqrt(self._scored(found, swap, lambda scorer, batch: scorer.examples(batch)[0]))
        return Changed(distance, self._known(scores, swap), eta)

    def _geometry(self, swap: "_Swap", move: Array) -> Geometry:
        """Return the geometry after a change, at the minimizer that moved and in the units of its own scaler."""
        geometry, changed = self.information.geometry, swap.changed
        if changed is None or geometry.scales is None:
            position = geometry.position + self._into_frame @ move
        else:
            position = self._into_frame @ changed.parameters(geometry.parameters + move)
            scales = changed.scales(geometry.scales, intercept=swap.before.intercept)
            curves = geometry.curves
            if curves is not None:
                curves = curves.scaled(changed.factors(len(geometry.parameters)))
            geometry = replace(geometry, reading=changed.reading(geometry.reading), scales=scales, curves=curves)
        if geometry.scales is not None and len(geometry.scales.filled):
            geometry = replace(geometry, scales=self._filled_anew(swap, position, geometry))
        minimizer = geometry.minimizer.elsewhere(position, self._hessian_at(position, swap))
        return replace(geometry, minimizer=minimizer)

    def _filled_anew(self, swap: "_Swap", position: Array, geometry: Geometry) -> Scales:
        """Return what a value does to the scaler and to cells that were filled in, where these have moved."""
        scales = geometry.scales
        assert scales is not None
        columns = columns_of(self.information.rows.reading.affine, scales.filled)
        theta = geometry.frame.parameters(position)
        adding = AddingFilled(scales.filled, columns, geometry.loss, geometry.frame, position, theta)
        pulls = reduce(add, (adding(swap.seen(batch)) for batch in self._batches))
        pulls += adding(swap.seen(swap.after)) - adding(swap.seen(swap.before))
        return replace(scales, filled_pull=pulls.reshape(len(pulls), -1) / scales.having[scales.filled][:, None])

    def _scored(self, geometry: Geometry, swap: "_Swap", of: Callable[[Any, Batch], Array]) -> Array:
        scorer = scorer_of(geometry)
        own = of(scorer, swap.seen(swap.after))
        if not self.everybody:
            return own[:1]
        found = np.concatenate([of(scorer, swap.seen(batch)) for batch in self._batches])
        found[list(swap.people)] = own
        return found

    def _known(self, scores: Array, swap: "_Swap") -> Array:
        """Return the columns that are asked for, in order; nobody's value is in a cell that was filled in."""
        found = np.empty((len(scores), len(self.attributes)))
        for i, name in enumerate(self.attributes):
            if self.information.is_label(name):
                found[:, i] = scores[:, -1]
                continue
            index = self.information.attribute_names.index(name)
            found[:, i] = scores[:, self._columns.index(index)]
            missing = self.information.rows.missing.get(self.information.columns[index])
            if missing is not None:
                found[missing if self.everybody else missing[[swap.people[0]]], i] = np.nan
        return found

    @cached_property
    def _columns(self) -> tuple[int, ...]:
        names = self.information.attribute_names
        return tuple(names.index(each) for each in self.attributes if not self.information.is_label(each))

    @cached_property
    def _batches(self) -> list[Batch]:
        rows = self.information.rows
        return [rows.read(span) for span in rows.spans()]

    @cached_property
    def _into_frame(self) -> Array:
        """From a change of the parameters to one of the position, shape (q, p)."""
        geometry = self.information.geometry
        return np.asarray(np.linalg.pinv(geometry.frame.matrix(len(geometry.parameters))))

    @cached_property
    def _hessian(self) -> Array:
        """The Hessian at the minimizer."""
        return np.asarray(np.linalg.inv(self.information.geometry.minimizer.inverse), dtype=np.float64)

    @cached_property
    def _penalty(self) -> Array:
        """Its part that is the penalty's, whatever the rows are."""
        return penalty_hessian(self.information.penalty, self.information.geometry.frame.axes)

    def _hessian_at(self, position: Array, swap: "_Swap") -> Array:
        geometry = self.information.geometry

        def data(batch: Batch) -> Array:
            return newton_sums(swap.seen(batch), geometry.loss, position, geometry.frame).hessian

        exchanged = data(swap.after) - data(swap.before)
        if geometry.loss.quadratic and swap.changed is None and swap.filled is None:
            return self._hessian + exchanged
        return self._penalty + exchanged + reduce(add, map(data, self._batches))


@dataclass(frozen=True, eq=False)
class _Swap:
    """Records of one person or more in exchange for others."""

    information: LinearInformation
    people: tuple[int, ...]
    before: Batch
    after: Batch
    changed: ChangedScales | None
    """How the scaler moves."""
    filled: Array | None
    """By how much what was filled in moves, if it does."""

    def seen(self, batch: Batch) -> Batch:
        """Return rows with the filled cells, and in the units of the scaler, that go with the change."""
        scales = self.information.geometry.scales
        if self.filled is not None and scales is not None:
            batch = with_filled_moved(batch, self.information.rows.reading.affine, scales.filled, self.filled)
        return batch if self.changed is None else self.changed.rows(batch)
