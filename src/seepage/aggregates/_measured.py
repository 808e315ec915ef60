"""From the numbers of a table and its people to what it gives away."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption
from seepage._tables import Listed, Table
from seepage._where import for_whom
from seepage.aggregates._checks import checks_of
from seepage.aggregates._counted import Counted
from seepage.aggregates._information import TableInformation
from seepage.aggregates._numbers import RecordNumbers, Series, TableNumbers
from seepage.aggregates._printed import printed_of
from seepage.aggregates._records import Records
from seepage.attackers import Attacker, Check, Digits, SamplingLeakage, TableQuestion, about, described, with_known_size
from seepage.attackers.rows import is_code
from seepage.errors import InputError, UnsupportedError
from seepage.leakage import PeopleInMemory
from seepage.leakage.types import By

# For sums over a cell to be like normal ones: people, and people to a number.
_LEAST, _A_NUMBER = 10, 5


@dataclass(frozen=True, eq=False)
class Whom:
    """Whom a table is about."""

    people: PeopleInMemory
    count: int
    outcome: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Made:
    """A table of any kind, and what is known of it."""

    numbers: RecordNumbers
    known: tuple[str, ...]
    """The columns that may be private."""
    by: tuple[str, ...]
    counted: Counted | None
    averages: bool
    """Whether it prints more than counts and shares."""
    in_cell: int
    """How many numbers a cell has."""
    checks: tuple[Check, ...]
    remarks: tuple[Assumption, ...]
    among: NDArray[np.intp]
    """How many people each person is one of in what moves the table."""


def made_of(
    records: Records, of: Sequence[str], by: Sequence[str], series: Sequence[Series], where: str | None
) -> Made:
    """Return the table of some numbers, those of the cells of most columns first."""
    numbers = TableNumbers(records, tuple(by), tuple(series))
    groups = {id(each.grouping): each.grouping for each in series}
    cells = [group.cell(records.values, len(records)) for group in groups.values()]
    return Made(
        numbers,
        (*of, *by),
        tuple(by),
        Counted.of(records, series),
        averages=not all(each.discrete for each in series),
        in_cell=max(sum(each.grouping is group for each in series) for group in groups.values()),
        checks=checks_of(numbers),
        remarks=(*for_whom(where), *records.remarks),
        among=np.min([np.bincount(cell + 1)[cell + 1] for cell in cells], axis=0),
    )


def people_of(made: Made, ids: Listed, groups: By) -> PeopleInMemory:
    """Return who the people of a table are: by ids, or the index of their frame, or the places of their rows."""
    records = made.numbers.records
    everybody, some = records.table, len(records) < len(records.table)
    if isinstance(ids, str):
        if ids not in everybody.names:
            raise InputError(f"ids is {ids!r}, which is no column of the rows.")
        ids = everybody.column(ids)
    if some and ids is None and everybody.index is None:
        ids = np.arange(len(everybody))
    if ids is not None and some:
        ids = np.asarray(ids)[records.rows]
    if groups is not None and not isinstance(groups, str) and some:
        groups = np.asarray(groups)[records.rows]
    table = Table(everybody.picked(records.rows), everybody.names) if some else everybody
    found = PeopleInMemory.of(table, ids=ids, groups=groups)
    if found.person is not None:
        raise UnsupportedError(
            "Some people have several rows, and a table of rows is none of people. Take one row a person first, such "
            "as their mean."
        )
    return found


def measured(made: Made, asked: TableQuestion) -> SamplingLeakage:
    """Return what a table gives away without noise."""
    known_group_sizes = asked.known_group_sizes
    records, count = made.numbers.records, len(made.numbers.records)
    people = people_of(made, asked.ids, asked.groups)
    printed = printed_of(made.numbers, made.known, asked.attributes, made.checks)
    cell, cells = records.together(made.by), made.among
    needed = max(_LEAST, _A_NUMBER * made.in_cell)
    with np.errstate(divide="ignore"):
        fewest = needed * (count - 1) / (cells - 1)
    printed = replace(printed, fewest=fewest, cells=cell, by=tuple(made.by))
    if isinstance(known_group_sizes, str):
        raise InputError(f"known_group_sizes is a list of columns: [{known_group_sizes!r}].")
    # What is printed of the cells, without the cells.
    what = [*dict.fromkeys(name.partition(", ")[0] for name in made.numbers.names)]
    for name in known_group_sizes:
        values = records.columns[name] if name in records.columns else people.labels(name)
        encoded = name in records.levels and not is_code(records.levels[name])
        printed = with_known_size(printed, name, values, encoded)
        what.append(f"how many people have each {name}")
    attacker, digits_ = Attacker.of(asked.known, count - 1), Digits.of(asked.digits, printed)
    counted = made.counted
    if counted is not None:
        counted = replace(counted, totals=frozenset(known_group_sizes))
    private = tuple(printed.blocks)
    return SamplingLeakage(
        TableInformation(
            people=people,
            base=Whom(people, count),
            printed=printed,
            attacker=attacker,
            digits=digits_,
            added=None,
            noise=None,
            attribute_names=private,
            categorical=frozenset(name for name in private if name in records.levels),
            assumptions=(about(attacker), *_assumptions(what, digits_, made), *made.remarks),
            counted=counted,
            averages=made.averages,
            columns=records.columns,
        )
    )


def _assumptions(what: Sequence[str], digits: Digits, made: Made) -> tuple[Assumption, ...]:
    found = [*described(what, digits)]
    if made.counted is not None:
        found.append(
            Assumption(
                "counts",
                "How often a category is told by counts and shares is exact for an attacker who knows how common each "
                "value is in each cell; where fewer than ten others have one, its lower 95% limit stands for that.",
            )
        )
    return tuple(found)
