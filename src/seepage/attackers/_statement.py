"""What may be taken along: a sentence for a paper, one for a form; no certificate."""

import json
from dataclasses import dataclass
from math import isnan, nan

from seepage import pages
from seepage._version import __version__
from seepage.attackers._table import COVARIATES, AttackerColumn, AttackerTable

KIND = "statement about attackers who use averages"


@dataclass(frozen=True)
class Statement:
    """What a release without noise gives away, in words that may be printed.

    It describes attackers who use averages. It is no certificate, and nobody signs it.
    """

    table: AttackerTable
    chosen: int | None = None
    """How many records are enough for somebody who may choose them to come as near as the sentence says."""

    @property
    def attribute(self) -> str | None:
        """The number with the smallest error of the people assessed, relative to a guess from their other values."""
        column, found = self._most_claimed, {}
        for name, baseline in self.table.baseline.items():
            if name in self.table.categories or isnan(baseline) or baseline == 0:
                continue
            smallest = column.cells[name].values[2]
            if not isnan(smallest):
                found[name] = smallest / baseline
        return min(found, key=lambda name: found[name]) if found else None

    @property
    def _most_claimed(self) -> AttackerColumn:
        """The attacker who knows most of those about whom something is claimed."""
        claimed = [c for c in self.table.columns[:-1] if not c.reason and c.name != COVARIATES]
        return claimed[-1] if claimed else self.table.columns[0]

    @property
    def nearest(self) -> float:
        """How far off the guess is that the sentences are about; NaN if there is none."""
        return nan if self.attribute is None else self._most_claimed.cells[self.attribute].values[2]

    @property
    def paper(self) -> str:
        """A sentence for a paper."""
        name, column, table = self.attribute, self._most_claimed, self.table
        if name is None or column.reason:
            numbers = [each for each in table.baseline if each not in table.categories]
            rest = "people with several rows have no baseline" if numbers else "no attribute is a number"
            reason = column.reason or next(iter(table.reasons), rest)
            return f"Nothing is claimed about what these {table.numbers} numbers tell about single people: {reason}."
        value, baseline = self.nearest, table.baseline[name]
        nearest = "can work out exactly" if value == 0 else f"is still off by about {value:.2g} for"
        called = f"{name}, the outcome," if name in table.outcome else name
        chosen = registry = ""
        if self.chosen is not None and table.most is not None and 0 < self.chosen < table.most:
            about = _few_digits(self.chosen)
            chosen = f" Who may choose whose records to hold needs only about {about:,.0f} of them for that."
        if self._worked_out:
            registry = f" Who holds everybody's covariates can work out the {_listed(self._worked_out)} of somebody."
        beyond = f" Beyond {table.most:,} known records nothing is claimed." if table.most is not None else ""
        return (
            f"An attacker who uses averages, and holds {column.holds}, {nearest} the {called} of {self._people(name)} "
            f"(a guess from the person's other values is off by {baseline:.2g}); of all numbers, this has the smallest "
            f"error relative to that guess.{chosen}{self._outcomes}{self._not_assessed}{registry}{beyond}"
        )

    def _assessed(self, name: str) -> int:
        return round(self._most_claimed.cells[name].claimed * self.table.people)

    def _people(self, name: str) -> str:
        """Return the person that a sentence is about, and the number of people compared."""
        people, assessed = self.table.people, self._assessed(name)
        if assessed == people:
            return f"the most exposed of {people:,} people"
        compared = "only person" if assessed == 1 else f"most exposed of the {assessed:,} people"
        return f"the {compared} assessed, out of {people:,}"

    @property
    def _not_assessed(self) -> str:
        """A sentence about people who are in none of the comparisons."""
        names = [name for name in (self.attribute, *self.table.outcome) if name is not None]
        complete = all(self._assessed(name) == self.table.people for name in names)
        return "" if complete else " People who are not assessed may be more exposed."

    @property
    def _outcomes(self) -> str:
        """A sentence for each outcome, except the attribute that the first sentence is about."""
        sentences = []
        for name in self.table.outcome:
            value = self._most_claimed.cells[name].values[2]
            if name == self.attribute:
                continue
            if isnan(value):
                sentences.append(f" The outcome, {name}, is not assessed.")
            elif name in self.table.categories:
                rate = f"is inferred correctly {value:.0%} of the time, at even odds"
                sentences.append(f" The outcome, {name}, of {self._people(name)}, {rate}.")
            else:
                sentences.append(f" For the outcome, {name}, the error is about {value:.2g} for {self._people(name)}.")
        return "".join(sentences)

    @property
    def _worked_out(self) -> list[str]:
        """What nothing protects of somebody before an attacker who knows all covariates."""
        registry = next((column for column in self.table.columns if column.name == COVARIATES), None)
        cells = {} if registry is None else registry.cells
        told = {name: cell.values[2] for name, cell in cells.items()}
        return [
            name for name, value in told.items() if (value >= 0.9995 if name in self.table.categories else value == 0)
        ]

    @property
    def ethics(self) -> str:
        """A few sentences for an ethics form."""
        return (
            f"We print {self.table.numbers} numbers about {self.table.people:,} people, {self.table.rule}, and add no "
            f"noise. {self.paper} This describes attackers who use averages of the population; it is no guarantee, and "
            "says nothing of anybody who knows more, or of other outputs about the same people."
        )

    def text(self) -> str:
        """Return all of it."""
        return f"{self.ethics}\n\n{self.table}\n"

    def to_json(self) -> str:
        """Return it for a machine."""
        columns = [
            {
                "attacker": column.name,
                "knows": column.holds,
                "reason": column.reason,
                "errors": {name: [_few_digits(value) for value in cell.values] for name, cell in column.cells.items()},
            }
            for column in self.table.columns
        ]
        found = {
            "kind": KIND,
            "version": __version__,
            "people": self.table.people,
            "printed": list(self.table.printed),
            "digits": self.table.rule,
            "baseline": {name: _few_digits(value) for name, value in self.table.baseline.items()},
            "statistics": ["median", "1 in 20", "worst"],
            "attackers": columns,
            "sentence": self.paper,
        }
        return json.dumps(found, indent=2)

    def _repr_html_(self) -> str:
        said = (pages.Section("For a paper", (self.paper,)), pages.Section("For an ethics form", (self.ethics,)))
        return pages.snippet(pages.Document("Statement; no certificate", "", said))

    def __str__(self) -> str:
        return self.ethics


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _few_digits(value: float) -> float | None:
    """Return a number as it may be printed: errors come from the rows, and more digits would say more of them."""
    return None if isnan(value) else float(f"{value:.2g}")
