"""Processes on this machine."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from seepage._errors import EngineError, InputError
from seepage.engines._engine import Engine, Guarded, Result, Unit, accepted, packed
from seepage.engines._worker import Worker

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

# Forking from a clean server is quick and copies no thread of the caller's.
_FORKS = "forkserver" in multiprocessing.get_all_start_methods()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_server() -> None:
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
        How many processes; one a core by default.
    retries : int, default=3
        How many times in a row workers may die without finishing a unit.

    Examples
    --------
    >>> from seepage.engines import Local
    >>> sorted(Local(workers=2).map(abs, [-1, 2, -3]))
    [(0, 1), (1, 2), (2, 3)]
    """

    workers: int = _cores()
    retries: int = 3

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"workers must be at least 1, not {self.workers!r}.")

    def map(self, function: Callable[[Unit], Result], units: Sequence[Unit]) -> Iterator[tuple[int, Result]]:
        context: ForkServerContext | SpawnContext
        context = multiprocessing.get_context("forkserver") if _FORKS else multiprocessing.get_context("spawn")
        if _FORKS:
            context.set_forkserver_preload([getattr(function, "preload", None) or __name__])
            _start_server()
        work = packed(Guarded(function))
        waiting = deque(range(len(units)))
        busy: dict[object, Worker] = {}
        idle: list[Worker] = []
        lost = 0
        try:
            while waiting or busy:
                while waiting and len(busy) < self.workers:
                    worker = Worker.start(context, work)
                    busy[worker.pipe] = worker
                    worker.give(waiting.popleft(), units)
                for pipe in wait([worker.pipe for worker in busy.values()]):
                    worker = busy[pipe]
                    try:
                        result = worker.pipe.recv()
                    except (EOFError, OSError):
                        # It died, perhaps in the middle of a word; only its own pipe is spoiled.
                        del busy[pipe]
                        worker.stop()
                        waiting.appendleft(worker.unit)
                        lost += 1
                        self._check(lost, len(waiting), units[worker.unit])
                        continue
                    done, lost = worker.unit, 0
                    if waiting:
                        worker.give(waiting.popleft(), units)
                    else:
                        del busy[pipe]
                        worker.dismiss()
                        idle.append(worker)
                    yield done, accepted(result)
        finally:
            for worker in idle:
                worker.leave()
            for worker in busy.values():
                worker.stop()

    def _check(self, lost: int, left: int, unit: object) -> None:
        if lost > self.retries:
            raise EngineError(
                f"The worker processes died {lost} times in a row while {left} units of work were left, among them "
                f"{unit}. Most often memory ran out: use fewer workers, Local(workers={max(self.workers // 2, 1)}), "
                "or smaller row groups. If a class of the model is defined in your script, move it to a module, or "
                'measure under `if __name__ == "__main__":`: workers import the script to find it.'
            )
