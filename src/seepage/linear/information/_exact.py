"""What the exact information of a linear model is, wherever its rows are."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption, given, personal, public
from seepage._noise import GaussianNoise
from seepage._python import Self
from seepage.errors import InputError, UnansweredError
from seepage.leakage import Information, People
from seepage.leakage.types import Assurance
from seepage.linear.information._fitted import Fit, Release
from seepage.linear.information._geometry import Geometry, published_of
from seepage.linear.information._preprocessing import Preprocessing
from seepage.linear.information._scorer import Scorer
from seepage.linear.information._shape import Shaping, noise_assumptions
from seepage.linear.rows import Reading, RowData
from seepage.meaning import Guarantee, check_delta, output_perturbation

Array = NDArray[np.float64]

_BALANCED = Assumption(
    "class weights",
    "Class weights are balanced, so that a record which is alone in its class weighs as much as all of another, "
    "which is counted. Every class has a record, before and after.",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Noised(Information):
    """An exact measurement of parameters that are published with noise, which can be chosen anew."""

    assurance: Assurance = "exact"
    noise: GaussianNoise
    preprocessing: Preprocessing
    """Which steps before the model were fitted on these rows, and which are taken as public."""

    @property
    @abstractmethod
    def exact(self) -> Array:
        """What would be published without noise, shape (published outputs, p)."""

    @abstractmethod
    def with_noise(self, noise: GaussianNoise) -> Self:
        """Return what the same model tells if it is published with another noise."""

    @property
    @abstractmethod
    def unshaped(self) -> str | None:
        """What models are called whose noise cannot take its shape from the rows, if this is one."""

    def excess_loss(self) -> float:
        """Return by how much the noise raises the loss on these rows in the mean."""
        raise UnansweredError("What noise costs is not known of this model.")


@dataclass(frozen=True, eq=False, kw_only=True)
class ExactInformation(Noised):
    """The part of an exact measurement that does not depend on where its rows are."""

    rows: RowData
    geometry: Geometry
    penalty: Array
    """P, shape (p, outputs)."""
    basis: Array
    """What is published is parameters @ basis.T, shape (published outputs, outputs)."""
    shaping: Shaping
    """What another noise takes its shape from."""

    @classmethod
    def of(cls, fit: Fit[RowData], release: Release, people: People, *remarks: Assumption, **own: Any) -> Self:
        """Return what a release says about people."""
        return cls(
            people=people,
            rows=fit.rows,
            geometry=release.geometry,
            penalty=fit.problem.penalty,
            basis=fit.problem.basis,
            noise=release.noise,
            shaping=release.shaping,
            attribute_names=release.attribute_names,
            categorical=release.categorical,
            assumptions=(*release.assumptions, *remarks),
            stays=release.geometry.stays,
            units=release.units,
            preprocessing=release.preprocessing,
            **own,
        )

    @property
    def exact(self) -> Array:
        return np.asarray(self.basis @ self.geometry.parameters.T)

    @property
    def unshaped(self) -> str | None:
        return None if self.geometry.minimizer.active is None else "models with an L1 penalty"

    def with_noise(self, noise: GaussianNoise) -> Self:
        made, shape = self.shaping.noise(noise)
        geometry = self.geometry.with_noise(made, self.basis, shape)
        about = noise_assumptions(made, shape, self.geometry.minimizer.estimator)
        rest = tuple(one for one in self.assumptions if one.kind not in ("release", "shape"))
        return replace(
            self._elsewhere(), noise=made, geometry=geometry, stays=geometry.stays, assumptions=(*about, *rest)
        )

    @cached_property
    def without_shape(self) -> Self:
        """What noise hides: the same without what its shape tells."""
        return replace(self._elsewhere(), geometry=self.geometry.without_shape(), stays=False)

    @abstractmethod
    def _elsewhere(self) -> Self:
        """Return the same, without what was written or kept of it: another noise has other results."""

    def excess_loss(self) -> float:
        """Return tr(H Sigma) / 2 (eq. 7.3).

        H is the Hessian of the sum of losses, without the penalty. It is exact for squared loss, and for others the
        leading term.
        """
        p, outputs = self.penalty.shape
        minimizer = self.geometry.minimizer
        active, free = minimizer.active, minimizer.free
        if free is not None:
            at = free.T.ravel()
            inner = np.linalg.inv(minimizer.hessian_inverse[np.ix_(at, at)]) - np.diag(self.penalty.T.ravel()[at])
            return 0.5 * float(np.sum(inner * self.noise_on_parameters()[np.ix_(at, at)]))
        whole = np.linalg.inv(minimizer.hessian_inverse) if active is None else active.hessian
        hessian = whole - np.diag(self.penalty.T.ravel())
        if self.noise.scale is not None:
            # White noise on what is published, seen from the parameters.
            seen = np.linalg.inv(self.basis.T @ self.basis)
            traces = np.einsum("cada->cd", hessian.reshape(outputs, p, outputs, p))
            return 0.5 * self.noise.scale**2 * float(np.sum(traces * seen))
        return 0.5 * float(np.sum(hessian * self.noise_on_parameters()))

    def noise_on_parameters(self) -> Array:
        """Return the covariance of the noise, seen from the parameters in which the minimizer is unique.

        Attackers see more than these: of noise that is correlated with what says nothing, they take a part off.
        """
        p, outputs = self.penalty.shape
        free = self.geometry.minimizer.free
        at = np.ones(p * outputs, dtype=bool) if free is None else free.T.ravel()
        if free is None:
            back = np.kron(np.linalg.pinv(self.basis), np.eye(p))
        else:
            back = np.linalg.pinv(published_of(self.basis, p, free)[:, at])
        noise = self.noise.known() if self.noise.scale is None else self.noise.scale**2 * np.eye(back.shape[1])
        found = np.zeros((p * outputs, p * outputs))
        found[np.ix_(at, at)] = back @ noise @ back.T
        return found

    @cached_property
    def scorer(self) -> Scorer:
        """The row-local pass: a pure function of a batch."""
        return Scorer(self.geometry)

    @property
    def outcome(self) -> tuple[str, ...]:
        return () if self.geometry.public_label else self.attribute_names[-1:]

    def reaches(self, attribute: str) -> bool:
        """Return whether an attribute, which is not the label, reaches the model."""
        return len(self.geometry.blocks[self.attribute_names.index(attribute)]) > 0

    def is_label(self, attribute: str) -> bool:
        """Return whether an attribute is the label."""
        return attribute in self.outcome

    def geometry_of(self, attribute: str | None) -> Geometry:
        """Return the geometry of all values, or of one attribute alone."""
        if attribute is None:
            return self.geometry
        if attribute in self.without_slope:
            raise UnansweredError(
                f"All coefficients of {attribute!r} are kept at zero by the L1 penalty, until other values of it let "
                "one go: joint information about it is not defined. Ask success_rate, which refits the model."
            )
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
