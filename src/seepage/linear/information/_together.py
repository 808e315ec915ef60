"""The exact minimizer with a value changed in several rows of a person at once, for many people.

Replacing k rows changes the Hessian by a matrix of rank 2k an output: with the rows that leave and those that come as
the columns of V, and their curvatures in E (eq. 4.3),

    (H + V E V^T)^-1 = H^-1 - H^-1 V (I + E N)^-1 E V^T H^-1,     N = V^T H^-1 V.

For squared loss one step with it is the refit. Otherwise steps follow with the gradient of all rows where the last one
led to, which is added up for many people in one pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from seepage.errors import UnansweredError
from seepage.execution.storage import Watch
from seepage.linear.information._changed_scales import ChangedScales
from seepage.linear.information._changed_shape import Swapped
from seepage.linear.information._refit import Exchange, Penalties, Refit, Refitted, Side, inverse
from seepage.linear.rows import Batch
from seepage.meaning import TwoNormals

Array = NDArray[np.float64]

# What is left of a move when it counts as found, as a share of it.
_SETTLED = 2e-9
_MOST_PASSES = 30
# A step that leaves more than this share of the last one is left to Newton's.
_SLOW = 0.5
# People whose refits are made side by side.
_PEOPLE = 256


def refitted_together(
    refit: Refit, people: Sequence[NDArray[np.intp]], attribute: str | None, value: object, watch: Watch
) -> tuple[Array, TwoNormals | None]:
    """Return how far apart what is published is, in units of its noise, and both releases if their noises differ.

    Parameters
    ----------
    refit : Refit
        Of the model.
    people : sequence of arrays of int
        The rows of each person in which the value changes.
    attribute : str or None
        The attribute; None is the label.
    value : object
        The value that it takes in all of them.
    watch : callable
        Is told how many more are done.
    """
    if people and attribute is None and refit.rows.reading.balance is not None:
        raise UnansweredError(
            "Balanced class weights move with every label, and refits that follow several labels of one person at once "
            "are not made. Fit with given class weights, or with one row a person."
        )
    distance = np.empty(len(people))
    pairs: dict[int, TwoNormals] = {}
    for start in range(0, len(people), _PEOPLE):
        some = people[start : start + _PEOPLE]
        rows, ends = np.concatenate(some), np.cumsum([len(each) for each in some])
        before, after = refit.rows.picked(rows), refit.rows.altered(rows, attribute, value)
        spans = [slice(end - len(each), end) for each, end in zip(some, ends.tolist(), strict=True)]
        gaps = np.add.reduceat(refit.gaps(before, after), [span.start for span in spans])
        for alike, around, first in refit.as_filled(gaps):
            changes = [_ChangeTogether.of(around, before.take(spans[i]), after.take(spans[i])) for i in alike]
            with np.errstate(all="ignore"):
                moves = first + _moves(around, changes)
            for i, change, move in zip(alike, changes, moves, strict=True):
                swapped = Swapped(before.take(spans[i]), after.take(spans[i]), np.zeros(len(some[i]), dtype=np.intp))
                at = np.array([start + i])
                found = Refitted(at, around, swapped, None, change.changed, move[None], move[None] - first)
                distance[at], pair = refit.distances(found.moves), refit.apart(found)
                if pair is not None:
                    pairs[start + i] = pair
        watch(len(some))
    if not pairs:
        return distance, None
    alone = TwoNormals(distance[:, None], np.ones((len(distance), 1)))
    together = TwoNormals.together([pairs.get(i, alone.take(slice(i, i + 1))) for i in range(len(people))])
    return together.distance(), together


def _moves(refit: Refit, changes: "list[_ChangeTogether]") -> Array:
    """Return each person's move, shape (people, outputs * p)."""
    active, loss, size = refit.active, refit.geometry.loss, refit.geometry.parameters.size
    if active is not None:
        return np.stack([change.exchange.with_kinks(active, change.absolute(active.absolute)) for change in changes])
    nowhere = np.zeros(size)
    moves = np.stack([change.step(change.pull(nowhere)) for change in changes])
    if loss.quadratic:
        return moves
    start = refit.geometry.parameters.T
    # Where the model is, the gradient of all rows is what rounding left of it.
    rest = refit.gradient(start[None])[0]
    previous, open_ = refit.distances(moves), np.arange(len(changes))
    for _ in range(_MOST_PASSES):
        gradient = refit.gradient(start + moves[open_].reshape(-1, *start.shape)) - rest
        steps = np.stack(
            [changes[i].step(each + changes[i].pull(moves[i])) for i, each in zip(open_, gradient, strict=True)]
        )
        moves[open_] += steps
        length = refit.distances(steps)
        rate = length / previous[open_]
        previous[open_] = length
        settled = (rate < _SLOW) & (length * rate <= _SETTLED * refit.distances(moves[open_]))
        lost = ~(rate < _SLOW)
        moves[open_[lost]] = np.nan
        open_ = open_[~settled & ~lost]
        if not len(open_):
            break
    moves[open_] = np.nan
    for i, change in enumerate(changes):
        if not np.isfinite(moves[i]).all() or change.flattened(moves[i]):
            moves[i] = change.exchange.newton()
    return moves


