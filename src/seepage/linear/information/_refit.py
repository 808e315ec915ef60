"""The exact minimizer with one person's record changed, for many people at once.

Replacing row (x, y) by (x', y') changes the Hessian by a matrix of rank two per output and the gradient by a vector in
the same span: with V = [x, x'], E = diag(-a, a') and e = [-r, r'] (eq. 4.3),

    (H + V E V^T)^-1 V e = H^-1 V (I + E N)^-1 e,     N = V^T H^-1 V.

For squared loss that one step is the refit. Otherwise the move d solves (eq. 4.4)

    (H + V E V^T) d = -(V e + R(d)),

where R, what the gradient over all rows has beyond its linear part, is small, and is computed as such: no digits are
lost to the gradient that it is a part of. Iterating d contracts by the order of the change itself. The few people whose
record moves the model far, so that it does not contract, are refitted one by one with damped Newton steps.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, eigh
from scipy.special import expit

from seepage.errors import MinimizerError, UnansweredError
from seepage.execution.storage import Watch, unwatched
from seepage.leakage import Distances
from seepage.linear.information._changed_scales import ChangedScales
from seepage.linear.information._changed_shape import ChangedShape, Swapped
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._logistic import dense_beyond, sparse_beyond
from seepage.linear.information._preprocessing import with_filled_moved
from seepage.linear.objective import (
    ActiveSet,
    Logistic,
    Minimizer,
    NewtonSums,
    Problem,
    Smooth,
    VectorLoss,
    derivatives,
    minimize,
    newton_sums,
    penalty_hessian,
    settled_signs,
)
from seepage.linear.rows import Batch, Frame, InMemory, in_threads
from seepage.meaning import TwoNormals

Array = NDArray[np.float64]

# What is left of a move when it counts as found, as a share of it.
_SETTLED = 2e-9
# Where rounding keeps a move from settling further, this much is still an answer.
_GOOD = 1e-7
# A step of this share of the parameters themselves is rounding.
_ROUNDING = 1e-14
_MOST_PASSES = 40
# A pass that leaves more than this share of the last step behind is not worth another one.
_SLOW = 0.8
_PLAIN = Frame()
# A curvature, next to that before the refit, of parameters that are on their way to infinity: there is no minimizer.
_FADED = 1e-8
# The curvature of one record, likewise: it may be on its way, which a closer look will tell.
_FLAT = 1e-3
# One over what a record's leverage leaves, beyond which its absence leaves nothing but rounding.
_SINGULAR = 1e10
# People at a time: what is known of them stays in the cache of the core that refits them.
_PEOPLE = 256
# With many rows each, still so many: a pass over all rows is made for them together.
_FEWEST = 32
# Up to so many numbers, features are kept between passes instead of being made from the raw rows again.
_KEPT = 2**27
# Beyond its bound by this share of it, the gradient of a coefficient at zero is not there by rounding.
_BEYOND = 1e-9
# Rows at a time: so many numbers of them, within these limits.
_NUMBERS, _ROWS, _MOST_ROWS = 2**20, 1024, 8192
# Features with a smaller share of numbers that are not zero are faster to multiply as sparse ones.
_SPARSE = 0.2
# A product with p^3 numbers costs less than a pass over the rows if p^3 is below so many times their number.
_CUBIC = 8


@dataclass(frozen=True, eq=False)
class Refit:
    """Refits a model with single records changed."""

    rows: InMemory
    geometry: Geometry
    penalty: Array
    """Shape (p, outputs)."""
    filled: Array | None = None
    """By how much what an imputer filled in has moved, one entry for each feature with such cells, if it has."""

    @property
    def active(self) -> ActiveSet | None:
        """Which coefficients a penalty on absolute values leaves free, if there is one."""
        return self.geometry.minimizer.active

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
                alike, most = np.flatnonzero(sizes == size), max(self._at_once // size, 1)
                for some in (alike[start : start + most] for start in range(0, len(alike), most)):
                    rows = np.concatenate([people[i] for i in some])
                    before, after = self.rows.picked(rows), self.rows.altered(rows, attribute, value)
                    for each in self.exchanged(before, after, int(size), watch):
                        yield replace(each, people=some[each.people])

        return self._compared(found(), len(people))

    def _compared(self, refits: "Iterator[Refitted]", count: int) -> tuple[Array, TwoNormals | None]:
        distance, found = np.empty(count), []
        for part in refits:
            distance[part.people] = self.distances(part.moves)
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
        made = ChangedShape(self.geometry, around.geometry, lambda: map(around._known_of, around._items))
        penalties = None if found.changed is None else Penalties.of(found.changed, around)
        # Made here, once, and not by each of the threads that ask for them.
        _ = around._items, made.ready

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
        before, after = self._read(span), self.rows.altered(span, attribute, value)
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
        if self.active is not None:
            raise UnansweredError(
                "With another value of a column whose missing cells were filled in with its mean, these cells move "
                "too, and refits that follow them are not made past the kinks of an L1 penalty. Fill them in with a "
                'constant (SimpleImputer(strategy="constant")); or, if their mean is known to the attacker, name the '
                "imputer in public_preprocessing=[...]."
            )
        moved, geometry, same = replace(self, filled=by), self.geometry, self._read(slice(0, 1))
        move = Exchange(moved, same, same, None, self.penalty).newton()
        p, outputs = geometry.parameters.shape
        position = geometry.position + np.linalg.pinv(geometry.frame.matrix(p)) @ move.reshape(outputs, p).T
        sums = moved._sum(lambda known: newton_sums(known.batch, geometry.loss, position, geometry.frame))
        hessian = sums.hessian + penalty_hessian(self.penalty, geometry.frame.axes)
        minimizer = geometry.minimizer.elsewhere(position, hessian)
        return replace(moved, geometry=replace(geometry, minimizer=minimizer)), move

    def without(self, span: slice) -> Array:
        """Return by how much the minimizer moves when each row of a span is taken out, the penalty staying."""
        before, balanced = self._read(span), self.rows.rebalanced(span, None)
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
            penalties = None if changed is None else Penalties.of(changed.take(at), self)
            own = slice(at.start * rows, at.stop * rows)
            change = _Change.of(before.take(own), after.take(own), rows, weights, penalties, self)
            with np.errstate(all="ignore"):
                found = change.found()
                return found if self.active is None else change.past_kinks(found, self.active)

        # Made here, once, and not by each of the threads that ask for them.
        _ = self._items, self.cubic
        step = max(_PEOPLE // rows, _FEWEST)
        chunks = [slice(start, start + step) for start in range(0, len(before) // rows, step)]
        found = []
        for moved in in_threads(part, chunks):
            found.append(moved)
            watch(len(moved))
        return np.concatenate(found) if found else np.empty((0, self.geometry.hessian_inverse.shape[0]))

    def distances(self, moves: Array) -> Array:
        """Return the length of each move in units of the noise."""
        return np.asarray(np.linalg.norm(self.geometry.in_noise_units(moves), axis=1))

    def gradient(self, theta: Array) -> Array:
        """Return the gradient of the unchanged objective at each of many parameters.

        Parameters
        ----------
        theta : ndarray of shape (m, outputs, p)

        Returns
        -------
        ndarray of shape (m, outputs * p)
        """

        def part(known: "_Known", margins: Array) -> Array:
            if known.batch.offset is not None:
                margins[:, :, 0] += known.batch.offset[:, None]
            return known.weighted(self.geometry.loss.slopes(margins, known.batch.labels))

        m, outputs, p = theta.shape
        total = self._total(part, theta, in_threads)
        return np.asarray(total + (self.penalty.T * theta).reshape(m, outputs * p))

    def beyond(self, moves: Array, factors: Array | None) -> Array:
        """Return R: the gradient of the data's part after each move, without its value and slope before.

        Parameters
        ----------
        moves : ndarray of shape (m, outputs, p)
            Each person's.
        factors : ndarray of shape (m, classes), optional
            Of class weights, each person's.
        """
        loss = self.geometry.loss

        def part(known: "_Known", margins: Array) -> Array:
            moved = known.weighted(loss.slopes(known.margins[:, None, :] + margins, known.batch.labels))
            if factors is not None:
                moved *= factors.T[known.classes][:, :, None]
            linear = (
                margins * known.curvature if loss.outputs == 1 else np.einsum("nmc,ncd->nmd", margins, known.curvature)
            )
            return np.asarray(moved - known.slope[:, None, :] - linear)

        if factors is not None or not isinstance(loss, Logistic):
            return self._total(part, moves)
        columns = np.ascontiguousarray(moves[:, 0].T)
        total = np.zeros_like(columns)
        for item in self._items:
            self._known_of(item).add_logistic_beyond(columns, total)
        return total.T

    @cached_property
    def cubic(self) -> Array | None:
        """The sum over all rows of w s''(m) / 2 x (x) x (x) x, shape (p, p * p), where it is cheap beside a pass.

        Of logistic loss; R is this times the square of the move, up to the cube of it.
        """
        p = self.geometry.parameters.shape[0]
        if not isinstance(self.geometry.loss, Logistic) or p**3 > _CUBIC * self.rows.count:
            return None

        def of(known: "_Known") -> Array:
            share, rest, weights = known.logistic
            dense = known.batch.augmented()
            scaled = dense * (0.5 * weights * share * rest * (rest - share))[:, None]
            total = np.empty((p, p, p))
            for a in range(p):
                total[a] = (dense * scaled[:, [a]]).T @ dense
            return total.reshape(p, p * p)

        return np.asarray(self._sum(of))

    def _total(self, part: Any, theta: Array, each: Callable[[Any, Any], Any] = map) -> Array:
        """Return the sum over all rows of part(row, margins) (x) row, shape (m, outputs * p)."""
        m, outputs, p = theta.shape
        columns = np.ascontiguousarray(theta.reshape(m * outputs, p).T)

        def of(known: "_Known") -> Array:
            size = len(known.batch)
            with np.errstate(all="ignore"):
                values = part(known, known.batch.project(columns).reshape(size, m, outputs))
                return known.batch.total(values.reshape(size, m * outputs))

        return np.asarray(self._sum(of, each).T.reshape(m, outputs * p))

    def _sum(self, of: Callable[["_Known"], Any], each: Callable[[Any, Any], Any] = map) -> Any:
        """Return the sum of a function of all rows; not in threads where people are in threads already."""

        def part(item: "_Known | slice") -> Any:
            return of(self._known_of(item))

        return reduce(add, each(part, self._items))

    @cached_property
    def spans(self) -> list[slice]:
        """Rows that are read at once: more than in other passes, as preprocessing few takes as long as many."""
        size = self._at_once
        return [slice(at, min(at + size, self.rows.count)) for at in range(0, self.rows.count, size)]

    @property
    def _at_once(self) -> int:
        p, outputs = self.geometry.parameters.shape
        return int(max(_ROWS, min(_NUMBERS // p, _MOST_ROWS // outputs)))

    @cached_property
    def _items(self) -> "Sequence[_Known | slice]":
        spans = self.spans
        if self.rows.count * self.geometry.parameters.shape[0] > _KEPT:
            return spans
        return list(in_threads(self._known_of, spans))

    def _read(self, span: slice) -> Batch:
        return self._known_of(self._items[self.spans.index(span)] if span in self.spans else span).batch

    def _known_of(self, item: "_Known | slice") -> "_Known":
        if isinstance(item, _Known):
            return item
        span, batch = item, self.rows.read(item)
        if self.filled is not None:
            assert self.geometry.scales is not None
            batch = with_filled_moved(batch, self.rows.reading.affine, self.geometry.scales.filled, self.filled)
        if isinstance(batch.features, np.ndarray) and np.count_nonzero(batch.features) < _SPARSE * batch.features.size:
            batch = replace(batch, features=sparse.csr_array(batch.features))
        margins = batch.margins(self.geometry.parameters)
        slope, curvature, _ = derivatives(batch, self.geometry.loss, margins)
        return _Known(batch, margins, slope, curvature, self.rows.classes(span))

    def sums(
        self, position: Array, before: Batch, after: Batch, factors: Array | None, frame: Frame = _PLAIN
    ) -> NewtonSums:
        """Return value, gradient and Hessian of the data's part with some rows exchanged, at a position in a frame."""
        loss = self.geometry.loss

        def of(known: "_Known") -> NewtonSums:
            batch = known.batch
            if factors is not None:
                batch = replace(batch, weights=known.weighted(factors[known.classes]))
            return newton_sums(batch, loss, position, frame)

        whole: NewtonSums = self._sum(of)
        old, new = (newton_sums(batch, loss, position, frame) for batch in (before, after))
        return replace(
            whole,
            value=whole.value - old.value + new.value,
            gradient=whole.gradient - old.gradient + new.gradient,
            hessian=whole.hessian - old.hessian + new.hessian,
        )


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


