"""Medians, smallest and largest values: numbers that are those of single people, and of how many."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.errors import InputError
from seepage.request._people import RequestPeople

_SHARES: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("median", "mode"), (0.5,)),
    **dict.fromkeys(("min", "minimum"), (0.0,)),
    **dict.fromkeys(("max", "maximum"), (1.0,)),
    "range": (0.0, 1.0),
    "iqr": (0.25, 0.75),
    **dict.fromkeys(("quantile", "quantiles", "quartiles", "percentile"), (0.25, 0.5, 0.75)),
}
_PERCENTILE = re.compile(r"[pq](\d{1,2})", re.IGNORECASE)


def single_values(says: Mapping[str, Any]) -> list[str]:
    """Return the statistics of a table that are values of single people."""
    named = says.get("statistics", ())
    return [str(each) for each in named if _shares(str(each))] if isinstance(named, list | tuple) else []


def rests_on(says: Mapping[str, Any], people: RequestPeople, rows: NDArray[np.intp]) -> int:
    """Return how many people have a printed value, where they are fewest.

    Parameters
    ----------
    says : mapping
        Of what the table is, by what, and its statistics.
    people : People
    rows : ndarray
        Those of whom it is made.
    """
    for name in (*says.get("of", ()), *says.get("by", ())):
        if name not in people.table.names:
            raise InputError(f"There is no column {name!r}, of which a table is.")
    cells = np.zeros(len(rows), dtype=np.intp)
    for name in says.get("by", ()):
        place = np.unique(people.table.column(name)[rows], return_inverse=True)[1]
        cells = np.unique(cells * (len(rows) + 1) + place, return_inverse=True)[1]
    fewest = len(rows)
    for name in says.get("of", ()):
        column = np.asarray(people.table.column(name)[rows], dtype=np.float64)
        for cell in range(int(cells.max()) + 1):
            values = np.sort(column[(cells == cell) & ~np.isnan(column)])
            if len(values):
                fewest = min(fewest, *_holders(values, single_values(says)))
    return fewest


def _holders(values: Array, statistics: list[str]) -> Iterator[int]:
    """Yield how many have each printed value; one between two of them rests on both."""
    for statistic in statistics:
        for share in _shares(statistic):
            at = share * (len(values) - 1)
            both = {values[int(np.floor(at))], values[int(np.ceil(at))]}
            yield sum(int((values == each).sum()) for each in both)


def _shares(statistic: str) -> tuple[float, ...]:
    found = _PERCENTILE.fullmatch(statistic)
    return (int(found[1]) / 100,) if found else _SHARES.get(statistic.lower(), ())
