"""Results of the visits so far: the table of them, and the number of values of each person."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seepage.network._visits import Visits

Array = NDArray[np.float64]
State = dict[str, Any]


@dataclass(eq=False)
class VisitFindings:
    """What one process has found, or all of them together."""

    visits: Visits
    sizes: Array
    """How many values each person has in each group."""
    gaps: Visits
    """What visits found of categories: squared distances to each value of each."""
    truth: NDArray[np.intp]
    """Which of its values each category of each record has; -1 for none, -2 where there is no such category."""

    def seen(self) -> Array:
        """Return the mean of everybody's visits, which says roughly who is most exposed."""
        visits = self.visits.arrays()
        total = np.bincount(visits["person"], visits["value"].sum(1), len(self.sizes))
        return total / np.maximum(np.bincount(visits["person"], minlength=len(self.sizes)), 1)

    def state(self) -> State:
        """Return copies of what is held, as tensors."""
        return {
            "visits": {name: torch.from_numpy(np.array(v)) for name, v in self.visits.arrays().items()},
            "sizes": torch.from_numpy(self.sizes.copy()),
            "gaps": {name: torch.from_numpy(np.array(v)) for name, v in self.gaps.arrays().items()},
            "truth": torch.from_numpy(self.truth.copy()),
        }

    def restore(self, state: State) -> None:
        """Put back what `state` returned."""
        self.visits.restore({name: value.numpy() for name, value in state["visits"].items()})
        self.sizes, self.truth = state["sizes"].numpy().copy(), state["truth"].numpy().copy()
        self.gaps.restore({name: value.numpy() for name, value in state["gaps"].items()})

    def gathered(self, parts: list[State]) -> "VisitFindings":
        """Return what several processes have found, of which this is one."""
        sizes = np.max([part["sizes"].numpy() for part in parts], axis=0)
        truth = np.max([part["truth"].numpy() for part in parts], axis=0)
        visits, gaps = (_joined(each, [part[key] for part in parts]) for key, each in self._tables())
        return VisitFindings(visits, sizes, gaps, truth)

    def _tables(self) -> list[tuple[str, Visits]]:
        return [("visits", self.visits), ("gaps", self.gaps)]


def _joined(like: Visits, parts: list[State]) -> Visits:
    found = Visits(like.people, like.groups)
    found.restore({name: np.concatenate([part[name].numpy() for part in parts]) for name in like.arrays()})
    return found
