"""Processes on this machine."""

import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from seepage._errors import InputError
from seepage.engines._engine import Engine, EngineError, Guarded, Result, Unit, accepted, packed

# Forking from a clean server is quick and copies no thread of the caller's.
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


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
        waiting = list(range(len(units)))[::-1]
        lost = 0
        while waiting:
            done = 0
            with ProcessPoolExecutor(min(self.workers, len(waiting)), context, _prepare, (work,)) as pool:
                try:
                    for index, result in self._run(pool, units, waiting):
                        done += 1
                        yield index, accepted(result)
                except BrokenProcessPool:
                    lost = 0 if done else lost + 1
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
            if lost > self.retries:
                raise EngineError(
                    f"The worker processes died {lost} times in a row while {len(waiting)} units of work were left, "
                    f"among them {units[waiting[-1]]}. Most often memory ran out: use fewer workers, "
                    f"Local(workers={max(self.workers // 2, 1)}), or smaller row groups. In a script, measure "
                    'under `if __name__ == "__main__":`, because workers import it.'
                )

    def _run(self, pool: ProcessPoolExecutor, units: Sequence[Any], waiting: list[int]) -> Iterator[tuple[int, Any]]:
        """Yield results, keeping two units a worker under way; what is unfinished goes back to `waiting`."""
        running: dict[Future[Any], int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < 2 * self.workers:
                    running[pool.submit(_work, units[waiting[-1]])] = waiting[-1]
                    waiting.pop()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    result = future.result()
                    yield running.pop(future), result
        finally:
            waiting.extend(sorted(running.values(), reverse=True))


_function: Callable[[Any], Any]


def _prepare(work: bytes) -> None:
    global _function
    _function = pickle.loads(work)
    parent = multiprocessing.parent_process()
    if parent is not None:
        # A killed parent cannot stop its workers; they watch it instead.
        threading.Thread(target=_outlive, args=(parent,), daemon=True).start()


def _outlive(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _work(unit: Any) -> Any:
    return _function(unit)
