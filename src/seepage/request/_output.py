"""Outputs that can be measured: regressions, models and tables of the people of a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._near import did_you_mean, several
from seepage._noise import GaussianNoise
from seepage._tables import Array, Frame, Table
from seepage.aggregates import KaplanMeier
from seepage.attackers import SamplingLeakage
from seepage.errors import InputError
from seepage.linear import ModelTable, measure
from seepage.linear.written import AssembledTable
from seepage.request._given import HandedIn
from seepage.request._people import RequestPeople
from seepage.tables import (
    FORMATS,
    PrintedDigits,
    PrintedNumbers,
    described_numbers,
    not_compared,
    printed_numbers,
    read_grids,
    texts_of,
)

_OF_A_TABLE = ("of", "by", "statistics")
_OF_A_CURVE = ("duration", "event", "times")
_WHERE = "where"
# What a file of a model holds.
_ALL_DIGITS = "16 significant"


@dataclass(frozen=True, eq=False)
class RequestOutput:
    """One output about some of the people.

    Attributes
    ----------
    name : str
    what : str
        In a few words.
    rows : ndarray
        The places of the people it is made of.
    remark : str
        What a reader should know of how it was checked; empty if nothing.
    """

    name: str
    what: str
    people: RequestPeople
    rows: NDArray[np.intp]
    model: Any
    outcome: str | None = None
    digits: int | str | None = None
    remark: str = ""
    where: str | None = None
    """For whom it is."""
    unread: tuple[str, ...] = ()
    """The cells that were compared with nothing."""
    texts: tuple[str, ...] = ()
    """The texts of these cells."""
    numbers: PrintedNumbers | None = None
    """Those of a table."""
    contradictions: tuple[str, ...] = ()
    """Printed numbers that are not the people's, in sentences."""
    assembled: AssembledTable | None = None
    """The fit of a regression, with the printed numbers next to it."""

    def checked(self, leak: SamplingLeakage) -> "RequestOutput":
        """Return it with the cells of a regression that were compared with nothing."""
        comparison = None if self.assembled is None else self.assembled.comparison
        if comparison is None:
            return self
        errors = any(name.startswith("standard error of") for name in leak.information.printed.names)
        compared, rows = comparison.compared(errors=errors), comparison.table.rows
        left = tuple(not_compared(rows, compared, min(i for i, _ in compared)))
        return replace(self, unread=left, texts=tuple(texts_of(rows, compared)))

    @property
    def takes_noise(self) -> bool:
        """Whether noise can be added to it."""
        return isinstance(self.model, ModelTable)

    @property
    def frame(self) -> Frame:
        """Its people."""
        return self.people.frame(self.rows)

    def measured(self, *, rounded: bool = False) -> SamplingLeakage:
        """Return what it gives away without noise, to somebody who knows nobody's record.

        Parameters
        ----------
        rounded : bool, default=False
            Whether its numbers are rounded to a tenth of a standard error, whatever the file has.
        """
        digits: int | str | None = "3 significant" if rounded else self.digits
        if self.outcome is not None:
            from seepage.linear.columns import fitted_columns, split

            table = Table.of(self.frame)
            features = fitted_columns(*split(self.model)) or [
                name for name in table.names if name not in (self.outcome, self.people.ids)
            ]
            found = measure(
                self.model,
                Table.of(self.frame, features).native,
                table.column(self.outcome),
                ids=table.column(self.people.ids),
                known_records=0,
                digits=digits,
            )
        else:
            # A table filters by itself.
            frame = self.frame if self.takes_noise else self.people.table.native
            found = measure(self.model, frame, ids=self.people.ids, known_records=0, digits=digits)
        assert isinstance(found, SamplingLeakage)
        return found

    def noised(self, standard_errors: float) -> SamplingLeakage:
        """Return what its coefficients give away with so much noise on each."""
        known = measure(self.model, self.frame, ids=self.people.ids, known_records=0, published=["coefficients"])
        assert isinstance(known, SamplingLeakage)
        spread: Array = known.information.printed.sampling[~known.information.printed.whole]
        noise = GaussianNoise(covariance=np.diag((standard_errors * spread) ** 2))
        found = measure(
            self.model, self.frame, ids=self.people.ids, known_records=0, published=["coefficients"], noise_scale=noise
        )
        assert isinstance(found, SamplingLeakage)
        return found


def output_of(given: HandedIn, people: RequestPeople) -> RequestOutput:
    """Return what was handed in as something that can be measured.

    Parameters
    ----------
    given : Given
    people : People
        Of whom it is made.
    """
    says = dict(given.says)
    where = says.pop(_WHERE, None)
    rows = people.rows(where)
    kind = _regression
    if given.path.suffix.lower() == ".skops":
        kind = _skops
    elif any(key in says for key in (*_OF_A_TABLE, *_OF_A_CURVE)):
        kind = _table
    return replace(kind(given, says, people, rows), where=where)


