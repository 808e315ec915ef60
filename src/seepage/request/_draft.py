"""Descriptions of outputs that nobody described: guessed from labels, and tried against the people."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from seepage._tables import Data, missing_in
from seepage._writing import write_file
from seepage.errors import InputError, SeepageError
from seepage.linear import ModelTable
from seepage.linear.written import text_of
from seepage.request._people import RequestPeople
from seepage.tables import FORMATS, named_columns, printed_numbers, read_grids

_CONSTANT = re.compile(r"\(?intercept\)?|_cons|const(ant)?", re.IGNORECASE)
# Columns of the people that are tried as groups, and as the filter.
_MOST_GROUPS, _MOST_LEVELS = 4, 12


def draft(request: str | os.PathLike[str], *, people: Data, ids: str = "id") -> tuple[Path, ...]:
    """Write a draft of a description next to each table and regression of a folder that has none.

    Labels name columns of the people; groups, outcome, family and filter are those whose numbers are in the file.
    Correct the drafts before `check`.

    Parameters
    ----------
    request : path
        The folder of a request.
    people : data frame or path
        All people whom the outputs are about, one row each.
    ids : str, default="id"
        The column of row identifiers.

    Returns
    -------
    tuple of Path
        The files that were written.
    """
    everybody, written = RequestPeople.of(people, ids), []
    for path in sorted(Path(request).iterdir()):
        beside = path.with_suffix(".toml")
        if path.suffix.lower() in FORMATS and not beside.exists():
            with suppress(InputError):
                write_file(beside, text_of(_described(path, everybody)))
                written.append(beside)
    return tuple(written)


def _described(path: Path, people: RequestPeople) -> dict[str, Any]:
    labels = [cell for rows in read_grids(path).grids for row in rows for cell in row[:2]]
    is_regression = any(map(_CONSTANT.fullmatch, labels))
    return (_regression if is_regression else _table)(path, people)


def _table(path: Path, people: RequestPeople) -> dict[str, Any]:
    """Return the variables, groups and filter by which most numbers are the people's."""
    mentioned, grouping = named_columns(path, people.table, without=people.ids)
    best: tuple[float, dict[str, Any]] = (-np.inf, {"of": list(mentioned)})
    columns = [name for name in people.table.names if name not in (*mentioned, people.ids)]
    for where, size in product((None, *_filters(people)), range(min(len(grouping), _MOST_GROUPS) + 1)):
        for by in combinations(grouping, size):
            of = [name for name in mentioned if name not in by]
            # A file about one variable may leave it to its title.
            for variables in [of] if of or where else [[], *([name] for name in columns)]:
                says = {"of": variables, "by": list(by), **({} if where is None else {"where": where})}
                found = printed_numbers(path, says, people.table, where)
                score = len(found.claims) - 10.0 * len(found.contradictions) - len(found.not_checked)
                if score > best[0]:
                    best = score, says
                if found.claims and not found.contradictions and not found.not_checked:
                    return says
    return best[1]


def _filters(people: RequestPeople) -> Iterator[str]:
    for name in people.table.names:
        column = people.table.column(name)
        known = column[~missing_in(column)]
        values = np.unique(known.astype(str) if known.dtype == object else known)
        if name != people.ids and len(values) <= _MOST_LEVELS:
            yield from (f"`{name}` == {value}" for value in values.tolist())


def _regression(path: Path, people: RequestPeople) -> dict[str, Any]:
    """Return the outcome and family whose fit has the printed numbers."""
    rows = read_grids(path).grids[0]
    names = [name for name in people.table.names if name != people.ids]
    terms = dict.fromkeys(filter(None, (_term(row[0], names) for row in rows[1:])))
    mentioned = {name for name in names for term in terms if name in re.split(r"\W", term)}
    outcomes = [name for name in names if name not in mentioned]
    first: dict[str, Any] = {}
    for outcome in outcomes:
        for family in _families(people, outcome):
            says: dict[str, Any] = {"formula": f"{outcome} ~ {' + '.join(terms) or 1}", "family": family}
            first = first or says
            try:
                ModelTable(numbers=path, **says).on(people.table.native)
            except (SeepageError, ValueError, np.linalg.LinAlgError):
                continue
            return says
    return first


def _term(label: str, names: Sequence[str]) -> str:
    """Return the term of a formula that a label begins with; a level follows its column."""
    found = []
    for part in re.split("[:#]", label):
        function = re.fullmatch(r"(\w+)\((\w+)\)", part)
        name = max((name for name in names if part.lower().startswith(name.lower())), key=len, default="")
        found.append(part if function and function[2] in names else name)
    return ":".join(found) if all(found) else ""


def _families(people: RequestPeople, outcome: str) -> Sequence[str]:
    column = people.table.column(outcome)
    known = column[~missing_in(column)]
    values = np.unique(known) if known.dtype.kind in "biuf" else known[:0]
    if len(values) == 2:
        return ("binomial", "gaussian")
    if not len(values):
        return ()
    is_count = known.dtype.kind == "i" and values[0] >= 0
    return ("poisson", "gaussian") if is_count else ("gaussian",)
