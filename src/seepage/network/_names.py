"""Who the records of a data set are of."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._tables import column_values
from seepage.errors import InputError, UnsupportedError
from seepage.network._records import Rows

Ids = Any
"""Names of people: any sequence, or column of a data frame."""


@dataclass(frozen=True, eq=False)
class Names:
    """One name for each record, in the order of the data set."""

    ids: NDArray[Any]

    @classmethod
    def of(cls, ids: Ids) -> "Names":
        """Read them."""
        found = cls(column_values(ids))
        if found.ids.ndim != 1 or len(found) == 0:
            raise InputError(f"ids must name each example of the data set once; it has shape {found.ids.shape}.")
        if len(found._place) < len(found):
            names, counts = np.unique(found.ids.astype(str), return_counts=True)
            raise InputError(
                f"ids must name each example once, but {str(names[counts > 1][0])!r} occurs {counts.max()} times."
            )
        return found

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def _place(self) -> dict[object, int]:
        return {name: i for i, name in enumerate(self.ids.tolist())}

    @cached_property
    def digest(self) -> str:
        """What tells them from others."""
        return hashlib.sha256("\n".join(map(repr, self.ids.tolist())).encode()).hexdigest()

    def rows(self, ids: Ids) -> Rows:
        """Return where the records of these people are."""
        try:
            rows = np.array([self._place[name] for name in column_values(ids).tolist()], dtype=np.int64)
        except KeyError as error:
            raise InputError(f"There is nobody called {error.args[0]!r} among the ids of this accountant.") from None
        if len(np.unique(rows)) < len(rows):
            raise UnsupportedError(
                "Somebody is in one step twice: their gradients add up before the noise is added, which this "
                "accountant does not follow. Sample without replacement."
            )
        return rows

    def chosen(self, people: Ids | int | None, random: np.random.Generator) -> Rows:
        """Return where the records of those are who are to be visited: named, or so many drawn at random."""
        if people is None:
            return np.arange(len(self))
        if isinstance(people, int):
            if not 0 < people <= len(self):
                raise InputError(f"people must be between 1 and the {len(self)} of ids, not {people!r}.")
            return np.sort(random.permutation(len(self))[:people])
        return np.sort(self.rows(people))
