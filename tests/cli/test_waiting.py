"""What takes more than two seconds shows how far it is; what does not, shows nothing."""

import io
import re
import time

import pytest
from rich.console import Console

from seepage.cli.terminal._waiting import Waiting
from seepage.execution.storage import Progress, followed


def _terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)


def test_a_long_pass_shows_a_bar_with_the_time_left() -> None:
    console = _terminal()
    with Waiting(quiet=False, console=console).shown(), followed("scoring", 8) as watch:
        for _ in range(7):
            time.sleep(0.4)
            watch(1)
    shown = console.file.getvalue()
    assert "scoring" in shown
    assert re.search(r"0:0\d passed, 0:\d\d left", shown)


def test_a_short_pass_shows_nothing() -> None:
    console = _terminal()
    with Waiting(quiet=False, console=console).shown(), followed("scoring", 3) as watch:
        watch(3)
    assert console.file.getvalue() == ""


def test_nothing_is_shown_to_nobody() -> None:
    for quiet, terminal in ((True, True), (False, False)):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=80)
        with Waiting(quiet=quiet, console=console).shown() as waiting, waiting.doing("reading"):
            time.sleep(2.2)
        assert console.file.getvalue() == ""


def test_without_a_terminal_a_line_says_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seepage.cli.terminal._waiting._LINES", 0.2)
    console = Console(file=io.StringIO(), force_terminal=False, width=80)
    with Waiting(quiet=False, console=console).shown() as waiting, waiting.doing("reading people.csv"):
        time.sleep(0.7)
    assert "reading people.csv: 0:00 passed\n" in console.file.getvalue()


def test_passes_over_files_use_the_same_display() -> None:
    told = []

    class Display(Waiting):
        def passing(self, what: str, units: int):  # type: ignore[no-untyped-def]
            told.append((what, units))
            return super().passing(what, units)

    with Display(quiet=True).shown(), Progress(None).of("adding up", 5) as watch:
        watch(5)
    assert told == [("adding up", 5)]
