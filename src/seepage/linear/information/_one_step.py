"""How far the release moves when a record changes, without a refit: one Newton step, and a bound on what follows it.

The step is eq. 4.3. Of a loss whose third derivative is nowhere larger than its curvature, the slope of row i has
beyond its linear part at most  a_i g(|t_i|) t_i^2,  with t_i how far its margin moves and
g(t) = (e^t - 1 - t) / t^2. If the move is no longer than S then |t_i| <= h_i S, where h_i is the length of row i in the
metric of the inverse Hessian; so what follows the step is, in units of the noise, no longer than

    sum_i a_i g(h_i S) l_i t_i^2,     l_i = |Sigma^(-1/2) H^-1 x_i|,

a quadratic form of the move, one matrix for everybody (eqs. 4.8 to 4.11). A person costs a few products of vectors,
where a refit costs passes over all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh

from seepage.execution.storage import Watch
from seepage.linear.information._changed_scales import ChangedScales
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._nearby import Nearby
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch, in_threads

Array = NDArray[np.float64]

# How far the margin that moves most may go: everybody is bounded with the least of these that is enough for them.
_REACHES = (0.1, 0.3, 0.7, 1.4, 2.5, 4.5)
# How often the bound on what follows the step is put into itself.
_ROUNDS = 4
# What rounding may do to a length, as a share of those it is made of.
_ROUNDING = 1e-8


class Moved(NamedTuple):
    """How far a release moves with other values of some people: within `radius` of `distance`."""

    distance: Array
    """Shape (people, values)."""
    radius: Array


@dataclass(frozen=True, eq=False)
class _Level:
    """What holds of moves up to some length, in coordinates in which the Hessian is the identity."""

    reach: float
    """S, how long they are at most."""
    lost: float
    """The most that such a move takes from the curvature, in any direction."""
    seen: Array
    """sum_i a_i g(h_i S) l_i x_i x_i^T."""
    pulled: Array
    """sum_i a_i g(h_i S) h_i x_i x_i^T."""
    most_seen: float
    most_pulled: float
    """The largest eigenvalues of both."""


@dataclass(frozen=True, eq=False)
class OneStep:
    """Bounds how far a release moves when single records change."""

    near: Nearby
    """The objective of the unchanged data."""
    _forms: dict[tuple[int, int], tuple[Array, Array]] = field(default_factory=dict)
    """What each row is in the two forms of a level, by where its span starts."""

    @property
    def geometry(self) -> Geometry:
        return self.near.geometry

    @property
    def answers(self) -> bool:
        """Whether the bound holds of this model: a loss of one margin, with nothing but coefficients moving."""
        geometry = self.geometry
        return (
            geometry.loss.self_concordant
            and geometry.outputs == 1
            and geometry.shape is None
            and self.near.active is None
            and self.near.rows.reading.balance is None
            and not geometry.minimizer.undecided.size
        )

    def follows(self, before: Batch, after: Batch) -> bool:
        """Return whether a scaler or an imputer moves along with such changes, which is not bounded here."""
        scales = self.geometry.scales
        if scales is None:
            return False
        filled = after.columns(scales.filled) != before.columns(scales.filled)
        return bool(filled.any()) or ChangedScales.of(scales, before, after) is not None

    def moved(
        self, span: slice, attribute: str | None, values: Sequence[Any], truth: NDArray[np.intp], watch: Watch
    ) -> Moved | None:
        """Return how far the release moves with each of some values of everybody; None where that is not known.

        Parameters
        ----------
        span : slice
            Rows that are read at once.
        attribute : str or None
            The attribute; None for the label.
        values : sequence
            What it may become.
        truth : ndarray of int
            Which of these each row of the span has; -1 for none.
        watch : callable
            Is told how many are done.
        """
        rows = self._rows(self.near.read(span))
        found = Moved(np.zeros((len(truth), len(values))), np.zeros((len(truth), len(values))))
        for j, value in enumerate(values):
            after, others = self.near.rows.altered(span, attribute, value), truth != j
            if self.follows(rows.batch, after):
                return None
            with np.errstate(all="ignore"):
                changed = _Changed.of(rows.batch, after, self)
                step = _Step.of(rows, changed, after, self.geometry)
                radius = self._beyond(step, rows, changed, span.start)
            found.distance[others, j], found.radius[others, j] = step.length[others], radius[others]
            watch(int(others.sum()))
        return found

    def _beyond(self, step: "_Step", rows: "_StepRows", changed: "_Changed", start: int) -> Array:
        """Return how long what follows each step is at most; infinite where that is not known."""
        found, (numbers, longest) = np.full(len(step.length), np.inf), step.reached(self.levels)
        for number, level in enumerate(self.levels):
            people = np.flatnonzero(numbers == number)
            if not len(people):
                continue
            some = step.take(people)
            squares: list[Array] = []
            # The record that goes is in the forms, and not in the data that is left.
            gone = some.curvature_going * _bending(rows.own[people] * level.reach) * some.going**2
            for form, own, each in zip(
                (level.seen, level.pulled), self._own(rows, start, number), rows.both, strict=True
            ):
                pair = _Pair.of(
                    own[people], rows.upright, changed.upright, changed.upright @ form, people, changed.which[people]
                )
                squares.append(np.maximum(pair.square(some.own_weight, some.changed_weight) - gone * each[people], 0.0))
            found[people] = some.beyond(level, squares[0], squares[1], longest[people])
        return found + step.rounding

    def _own(self, rows: "_StepRows", start: int, number: int) -> tuple[Array, Array]:
        """Return the squares of rows in both forms of a level, which are the same for all attributes."""
        if (start, number) not in self._forms:
            level, upright = self.levels[number], rows.upright
            seen, pulled = (np.einsum("ij,ij->i", upright @ form, upright) for form in (level.seen, level.pulled))
            self._forms[start, number] = seen, pulled
        return self._forms[start, number]

    @cached_property
    def root(self) -> Array:
        """C^T with C^T C = H^-1, from rows to coordinates in which the Hessian is the identity."""
        values, vectors = np.linalg.eigh(self.geometry.hessian_inverse)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    @cached_property
    def lift(self) -> Array:
        """H^-1 Sigma^(-1/2), from rows to how far a pull on them moves the release, shape (p, published)."""
        return self.geometry.in_noise_units(self.geometry.hessian_inverse)

    def _rows(self, batch: Batch) -> "_StepRows":
        return _StepRows(batch, batch.project(self.root), batch.project(self.lift), *_derivatives(batch, self.geometry))

    @cached_property
    def levels(self) -> list[_Level]:
        """What everybody shares."""
        near, size = self.near, self.root.shape[1]

        def weighing(item: Any) -> _StepRows:
            rows = self._rows(near.known_of(item).batch)
            # What weighs nothing bends nothing, however long it is.
            return rows.take(np.flatnonzero(rows.curvature > 0))

        largest = max(float(rows.own.max(initial=0.0)) for rows in in_threads(weighing, near.items))
        reaches = [each / largest for each in _REACHES] if largest > 0 else []

        def sums(item: Any) -> Array:
            rows, found = weighing(item), np.empty((len(reaches), 3, size, size))
            for reach, of_reach in zip(reaches, found, strict=True):
                gone, bent = -np.expm1(-rows.own * reach), _bending(rows.own * reach)
                for at, share in zip(of_reach, (gone, bent * rows.pull, bent * rows.own), strict=True):
                    scaled = rows.upright * np.sqrt(rows.curvature * share)[:, None]
                    np.matmul(scaled.T, scaled, out=at)
            return found

        total = np.zeros((len(reaches), 3, size, size))
        for part in in_threads(sums, near.items):
            total += part
        return [
            _Level(reach, _largest(lost), seen, pulled, _largest(seen), _largest(pulled))
            for reach, (lost, seen, pulled) in zip(reaches, total, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class _StepRows:
    """Rows as they are, in coordinates in which the Hessian is the identity, and as far as a pull on them goes."""

    batch: Batch
    upright: Array
    lifted: Array
    slope: Array
    curvature: Array

    def take(self, rows: NDArray[np.intp]) -> "_StepRows":
        each = self.upright, self.lifted, self.slope, self.curvature
        return _StepRows(self.batch.take(rows), *(values[rows] for values in each))

    @cached_property
    def own(self) -> Array:
        """h, the length of each in the metric of the inverse Hessian."""
        return np.asarray(np.linalg.norm(self.upright, axis=1))

    @cached_property
    def pull(self) -> Array:
        """l, the length of how far a pull on each moves the release."""
        return np.asarray(np.linalg.norm(self.lifted, axis=1))

    @property
    def both(self) -> tuple[Array, Array]:
        """The factors l and h that rows have in the two forms of a level."""
        return self.pull, self.own


@dataclass(frozen=True, eq=False)
class _Changed:
    """The distinct changes of rows, in the same coordinates, and which of them each row has."""

    upright: Array
    lifted: Array
    which: NDArray[np.intp]

    @classmethod
    def of(cls, before: Batch, after: Batch, one: OneStep) -> "_Changed":
        change = sparse.csr_array(sparse.csr_array(after.features) - sparse.csr_array(before.features))
        change.eliminate_zeros()
        # Rows that differ have other images of some random numbers; that others are alike is looked at.
        key = change @ np.random.default_rng(0).normal(size=change.shape[1])
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        which = which.ravel()
        if (change - change[first[which]]).nnz == 0:
            change = change[first]
        else:
            which = np.arange(len(before))
        width = change.shape[1]
        return cls(np.asarray(change @ one.root[:width]), np.asarray(change @ one.lift[:width]), which)


class _Pair(NamedTuple):
    """Inner products, in some metric, of each record x with itself, with its change c, and of that with itself."""

    own: Array
    crossed: Array
    changed: Array

    @classmethod
    def of(
        cls,
        own: Array,
        rows: Array,
        changes: Array,
        measured: Array,
        people: NDArray[np.intp],
        which: NDArray[np.intp],
    ) -> "_Pair":
        """Return those of some people, `measured` being the distinct changes times the metric."""
        changed = np.einsum("ij,ij->i", changes, measured)
        return cls(own, _products(rows, measured, people, which), changed[which])

    def square(self, own: Array, changed: Array) -> Array:
        """Return the squared length of  own x + changed c."""
        found = own**2 * self.own + 2.0 * own * changed * self.crossed + changed**2 * self.changed
        return np.asarray(np.maximum(found, 0.0))

    def length(self, own: Array, changed: Array) -> Array:
        """Return the length of it."""
        return np.asarray(np.sqrt(self.square(own, changed)))


class _Step(NamedTuple):
    """The first Newton step with each person's record exchanged, and what bounds all that follow it.

    The record x goes and x' = x + c comes; H' is the Hessian with x' in the place of x, at the old minimizer.
    """

    own_weight: Array
    changed_weight: Array
    """The step is minus H^-1 times x and c with these weights."""
    length: Array
    """Of the step, in units of the noise."""
    decrement: Array
    """D, the length of the step in the metric of H'."""
    kept: Array
    """1 - a h^2, the share of the curvature of H that H' has at least in any direction."""
    leverage: Array
    """a' h'^2, what x' has of the curvature of H' in its own direction."""
    going: Array
    coming: Array
    """By how much the step moves the margins of x and x', up to sign."""
    curvature_going: Array
    curvature_coming: Array
    """a and a'."""
    coming_own: Array
    """h', the length of x' in the metric of the inverse of H'."""
    coming_pull: Array
    """How far a pull on x' moves the release with H'."""
    mixed: Array
    """By how much more a pull on any row moves it with H' than with H, for each unit of that row's h."""
    rounding: Array

    @classmethod
    def of(cls, rows: _StepRows, changed: _Changed, after: Batch, geometry: Geometry) -> "_Step":
        """Return eq. 4.3 of every row, with V = [x, x'] and E = diag(-a, b) solved by hand."""
        every = np.arange(len(rows.slope))
        metric = _Pair.of(rows.own**2, rows.upright, changed.upright, changed.upright, every, changed.which)
        noise = _Pair.of(rows.pull**2, rows.lifted, changed.lifted, changed.lifted, every, changed.which)
        (r, a), (s, b) = (rows.slope, rows.curvature), _derivatives(after, geometry)
        # N = V^T H^-1 V = [[n, m], [m, o]], and (1 + E N)^-1 = [[i, j], [k, q]].
        n, m = metric.own, metric.own + metric.crossed
        o = np.maximum(m + metric.crossed + metric.changed, 0.0)
        determinant = (1 - a * n) * (1 + b * o) + a * b * m**2
        i, j, k, q = (part / determinant for part in (1 + b * o, a * m, -b * m, 1 - a * n))
        x, y = -r * i + s * j, -r * k + s * q
        going, coming = n * x + m * y, m * x + o * y
        new = np.maximum(m * j + o * q, 0.0)
        pulls = noise.length(i + k, k), noise.length(j + q, q)
        return cls(
            own_weight=x + y,
            changed_weight=y,
            length=noise.length(x + y, y),
            decrement=np.sqrt(np.maximum(s * coming - r * going, 0.0)),
            kept=1 - a * n,
            leverage=b * new,
            going=going,
            coming=coming,
            curvature_going=a,
            curvature_coming=b,
            coming_own=np.sqrt(new),
            coming_pull=pulls[1],
            mixed=pulls[0] * a * np.sqrt(n) + pulls[1] * b * np.sqrt(o),
            rounding=_ROUNDING * (np.abs(x) * rows.pull + np.abs(y) * noise.length(np.ones_like(y), np.ones_like(y))),
        )

    def take(self, people: NDArray[np.intp]) -> "_Step":
        return _Step(*(each[people] for each in self))

    def reached(self, levels: Sequence[_Level]) -> tuple[NDArray[np.intp], Array]:
        """Return the first level that is enough for each move, and how long the whole move is at most (eq. 4.9)."""
        number, longest = np.full(len(self.length), -1, dtype=np.intp), np.full(len(self.length), np.nan)
        for i, level in reversed(list(enumerate(levels))):
            length = level.reach * np.sqrt(self.kept)
            share = 1 - level.lost / self.kept + np.expm1(-self.coming_own * length) * self.leverage
            enough = (self.kept > 0) & (share > 0) & (share * length >= self.decrement)
            number[enough], longest[enough] = i, (self.decrement / share)[enough]
        return number, longest

    def beyond(self, level: _Level, seen: Array, pulled: Array, longest: Array) -> Array:
        """Return how long what follows the step is at most, in units of the noise (eqs. 4.10 and 4.11).

        Parameters
        ----------
        level : _Level
            One that is enough for these moves.
        seen, pulled : ndarray
            The squared lengths of the steps in its two forms, without what the records that go have of them.
        longest : ndarray
            How long the whole moves are at most, in the metric of H'.
        """
        h, bent = self.coming_own, self.curvature_coming * _bending(self.coming_own * longest)
        stretch, seen, pulled = 1 / np.sqrt(self.kept), np.sqrt(seen), np.sqrt(pulled)
        most_seen, most_pulled = (stretch * np.sqrt(each) for each in (level.most_seen, level.most_pulled))
        # In the metric of H': at first with the whole move in the place of the step and what follows it.
        rest = stretch * (most_pulled * longest) ** 2 + bent * h * (h * longest) ** 2
        for _ in range(_ROUNDS):
            whole = stretch * (pulled + most_pulled * rest) ** 2 + bent * h * (np.abs(self.coming) + h * rest) ** 2
            rest = np.minimum(rest, whole)
        others = (seen + most_seen * rest) ** 2 + self.mixed * (pulled + most_pulled * rest) ** 2
        return np.asarray(others + bent * self.coming_pull * (np.abs(self.coming) + h * rest) ** 2)


def _derivatives(batch: Batch, geometry: Geometry) -> tuple[Array, Array]:
    slope, curvature, _ = derivatives(batch, geometry.loss, batch.margins(geometry.parameters))
    return slope[:, 0], curvature[:, 0, 0]


def _bending(t: Array) -> Array:
    """Return g(t) = (e^t - 1 - t) / t^2, from zero on."""
    small = t < 1e-3
    far = np.where(small, 1.0, t)
    return np.where(small, 0.5 + t / 6 + t**2 / 23, (np.expm1(far) - far) / far**2)


def _largest(matrix: Array) -> float:
    last = len(matrix) - 1
    found = eigh(matrix, eigvals_only=True, subset_by_index=[last, last])[0]
    return float(found) * (1 + _ROUNDING)


@numba.njit(cache=True, nogil=True, fastmath=True)
def _products(left, right, rows, which):  # type: ignore[no-untyped-def]
    """Return the inner products of some rows of the one with some rows of the other."""
    found = np.empty(len(rows))
    for i in range(len(rows)):
        one, two, total = left[rows[i]], right[which[i]], 0.0
        for k in range(one.shape[0]):
            total += one[k] * two[k]
        found[i] = total
    return found
