"""A summary as a document: what a notebook shows of a measurement."""

from collections.abc import Iterator

from seepage.leakage._information import GatheredInformation, Information
from seepage.leakage._summary import MOST_ATTRIBUTES, Summary
from seepage.pages import NOTHING, Document, Grid, Section, counted, name
from seepage.pages import snippet as written


def snippet(information: Information) -> str:
    """Return what a notebook shows of a measurement.

    Parameters
    ----------
    information : Information
        What was measured. People in files are counted and no more: to look at a result should not read all rows.
    """
    if not isinstance(information, GatheredInformation):
        head = f"{information.count:,} people, {counted(len(information.attribute_names), 'private attribute')}"
        asked = (
            "Ask it: summary(), by_group(), most_exposed(), joint_information_loss() and error_floor() read the rows."
        )
        return written(Document(f"{head} ({information.assurance})", asked, ()))
    summary = Summary.of(information)
    about = Section("What this assumes", summary.assumptions, is_small=True)
    return written(Document(summary.heading, summary.first, (*_sections(summary), about)))


def _sections(summary: Summary) -> Iterator[Section]:
    if summary.floors:
        rows = [
            [name(each.name), *_errors([f"± {each.baseline:.4g}", *each.errors("± ")])]
            for each in summary.floors[:MOST_ATTRIBUTES]
        ]
        heads = ("attribute", "baseline", "median", "5th percentile", "smallest")
        table = Grid.of("Smallest error of any unbiased guess, in the attribute's own unit", heads, rows)
        more = _rest(len(summary.floors), "attributes: error_floor() has all of them")
        yield Section("Numbers", tuple(filter(None, (more, summary.legend))), (table,))
    if summary.rates:
        rows = [[name(each.name), f"{each.baseline:.0%}", *each.percents()] for each in summary.rates[:MOST_ATTRIBUTES]]
        heads = ("category", "coin", "median", "95th percentile", "largest")
        table = Grid.of("Success rate of the best attacker on a category", heads, rows)
        more = _rest(len(summary.rates), "categories: success_rate() has all of them")
        yield Section("Categories", (more,) if more else (), (table,))
    if summary.categories:
        names = ", ".join(map(name, summary.categories[:MOST_ATTRIBUTES]))
        yield Section("Categories without rates", (f"They have no unit (see success_rate()): {names}.",))


def _errors(cells: list[str]) -> list[str]:
    return [NOTHING if cell.endswith("nan") else cell for cell in cells]


def _rest(count: int, what: str) -> str:
    return f"… and {count - MOST_ATTRIBUTES:,} more {what}." if count > MOST_ATTRIBUTES else ""
