"""The other people as noise: what a release says about one person to somebody who knows only a part of the others.

To first order every printed number is a constant plus a sum over people of what each of them moves it by. Of m people
who are not known that sum scatters with m times the covariance of one, so that with J, how the numbers move with one
person's values, and noise of covariance Sigma that was added to them besides,

    I = J^T ((m - q - 1) C + Sigma)^-1 J        (eq. 12.1)

C is the covariance of what the others move: the person is left out of it (eq. 12.2). The q + 1 are taken off because
few people are known better than their mean says. Sums of skewed numbers say more than normal ones of their covariance,
by half the square of their third cumulants (eq. 12.3), in which added noise has no part.

Of everybody only sums are needed, in two passes: squares tell the directions in which the numbers scatter, and along
these squares and cubes are added up once more, so that no digits are lost where numbers nearly determine each other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers._slopes import Slopes

Sums = TypeVar("Sums")

# Printed numbers that others determine carry nothing more: squares of what is left of them, scaled to one.
_DETERMINED = 1e-12
# Squares that are no more than what rounding leaves of them.
_ROUNDING = 1e-14
# A person without whom nobody else moves the numbers in some direction: nothing is left there once they are left out.
_ALONE = 1e-10
# Squares lose the digits of a condition twice: up to here they are not missed.
_SQUARED = 1e3
# Whose part of the noise is looked at one by one: so many people at least, and so many times the numbers.
_FEW_OF_MANY, _A_RANK = 256, 8
# Rows that are added up at once stay in a core's cache.
_ROWS = 2048


class Moves(Protocol):
    """How much each person moves each number, wherever that is."""

    @property
    def count(self) -> int:
        """How many people there are."""
        ...

    def of(self, people: NDArray[np.intp]) -> Array:
        """Return those of some people, by their places."""
        ...

    def total(self, of: Callable[[Array], Sums]) -> Sums:
        """Add up a function of some people's moves, shape (people, numbers), over all."""
        ...


@dataclass(frozen=True, eq=False)
class Held:
    """Moves that are in memory."""

    values: Array

    @property
    def count(self) -> int:
        return len(self.values)

    def of(self, people: NDArray[np.intp]) -> Array:
        return np.asarray(self.values[people])

    def total(self, of: Callable[[Array], Sums]) -> Sums:
        return reduce(add, (of(self.values[at : at + _ROWS]) for at in range(0, self.count, _ROWS)))


@dataclass(frozen=True, eq=False)
class _Elsewhere:
    """Moves that are left where they are."""

    count: int

    def of(self, people: NDArray[np.intp]) -> Array:
        raise NotImplementedError

    def total(self, of: Callable[[Array], Sums]) -> Sums:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Scatter:
    """The mean of moves, and the sums of their squares about it."""

    count: int
    mean: Array
    squares: Array

    @classmethod
    def of(cls, moves: Array, *, modeled: bool) -> "Scatter":
        """Look at some people; what is modeled has the mean zero."""
        mean = np.zeros(moves.shape[1]) if modeled else moves.mean(axis=0)
        centered = moves - mean
        return cls(len(moves), mean, centered.T @ centered)

    def __add__(self, other: "Scatter") -> "Scatter":
        # Chan, Golub and LeVeque (1983): nothing cancels however far from zero the moves are.
        count, gap = self.count + other.count, other.mean - self.mean
        between = np.outer(gap, gap) * (self.count * other.count / count)
        return Scatter(count, self.mean + gap * (other.count / count), self.squares + other.squares + between)


@dataclass(frozen=True, eq=False)
class Cubes:
    """Squares and cubes of moves along the directions in which they scatter."""

    squares: Array
    cubes: Array
    """Shape (directions, directions, directions); each product of three is there once, others are zero."""
    largest: Array
    """The two largest lengths, squared."""

    @classmethod
    def of(cls, moves: Array, *, mean: Array, directions: Array) -> "Cubes":
        """Look at some people."""
        found = (moves - mean) @ directions
        size = found.shape[1]
        cubes = np.zeros((size, size, size))
        columns = np.ascontiguousarray(found.T)
        for b in range(size):
            cubes[: b + 1, b, b:] = (columns[: b + 1] * columns[b]) @ found[:, b:]
        lengths = np.pad(np.einsum("nd,nd->n", found, found), (2, 0))
        return cls(found.T @ found, cubes, np.partition(lengths, -2)[-2:])

    def __add__(self, other: "Cubes") -> "Cubes":
        largest = np.partition(np.concatenate([self.largest, other.largest]), -2)[-2:]
        return Cubes(self.squares + other.squares, self.cubes + other.cubes, largest)

    def whole(self) -> Array:
        """Return the cubes in every order."""
        at = np.sort(np.indices(self.cubes.shape).reshape(3, -1), axis=0)
        return np.asarray(self.cubes[tuple(at)].reshape(self.cubes.shape))


