"""What a leakage can tell, whether its people are in memory or in files."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import narwhals as nw
from numpy.typing import NDArray

from seepage._errors import InputError, UnansweredError
from seepage._tables import column_name
from seepage.leakage import Distribution, Leakage, People
from seepage.leakage import deviations as known_before
from seepage.leakage import groupings as grouped
from seepage.leakage.types import Kind


def distributions(leak: Leakage, kind: Kind) -> dict[str, Distribution]:
    """Return how each column of `examples` or `attributes` is distributed, alike in memory and in files."""
    return {name: known.sketched() for name, known in leak.information.distributions(kind).items()}


def deviations(leak: Leakage, prior: Any) -> dict[str, float]:
    """Return the standard deviation of each attribute before the release, where it is known."""
    return known_before(leak.information, prior)


def groupings(leak: Leakage, groups: Any) -> Iterator[tuple[str, Mapping[Hashable, Distribution]]]:
    """Yield the name of each grouping of people, with the distribution of eta in each of its groups."""
    for name, found in grouped(leak.information, groups):
        yield name, {group: known.sketched() for group, known in found.items()}


def identifiers(people: People, rows: NDArray[Any]) -> list[str]:
    """Return the ids of some rows as text."""
    ids = people.ids
    return [str(row if ids is None else ids[row]) for row in rows.tolist()]
