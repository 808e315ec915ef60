"""Tasks on a Spark cluster."""

import gc
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from seepage.errors import EngineError, InputError, MissingExtraError
from seepage.execution._engine import ARITY, Engine, Guarded, Refused, Result, Unit, accepted, add_in_tree, reason_of
from seepage.execution._stall import Leaving, say
from seepage.execution._watch import Watch, unwatched

if TYPE_CHECKING:
    from pyspark import RDD, StatusTracker
    from pyspark.core.broadcast import Broadcast
    from pyspark.sql import SparkSession

_SECONDS_BETWEEN_LOOKS = 0.5


@dataclass(frozen=True)
class Spark(Engine):
    """Runs units as tasks of a Spark session that you have.

    Spark moves file names, not rows. Its executors must have seepage installed and see the files; it runs a task again
    whose executor died as often as `spark.task.maxFailures` says (4 on a cluster, never in local mode).

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        A classic session. A Spark Connect session has no RDDs, which is how work is given to Python workers.
    stall : float, default=60.0
        After how many seconds in which nothing was finished it is said who is waited for. A worker that does nothing
        for so long, most often because a file never comes, ends itself, and Spark gives its unit to another.
    """

    session: "SparkSession"
    stall: float = 60.0

    def __post_init__(self) -> None:
        try:
            import pyspark  # noqa: F401
        except ImportError as error:
            raise MissingExtraError('The Spark engine needs PySpark: pip install "seepage[spark]"') from error
        if not hasattr(self.session, "sparkContext") or "connect" in type(self.session).__module__:
            raise InputError(
                f"Spark(session) needs a classic SparkSession, not the {type(self.session).__name__} of "
                f"{type(self.session).__module__}: through Spark Connect there are no RDDs, and so no way "
                "to send units to Python workers. Start a classic one on the same cluster: "
                "SparkSession.builder.master(...).getOrCreate()."
            )
        self._context()

    @property
    def workers(self) -> int:
        return max(int(self._context().defaultParallelism), 1)

    def _context(self) -> Any:
        """Return the session's context, if it still runs."""
        # Its own types do not know that None takes a property away.
        context: Any = self.session.sparkContext
        if context._jsc is None or context._jsc.sc().isStopped():
            raise EngineError(
                "The Spark session is stopped: start another one, SparkSession.builder.getOrCreate(), and pass it to "
                "seepage.engines.Spark."
            )
        return context

    def map(self, function: Callable[[Unit], Result], units: Sequence[Unit]) -> Iterator[tuple[int, Result]]:
        # Some at a time: a driver that collects holds all of it, and tells nothing before the last has come.
        some = 4 * self.workers
        for start in range(0, len(units), some):
            with self._results(function, units[start : start + some], unwatched) as results:
                for index, result in self._collect(results):
                    yield start + index, accepted(result)

    def total(self, function: Callable[[Unit], Result], units: Sequence[Unit], watch: Watch = unwatched) -> Result:
        # The partial sums stay in the cluster: what a driver would receive grows with the number of units.
        with self._results(function, units, watch) as sums:
            count = len(units)
            while count > ARITY:
                count = -(-count // ARITY)
                # Not grouped by Spark, which writes groups to the disk once a worker holds 512 MB of whatever it is.
                sums = sums.map(_to_branch).partitionBy(count, int).mapPartitions(_add_branch)
            found = sorted(self._collect(sums))
            return add_in_tree(count, [(index, accepted(result)) for index, result in found])

    @contextmanager
    def _results(
        self, function: Callable[[Unit], Result], units: Sequence[Unit], watch: Watch
    ) -> Iterator["RDD[tuple[int, Result | Refused]]"]:
        context = self._context()
        shared = context.broadcast(Leaving(Guarded(function), self.stall))
        group, done = uuid4().hex, threading.Event()
        context.setJobGroup(group, "seepage")
        arguments = context.statusTracker(), group, watch, done, self.stall
        looker = threading.Thread(target=_look, args=arguments, daemon=True)
        looker.start()
        try:
            yield context.parallelize(list(enumerate(units)), max(len(units), 1)).map(partial(_answered, shared))
        finally:
            done.set()
            looker.join()
            context.cancelJobGroup(group)
            context.setLocalProperty("spark.jobGroup.id", None)
            shared.unpersist()

    @staticmethod
    def _collect(results: "RDD[tuple[int, Result]]") -> list[tuple[int, Result]]:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            return list(results.collect())
        except Py4JJavaError as error:
            reason = str(error.java_exception.getMessage()).strip().split("\n")[0]
            raise EngineError(f"Spark gave up on a unit of work: {reason}") from error
        except PySparkException as error:
            raise EngineError(f"Spark gave up on a unit of work: {reason_of(error)}") from error


def _answered(
    shared: "Broadcast[Leaving[Unit, Result | Refused]]", unit: tuple[int, Unit]
) -> tuple[int, Result | Refused]:
    index, given = unit
    found = shared.value(given)
    _pass_over_imports()
    return index, found


@cache
def _pass_over_imports() -> None:
    """Let later collections of garbage pass over what is imported by now: Spark collects after each task."""
    gc.collect()
    gc.freeze()


def _look(tracker: "StatusTracker", group: str, watch: Watch, done: threading.Event, stall: float) -> None:
    """Tell `watch` how many tasks of the first stage have finished, and whoever waits when none have for long."""
    seen, finished, moved = 0, 0, time.monotonic()
    while not done.wait(_SECONDS_BETWEEN_LOOKS):
        running = total = 0
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            stages = [] if info is None else [tracker.getStageInfo(stage) for stage in sorted(info.stageIds)]
            known = [stage for stage in stages if stage is not None]
            running += sum(stage.numActiveTasks for stage in known)
            total += sum(stage.numCompletedTasks for stage in known)
            if known and known[0].numCompletedTasks > seen:
                watch(known[0].numCompletedTasks - seen)
                seen = known[0].numCompletedTasks
        if total > finished:
            finished, moved = total, time.monotonic()
        elif time.monotonic() - moved > stall:
            moved = time.monotonic()
            say(f"Spark has finished nothing for {stall:g} s. {_waited_for(running)}")


def _waited_for(running: int) -> str:
    if running:
        return f"Waited for: {running} running tasks. With spark.speculation=true, Spark gives slow ones to others too."
    return (
        "No task runs: the cluster gives this application no executor. See whether it has free cores and memory, and "
        "what spark.executor.cores and spark.executor.memory ask for."
    )


def _to_branch(found: tuple[int, Result]) -> tuple[int, tuple[int, Result]]:
    return found[0] // ARITY, found


def _add_branch(
    found: Iterable[tuple[int, tuple[int, Result | Refused]]],
) -> Iterator[tuple[int, Result | Refused]]:
    """Add up the one branch that a partition holds."""
    sums = sorted(found, key=lambda one: one[1][0])
    parts = [result for _, (_, result) in sums]
    refused = [part for part in parts if isinstance(part, Refused)]
    yield sums[0][0], refused[0] if refused else add_in_tree(len(parts), enumerate(parts))
