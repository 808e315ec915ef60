"""What the exact information of a linear model is, wherever its rows are."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage._errors import InputError, UnansweredError
from seepage._facts import Assumption, given, personal, public
from seepage._noise import GaussianNoise
from seepage.leakage import Information
from seepage.leakage.types import Assurance
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._known import Scorer, scorer_of
from seepage.linear.rows import Reading
from seepage.meaning import Guarantee, check_delta, output_perturbation

Array = NDArray[np.float64]

_BALANCED = Assumption(
    "class weights",
    "Class weights are balanced, so that a record which is alone in its class weighs as much as all of another, "
    "which is counted. Every class has a record, before and after.",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ExactInformation(Information):
    """The part of an exact measurement that does not depend on where its rows are."""

    assurance: Assurance = "exact"
    noise: GaussianNoise
    geometry: Geometry
    penalty: Array
    """P, shape (p, outputs)."""

    @cached_property
    def scorer(self) -> Scorer:
        """The row-local pass: a pure function of a batch."""
        return scorer_of(self.geometry)

    def is_label(self, attribute: str) -> bool:
        """Return whether an attribute is the label."""
        return not self.geometry.public_label and attribute == self.attribute_names[-1]

    def geometry_of(self, attribute: str | None) -> Geometry:
        """Return the geometry of all values, or of one attribute alone."""
        if attribute is None:
            return self.geometry
        if self.is_label(attribute):
            return self.geometry.of_label()
        return self.geometry.of_attribute(self.attribute_names.index(attribute))

    @property
    @abstractmethod
    def reading(self) -> Reading:
        """How raw rows become a batch."""

    @abstractmethod
    def extremes(self) -> tuple[float, float | None]:
        """Return the largest norm of a feature vector and the largest sample weight, if there are any."""

    def guarantee(self, delta: float, input_norm: float | None) -> Guarantee:
        check_delta(delta)
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
        largest, sample_weight = self.extremes()
        weight = self.reading.largest_weight(sample_weight)
        norm = largest if input_norm is None else input_norm
        if norm < largest * (1 - 1e-12):
            raise InputError(f"input_norm is {norm:g}, but a row of the data has norm {largest:g}.")
        origin = "the largest in the data, which itself is not private" if input_norm is None else "as stated"
        return output_perturbation(
            sensitivity=2 * loss.largest_slope * norm * weight / weakest,
            noise_scale=scale,
            delta=delta,
            assumptions=(
                Assumption(
                    "input norm",
                    f"Feature vectors have a norm of at most {{norm}} ({origin}).",
                    {"norm": personal(norm, "g") if input_norm is None else given(norm, "g")},
                ),
                Assumption(
                    "sensitivity",
                    "The slope of the loss is at most {slope}, and the penalty on every parameter at least {penalty}.",
                    {"slope": public(loss.largest_slope, "g"), "penalty": given(weakest, "g")},
                ),
                Assumption("neighbors", "One record may be replaced by any other, whatever the rest of the data is."),
                *([] if self.reading.balance is None else [_BALANCED]),
            ),
        )
