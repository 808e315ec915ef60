"""One of several outputs, and where its people stand among those of all."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage.attackers._printed import Printed
from seepage.leakage import spread

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Output:
    """One of several outputs."""

    name: str
    printed: Printed
    rows: NDArray[np.intp]
    """Of each person of all outputs, the place in this one; -1 for who is not in it."""

    def of(self, people: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which of some people are in it, and their places."""
        rows = self.rows[people]
        return np.flatnonzero(rows >= 0), rows[rows >= 0]

    def spread(self, values: NDArray[Scalar]) -> NDArray[Scalar]:
        """Return what is known of its people, for all people: zero for who is not in it."""
        return spread(self.rows, values)
