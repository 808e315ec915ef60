"""Whether some parameters may grow without end, so that a loss has no minimizer.

The loss of a row may only ever fall while its margins move one way: that of a label 1 while the log odds rise, that of
a count of 0 while the rate falls. If a direction d of the parameters moves no row's margins otherwise, and some row's
at all, the objective falls along d from wherever one stands: its gradient is zero nowhere (eq. 4.7). Where there is no
such direction a convex loss has a minimizer, however far away. To find one is a linear program,

    maximize  sum_i c_i (x_i d)     such that  c_i (x_i d) >= 0  for rows with a way c_i to fall,
                                               x_i d = 0         for all others,     |d| <= 1,

which is solved over a few rows; those that its answer moves the wrong way are added, until there are none of them, or
nothing but d = 0 is left.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from seepage._python import Self
from seepage._tables import Array
from seepage.errors import MinimizerError
from seepage.linear.objective._losses import Additive, Loss, Nothing
from seepage.linear.rows import Batch, Frame

# Movements of rows next to the sizes of what they are sums of: below this they are rounding.
_NOTHING = 1e-9
_NOTHING_SINGLE = 1e-5
# A sum over rows, next to the sum of its sizes.
_ROUNDING = 1e-12
# A curvature, next to one: where none is below it no row is on its way to infinity.
_FADED = 1e-3
# How many numbers of rows the program is given at a time, and how often.
_NUMBERS, _FEWEST, _MOST_ROUNDS = 200_000, 256, 100
# An answer of the program that is not at its bounds is what its tolerance leaves of zero.
_AT_BOUNDS = 0.5
# The parts of a direction, next to its largest, that are worth a name.
_PART, _MOST_NAMES = 0.01, 6
_TOLERANCE = 1e-10


def no_minimizer(direction: Array, names: Sequence[str], estimator: str) -> MinimizerError:
    """Return the error that names the columns of a direction along which the objective falls forever."""
    return MinimizerError(
        f"This {estimator} has no minimizer: {who_tells(direction, names)} the labels of some people without an error, "
        "so that coefficients grow without limit. Merge rare levels, drop columns, or fit with a penalty."
    )


def who_tells(direction: Array, names: Sequence[str]) -> str:
    """Name the columns that a direction of shape (p, outputs), in units of their sizes, is made of."""
    size = np.abs(direction).max(axis=1)
    guilty = [names[i] for i in np.argsort(-size, kind="stable") if size[i] > _PART * size.max()]
    guilty = [name for name in guilty if name != "(intercept)"] or guilty
    listed = ", ".join(map(repr, guilty[:_MOST_NAMES])) + (", ..." if len(guilty) > _MOST_NAMES else "")
    return f"{listed} alone tells" if len(guilty) == 1 else f"some combination of {listed} tells"


@dataclass(frozen=True, eq=False)
class _SeenRows(Additive):
    """What is known of all rows."""

    squares: Array
    """Of each column, shape (p,)."""
    pull: Array
    """The sum over rows of x c^T, shape (p, outputs)."""
    sizes: Array
    """The sum of its absolute values."""
    gram: Array
    """X^T W X in another frame, with the weights of rows."""
    count: int


@dataclass(frozen=True, eq=False)
class _Looking:
    """Adds up what the program's objective needs; holds no rows, so that it can travel."""

    loss: Loss
    frame: Frame
    turned: Frame | None

    def __call__(self, batch: Batch) -> _SeenRows:
        given = _weighing(batch)
        rows = self.frame.rows(given)
        cone, held = _cone(self.loss, rows.labels)
        way = np.where(held[:, :, None], 0.0, cone).sum(axis=1)
        sized = _sizes(rows)
        gram = np.zeros((0, 0))
        if self.turned is not None:
            gram = sum((part.gram(part.every_weight) for part in self.turned.parts(given)), start=np.zeros(()))
        return _SeenRows(
            squares=np.asarray(sized.gram(np.ones(len(rows))).diagonal()).copy(),
            pull=rows.total(way),
            sizes=sized.total(np.abs(way)),
            gram=gram,
            count=len(rows),
        )


