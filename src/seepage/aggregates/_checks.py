"""The rules that output checkers know for tables, each with its number."""

from collections.abc import Sequence

import numpy as np

from seepage._tables import Array
from seepage.aggregates._numbers import CellMoments, Series, TableNumbers
from seepage.attackers import Check

_LEAST = 10
# What the two largest may be of a sum.
_MOST = 0.9


def checks_of(numbers: TableNumbers) -> tuple[Check, ...]:
    """Return what an output checker asks of a table."""
    fitted: Sequence[CellMoments] = numbers.at
    sizes = {id(each.grouping): moments.size for each, moments in zip(numbers.series, fitted, strict=True)}
    words = {id(each.grouping): each.grouping.words(numbers.by) for each in numbers.series}
    least, where = min((float(size), words[key][i]) for key, found in sizes.items() for i, size in enumerate(found))
    few = sum(int((found < _LEAST).sum()) for found in sizes.values())
    found = [
        Check("people in the smallest cell", least, least >= _LEAST, f"at least {_LEAST}{where}"),
        Check("cells with fewer than ten people", few, few == 0, "none"),
    ]
    shares = [(each, moments) for each, moments in zip(numbers.series, fitted, strict=True) if each.level is not None]
    if shares:
        told = sum(int(((m.total == 0) | (m.total == m.size)).sum()) for _, m in shares)
        found.append(Check("shares of 0% or 100%", told, told == 0, "none: they tell about every member"))
    largest = [
        _dominant(numbers, each) for each in numbers.series if each.statistic in ("mean", "sum") and not each.discrete
    ]
    if any(len(each) for each in largest):
        share = float(np.concatenate(largest).max())
        found.append(Check("the two largest of a sum", share, share <= _MOST, f"at most {_MOST} of it"))
    return tuple(found)


def _dominant(numbers: TableNumbers, series: Series) -> Array:
    """Return what the two largest values are of the sum of each cell; nothing of columns below zero."""
    records = numbers.records
    cell, x = series.inside(records.values, len(records))
    cell, x = cell[cell >= 0], x[cell >= 0]
    if (x < 0).any():
        return np.empty(0)
    order = np.lexsort([-x, cell])
    start = np.unique(cell[order], return_index=True)[1]
    last = np.append(start[1:], len(order)) - 1
    ordered = x[order]
    largest = ordered[start] + np.where(last > start, ordered[np.minimum(start + 1, last)], 0.0)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(largest / np.bincount(cell, x))
