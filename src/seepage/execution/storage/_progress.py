"""How far a job is, and how long it will take."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from multiprocessing import parent_process
from threading import Lock, Timer

from seepage._amounts import clock
from seepage.execution._watch import Watch, unwatched
from seepage.execution.storage._compiling import compiling

_SECONDS_BETWEEN_LINES = 0.5
_SECONDS_BEFORE = 2.0
# Where standard error is no terminal, lines stay: they are this far apart, and none is written about less time.
_SECONDS_IN_A_FILE = 30.0

Display = Callable[[str, int], AbstractContextManager[Watch]]
"""Is told what is done and in how many units, and shows it until it is left."""
_display: ContextVar[Display | None] = ContextVar("seepage_display", default=None)
_began: ContextVar[float | None] = ContextVar("seepage_began", default=None)


@contextmanager
def shown_on(display: Display) -> Iterator[None]:
    """Show every pass on a display, also those over rows in memory, instead of printing lines."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


@contextmanager
def together() -> Iterator[None]:
    """Wait for several passes as for one: what they take together decides whether progress is shown."""
    token = _began.set(time.monotonic()) if _began.get() is None else None
    try:
        yield
    finally:
        if token is not None:
            _began.reset(token)


def followed(what: str, units: int) -> AbstractContextManager[Watch]:
    """Return a context that yields a function to tell of finished units: a display, if there is one, shows them."""
    display = _display.get()
    if display is not None:
        return display(what, units)
    if _somebody_watches():
        return _after_a_while(what, units)
    return nullcontext(_in_lines(what, units) if parent_process() is None else unwatched)


def _in_lines(what: str, units: int) -> Watch:
    """Return a function that writes a line about the time left every half minute, once a part is done.

    Called with zero before any unit is finished, it measures time from there.
    """
    start, done, last = time.monotonic(), 0, float("-inf")
    began = _began.get() or start

    def watch(more: int) -> None:
        nonlocal start, done, last
        now = time.monotonic()
        if not done and not more:
            start = now
            return
        done += more
        left = (now - start) / done * max(units - done, 0)
        if left >= _SECONDS_IN_A_FILE and now - began >= _SECONDS_BEFORE and now - last >= _SECONDS_IN_A_FILE:
            last = now
            print(f"seepage: {what}, {done:,} of {units:,}, about {clock(left)} left", file=sys.stderr, flush=True)

    return watch


@contextmanager
def _after_a_while(what: str, units: int) -> Iterator[Watch]:
    """Print how far a pass is once it has taken two seconds, and nothing before."""
    start, done, last = time.monotonic(), 0, 0.0
    began = _began.get() or start
    writing = Lock()
    # From here on it is heard of.
    compiling()

    def write(line: str) -> None:
        print(f"\r{line:<79}", end="", file=sys.stderr, flush=True)

    def first() -> None:
        with writing:
            waits = " (compiling, once after an installation)" if compiling() else ""
            write(f"seepage: {what}, {done} of {units}{waits}")

    def watch(more: int) -> None:
        nonlocal start, done, last
        now = time.monotonic()
        with writing:
            if not done and not more:
                start = now
            done += more
            if now - began >= _SECONDS_BEFORE and now - last >= _SECONDS_BETWEEN_LINES:
                last = now
                left = (now - start) / max(done, 1) * max(units - done, 0)
                write(f"seepage: {what}, {done} of {units}, {clock(left)} left")

    timer = Timer(max(began + _SECONDS_BEFORE - start, 0.0), first)
    timer.daemon = True
    timer.start()
    try:
        yield watch
    finally:
        timer.cancel()
        timer.join()
        if time.monotonic() - began >= _SECONDS_BEFORE:
            write("")
            print("\r", end="", file=sys.stderr, flush=True)


def _somebody_watches() -> bool:
    """Return whether this is a terminal or a notebook, and not a worker of either."""
    return (sys.stderr.isatty() or "ipykernel" in sys.modules) and parent_process() is None


@dataclass(frozen=True)
class Progress:
    """Prints one line a pass to standard error, if it is wanted."""

    wanted: bool | None = None
    """By default only to a terminal or a notebook."""

    @contextmanager
    def of(self, what: str, units: int, *, called: str = "units", then: float = 0.0) -> Iterator[Watch]:
        """Yield a function to tell of finished units; `then` is how long what follows takes, in times of this."""
        if self.wanted is not False and _display.get() is not None:
            with followed(what, units) as shown:
                yield shown
            return
        if not (_somebody_watches() if self.wanted is None else self.wanted):
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
                later = f", then about {clock(then * (now - start) / done * units)}" if then else ""
                line = f"\rseepage: {what}, {done} of {units} {called}, {clock(left)} left{later}   "
                print(line, end="", file=sys.stderr)

        yield watch
        print(f"\rseepage: {what}, {units} {called} in {clock(time.monotonic() - start)}          ", file=sys.stderr)
