"""Groups of people side by side."""

from collections.abc import Hashable, Mapping
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Number, Origin, personal, public
from seepage.leakage import Distribution
from seepage.leakage import histogram as counted
from seepage.report._document import DrawnHistogram, EtaSpread, Extent, Group, Grouping
from seepage.report._edition import at_most, down, middle, near, up

Array = NDArray[np.float64]

# Two-sided 95% of a normal distribution.
_NORMAL = 1.959964


def grouping(name: str, found: Mapping[Hashable, Distribution], edges: Array) -> Grouping:
    """Return the groups, the most exposed first."""
    shown = [Group(str(each), spread(known.sketched(), edges)) for each, known in found.items()]
    shown.sort(key=lambda group: -group.eta.median.value if group.eta.median else 0.0)
    return Grouping(name, tuple(shown))


def spread(known: Distribution, edges: Array, *, whole: bool = False) -> EtaSpread:
    """Return how the eta of a set of people is spread; how many people there are in all is no secret."""
    found = extent(known)
    return EtaSpread(
        count=public(known.count) if whole else personal(known.count),
        median=found.median,
        interval=median_interval(known),
        high=found.high,
        mean=personal(near(known.mean)),
        largest=found.largest,
        histogram=_drawn(known, edges),
    )


def _drawn(known: Distribution, edges: Array) -> DrawnHistogram | None:
    if not len(edges):
        return None
    found = counted(known, edges)
    shown = tuple(float(f"{edge:.5g}") for edge in found.edges)
    return DrawnHistogram(shown, tuple(found.counts.tolist()), Origin.PERSONAL)


def extent(known: Distribution) -> Extent:
    """Return median, 95% and largest of a quantity."""
    return Extent(
        median=personal(near(middle(known, 0.5))),
        high=personal(up(at_most(known, 0.95))),
        largest=personal(up(known.largest)),
    )


def median_interval(known: Distribution) -> tuple[Number, Number] | None:
    """Return a 95% interval of the median, by ranks: it assumes nothing of the distribution."""
    reach = _NORMAL / 2 / sqrt(known.count)
    if reach >= 0.5:
        return None
    return personal(down(middle(known, 0.5 - reach))), personal(up(middle(known, 0.5 + reach)))
