"""Progress: a bar with the time left on a terminal, a line every ten seconds elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from seepage._amounts import clock
from seepage.cli.terminal._console import aside, printable

# A bar appears after two seconds; a line is printed every ten.
_SECONDS, _LINES = 2.0, 10.0


class _Times(ProgressColumn):
    """The time that has passed, and the time that is left."""

    def render(self, task: Task) -> Text:
        passed = Text(f"{clock(task.elapsed or 0.0)} passed", style="dim")
        if task.total is None or task.time_remaining is None:
            return passed
        return passed + Text(f", {clock(task.time_remaining)} left", style="default not dim")


class Waiting:
    """Shows what a command is doing once it has done so for a while.

    Parameters
    ----------
    quiet : bool
        Whether to show nothing at all.
    console : Console, optional
        Where; standard error by default.
    """

    def __init__(self, *, quiet: bool, console: Console | None = None) -> None:
        self._console = console or aside()
        self._quiet = quiet
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", max_width=40)),
            BarColumn(bar_width=None),
            _Times(table_column=Column(no_wrap=True, justify="right", min_width=22)),
            console=self._console,
            transient=True,
            expand=True,
        )

    @contextmanager
    def shown(self) -> Iterator["Waiting"]:
        """Show every pass of the library until left."""
        # Imported here: the engines bring pyarrow, for which help and explanations need not wait.
        from seepage.execution.storage import shown_on

        with shown_on(self.passing):
            if self._quiet:
                yield self
                return
            ended = Event()
            told = Thread(target=self._bar if self._console.is_terminal else self._lines, args=(ended,), daemon=True)
            told.start()
            try:
                yield self
            finally:
                ended.set()
                told.join()

    def _bar(self, ended: Event) -> None:
        if not ended.wait(_SECONDS):
            with self._bars:
                ended.wait()

    def _lines(self, ended: Event) -> None:
        start = monotonic()
        while not ended.wait(_LINES):
            doing = self._bars.tasks[-1].description if self._bars.tasks else "working"
            self._console.print(Text(f"{doing}: {clock(monotonic() - start)} passed"))

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Show something whose end cannot be foreseen."""
        with self.passing(what, None):
            yield

    @contextmanager
    def passing(self, what: str, units: int | None) -> Iterator[Callable[[int], None]]:
        """Show a pass over the rows."""
        task = self._bars.add_task(printable(what), total=units)
        try:
            yield lambda more: self._bars.advance(task, more)
        finally:
            self._bars.remove_task(task)