@dataclass(frozen=True, eq=False)
class _Known:
    """Some rows of the data, and what the loss has to say of them at the minimizer."""

    batch: Batch
    margins: Array
    slope: Array
    curvature: Array
    classes: NDArray[np.intp] | None

    def weighted(self, values: Array) -> Array:
        """Return values, one or several a row, times the rows' weights."""
        weights = self.batch.weights
        return values if weights is None else values * weights.reshape(-1, *[1] * (values.ndim - 1))

    def add_logistic_beyond(self, moves: Array, total: Array) -> None:
        """Add what these rows contribute to R of logistic loss; moves and total have shape (p, m)."""
        features, (share, rest, weights) = self.batch.features, self.logistic
        if isinstance(features, np.ndarray):
            for start in range(0, len(features), _ROWS):
                at = slice(start, start + _ROWS)
                batch = self.batch.take(at)
                moved = batch.project(moves)
                dense_beyond(moved, share[at], rest[at], weights[at])
                total += batch.total(moved)
            return
        where = features.indptr, features.indices, features.data
        sparse_beyond(*where, self.batch.intercept, moves, share, rest, weights, total)

    @cached_property
    def logistic(self) -> tuple[Array, Array, Array]:
        """The probabilities of both labels, and the weights."""
        m = self.margins[:, 0]
        return expit(m), expit(-m), self.batch.every_weight


