"""The tables of a report, as text: Markdown, text and spreadsheets show the same."""

from seepage._facts import Number
from seepage.pages import NOTHING, Grid, most, name, number, percent
from seepage.report._document import Document, Grouping, Utility
from seepage.report.write._amounts import alternatives, error, guesses
from seepage.report.write._meaning import ALTERNATIVES, told_coefficients


def attribute_grids(document: Document) -> list[Grid]:
    """Return what is left of numbers, and how often categories are told."""
    whom = [most(share.value) for share in document.shares]
    numbers = [
        (_named(entry.name, entry.unit), *_filled([error(each) for each in entry.floors], len(whom)))
        for entry in document.numbers
        if entry.floors
    ]
    categories = [
        (name(entry.name), *_filled([percent(each.success_rate.value) for each in entry.rates], len(whom)))
        for entry in document.categories
        if entry.rates
    ]
    found = [
        Grid(
            "No unbiased guess of an attribute is better than this, in its own unit",
            ("attribute", *whom),
            tuple(numbers),
        ),
        Grid(
            "At equal odds, no attacker tells a category from another value more often than this",
            ("category", *whom),
            tuple(categories),
        ),
    ]
    return [each for each in found if each.rows]


def group_grid(grouping: Grouping) -> Grid:
    """Return people by group."""
    rows = (
        (
            name(each.name),
            f"{each.eta.count.value:,.0f}",
            _value(each.eta.median),
            NOTHING if each.eta.interval is None else " to ".join(map(_value, each.eta.interval)),
            _value(each.eta.high),
        )
        for each in grouping.groups
    )
    heads = ("group", "people", "median eta", "95% interval", "95% of people, at most")
    return Grid("Exposure by group, the most exposed first", heads, tuple(rows))


def utility_grids(found: Utility) -> list[Grid]:
    """Return coefficients with their noise, and what other noises would leave."""
    rows = tuple(
        (name(each.name), _value(each.value), _value(each.standard_error), f"{_value(each.noise)} times")
        for each in told_coefficients(found)
    )
    heads = ("coefficient", "value", "standard error", "noise, of it")
    grids = [Grid("Coefficients, in the units of the model's features", heads, rows)] if rows else []
    if found.alternatives is not None:
        first, others = alternatives(found.alternatives)
        grids.append(Grid(ALTERNATIVES, tuple(first), tuple(map(tuple, others))))
    return grids


def exposed_grid(document: Document) -> Grid | None:
    """Return the most exposed people; None where they are not told."""
    if not document.exposed:
        return None
    rows = (
        (
            person.pseudonym,
            _value(person.eta),
            _value(person.times_median),
            NOTHING if person.through is None else name(person.through.attribute),
            *([NOTHING] * 2 if person.through is None else guesses(person.through)),
        )
        for person in document.exposed
    )
    heads = ("pseudonym", "eta", "times the median", "exposed most through", "best guess", "blind guess")
    return Grid(f"The {len(document.exposed)} most exposed people", heads, tuple(rows))


def _filled(cells: list[str], count: int) -> list[str]:
    return [*cells, *[NOTHING] * (count - len(cells))]


def _named(text: str, unit: str | None) -> str:
    return name(text) + (f" ({name(unit)})" if unit else "")


def _value(value: Number | None) -> str:
    return NOTHING if value is None else number(value.value)
