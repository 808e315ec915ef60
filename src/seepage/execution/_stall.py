"""Who is waited for, when nothing happens."""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Unit = TypeVar("Unit")
Result = TypeVar("Result")

_SAID = logging.getLogger("seepage")
# Of one core: a process that uses less than this share is waiting, not working.
WORKING = 0.005
_SECONDS_BETWEEN_LOOKS = 0.5


def say(text: str) -> None:
    """Tell whoever waits; on standard error, unless logging was told otherwise."""
    _SAID.warning("seepage: %s", text)


def processor_seconds(process: int) -> float | None:
    """Return how long a process has used a processor, where the system tells."""
    try:
        with open(f"/proc/{process}/stat") as file:
            # The name of the program may have spaces; it ends with the last bracket.
            user, system = file.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None


@dataclass(frozen=True)
class Leaving(Generic[Unit, Result]):
    """Runs a unit, and ends its process when that hangs, so that a cluster gives the unit to another worker."""

    function: Callable[[Unit], Result]
    stall: float

    def __call__(self, unit: Unit) -> Result:
        done = threading.Event()
        threading.Thread(target=self._look, args=(done,), daemon=True).start()
        try:
            return self.function(unit)
        finally:
            done.set()

    def _look(self, done: threading.Event) -> None:
        moved, used = time.monotonic(), time.process_time()
        while not done.wait(_SECONDS_BETWEEN_LOOKS):
            now = time.process_time()
            if now - used > WORKING * _SECONDS_BETWEEN_LOOKS:
                moved = time.monotonic()
            elif time.monotonic() - moved > self.stall:
                os._exit(1)
            used = now
