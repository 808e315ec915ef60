"""The exact information of a linear model's release, computed when asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._errors import InputError
from seepage.engines._progress import followed
from seepage.leakage import Distances, GatheredInformation, PeopleInMemory
from seepage.leakage.types import Who
from seepage.linear.information._exact import ExactInformation
from seepage.linear.information._refit import Refit
from seepage.linear.rows._rows import RowsInMemory
from seepage.linear.rows._sums import JointSums, joint_sums
from seepage.linear.rows._threads import in_threads

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearInformation(ExactInformation, GatheredInformation):
    """Exact Fisher information of a linear model published with Gaussian noise, about people in memory."""

    people: PeopleInMemory
    rows: RowsInMemory
    basis: Array
    """What is published is parameters @ basis.T, shape (published outputs, outputs)."""

    @property
    def count(self) -> int:
        return self.rows.count

    @cached_property
    def _examples(self) -> dict[str, Array]:
        top, trace = np.empty(self.count), np.empty(self.count)
        for at, found in self.rows.each(self.scorer.examples):
            top[at], trace[at] = found
        # eqs. 1.3 and 1.4
        return {"eta": np.sqrt(top), "dfil": np.sqrt(trace / max(self.geometry.values, 1))}

    def examples(self) -> dict[str, Array]:
        return self._examples

    @cached_property
    def _attributes(self) -> dict[str, Array]:
        # One array an attribute: frames hold columns, so nothing is copied to make one.
        found = {name: np.empty(self.count) for name in self.attribute_names}
        for at, part in self.rows.each(self.scorer.attributes):
            for i, column in enumerate(found.values()):
                np.sqrt(part[:, i], out=column[at])
        return found

    def attributes(self) -> dict[str, Array]:
        return self._attributes

    def joint(self, who: Who, attribute: str | None) -> float:
        mask = self.people.mask(who, self.count)
        geometry = self.geometry_of(attribute)
        tau_gram = geometry.tau.T @ geometry.tau

        def part(at: slice) -> JointSums:
            batch = self.rows.read(at) if mask is None else self.rows.read(at).take(mask[at])
            return joint_sums(batch, geometry.loss, geometry.parameters, tau_gram, geometry.public_label)

        return geometry.joint(reduce(add, in_threads(part, self.rows.spans(summed=True), "adding up")))

    def _column(self, attribute: str) -> NDArray[Any]:
        return self.rows.column(None if self.is_label(attribute) else attribute)

    @cached_property
    def _variances(self) -> dict[str, float]:
        numbers = [name for name in self.attribute_names if name not in self.categorical]
        return {name: float(np.var(np.asarray(self._column(name), dtype=np.float64))) for name in numbers}

    def variances(self) -> dict[str, float]:
        return self._variances

    @cached_property
    def refit(self) -> Refit:
        """The exact minimizer with one record changed."""
        return Refit(self.rows, self.geometry, self.penalty)

    def distances(self, attribute: str, values: Sequence[Any] | None) -> Distances:
        column = self._column(attribute)
        if values is None:
            if attribute not in self.categorical:
                raise InputError(
                    f"{attribute!r} is a number: which of its values should be told apart? Give values=[...], or ask "
                    "for its error_floor()."
                )
            values = np.unique(column).tolist()
        asked = attribute, tuple(values)
        if asked not in self._distances:
            self._distances[asked] = self._refitted(attribute, column, asked[1])
        return self._distances[asked]

    @cached_property
    def _distances(self) -> dict[tuple[str, tuple[Any, ...]], Distances]:
        """What was refitted already: nothing is, twice."""
        return {}

    def _refitted(self, attribute: str, column: NDArray[Any], values: tuple[Any, ...]) -> Distances:
        matches = column[:, None] == np.array(values, dtype=column.dtype)
        truth = np.where(matches.any(axis=1), matches.argmax(axis=1), -1)
        name = None if self.is_label(attribute) else attribute
        distance = np.zeros((self.count, len(values)))
        spans = self.rows.spans()
        with followed(f"refitting with other values of {attribute}", len(values) * len(spans)) as watch:
            for j, value in enumerate(values):
                for span in spans:
                    others = np.flatnonzero(truth[span] != j)
                    before = self.rows.read(span).take(others)
                    after = self.rows.altered(span, name, value).take(others)
                    distance[span.start + others, j] = self.refit.distances(before, after)
                    if watch is not None:
                        watch(1)
        return Distances(values, truth, distance)

    def extremes(self) -> tuple[float, float]:
        return self._largest_norm, self._largest_weight

    @cached_property
    def _largest_norm(self) -> float:
        def part(span: slice) -> float:
            return float(np.linalg.norm(self.rows.read(span).augmented(), axis=1).max())

        return max(in_threads(part, self.rows.spans()))

    @cached_property
    def _largest_weight(self) -> float:
        weights = (self.rows.read(span).weights for span in self.rows.spans())
        return max(1.0 if each is None else float(each.max()) for each in weights)
