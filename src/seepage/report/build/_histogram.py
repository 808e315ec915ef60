"""A histogram over a logarithmic axis whose bars may be shown to anybody."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seepage.leakage import Distribution, Histogram
from seepage.leakage import grid as whole_grid
from seepage.leakage import histogram as whole_histogram
from seepage.report._edition import Edition

Array = NDArray[np.float64]


def grid(distributions: Sequence[Distribution], edition: Edition) -> Array:
    """Return edges that cover what may be seen of some distributions: their ends come from people of middle rank."""
    return whole_grid(distributions, edition.smallest_group if edition.is_public else 0)


def histogram(known: Distribution, edges: Array, edition: Edition) -> Histogram | None:
    """Count people between edges; None if there are too few to show."""
    if not len(edges):
        return None
    found = whole_histogram(known, edges)
    return _merged(found, edition) if edition.is_public else found


def _merged(found: Histogram, edition: Edition) -> Histogram | None:
    """Join neighboring bars until each holds enough people.

    The first and the last bar do not reach out to the few beyond them, who are counted in: where those are is theirs.
    """
    kept: list[float] = []
    sums: list[int] = []
    waiting = 0
    edges = found.edges.tolist()
    for lower, upper, count in zip(edges[:-1], edges[1:], found.counts.tolist(), strict=True):
        waiting += count
        if waiting >= edition.smallest_group:
            kept += [upper] if kept else [lower, upper]
            sums.append(waiting)
            waiting = 0
    if not sums:
        return None
    sums[-1] += waiting
    return Histogram(np.array(kept), np.array([edition.rounded_count(count) for count in sums]))
