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
from seepage.tables import Aggregate


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
    if isinstance(model, Aggregate):
        assert output is not None
        return tuple(_of_table(appetite, model, Table.of(output.frame)))
    if isinstance(model, KaplanMeier) or printed.checks is not None:
        return (Rule("risk appetite", "review", 0.0, None, "it is not answered for such an output"),)
    if appetite.safe_dof_threshold is None:
        return ()
    free = float(leak.information.count - printed.parameters)
    return (_at_least("safe_dof_threshold", free, appetite.safe_dof_threshold, "residual degrees of freedom"),)


def _of_table(appetite: RiskAppetite, table: Aggregate, people: Table) -> Iterator[Rule]:
    cell, cells = _cells([people.column(name) for name in table.by], len(people))
    statistics = set(table.statistics)
    of = {name: people.column(name) for name in table.of}
    numbers = {name: column for name, column in of.items() if column.dtype.kind in "iufb"}
    sums = {} if not statistics & {"mean", "sum"} else numbers
    # The shares of a category are the counts of its values.
    shares = of if "share" in statistics else {name: of[name] for name in of if name not in numbers}
    if appetite.safe_threshold is not None:
        counted = [] if statistics == {"sd"} else [_fewest(cell, cells)]
        counted += [_fewest(*_crossed(cell, cells, column)) for column in shares.values()]
        if counted:
            yield _at_least("safe_threshold", min(counted), appetite.safe_threshold, "people in the smallest cell")
    if sums:
        yield from _dominance(appetite, [column.astype(np.float64) for column in sums.values()], cell)
    if "sd" in statistics and appetite.safe_dof_threshold is not None:
        free = max(_fewest(cell, cells) - 1.0, 0.0)
        yield _at_least("safe_dof_threshold", free, appetite.safe_dof_threshold, "degrees of freedom in a cell")


def _dominance(appetite: RiskAppetite, columns: Sequence[Array], cell: NDArray[np.intp]) -> Iterator[Rule]:
    named: list[tuple[str, float]] = []
    if appetite.safe_nk_k is not None:
        named.append(("safe_nk_k", appetite.safe_nk_k))
    if appetite.safe_pratio_p is not None:
        named.append(("safe_pratio_p", appetite.safe_pratio_p))
    if any((column < 0).any() for column in columns):
        for name, limit in named:
            yield Rule(name, "review", limit, None, "it is not defined for values below zero")
        return
    found = [np.sort(column[cell == one])[::-1] for column in columns for one in np.unique(cell)]
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
