"""Whether code is being compiled, which its first use waits for."""

import sys
from collections.abc import Callable
from functools import cache


@cache
def _running() -> Callable[[], int]:
    """Begin to hear of compilations; return how many have begun and not ended."""
    from numba.core import event

    class Heard(event.Listener):
        running = 0

        def on_start(self, event: object) -> None:
            self.running += 1

        def on_end(self, event: object) -> None:
            self.running -= 1

    heard = Heard()
    event.register("numba:compile", heard)  # type: ignore[no-untyped-call]
    return lambda: heard.running


def compiling() -> bool:
    """Return whether something is being compiled, as far as it began after this was first asked."""
    return "numba" in sys.modules and _running()() > 0
