"""Tasks on a Ray cluster."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING
from uuid import uuid4

from seepage._amounts import size
from seepage.errors import EngineError, MissingExtraError
from seepage.execution._engine import (
    ARITY,
    Engine,
    Guarded,
    Refused,
    Result,
    Unit,
    accepted,
    add_in_tree,
    packed,
    reason_of,
)
from seepage.execution._stall import say
from seepage.execution._watch import Watch, unwatched

if TYPE_CHECKING:
    from ray.remote_function import RemoteFunction
    from ray.types import ObjectRef


@dataclass(frozen=True)
class Ray(Engine):
    """Runs units as tasks of Ray Core.

    Uses the cluster that `ray.init` connected this process to, or starts Ray on this machine. The workers must have
    seepage installed and see the files.

    Parameters
    ----------
    retries : int, default=3
        How often Ray runs a unit again whose worker or node died.
    memory : int, optional
        Bytes that Ray sets aside for a unit.
    stall : float, default=60.0
        After how many seconds in which nothing was finished it is said who is waited for, and the unit that was given
        away first is given to another worker as well.
    """

    retries: int = 3
    memory: int | None = None
    stall: float = 60.0

    @property
    def workers(self) -> int:
        return max(int(_ray().cluster_resources().get("CPU", 1)), 1)

    def map(self, function: Callable[[Unit], Result], units: Sequence[Unit]) -> Iterator[tuple[int, Result]]:
        for index, done in self._finished(function, units, 4 * self.workers):
            yield index, accepted(_get(done))

    def total(self, function: Callable[[Unit], Result], units: Sequence[Unit], watch: Watch = unwatched) -> Result:
        # The partial sums stay in the cluster: what a driver would receive grows with the number of units.
        adding = self._task(_add)
        found: dict[int, ObjectRef[Result | Refused]] = {}
        branches: dict[int, ObjectRef[Result | Refused]] = {}
        for index, done in self._finished(function, units, len(units)):
            found[index] = done
            watch(1)
            first = index // ARITY * ARITY
            branch = range(first, min(first + ARITY, len(units)))
            if all(each in found for each in branch):
                branches[first] = adding.remote(*(found.pop(each) for each in branch))
        sums = [branches[first] for first in sorted(branches)]
        while len(sums) > 1:
            sums = [adding.remote(*sums[at : at + ARITY]) for at in range(0, len(sums), ARITY)]
        return accepted(_get(sums[0]))

    def _finished(
        self, function: Callable[[Unit], Result], units: Sequence[Unit], most: int
    ) -> "Iterator[tuple[int, ObjectRef[Result | Refused]]]":
        """Yield references to results as they come, giving a unit that does not come to another worker as well."""
        ray, task, work = _ray(), self._task(_work), self._shared(function)
        waiting = iter(range(len(units)))
        running: dict[ObjectRef[Result | Refused], int] = {}
        again: set[int] = set()
        try:
            while True:
                for index in waiting:
                    running[task.remote(*work, units[index])] = index
                    if len(running) >= most:
                        break
                if not running:
                    return
                ready, _ = ray.wait(list(running), num_returns=1, timeout=self.stall, fetch_local=False)
                for done in ready:
                    index = running.pop(done)
                    yield index, done
                    for copy in [each for each, of in running.items() if of == index]:
                        del running[copy]
                        ray.cancel(copy, force=True)
                if not ready:
                    oldest = next((of for of in running.values() if of not in again), None)
                    first = next(iter(running.values()))
                    say(
                        f"Ray has finished nothing for {self.stall:g} s. Waited for: {units[first]} and "
                        f"{len(running) - 1} more units; {_free(ray)}."
                    )
                    if oldest is not None:
                        again.add(oldest)
                        running[task.remote(*work, units[oldest])] = oldest
        finally:
            for unfinished in running:
                ray.cancel(unfinished, force=True)

    @staticmethod
    def _shared(function: Callable[[Unit], object]) -> "tuple[str, list[ObjectRef[bytes]]]":
        # In a list, so that a task receives the reference and a worker fetches the function once.
        return uuid4().hex, [_ray().put(packed(Guarded(function)))]

    def _task(self, function: Callable[..., object]) -> "RemoteFunction":
        self._check()
        options: dict[str, float] = {"num_cpus": 1, "max_retries": self.retries}
        if self.memory is not None:
            options["memory"] = self.memory
        task: RemoteFunction = _ray().remote(**options)(function)
        return task

    def _check(self) -> None:
        """Refuse to wait for what no node of the cluster has."""
        nodes = [node["Resources"] for node in _ray().nodes() if node["Alive"]]
        largest = max((node.get("memory", 0.0) for node in nodes if node.get("CPU", 0.0) >= 1), default=None)
        if largest is None:
            raise EngineError("No node of the Ray cluster has a processor to run units on: add one, or use Local().")
        if self.memory is not None and self.memory > largest:
            raise EngineError(
                f"Ray(memory={self.memory}) asks for {size(self.memory)} for each unit, and no node of the cluster has "
                f"more than {size(int(largest))}: ask for less, or add a larger node."
            )


def _free(ray: ModuleType) -> str:
    free = ray.available_resources()
    return f"{free.get('CPU', 0.0):g} processors and {size(int(free.get('memory', 0)))} are free"


def _ray() -> ModuleType:
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError('The Ray engine needs Ray: pip install "seepage[ray]"') from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    return ray


def _get(reference: "ObjectRef[Result]") -> Result:
    ray = _ray()
    try:
        found: Result = ray.get(reference)
    except ray.exceptions.RayError as error:
        raise EngineError(f"Ray gave up on a unit of work: {reason_of(error)}") from error
    return found


_functions: dict[str, Callable[[object], object]] = {}


def _work(key: str, shared: "list[ObjectRef[bytes]]", unit: object) -> object:
    if key not in _functions:
        _functions.clear()
        _functions[key] = pickle.loads(_get(shared[0]))
    return _functions[key](unit)


def _add(*parts: object) -> object:
    refused = [part for part in parts if isinstance(part, Refused)]
    return refused[0] if refused else add_in_tree(len(parts), enumerate(parts))
