"""The other people as noise: what a release says about one person to somebody who knows only a part of the others.

To first order every printed number is a constant plus a sum over people of what each of them moves it by. Of m people
who are not known that sum scatters with m times the covariance of one, so that with J, how the numbers move with one
person's values, and noise of covariance Sigma that was added to them besides,

    I = J^T ((m - q - 1) C + Sigma)^-1 J        (eq. 12.1)

C is the covariance of what the others move: the person is left out of it (eq. 12.2). The q + 1 are taken off because
few people are known better than their mean says. Sums of skewed numbers say more than normal ones of their covariance,
by half the square of their third cumulants (eq. 12.3), in which added noise has no part.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array

# Printed numbers that others determine carry nothing more: squares of what is left of them, scaled to one.
_DETERMINED = 1e-12
# A person without whom nobody else moves the numbers in some direction: nothing is left there once they are left out.
_ALONE = 1e-10
# Numbers in the largest temporary.
_MOST_NUMBERS = 2**22


@dataclass(frozen=True, eq=False)
class Crowd:
    """How each of some independent people, or families, moves the numbers that are printed."""

    moves: Array
    """Shape (n, numbers), to first order."""
    noise: Array | None = None
    """The covariance of what is added to the numbers, if something is."""
    modeled: bool = False
    """Whether moves are the deviations of what each may do, by a model of it, rather than what each did."""

    @property
    def count(self) -> int:
        return len(self.moves)

    @cached_property
    def centered(self) -> Array:
        """What each moves the numbers by, less the mean over all."""
        return self.moves if self.modeled else np.asarray(self.moves - self.moves.mean(axis=0))

    @cached_property
    def rank(self) -> int:
        """How many of the numbers are not determined by the others."""
        return int(self._directions(1.0, None)[1].shape[1])

    @cached_property
    def _triangle(self) -> Array:
        """R with R^T R the sum of squares: what everybody moves, as far as it scatters."""
        return np.asarray(np.linalg.qr(self.centered / self._sizes, mode="r") * self._sizes)

    @cached_property
    def _sizes(self) -> Array:
        found = np.sqrt((self.centered**2).sum(axis=0))
        return np.where(found == 0.0, 1.0, found)

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
        kept = sizes**2 > _DETERMINED * max(sizes[0] ** 2, 1e-300)
        return scale, axes[kept].T / sizes[kept], axes[~kept].T

    def unknown(self, count: float) -> "Unknown":
        """Return the noise that so many unknown people are; too few of them are none."""
        # What a model says was not estimated by these people's own scatter.
        share = 1.0 if self.modeled else max(count - self.rank - 1, 0.0) / (self.count - 2)
        return Unknown(self, count, share, *self._directions(share, self.noise))


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
    def moves(self) -> Array:
        """What each person moves, in units of the noise, shape (n, rank)."""
        return np.asarray((self.crowd.centered / self.scale) @ self.white)

    @cached_property
    def _weight(self) -> float:
        """What a person's own square is of the covariance, which is left out: c c^T n / (n - 1) of the sum."""
        n = self.crowd.count
        return 1.0 if self.crowd.modeled else self.share * n / (n - 1)

    @cached_property
    def own(self) -> Array:
        """How much of the noise in their own direction is each person's, below one; one who is alone has all of it."""
        return np.asarray(self._weight * np.einsum("ij,ij->i", self.moves, self.moves))

    @cached_property
    def skewed(self) -> Array:
        """Half the square of the third cumulants, shape (rank, rank): what skewness adds to the information."""
        if not self.share or self.crowd.modeled:
            return np.zeros((self.moves.shape[1],) * 2)
        cubes = self._cubes
        flat = cubes.reshape(len(cubes), -1)
        return np.asarray(0.5 * flat @ flat.T)

    @property
    def _cubes(self) -> Array:
        moves, (n, rank) = self.moves, self.moves.shape
        found = np.zeros((rank, rank * rank))
        step = max(_MOST_NUMBERS // max(rank * rank, 1), 1)
        for start in range(0, n, step):
            part = moves[start : start + step]
            found += part.T @ (part[:, :, None] * part[:, None, :]).reshape(len(part), -1)
        free = self.share * (n - 2)
        return np.asarray(found.reshape(rank, rank, rank) / n * free**1.5 / np.sqrt(self.count))

    def without(self, people: NDArray[np.intp], jacobians: Array) -> "Seen":
        """Return how some people's values move the numbers, in units of the noise that the others are.

        Parameters
        ----------
        people : ndarray of int, shape (k,)
            Where they stand in the crowd, out of which each is left.
        jacobians : ndarray of shape (k, numbers, values)
            How the numbers move with their values.
        """
        jacobians = jacobians / self.scale[:, None]
        moved = np.einsum("qr,kqv->krv", self.white, jacobians, optimize=True)
        own, left = self.moves[people], 1.0 - self.own[people]
        inner = np.einsum("kr,krv->kv", own, moved)
        length = np.einsum("krv,krv->kv", moved, moved)
        alone = left < _ALONE
        # Somebody without whom a direction has no noise at all tells all of what moves in it.
        endless = alone[:, None] & (inner**2 > _DETERMINED * length * np.maximum(self.own[people], _ALONE)[:, None])
        endless |= self._escaped(jacobians)
        # (1 + g s s^T)^2 = 1 + w s s^T / (1 - w |s|^2): the square root of what leaving a person out does.
        with np.errstate(divide="ignore", invalid="ignore"):
            grown = np.where(alone, 0.0, (1.0 / np.sqrt(left) - 1.0) / np.einsum("kr,kr->k", own, own))
        grown = np.where(np.isfinite(grown), grown, 0.0)
        moved = moved + (grown[:, None] * inner)[:, None, :] * own[:, :, None]
        return Seen(self, people, moved, grown, endless)

    def _escaped(self, jacobians: Array) -> NDArray[np.bool_]:
        """Return which values move the numbers in a direction in which nothing scatters."""
        escaped = np.einsum("qs,kqv->ksv", self.silent, jacobians)
        return np.asarray((escaped**2).sum(axis=1) > _DETERMINED * (jacobians**2).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Seen:
    """How some people's values move what is printed, in units of the noise that the others are."""

    unknown: Unknown
    people: NDArray[np.intp]
    moved: Array
    """R J with R^T R the inverse of the noise's covariance, shape (k, rank, values)."""
    grown: Array
    """What leaving each person out adds to R, times their own move twice, shape (k,)."""
    endless: NDArray[np.bool_]
    """Which values nothing protects, shape (k, values)."""

    def matrices(self) -> Array:
        """Return the information about all values of each person, shape (k, values, values)."""
        bent = np.einsum("rs,ksv->krv", self.unknown.skewed, self.moved)
        return np.asarray(np.einsum("krv,krw->kvw", self.moved, self.moved + bent))

    def skewness(self) -> Array:
        """Return by what factor skewness raises the information about each value, shape (k, values)."""
        plain = np.einsum("krv,krv->kv", self.moved, self.moved)
        bent = np.einsum("krv,rs,ksv->kv", self.moved, self.unknown.skewed, self.moved, optimize=True)
        return np.asarray(1.0 + bent / np.maximum(plain, 1e-300))

    def shares(self, directions: Array) -> Array:
        """Return what each of the crowd has in the noise on a best guess, t of condition 1, shape (k, m, n).

        Parameters
        ----------
        directions : ndarray of shape (k, values, m)
            Combinations of values that are guessed.
        """
        along = self._weighed(np.einsum("krv,kvm->krm", self.moved, directions))
        found = np.einsum("nr,krm->kmn", self.unknown.moves, along, optimize=True)
        at = np.arange(len(self.people))
        # Without this person the mean of the others is another.
        found += found[at, :, self.people][:, :, None] / (self.unknown.crowd.count - 1)
        found[at, :, self.people] = 0.0
        return np.asarray(found)

    def readings(self) -> Array:
        """Return how the numbers are weighed in a best guess, C^-1 J of the noise, shape (k, numbers, values)."""
        along = np.einsum("qr,krv->kqv", self.unknown.white, self._weighed(self.moved))
        return np.asarray(along / self.unknown.scale[:, None])

    def _weighed(self, whitened: Array) -> Array:
        """Return R^T times what was whitened by R, in the noise's own coordinates."""
        own = self.unknown.moves[self.people]
        more = self.grown[:, None] * np.einsum("kr,krm->km", own, whitened)
        return np.asarray(whitened + more[:, None, :] * own[:, :, None])
