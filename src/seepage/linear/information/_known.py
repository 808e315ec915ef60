"""Scores of people who lack some of the values: a cell that was filled in is nobody's value.

What such a person has is measured as if the other columns were public. People who lack the same columns are scored
together, since one geometry serves them all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage.linear.information._geometry import Geometry
from seepage.linear.information._plain import Plain
from seepage.linear.information._stacked import Stacked
from seepage.linear.rows import Batch

Array = NDArray[np.float64]

# Numbers in the largest temporary.
_MOST_NUMBERS = 2**22


Scorer = Plain | Stacked


def scorer_of(geometry: Geometry) -> Scorer:
    """Return the row-local pass: of a model alone, or of a stack with more than the model."""
    return Stacked(geometry) if geometry.stacked else Plain(geometry)


def patterns(batch: Batch, columns: Sequence[int]) -> Iterator[tuple[NDArray[np.intp], tuple[int, ...]]]:
    """Yield the rows of people who have the same of some columns, and which of the columns those are, by place."""
    lacking = [i for i, column in enumerate(columns) if column in batch.missing]
    every = range(len(columns))
    if not lacking:
        yield np.arange(len(batch)), tuple(every)
        return
    masks = np.column_stack([batch.missing[columns[i]] for i in lacking])
    kinds, kind_of = np.unique(masks, axis=0, return_inverse=True)
    for kind, mask in enumerate(kinds):
        absent = {lacking[i] for i in np.flatnonzero(mask)}
        yield np.flatnonzero(kind_of.ravel() == kind), tuple(i for i in every if i not in absent)


@dataclass(frozen=True, eq=False)
class KnownValues:
    """Scores rows by the values that each person has. Holds no rows, so that it can travel."""

    geometry: Geometry
    columns: tuple[int, ...]
    """The raw column of each attribute."""
    _scorers: dict[tuple[int, ...], Scorer] = field(default_factory=dict, repr=False)

    def examples(self, batch: Batch) -> tuple[Array, Array]:
        """Return eta and dfil of each person (eqs. 1.3 and 1.4); NaN for whom there is nothing to tell."""
        eta, dfil = np.empty(len(batch)), np.empty(len(batch))
        for rows, known in patterns(batch, self.columns):
            if not len(rows):
                continue
            whole = len(rows) == len(batch)
            top, trace = self._of(known).examples(batch if whole else batch.take(rows))
            count = self.geometry.private_values(known)
            told = count and not self._silent(known)
            eta[rows] = np.sqrt(top) if told else np.nan
            dfil[rows] = np.sqrt(trace / count) if told else np.nan
        return eta, dfil

    def _silent(self, known: tuple[int, ...]) -> bool:
        """Return whether all that there is to tell has no slope: a zero of it would be no answer."""
        geometry = self.geometry
        moving = [i for i in known if len(geometry.blocks[i]) and i not in geometry.still]
        return bool(geometry.still) and geometry.public_label and not moving

    def attributes(self, batch: Batch) -> Array:
        """Return eta of each attribute of each person, then of the label; NaN where there is no value, or no slope."""
        found = np.sqrt(self._of(tuple(range(len(self.columns)))).attributes(batch))
        found[:, self.geometry.still] = np.nan
        for i, column in enumerate(self.columns):
            if column in batch.missing:
                found[batch.missing[column], i] = np.nan
        return found

    def counts(self, batch: Batch) -> NDArray[np.int64]:
        """Return how many private values each person has."""
        found = np.empty(len(batch), dtype=np.int64)
        for rows, known in patterns(batch, self.columns):
            found[rows] = self.geometry.private_values(known)
        return found

    def jacobians(self, batch: Batch) -> Iterator[Array]:
        """Yield each row's Jacobian (eq. 2.5) in units of the noise, a few rows at a time, (n, published, values).

        Columns of values that a person lacks are zero.
        """
        geometry = self.geometry
        step = max(_MOST_NUMBERS // max(self._pass.moves * max(geometry.values, geometry.outputs), 1), 1)
        for start in range(0, len(batch), step):
            part = batch.take(slice(start, start + step))
            found = self._pass.jacobian(part)
            for i, column in enumerate(self.columns):
                if column in part.missing:
                    found[np.ix_(part.missing[column], np.arange(found.shape[1]), geometry.blocks[i])] = 0.0
            yield found

    @cached_property
    def _pass(self) -> Stacked:
        return Stacked(self.geometry)

    def joint_gram(self, batch: Batch) -> Array:
        """Return the sum of J J^T over the rows: squares only, so that nothing cancels."""
        total = np.zeros((self._pass.moves, self._pass.moves))
        for part in self.jacobians(batch):
            flat = part.transpose(1, 0, 2).reshape(len(total), -1)
            total += flat @ flat.T
        return total

    def _of(self, known: tuple[int, ...]) -> Scorer:
        if known not in self._scorers:
            whole = len(known) == len(self.columns)
            self._scorers[known] = scorer_of(self.geometry if whole else self.geometry.of_attributes(known))
        return self._scorers[known]
