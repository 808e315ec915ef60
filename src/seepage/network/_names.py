"""Identifiers of the records of a data set: one person may have several."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._tables import column_values
from seepage.errors import InputError, UnsupportedError
from seepage.network._records import Rows

Array = NDArray[np.float64]
Ids = Any
"""Names of people: any sequence, or column of a data frame."""
TWICE = (
    "A record is in one step twice: its gradients add up before the noise is added, which this accountant does not "
    "follow. Sample without replacement, or by Poisson sampling."
)


@dataclass(frozen=True, eq=False)
class NetworkNames:
    """One name for each record, in the order of the data set; people are in the order of their first records."""

    ids: NDArray[Any]

    @classmethod
    def of(cls, ids: Ids) -> "NetworkNames":
        """Read them."""
        found = cls(column_values(ids))
        if found.ids.ndim != 1 or len(found) == 0:
            raise InputError(f"ids must name whose each record of the data set is; it has shape {found.ids.shape}.")
        return found

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def _place(self) -> dict[object, int]:
        return {name: i for i, name in enumerate(dict.fromkeys(self.ids.tolist()))}

    @cached_property
    def owner(self) -> Rows:
        """Position of each record's person among the people."""
        return np.array([self._place[name] for name in self.ids.tolist()], dtype=np.int64)

    @cached_property
    def people(self) -> NDArray[Any]:
        """Everybody once."""
        return np.asarray(self.ids[np.unique(self.owner, return_index=True)[1]])

    @cached_property
    def records(self) -> Rows:
        """The number of records of each person."""
        return np.bincount(self.owner)

    @cached_property
    def digest(self) -> str:
        """A digest of all identifiers."""
        return hashlib.sha256("\n".join(map(repr, self.ids.tolist())).encode()).hexdigest()

    def summed(self, values: Array) -> Array:
        """Return the sum over each person's records."""
        found = np.zeros((len(self.people), *values.shape[1:]))
        np.add.at(found, self.owner, values)
        return found

    def drawn(self, batch: Ids | None, records: Sequence[int] | None) -> Rows:
        """Return which records took part in a step: those at these places, or those of these people."""
        if (batch is None) == (records is None):
            raise InputError(
                "Without secret sampling it matters who took part: give batch=, their ids, or records=, the places of "
                "their records in the data set."
            )
        if batch is not None:
            return self._whole(batch)
        rows = np.asarray(records, dtype=np.int64)
        if rows.size and not (rows.min() >= 0 and rows.max() < len(self)):
            raise InputError(f"records= names places {rows.min()} to {rows.max()} of {len(self)} records.")
        return rows

    def _whole(self, batch: Ids) -> Rows:
        """Return the records of people who took part with all of theirs."""
        said, often = np.unique(self.places(batch), return_counts=True)
        for who, times in zip(said, often, strict=True):
            if times != self.records[who]:
                if self.records[who] == 1:
                    raise UnsupportedError(TWICE)
                raise InputError(
                    f"{self.people.tolist()[who]!r} has {self.records[who]} records and is in batch= {times} times: it "
                    "is not known which of them took part. Give records=, their places in the data set."
                )
        return np.flatnonzero(np.isin(self.owner, said))

    def chosen(self, people: Ids | int | None, random: np.random.Generator) -> Rows:
        """Return where the records of those are who are to be visited: named, or so many drawn at random."""
        if people is None:
            return np.arange(len(self))
        if isinstance(people, int):
            if not 0 < people <= len(self.people):
                raise InputError(f"people must be between 1 and the {len(self.people)} of ids, not {people!r}.")
            who = random.permutation(len(self.people))[:people]
        else:
            who = self.places(people)
        return np.flatnonzero(np.isin(self.owner, who))

    def places(self, ids: Ids) -> Rows:
        """Return where some people are among all."""
        try:
            return np.array([self._place[name] for name in column_values(ids).tolist()], dtype=np.int64)
        except KeyError as error:
            raise InputError(f"There is nobody called {error.args[0]!r} among the ids.") from None
