"""A histogram over a logarithmic axis, from a distribution alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.leakage._distribution import Distribution

_MOST_BARS = 36


@dataclass(frozen=True, eq=False)
class Histogram:
    """Number of people between edges that lie on a fixed grid."""

    edges: Array
    counts: NDArray[np.int64]

    def density(self) -> Array:
        """Return the share of people per decade in each bar."""
        return np.asarray(self.counts / max(self.counts.sum(), 1) / np.diff(np.log10(self.edges)))


def grid(distributions: Sequence[Distribution], beyond: int = 0) -> Array:
    """Return edges that cover some distributions but for `beyond` people at each end of each; none, if all are few.

    They are round powers of ten; whoever is beyond is counted in the outermost bars.
    """
    ends = [end for known in distributions for end in _ends(known, beyond)]
    if not ends:
        return np.array([])
    low, high = np.log10(min(ends)), np.log10(max(ends))
    fine = next((per for per in (50, 20, 10, 5, 2) if (high - low) * per <= _MOST_BARS), 1)
    first, last = int(np.floor(low * fine)), int(np.ceil(high * fine))
    return np.asarray(10.0 ** (np.arange(first, max(last, first + 1) + 1) / fine))


def _ends(known: Distribution, beyond: int) -> list[float]:
    """Return the values between which all but a few are; nothing, if all are few."""
    first, last = known.zeros + beyond, known.count - 1 - beyond
    return known.ranked(np.array([first, last], dtype=np.float64)).tolist() if first <= last else []


def histogram(known: Distribution, edges: Array) -> Histogram:
    """Count people between edges; who is beyond the ends is counted in the outermost bars."""
    return Histogram(edges, known.counted(edges))