@dataclass(frozen=True, eq=False)
class Cuts:
    """Rows that a direction moves the wrong way: what the program must hold at or above zero, and at zero."""

    cuts: Array
    """Shape (cuts, p, outputs)."""
    held: NDArray[np.bool_]
    amounts: Array
    """By how much, as shares of the size of each."""
    most: int
    gain: float
    """The furthest that any row is moved the right way, as a share."""

    def __add__(self, other: "Self | Nothing") -> "Cuts":
        if isinstance(other, Nothing):
            return self
        amounts = np.concatenate([self.amounts, other.amounts])
        kept = chosen(amounts, self.most)
        cuts, held = np.concatenate([self.cuts, other.cuts])[kept], np.concatenate([self.held, other.held])[kept]
        return Cuts(cuts, held, amounts[kept], self.most, max(self.gain, other.gain))


@dataclass(frozen=True, eq=False)
class _Cutting:
    """Finds the rows that a direction moves the wrong way; holds no rows."""

    loss: Loss
    frame: Frame
    direction: Array
    nothing: float
    most: int

    def __call__(self, batch: Batch) -> Cuts:
        rows = self.frame.rows(_weighing(batch))
        cone, held = _cone(self.loss, rows.labels)
        along = np.einsum("nko,no->nk", cone, rows.project(self.direction))
        size = np.einsum("nko,no->nk", np.abs(cone), _sizes(rows).project(np.abs(self.direction)))
        share = along / np.maximum(size, 1e-300)
        wrong = np.where(held, np.abs(share), -share)
        row, side = np.nonzero(wrong > self.nothing)
        kept = chosen(wrong[row, side], self.most)
        row, side = row[kept], side[kept]
        features = rows.take(row).augmented()
        cuts = features[:, :, None] * cone[row, side][:, None, :]
        gain = float(np.where(held, 0.0, share).max(initial=0.0))
        return Cuts(cuts, held[row, side], wrong[row, side], self.most, gain)


def escape_of(
    loss: Loss,
    free: NDArray[np.bool_],
    passes: Callable[[Callable[[Batch], object]], object],
    frame: Frame,
    *,
    turned: tuple[Frame, Array] | None = None,
    single: bool = False,
) -> Array | None:
    """Return a direction along which the objective falls forever, of one column if one is enough; None without any.

    It has the shape (p, outputs), in units of the size of each column.

    Parameters
    ----------
    loss : Loss
        Of each row.
    free : ndarray of bool, shape (p, outputs)
        Which parameters have no penalty.
    passes : callable
        Adds a function of batches up over all rows.
    frame : Frame
        A center to look at the rows from, without axes.
    turned : (Frame, ndarray), optional
        The frame in which a minimizer seems to have been found, and the inverse of the Hessian there: if that is not
        nearly flat in any direction, nothing more is looked at.
    single : bool, default=False
        Whether features were computed in single precision.
    """
    if not free.any() or loss.falling(np.zeros((0, loss.outputs))) is None:
        return None
    seen = passes(_Looking(loss, frame, None if turned is None else turned[0]))
    assert isinstance(seen, _SeenRows)
    if not seen.count or (turned is not None and not _flat(turned[1], seen)):
        return None
    nothing = _NOTHING_SINGLE if single else _NOTHING

    def wrong(direction: Array, most: int) -> Cuts:
        cuts = passes(_Cutting(loss, frame, direction, nothing, most))
        assert isinstance(cuts, Cuts)
        return cuts

    scale = np.sqrt(np.maximum(seen.squares / seen.count, 0.0))
    search = Search(wrong, seen.pull, scale, nothing, _ROUNDING * seen.sizes)
    found = search.over(free)
    if found is None:
        return None
    size = np.abs(found).max(axis=1)
    for column in np.argsort(-size, kind="stable")[:_MOST_NAMES]:
        alone = np.zeros_like(free)
        # The intercept, if there is one, says at which value of the column labels change.
        alone[[column, -1]] = True
        fewer = search.over(free & alone)
        if fewer is not None:
            return fewer
    return found


