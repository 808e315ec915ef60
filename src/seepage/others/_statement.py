"""What may be taken along: a sentence for a paper, one for a form; no certificate."""

import json
from dataclasses import dataclass
from math import isnan, nan

from seepage import pages
from seepage._version import __version__
from seepage.others._table import REGISTRY, AttackerColumn, AttackerTable

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
        """The number that comes nearest to being known, beside its blind guess: the sentences are about it."""
        column, found = self._most_claimed, {}
        for name, blind in self.table.blind.items():
            if name in self.table.categories or isnan(blind) or blind == 0:
                continue
            smallest = column.cells[name].values[2]
            if not isnan(smallest):
                found[name] = smallest / blind
        return min(found, key=lambda name: found[name]) if found else None

    @property
    def _most_claimed(self) -> AttackerColumn:
        """The attacker who knows most of those about whom something is claimed."""
        claimed = [c for c in self.table.columns[:-1] if not c.reason and c.name != REGISTRY]
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
            reason = column.reason or "no attribute is a number"
            return f"Nothing is claimed about what these {table.numbers} numbers tell about single people: {reason}."
        value, blind = self.nearest, table.blind[name]
        nearest = "can tell it exactly" if value == 0 else f"is still off by about {value:.2g}"
        wary = ""
        if self.chosen is not None and table.most is not None and 0 < self.chosen < table.most:
            about = _few_digits(self.chosen)
            wary = f" Who may choose whose records to hold needs only about {about:,.0f} of them for that."
        if self._worked_out:
            wary += f" Who holds everybody's covariates can work out the {_listed(self._worked_out)} of somebody."
        beyond = f" Beyond {table.most:,} known records nothing is claimed." if table.most is not None else ""
        return (
            f"An attacker who uses averages, and holds {column.holds}, {nearest} for the {name} of the most exposed of "
            f"{table.people:,} people (a guess from the person's other values is off by {blind:.2g}); this is the "
            f"attribute that comes nearest to being known.{wary}{beyond}"
        )

    @property
    def _worked_out(self) -> list[str]:
        """What nothing protects of somebody before an attacker who knows all covariates."""
        registry = next((column for column in self.table.columns if column.name == REGISTRY), None)
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
            "blind guess": {name: _few_digits(value) for name, value in self.table.blind.items()},
            "statistics": ["median", "1 in 20", "worst"],
            "attackers": columns,
            "sentence": self.paper,
        }
        return json.dumps(found, indent=2)

    def _repr_html_(self) -> str:
        said = pages.terms([("For a paper", self.paper), ("For an ethics form", self.ethics)])
        return pages.article(pages.tag("h3", "What may be said; no certificate"), said)

    def __str__(self) -> str:
        return self.ethics


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _few_digits(value: float) -> float | None:
    """Return a number as it may be printed: errors come from the rows, and more digits would say more of them."""
    return None if isnan(value) else float(f"{value:.2g}")