@dataclass(frozen=True, eq=False)
class Crowd:
    """How independent people, or families, move the numbers that are printed."""

    moves: Moves
    noise: Array | None = None
    """The covariance of what is added to the numbers, if something is."""
    modeled: bool = False
    """Whether moves are the deviations of what each may do, by a model of it, rather than what each did."""

    @property
    def count(self) -> int:
        return self.moves.count

    @cached_property
    def scatter(self) -> Scatter:
        """What everybody moves, and by how much that scatters."""
        return self.moves.total(partial(Scatter.of, modeled=self.modeled))

    @cached_property
    def rank(self) -> int:
        """How many of the numbers are not determined by the others."""
        return int(self._directions(1.0, None)[1].shape[1])

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        """Directions along which all squares add up to one, nearly; and the way back, shape (directions, numbers)."""
        squares = self.scatter.squares
        sizes = np.sqrt(squares.diagonal())
        sizes = np.where(sizes == 0.0, 1.0, sizes)
        values, vectors = np.linalg.eigh(squares / sizes / sizes[:, None])
        kept = values > _ROUNDING * max(values[-1], 1e-300)
        roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
        return vectors / roots / sizes[:, None], (vectors * roots).T * sizes

    @cached_property
    def cubes(self) -> Cubes:
        """Squares and cubes along these directions."""
        return self.moves.total(partial(Cubes.of, mean=self.scatter.mean, directions=self._axes[0]))

    @cached_property
    def _triangle(self) -> Array:
        """R with R^T R the sum of squares: what everybody moves, as far as it scatters."""
        found = np.linalg.cholesky(self.cubes.squares).T @ self._axes[1]
        # What nobody moves does not scatter, not even by what rounding leaves: it would be scaled to one.
        return np.where(self.scatter.squares.diagonal() == 0.0, 0.0, found)

    def _directions(self, share: float, noise: Array | None) -> tuple[Array, Array, Array]:
        """Return the numbers' scales, and a basis in which  share * sum c c^T + noise  is the identity.

        Also a basis of what is left over, in which nothing scatters.
        """
        scattered = np.sqrt(share) * self._triangle
        if noise is not None:
            values, vectors = np.linalg.eigh(noise)
            scattered = np.vstack([scattered, (vectors * np.sqrt(np.maximum(values, 0.0))).T])
        scale = np.sqrt((scattered**2).sum(axis=0))
        scale[scale == 0.0] = 1.0
        _, sizes, axes = np.linalg.svd(scattered / scale)
        sizes = np.pad(sizes, (0, len(axes) - len(sizes)))
        kept = sizes**2 > _DETERMINED * max(sizes.max(initial=0.0) ** 2, 1e-300)
        return scale, axes[kept].T / sizes[kept], axes[~kept].T

    def unknown(self, count: float) -> "Unknown":
        """Return the noise that so many unknown people are; too few of them are none."""
        # What a model says was not estimated by these people's own scatter.
        share = 1.0 if self.modeled else max(count - self.rank - 1, 0.0) / (self.count - 2)
        return Unknown(self, count, share, *self._directions(share, self.noise))


class Foremost(NamedTuple):
    """Sums over everybody in units of the noise, and the few who can be much of it in some direction."""

    squares: Array
    total: Array
    largest: Array
    """What these few move."""
    most: float
    """What anybody else is at most of the squares in their own direction."""


