"""How far a job is, and how long it will take."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass

from seepage._amounts import clock
from seepage.engines._watch import Watch, unwatched

_SECONDS_BETWEEN_LINES = 0.5

Display = Callable[[str, int], AbstractContextManager[Watch]]
"""Is told what is done and in how many units, and shows it until it is left."""
_display: ContextVar[Display | None] = ContextVar("seepage_display", default=None)


@contextmanager
def shown_on(display: Display) -> Iterator[None]:
    """Show every pass on a display, also those over rows in memory, instead of printing lines."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


def followed(what: str, units: int) -> AbstractContextManager[Watch]:
    """Return a context that yields a function to tell of finished units: a display, if there is one, shows them."""
    display = _display.get()
    return nullcontext(unwatched) if display is None else display(what, units)


@dataclass(frozen=True)
class Progress:
    """Prints one line a pass to standard error, if it is wanted."""

    wanted: bool | None = None
    """By default only to a terminal."""

    @contextmanager
    def of(self, what: str, units: int, *, called: str = "units") -> Iterator[Watch]:
        """Yield a function to tell of finished units."""
        if self.wanted is not False and _display.get() is not None:
            with followed(what, units) as shown:
                yield shown
            return
        if not (sys.stderr.isatty() if self.wanted is None else self.wanted):
            yield unwatched
            return
        start, done, last = time.monotonic(), 0, 0.0

        def watch(more: int) -> None:
            nonlocal done, last
            done += more
            now = time.monotonic()
            if now - last >= _SECONDS_BETWEEN_LINES or done == units:
                last = now
                left = (now - start) / done * (units - done)
                print(f"\rseepage: {what}, {done} of {units} {called}, {clock(left)} left   ", end="", file=sys.stderr)

        yield watch
        print(f"\rseepage: {what}, {units} {called} in {clock(time.monotonic() - start)}          ", file=sys.stderr)
