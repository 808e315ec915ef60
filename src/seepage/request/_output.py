"""Outputs that can be measured: regressions, models and tables of the people of a request."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from math import isnan
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
from seepage.request._cells import not_compared
from seepage.request._given import HandedIn
from seepage.request._people import RequestPeople
from seepage.tables import STATISTICS, WORDS, Aggregate

_OF_A_TABLE = ("of", "by", "statistics", "margins")
_OF_A_CURVE = ("duration", "event", "times")
_WHERE = "where"
# What a file of a model holds.
_ALL_DIGITS = "16 significant"
# A printed number may be rounded, and was computed by another program.
_ROUNDED, _OTHER_PROGRAM = 0.5001, 1e-12


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
    """The cells of a table that were compared with nothing."""
    assembled: AssembledTable | None = None
    """The fit of a regression, with the printed numbers next to it."""

    def not_checked(self, leak: SamplingLeakage) -> tuple[str, ...]:
        """Return the cells of its file that were compared with nothing."""
        comparison = None if self.assembled is None else self.assembled.comparison
        if comparison is None:
            return self.unread
        errors = any(name.startswith("standard error of") for name in leak.information.printed.names)
        compared = comparison.compared(errors=errors)
        return not_compared(comparison.table.rows, compared, min(i for i, _ in compared))

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
    numbers = given.path if given.path.suffix.lower() == ".csv" else None
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
    curve = any(key in says for key in _OF_A_CURVE)
    _check_keys(given, says, (*_OF_A_CURVE, "by") if curve else _OF_A_TABLE)
    # The filter is the table's: the levels of a column are those of everybody.
    where = given.says.get(_WHERE)
    table = KaplanMeier(**says, where=where) if curve else Aggregate(**says, where=where)
    table.fit(people.table.native)
    by = f" by {' and '.join(says['by'])}" if says.get("by") else ""
    what = f"survival of {says.get('event')}{by}" if curve else f"table of {_named(says)}{by}"
    if given.path.suffix.lower() != ".csv":
        remark = "No CSV lies beside it: the table was made anew from the people."
        return RequestOutput(given.name, what, people, rows, table, remark=remark)
    # A curve has a row for each time.
    digits, unread = _compared(given, Table.of(table.frame_), (*says.get("by", ()), *(["time"] if curve else [])))
    return RequestOutput(given.name, what, people, rows, table, digits=digits, unread=unread)


def _named(says: Mapping[str, Any]) -> str:
    statistics = says.get("statistics", ("mean", "count"))
    of = says.get("of", ())
    return f"{' and '.join(statistics)}{' of ' + ' and '.join(of) if of else ''}"


def _check_keys(given: HandedIn, says: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in says:
        if name not in known:
            raise InputError(
                f"{given.name}.toml sets {name!r}, which says nothing here. {did_you_mean(name, [*known, _WHERE])}It "
                f"may have: {several([*known, _WHERE])}."
            )


def _compared(given: HandedIn, made: Table, by: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """Hold a printed table against the one that the people make; return how many decimals it has, and other cells.

    Cells are found by their values of `by`, columns by their names; where these are others, by what is in them: whoever
    prints a table names its columns, and puts them in order, as they like.
    """
    try:
        text = given.path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{given.path.name} is not text in UTF-8: save it so, as CSV UTF-8 in Excel.") from None
    rows = [row for row in csv.reader(text.splitlines()) if any(row)]
    if not rows:
        raise InputError(f"{given.path.name} is empty: it should hold the table, below a row of heads.")
    heads, body = [head.strip() for head in rows[0]], rows[1:]
    names = [name for name in made.names if name not in by]
    missing = [name for name in by if name not in heads]
    if missing:
        raise InputError(f"{given.path.name} has no column {missing[0]!r}, by which its cells are. It has {heads}.")
    columns = _columns(given, heads, names, by)
    places = {tuple(_plain(made.column(name)[i]) for name in by): i for i in range(len(made))}
    keys = list[tuple[str, ...]]()
    for row in body:
        if len(row) != len(heads):
            raise InputError(f"{given.path.name} has a row of {len(row)} cells below {len(heads)} heads: {row}.")
        keys.append(tuple(_plain(row[heads.index(name)]) for name in by))
        if keys[-1] not in places:
            raise _another(given, f"it has a cell {', '.join(keys[-1])}, in which nobody is")
    if len(set(keys)) < len(places):
        left = next(key for key in places if key not in keys)
        raise _another(given, f"it has no cell {', '.join(left)}, in which somebody is")
    order = [places[key] for key in keys]
    true = {name: np.asarray(made.column(name), dtype=np.float64)[order] for name in names}
    written = {at: [_number(given, row[at].strip(), heads[at]) for row in body] for at in columns}
    if any(name not in heads for name in names):
        columns = [columns[i] for i in _order([_missed(written[at], true[name]) for at in columns] for name in names)]
    for name, at in zip(names, columns, strict=True):
        for i in _missed(written[at], true[name]):
            cell = f" of {', '.join(keys[i])}" if keys[i] else ""
            raise _another(
                given, f"{heads[at]}{cell} is {body[i][at].strip()} in it, and {true[name][i]:.6g} of these people"
            )
    digits = max((decimals for column in written.values() for _, decimals in column), default=0)
    compared = [*columns, *(heads.index(name) for name in by)]
    compared += [at for at, head in enumerate(heads) if not head and _is_row_numbers([row[at] for row in body])]
    known = _words(" ".join((*made.names, *STATISTICS, *WORDS)))
    cells = {(0, at) for at in compared if _words(heads[at]) <= known}
    return digits, not_compared(rows, cells | {(i, at) for i in range(1, len(rows)) for at in compared})


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


def _is_row_numbers(cells: Sequence[str]) -> bool:
    return any(list(cells) == [str(i + first) for i in range(len(cells))] for first in (0, 1))


def _missed(written: Sequence[tuple[float, int]], true: Array) -> list[int]:
    """Return the places at which a column is not what it should be, to the digits that it has."""
    found = []
    for i, ((value, decimals), each) in enumerate(zip(written, true.tolist(), strict=True)):
        near = _ROUNDED * 10.0**-decimals + _OTHER_PROGRAM * abs(each)
        if not (abs(value - each) <= near or (isnan(value) and isnan(each))):
            found.append(i)
    return found


def _order(missed: Iterable[Sequence[Sequence[int]]]) -> list[int]:
    """Return which printed column each number is: the one with which all of them are missed least often."""
    from scipy.optimize import linear_sum_assignment

    costs = np.array([[len(each) for each in row] for row in missed], dtype=np.float64)
    # Where two are as near, the order in which they are printed decides.
    costs += 1e-6 * np.abs(np.subtract.outer(*(np.arange(size) for size in costs.shape)))
    return [int(i) for i in linear_sum_assignment(costs)[1]]


def _columns(given: HandedIn, heads: Sequence[str], names: Sequence[str], by: Sequence[str]) -> list[int]:
    """Return where each number stands: by its name, or by its place if there are as many."""
    if all(name in heads for name in names):
        return [heads.index(name) for name in names]
    rest = [i for i, head in enumerate(heads) if head not in by]
    if len(rest) != len(names):
        raise InputError(
            f"{given.path.name} has {len(rest)} columns of numbers, and what {given.name}.toml says makes "
            f"{len(names)}: {several(list(names))}. Say in it what is printed, no more and no less."
        )
    return rest


def _number(given: HandedIn, text: str, head: str) -> tuple[float, int]:
    try:
        return _parsed(text)
    except InvalidOperation:
        raise InputError(
            f"{given.path.name} holds {text!r} in {head!r}, which is no number: print each number, with a point."
        ) from None


def _parsed(text: str) -> tuple[float, int]:
    """Return a number and its decimals."""
    found = Decimal(text)
    return float(found), len(text.lower().partition("e")[0].partition(".")[2])


def _plain(value: object) -> str:
    """Return a value of a cell as it is written: a number with as many digits as a double has."""
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    short = f"{number:.15g}"
    return short if Decimal(text) in (Decimal(short), Decimal(repr(number))) else text


def _another(given: HandedIn, why: str) -> InputError:
    return InputError(
        f"{given.path.name} is not the table of these people: {why}. Ask for the people it was made of, or for the "
        f"filter (where) in {given.name}.toml."
    )