@dataclass(frozen=True, eq=False)
class Unknown:
    """A number of unknown people, as the noise on what is printed."""

    crowd: Crowd
    count: float
    share: float
    """Of the sum of squares over everybody, how much is the covariance of what is not known."""
    scale: Array
    """The scatter of each number."""
    white: Array
    """Numbers over their scatter to coordinates in which the noise has covariance one, shape (numbers, rank)."""
    silent: Array
    """Numbers over their scatter to what nothing scatters in."""

    @cached_property
    def whitened(self) -> Array:
        """Numbers to coordinates in which the noise has covariance one, shape (numbers, rank)."""
        return np.asarray(self.white / self.scale[:, None])

    def alone(self) -> "Unknown":
        """Return the same without everybody's moves, so that it can travel to where they are."""
        known: dict[str, Scatter | Cubes] = {
            name: vars(self.crowd)[name] for name in ("scatter", "cubes") if name in vars(self.crowd)
        }
        crowd = Crowd(_Elsewhere(self.crowd.count), self.crowd.noise, self.crowd.modeled)
        vars(crowd).update(known)
        found = Unknown(crowd, self.count, self.share, self.scale, self.white, self.silent)
        vars(found).update({name: vars(self)[name] for name in ("largest", "skewed", "bent") if name in vars(self)})
        return found

    def moved(self, moves: Array) -> Array:
        """Return what some people move, in units of the noise, shape (people, rank)."""
        return np.asarray((moves - self.crowd.scatter.mean) @ self.whitened)

    @cached_property
    def weight(self) -> float:
        """What a person's own square is of the covariance, which is left out: c c^T n / (n - 1) of the sum."""
        n = self.crowd.count
        return 1.0 if self.crowd.modeled else self.share * n / (n - 1)

    def own(self, moves: Array) -> Array:
        """Return how much of the noise in their own direction is each person's, below one; somebody alone has all."""
        found = self.moved(moves)
        return np.asarray(self.weight * np.einsum("ij,ij->i", found, found))

    @cached_property
    def largest(self) -> Array:
        """What `own` is of the two people of whom it is largest, at most."""
        if self.crowd.noise is None and self.share:
            # Whatever their number, the unknown scatter in the same directions.
            least = np.linalg.eigvalsh(self.crowd.cubes.squares).min(initial=1.0)
            return np.asarray(self.weight / self.share * self.crowd.cubes.largest / least)
        return self.crowd.moves.total(partial(Largest.of, unknown=self.alone())).values

    @cached_property
    def foremost(self) -> "Foremost":
        """Those who can be most of the noise in some direction, and what others are at most; of people in memory."""
        assert isinstance(self.crowd.moves, Held)
        moved = self.moved(self.crowd.moves.values)
        squares = moved.T @ moved
        parts = np.einsum("nr,nr->n", moved @ np.linalg.pinv(squares, hermitian=True), moved)
        some = min(max(_FEW_OF_MANY, _A_RANK * moved.shape[1]), len(moved) - 1)
        order = np.argpartition(-parts, some)
        return Foremost(squares, moved.sum(axis=0), moved[order[:some]], float(parts[order[some:]].max()))

    @cached_property
    def skewed(self) -> Array:
        """Half the square of the third cumulants, shape (rank, rank): what skewness adds to the information."""
        rank = self.white.shape[1]
        if not self.share or self.crowd.modeled:
            return np.zeros((rank, rank))
        turn = self.crowd._axes[1] @ self.whitened
        cubes = np.einsum("abc,ai,bj,ck->ijk", self.crowd.cubes.whole(), turn, turn, turn, optimize=True)
        free = self.share * (self.crowd.count - 2)
        flat = cubes.reshape(rank, rank * rank) / self.crowd.count * free**1.5 / np.sqrt(self.count)
        return np.asarray(0.5 * flat @ flat.T)

    @cached_property
    def bent(self) -> Array:
        """The square root of one and what skewness adds."""
        values, vectors = np.linalg.eigh(np.eye(len(self.skewed)) + self.skewed)
        # It adds nothing below zero; beside what it adds somewhere, rounding may.
        return np.asarray((vectors * np.sqrt(np.maximum(values, 1.0))) @ vectors.T)

    @cached_property
    def _squared(self) -> bool:
        """Whether sums of squares are exact enough."""
        sizes = np.linalg.norm(self.white, axis=0)
        return bool(sizes.max(initial=1.0) <= _SQUARED * sizes.min(initial=1.0))

    def without(self, moves: Array, slopes: Slopes) -> "Seen":
        """Return how some people's values move the numbers, in units of the noise that the others are.

        Parameters
        ----------
        moves : ndarray of shape (k, numbers)
            What each of them, or the family out of which they are, moves: it is left out of the crowd.
        slopes : Slopes
            How the numbers move with their values.
        """
        if not self._squared:
            slopes = slopes.safe()
        own = self.moved(moves)
        size = np.einsum("kr,kr->k", own, own)
        whole = self.weight * size
        moved, left = slopes.turned(self.whitened), 1.0 - whole
        inner, alone = moved.back(own), left < _ALONE
        endless = self._escaped(slopes, moved)
        if alone.any():
            # Somebody without whom a direction has no noise at all tells all of what moves in it.
            length = moved.squares() * np.maximum(whole, _ALONE)[:, None]
            endless |= alone[:, None] & (inner**2 > _DETERMINED * length)
        # (1 + g s s^T)^2 = 1 + w s s^T / (1 - w |s|^2): the square root of what leaving a person out does.
        with np.errstate(divide="ignore", invalid="ignore"):
            grown = np.where(alone, 0.0, (1.0 / np.sqrt(left) - 1.0) / size)
        grown = np.where(np.isfinite(grown), grown, 0.0)
        return Seen(self, own, whole, moved.plus(own, grown[:, None] * inner), grown, endless)

    def _escaped(self, slopes: Slopes, moved: Slopes) -> NDArray[np.bool_]:
        """Return which values move the numbers in a direction in which nothing scatters."""
        if not self.silent.shape[1]:
            return np.zeros((len(slopes), slopes.width), dtype=bool)
        silent = slopes.turned(self.silent / self.scale[:, None]).squares()
        # The two kinds of directions together are all.
        rest = moved.stretched(1.0 / np.linalg.norm(self.white, axis=0)).squares()
        return np.asarray(silent > _DETERMINED * (silent + rest))

    @property
    def stretch(self) -> float | None:
        """What skewness adds to all answers alike, where it is not looked at one by one."""
        return None


