"""A summary as a part of a page: what a notebook shows of a measurement."""

from collections.abc import Iterator
from math import isnan

from seepage import pages
from seepage.leakage._information import GatheredInformation, Information
from seepage.leakage._summary import MOST_ATTRIBUTES, Summary
from seepage.pages import NOTHING, Html, bullets, counted, name, paragraph, table, tag


def snippet(information: Information) -> str:
    """Return what a notebook shows of a measurement.

    Parameters
    ----------
    information : Information
        What was measured. People in files are counted and no more: to look at a result should not read all rows.
    """
    if not isinstance(information, GatheredInformation):
        asked = (
            "Ask it: summary(), by_group(), most_exposed(), joint_information_loss() and error_floor() read the rows."
        )
        head = f"{information.count:,} people, {counted(len(information.attribute_names), 'private attribute')}"
        return pages.article(tag("h3", f"{head} ({information.assurance})"), paragraph(asked))
    summary = Summary.of(information)
    return pages.article(tag("h3", summary.heading), *_parts(summary))


def _parts(summary: Summary) -> Iterator[Html]:
    if summary.floors:
        heads = ["attribute", "baseline", "median", "5th percentile", "smallest"]
        rows = [
            [
                name(each.name),
                NOTHING if isnan(each.baseline) else f"± {each.baseline:.4g}",
                *_errors(each.errors("± ")),
            ]
            for each in summary.floors[:MOST_ATTRIBUTES]
        ]
        yield table("Smallest error of any unbiased guess, in the attribute's own unit", heads, rows)
        yield from _rest(len(summary.floors), "attributes: error_floor() has all of them")
        if summary.legend:
            yield paragraph(summary.legend)
    if summary.rates:
        heads = ["category", "coin", "median", "95th percentile", "largest"]
        rows = [[name(each.name), f"{each.baseline:.0%}", *each.percents()] for each in summary.rates[:MOST_ATTRIBUTES]]
        yield table("How often the best attacker tells a category from another one", heads, rows)
        yield from _rest(len(summary.rates), "categories: success_rate() has all of them")
    if summary.categories:
        names = ", ".join(map(name, summary.categories[:MOST_ATTRIBUTES]))
        yield paragraph(f"Categories, which have no unit (see success_rate()): {names}.")
    yield paragraph(summary.first)
    yield tag("details", tag("summary", "What this assumes"), bullets(summary.assumptions))


def _errors(cells: list[str]) -> list[str]:
    return [NOTHING if cell.endswith("nan") else cell for cell in cells]


def _rest(count: int, what: str) -> Iterator[Html]:
    if count > MOST_ATTRIBUTES:
        yield paragraph(f"… and {count - MOST_ATTRIBUTES:,} more {what}.")
