"""The exact minimizer with some records changed, for many people at once, and how far apart the two releases are."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage.errors import UnansweredError
from seepage.execution.storage import Watch, unwatched
from seepage.leakage import Distances
from seepage.linear.information._change import Change, Exchange, Penalties
from seepage.linear.information._changed_scales import ChangedScales
from seepage.linear.information._changed_shape import ChangedShape, Swapped
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._nearby import Nearby
from seepage.linear.objective import newton_sums, penalty_hessian
from seepage.linear.rows import Batch, InMemory, in_threads
from seepage.meaning import TwoNormals

Array = NDArray[np.float64]

# People at a time: what is known of them stays in the cache of the core that refits them.
_PEOPLE = 256
# With many rows each, still so many: a pass over all rows is made for them together.
_FEWEST = 32


@dataclass(frozen=True, eq=False)
class Refit:
    """Refits a model with single records changed."""

    near: Nearby
    """The objective of the unchanged data."""

    @property
    def rows(self) -> InMemory:
        return self.near.rows

    @property
    def geometry(self) -> Geometry:
        return self.near.geometry

    def with_value(self, span: slice, attribute: str | None, value: Any, people: NDArray[np.intp]) -> Array:
        """Return by how much the minimizer moves when an attribute (None: the label) of each person takes a value.

        Parameters
        ----------
        span : slice
            Rows that are read at once.
        attribute : str or None
            The attribute.
        value : object
            The value that it takes.
        people : ndarray of int
            Which of the rows of the span, counted from its start.

        Returns
        -------
        ndarray of shape (people, outputs * p)
            NaN for a person whose changed data has no minimizer that could be found.
        """
        moves = np.empty((len(people), self.geometry.parameters.size))
        for found in self._with_value(span, attribute, value, people):
            moves[found.people] = found.moves
        return moves

    def compared(
        self, span: slice, attribute: str | None, value: Any, people: NDArray[np.intp], watch: Watch = unwatched
    ) -> tuple[Array, TwoNormals | None]:
        """Return how far apart what is published is then, in units of its noise, and both releases if theirs differ.

        There is but one noise where neither a scaler moves along nor the noise's shape. `watch` hears of each refit.
        """
        return self._compared(self._with_value(span, attribute, value, people, watch), len(people))

    def compared_together(
        self, people: Sequence[NDArray[np.intp]], attribute: str | None, value: Any, watch: Watch = unwatched
    ) -> tuple[Array, TwoNormals | None]:
        """Return the same where the value changes in several rows of each person at once."""
        if people and attribute is None and self.rows.reading.balance is not None:
            raise UnansweredError(
                "Balanced class weights move with every label, and refits that follow several labels of one person at "
                "once are not made. Fit with given class weights, or with one row a person."
            )

        def found() -> Iterator[Refitted]:
            sizes = np.array([len(rows) for rows in people])
            for size in np.unique(sizes):
                alike, most = np.flatnonzero(sizes == size), max(self.near.at_once // size, 1)
                for some in (alike[start : start + most] for start in range(0, len(alike), most)):
                    rows = np.concatenate([people[i] for i in some])
                    before, after = self.rows.picked(rows), self.rows.altered(rows, attribute, value)
                    for each in self.exchanged(before, after, int(size), watch):
                        yield replace(each, people=some[each.people])

        return self._compared(found(), len(people))

    def _compared(self, refits: "Iterator[Refitted]", count: int) -> tuple[Array, TwoNormals | None]:
        distance, found = np.empty(count), []
        for part in refits:
            distance[part.people] = self.geometry.lengths(part.moves)
            found.append((part.people, self.apart(part)))
        if all(pairs is None for _, pairs in found):
            return distance, None
        alone = TwoNormals(distance[:, None], np.ones((count, 1)))
        parts = [alone.take(people) if pairs is None else pairs for people, pairs in found]
        together = TwoNormals.together(parts).take(np.argsort(np.concatenate([people for people, _ in found])))
        return together.distance(), together

    def apart(self, found: "Refitted") -> TwoNormals | None:
        """Return the release of the model and those of refits, if their noises differ (eq. 4.5)."""
        geometry, changed = self.geometry, found.changed
        if geometry.shape is not None:
            return self._shapes_apart(found)
        if changed is None or geometry.scales is None or not geometry.scales.published:
            return None
        return changed.told_apart(geometry.in_noise_units(found.moves), geometry.scales)

    def _shapes_apart(self, found: "Refitted") -> TwoNormals:
        around = found.around
        made = ChangedShape(self.geometry, around.geometry, lambda: map(around.near.known_of, around.near.items))
        penalties = None if found.changed is None else Penalties.of(found.changed, around.near)
        # Made here, once, and not by each of the threads that ask for them.
        _ = around.near.items, made.ready

        def part(at: slice) -> TwoNormals:
            some = np.arange(len(found.moves))[at]
            own = None if penalties is None else [(penalties.places[i], penalties.more[i]) for i in some]
            factors = None if found.factors is None else found.factors[at]
            return made.told_apart(found.swapped.of(some), found.moves[at], found.own[at], factors, own)

        chunks = [slice(start, start + _PEOPLE) for start in range(0, len(found.moves), _PEOPLE)]
        return TwoNormals.together(list(in_threads(part, chunks)))

    def _with_value(
        self, span: slice, attribute: str | None, value: Any, people: NDArray[np.intp], watch: Watch = unwatched
    ) -> "Iterator[Refitted]":
        before, after = self.near.read(span), self.rows.altered(span, attribute, value)
        balanced = self.rows.rebalanced(span, value) if attribute is None else None
        every = np.arange(len(people))
        if balanced is not None:
            before, after = _times(before, balanced.old).take(people), _times(after, balanced.new).take(people)
            factors = balanced.factors[people]
            moves = self.moves(before, after, factors=factors, watch=watch)
            yield Refitted(every, self, Swapped(before, after, every), factors, None, moves, moves)
            return
        yield from self.exchanged(before.take(people), after.take(people), 1, watch)

    def exchanged(self, before: Batch, after: Batch, rows: int, watch: Watch = unwatched) -> "Iterator[Refitted]":
        """Yield refits of data in which `rows` rows of `before` become those of `after`, a dataset after the other."""
        changed = ChangedScales.of(self.geometry.scales, before, after, rows)
        at = np.empty(0, dtype=np.intp) if self.geometry.scales is None else self.geometry.scales.filled
        gaps = (after.columns(at) - before.columns(at)).reshape(len(before) // rows, rows, len(at)).sum(axis=1)
        for some, around, first in self._as_filled(gaps):
            own, places = None if changed is None else changed.take(some), some[:, None] * rows + np.arange(rows)
            who = np.repeat(np.arange(len(some)), rows)
            swapped = Swapped(before.take(places.ravel()), after.take(places.ravel()), who)
            moves = around.moves(swapped.before, swapped.after, rows, changed=own, watch=watch)
            yield Refitted(some, around, swapped, None, own, first + moves, moves)

    def _as_filled(self, gaps: Array) -> Iterator[tuple[NDArray[np.intp], "Refit", Array]]:
        """Yield whose changes move the mean in filled cells alike, the refit with those moved, and how far it is off.

        What an imputer filled in is the mean of the others, in everybody's row who lacks a value: people with the same
        change share the minimizer that goes with it, around which each one's own record is then exchanged.

        Parameters
        ----------
        gaps : ndarray of shape (n, features)
            How each person's features of which cells were filled in change, added up over their rows.
        """
        scales, nowhere = self.geometry.scales, np.zeros(self.geometry.parameters.size)
        if scales is None or not gaps.size:
            yield np.arange(len(gaps)), self, nowhere
            return
        means, which = np.unique(gaps / scales.having[scales.filled], axis=0, return_inverse=True)
        for i, by in enumerate(means):
            people = np.flatnonzero(which.ravel() == i)
            yield (people, *self._filled_with(by)) if by.any() else (people, self, nowhere)

    def _filled_with(self, by: Array) -> tuple["Refit", Array]:
        """Return the refit around the minimizer with filled cells moved, and how far that is from this one."""
        if self.near.active is not None:
            raise UnansweredError(
                "With another value of a column whose missing cells were filled in with its mean, these cells move "
                "too, and refits that follow them are not made past the kinks of an L1 penalty. Fill them in with a "
                'constant (SimpleImputer(strategy="constant")); or, if their mean is known to the attacker, name the '
                "imputer in public_preprocessing=[...]."
            )
        moved, geometry, same = replace(self.near, filled=by), self.geometry, self.near.read(slice(0, 1))
        move = Exchange(moved, same, same, None, self.near.penalty).newton()
        p, outputs = geometry.parameters.shape
        position = geometry.position + np.linalg.pinv(geometry.frame.matrix(p)) @ move.reshape(outputs, p).T
        sums = moved.sum(lambda known: newton_sums(known.batch, geometry.loss, position, geometry.frame))
        hessian = sums.hessian + penalty_hessian(self.near.penalty, geometry.frame.axes)
        minimizer = geometry.minimizer.elsewhere(position, hessian)
        return Refit(replace(moved, geometry=replace(geometry, minimizer=minimizer))), move

    def without(self, span: slice) -> Array:
        """Return by how much the minimizer moves when each row of a span is taken out, the penalty staying."""
        before, balanced = self.near.read(span), self.rows.rebalanced(span, None)
        after = replace(before, weights=np.zeros(len(before)))
        if balanced is None:
            return self.moves(before, after)
        return self.moves(_times(before, balanced.old), after, factors=balanced.factors)

    def moves(
        self,
        before: Batch,
        after: Batch,
        rows: int = 1,
        factors: Array | None = None,
        changed: ChangedScales | None = None,
        watch: Watch = unwatched,
    ) -> Array:
        """Return by how much the minimizer moves when each row of `before` becomes that row of `after`.

        Parameters
        ----------
        before, after : Batch
            Row i of each belongs to a dataset in which only record i changed, with the weights of that dataset.
        rows : int, default=1
            How many rows in a row change in the same dataset.
        factors : ndarray of shape (n, classes), optional
            By what the weight of each class is multiplied in that dataset.
        changed : ChangedScales, optional
            How the scaler moves in it.
        watch : callable, optional
            Is told how many more are done.

        Returns
        -------
        ndarray of shape (n, outputs * p)
            Output by output; NaN where no minimizer could be found.
        """

        def part(at: slice) -> Array:
            weights = None if factors is None else factors[at]
            penalties = None if changed is None else Penalties.of(changed.take(at), self.near)
            own = slice(at.start * rows, at.stop * rows)
            change = Change.of(before.take(own), after.take(own), rows, weights, penalties, self.near)
            with np.errstate(all="ignore"):
                found = change.found()
                return found if self.near.active is None else change.past_kinks(found, self.near.active)

        # Made here, once, and not by each of the threads that ask for them.
        _ = self.near.items, self.near.cubic
        step = max(_PEOPLE // rows, _FEWEST)
        chunks = [slice(start, start + step) for start in range(0, len(before) // rows, step)]
        found = []
        for moved in in_threads(part, chunks):
            found.append(moved)
            watch(len(moved))
        return np.concatenate(found) if found else np.empty((0, self.geometry.hessian_inverse.shape[0]))


@dataclass(frozen=True, eq=False)
class Refitted:
    """What refits of some people found, each with rows of their own exchanged."""

    people: NDArray[np.intp]
    """Who, among all that were asked for."""
    around: Refit
    """The refit whose minimizer these are near."""
    swapped: Swapped
    factors: Array | None
    """Of class weights, shape (n, classes)."""
    changed: ChangedScales | None
    """How the scaler moves along."""
    moves: Array
    """By how much the minimizer moves, shape (n, outputs * p)."""
    own: Array
    """The same from the minimizer of `around`."""


def _times(batch: Batch, factors: Array) -> Batch:
    assert batch.weights is not None
    return replace(batch, weights=batch.weights * factors)


RUNS_AWAY = (
    "One record decides there whether the coefficients are finite, as where a value of some category has a single "
    "case: merge rare values of categories, or fit with a stronger penalty."
)


def warn_unanswered(found: Distances, attribute: str, count: int) -> None:
    """Tell whoever asked for distances of how many people none could be found."""
    missing = int(found.unanswered.sum())
    if missing:
        warnings.warn(
            f"The model could not be refitted with another {attribute} of {missing} of {count} people; their distances "
            f"and success rates are missing (NaN). {RUNS_AWAY}",
            RuntimeWarning,
            # Past whoever refits, and whoever keeps what was refitted.
            stacklevel=4,
        )
