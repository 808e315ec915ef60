"""The tables of a report, as text: its page, its Markdown, its text and its spreadsheet show the same."""

from seepage._facts import Number
from seepage.pages import NOTHING, most, name, number, percent
from seepage.report._document import Document, Grouping, NumberAttribute, Rate, Utility
from seepage.report.write._amounts import alternatives, error, floor, guesses
from seepage.report.write._meaning import ALTERNATIVES, told_coefficients
from seepage.report.write._section import Grid


def attribute_grids(document: Document) -> list[Grid]:
    """Return what is left of numbers, and how often categories are told."""
    whom = [most(share.value) for share in document.shares]
    priors = any(entry.deviation is not None for entry in document.numbers)
    numbers = [
        (
            _named(entry.name, entry.unit),
            *_filled([error(each) for each in entry.floors], len(whom)),
            *(_without_release(entry) if priors else ()),
        )
        for entry in document.numbers
        if entry.floors
    ]
    categories = [
        (name(entry.name), *_filled([_rate(each) for each in entry.rates], len(whom)))
        for entry in document.categories
        if entry.rates
    ]
    found = [
        Grid(
            "No unbiased guess of an attribute is better than this, in its own unit",
            ("attribute", *whom, *(("baseline", "left unknown") if priors else ())),
            tuple(numbers),
        ),
        Grid(
            "How often the best attacker tells a category from another value, at equal odds (≈: no bound)",
            ("category", *whom),
            tuple(categories),
        ),
    ]
    return [each for each in found if each.rows]


def _rate(rate: Rate) -> str:
    return f"{'' if rate.exact else '≈ '}{percent(rate.success_rate.value)}"


def group_grid(grouping: Grouping) -> Grid:
    """Return people by group."""
    rows = (
        (
            name(each.name),
            f"{each.eta.count.value:,.0f}",
            _value(each.eta.median),
            NOTHING if each.eta.interval is None else " to ".join(map(_value, each.eta.interval)),
            _value(each.eta.high),
            _value(each.eta.mean),
            _value(each.eta.largest),
        )
        for each in grouping.groups
    )
    heads = ("group", "people", "median eta", "95% interval", "95% of people", "mean", "largest")
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
    heads = ("pseudonym", "eta", "times the median", "exposed most through", "best guess", "baseline")
    return Grid(f"The {len(document.exposed)} most exposed people", heads, tuple(rows))


def _without_release(entry: NumberAttribute) -> tuple[str, str]:
    """Return the error of a guess without the release, and the smallest share of the variance that is left."""
    lefts = [each.remaining_variance.value for each in entry.floors if each.remaining_variance is not None]
    return NOTHING if entry.deviation is None else floor(entry.deviation), percent(min(lefts)) if lefts else NOTHING


def _filled(cells: list[str], count: int) -> list[str]:
    return [*cells, *[NOTHING] * (count - len(cells))]


def _named(text: str, unit: str | None) -> str:
    return name(text) + (f" ({name(unit)})" if unit else "")


def _value(value: Number | None) -> str:
    return NOTHING if value is None else number(value.value)
