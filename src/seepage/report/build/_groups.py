"""Groups of people side by side."""

from collections.abc import Hashable, Mapping
from math import sqrt

from seepage._facts import Number, Origin, personal, public
from seepage.leakage import Distribution
from seepage.report._document import Extent, Group, Grouping, Histogram, Spread
from seepage.report._edition import Edition
from seepage.report.build._histogram import Array, histogram

# Two-sided 95% of a normal distribution.
_NORMAL = 1.959964


def grouping(name: str, found: Mapping[Hashable, Distribution], edges: Array, edition: Edition) -> Grouping:
    """Return the groups that may be shown, the most exposed first."""
    shown = [
        Group(str(each), spread(known.sketched(), edges, edition))
        for each, known in found.items()
        if not edition.is_public or known.count >= edition.smallest_group
    ]
    shown.sort(key=lambda group: -group.eta.median.value if group.eta.median else 0.0)
    return Grouping(name, tuple(shown), len(shown) < len(found))


def spread(known: Distribution, edges: Array, edition: Edition, *, whole: bool = False) -> Spread:
    """Return what an edition says of the eta of a set of people; how many people there are in all is no secret."""
    found = extent(known, edition)
    return Spread(
        count=public(known.count) if whole else personal(edition.rounded_count(known.count)),
        median=found.median,
        interval=median_interval(known, edition),
        high=found.high,
        mean=None if edition.is_public else personal(edition.near(known.mean)),
        largest=found.largest,
        histogram=_drawn(known, edges, edition),
    )


def _drawn(known: Distribution, edges: Array, edition: Edition) -> Histogram | None:
    found = histogram(known, edges, edition)
    if found is None:
        return None
    shown = tuple(float(f"{edge:.5g}") for edge in found.edges)
    return Histogram(shown, tuple(found.counts.tolist()), Origin.PERSONAL)


def extent(known: Distribution, edition: Edition) -> Extent:
    """Return median, 95% and largest of a quantity, as far as an edition tells them."""
    median, high = edition.middle(known, 0.5), edition.at_most(known, 0.95)
    return Extent(
        median=None if median is None else personal(edition.near(median)),
        high=None if high is None else personal(edition.up(high)),
        largest=None if edition.is_public else personal(edition.up(known.largest)),
    )


def median_interval(known: Distribution, edition: Edition) -> tuple[Number, Number] | None:
    """Return a 95% interval of the median, by ranks: it assumes nothing of the distribution."""
    reach = _NORMAL / 2 / sqrt(known.count)
    if reach >= 0.5:
        return None
    low, high = edition.middle(known, 0.5 - reach), edition.middle(known, 0.5 + reach)
    return None if low is None or high is None else (personal(edition.down(low)), personal(edition.up(high)))
