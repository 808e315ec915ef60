"""A histogram over a logarithmic axis whose bars may be shown to anybody."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seepage.leakage import Distribution
from seepage.report._edition import Edition

Array = NDArray[np.float64]

_MOST_BARS = 36


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many people are between edges that lie on a fixed grid."""

    edges: Array
    counts: NDArray[np.int64]

    def density(self) -> Array:
        """Return the share of people per decade in each bar."""
        return np.asarray(self.counts / max(self.counts.sum(), 1) / np.diff(np.log10(self.edges)))


def grid(distributions: Sequence[Distribution], edition: Edition) -> Array:
    """Return edges that cover what may be seen of some distributions.

    They are round powers of ten, and their ends come from people of middle rank: whoever is beyond is counted in the
    outermost bars.
    """
    beyond = edition.smallest_group if edition.is_public else 0
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


def histogram(known: Distribution, edges: Array, edition: Edition) -> Histogram | None:
    """Count people between edges; None if there are too few to show."""
    if not len(edges):
        return None
    counts = known.counted(edges)
    if not edition.is_public:
        return Histogram(edges, counts)
    return _merged(edges, counts, edition)


def _merged(edges: Array, counts: NDArray[np.int64], edition: Edition) -> Histogram | None:
    """Join neighboring bars until each holds enough people.

    The first and the last bar do not reach out to the few beyond them, who are counted in: where those are is theirs.
    """
    kept: list[float] = []
    sums: list[int] = []
    waiting = 0
    for lower, upper, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True):
        waiting += count
        if waiting >= edition.smallest_group:
            kept += [upper] if kept else [lower, upper]
            sums.append(waiting)
            waiting = 0
    if not sums:
        return None
    sums[-1] += waiting
    return Histogram(np.array(kept), np.array([edition.rounded_count(count) for count in sums]))
