"""Groups of people side by side."""

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage.leakage import Distribution
from seepage.report._edition import Edition
from seepage.report.build._histogram import histogram

# Two-sided 95% of a normal distribution.
_NORMAL = 1.959964


def group_entries(
    found: Mapping[Any, Distribution], edges: NDArray[np.float64], edition: Edition
) -> tuple[list[dict[str, Any]], bool]:
    """Return one entry a group that may be shown, the most exposed first, and whether there are others."""
    shown = {
        name: known for name, known in found.items() if not edition.is_public or known.count >= edition.smallest_group
    }
    entries = [{"name": str(name), **summary(known, edges, edition)} for name, known in shown.items()]
    entries.sort(key=lambda entry: -(entry["median"] or 0.0))
    return entries, len(shown) < len(found)


def summary(known: Distribution, edges: NDArray[np.float64], edition: Edition) -> dict[str, Any]:
    """Return what an edition says of the eta of a set of people."""
    drawn, high = histogram(known, edges, edition), edition.at_most(known, 0.95)
    entry: dict[str, Any] = {
        "count": edition.rounded_count(known.count),
        "median": _near(edition.middle(known, 0.5), edition),
        "interval": median_interval(known, edition),
        "high": None if high is None else edition.up(high),
        "mean": None if edition.is_public else edition.near(known.mean),
        "largest": None if edition.is_public else edition.up(known.largest),
        "histogram": None,
    }
    if drawn is not None:
        edges_shown = [float(f"{edge:.5g}") for edge in drawn.edges]
        entry["histogram"] = {"edges": edges_shown, "counts": drawn.counts.tolist()}
    return entry


def median_interval(known: Distribution, edition: Edition) -> list[float] | None:
    """Return a 95% interval of the median, by ranks: it assumes nothing of the distribution."""
    reach = _NORMAL / 2 / sqrt(known.count)
    if reach >= 0.5:
        return None
    low, high = (edition.middle(known, 0.5 + sign * reach) for sign in (-1, 1))
    if low is None or high is None:
        return None
    return [edition.down(low), edition.up(high)]


def _near(value: float | None, edition: Edition) -> float | None:
    return None if value is None else edition.near(value)
