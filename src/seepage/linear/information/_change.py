"""Many changes of some rows, each in data of its own, and the exact minimizer with each.

Replacing rows x by x' changes the Hessian by a matrix of rank two per row and output, and the gradient by a vector in
the same span: with V = [x, x'], E = diag(-a, a') and e = [-r, r'] (eq. 4.3),

    (H + V E V^T)^-1 V e = H^-1 V (I + E N)^-1 e,     N = V^T H^-1 V.

For squared loss that one step is the refit. Otherwise the move d solves (eq. 4.4)

    (H + V E V^T) d = -(V e + R(d)),

where R, what the gradient over all rows has beyond its linear part, is small. Iterating d contracts by the order of the
change itself. The few people whose rows move the model far, so that it does not contract, are refitted one by one.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh

from seepage.errors import MinimizerError
from seepage.linear.information._changed_scales import ChangedScales
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._nearby import Nearby
from seepage.linear.objective import (
    ActiveSet,
    Minimizer,
    NewtonSums,
    Problem,
    Smooth,
    VectorLoss,
    derivatives,
    in_units,
    minimize,
    newton_sums,
    settled_signs,
)
from seepage.linear.rows import Batch, Frame

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
# A curvature, next to that before the refit, of parameters that are on their way to infinity: there is no minimizer.
_FADED = 1e-8
# The curvature of one record, likewise: it may be on its way, which a closer look will tell.
_FLAT = 1e-3
# One over what a record's leverage leaves, beyond which its absence leaves nothing but rounding.
_SINGULAR = 1e10
# Beyond its bound by this share of it, the gradient of a coefficient at zero is not there by rounding.
_BEYOND = 1e-9


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
    def of(cls, changed: ChangedScales, near: Nearby) -> "Penalties":
        theta = near.geometry.parameters
        p, outputs = theta.shape
        places = (changed.features[:, :, None] + p * np.arange(outputs)).reshape(len(changed.features), -1)
        more = changed.penalties(near.penalty).reshape(places.shape)
        slope = more * theta.T.ravel()[places]
        if near.active is not None:
            slope += (near.active.absolute * near.active.signs)[changed.features] * (changed.stretch - 1.0)
        return cls(places, more, slope, changed)

    def take(self, people: NDArray[np.bool_]) -> "Penalties":
        return Penalties(self.places[people], self.more[people], self.slope[people], self.changed.take(people))

    def seen(self, vectors: Array) -> Array:
        """Return the entries of vectors, shape (n, outputs * p, m), at these places."""
        return np.take_along_axis(vectors, self.places[:, :, None], axis=1)


@dataclass(frozen=True, eq=False)
class Change:
    """Many changes of k rows each, every one with its own low-rank update of one Hessian."""

    near: Nearby
    batches: tuple[Batch, Batch]
    """Of all people that were asked for."""
    before: Side
    after: Side
    factors: Array | None
    penalties: Penalties | None
    """On features whose scaler moves along."""
    lifted: Array
    """H^-1 V, shape (n, directions, outputs * p): two an output and row, and the features whose penalty changes."""
    inner: Array
    """(I + E N)^-1, shape (n, directions, directions)."""

    @classmethod
    def of(
        cls, before: Batch, after: Batch, rows: int, factors: Array | None, penalties: Penalties | None, near: Nearby
    ) -> "Change":
        geometry = near.geometry
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
        return cls(near, batches, *sides, factors, penalties, lifted, inner)

    def take(self, people: NDArray[np.bool_]) -> "Change":
        factors = None if self.factors is None else self.factors[people]
        penalties = None if self.penalties is None else self.penalties.take(people)
        sides = self.before.take(people), self.after.take(people)
        return Change(self.near, self.batches, *sides, factors, penalties, self.lifted[people], self.inner[people])

    def found(self) -> Array:
        """Return each person's move."""
        first = self._next(None, np.zeros_like(self.before.slope), np.zeros_like(self.after.slope))
        if self.factors is None and self.near.geometry.loss.quadratic:
            return first
        moved, unsettled = self._settle(first)
        unsettled = np.union1d(unsettled, np.flatnonzero(self._far(moved)))
        for person in unsettled:
            # With kinks nearby, who does not settle is refitted with them.
            moved[person] = self._of_person(int(person)).newton() if self.near.active is None else np.nan
        return moved

    def _shaped(self, moves: Array) -> Array:
        return moves.reshape(len(moves), self.near.geometry.outputs, -1)

    def _far(self, moves: Array) -> NDArray[np.bool_]:
        """Return whose exchanged records end where the loss is flat: there a gradient is zero with and without end."""
        shaped, loss = self._shaped(moves), self.near.geometry.loss
        return self.before.flattened(shaped, loss) | self.after.flattened(shaped, loss)

    def past_kinks(self, moves: Array, active: ActiveSet) -> Array:
        """Return the moves of a model whose penalty has kinks: those that came past one are refitted with it.

        Within the active set a refit is right as long as no coefficient there changes sign, and no gradient outside
        goes beyond its bound (eq. 2.26).
        """
        theta, signed = self.near.geometry.parameters[:, 0] + moves, active.signs != 0
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
        near, loss, shaped = self.near, self.near.geometry.loss, self._shaped(moves)
        found = active.gradient + moves @ active.hessian
        if self.factors is not None or not loss.quadratic:
            found += near.beyond(shaped, self.factors)
        for side, sign in ((self.before, -1.0), (self.after, 1.0)):
            found += sign * np.einsum("nk,nka->na", side.slopes(shaped, loss)[:, :, 0], side.records)
        return np.asarray(found)

    def _of_person(self, person: int) -> "Exchange":
        """Return one person's change by itself."""
        penalty = self.near.penalty
        if self.penalties is not None:
            penalty = self.penalties.changed.penalty(person, penalty)
        rows = self.before.records.shape[1]
        before, after = (batch.take(slice(person * rows, (person + 1) * rows)) for batch in self.batches)
        factors = None if self.factors is None else self.factors[person]
        return Exchange(self.near, before, after, factors, penalty)

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
        z = beyond @ self.near.geometry.hessian_inverse
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
        change, lengths, loss, shape = self, self.near.geometry.lengths, self.near.geometry.loss, self._shaped
        found, people, lost = np.empty_like(first), np.arange(len(first)), []
        image, gap = first, first
        reach = previous = lengths(first)
        here = self._foreseen(first)
        # How much of a step the next one leaves is at first guessed from how far the records' own margins move.
        own = (side.seen(shape(first)) for side in (self.before, self.after))
        slowest = np.minimum(np.abs(np.concatenate([*own], axis=1)).max(axis=(1, 2)) / 4, 0.5)
        rounding = _ROUNDING * lengths(self.near.geometry.parameters.T.reshape(1, -1))
        for number in range(_MOST_PASSES):
            own = (side.beyond(shape(here), loss) for side in (change.before, change.after))
            now = change._next(self.near.beyond(shape(here), change.factors), *own)
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
        cubic, n, loss = self.near.cubic, len(first), self.near.geometry.loss
        if cubic is None or self.factors is not None:
            return first
        here, lengths = first, self.near.geometry.lengths
        for _ in range(2):
            square = np.matmul((here @ cubic).reshape(n, len(cubic), -1), here[:, :, None])[:, :, 0]
            own = (side.beyond(here[:, None, :], loss) for side in (self.before, self.after))
            here = self._next(square, *own)
        # Far away a square says nothing.
        return np.where((lengths(here - first) < 0.1 * lengths(first))[:, None], here, first)