@dataclass(frozen=True, eq=False)
class _ChangeTogether:
    """The rows of one person that become others."""

    exchange: Exchange
    before: Side
    after: Side
    penalties: Penalties | None
    """On features whose scaler moves along."""

    @classmethod
    def of(cls, refit: Refit, before: Batch, after: Batch) -> "_ChangeTogether":
        changed = ChangedScales.of(refit.geometry.scales, before, after, together=True)
        penalties = None if changed is None else Penalties.of(changed, refit)
        penalty = refit.penalty if penalties is None else penalties.of_person(0, refit.penalty)
        sides = Side.of(before, refit.geometry), Side.of(after, refit.geometry)
        return cls(Exchange(refit, before, after, None, penalty), *sides, penalties)

    @property
    def changed(self) -> ChangedScales | None:
        """How the scaler moves, if it does."""
        return None if self.penalties is None else self.penalties.changed

    def absolute(self, absolute: Array) -> Array:
        """Return the penalties on absolute values in this data."""
        return absolute if self.changed is None else self.changed.absolute(0, absolute)

    def pull(self, move: Array) -> Array:
        """Return what the exchange adds to the gradient after a move."""
        geometry = self.exchange.refit.geometry
        shaped, total = move.reshape(geometry.outputs, -1), np.zeros((geometry.outputs, len(move) // geometry.outputs))
        for side, sign in ((self.before, -1.0), (self.after, 1.0)):
            margins = side.margins + side.records @ shaped.T
            slope = geometry.loss.slopes(margins[:, None, :], side.labels)[:, 0] * side.weights[:, None]
            total += sign * slope.T @ side.records
        found = total.ravel()
        if self.penalties is not None:
            at = self.penalties.places[0]
            found[at] += self.penalties.more[0] * (geometry.parameters.T.ravel() + move)[at]
        return found

    def step(self, gradient: Array) -> Array:
        """Return Newton's step from a gradient, by the Hessian where the model is."""
        lifted, inner = self._update
        plain = self.exchange.refit.geometry.hessian_inverse @ gradient
        return np.asarray(lifted.T @ (inner @ (lifted @ gradient)) - plain)

    @cached_property
    def _update(self) -> tuple[Array, Array]:
        """H^-1 V, transposed, and (I + E N)^-1 E."""
        geometry = self.exchange.refit.geometry
        outputs, whole = geometry.outputs, geometry.hessian_inverse
        records = np.concatenate([self.before.records, self.after.records])
        columns = np.concatenate([np.kron(np.eye(outputs), record) for record in records])
        curvature = block_diag(*-self.before.curvature, *self.after.curvature)
        if self.penalties is not None:
            columns = np.concatenate([columns, np.eye(len(whole))[self.penalties.places[0]]])
            curvature = block_diag(curvature, np.diag(self.penalties.more[0]))
        lifted = columns @ whole
        return lifted, inverse(np.eye(len(curvature)) + curvature @ (columns @ lifted.T)) @ curvature

    def flattened(self, move: Array) -> bool:
        """Return whether some row ends where the loss is flat: a gradient is zero there with and without end."""
        loss = self.exchange.refit.geometry.loss
        each = np.broadcast_to(
            move.reshape(loss.outputs, -1), (len(self.before.records), loss.outputs, len(move) // loss.outputs)
        )
        return bool((self.before.flattened(each, loss) | self.after.flattened(each, loss)).any())
