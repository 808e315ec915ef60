"""The exact information in a sum over people, by the Fourier transform of its characteristic function.

The density of a sum of m draws from a population of atoms is the transform of phi^m, phi the characteristic function
of one; a little normal noise stands for printing to a tenth of a standard error. With its slopes, the information
about where the sum stands is an integral over a plane: nothing is expanded and nothing is taken to be normal.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks._worlds import _printed
from seepage.attackers import Crowd, Digits, Formed, Held, Level
from seepage.attackers._claims import CLAIMED, MOST_LIKE_NORMAL, MOST_SKEWED, Claims, even

Array = NDArray[np.float64]

MOST_APART = 0.03
_ATOMS = 6000
# Steps of a tenth scatter by so much.
_ROUNDED = 0.1 / np.sqrt(12)


def _logistic(offset: float) -> Callable[[np.random.Generator], tuple[Array, tuple[Level, ...]]]:
    def draw(rng: np.random.Generator) -> tuple[Array, tuple[Level, ...]]:
        x = rng.normal(size=_ATOMS)
        share = 1 / (1 + np.exp(-(offset + 0.7 * x)))
        y = rng.random(_ATOMS) < share
        levels = tuple(Level("y", value, int((y == value).sum()), 2) for value in (False, True))
        return np.column_stack([x, np.ones(_ATOMS)]) * (share - y)[:, None], levels

    return draw


def _scores(
    draw: Callable[[np.random.Generator], Array],
) -> Callable[[np.random.Generator], tuple[Array, tuple[Level, ...]]]:
    return lambda rng: (draw(rng), ())


def _rare(own_slope: bool) -> Callable[[np.random.Generator], tuple[Array, tuple[Level, ...]]]:
    def draw(rng: np.random.Generator) -> tuple[Array, tuple[Level, ...]]:
        has, x, rest = rng.random(_ATOMS) < 0.02, rng.normal(size=_ATOMS), rng.normal(size=_ATOMS)
        # Level and slope of the few, or their level beside everybody's.
        columns = [has, has * x] if own_slope else [has, np.ones(_ATOMS)]
        levels = (Level("d", 1, int(has.sum()), 2 if own_slope else 1), Level("d", 0, int((~has).sum()), 1))
        return np.column_stack(columns) * rest[:, None], levels

    return draw


def _designed(
    x: Callable[[np.random.Generator], Array], rest: Callable[[np.random.Generator], Array]
) -> Callable[..., Array]:
    def draw(rng: np.random.Generator) -> Array:
        return np.column_stack([x(rng), np.ones(_ATOMS)]) * rest(rng)[:, None]

    return draw


POPULATIONS = {
    "normal": _scores(lambda rng: rng.normal(size=(_ATOMS, 2))),
    "exponential": _scores(lambda rng: rng.exponential(size=(_ATOMS, 2))),
    "lognormal": _scores(lambda rng: np.exp(0.8 * rng.normal(size=(_ATOMS, 2)))),
    "t4": _scores(lambda rng: rng.standard_t(4, size=(_ATOMS, 2))),
    "logistic, 50%": _logistic(0.0),
    "logistic, 20%": _logistic(-1.5),
    "logistic, 5%": _logistic(-3.2),
    "rare level": _rare(False),
    "rare level with a slope": _rare(True),
    "70% zeros": _scores(lambda rng: rng.normal(1.0, 1.0, size=(_ATOMS, 2)) * (rng.random((_ATOMS, 1)) < 0.3)),
    "lognormal column, skewed rest": _scores(
        _designed(lambda rng: np.exp(0.5 * rng.normal(size=_ATOMS)), lambda rng: rng.exponential(size=_ATOMS) - 1)
    ),
    "heavy column": _scores(_designed(lambda rng: rng.standard_t(5, size=_ATOMS), lambda rng: rng.normal(size=_ATOMS))),
}


def exact(scores: Array, unknown: int, reach: float = 9.0, points: int = 288) -> Array:
    """Return the information about where a sum of so many scores stands, in units of one over its variance, (2, 2).

    Parameters
    ----------
    scores : ndarray of shape (atoms, 2)
        Uncorrelated, with mean zero and variance one.
    unknown : int
    reach : float
        How many deviations the plane goes.
    points : int
        On each side of the grid.
    """
    step = 2 * reach / points
    at = 2 * np.pi * np.fft.fftfreq(points, step)
    small = scores / np.sqrt(unknown)
    phi = np.zeros((points, points), dtype=complex)
    for start in range(0, len(small), 2000):
        part = small[start : start + 2000]
        phi += np.exp(-1j * np.outer(at, part[:, 0])) @ np.exp(-1j * np.outer(part[:, 1], at))
    whole = (phi / len(small)) ** unknown * np.exp(-0.5 * _ROUNDED**2 * (at[:, None] ** 2 + at**2))
    density = np.real(np.fft.ifft2(whole)) / step**2
    slopes = [np.real(np.fft.ifft2(whole * 1j * k)) / step**2 for k in (at[:, None], at[None, :])]
    seen = density > 1e-7 * density.max()
    return np.array([[(a[seen] * b[seen] / density[seen]).sum() for b in slopes] for a in slopes]) * step**2


def compared(name: str, unknown: int, seed: int = 0, angles: int = 8) -> list[dict[str, object]]:
    """Return, for directions all around, the library's information over the exact one, with m for m - q - 1."""
    scores, levels = POPULATIONS[name](np.random.default_rng([seed, list(POPULATIONS).index(name)]))
    scores = scores - scores.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(scores.T))
    white = scores @ vectors / np.sqrt(values)
    information = exact(white, unknown)
    crowd = Crowd(Held(white))
    steps = np.full(2, 0.1 * np.sqrt(unknown))
    claims = Claims(_printed(white, levels), crowd, Digits(steps, "printed"), np.log2(_ATOMS))
    common = claims.reason(unknown) == CLAIMED
    # Somebody who moves nothing: with or without them the others are the same.
    nobody = white[[np.argmin((white**2).sum(axis=1))]]
    found = []
    for angle in np.pi * np.arange(angles) / angles:
        direction = np.array([np.cos(angle), np.sin(angle)])
        seen = crowd.unknown(unknown).without(nobody, Formed(direction[None, :, None]))
        said = float(seen.matrices()[0, 0, 0]) * (unknown - crowd.rank - 1)
        true = float(direction @ information @ direction)
        claimed = common and float(even(seen, np.ones((1, 1, 1)), unknown)[0, 0]) >= MOST_LIKE_NORMAL
        claimed &= float(seen.skewness()[0, 0]) <= MOST_SKEWED
        found.append({"case": name, "unknown": unknown, "angle": float(angle), "said": said, "exact": true})
        found[-1]["claimed"] = bool(claimed)
    return found


def sizes(name: str) -> tuple[int, ...]:
    """Return how many unknown people a population is looked at with, some of them too few."""
    return (200, 400, 800, 1600) if "rare" in name or "5%" in name else (10, 15, 25, 50, 100, 200)
