"""Processes on this machine."""

import contextlib
import multiprocessing
import os
import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from seepage._errors import InputError
from seepage.engines._engine import Engine, EngineError, Guarded, Result, Unit, accepted, packed

# Forking from a clean server is quick and copies no thread of the caller's.
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"

_SECONDS_TO_LEAVE = 5.0


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
        context = multiprocessing.get_context(_METHOD)
        if _METHOD == "forkserver":
            context.set_forkserver_preload([getattr(function, "preload", None) or __name__])
        work = packed(Guarded(function))
        waiting = deque(range(len(units)))
        busy: dict[Any, _Worker] = {}
        lost = 0
        try:
            while waiting or busy:
                while waiting and len(busy) < self.workers:
                    worker = _Worker.start(context, work)
                    busy[worker.pipe] = worker
                    worker.give(waiting.popleft(), units)
                for pipe in wait(list(busy)):
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
                    yield done, accepted(result)
        finally:
            for worker in busy.values():
                worker.stop()

    def _check(self, lost: int, left: int, unit: object) -> None:
        if lost > self.retries:
            raise EngineError(
                f"The worker processes died {lost} times in a row while {left} units of work were left, among them "
                f"{unit}. Most often memory ran out: use fewer workers, Local(workers={max(self.workers // 2, 1)}), "
                'or smaller row groups. In a script, measure under `if __name__ == "__main__":`: workers import it.'
            )


@dataclass(eq=False)
class _Worker:
    """A process with a pipe of its own: what one worker spoils by dying, no other has to wait for."""

    process: Any
    pipe: Any
    unit: int = -1

    @classmethod
    def start(cls, context: Any, work: bytes) -> "_Worker":
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        process.start()
        # The worker's end must be open in the worker alone, or its death would go unnoticed.
        theirs.close()
        return cls(process, ours)

    def give(self, unit: int, units: Sequence[Any]) -> None:
        self.unit = unit
        # A worker that is dead already is noticed when its answer is read.
        with contextlib.suppress(OSError):
            self.pipe.send(units[unit])

    def dismiss(self) -> None:
        """Let an idle worker end by itself, so that it puts back what it took from the system."""
        self.pipe.close()
        self.process.join(_SECONDS_TO_LEAVE)
        self.stop()

    def stop(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join()


def _serve(pipe: Any, work: bytes) -> None:
    """Answer every unit that comes through the pipe, until it closes."""
    function = pickle.loads(work)
    parent = multiprocessing.parent_process()
    if parent is not None:
        # A killed parent cannot stop its workers; they watch it instead.
        threading.Thread(target=_outlive, args=(parent,), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send(function(pipe.recv()))


def _outlive(parent: Any) -> None:
    parent.join()
    os._exit(1)
