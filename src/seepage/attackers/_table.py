"""Table by attacker: from one who knows no other record to one who knows all other records."""

import textwrap
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import inf, isnan, nan

import numpy as np

from seepage._tables import Array
from seepage.attackers._check import Check
from seepage.attackers._checks import checks_of
from seepage.attackers._information import SamplingInformation, Watch
from seepage.attackers.types import Known
from seepage.errors import UnansweredError
from seepage.meaning import success_rate
from seepage.pages import counted

_WIDTH = 79
_NAME, _PERSON, _CELL = 12, 8, 8
_STATISTICS = (("median", 0.5), ("1 in 20", 0.05), ("worst", 0.0))
COVARIATES = "covariates"
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
    baseline: dict[str, float]
    """The error of a guess from the person's other values; of a category the rate of a coin."""
    categories: frozenset[str]
    outcome: tuple[str, ...]
    """Attributes that are predicted."""
    columns: tuple[AttackerColumn, ...]
    most: int | None
    """How many of the others may be known before nothing is claimed any more."""
    others: int
    alone: tuple[str, ...]
    """Who is alone with what."""
    checks: tuple[Check, ...]
    reasons: tuple[str, ...] = ()
    """Conditions that fail for values that are not assessed before an attacker who knows no other record."""

    @classmethod
    def of(cls, information: SamplingInformation) -> "AttackerTable":
        """Ask the same release of five attackers."""
        # Imported here: the engines bring pyarrow.
        from seepage.execution.storage import followed

        others, fewest = information.crowd.count - 1, information.claims.fewest
        if information.printed.fewest is not None:
            fewest = max(fewest, float(information.printed.fewest.min()))
        most = int(np.floor(others - fewest)) if fewest <= others else None
        attackers: dict[str, Known] = {"population": 0, COVARIATES: "covariates", "half": 0.5}
        if most is not None:
            attackers[f"{most:,}"] = most
        guesses = {}
        for name, known in attackers.items():
            # Of some models it is not known how outcomes scatter, given the covariates.
            with suppress(UnansweredError):
                guesses[name] = information.against(known).guesses
        with followed("errors of four attackers", sum(guesses.values())) as watch:
            columns = [_column(information.against(attackers[name]), name, watch) for name in guesses]
        columns.append(_everybody(information))
        printed = information.printed
        baseline = {
            name: 0.5 if name in information.categorical else printed.baseline.get(name, nan)
            for name in information.attribute_names
        }
        return cls(
            people=information.count,
            numbers=len(printed.names),
            printed=printed.names,
            rule=information.digits.rule,
            baseline=baseline,
            categories=information.categorical,
            outcome=information.outcome,
            columns=tuple(columns),
            most=most,
            others=others,
            alone=tuple(information.against(0).endless()),
            checks=checks_of(information),
            reasons=_reasons(information),
        )

    @property
    def heading(self) -> str:
        """What was measured, in a line."""
        attributes = counted(len(self.baseline), "private attribute")
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
        rows = [("", "", ["baseline", *(column.name for column in self.columns)])]
        for name, baseline in self.baseline.items():
            for i, (person, _) in enumerate(_STATISTICS):
                cells = [self._cell(name, column, i) for column in self.columns]
                first = self._shown(name, baseline) if i == 0 else ""
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
            "-: not assessed. exposed: can be worked out exactly. Percentages: how often a category is inferred "
            "correctly, at even odds. all records: within the digits that are printed.",
            _WIDTH,
        )
        if self._not_assessed:
            yield from textwrap.wrap(f"Not assessed: {', '.join(self._not_assessed)}; not_assessed() says why.", _WIDTH)
        for sentence in self.alone:
            yield from textwrap.wrap(sentence, _WIDTH)
        yield ""
        for check in self.checks:
            yield from textwrap.wrap(str(check), _WIDTH, subsequent_indent="      ")

    @property
    def _not_assessed(self) -> list[str]:
        """The attributes without an answer about any attacker but one who knows all other records."""
        return [name for name in self.baseline if all(not column.cells[name].claimed for column in self.columns[:-1])]

    def _cell(self, name: str, column: AttackerColumn, statistic: int) -> str:
        return self._shown(name, column.cells[name].values[statistic])

    def _shown(self, name: str, value: float) -> str:
        if isnan(value):
            return "-"
        if name in self.categories:
            return "exposed" if value >= 0.9995 else f"{value:.0%}"
        if value == inf:
            return "all"
        return "exposed" if value == 0 else f"±{value:.3g}"


def _column(information: SamplingInformation, name: str, watch: Watch) -> AttackerColumn:
    errors, cells = information.watched_errors(watch), {}
    for each in information.attribute_names:
        if each in information.categorical:
            cells[each] = _rates(information, each)
        elif each in errors:
            # Values that the person's other values determine are known without the release.
            unknown = information.printed.deviations[each] > 0
            cells[each] = _cell(errors[each][unknown] if unknown.any() else errors[each])
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


def _rates(information: SamplingInformation, name: str) -> Cell:
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


def _reasons(information: SamplingInformation) -> tuple[str, ...]:
    """Return why values are not assessed, the commonest reason first."""
    words = Counter(word for column in information.against(0).not_assessed().values() for word in column.tolist())
    return tuple(word for word, _ in words.most_common() if word)


def _everybody(information: SamplingInformation) -> AttackerColumn:
    widths, cells = information.intervals(), {}
    for name in information.attribute_names:
        cells[name] = _cell(widths[name] / 2) if name in widths else Cell((1.0, 1.0, 1.0), 1.0)
    return AttackerColumn("all records", "all other records: only the printed digits protect", cells, "")


def _short(text: str) -> str:
    return text if len(text) < _NAME else text[: _NAME - 4] + "..."
