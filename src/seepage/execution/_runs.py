"""Runs of neighboring units: each is a branch of the one tree in which all units are added."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

from seepage.execution._engine import Result, Unit, add_in_tree


class UnitRun(tuple[Unit, ...]):
    """Neighboring units that one worker does one after the other."""

    def __str__(self) -> str:
        return f"{self[0]}" if len(self) == 1 else f"{self[0]} and {len(self) - 1} units after it"


def in_runs(units: Sequence[Unit], workers: int) -> list[UnitRun[Unit]]:
    """Group neighboring units, so that few partial sums travel and no worker waits long for the last.

    A run is a power of two units. So it is a whole branch of the tree over all units, and which two sums are added
    does not depend on the number of workers.
    """
    size = 1 << (max(len(units) // (8 * workers), 1).bit_length() - 1)
    return [UnitRun(units[at : at + size]) for at in range(0, len(units), size)]


@dataclass(frozen=True, eq=False)
class OverRun(Generic[Unit, Result]):
    """Adds a function of units up over a run of them.

    Holds one sum for each doubling of the run at most.
    """

    work: Callable[[Unit], Result]

    @property
    def preload(self) -> str | None:
        """What a process imports before workers are forked from it."""
        return getattr(self.work, "preload", None)

    def __call__(self, run: Sequence[Unit]) -> Result:
        return add_in_tree(len(run), enumerate(map(self.work, run)))