@dataclass(frozen=True, eq=False)
class Largest:
    """The two largest parts of the noise."""

    values: Array

    @classmethod
    def of(cls, moves: Array, *, unknown: Unknown) -> "Largest":
        return cls(np.partition(np.pad(unknown.own(moves), (2, 0)), -2)[-2:])

    def __add__(self, other: "Largest") -> "Largest":
        return Largest(np.partition(np.concatenate([self.values, other.values]), -2)[-2:])


@dataclass(frozen=True, eq=False)
class Seen:
    """How some people's values move what is printed, in units of the noise that the others are."""

    unknown: Unknown
    own: Array
    """What each of them moves, in units of the noise, shape (k, rank)."""
    part: Array
    """How much of the noise in their own direction they are, shape (k,)."""
    moved: Slopes
    """R J with R^T R the inverse of the noise's covariance."""
    grown: Array
    """What leaving each person out adds to R, times their own move twice, shape (k,)."""
    endless: NDArray[np.bool_]
    """Which values nothing protects, shape (k, values)."""

    def take(self, people: NDArray[np.intp]) -> "Seen":
        """Return what is seen of some of them."""
        moved, endless = self.moved.take(people), self.endless[people]
        return Seen(self.unknown, self.own[people], self.part[people], moved, self.grown[people], endless)

    def matrices(self) -> Array:
        """Return the information about all values of each person, shape (k, values, values)."""
        if self.unknown.stretch is not None:
            return self.unknown.stretch * self.moved.grams()
        return self.moved.turned(self.unknown.bent).grams()

    def plain(self) -> Array:
        """Return the information about each value that there were without skewness, shape (k, values)."""
        return self.moved.squares()

    def skewness(self) -> Array:
        """Return by what factor skewness raises the information about each value, shape (k, values)."""
        plain, bent = self.plain(), self.moved.turned(self.unknown.bent).squares()
        return np.where(plain > 0.0, bent / np.maximum(plain, 1e-300), 1.0)

    def along(self, directions: Array) -> Array:
        """Return what a person's move is worth in the noise on best guesses, shape (k, rank, m).

        Parameters
        ----------
        directions : ndarray of shape (k, values, m)
            Combinations of values that are guessed.
        """
        return self._weighed(self.moved.along(directions))

    def readings(self) -> Array:
        """Return how the numbers are weighed in a best guess, C^-1 J of the noise, shape (k, numbers, values)."""
        return np.asarray(np.einsum("qr,krv->kqv", self.unknown.whitened, self._weighed(self.moved.formed())))

    def _weighed(self, whitened: Array) -> Array:
        """Return R^T times what was whitened by R, in the noise's own coordinates."""
        pulled = np.einsum("kr,krm->km", self.own, whitened)
        return np.asarray(whitened + (self.grown[:, None] * pulled)[:, None, :] * self.own[:, :, None])
