"""What visits have found: a table of one row a visit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage.network._records import Rows

Array = NDArray[np.float64]
Table = dict[str, NDArray[Any]]
"""Visits, one row each: person, step, stretch, value, plain."""


class Visits:
    """What visits have found, as arrays that can be saved."""

    def __init__(self, people: int, groups: int) -> None:
        self.people, self.groups = people, groups
        self._parts: list[Table] = []

    def add(self, person: Rows, step: int, stretch: int, value: Array, plain: Array) -> None:
        """Enter what one pass found: values of shape (people, groups), with and without credit for sampling."""
        count = len(person)
        part = {"step": np.full(count, step), "stretch": np.full(count, stretch)}
        self._parts.append({"person": person, **part, "value": value, "plain": plain})

    def arrays(self) -> Table:
        """Return all visits, one row each."""
        if not self._parts:
            none = np.empty(0, np.int64)
            table = np.empty((0, self.groups))
            return {"person": none, "step": none, "stretch": none, "value": table, "plain": table}
        self._parts = [{name: np.concatenate([p[name] for p in self._parts]) for name in self._parts[0]}]
        return dict(self._parts[0])

    def restore(self, arrays: Table) -> None:
        """Put back what `arrays` returned."""
        self._parts = [dict(arrays)] if len(arrays["person"]) else []