class Side(NamedTuple):
    """The rows that are taken out of many datasets, or those that come in, k of each, with what a loss says of them."""

    records: Array
    """Dense, shape (n, k, p)."""
    labels: Array
    weights: Array
    margins: Array
    slope: Array
    """Shape (n, k, outputs)."""
    curvature: Array

    @classmethod
    def of(cls, batch: Batch, geometry: Geometry, rows: int) -> "Side":
        margins = batch.margins(geometry.parameters)
        slope, curvature, _ = derivatives(batch, geometry.loss, margins)
        each = (batch.augmented(), batch.labels, batch.every_weight, margins, slope, curvature)
        return cls(*(values.reshape(len(batch) // rows, rows, *values.shape[1:]) for values in each))

    def take(self, people: NDArray[np.bool_]) -> "Side":
        return Side(*(each[people] for each in self))

    def seen(self, moves: Array) -> Array:
        """Return how margins change with moves of shape (n, outputs, p)."""
        return np.asarray(np.einsum("nka,nca->nkc", self.records, moves))

    def slopes(self, moves: Array, loss: VectorLoss) -> Array:
        """Return the slopes after a move."""
        flat = (self.margins + self.seen(moves)).reshape(-1, 1, loss.outputs)
        return np.asarray(loss.slopes(flat, self._labels).reshape(self.slope.shape) * self.weights[:, :, None])

    def beyond(self, moves: Array, loss: VectorLoss) -> Array:
        """Return what the slopes have beyond their linear part."""
        linear = np.einsum("nkcd,nkd->nkc", self.curvature, self.seen(moves))
        return np.asarray(self.slopes(moves, loss) - self.slope - linear)

    def flattened(self, moves: Array, loss: VectorLoss) -> NDArray[np.bool_]:
        """Return of whom a row's loss has next to no curvature left after a move."""
        flat = (self.margins + self.seen(moves)).reshape(-1, loss.outputs)
        after = loss.derivatives(flat, self._labels).curvature.reshape(self.curvature.shape)
        now, then = (np.abs(np.einsum("nkcc->nkc", each)) for each in (after, self.curvature))
        return np.asarray((now * self.weights[:, :, None] < _FLAT * then).any(axis=(1, 2)))

    @property
    def _labels(self) -> Array:
        return self.labels.reshape(-1, self.labels.shape[-1])


class Penalties(NamedTuple):
    """The penalties that many changes of a record bring along, on single parameters."""

    places: NDArray[np.intp]
    """Which parameters, output by output, shape (n, m)."""
    more: Array
    """By how much each penalty grows, shape (n, m)."""
    slope: Array
    """What that adds to the gradient, shape (n, m)."""
    changed: ChangedScales
    """The scalers that bring them."""

    @classmethod
    def of(cls, changed: ChangedScales, refit: Refit) -> "Penalties":
        theta = refit.geometry.parameters
        p, outputs = theta.shape
        places = (changed.features[:, :, None] + p * np.arange(outputs)).reshape(len(changed.features), -1)
        more = changed.penalties(refit.penalty).reshape(places.shape)
        slope = more * theta.T.ravel()[places]
        if refit.active is not None:
            slope += (refit.active.absolute * refit.active.signs)[changed.features] * (changed.stretch - 1.0)
        return cls(places, more, slope, changed)

    def take(self, people: NDArray[np.bool_]) -> "Penalties":
        return Penalties(self.places[people], self.more[people], self.slope[people], self.changed.take(people))

    def seen(self, vectors: Array) -> Array:
        """Return the entries of vectors, shape (n, outputs * p, m), at these places."""
        return np.take_along_axis(vectors, self.places[:, :, None], axis=1)


@dataclass(frozen=True, eq=False)
class _Change:
    """Many changes of k rows each, every one with its own low-rank update of one Hessian."""

    refit: Refit
    batches: tuple[Batch, Batch]
    """Of all people that were asked for."""
    before: Side
    after: Side
    factors: Array | None
    penalties: "Penalties | None"
    """On features whose scaler moves along."""
    lifted: Array
    """H^-1 V, shape (n, directions, outputs * p): two an output and row, and the features whose penalty changes."""
    inner: Array
    """(I + E N)^-1, shape (n, directions, directions)."""

    @classmethod
    def of(
        cls, before: Batch, after: Batch, rows: int, factors: Array | None, penalties: "Penalties | None", refit: Refit
    ) -> "_Change":
        geometry = refit.geometry
        n, (p, outputs) = len(before) // rows, geometry.parameters.shape
        blocks = geometry.hessian_inverse.reshape(outputs, p, outputs * p)
        batches = before, after
        sides = Side.of(before, geometry, rows), Side.of(after, geometry, rows)
        each = (np.stack([batch.project(block) for block in blocks], axis=1) for batch in batches)
        lifted = np.concatenate([part.reshape(n, rows * outputs, -1) for part in each], axis=1)
        if penalties is not None:
            lifted = np.concatenate([lifted, geometry.hessian_inverse[penalties.places]], axis=1)
        # N = V^T H^-1 V
        shaped = lifted.reshape(n, -1, outputs, p)
        seen = [np.einsum("nka,nmca->nkcm", side.records, shaped).reshape(n, rows * outputs, -1) for side in sides]
        if penalties is not None:
            seen.append(penalties.seen(lifted.transpose(0, 2, 1)))
        inner = _inverses(np.eye(lifted.shape[1]) + _weighted(sides, penalties, np.concatenate(seen, axis=1)))
        return cls(refit, batches, *sides, factors, penalties, lifted, inner)

    def take(self, people: NDArray[np.bool_]) -> "_Change":
        factors = None if self.factors is None else self.factors[people]
        penalties = None if self.penalties is None else self.penalties.take(people)
        sides = self.before.take(people), self.after.take(people)
        return _Change(self.refit, self.batches, *sides, factors, penalties, self.lifted[people], self.inner[people])

    def found(self) -> Array:
        """Return each person's move."""
        first = self._next(None, np.zeros_like(self.before.slope), np.zeros_like(self.after.slope))
        if self.factors is None and self.refit.geometry.loss.quadratic:
            return first
        moved, unsettled = self._settle(first)
        unsettled = np.union1d(unsettled, np.flatnonzero(self._far(moved)))
        for person in unsettled:
            # With kinks nearby, who does not settle is refitted with them.
            moved[person] = self._of_person(int(person)).newton() if self.refit.active is None else np.nan
        return moved

    def _shaped(self, moves: Array) -> Array:
        return moves.reshape(len(moves), self.refit.geometry.outputs, -1)

    def _far(self, moves: Array) -> NDArray[np.bool_]:
        """Return whose exchanged records end where the loss is flat: there a gradient is zero with and without end."""
        shaped, loss = self._shaped(moves), self.refit.geometry.loss
        return self.before.flattened(shaped, loss) | self.after.flattened(shaped, loss)

    def past_kinks(self, moves: Array, active: ActiveSet) -> Array:
        """Return the moves of a model whose penalty has kinks: those that came past one are refitted with it.

        Within the active set a refit is right as long as no coefficient there changes sign, and no gradient outside
        goes beyond its bound (eq. 2.26).
        """
        theta, signed = self.refit.geometry.parameters[:, 0] + moves, active.signs != 0
        past = (np.sign(theta) != active.signs)[:, signed].any(axis=1)
        bound = np.broadcast_to(active.absolute, moves.shape)
        if self.penalties is not None:
            bound = np.stack([self.penalties.changed.absolute(i, active.absolute) for i in range(len(moves))])
        gradient = np.abs(self._gradient(moves, active))
        past |= ~(gradient <= bound * (1 + _BEYOND))[:, active.inactive].all(axis=1)
        # What reaches no active column moves nothing, to the last digit.
        moves[~past & self._unseen(active)] = 0.0
        for person in np.flatnonzero(past):
            moves[person] = self._of_person(int(person)).with_kinks(active, bound[person])
        return moves

    def _unseen(self, active: ActiveSet) -> NDArray[np.bool_]:
        """Return whose change the active columns do not show."""
        before, after, at = self.before, self.after, active.indices
        same = (before.records[:, :, at] == after.records[:, :, at]).all(axis=(1, 2)) & (self.factors is None)
        same &= (before.weights == after.weights).all(axis=1) & (before.labels == after.labels).all(axis=(1, 2))
        if self.penalties is not None:
            same &= ~np.isin(self.penalties.changed.features, at).any(axis=1)
        return np.asarray(same)

    def _gradient(self, moves: Array, active: ActiveSet) -> Array:
        """Return the gradient of all that is smooth after each move, right where there was no coefficient before."""
        refit, loss, shaped = self.refit, self.refit.geometry.loss, self._shaped(moves)
        found = active.gradient + moves @ active.hessian
        if self.factors is not None or not loss.quadratic:
            found += refit.beyond(shaped, self.factors)
        for side, sign in ((self.before, -1.0), (self.after, 1.0)):
            found += sign * np.einsum("nk,nka->na", side.slopes(shaped, loss)[:, :, 0], side.records)
        return np.asarray(found)

    def _of_person(self, person: int) -> "Exchange":
        """Return one person's change by itself."""
        penalty = self.refit.penalty
        if self.penalties is not None:
            penalty = self.penalties.changed.penalty(person, penalty)
        rows = self.before.records.shape[1]
        before, after = (batch.take(slice(person * rows, (person + 1) * rows)) for batch in self.batches)
        factors = None if self.factors is None else self.factors[person]
        return Exchange(self.refit, before, after, factors, penalty)

    def _next(self, beyond: Array | None, before: Array, after: Array) -> Array:
        """Return -(H + V E V^T)^-1 (R + V f + V e), where R is of the unchanged rows and f that of the exchanged ones.

        With z = H^-1 R it is H^-1 V (I + E N)^-1 (E V^T z - f - e) - z.
        """
        added = [
            (before + self.before.slope).reshape(len(before), -1),
            -(after + self.after.slope).reshape(len(after), -1),
        ]
        if self.penalties is not None:
            added.append(-self.penalties.slope)
        pulled = np.concatenate(added, axis=1)
        if beyond is None:
            return np.asarray(np.einsum("ni,nip->np", np.einsum("nij,nj->ni", self.inner, pulled), self.lifted))
        z = beyond @ self.refit.geometry.hessian_inverse
        sides = self.before, self.after
        seen = [side.seen(self._shaped(z)).reshape(len(z), -1, 1) for side in sides]
        if self.penalties is not None:
            seen.append(self.penalties.seen(z[:, :, None]))
        weighted = _weighted(sides, self.penalties, np.concatenate(seen, axis=1))[:, :, 0]
        inner = np.einsum("nij,nj->ni", self.inner, weighted + pulled)
        moved: Array = np.einsum("ni,nip->np", inner, self.lifted)
        moved -= z
        return moved

    def _settle(self, first: Array) -> tuple[Array, NDArray[np.intp]]:
        """Iterate until each person's move is settled; return the moves, and who is not.

        Each pass maps a move to the next one. From the second on, the two last passes are mixed so that what they
        disagree on cancels along its main direction (Anderson 1965).
        """
        change, lengths, loss, shape = self, self.refit.distances, self.refit.geometry.loss, self._shaped
        found, people, lost = np.empty_like(first), np.arange(len(first)), []
        image, gap = first, first
        reach = previous = lengths(first)
        here = self._foreseen(first)
        # How much of a step the next one leaves is at first guessed from how far the records' own margins move.
        own = (side.seen(shape(first)) for side in (self.before, self.after))
        slowest = np.minimum(np.abs(np.concatenate([*own], axis=1)).max(axis=(1, 2)) / 4, 0.5)
        rounding = _ROUNDING * lengths(self.refit.geometry.parameters.T.reshape(1, -1))
        for number in range(_MOST_PASSES):
            own = (side.beyond(shape(here), loss) for side in (change.before, change.after))
            now = change._next(self.refit.beyond(shape(here), change.factors), *own)
            step_taken = now - here
            step = lengths(step_taken)
            rate = step / previous
            slowest = np.maximum(slowest, rate)
            # Mixing lets a step shrink by more than the one before it did, or by less.
            left = step * np.sqrt(slowest * rate) if number > 1 else step * slowest
            settled = (step <= rounding) | ((slowest < _SLOW) & (left <= _SETTLED * (1 - slowest) * reach))
            stuck = ~settled & ~(rate < (_SLOW if number else 1.0))
            if number > 0:
                # Rounding ends the contraction where the step is as small as it can be.
                settled |= stuck & (step <= _GOOD * reach)
                stuck &= ~settled
            here = now
            if number > 0:
                bend = step_taken - gap
                square = np.maximum(np.einsum("np,np->n", bend, bend), 1e-300)
                here = now - (np.einsum("np,np->n", step_taken, bend) / square)[:, None] * (now - image)
            image, gap, previous = now, step_taken, step
            done = settled | stuck
            if done.any():
                found[people[done]] = here[done]
                lost.append(people[stuck])
                people, here, image, gap = people[~done], here[~done], image[~done], gap[~done]
                reach, previous, slowest = reach[~done], previous[~done], slowest[~done]
                if not len(people):
                    break
                change = change.take(~done)
        return found, np.concatenate([*lost, people])

    def _foreseen(self, first: Array) -> Array:
        """Return where each move will about settle, as far as that is known without a pass."""
        cubic, n, loss = self.refit.cubic, len(first), self.refit.geometry.loss
        if cubic is None or self.factors is not None:
            return first
        here, lengths = first, self.refit.distances
        for _ in range(2):
            square = np.matmul((here @ cubic).reshape(n, len(cubic), -1), here[:, :, None])[:, :, 0]
            own = (side.beyond(here[:, None, :], loss) for side in (self.before, self.after))
            here = self._next(square, *own)
        # Far away a square says nothing.
        return np.where((lengths(here - first) < 0.1 * lengths(first))[:, None], here, first)


@dataclass(frozen=True, eq=False)
class Exchange:
    """Some rows that are exchanged for others in one set of data, which is refitted by itself."""

    refit: Refit
    before: Batch
    after: Batch
    factors: Array | None
    """Of class weights."""
    penalty: Array
    """All of that data, shape (p, outputs)."""

    def with_kinks(self, active: ActiveSet, absolute: Array) -> Array:
        """Refit with whatever coefficients come to zero or leave it; NaN where that fails."""
        refit, before, after, factors, penalty = self.refit, self.before, self.after, self.factors, self.penalty
        start = refit.geometry.parameters[:, 0]
        quadratic = refit.geometry.loss.quadratic and factors is None
        if quadratic:
            old, new = (newton_sums(batch, refit.geometry.loss, start[:, None], Frame()) for batch in (before, after))
            more = (penalty - refit.penalty)[:, 0]
            slope = active.gradient + (new.gradient - old.gradient)[:, 0] + more * start
            bend = active.hessian + new.hessian - old.hessian + np.diag(more)

        def smooth(theta: Array) -> Smooth:
            if quadratic:
                step = theta - start
                return Smooth(float(step @ slope + 0.5 * step @ bend @ step), slope + bend @ step, bend)
            return Smooth.of(refit.sums(theta[:, None], before, after, factors), penalty[:, 0], theta)

        found = settled_signs(smooth, absolute, start, quadratic=quadratic)
        return np.full(len(start), np.nan) if found is None else found - start

    def newton(self) -> Array:
        """Refit by damped Newton steps; NaN where they find no minimizer."""
        refit, geometry = self.refit, self.refit.geometry
        start, old = geometry.parameters, geometry.minimizer
        problem = Problem(
            old.estimator,
            geometry.loss,
            start,
            self.penalty,
            np.zeros_like(start),
            self.before.intercept,
            refit.rows.reading.labels,
            np.eye(geometry.outputs),
            free=old.free,
            beside=old.beside,
        )

        def evaluate(position: Array, frame: Frame) -> NewtonSums:
            return refit.sums(position, self.before, self.after, self.factors, frame)

        try:
            found = minimize(problem, evaluate, old.names, Frame(geometry.frame.center), start_is_fit=False)
        except MinimizerError:
            return np.full(start.size, np.nan)
        if _faded(found, old):
            return np.full(start.size, np.nan)
        return np.asarray((found.parameters - start).T.ravel())


def _faded(found: Minimizer, before: Minimizer) -> bool:
    """Return whether a Hessian is next to nothing, in some direction, beside an earlier one."""
    kept = np.ones(before.parameters.size, dtype=bool) if before.free is None else before.free.T.ravel()
    now, then = (each.hessian_inverse[np.ix_(kept, kept)] for each in (found, before))
    scale = 1 / np.sqrt(then.diagonal())
    now, then = (matrix * scale[:, None] * scale for matrix in (now, then))
    last = [len(then) - 1, len(then) - 1]
    try:
        return bool(eigh(now, then, eigvals_only=True, subset_by_index=last)[0] * _FADED > 1.0)
    except (LinAlgError, ValueError):
        return True


def _times(batch: Batch, factors: Array) -> Batch:
    assert batch.weights is not None
    return replace(batch, weights=batch.weights * factors)


def _weighted(sides: tuple[Side, Side], penalties: Penalties | None, vectors: Array) -> Array:
    """Return E times vectors, shape (n, directions, k); E = diag(-curvature before, curvature after, penalties)."""
    n, rows, outputs = sides[0].slope.shape
    size = rows * outputs
    parts = [
        (sign * (side.curvature @ part.reshape(n, rows, outputs, -1))).reshape(n, size, -1)
        for sign, side, part in zip((-1.0, 1.0), sides, (vectors[:, :size], vectors[:, size : 2 * size]), strict=True)
    ]
    if penalties is not None:
        parts.append(penalties.more[:, :, None] * vectors[:, 2 * size :])
    return np.concatenate(parts, axis=1)


def _inverses(matrices: Array) -> Array:
    """Return the inverse of each I + E N; NaN where the rows that are left do not determine the parameters."""
    try:
        found = np.linalg.inv(matrices)
    except LinAlgError:
        found = np.array([_inverse(matrix) for matrix in matrices])
    singular = ~(np.abs(found).max(axis=(1, 2)) < _SINGULAR)
    return np.where(singular[:, None, None], np.nan, found)


def _inverse(matrix: Array) -> Array:
    try:
        return np.asarray(np.linalg.inv(matrix))
    except LinAlgError:
        return np.full_like(matrix, np.nan)


def warn_unanswered(found: Distances, attribute: str, count: int) -> None:
    """Tell whoever asked for distances of how many people none could be found."""
    missing = int(found.unanswered.sum())
    if missing:
        warnings.warn(
            f"The model could not be refitted with another {attribute} of {missing} of {count} people; their distances "
            "and success rates are missing (NaN). One record moves this model very far: fit with a stronger penalty, "
            f"or merge rare values of {attribute}.",
            RuntimeWarning,
            # Past whoever refits, and whoever keeps what was refitted.
            stacklevel=4,
        )
