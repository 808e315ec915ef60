"""What an engine does: run a function over units of work, and add its results up."""

import pickle
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import add
from typing import Generic, TypeVar

from seepage.errors import EngineError, SeepageError
from seepage.execution._watch import Watch, unwatched

Unit = TypeVar("Unit")
Result = TypeVar("Result")

# Results that are added up in one task of a cluster: a tree of this arity keeps both its depth and the driver's share
# small. A power of two, so that each task adds a branch of the tree that `add_in_tree` makes.
ARITY = 8


class Engine(ABC):
    """Runs a function over units of work, wherever the workers are.

    A subclass says how many workers there are and how to `map`; adding up follows. Functions and units are pickled, and
    hold no rows but a reference to where they are. A unit may run twice (its worker died): what it writes must
    replace itself.

    Examples
    --------
    An engine of one's own is one class. This one uses threads:

    >>> from concurrent.futures import ThreadPoolExecutor, as_completed
    >>> from seepage.engines import Engine
    >>> class Threads(Engine):
    ...     workers = 2
    ...
    ...     def map(self, function, units):
    ...         with ThreadPoolExecutor(self.workers) as pool:
    ...             futures = {pool.submit(function, unit): i for i, unit in enumerate(units)}
    ...             for future in as_completed(futures):
    ...                 yield futures[future], future.result()
    >>> Threads().total(len, ["three", "units", "here"])
    14
    """

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many units run at the same time."""

    @abstractmethod
    def map(self, function: Callable[[Unit], Result], units: Sequence[Unit]) -> Iterator[tuple[int, Result]]:
        """Yield the position and the result of each unit, in any order, as they finish."""

    def total(self, function: Callable[[Unit], Result], units: Sequence[Unit], watch: Watch = unwatched) -> Result:
        """Return the sum of the results, added in a tree whose shape depends on the number of units alone."""
        return add_in_tree(len(units), watched(self.map(function, units), watch))


def watched(results: Iterable[Result], watch: Watch) -> Iterator[Result]:
    """Pass results on, telling `watch` of each."""
    for result in results:
        watch(1)
        yield result


def add_in_tree(count: int, results: Iterable[tuple[int, Result]]) -> Result:
    """Add results up as they come, neighbor to neighbor.

    Which two are added depends on their number alone and never on which came first, so neither does the rounding: a job
    in which a worker died returns the same bits. What waits is one result a level when they come in order.
    """
    waiting: dict[tuple[int, int], Result] = {}
    for index, value in results:
        level, width = 0, count
        while width > 1:
            sibling = index ^ 1
            if sibling < width:
                if (level, sibling) not in waiting:
                    waiting[level, index] = value
                    break
                other = waiting.pop((level, sibling))
                value = add(other, value) if sibling < index else add(value, other)
            level, index, width = level + 1, index // 2, (width + 1) // 2
    return value


@dataclass(frozen=True)
class Refused:
    """A unit that failed for a reason that a retry would meet again."""

    error: Exception


@dataclass(frozen=True)
class Guarded(Generic[Unit, Result]):
    """Runs a unit on one thread and returns its error instead of raising it: retries are for workers that died."""

    function: Callable[[Unit], Result]

    def __call__(self, unit: Unit) -> Result | Refused:
        one_thread()
        try:
            return self.function(unit)
        except SeepageError as error:
            return Refused(error)
        except Exception as error:
            return Refused(EngineError(f"{unit} failed with {type(error).__name__}: {error}"))


def accepted(result: Result | Refused) -> Result:
    """Return a result, or raise the error that its unit met."""
    if isinstance(result, Refused):
        raise result.error
    return result


@cache
def one_thread() -> None:
    """Leave the other cores to the other workers."""
    import pyarrow
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(2)


def reason_of(error: Exception) -> str:
    """Return why a cluster gave up: it tells through whose hands an error went, in colors, and why at the end."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines() if line.strip()]
    told = [
        line.rpartition("ray.exceptions.")[2] for line in lines if re.match(r"[\w.]*(Error|Exception|Exit)\b", line)
    ]
    return told[-1] if told else lines[0] if lines else type(error).__name__


def packed(function: Callable[..., object]) -> bytes:
    """Return a function as bytes, or say why it cannot travel."""
    try:
        return pickle.dumps(function, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise EngineError(
            f"The work cannot be sent to other processes: {error}. A model with classes or functions of your own must "
            "take them from a module that the workers can import."
        ) from error
