"""The exact information of a linear model's release, computed when asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._errors import InputError, UnansweredError
from seepage._noise import GaussianNoise
from seepage.engines._progress import followed
from seepage.leakage._information import Assurance, Distances
from seepage.linear._geometry import Geometry
from seepage.linear._one_margin import OneMargin
from seepage.linear._refit import Refit
from seepage.linear._rows import RowsInMemory
from seepage.linear._several_margins import SeveralMargins
from seepage.linear._sums import JointSums, joint_sums
from seepage.linear._threads import in_threads
from seepage.meaning import Guarantee, output_perturbation

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearInformation:
    """Exact Fisher information of a linear model published with Gaussian noise."""

    rows: RowsInMemory
    geometry: Geometry
    penalty: Array
    """P, shape (p, outputs)."""
    basis: Array
    """What is published is parameters @ basis.T, shape (published outputs, outputs)."""
    noise: GaussianNoise
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
            geometry = geometry.of_label() if self._is_label(attribute) else geometry.of_attribute(index)
        tau_gram = geometry.tau.T @ geometry.tau

        def part(at: slice) -> JointSums:
            batch = self.rows.read(at) if people is None else self.rows.read(at).take(people[at])
            return joint_sums(batch, geometry.loss, geometry.parameters, tau_gram, geometry.public_label)

        return geometry.joint(reduce(add, in_threads(part, self.rows.spans(summed=True), "adding up")))

    def _is_label(self, attribute: str) -> bool:
        return not self.geometry.public_label and attribute == self.attribute_names[-1]

    def _column(self, attribute: str) -> NDArray[Any]:
        return self.rows.column(None if self._is_label(attribute) else attribute)

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
        matches = column[:, None] == np.array(values, dtype=column.dtype)
        truth = np.where(matches.any(axis=1), matches.argmax(axis=1), -1)
        name = None if self._is_label(attribute) else attribute
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
        return Distances(tuple(values), truth, distance)

    def guarantee(self, delta: float, input_norm: float | None) -> Guarantee:
        loss, scale = self.geometry.loss, self.noise.scale
        if loss.largest_slope is None:
            raise UnansweredError(
                f"Differential privacy needs a loss whose slope is bounded; that of the {type(loss).__name__} loss is "
                "not, so one record can move the parameters without limit."
            )
        weakest = float(self.penalty.min())
        if weakest == 0:
            raise UnansweredError(
                "Differential privacy needs a penalty on every parameter, also on the intercept; without it one record "
                "can move the parameters without limit. Fit with fit_intercept=False and a penalty."
            )
        if scale is None:
            raise UnansweredError("Differential privacy is translated for independent noise of one scale only.")
        largest, weight = self._largest_norm, self._largest_weight
        norm = largest if input_norm is None else input_norm
        if norm < largest * (1 - 1e-12):
            raise InputError(f"input_norm is {norm:g}, but a row of the data has norm {largest:g}.")
        origin = "the largest in the data, which itself is not private" if input_norm is None else "as stated"
        return output_perturbation(
            sensitivity=2 * loss.largest_slope * norm * weight / weakest,
            noise_scale=scale,
            delta=delta,
            assumptions=(
                f"Feature vectors have a norm of at most {norm:g} ({origin}).",
                f"The slope of the loss is at most {loss.largest_slope:g}, and the penalty on every parameter at least "
                f"{weakest:g}.",
                "One record may be replaced by any other, whatever the rest of the data is.",
            ),
        )

    @cached_property
    def _largest_norm(self) -> float:
        def part(span: slice) -> float:
            return float(np.linalg.norm(self.rows.read(span).augmented(), axis=1).max())

        return max(in_threads(part, self.rows.spans()))

    @cached_property
    def _largest_weight(self) -> float:
        weights = (self.rows.read(span).weights for span in self.rows.spans())
        return max(1.0 if each is None else float(each.max()) for each in weights)
