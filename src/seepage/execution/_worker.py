"""A process that does one unit of work after the other."""

import contextlib
import multiprocessing
import os
import pickle
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import TYPE_CHECKING

from seepage.execution._stall import WORKING, processor_seconds

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

_SECONDS_TO_LEAVE = 5.0
_SECONDS_TO_DIE = 1.0


@dataclass(eq=False)
class Worker:
    """A process with a pipe of its own: what one worker spoils by dying, no other has to wait for."""

    process: BaseProcess
    pipe: Connection
    unit: int = -1
    since: float = 0.0
    active: float = 0.0
    """When it was last seen to have used its processor."""
    used: float | None = None
    looked: float = 0.0

    @classmethod
    def start(cls, context: "ForkServerContext | SpawnContext", work: bytes) -> "Worker":
        """Start a process that will call `work`, a pickled function."""
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        with _script_unseen(work):
            process.start()
        # The worker's end must be open in the worker alone, or its death would go unnoticed.
        theirs.close()
        return cls(process, ours)

    def give(self, unit: int, units: Sequence[object]) -> None:
        """Send it a unit."""
        self.unit, self.since = unit, time.monotonic()
        self.active = self.looked = self.since
        # A worker that is dead already is noticed when its answer is read.
        with contextlib.suppress(OSError):
            self.pipe.send(units[unit])

    def hangs(self, stall: float) -> bool:
        """Return whether it has not used its processor for so long; from then on it is given as long again."""
        now, used = time.monotonic(), processor_seconds(self.process.pid or 0)
        if used is None or self.used is None or used - self.used >= WORKING * (now - self.looked):
            self.active = now
        self.looked, self.used = now, used
        if now - self.active < stall:
            return False
        self.active = now
        return True

    def dismiss(self) -> None:
        """Tell it that there is no more to do, so that it ends by itself and puts back what it took from the system."""
        self.pipe.close()

    def leave(self) -> None:
        """Wait until a dismissed worker has ended."""
        self.process.join(_SECONDS_TO_LEAVE)
        self.stop()

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.pipe.close()
        self.process.terminate()
        self.process.join(_SECONDS_TO_DIE)
        if self.process.is_alive():
            # One that was stopped, or waits for a file that never comes, hears nothing else, or not even this.
            self.process.kill()
            self.process.join(_SECONDS_TO_DIE)


@contextlib.contextmanager
def _script_unseen(work: bytes) -> Iterator[None]:
    """Keep a new process from running the caller's script again, unless the work needs what is defined there."""
    script = sys.modules["__main__"]
    if b"__main__" not in work:
        sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _serve(pipe: Connection, work: bytes) -> None:
    """Answer every unit that comes through the pipe, until it closes."""
    function = pickle.loads(work)
    parent = multiprocessing.parent_process()
    if parent is not None:
        # A killed parent cannot stop its workers; they watch it instead.
        threading.Thread(target=_outlive, args=(parent,), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send(function(pipe.recv()))


def _outlive(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