class Search:
    """The program, over what was ever moved the wrong way.

    Parameters
    ----------
    against : callable
        Returns what a direction moves the wrong way, at most so many.
    aim : ndarray of shape (p, outputs)
        What a direction should have most of.
    scale : ndarray of shape (p,)
        The sizes of the columns.
    nothing : float
        What is rounding of a movement, as a share.
    rounding : ndarray of shape (p, outputs)
        What is rounding of the aim.
    """

    def __init__(
        self, against: Callable[[Array, int], Cuts], aim: Array, scale: Array, nothing: float, rounding: Array
    ) -> None:
        self.against, self.aim, self.scale, self.nothing, self.rounding = against, aim, scale, nothing, rounding
        self.cuts = np.empty((0, *aim.shape))
        self.held = np.empty(0, dtype=bool)

    def over(self, free: NDArray[np.bool_]) -> Array | None:
        """Return an escape of some parameters alone, in units of the sizes of their columns."""
        free = free & (self.scale > 0)[:, None]
        for _ in range(_MOST_ROUNDS):
            answer = self._answer(free)
            if answer is None:
                return None
            direction = answer / np.where(self.scale > 0, self.scale, 1.0)[:, None]
            found = self.against(direction, max(_NUMBERS // direction.size, _FEWEST))
            if not len(found.amounts):
                return answer if found.gain > self.nothing else None
            self.cuts, self.held = np.concatenate([self.cuts, found.cuts]), np.concatenate([self.held, found.held])
        return None

    def _answer(self, free: NDArray[np.bool_]) -> Array | None:
        """Return the program's answer over the rows so far; None if that is zero."""
        if not free.any():
            return None
        scale = np.where(self.scale > 0, self.scale, 1.0)[:, None]
        aim, rounding, cuts = (self.aim / scale)[free], (self.rounding / scale)[free], (self.cuts / scale)[:, free]
        largest = np.abs(cuts).max(axis=1, initial=0.0)
        # A row that has nothing of these parameters says nothing of them.
        told = largest > 0
        cuts, held = cuts[told] / largest[told, None], self.held[told]
        unit = max(float(np.abs(aim).max()), 1e-300)
        found = linprog(
            -aim / unit,
            A_ub=-cuts[~held] if (~held).any() else None,
            b_ub=np.zeros(int((~held).sum())) if (~held).any() else None,
            A_eq=cuts[held] if held.any() else None,
            b_eq=np.zeros(int(held.sum())) if held.any() else None,
            bounds=(-1.0, 1.0),
            method="highs",
            options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
        )
        if found.status != 0 or np.abs(found.x).max() < _AT_BOUNDS:
            return None
        if float(aim @ found.x) <= float(rounding @ np.abs(found.x)):
            return None
        answer = np.zeros(free.shape)
        answer[free] = found.x
        return answer


def _flat(inverse: Array, seen: _SeenRows) -> bool:
    """Return whether the Hessian is nearly zero in a direction in which the rows are not: max H^-1 X^T W X."""
    q = len(seen.gram)
    outputs = len(inverse) // q
    product = np.einsum("cidj,jk->cidk", inverse.reshape(outputs, q, outputs, q), seen.gram).reshape(inverse.shape)
    return bool(np.abs(np.linalg.eigvals(product)).max() * _FADED >= 1.0)


def _weighing(batch: Batch) -> Batch:
    """Return the rows that weigh something."""
    return batch if batch.weights is None else batch.take(batch.weights > 0)


def _cone(loss: Loss, labels: Array) -> tuple[Array, NDArray[np.bool_]]:
    found = loss.falling(labels)
    assert found is not None
    return found


def _sizes(batch: Batch) -> Batch:
    return Batch(abs(batch.features), batch.labels, None, batch.intercept)


def chosen(amounts: Array, most: int) -> NDArray[np.intp]:
    """Return some of many: half of them the largest, and half from everywhere."""
    if len(amounts) <= most:
        return np.arange(len(amounts))
    order = np.argsort(-amounts, kind="stable")
    rest = order[most // 2 :]
    return np.asarray(
        np.concatenate([order[: most // 2], rest[np.linspace(0, len(rest) - 1, most - most // 2).astype(int)]])
    )
