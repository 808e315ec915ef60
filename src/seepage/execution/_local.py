"""Processes on this machine."""

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from seepage.errors import EngineError, InputError
from seepage.execution._engine import Engine, Guarded, Result, Unit, accepted, packed
from seepage.execution._stall import say
from seepage.execution._worker import Worker

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

# How often workers are looked at until they are said to hang.
_LOOKS = 8
# Forking from a clean server is quick and copies no thread of the caller's.
_FORKS = "forkserver" in multiprocessing.get_all_start_methods()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start_server() -> None:
    """Start the process that workers are forked from, deaf to Ctrl-C: it is the parent who acts on that."""
    # Starting the server starts the tracker, which would lift the mask: so it comes first.
    resource_tracker.ensure_running()
    known = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, known)


@dataclass(frozen=True)
class Local(Engine):
    """Runs units in processes on this machine.

    Parameters
    ----------
    workers : int, optional
        How many processes; one per core by default.
    retries : int, default=3
        How many times in a row workers may die without finishing a unit.
    stall : float, default=60.0
        After how many seconds in which nothing was finished it is said who is waited for. A worker that does not even
        use its processor then hangs, most often on a file, and its unit is given to another one as well.

    Examples
    --------
    >>> from seepage.engines import Local
    >>> sorted(Local(workers=2).map(abs, [-1, 2, -3]))
    [(0, 1), (1, 2), (2, 3)]
    """

    workers: int = _cores()
    retries: int = 3
    stall: float = 60.0

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"workers must be at least 1, not {self.workers!r}.")
        if not self.stall > 0:
            raise InputError(f"stall must be a time in seconds, not {self.stall!r}.")

    def map(self, function: Callable[[Unit], Result], units: Sequence[Unit]) -> Iterator[tuple[int, Result]]:
        context: ForkServerContext | SpawnContext
        context = multiprocessing.get_context("forkserver") if _FORKS else multiprocessing.get_context("spawn")
        if _FORKS:
            context.set_forkserver_preload([getattr(function, "preload", None) or __name__])
            start_server()
        work = packed(Guarded(function))
        crew = _Crew(lambda: Worker.start(context, work), units, deque(range(len(units))))
        lost, moved = 0, time.monotonic()
        try:
            while crew.waiting or crew.busy:
                while crew.waiting and len(crew.busy) < self.workers:
                    crew.hire(crew.waiting.popleft())
                ready = wait([worker.pipe for worker in crew.busy.values()], self.stall / _LOOKS)
                crew.look(self.stall, self.retries)
                if time.monotonic() - moved > self.stall:
                    crew.tell(self.stall)
                    moved = time.monotonic()
                for pipe in ready:
                    moved = time.monotonic()
                    worker = crew.busy[pipe]
                    try:
                        result = worker.pipe.recv()
                    except (EOFError, OSError):
                        # It died, perhaps in the middle of a word; only its own pipe is spoiled.
                        lost += 1
                        crew.bury(worker)
                        self._check(lost, len(crew.waiting), units[worker.unit])
                        continue
                    lost = 0
                    done = worker.unit
                    crew.finish(worker)
                    yield done, accepted(result)
                    break
        finally:
            crew.dismiss()

    def _check(self, lost: int, left: int, unit: object) -> None:
        if lost > self.retries:
            raise EngineError(
                f"The worker processes died {lost} times in a row while {left} units of work were left, among them "
                f"{unit}. Most often memory ran out: use fewer workers, Local(workers={max(self.workers // 2, 1)}), "
                "or smaller row groups. If a class of the model is defined in your script, move it to a module, or "
                'measure under `if __name__ == "__main__":`: workers import the script to find it.'
            )


@dataclass(eq=False)
class _Crew:
    """The workers of one pass, and what each of them does."""

    start: Callable[[], Worker]
    units: Sequence[object]
    waiting: deque[int]
    busy: dict[object, Worker] = field(default_factory=dict)
    idle: list[Worker] = field(default_factory=list)

    def hire(self, unit: int) -> None:
        """Give a unit to a new worker."""
        worker = self.start()
        self.busy[worker.pipe] = worker
        worker.give(unit, self.units)

    def finish(self, worker: Worker) -> None:
        """Note that a unit is done: whoever does it too is stopped, and the worker gets the next."""
        for other in self._at(worker.unit):
            if other is not worker:
                del self.busy[other.pipe]
                other.stop()
        if self.waiting:
            worker.give(self.waiting.popleft(), self.units)
        else:
            del self.busy[worker.pipe]
            worker.dismiss()
            self.idle.append(worker)

    def bury(self, worker: Worker) -> None:
        """Put the unit of a dead worker back, unless somebody does it too."""
        del self.busy[worker.pipe]
        worker.stop()
        if not self._at(worker.unit):
            self.waiting.appendleft(worker.unit)

    def look(self, stall: float, retries: int) -> None:
        """Give the unit of a worker that has not even used its processor for a while to another one as well."""
        for worker in list(self.busy.values()):
            if not worker.hangs(stall):
                continue
            told = f"process {worker.process.pid} has done nothing for {stall:g} s at {self.units[worker.unit]}"
            if len(self._at(worker.unit)) > retries:
                say(f"{told}, and so have others. Is the store of that file reachable?")
            else:
                say(f"{told}. Another process is given the same.")
                self.hire(worker.unit)

    def tell(self, stall: float) -> None:
        """Say who is waited for."""
        oldest = min(self.busy.values(), key=lambda worker: worker.since)
        say(
            f"nothing was finished for {stall:g} s. Waited for longest: process {oldest.process.pid} at "
            f"{self.units[oldest.unit]}."
        )

    def dismiss(self) -> None:
        """End all workers."""
        for worker in self.idle:
            worker.leave()
        for worker in self.busy.values():
            worker.stop()

    def _at(self, unit: int) -> list[Worker]:
        return [worker for worker in self.busy.values() if worker.unit == unit]
