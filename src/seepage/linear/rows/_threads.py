"""A pass over batches in a few threads.

Each thread takes whole batches with a one-threaded BLAS of its own: a BLAS that splits every product over all cores
leaves its threads spinning between products, on the cores that the rest of the pass needs.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

import numba
from threadpoolctl import ThreadpoolController

from seepage.execution.storage import followed

Item = TypeVar("Item")
Result = TypeVar("Result")

_ALONE = ContextVar("_ALONE", default=False)


def threads_allowed() -> int:
    """Return in how many threads a pass may go: as many as there are cores, or NUMBA_NUM_THREADS says."""
    # Asked whether it may use them, numba would start threads, and set how many all of OpenMP uses, PyTorch included.
    return 1 if _ALONE.get() else int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let passes go in one thread: those of a worker, which is one of several."""
    before = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(before)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="seepage")


# A forked process inherits the pool but not its threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


@cache
def _blas() -> ThreadpoolController:
    # Finding the loaded libraries takes longer than a small pass.
    return ThreadpoolController()


def one_threaded_blas() -> AbstractContextManager[object]:
    """Return a context in which BLAS does not split its work: for many small products in a row."""
    context: AbstractContextManager[object] = _blas().limit(limits=1, user_api="blas")
    return context


def in_threads(function: Callable[[Item], Result], items: Sequence[Item], what: str | None = None) -> Iterator[Result]:
    """Yield function(item) for all items, in order, in as many threads as are allowed.

    Parameters
    ----------
    function : callable
        Of one item.
    items : sequence
        The batches.
    what : str, optional
        What to call this pass where progress is shown; nothing is shown by default.
    """
    if what is None:
        yield from _in_threads(function, items)
        return
    with followed(what, len(items)) as watch:
        for result in _in_threads(function, items):
            yield result
            watch(1)


def _in_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    threads = threads_allowed()
    waiting = deque(items)
    if threads == 1 or len(waiting) <= 1:
        yield from map(function, waiting)
        return
    running: deque[Future[Result]] = deque()
    with one_threaded_blas():
        while waiting or running:
            # A few batches ahead, so that no thread waits and finished results do not pile up.
            while waiting and len(running) <= threads:
                running.append(_pool(threads).submit(function, waiting.popleft()))
            yield running.popleft().result()
