"""The exact information of a linear model's release, computed when asked for."""

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from seepage.leakage._information import Assurance
from seepage.linear._geometry import Geometry
from seepage.linear._one_margin import OneMargin
from seepage.linear._rows import Batch, RowsInMemory
from seepage.linear._several_margins import SeveralMargins
from seepage.linear._sums import JointSums, joint_sums
from seepage.linear._threads import in_threads

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearInformation:
    """Exact Fisher information of a linear model published with Gaussian noise."""

    rows: RowsInMemory
    geometry: Geometry
    attribute_names: tuple[str, ...]
    categorical: frozenset[str]
    assumptions: tuple[str, ...]

    @property
    def assurance(self) -> Assurance:
        return "exact"

    @property
    def count(self) -> int:
        return self.rows.count

    @cached_property
    def scorer(self) -> OneMargin | SeveralMargins:
        """The row-local pass: a pure function of a batch."""
        return OneMargin(self.geometry) if self.geometry.outputs == 1 else SeveralMargins(self.geometry)

    @cached_property
    def _examples(self) -> dict[str, Array]:
        top, trace = np.empty(self.count), np.empty(self.count)
        for at, found in self.rows.each(self.scorer.examples):
            top[at], trace[at] = found
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

    def joint(self, people: NDArray[np.bool_] | None, attribute: str | None) -> float:
        geometry = self.geometry
        if attribute is not None:
            index = self.attribute_names.index(attribute)
            geometry = geometry.of_attribute(index) if index < len(geometry.blocks) else geometry.of_label()
        tau_gram = geometry.tau.T @ geometry.tau

        def part(at: slice) -> JointSums:
            batch = self.rows.read(at) if people is None else _only(self.rows.read(at), people[at])
            return joint_sums(batch, geometry.loss, geometry.parameters, tau_gram, geometry.public_label)

        return geometry.joint(reduce(add, in_threads(part, self.rows.spans(summed=True))))


def _only(batch: Batch, mask: NDArray[np.bool_]) -> Batch:
    weights = None if batch.weights is None else batch.weights[mask]
    return Batch(batch.features[mask], batch.labels[mask], weights, batch.intercept)
