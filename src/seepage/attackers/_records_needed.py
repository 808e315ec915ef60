"""How many of the others an attacker must know to guess so well (eq. 12.4)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers._claims import MOST_LIKE_NORMAL
from seepage.attackers._crowd import Seen
from seepage.attackers._information import SamplingInformation
from seepage.attackers._slopes import Slopes

_MOST_NUMBERS = 2**23


def records_needed(
    information: SamplingInformation,
    wanted: float,
    slopes: Callable[[NDArray[np.intp]], Slopes],
    deviation: Array | float,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return how many others drawn at random, and how many chosen, let a guess be as good as wanted.

    Parameters
    ----------
    information : SamplingInformation
    wanted : float
        The standard error of the guess.
    slopes : callable
        How the numbers move with what is guessed of some people, which is one value.
    deviation : ndarray of shape (people,) or float
        Of a guess without the release; infinite for one who knows nothing.
    """
    count, crowd = information.count, information.crowd
    others = crowd.count - 1
    random, chosen = np.zeros(count, dtype=np.intp), np.zeros(count, dtype=np.intp)
    known = np.broadcast_to(wanted >= np.asarray(deviation), count)
    with np.errstate(divide="ignore"):
        gaps = np.broadcast_to(1 / wanted**2 - 1 / np.square(deviation), count)
    unknown = crowd.unknown(others)
    fewest, rank = information.claims.fewest, crowd.rank
    everybody = unknown.moved(information.held)
    step = max(_MOST_NUMBERS // crowd.count, 1)
    for start in range(0, count, step):
        people = np.arange(start, min(start + step, count))
        seen = information._seen(unknown, people, slopes(people))
        plain = seen.plain()[:, 0]
        tau = np.where(known[people], 1.0, gaps[people])
        # Without the shares that were put into the noise: that of one unknown person, and of all as they are.
        one, skewed = plain * unknown.share * (others - 1), (seen.skewness()[:, 0] - 1.0) * 2.0 * unknown.count
        b = one + tau * (rank + 1)
        m = (b + np.sqrt(b**2 + 2 * tau * one * skewed)) / (2 * tau)
        parts = np.sort((_shares(seen, everybody, information._place(people)) * unknown.share) ** 2, axis=1)[:, ::-1]
        whole = plain * unknown.share
        with np.errstate(divide="ignore", invalid="ignore"):
            even = MOST_LIKE_NORMAL * others * (parts**2).sum(axis=1) / parts.sum(axis=1) ** 2
        least = np.maximum(np.maximum(m, fewest), np.where(np.isfinite(even), even, 0.0))
        random[people] = np.maximum(np.floor(others - least), 0)
        rest = parts.sum(axis=1, keepdims=True) - np.cumsum(np.pad(parts, ((0, 0), (1, 0))), axis=1)[:, :-1]
        enough = rest <= (whole**2 / tau)[:, None]
        chosen[people] = np.minimum(np.where(enough.any(axis=1), enough.argmax(axis=1), others), random[people])
        silent = plain == 0.0
        random[people[silent]] = chosen[people[silent]] = others
        alone = seen.endless[:, 0]
        random[people[alone]] = chosen[people[alone]] = 0
    random[known] = chosen[known] = 0
    return random, chosen


def _shares(seen: Seen, everybody: Array, place: NDArray[np.intp]) -> Array:
    """Return what each of the crowd has in the noise on a best guess, t of condition 1, shape (k, n)."""
    found = seen.along(np.ones((len(place), 1, 1)))[:, :, 0] @ everybody.T
    at = np.arange(len(place))
    # Without this person the mean of the others is another.
    found += found[at, place][:, None] / (len(everybody) - 1)
    found[at, place] = 0.0
    return np.asarray(found)
