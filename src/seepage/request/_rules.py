"""Whether outputs keep a risk appetite, by the rules of ACRO."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Column, Table
from seepage.aggregates import KaplanMeier
from seepage.attackers import SamplingLeakage
from seepage.request._appetite import RiskAppetite
from seepage.request._decided import Rule, Word
from seepage.request._output import RequestOutput
from seepage.tables import NumberTable, TableNumber


def answered(appetite: RiskAppetite, leak: SamplingLeakage, output: RequestOutput | None) -> tuple[Rule, ...]:
    """Return whether an output keeps each limit that is about outputs of its kind.

    Parameters
    ----------
    appetite : RiskAppetite
    leak : SamplingLeakage
        What was measured of it.
    output : Output or None
        What it was made from; None if it came as a measurement.
    """
    printed = leak.information.printed
    model = None if output is None else output.model
    if isinstance(model, NumberTable):
        assert output is not None
        return tuple(_of_table(appetite, model, Table.of(output.frame)))
    if isinstance(model, KaplanMeier) or printed.checks is not None:
        return (Rule("risk appetite", "review", 0.0, None, "it is not answered for such an output"),)
    if appetite.safe_dof_threshold is None:
        return ()
    free = float(leak.information.count - printed.parameters)
    return (_at_least("safe_dof_threshold", free, appetite.safe_dof_threshold, "residual degrees of freedom"),)


def _of_table(appetite: RiskAppetite, table: NumberTable, people: Table) -> Iterator[Rule]:
    groups: dict[tuple[str, ...], list[TableNumber]] = {}
    for number in table.numbers:
        groups.setdefault(number.by, []).append(number)
    fewest, free = list[float](), list[float]()
    sums: list[tuple[NDArray[np.intp], Array]] = []
    for by, numbers in groups.items():
        cell, cells = _cells([people.column(name) for name in by], len(people))
        if any(number.statistic != "sd" for number in numbers):
            fewest.append(_fewest(cell, cells))
        for name in dict.fromkeys(number.column for number in numbers if number.level is not None):
            fewest.append(_fewest(*_crossed(cell, cells, people.column(str(name)))))
        for name in dict.fromkeys(n.column for n in numbers if n.level is None and n.statistic in ("mean", "sum")):
            sums.append((cell, people.column(str(name)).astype(np.float64)))
        if any(number.statistic == "sd" for number in numbers):
            free.append(max(_fewest(cell, cells) - 1.0, 0.0))
    if appetite.safe_threshold is not None and fewest:
        yield _at_least("safe_threshold", min(fewest), appetite.safe_threshold, "people in the smallest cell")
    if sums:
        yield from _dominance(appetite, sums)
    if free and appetite.safe_dof_threshold is not None:
        yield _at_least("safe_dof_threshold", min(free), appetite.safe_dof_threshold, "degrees of freedom in a cell")


def _dominance(appetite: RiskAppetite, sums: Sequence[tuple[NDArray[np.intp], Array]]) -> Iterator[Rule]:
    named: list[tuple[str, float]] = []
    if appetite.safe_nk_k is not None:
        named.append(("safe_nk_k", appetite.safe_nk_k))
    if appetite.safe_pratio_p is not None:
        named.append(("safe_pratio_p", appetite.safe_pratio_p))
    if any((column < 0).any() for _, column in sums):
        for name, limit in named:
            yield Rule(name, "review", limit, None, "it is not defined for values below zero")
        return
    found = [np.sort(column[cell == one])[::-1] for cell, column in sums for one in np.unique(cell)]
    held = [values[~np.isnan(values)] for values in found]
    for name, limit in named:
        if name == "safe_nk_k":
            share = max(_share(values, int(appetite.safe_nk_n or 0)) for values in held)
            word: Word = "fail" if share >= limit else "pass"
            yield Rule(name, word, limit, share, f"the share of the {appetite.safe_nk_n:g} largest in a sum")
        else:
            rest = min(map(_rest, held))
            yield _at_least(name, rest, limit, "all but the two largest, as a share of the largest")


def _share(values: Array, count: int) -> float:
    """Return the share of the largest in a sum; nothing dominates nothing."""
    total = float(values.sum())
    return float(values[:count].sum()) / total if total > 0 else 0.0


def _rest(values: Array) -> float:
    """Return all but the two largest, as a share of the largest."""
    return float(values[2:].sum() / values[0]) if len(values) and values[0] > 0 else 1.0


def _cells(columns: Sequence[Column], count: int) -> tuple[NDArray[np.intp], int]:
    """Return the cell of each person, and how many there are: every combination of values counts, also an empty one."""
    cell, cells = np.zeros(count, dtype=np.intp), 1
    for column in columns:
        cell, cells = _crossed(cell, cells, column)
    return cell, cells


def _crossed(cell: NDArray[np.intp], cells: int, column: Column) -> tuple[NDArray[np.intp], int]:
    values, place = np.unique(column.astype(str) if column.dtype == object else column, return_inverse=True)
    return cell * len(values) + place, cells * len(values)


def _fewest(cell: NDArray[np.intp], cells: int) -> float:
    # With more cells than people, some are empty.
    return 0.0 if cells > len(cell) else float(np.bincount(cell, minlength=cells).min())


def _at_least(name: str, number: float, limit: float, about: str) -> Rule:
    return Rule(name, "pass" if number >= limit else "fail", limit, number, about)
