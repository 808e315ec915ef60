"""A progress bar with the time left, for whatever takes more than two seconds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from seepage._amounts import clock
from seepage.cli.terminal._console import aside, printable

_SECONDS = 2.0


class _Times(ProgressColumn):
    """How long it took so far, and how long it will take."""

    def render(self, task: Task) -> Text:
        passed = Text(f"{clock(task.elapsed or 0.0)} passed", style="dim")
        if task.total is None or task.time_remaining is None:
            return passed
        return passed + Text(f", {clock(task.time_remaining)} left", style="default not dim")


class Waiting:
    """Shows what a command is doing once it has done so for two seconds, if anybody is watching.

    Parameters
    ----------
    quiet : bool
        Whether to show nothing at all.
    console : Console, optional
        Where; standard error by default.
    """

    def __init__(self, *, quiet: bool, console: Console | None = None) -> None:
        self._console = console or aside()
        self._quiet = quiet or not self._console.is_terminal
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
            timer = Timer(_SECONDS, self._bars.start)
            timer.daemon = True
            timer.start()
            try:
                yield self
            finally:
                timer.cancel()
                timer.join()
                if self._bars.live.is_started:
                    self._bars.stop()

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Show something whose end cannot be foreseen."""
        task = self._bars.add_task(printable(what), total=None)
        try:
            yield
        finally:
            self._bars.remove_task(task)

    @contextmanager
    def passing(self, what: str, units: int) -> Iterator[Callable[[int], None]]:
        """Show a pass over the rows."""
        task = self._bars.add_task(printable(what), total=units)
        try:
            yield lambda more: self._bars.advance(task, more)
        finally:
            self._bars.remove_task(task)
