"""What a table says to attackers who know less than everything: counts exactly, the rest by averages."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from seepage._tables import Column, which
from seepage.aggregates._counted import Counted
from seepage.attackers import SamplingInformation
from seepage.leakage import Distances


@dataclass(frozen=True, eq=False, kw_only=True)
class TableInformation(SamplingInformation):
    """The information that a table carries.

    Success rates of categories are exact for the counts and shares, at any size: they are those of the best attacker at
    even odds, averaged over the values that the unknown others may have. Where means are printed beside, what normal
    theory says of all numbers is answered if it is more. Everything else is normal.
    """

    counted: Counted | None
    """What it counts, if it does."""
    averages: bool
    """Whether it prints more than counts and shares."""
    columns: Mapping[str, Column]

    def _column(self, attribute: str) -> tuple[Column, NDArray[np.bool_]]:
        return self.columns[attribute], np.ones(self.count, dtype=bool)

    def _counts(self, attribute: str) -> bool:
        """Whether counts and shares move with an attribute, and nothing else does."""
        found = self.counted
        return found is not None and (attribute in found.shares or (attribute in found.by and not self.averages))

    def silence(self) -> str:
        return "" if any(map(self._counts, self.categorical)) else super().silence()

    def not_assessed(self) -> Mapping[str, Column]:
        found = dict(super().not_assessed())
        for name in filter(self._counts, found):
            found[name] = np.full(self.count, "", dtype=object)
        return found

    def distances(self, attribute: str, values: Sequence[Hashable] | None) -> Distances:
        counted = self.counted
        if counted is None or attribute not in (*counted.by, *counted.shares) or self.attacker.covariates:
            return super().distances(attribute, values)
        asked = tuple(counted.records.levels[attribute] if values is None else values)
        truth = which(asked, self.columns[attribute])
        told = counted.told(attribute, asked, self.attacker)
        distance = 2.0 * ndtri(0.5 + 0.5 * np.clip(told.apart, 0.0, 1.0))
        if not self._counts(attribute) or not told.whole or self.averages:
            normal = super().distances(attribute, asked).distance
            more = np.fmax(distance, normal)
            enough = self._counts(attribute) and told.whole
            distance = more if enough else np.where(np.isnan(normal), np.nan, more)
        # A single value has no other that it could be compared with.
        same = 0.0 if len(asked) > 1 else np.nan
        distance = np.where(np.arange(len(asked)) == truth[:, None], same, distance)
        return Distances(asked, truth, distance)
