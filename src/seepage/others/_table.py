"""The table by attacker: from somebody who knows nobody to somebody who knows everybody else."""

import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import inf, isnan, nan

import numpy as np

from seepage._tables import Array
from seepage.errors import UnansweredError
from seepage.meaning import success_rate
from seepage.others._check import Check
from seepage.others._checks import checks_of
from seepage.others._information import OthersInformation
from seepage.pages import counted

_WIDTH = 79
_NAME, _PERSON, _CELL = 16, 8, 9
_STATISTICS = (("median", 0.5), ("1 in 20", 0.05), ("worst", 0.0))
# Who knows everybody's covariates.
REGISTRY = "registry"
# Beyond so many people categories are not changed one by one for a table.
_MOST_CHANGED = 5_000


@dataclass(frozen=True)
class Cell:
    """What one attacker reaches with one attribute: at the median person, one in twenty, and the worst."""

    values: tuple[float, float, float]
    """Errors, or of a category success rates; NaN where nothing is claimed, 0 or 1 where nothing protects."""
    claimed: float
    """The share of people of whom something is claimed."""


@dataclass(frozen=True)
class AttackerColumn:
    """One attacker."""

    name: str
    """In two words."""
    holds: str
    """In a sentence."""
    cells: dict[str, Cell]
    reason: str
    """Why nothing at all is claimed, if so."""


@dataclass(frozen=True)
class AttackerTable:
    """The error of five attackers who use averages."""

    people: int
    numbers: int
    printed: tuple[str, ...]
    rule: str
    blind: dict[str, float]
    """The error of a guess from the person's other values; of a category the rate of a coin."""
    categories: frozenset[str]
    columns: tuple[AttackerColumn, ...]
    most: int | None
    """How many of the others may be known before nothing is claimed any more."""
    others: int
    alone: tuple[str, ...]
    """Who is alone with what."""
    checks: tuple[Check, ...]

    @classmethod
    def of(cls, information: OthersInformation) -> "AttackerTable":
        """Ask the same release of five attackers."""
        others, fewest = information.crowd.count - 1, information.claims.fewest
        if information.printed.fewest is not None:
            fewest = max(fewest, float(information.printed.fewest.min()))
        most = int(np.floor(others - fewest)) if fewest <= others else None
        columns = [_column(information.against(0), "nobody")]
        # Of some models it is not known how outcomes scatter, given the covariates.
        with suppress(UnansweredError):
            columns.append(_column(information.against("covariates"), REGISTRY))
        columns.append(_column(information.against(0.5), "half"))
        if most is not None:
            columns.append(_column(information.against(most), f"{most:,}"))
        columns.append(_everybody(information))
        printed = information.printed
        blind = {
            name: 0.5 if name in information.categorical else printed.deviations.get(name, nan)
            for name in information.attribute_names
        }
        return cls(
            people=information.count,
            numbers=len(printed.names),
            printed=printed.names,
            rule=information.digits.rule,
            blind=blind,
            categories=information.categorical,
            columns=tuple(columns),
            most=most,
            others=others,
            alone=tuple(information.against(0).endless()),
            checks=checks_of(information),
        )

    @property
    def heading(self) -> str:
        """What was measured, in a line."""
        attributes = counted(len(self.blind), "private attribute")
        return f"{self.people:,} people, {attributes}, {counted(self.numbers, 'number')} {self.rule}"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from textwrap.wrap(self.heading, _WIDTH)
        yield ""
        about = (
            "How far off an attacker is who uses averages and knows everything about a person but one value, by what "
            "they hold of the others. A description, no bound: somebody cleverer, or who knows more, can be nearer."
        )
        yield from textwrap.wrap(about, _WIDTH)
        yield ""
        rows = [("", "", ["blind", *(column.name for column in self.columns)])]
        for name, blind in self.blind.items():
            for i, (person, _) in enumerate(_STATISTICS):
                cells = [self._cell(name, column, i) for column in self.columns]
                first = self._shown(name, blind) if i == 0 else ""
                rows.append((_short(name) if i == 0 else "", person, [first, *cells]))
        widths = [max(_CELL, *(len(cells[j]) + 1 for *_, cells in rows)) for j in range(len(self.columns) + 1)]
        for title, person, cells in rows:
            yield f"{title:{_NAME}}{person:{_PERSON}}" + "".join(
                f"{c:>{w}}" for c, w in zip(cells, widths, strict=True)
            )
        yield ""
        for column in self.columns:
            reason = f" Nothing is claimed: {column.reason}." if column.reason else ""
            share = float(np.mean([cell.claimed for cell in column.cells.values()]))
            if not reason and share < 0.995:
                reason = f" Claimed of {share:.0%} of the values; the others are left out above."
            yield from textwrap.wrap(f"{column.name}: knows {column.holds}.{reason}", _WIDTH, subsequent_indent="  ")
        yield from textwrap.wrap(
            "-: nothing is claimed. none: nothing protects. Percentages: how often a category is told, at even odds. "
            "[width]: of the interval that the printed digits leave.",
            _WIDTH,
        )
        for sentence in self.alone:
            yield from textwrap.wrap(sentence, _WIDTH)
        yield ""
        for check in self.checks:
            yield from textwrap.wrap(str(check), _WIDTH, subsequent_indent="      ")

    def _cell(self, name: str, column: AttackerColumn, statistic: int) -> str:
        value = column.cells[name].values[statistic]
        if column is self.columns[-1] and name not in self.categories and 0 < value < inf:
            return f"[{value:.3g}]"
        return self._shown(name, value)

    def _shown(self, name: str, value: float) -> str:
        if isnan(value):
            return "-"
        if name in self.categories:
            return "told" if value >= 0.9995 else f"{value:.0%}"
        if value == inf:
            return "all"
        return "none" if value == 0 else f"±{value:.3g}"


