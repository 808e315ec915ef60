"""Tasks on a Ray cluster."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import add
from types import ModuleType
from typing import TYPE_CHECKING
from uuid import uuid4

from seepage._errors import EngineError, MissingExtraError
from seepage.engines._engine import ARITY, Engine, Guarded, Refused, Result, Unit, accepted, packed
from seepage.engines._watch import Watch, unwatched

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
        Bytes that Ray sets aside for a unit; `seepage.plan` says how many it needs.
    """

    retries: int = 3
    memory: int | None = None

    @property
    def workers(self) -> int:
        return max(int(_ray().cluster_resources().get("CPU", 1)), 1)

    def map(self, function: Callable[[Unit], Result], units: Sequence[Unit]) -> Iterator[tuple[int, Result]]:
        ray, task, work = _ray(), self._task(_work), self._shared(function)
        waiting = iter(range(len(units)))
        running: dict[ObjectRef[Result | Refused], int] = {}
        try:
            while True:
                for index in waiting:
                    running[task.remote(*work, units[index])] = index
                    if len(running) >= 4 * self.workers:
                        break
                if not running:
                    return
                for done in ray.wait(list(running), num_returns=1)[0]:
                    yield running.pop(done), accepted(_get(done))
        finally:
            for unfinished in running:
                ray.cancel(unfinished, force=True)

    def total(self, function: Callable[[Unit], Result], units: Sequence[Unit], watch: Watch = unwatched) -> Result:
        # The partial sums stay in the cluster: what a driver would receive grows with the number of units.
        ray, task, adding, work = _ray(), self._task(_work), self._task(_add), self._shared(function)
        leaves: list[ObjectRef[Result | Refused]] = [task.remote(*work, unit) for unit in units]
        sums = leaves
        while len(sums) > 1:
            sums = [adding.remote(*sums[at : at + ARITY]) for at in range(0, len(sums), ARITY)]
        try:
            while leaves:
                done, leaves = ray.wait(leaves, num_returns=1, fetch_local=False)
                watch(len(done))
            return accepted(_get(sums[0]))
        finally:
            for unfinished in leaves:
                ray.cancel(unfinished, force=True)

    @staticmethod
    def _shared(function: Callable[[Unit], object]) -> "tuple[str, list[ObjectRef[bytes]]]":
        # In a list, so that a task receives the reference and a worker fetches the function once.
        return uuid4().hex, [_ray().put(packed(Guarded(function)))]

    def _task(self, function: Callable[..., object]) -> "RemoteFunction":
        options: dict[str, float] = {"num_cpus": 1, "max_retries": self.retries}
        if self.memory is not None:
            options["memory"] = self.memory
        task: RemoteFunction = _ray().remote(**options)(function)
        return task


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
        raise EngineError(f"Ray gave up on a unit of work: {error}") from error
    return found


_functions: dict[str, Callable[[object], object]] = {}


def _work(key: str, shared: "list[ObjectRef[bytes]]", unit: object) -> object:
    if key not in _functions:
        _functions.clear()
        _functions[key] = pickle.loads(_get(shared[0]))
    return _functions[key](unit)


def _add(*parts: object) -> object:
    total = parts[0]
    for part in parts[1:]:
        if isinstance(total, Refused):
            return total
        total = part if isinstance(part, Refused) else add(total, part)
    return total
