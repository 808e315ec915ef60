"""A measurement on a screen of 80 columns."""

from math import isfinite, isnan
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from seepage.cli.terminal._console import printable, shortened
from seepage.cli.terminal._verdict import VerdictPanel

if TYPE_CHECKING:
    from seepage.leakage import Summary

_MOST_ROWS = 12
_NAMES = 26
_CELL = 13


def show_summary(console: Console, summary: "Summary", verdict: VerdictPanel | None, *, grouped_by: str | None) -> None:
    """Print a measurement: the verdict first, then what it rests on."""
    console.print(Text(summary.heading, style="bold"))
    if verdict is not None:
        console.print()
        show_verdict(console, verdict)
    _titled(console, "Information about a person", _examples(summary))
    if summary.floors:
        _titled(console, "Smallest error of any unbiased guess, in the column's own unit", _floors(summary))
    if len(summary.floors) > _MOST_ROWS:
        console.print(f"... and {len(summary.floors) - _MOST_ROWS:,} more columns", style="dim")
    if summary.legend:
        console.print(Text(summary.legend, style="dim"))
    if summary.rates:
        _titled(console, "How often the best attacker tells a category from another one", _rates(summary))
    if summary.categories:
        names = ", ".join(shortened(name) for name in summary.categories[:_MOST_ROWS])
        console.print(Padding(Text(f"Categories, which have no unit: {names}"), (1, 0, 0, 0)))
    if summary.unanswered:
        names = ", ".join(shortened(name) for name in summary.unanswered[:_MOST_ROWS])
        console.print(Padding(Text(f"Unanswered, as the release jumps: {names}"), (1, 0, 0, 0)))
    if summary.groups:
        _titled(console, f"Mean eta by {shortened(grouped_by or 'group')}, with 95% intervals", _groups(summary))
    if summary.most_exposed:
        _titled(console, "Most exposed: treat these lines like the records themselves", _most_exposed(summary))
    console.print()
    console.print(Text("What this assumes", style="bold"))
    for sentence in summary.assumptions:
        console.print(item("-", sentence))


def show_verdict(console: Console, verdict: VerdictPanel) -> None:
    """Print what became of each target."""
    left = verdict.untargeted
    met = "bold yellow" if left.is_open else "bold green"
    console.print(Text(verdict.headline, style=met if verdict.passed else "bold red"))
    for target in verdict.targets:
        console.print(item("met   " if target.met else "MISSED", target.reason, "green" if target.met else "red"))
    if left.attributes:
        console.print(
            item("public" if left.public else "OPEN  ", left.sentence(shortened), "" if left.public else "yellow")
        )
    if not verdict.passed and verdict.told and isfinite(verdict.enough.number):
        console.print(Text(f"{verdict.enough.words()} meets all of them."))
    # A verdict is about the rows that were given, under what it takes for granted.
    console.print(Text(printable(" ".join((f"About {verdict.people:,} people.", *verdict.public))), style="dim"))


def show_people(console: Console, ids: str | None) -> None:
    """Say that each row was counted as a person, where nobody said whose they are: that is never guessed."""
    if ids is None:
        words = "Each row is counted as one person; --ids names the column that says otherwise."
        console.print(Text(words, style="dim"))


def item(mark: str, sentence: str, style: str = "") -> Table:
    """Return a sentence behind a mark."""
    line = Table.grid(padding=(0, 1))
    line.add_column(no_wrap=True)
    line.add_column()
    line.add_row(Text(f"  {mark}", style=style), Text(printable(sentence)))
    return line


def _titled(console: Console, title: str, table: Table) -> None:
    console.print()
    console.print(Text(title, style="bold"))
    console.print(table)


def _examples(summary: "Summary") -> Table:
    table = _table("", "median", "95th pct", "largest")
    for one in summary.examples:
        table.add_row(Text(shortened(one.name, _NAMES)), "", *(f"{value:.4g}" for value in one.values))
    return table


def _floors(summary: "Summary") -> Table:
    table = _table("baseline", "median", "5th pct", "smallest")
    for one in summary.floors[:_MOST_ROWS]:
        baseline = "unknown" if isnan(one.baseline) else f"± {one.baseline:.4g}"
        table.add_row(Text(shortened(one.name, _NAMES)), baseline, *one.errors("± "))
    return table


def _rates(summary: "Summary") -> Table:
    table = _table("baseline", "median", "95th pct", "largest")
    for one in summary.rates[:_MOST_ROWS]:
        table.add_row(Text(shortened(one.name, _NAMES)), f"{one.baseline:.0%}", *one.percents())
    return table


def _groups(summary: "Summary") -> Table:
    table = _table("people", "mean eta", "from", "to")
    for row in summary.groups[:_MOST_ROWS]:
        numbers = (f"{row.count:,}", f"{row.mean:.4g}", f"{row.low:.4g}", f"{row.high:.4g}")
        table.add_row(Text(shortened(row.name, _NAMES)), *numbers)
    if len(summary.groups) > _MOST_ROWS:
        table.add_row(Text(f"... and {len(summary.groups) - _MOST_ROWS:,} more"), *[""] * 4)
    return table


def _most_exposed(summary: "Summary") -> Table:
    median = summary.examples[0].median
    known = any(who.through is not None for who in summary.most_exposed)
    table = _table("eta", "x median", *(["through"] if known else []))
    for who in summary.most_exposed:
        times = f"{who.eta / median:.1f}" if median > 0 else ""
        through = [] if not known else ["" if who.through is None else shortened(who.through.attribute, _CELL)]
        table.add_row(Text(shortened(who.called, _NAMES)), f"{who.eta:.4g}", times, *map(Text, through))
    return table


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=0)
    table.add_column("", width=_NAMES + 2, no_wrap=True)
    for head in heads:
        # Wide enough for any number, and all tables alike.
        table.add_column(head, justify="right", header_style="dim", width=_CELL, no_wrap=True)
    return table
