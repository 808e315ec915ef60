"""The stages of a fit with rows of one person exchanged: one step of Newton's method for everybody, and exact refits.

With V the rows of a person before and after, and E their curvatures, minus before and plus after, the Hessian of the
exchanged data is H + V E V^T (eq. 4.3), and the step from the fitted parameters is

    -(H + V E V^T)^-1 g,

with g the gradient there: of the person's rows, and of what filled cells, scalers and balanced class weights change.
For squared loss without these three one step is the refit. Otherwise it is repeated, with the gradient at the new
parameters over all rows and many people in one pass. People whose steps do not shrink are refitted one by one.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, eigh

from seepage._noise import GaussianNoise
from seepage.errors import MinimizerError, UnansweredError
from seepage.execution.storage import Watch, unwatched
from seepage.leakage import Distances
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._preprocessing import AddingFilled, columns_of, lacking, with_filled_moved
from seepage.linear.information._scales import ChangedScales
from seepage.linear.objective import (
    ActiveSet,
    Loss,
    Minimizer,
    NewtonSums,
    Problem,
    Smooth,
    derivatives,
    in_units,
    minimize,
    newton_sums,
    settled_signs,
)
from seepage.linear.rows import Batch, Frame, InMemory, Rebalanced, in_threads
from seepage.meaning import TwoNormals

Array = NDArray[np.float64]
_PLAIN = Frame()

# The last step of a refit as a share of the whole move, and the largest share that rounding may leave.
_SETTLED, _ROUNDING = 1e-10, 1e-7
# A move of this share of the parameters is rounding.
_NOTHING = 1e-13
_MOST_STEPS = 40
# A step of more than this share of the one before is not worth another pass.
_SLOW = 0.8
# Curvature after a refit as a share of that before: in some direction of the parameters, and of a row.
_FADED, _FLAT = 1e-8, 1e-3
# One over the share of curvature that is left where a row is taken out; beyond it there is only rounding.
_SINGULAR = 1e10
# A gradient beyond its bound by this share of it is not there by rounding.
_BEYOND = 1e-9
# Numbers in the largest temporary, and in features that are kept between passes.
_NUMBERS, _KEPT = 2**21, 2**27
# Features with a smaller share of numbers that are not zero are faster to multiply as sparse ones.
_SPARSE = 0.2


@dataclass(frozen=True, eq=False)
class Exchange:
    """Rows that change together in a dataset of their own, so many of each person."""

    before: Batch
    after: Batch
    """One person's rows after the other's."""
    rows: int
    changed: ChangedScales | None
    factors: Array | None
    """Factors on the weights of classes, shape (n, classes)."""

    @property
    def is_plain(self) -> bool:
        """Whether nothing but the rows changes."""
        return self.changed is None and self.factors is None

    def take(self, people: slice) -> "Exchange":
        """Return the exchanges of some people."""
        at = slice(people.start * self.rows, people.stop * self.rows)
        changed = None if self.changed is None else self.changed.take(people)
        factors = None if self.factors is None else self.factors[people]
        return Exchange(self.before.take(at), self.after.take(at), self.rows, changed, factors)

    def __len__(self) -> int:
        return len(self.before) // self.rows


class _Stages(NamedTuple):
    """Arrays of many datasets near the fitted parameters; k rows before and k after, those before with minus signs."""

    records: Array
    """Shape (n, 2 k, p)."""
    labels: Array
    weights: Array
    margins: Array
    slope: Array
    """Shape (n, 2 k, outputs)."""
    curvature: Array
    lifted: Array
    """H^-1 V, shape (n, 2 k * outputs, outputs * p)."""
    inner: Array
    """(1 + E V^T H^-1 V)^-1, shape (n, 2 k * outputs, 2 k * outputs)."""
    penalty: Array
    """Shape (n or 1, outputs, p)."""
    absolute: Array
    """Penalties on absolute values, shape (n or 1, p)."""
    filled: Array | None
    """Change of the mean in filled cells, shape (n, features with such cells)."""
    factors: Array | None

    def take(self, people: NDArray[np.bool_]) -> "_Stages":
        """Return those of some people."""
        known = {name: values for name, values in self._asdict().items() if values is not None}
        return self._replace(**{name: values[people] for name, values in known.items() if len(values) == len(people)})

    def seen(self, moves: Array) -> Array:
        """Return how margins change with moves of shape (n, outputs, p)."""
        return np.asarray(np.einsum("nka,nca->nkc", self.records, moves))

    def step(self, gradient: Array, inverse: Array) -> Array:
        """Return (H + V E V^T)^-1 times a gradient of shape (n, outputs, p), of the same shape."""
        n, outputs, p = gradient.shape
        whole = (gradient.reshape(n, -1) @ inverse).reshape(n, outputs, p)
        bent = np.einsum("nkcd,nkd->nkc", self.curvature, self.seen(whole)).reshape(n, -1)
        inner = np.einsum("nij,nj->ni", self.inner, bent)
        return np.asarray(whole - np.einsum("ni,nip->np", inner, self.lifted).reshape(n, outputs, p))


class _KnownRows(NamedTuple):
    """Rows of the data, and the derivatives of the loss at the fitted parameters."""

    batch: Batch
    margins: Array
    slope: Array
    classes: NDArray[np.intp] | None
    lacks: Array
    """1 where a cell was filled in, shape (n, features with such cells)."""


class Refitted(NamedTuple):
    """Distances between releases, and both releases if their noises differ."""

    distance: Array
    unlike: TwoNormals | None


@dataclass(frozen=True, eq=False)
class Refit:
    """Steps and refits of a model with rows of single people exchanged."""

    rows: InMemory
    geometry: Geometry
    penalty: Array
    """Shape (p, outputs)."""

    def parts(self, places: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Return the places of rows of people, shape (people, rows), as many at a time as are read at once."""
        size = max(_NUMBERS // (places.shape[1] * len(self.penalty)), 1)
        return [places[at : at + size] for at in range(0, len(places), size)]

    def exchange(
        self, places: NDArray[np.intp], attribute: str | None, value: Any, before: Batch | None = None
    ) -> Exchange:
        """Return the exchange in which an attribute (None: the label) takes a value, in all rows of each person.

        Parameters
        ----------
        places : ndarray of int, shape (people, rows)
        before : Batch, optional
            The rows at these places, if they were read already.
        """
        flat, balanced = places.ravel(), None
        before = self.rows.picked(flat) if before is None else before
        after = self.rows.altered(flat, attribute, value)
        if attribute is None:
            if places.shape[1] > 1 and self.rows.reading.balance is not None:
                raise UnansweredError(
                    "Balanced class weights move with every label, and refits that follow several labels of one person "
                    "at once are not made. Fit with given class weights, or with one row a person."
                )
            balanced = self.rows.rebalanced(flat, value)
        return self._exchange(before, after, places.shape[1], balanced)

    def without(self, places: NDArray[np.intp]) -> Array:
        """Return the moves of the minimizer without each of some rows, the penalty staying."""
        before = self.rows.picked(places)
        after = replace(before, weights=np.zeros(len(before)))
        return self.moves(self._exchange(before, after, 1, self.rows.rebalanced(places, None)))

    def replaced(self, before: Batch, after: Batch) -> Array:
        """Return the moves of the minimizer with each row of `before` replaced by that of `after`."""
        return self.moves(self._exchange(before, after, 1, None))

    def _exchange(self, before: Batch, after: Batch, rows: int, balanced: Rebalanced | None) -> Exchange:
        changed, factors = ChangedScales.of(self.geometry.scales, before, after, rows), None
        if balanced is not None:
            before = replace(before, weights=before.every_weight * balanced.old)
            after = replace(after, weights=after.every_weight * balanced.new)
            factors = balanced.factors
        return Exchange(before, after, rows, changed, factors)

    def is_step(self, exchange: Exchange) -> bool:
        """Return whether one step is the refit."""
        return exchange.is_plain and self.active is None and self.geometry.loss.quadratic

    @property
    def active(self) -> ActiveSet | None:
        """The coefficients that a penalty on absolute values leaves free, if there is one."""
        return self.geometry.minimizer.active

    def steps(self, exchange: Exchange) -> Array:
        """Return one step of Newton's method for each person, shape (people, outputs * p)."""
        return self._each(exchange, lambda part: self._step(self._stages(part), part.is_plain), unwatched)

    def moves(self, exchange: Exchange, watch: Watch = unwatched) -> Array:
        """Return the exact moves of the minimizer, shape (people, outputs * p); NaN where none could be found."""
        return self._each(exchange, self._moved, watch)

    def _each(self, exchange: Exchange, of: Callable[[Exchange], Array], watch: Watch) -> Array:
        p, outputs = self.geometry.parameters.shape
        people = int(np.clip(_NUMBERS // (2 * exchange.rows * outputs**2 * p), 32, 128))
        chunks = [slice(at, min(at + people, len(exchange))) for at in range(0, len(exchange), people)]
        # Made here, once, and not by each of the threads that ask for them.
        _ = self.items, self._sums

        def part(chunk: slice) -> Array:
            with np.errstate(all="ignore"):
                return np.asarray(of(exchange.take(chunk)))

        found = [np.empty((0, outputs * p))]
        for moves in in_threads(part, chunks):
            found.append(moves.reshape(-1, outputs * p))
            watch(len(moves))
        return np.concatenate(found)

    def distances(self, exchange: Exchange, moves: Array) -> Refitted:
        """Return the distances of the releases after exact moves from the one before (eq. 4.5)."""
        scales = self.geometry.scales
        seen = self.geometry.in_noise_units(moves)
        if exchange.changed is None or scales is None or not scales.published:
            return Refitted(np.linalg.norm(seen, axis=1), None)
        pairs = exchange.changed.releases(seen)
        return Refitted(pairs.distance(), pairs)

    def approximate(self, exchange: Exchange) -> Array:
        """Return the distances after one step: the noise's change counts to first order."""
        lengths = self.geometry.lengths(self.steps(exchange))
        return lengths if exchange.changed is None else np.sqrt(lengths**2 + exchange.changed.information())

    def _stages(self, exchange: Exchange) -> _Stages:
        geometry, n, k = self.geometry, len(exchange), 2 * exchange.rows
        (p, outputs), loss = geometry.parameters.shape, geometry.loss
        sides = []
        for batch, sign in ((exchange.before, -1.0), (exchange.after, 1.0)):
            each = (batch.augmented(), batch.labels, sign * batch.every_weight, batch.margins(geometry.parameters))
            sides.append([values.reshape(n, exchange.rows, *values.shape[1:]) for values in each])
        records, labels, weights, margins = (np.concatenate(one, axis=1) for one in zip(*sides, strict=True))
        found = loss.derivatives(margins.reshape(n * k, -1), labels.reshape(n * k, -1))
        slope = found.slope.reshape(n, k, outputs) * weights[:, :, None]
        curvature = found.curvature.reshape(n, k, outputs, outputs) * weights[:, :, None, None]
        blocks, flat = geometry.hessian_inverse.reshape(outputs, p, outputs * p), records.reshape(n * k, p)
        lifted = np.stack([flat @ block for block in blocks], axis=1).reshape(n, k * outputs, -1)
        seen = np.einsum("nka,nmca->nkcm", records, lifted.reshape(n, -1, outputs, p))
        inner = np.eye(k * outputs) + (curvature @ seen).reshape(n, k * outputs, -1)
        inner[np.linalg.slogdet(inner)[0] == 0] = np.nan
        inner = np.linalg.inv(inner)
        inner[~(np.abs(inner).max(axis=(1, 2)) < _SINGULAR)] = np.nan
        penalty, absolute, filled = self.penalty.T[None], self._absolute[None], None
        if exchange.changed is not None:
            penalty = exchange.changed.penalties(self.penalty).transpose(0, 2, 1)
            absolute = exchange.changed.stretched(self._absolute)
            filled = exchange.changed.filled if exchange.changed.filled.any() else None
        return _Stages(
            records,
            labels,
            weights,
            margins,
            slope,
            curvature,
            lifted,
            inner,
            penalty,
            absolute,
            filled,
            exchange.factors,
        )

    @cached_property
    def _absolute(self) -> Array:
        return np.zeros(len(self.penalty)) if self.active is None else self.active.absolute

    def _push(self, stages: _Stages) -> Array | float:
        """Return the change of what penalties on absolute values add to the gradient, shape (n, 1, p)."""
        if self.active is None:
            return 0.0
        return np.asarray((stages.absolute - self._absolute) * self.active.signs)[:, None]

    def _step(self, stages: _Stages, plain: bool) -> Array:
        """Return the step from the fitted parameters, shape (n, outputs, p)."""
        n, (p, outputs) = len(stages.records), self.geometry.parameters.shape
        # (H + V E V^T)^-1 V = H^-1 V (1 + E V^T H^-1 V)^-1
        pulls = np.einsum("nij,nj->ni", stages.inner, stages.slope.reshape(n, -1))
        moves = -np.einsum("ni,nip->np", pulls, stages.lifted).reshape(n, outputs, p)
        if not plain:
            gradient = (stages.penalty - self.penalty.T) * self.geometry.parameters.T + self._push(stages)
            by_class, by_filled = self._sums
            if stages.factors is not None:
                gradient = gradient + np.tensordot(stages.factors - 1.0, by_class, 1)
            if stages.filled is not None:
                gradient = gradient + np.tensordot(stages.filled, by_filled, 1)
            moves -= stages.step(np.broadcast_to(gradient, moves.shape), self.geometry.hessian_inverse)
        return np.asarray(moves)

    def gradient(self, theta: Array) -> Array:
        """Return the gradient of the unchanged objective at many parameters of one output, shape (m, p)."""
        moves = (theta - self.geometry.parameters[:, 0])[:, None]
        return np.asarray((self._total(moves, None, None) + self.penalty.T * moves)[:, 0])

    def _gradient(self, stages: _Stages, moves: Array) -> Array:
        """Return the change of the gradient after moves, both of shape (n, outputs, p), in the data of each person."""
        loss, fitted = self.geometry.loss, self.geometry.parameters.T
        margins = stages.margins + stages.seen(moves)
        flat = loss.slopes(margins.reshape(-1, 1, loss.outputs), stages.labels.reshape(stages.weights.size, -1))
        slope = flat.reshape(margins.shape) * stages.weights[:, :, None]
        found = self._total(moves, stages.factors, stages.filled)
        found += np.einsum("nkc,nka->nca", slope, stages.records)
        return found + stages.penalty * (moves + fitted) - self.penalty.T * fitted

    def _total(self, moves: Array, factors: Array | None, filled: Array | None) -> Array:
        """Return the change of the sum of all rows' gradients, of the unchanged rows."""
        loss, (n, outputs, p) = self.geometry.loss, moves.shape
        theta, at = moves + self.geometry.parameters.T, self._filled
        columns = np.ascontiguousarray(moves.reshape(n * outputs, p).T)
        total = np.zeros((p, n, outputs))
        for item in self.items:
            known = self._known(item)
            size, weights = len(known.batch), known.batch.every_weight[:, None, None]
            margins = known.batch.project(columns).reshape(size, n, outputs)
            margins += known.margins[:, None]
            if filled is not None:
                margins += np.einsum("rf,ncf->rnc", known.lacks, filled[:, None] * theta[:, :, at])
            slopes = loss.slopes(margins, known.batch.labels) * weights
            if factors is not None:
                slopes *= factors.T[known.classes][:, :, None]
            if filled is not None:
                total[at] += filled.T[:, :, None] * np.tensordot(known.lacks.T, slopes, 1)
            slopes -= known.slope[:, None]
            total += known.batch.total(slopes.reshape(size, -1)).reshape(p, n, outputs)
        return total.transpose(1, 2, 0).copy()

    def _moved(self, exchange: Exchange) -> Array:
        stages = self._stages(exchange)
        moves = self._step(stages, exchange.is_plain)
        if self.is_step(exchange):
            return moves
        unsettled = self._settle(stages, moves)
        alone = self._newton
        if self.active is not None:
            unsettled, alone = unsettled | self._past_kinks(stages, moves), self._with_kinks
        for person in np.flatnonzero(unsettled):
            moves[person] = alone(exchange.take(slice(person, person + 1)))
        moves[self.geometry.lengths(moves.reshape(len(moves), -1)) <= self._nothing] = 0.0
        return moves

    @cached_property
    def _nothing(self) -> float:
        return _NOTHING * float(self.geometry.lengths(self.geometry.parameters.T.reshape(1, -1))[0])

    def _settle(self, stages: _Stages, moves: Array) -> NDArray[np.bool_]:
        """Repeat steps until they are small, in place; return the people for whom they do not become small."""
        n, inverse, lengths = len(moves), self.geometry.hessian_inverse, self.geometry.lengths
        lost, people, left, previous = np.zeros(n, dtype=bool), np.arange(n), stages, np.full(n, np.inf)
        for _ in range(_MOST_STEPS):
            step = -left.step(self._gradient(left, moves[people]) + self._push(left), inverse)
            moves[people] += step
            length = lengths(step.reshape(len(step), -1))
            share = length / np.maximum(lengths(moves[people].reshape(len(step), -1)), 1e-300)
            slow = ~(length < _SLOW * previous)
            settled = (share <= _SETTLED) | (slow & (share <= _ROUNDING)) | (length <= self._nothing)
            lost[people[slow & ~settled]] = True
            going = ~(settled | slow)
            people, left, previous = people[going], left.take(going), length[going]
            if not len(people):
                break
        lost[people] = True
        # A row whose loss is flat after the move: there a gradient is zero with and without end.
        loss, outputs = self.geometry.loss, self.geometry.outputs
        margins = (stages.margins + stages.seen(moves)).reshape(-1, outputs)
        after = loss.derivatives(margins, stages.labels.reshape(len(margins), -1)).curvature
        after = np.abs(np.einsum("ncc->nc", after).reshape(*stages.weights.shape, outputs) * stages.weights[:, :, None])
        now = np.abs(np.einsum("nkcc->nkc", stages.curvature))
        return np.asarray(lost | (after < _FLAT * now).any(axis=(1, 2)))

    def _past_kinks(self, stages: _Stages, moves: Array) -> NDArray[np.bool_]:
        """Return the people whose refit changes the active set (eq. 2.25): a sign, or a gradient beyond its bound."""
        active = self.active
        assert active is not None
        signed, theta = active.signs != 0, self.geometry.parameters[:, 0] + moves[:, 0]
        gradient = self._gradient(stages, moves)[:, 0] + active.gradient
        beyond = ~(np.abs(gradient) <= stages.absolute * (1 + _BEYOND))[:, active.inactive].all(axis=1)
        return np.asarray(beyond | (np.sign(theta) != active.signs)[:, signed].any(axis=1))

    def _penalties(self, exchange: Exchange) -> tuple[Array, Array]:
        """Return the penalties of one person's data, of shape (p, outputs), and those on absolute values."""
        if exchange.changed is None:
            return self.penalty, self._absolute
        return exchange.changed.penalties(self.penalty)[0], exchange.changed.stretched(self._absolute)[0]

    def _sums_at(self, exchange: Exchange, position: Array, frame: Frame) -> NewtonSums:
        """Return value, gradient and Hessian of the losses in one person's data."""
        loss, changed = self.geometry.loss, exchange.changed

        def of(item: slice | _KnownRows) -> NewtonSums:
            known = self._known(item)
            batch = known.batch
            if exchange.factors is not None:
                batch = replace(batch, weights=batch.every_weight * exchange.factors[0][known.classes])
            if changed is not None and changed.filled.any():
                batch = with_filled_moved(batch, self.rows.reading.affine, self._filled, changed.filled[0])
            return newton_sums(batch, loss, position, frame)

        whole = reduce(add, map(of, self.items))
        old, new = (newton_sums(batch, loss, position, frame) for batch in (exchange.before, exchange.after))
        return replace(
            whole,
            value=whole.value - old.value + new.value,
            gradient=whole.gradient - old.gradient + new.gradient,
            hessian=whole.hessian - old.hessian + new.hessian,
        )

    def _newton(self, exchange: Exchange) -> Array:
        """Refit one person's data by damped Newton steps, shape (outputs, p); NaN where they find no minimizer."""
        geometry, old = self.geometry, self.geometry.minimizer
        start = geometry.parameters
        problem = Problem(
            old.estimator,
            geometry.loss,
            start,
            self._penalties(exchange)[0],
            np.zeros_like(start),
            exchange.before.intercept,
            self.rows.reading.labels,
            np.eye(geometry.outputs),
            free=old.free,
            beside=old.beside,
        )

        def evaluate(position: Array, frame: Frame) -> NewtonSums:
            return self._sums_at(exchange, position, frame)

        try:
            found = minimize(problem, evaluate, old.names, Frame(geometry.frame.center), start_is_fit=False)
        except MinimizerError:
            return np.full(start.T.shape, np.nan)
        return np.full(start.T.shape, np.nan) if _faded(found, old) else np.asarray((found.parameters - start).T)

    def _with_kinks(self, exchange: Exchange) -> Array:
        """Refit one person's data with the coefficients that come to zero or leave it; NaN where that fails."""
        start = self.geometry.parameters[:, 0]
        penalty, absolute = self._penalties(exchange)

        def smooth(theta: Array) -> Smooth:
            return Smooth.of(self._sums_at(exchange, theta[:, None], _PLAIN), penalty[:, 0], theta)

        found = settled_signs(smooth, absolute, start, quadratic=self.geometry.loss.quadratic)
        return np.full((1, len(start)), np.nan) if found is None else (found - start)[None]

    @property
    def _filled(self) -> NDArray[np.intp]:
        """The features of which cells were filled in with a mean of these rows."""
        return np.empty(0, dtype=np.intp) if self.geometry.scales is None else self.geometry.scales.filled

    @cached_property
    def _columns(self) -> tuple[tuple[int, ...], ...]:
        """The raw columns that each of these features is made of."""
        return columns_of(self.rows.reading.affine, self._filled)

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        """The gradient of each class, and its change with the mean in filled cells, shape (..., outputs, p)."""
        theta, balance = self.geometry.parameters, self.rows.reading.balance
        adding = AddingFilled(self._filled, self._columns, self.geometry.loss, _PLAIN, theta, theta)
        by_class = np.zeros((0 if balance is None else len(balance.sizes), *theta.T.shape))
        by_filled = np.zeros((len(self._filled), *theta.T.shape))
        for known in map(self._known, self.items):
            for i, total in enumerate(by_class):
                total += known.batch.total(known.slope * np.where(known.classes == i, 1.0, 0.0)[:, None]).T
            by_filled += adding(known.batch)
        return by_class, by_filled

    @cached_property
    def items(self) -> Sequence[_KnownRows | slice]:
        """All rows, some at a time; or their places, if they are too many to be kept."""
        spans = self.rows.spans()
        if self.rows.count * len(self.penalty) > _KEPT:
            return spans
        return list(in_threads(self._known, spans))

    def _known(self, item: _KnownRows | slice) -> _KnownRows:
        if isinstance(item, _KnownRows):
            return item
        batch = self.rows.read(item)
        if isinstance(batch.features, np.ndarray) and np.count_nonzero(batch.features) < _SPARSE * batch.features.size:
            batch = replace(batch, features=sparse.csr_array(batch.features))
        margins = batch.margins(self.geometry.parameters)
        slope = derivatives(batch, self.geometry.loss, margins).slope
        lacks = lacking(batch, self._columns).astype(np.float64)
        return _KnownRows(batch, margins, slope, self.rows.classes(item), lacks)


def _faded(found: Minimizer, before: Minimizer) -> bool:
    """Return whether a Hessian is next to nothing in some direction, in units of an earlier one."""
    kept = np.ones(before.parameters.size, dtype=bool) if before.free is None else before.free.T.ravel()
    now, then = (each.hessian_inverse[np.ix_(kept, kept)] for each in (found, before))
    now, then = (in_units(matrix, then.diagonal())[0] for matrix in (now, then))
    last = [len(then) - 1, len(then) - 1]
    try:
        return bool(eigh(now, then, eigvals_only=True, subset_by_index=last)[0] * _FADED > 1.0)
    except (LinAlgError, ValueError):
        return True


RUNS_AWAY = (
    "One record decides there whether the coefficients are finite, as where a value of some category has a single "
    "case: merge rare values of categories, or fit with a stronger penalty."
)


def warn_unanswered(found: Distances, attribute: str, count: int) -> None:
    """Warn of people for whom no refit could be found."""
    missing = int(found.unanswered.sum())
    if missing:
        warnings.warn(
            f"The model could not be refitted with another {attribute} of {missing} of {count} people; their distances "
            f"and success rates are missing (NaN). {RUNS_AWAY}",
            RuntimeWarning,
            # Past whoever refits, and whoever keeps what was refitted.
            stacklevel=4,
        )


@dataclass(frozen=True, eq=False)
class PublishedParameters:
    """Parameters that are published with noise."""

    rows: InMemory
    geometry: Geometry
    penalty: Array
    """Shape (p, outputs)."""
    basis: Array
    """What is published is parameters @ basis.T, shape (published outputs, outputs)."""
    estimator: Any
    """The fitted model, without the steps before it."""
    noise: GaussianNoise

    @property
    def loss(self) -> Loss:
        return self.geometry.loss

    @property
    def values(self) -> Array:
        """The exact parameters, shape (outputs * p,)."""
        return self.geometry.parameters.T.ravel()

    @property
    def selects(self) -> bool:
        """Whether a penalty keeps parameters at zero."""
        return self.geometry.minimizer.active is not None

    @property
    def is_white(self) -> bool:
        """Whether the noise on all parameters is independent and of one scale."""
        return isinstance(self.geometry.whitening, float)

    @property
    def is_rescaled(self) -> bool:
        """Whether steps before the model were fitted on the same rows."""
        return self.geometry.scales is not None

    @property
    def bends(self) -> bool:
        """Whether a step before the model is not affine."""
        return self.geometry.curves is not None

    @property
    def takes_columns(self) -> bool:
        """Whether every feature is a private column as it is."""
        width, reading = len(self.penalty) - self.rows.reading.intercept, self.geometry.reading
        return reading.shape[1] == width and bool(abs(reading[:width] - np.eye(width)).max() == 0)

    def margins(self, batch: Batch) -> Array:
        """Return the margins of some rows, shape (n, outputs)."""
        return np.asarray(batch.margins(self.geometry.parameters))

    def in_noise_units(self, moves: Array) -> Array:
        """Return moves of the parameters in units of the noise on what is published."""
        return self.geometry.in_noise_units(moves)

    def from_noise_units(self, moves: Array) -> Array:
        """Return moves of the parameters that are given in units of the noise."""
        whitening = self.geometry.whitening
        return np.asarray(moves / whitening if isinstance(whitening, float) else moves @ np.linalg.inv(whitening).T)

    @cached_property
    def refit(self) -> Refit:
        """Steps and refits with rows of single people exchanged."""
        return Refit(self.rows, self.geometry, self.penalty)

    def loss_in_noise_units(self) -> Array:
        """Return the Hessian of the sum of losses, without the penalty, of parameters in units of the noise."""
        hessian = np.linalg.inv(self.geometry.minimizer.hessian_inverse) - np.diag(self.penalty.T.ravel())
        unit = self.from_noise_units(np.eye(len(hessian)))
        return np.asarray(unit @ hessian @ unit.T)

    def rescaled(self, features: Array, weights: Array | None) -> tuple[Array, Array, Array]:
        """Return features behind a scaler fitted anew, and how coefficients there become those of the old features.

        Returns
        -------
        features : ndarray of shape (n, features)
        factors : ndarray of shape (features,)
            Of each coefficient.
        shares : ndarray of shape (features,)
            Share of each coefficient, before it is multiplied, that the intercept takes up.
        """
        features, scales = features.copy(), self.geometry.scales
        assert scales is not None
        factors, shares = np.ones(features.shape[1]), np.zeros(features.shape[1])
        for f in np.flatnonzero(scales.share):
            weight, factor, shift = weights if scales.weighted[f] else None, scales.factor[f], scales.shift[f]
            column = (features[:, f] - shift) / factor
            mean = np.average(column, weights=weight)
            deviation = np.sqrt(np.average((column - mean) ** 2, weights=weight)) if scales.deviates[f] else 1.0
            middle = mean if scales.centered[f] else 0.0
            features[:, f] = factor * (column - middle) / deviation + shift
            factors[f], shares[f] = 1 / deviation, shift - (factor * middle + shift) / deviation
        return features, factors, shares