def _column(information: OthersInformation, name: str) -> AttackerColumn:
    errors, cells = information.errors, {}
    for each in information.attribute_names:
        if each in information.categorical:
            cells[each] = _rates(information, each)
        elif each in errors:
            cells[each] = _cell(errors[each])
        else:
            cells[each] = Cell((nan, nan, nan), 0.0)
    reason = information.silence()
    return AttackerColumn(name, information.attacker.words, cells, reason)


def _cell(errors: Array) -> Cell:
    known = errors[~np.isnan(errors)]
    if not len(known):
        return Cell((nan, nan, nan), 0.0)
    values = tuple(float(np.quantile(known, share, method="inverted_cdf")) for _, share in _STATISTICS)
    return Cell(values, len(known) / len(errors))  # type: ignore[arg-type]


def _rates(information: OthersInformation, name: str) -> Cell:
    if information.count > _MOST_CHANGED:
        return Cell((nan, nan, nan), 0.0)
    try:
        far = information.distances(name, None).farthest()
    except UnansweredError:
        return Cell((nan, nan, nan), 0.0)
    known = far[~np.isnan(far)]
    if not len(known):
        return Cell((nan, nan, nan), 0.0)
    values = tuple(
        float(success_rate(np.quantile(known, 1 - share, method="inverted_cdf"))) for _, share in _STATISTICS
    )
    return Cell(values, len(known) / len(far))  # type: ignore[arg-type]


def _everybody(information: OthersInformation) -> AttackerColumn:
    widths, cells = information.intervals(), {}
    for name in information.attribute_names:
        cells[name] = _cell(widths[name]) if name in widths else Cell((1.0, 1.0, 1.0), 1.0)
    return AttackerColumn("all", "everybody else's record: only the printed digits are left", cells, "")


def _short(text: str) -> str:
    return text if len(text) < _NAME else text[: _NAME - 4] + "..."
