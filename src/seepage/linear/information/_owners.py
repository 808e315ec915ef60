"""People with several rows: what is known of a person is known of all their rows together."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from seepage.linear.information._known import KnownValues
from seepage.linear.rows import InMemory

Array = NDArray[np.float64]

# Rows whose Jacobians are in memory at a time.
_ROWS = 2**12


@dataclass(frozen=True, eq=False)
class Owners:
    """Whose each row is."""

    person: NDArray[np.intp]
    """The person of each row."""
    count: int

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """The first row of each person."""
        return np.unique(self.person, return_index=True)[1]

    def rows(self, people: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
        """Return which rows belong to some people."""
        return None if people is None else people[self.person]

    def several(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
        """Yield people with several rows, their rows one person after the other, and where each one's rows begin."""
        held = np.bincount(self.person, minlength=self.count)
        order = np.argsort(self.person, kind="stable")
        order = order[held[self.person[order]] > 1]
        people, starts = np.unique(self.person[order], return_index=True)
        ends = np.append(starts, len(order))
        at = 0
        while at < len(people):
            stop = max(int(np.searchsorted(ends, ends[at] + _ROWS, side="right")) - 1, at + 1)
            yield people[at:stop], order[ends[at] : ends[stop]], ends[at : stop + 1] - ends[at]
            at = stop

    def examples(self, each: dict[str, Array], known: KnownValues, rows: InMemory) -> dict[str, Array]:
        """Return eta and dfil of each person, from those of each row."""
        found = {name: values[self.first] for name, values in each.items()}
        for people, owned, bounds in self.several():
            batch = rows.picked(owned)
            moved = np.concatenate(list(known.jacobians(batch)))
            counts = known.counts(batch)
            for person, (start, stop) in zip(people, pairwise(bounds), strict=True):
                together, values = moved[start:stop], counts[start:stop].sum()
                # Squares of all columns of all rows; their largest singular value (eq. 2.11).
                found["eta"][person] = _top(together) if values else np.nan
                found["dfil"][person] = np.sqrt((together**2).sum() / values) if values else np.nan
        return found

    def attributes(self, each: dict[str, Array], known: KnownValues, rows: InMemory) -> dict[str, Array]:
        """Return eta of each attribute of each person, from those of each row."""
        found = {name: values[self.first] for name, values in each.items()}
        blocks = [*known.geometry.blocks]
        if not known.geometry.public_label:
            blocks.append(np.arange(known.geometry.reading.shape[1], known.geometry.values))
        for people, owned, bounds in self.several():
            moved = np.concatenate(list(known.jacobians(rows.picked(owned))))
            for person, (start, stop) in zip(people, pairwise(bounds), strict=True):
                for (name, values), block in zip(found.items(), blocks, strict=True):
                    # Whoever lacks a value in one row may have it in another.
                    lacking = np.isnan(each[name][owned[start:stop]]).all()
                    values[person] = np.nan if lacking else _top(moved[start:stop, :, block])
        return found


def _top(moved: Array) -> float:
    """Return the largest singular value of the Jacobians of some rows side by side."""
    flat = moved.transpose(1, 0, 2).reshape(moved.shape[1], -1)
    return float(np.linalg.norm(flat, 2)) if flat.size else 0.0