@dataclass(frozen=True, eq=False)
class Exchange:
    """Some rows that are exchanged for others in one set of data, which is refitted by itself."""

    near: Nearby
    before: Batch
    after: Batch
    factors: Array | None
    """Of class weights."""
    penalty: Array
    """All of that data, shape (p, outputs)."""

    def with_kinks(self, active: ActiveSet, absolute: Array) -> Array:
        """Refit with whatever coefficients come to zero or leave it; NaN where that fails."""
        near, before, after, factors, penalty = self.near, self.before, self.after, self.factors, self.penalty
        start = near.geometry.parameters[:, 0]
        quadratic = near.geometry.loss.quadratic and factors is None
        if quadratic:
            old, new = (newton_sums(batch, near.geometry.loss, start[:, None], Frame()) for batch in (before, after))
            more = (penalty - near.penalty)[:, 0]
            slope = active.gradient + (new.gradient - old.gradient)[:, 0] + more * start
            bend = active.hessian + new.hessian - old.hessian + np.diag(more)

        def smooth(theta: Array) -> Smooth:
            if quadratic:
                step = theta - start
                return Smooth(float(step @ slope + 0.5 * step @ bend @ step), slope + bend @ step, bend)
            return Smooth.of(near.sums(theta[:, None], before, after, factors), penalty[:, 0], theta)

        found = settled_signs(smooth, absolute, start, quadratic=quadratic)
        return np.full(len(start), np.nan) if found is None else found - start

    def newton(self) -> Array:
        """Refit by damped Newton steps; NaN where they find no minimizer."""
        near, geometry = self.near, self.near.geometry
        start, old = geometry.parameters, geometry.minimizer
        problem = Problem(
            old.estimator,
            geometry.loss,
            start,
            self.penalty,
            np.zeros_like(start),
            self.before.intercept,
            near.rows.reading.labels,
            np.eye(geometry.outputs),
            free=old.free,
            beside=old.beside,
        )

        def evaluate(position: Array, frame: Frame) -> NewtonSums:
            return near.sums(position, self.before, self.after, self.factors, frame)

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
    now, then = (in_units(matrix, then.diagonal())[0] for matrix in (now, then))
    last = [len(then) - 1, len(then) - 1]
    try:
        return bool(eigh(now, then, eigvals_only=True, subset_by_index=last)[0] * _FADED > 1.0)
    except (LinAlgError, ValueError):
        return True


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
