"""Private attributes: error floors of numbers, and success rates of categories."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from seepage.errors import MinimizerError, UnansweredError
from seepage.leakage import Information, Sketch, ToldCategory, before, deviations, told_apart
from seepage.leakage.types import Prior
from seepage.meaning import says_nothing, success_rate
from seepage.pages import NOTHING, Grid, Item, Section, most, name, number, percent
from seepage.report._rounding import SHARES, at_most, down, down_to_percent, error, near, rate, up_to_percent

# Beyond this many people, refits of every category for everybody take longer than a reader waits.
_MOST_REFITTED = 10_000
_JUMPS = "The release moves with it by jumps, and not smoothly: no floor is known, which is no safety."
_CERTAIN = 0.995


@dataclass(frozen=True)
class NumberAttribute:
    """An attribute that is a number: per share of people, its floor and the share of its variance that remains."""

    name: str
    unit: str
    baseline: float | None = None
    floors: tuple[float | None, ...] = ()
    remaining: tuple[float, ...] = ()
    reason: str = ""

    @property
    def exposure(self) -> float:
        """The share of the variance that the release takes away, from 0 to 1; 0 without a baseline."""
        return 1 - self.remaining[-1] if self.remaining else 0.0

    def cells(self) -> list[str | Item]:
        """Return its row of a table."""
        silent = [bool(self.remaining) and says_nothing(left) for left in self.remaining] or [False] * len(SHARES)
        floors = [Item("says nothing") if s else error(f) for f, s in zip(self.floors, silent, strict=True)]
        known = Item(NOTHING) if self.baseline is None else error(self.baseline)
        left = rate(min(self.remaining)) if self.remaining else Item(NOTHING)
        return [name(self.name) + (f" ({name(self.unit)})" if self.unit else ""), *floors, known, left]

    def sentence(self) -> str:
        """Return the floor of the most exposed person, and that of half the people."""
        called, lowest, half = name(self.name), self.floors[-1], self.floors[0]
        if lowest is None:
            return f"The release says nothing about {called}."
        said = f"No unbiased guess of {called} is better than {self._amount(lowest)} for anyone"
        # An error beyond what anybody knows without the release is of no interest.
        if half is not None and (self.baseline is None or half <= 3 * self.baseline):
            said += f"; for half the people {self._amount(half)}"
        return f"{said}." + (
            "" if self.baseline is None else f" Without the release a guess is off by {self._amount(self.baseline)}."
        )

    def _amount(self, value: float) -> str:
        return f"± {number(value)}{f' {name(self.unit)}' if self.unit else ''}"


@dataclass(frozen=True)
class CategoryAttribute:
    """An attribute that is a category: per share of people, the success rate of the best attacker."""

    name: str
    rates: tuple[float, ...] = ()
    exact: bool = True
    """Whether the model was refitted with everybody; otherwise the rates are approximate, and no bound."""
    reason: str = ""

    @property
    def exposure(self) -> float:
        """The advantage over a coin, from 0 to 1."""
        return 2 * self.rates[-1] - 1

    def cells(self) -> list[str | Item]:
        """Return its row of a table."""
        return [name(self.name), *(rate(each, "" if self.exact else "≈ ") for each in self.rates)]

    def sentence(self) -> str:
        """Return the success rate for the most exposed person, and for half the people."""
        called, half, widest = name(self.name), self.rates[0], self.rates[-1]
        if half >= _CERTAIN:
            return f"An attacker who knows all else infers “{called}” of half the people almost for certain."
        about = "at most" if self.exact else "about"
        middle = f"for half the people {about} {percent(half)} of the time, where a coin has 50%"
        if widest >= _CERTAIN:
            return f"An attacker who knows all else infers “{called}” of some people almost for certain; {middle}."
        says = "no attacker infers {} more than {}" if self.exact else "the best attacker infers {} up to about {}"
        most_exposed = says.format(f"anyone's “{called}”", percent(widest))
        return f"At equal odds, {most_exposed} of the time; {middle}."


Attribute = NumberAttribute | CategoryAttribute


def read_numbers(information: Information, *, units: Mapping[str, str], prior: Prior) -> list[NumberAttribute]:
    """Return the attributes that are numbers, the most exposed first."""
    baseline = deviations(information, prior)
    found = []
    for called, eta in information.distributions("attributes").items():
        unit = units.get(called, "")
        if called in information.without_slope:
            found.append(NumberAttribute(called, unit, reason=_JUMPS))
        elif called not in information.categorical:
            known = eta.sketched()
            most_eta = [at_most(known, share) for share in SHARES]
            floors = tuple(down(1 / each) if each > 0 else None for each in most_eta)
            before_it = before(information, prior, called) if called in baseline else None
            left = () if before_it is None else tuple(down_to_percent(float(before_it.left(each))) for each in most_eta)
            deviation = near(baseline[called]) if called in baseline else None
            found.append(NumberAttribute(called, unit, deviation, floors, left))
    # Floors in different units have no order; what remains of a variance has.
    return sorted(found, key=lambda entry: tuple(reversed(entry.remaining)) or (2.0,))


def read_categories(
    information: Information, *, named: Collection[str]
) -> tuple[list[CategoryAttribute], dict[str, ToldCategory]]:
    """Return the attributes that are categories, and what was refitted for them."""
    entries, told = [], {}
    for called in filter(information.categorical.__contains__, information.attribute_names):
        if called not in named and information.count > _MOST_REFITTED and not information.ranks(called):
            slow = f"Exact refits for {information.count:,} people take a while: ask with categories=[...]."
            entries.append(CategoryAttribute(called, reason=slow))
            continue
        try:
            told[called] = told_apart(information, called)
        except (UnansweredError, MinimizerError) as reason:
            entries.append(CategoryAttribute(called, reason=str(reason)))
        else:
            entries.append(_category(called, told[called]))
    return sorted(entries, key=lambda entry: -entry.rates[-1] if entry.rates else 0.0), told


def _category(called: str, told: ToldCategory) -> CategoryAttribute:
    # People without a category have none that could be inferred.
    has = ~np.isnan(told.far)
    known = Sketch.of(told.far[has])
    rates = tuple(up_to_percent(float(success_rate(at_most(known, share)))) for share in SHARES)
    return CategoryAttribute(called, rates, bool(told.exact[has].all()))


def attributes_section(entries: Collection[Attribute]) -> Section:
    """Return the tables of attributes, and the attributes without numbers."""
    silent: dict[str, list[str]] = {}
    for entry in entries:
        if entry.reason:
            silent.setdefault(entry.reason, []).append(name(entry.name))
    said = [
        f"Attributes without numbers here: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}. {reason}"
        for reason, names in silent.items()
    ]
    whom = [most(share) for share in SHARES]
    numbers = [entry.cells() for entry in entries if isinstance(entry, NumberAttribute) and not entry.reason]
    categories = [entry.cells() for entry in entries if isinstance(entry, CategoryAttribute) and not entry.reason]
    tables = [
        Grid.of(
            "No unbiased guess of an attribute is better than this, in its own unit",
            ("attribute", *whom, "baseline", "left unknown"),
            numbers,
        ),
        Grid.of(
            "Success rate of the best attacker on a category, at equal odds (≈: no bound)",
            ("category", *whom),
            categories,
        ),
    ]
    return Section("Attributes", tuple(said), tuple(table for table in tables if table.rows), is_personal=True)