def _regression(
    given: HandedIn, says: Mapping[str, Any], people: RequestPeople, rows: NDArray[np.intp]
) -> RequestOutput:
    _check_keys(given, says, [each.name for each in fields(ModelTable) if each.name != "numbers"])
    for name in ("formula", "family"):
        if name not in says:
            raise InputError(
                f"{given.name}.toml has no {name}: it says of what a regression is (formula, family), or a table (of, "
                "by, statistics)."
            )
    numbers = given.path if given.path.suffix.lower() in (".csv", ".tsv") else None
    model = ModelTable(numbers=numbers, **says)
    assembled = model.on(people.frame(rows))
    what = f"{model.family} regression of {' and '.join(model.outcome)}"
    return RequestOutput(given.name, what, people, rows, model, assembled=assembled)


def _skops(given: HandedIn, says: Mapping[str, Any], people: RequestPeople, rows: NDArray[np.intp]) -> RequestOutput:
    _check_keys(given, says, ["outcome"])
    if not isinstance(says.get("outcome"), str):
        raise InputError(f'{given.path.name}: what does it predict? Write outcome = "COLUMN" into {given.name}.toml.')
    if says["outcome"] not in people.table.names:
        raise InputError(f"{given.name}.toml: there is no column {says['outcome']!r}.")
    from seepage.request._skops import read_skops

    model = read_skops(given.path)
    what = f"{type(model).__name__} of {says['outcome']}"
    return RequestOutput(given.name, what, people, rows, model, says["outcome"], _ALL_DIGITS)


def _table(given: HandedIn, says: Mapping[str, Any], people: RequestPeople, rows: NDArray[np.intp]) -> RequestOutput:
    if any(key in says for key in _OF_A_CURVE):
        return _curve(given, says, people, rows)
    _check_keys(given, says, _OF_A_TABLE)
    where = given.says.get(_WHERE)
    if given.path.suffix.lower() in FORMATS:
        numbers, remark = printed_numbers(given.path, says, people.table, where), ""
    else:
        numbers = described_numbers(says, people.table, where)
        remark = "No file of numbers is next to it: the table was made from the people."
    made = numbers.table
    table = None if made is None else made.fit(people.table.native)
    what = f"table of {numbers.statistics()}" if numbers.claims else "table"
    output = RequestOutput(given.name, what, people, rows, table, digits=numbers.digits, remark=remark)
    return replace(
        output,
        numbers=numbers,
        texts=numbers.texts,
        unread=numbers.not_checked,
        contradictions=numbers.contradictions,
    )


def _curve(given: HandedIn, says: Mapping[str, Any], people: RequestPeople, rows: NDArray[np.intp]) -> RequestOutput:
    _check_keys(given, says, (*_OF_A_CURVE, "by"))
    # The filter is the table's: the levels of a column are those of everybody.
    curve = KaplanMeier(**says, where=given.says.get(_WHERE)).fit(people.table.native)
    by = f" by {' and '.join(says['by'])}" if says.get("by") else ""
    output = RequestOutput(given.name, f"survival of {says.get('event')}{by}", people, rows, curve)
    if given.path.suffix.lower() not in FORMATS:
        return replace(output, remark="No file of numbers is next to it: the curve was made from the people.")
    made, grid, keys = Table.of(curve.frame_), read_grids(given.path).grids[0], (*says.get("by", ()), "time")
    heads = [head.lower() for head in grid[0]]
    for name in (*keys, "survival"):
        if name.lower() not in heads:
            raise InputError(f"{given.path.name} has no column {name!r}. It has {several(grid[0])}.")
    *places, last = (heads.index(name.lower()) for name in (*keys, "survival"))
    cells = zip(*(map(_plain, made.column(name)) for name in keys), strict=True)
    true = dict(zip(cells, made.column("survival").tolist(), strict=True))
    compared, digits = {(0, j) for j in (*places, last)}, 0
    for i, row in enumerate(grid[1:], 1):
        key, numbers = tuple(_plain(row[j]) for j in places), PrintedDigits.all_of(row[last])
        if key not in true or len(numbers) != 1:
            continue
        if not numbers[0].is_near(true[key]):
            another = f"survival at {', '.join(key)} is {row[last]} in it, and {true[key]:.6g} of these people"
            return replace(output, contradictions=(another,))
        compared |= {(i, j) for j in (*places, last)}
        digits = max(digits, numbers[0].decimals)
    left = tuple(not_compared(grid, compared))
    return replace(output, digits=digits, unread=left, texts=tuple(texts_of(grid, compared)))


def _check_keys(given: HandedIn, says: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in says:
        if name not in known:
            raise InputError(
                f"{given.name}.toml sets {name!r}, which says nothing here. {did_you_mean(name, [*known, _WHERE])}It "
                f"may have: {several([*known, _WHERE])}."
            )


def _plain(value: object) -> str:
    """Return a value as it is written: a number with as many digits as a double has."""
    text = str(value).strip()
    try:
        return f"{float(text):.15g}" if len(text) < 16 else text
    except ValueError:
        return text
