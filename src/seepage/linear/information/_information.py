"""What the exact information of a linear model is, wherever its rows are."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption, given, personal, public
from seepage._noise import GaussianNoise
from seepage._python import Self
from seepage._tables import Column, which
from seepage.errors import InputError, UnansweredError
from seepage.execution.storage import followed
from seepage.leakage import Cost, Distances, Information, InformationOfRows, Jacobians, People, PeopleInMemory, Unlike
from seepage.leakage.owners import Several
from seepage.leakage.types import Assurance, Kind, Who
from seepage.linear.information._fitted import Fit, Release
from seepage.linear.information._geometry import Geometry, published_of
from seepage.linear.information._preprocessing import Preprocessing
from seepage.linear.information._refit import PublishedParameters, Refit, warn_unanswered
from seepage.linear.information._scorer import Scorer
from seepage.linear.information._shape import Shaping, noise_assumptions
from seepage.linear.objective import JointSums, NewtonSums, Squared, newton_sums
from seepage.linear.rows import InMemory, Reading, RowData, in_threads
from seepage.meaning import Guarantee, check_delta, output_perturbation

Array = NDArray[np.float64]


def cost_of(geometry: Geometry, rows: RowData, excess: float, covariance: Array) -> Cost:
    """Return what noise costs the model, next to its loss and its standard errors.

    Parameters
    ----------
    geometry : Geometry
        Of the fit.
    rows : RowData
        All of them.
    excess : float
        By how much the noise raises the loss of all rows in the mean.
    covariance : ndarray
        Of the noise, seen from the parameters in which the minimizer is unique.
    """
    frame, position, outputs = geometry.frame, geometry.position, geometry.outputs
    sums: NewtonSums = rows.total(partial(newton_sums, loss=geometry.loss, position=position, frame=frame))
    p = len(geometry.parameters)
    q = len(position)
    squared = isinstance(geometry.loss, Squared) and outputs == 1
    inverse = geometry.minimizer.inverse
    sandwich = inverse @ sums.hessian @ inverse
    outer = frame.matrix(p)
    blocks = sandwich.reshape(outputs, q, outputs, q)
    variances = [np.einsum("iq,qs,is->i", outer, blocks[c, :, c], outer) for c in range(outputs)]
    scatter = 2 * sums.value / max(sums.weight - q, 1.0) if squared else 1.0
    names = geometry.minimizer.names
    called = tuple(names) if outputs == 1 else tuple(f"{name} ({c + 1})" for c in range(outputs) for name in names)
    kept = np.ones(p * outputs, dtype=bool)
    if geometry.minimizer.free is not None:
        # Only what is published carries noise.
        kept = np.asarray(np.diag(covariance) > 0)
        every = (*names, *(name for name in geometry.minimizer.beside for _ in range(p)))
        called = tuple(every[i] for i in np.flatnonzero(kept).tolist())
    return Cost(
        loss="half the squared error" if squared else "loss",
        exact=squared,
        without=sums.value / sums.weight,
        added=excess / sums.weight,
        names=called,
        parameters=geometry.parameters.T.ravel()[kept],
        standard_errors=np.sqrt(np.maximum(np.concatenate(variances) * scatter, 0.0))[kept],
        noise=np.sqrt(np.diag(covariance))[kept],
    )


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
    def of(cls, fit: Fit, release: Release, people: People, *remarks: Assumption, **own: Any) -> Self:
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


# The most exposed people by one step, who are refitted; and as many refits as are made without looking for them.
_MOST_EXPOSED, _FEW = 200, 1_000


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearInformation(ExactInformation, InformationOfRows):
    """Exact Fisher information of a linear model published with Gaussian noise, about people in memory."""

    people: PeopleInMemory
    rows: InMemory
    estimator: Any
    """The fitted model, without the steps before it."""

    @classmethod
    def in_memory(cls, fit: Fit, release: Release, people: PeopleInMemory) -> Self:
        """Return what a release says about people in memory."""
        still = frozenset(release.attribute_names[i] for i in release.geometry.still)
        return cls.of(fit, release, people, estimator=fit.estimator, without_slope=still)

    @property
    def held(self) -> "LinearInformation":
        return self

    def cost(self) -> Cost:
        return cost_of(self.geometry, self.rows, self.excess_loss(), self.noise_on_parameters())

    def _elsewhere(self) -> "LinearInformation":
        return self

    @property
    def _rows(self) -> int:
        return self.rows.count

    @cached_property
    def _values(self) -> Array | int:
        if not self.rows.missing:
            return self.geometry.private_values()
        found = np.empty(self.rows.count)
        for at, counts in self.rows.each(self.scorer.counts):
            found[at] = counts
        return found

    @cached_property
    def _examples_of_rows(self) -> dict[str, Array]:
        found = {"eta": np.empty(self.rows.count), "dfil": np.empty(self.rows.count)}
        for at, (eta, dfil) in self.rows.each(self.scorer.scores):
            found["eta"][at], found["dfil"][at] = eta, dfil
        return found

    @cached_property
    def _attributes(self) -> dict[str, Array]:
        # One array an attribute: frames hold columns, so nothing is copied to make one.
        found = {name: np.empty(self.rows.count) for name in self.attribute_names}
        for at, part in self.rows.each(self.scorer.attribute_scores):
            for i, column in enumerate(found.values()):
                column[at] = part[:, i]
        return found if self.owners is None else self._several(None).attributes(found)

    def attributes(self) -> dict[str, Array]:
        return self._attributes

    def column_at(self, kind: Kind, name: str, factor: float) -> Array:
        if kind == "examples":
            return self._at(factor).examples()[name]
        if not self.stays:
            return self.attributes()[name] / factor
        if self.owners is not None:
            # Of several values the two parts may be largest in different directions.
            return self._at(factor).attributes()[name]
        # About one number information is that of the parameters, which shrinks, plus that of the noise's shape.
        return np.hypot(self._staying.attributes()[name], self.without_shape.attributes()[name] / factor)

    def _at(self, factor: float) -> "LinearInformation":
        """Return the same with other noise, as far as eta and dfil are asked for."""
        return replace(self, geometry=self.geometry.at(factor))

    @cached_property
    def _staying(self) -> "LinearInformation":
        """What no noise hides."""
        return self._at(np.inf)

    def jacobians(self, people: NDArray[np.intp]) -> Jacobians | None:
        if self.owners is not None:
            return None
        geometry, width = self.geometry, self.geometry.reading.shape[1]
        blocks = dict(zip(self.attribute_names, geometry.blocks, strict=False))
        if not geometry.public_label:
            blocks[self.attribute_names[-1]] = np.arange(width, geometry.values)
        return Jacobians(np.concatenate(list(self.scorer.jacobians(self.rows.picked(people)))), blocks)

    def joint_information_loss(self, who: Who, attribute: str | None) -> float:
        geometry, owners = self.geometry_of(attribute), self.owners
        if self.rows.missing or geometry.stacked or (owners is not None and self._several(attribute).repeats.any()):
            return super().joint_information_loss(who, attribute)
        people = self.people.mask(who, self.count)
        mask = people if owners is None else owners.rows(people)
        sums = geometry.joint_sums

        def part(at: slice) -> JointSums:
            batch = self.rows.read(at) if mask is None else self.rows.read(at).take(mask[at])
            return sums(batch)

        return geometry.joint_eta(reduce(add, in_threads(part, self.rows.spans(summed=True), "adding up")))

    def _several(self, attribute: str | None) -> Several:
        """Return what is known of people with several rows, of all values or of one attribute alone."""
        assert self.owners is not None
        geometry = self.geometry_of(attribute)
        scorer = Scorer(geometry)
        blocks, repeats = [*geometry.blocks], self._repeats(self.attribute_names if attribute is None else [attribute])
        if not geometry.public_label:
            blocks.append(np.arange(geometry.reading.shape[1], geometry.values))

        def jacobians(rows: NDArray[np.intp]) -> Array:
            return np.concatenate(list(scorer.jacobians(self.rows.picked(rows))))

        return Several(self.owners, tuple(blocks), repeats, jacobians, geometry.still)

    def _gram(self, mask: NDArray[np.bool_] | None, attribute: str | None) -> Array:
        scorer = Scorer(self.geometry_of(attribute))

        def part(at: slice) -> Array:
            batch = self.rows.read(at)
            return scorer.joint_gram(batch if mask is None else batch.take(mask[at]))

        return np.asarray(reduce(add, in_threads(part, self.rows.spans(), "adding up")))

    def _column(self, attribute: str) -> Column:
        return self.rows.column(None if self.is_label(attribute) else attribute)

    def _has(self, attribute: str) -> NDArray[np.bool_]:
        if not self.is_label(attribute):
            missing = self.rows.missing.get(self.geometry.columns[self.attribute_names.index(attribute)])
            if missing is not None:
                return ~missing
        return super()._has(attribute)

    @cached_property
    def outputs(self) -> PublishedParameters:
        """The published parameters."""
        return PublishedParameters(self.rows, self.geometry, self.penalty, self.basis, self.estimator, self.noise)

    @property
    def refit(self) -> Refit:
        """Steps and refits with rows of single people exchanged."""
        return self.outputs.refit

    def ranks(self, attribute: str) -> bool:
        return self.refit.active is None

    def distances(self, attribute: str, values: Sequence[Any] | None) -> Distances:
        asked = self._asked(attribute, values)
        if asked not in self._distances:
            self._distances[asked] = self._stepped(*asked)
            found = self._with_refits(asked, self._distances[asked].order()[:_MOST_EXPOSED])
            warn_unanswered(found, attribute, self.count)
        return self._distances[asked]

    def refitted(self, attribute: str, records: NDArray[np.intp]) -> Distances:
        self.distances(attribute, None)
        return self._with_refits(self._asked(attribute, None), records)

    def _asked(self, attribute: str, values: Sequence[Any] | None) -> tuple[str, tuple[Any, ...]]:
        """Return the attribute with the values in question, which are by default those of the data."""
        column = self._column(attribute)
        if self.geometry.shape is not None:
            raise UnansweredError(
                f"Success rates of {attribute!r} are not answered with noise whose shape follows the rows: another "
                "value changes the shape too. Measure with noise of one scale, noise_scale=0.5, or with a covariance "
                "that was made from public rows."
            )
        if column.ndim > 1:
            raise UnansweredError(f"{attribute!r} is several numbers at once; refits are for one value at a time.")
        if values is None:
            self._check_category(attribute)
            values = np.unique(column[self._has(attribute)]).tolist()
        return attribute, tuple(values)

    @cached_property
    def _distances(self) -> dict[tuple[str, tuple[Any, ...]], Distances]:
        """Distances that are known: no refit is made twice."""
        return {}

    def _groups(self, attribute: str) -> list[NDArray[np.intp]]:
        """Return the rows that change together, for people with the same number of them: shapes (people, rows)."""
        changing = self._changing(attribute)
        sizes = np.array([len(rows) for rows in changing], dtype=np.intp)
        return [np.array([rows for rows in changing if len(rows) == size]) for size in np.unique(sizes)]

    def _stepped(self, attribute: str, values: tuple[Any, ...]) -> Distances:
        """Return the distances after one step; of refits if they are few or a penalty keeps coefficients at zero."""
        name, groups = None if self.is_label(attribute) else attribute, self._groups(attribute)
        absent = np.ones(self.rows.count, dtype=bool)
        for places in groups:
            # The first of several rows stands for all.
            absent[places[:, 0]] = False
        truth = np.where(absent, -1, which(values, self._column(attribute)))
        distance = np.where(absent[:, None], np.nan, np.zeros((len(absent), len(values))))
        exact = absent[:, None] | (truth[:, None] == np.arange(len(values)))
        found = Distances(values, truth, distance, self.people.person, absent if absent.any() else None, exact=exact)
        records, others = np.nonzero(~exact)
        if self.refit.active is not None or len(records) <= _FEW:
            return self._refit_pairs(found, name, groups, records, others)
        with followed(f"exchanging {attribute} of everybody", int((~absent).sum()) * len(values)) as watch:
            for places in (part for group in groups for part in self.refit.parts(group)):
                before = self.rows.picked(places.ravel())
                for j, value in enumerate(values):
                    others = truth[places[:, 0]] != j
                    records, rows = places[others, 0], before.take(np.repeat(others, places.shape[1]))
                    exchange = self.refit.exchange(places[others], name, value, rows)
                    distance[records, j] = self.refit.approximate(exchange)
                    exact[records, j] = self.refit.is_step(exchange)
                    watch(len(places))
        return found

    def _with_refits(self, asked: tuple[str, tuple[Any, ...]], records: NDArray[np.intp]) -> Distances:
        """Return distances of which the farthest of some records are exact: refitted until they are."""
        attribute, _ = asked
        name, groups = None if self.is_label(attribute) else attribute, self._groups(attribute)
        while True:
            found = self._distances[asked]
            assert found.exact is not None
            farthest = found.distance[records].argmax(axis=1)
            left = ~found.exact[records, farthest]
            if not left.any():
                return found
            self._distances[asked] = self._refit_pairs(found, name, groups, records[left], farthest[left])

    def _refit_pairs(
        self,
        found: Distances,
        name: str | None,
        groups: list[NDArray[np.intp]],
        records: NDArray[np.intp],
        others: NDArray[np.intp],
    ) -> Distances:
        """Return distances of which those of some records to others' values are refits."""
        distance, exact = found.distance.copy(), np.array(found.exact)
        unlike = [] if found.unlike is None else [found.unlike]
        with followed(f"refitting with other values of {name or self.attribute_names[-1]}", len(records)) as watch:
            for j in np.unique(others):
                for group in groups:
                    places = group[np.isin(group[:, 0], records[others == j])]
                    if not len(places):
                        continue
                    exchange = self.refit.exchange(places, name, found.values[j])
                    refitted = self.refit.distances(exchange, self.refit.moves(exchange, watch))
                    distance[places[:, 0], j], exact[places[:, 0], j] = refitted.distance, True
                    if refitted.unlike is not None:
                        unlike.append(Unlike.with_value(places[:, 0], int(j), refitted.unlike))
        return replace(found, distance=distance, exact=exact, unlike=Unlike.together(unlike))

    @property
    def reading(self) -> Reading:
        return self.rows.reading

    def extremes(self) -> tuple[float, float | None]:
        weights = self.rows.weights
        return self._largest_norm, None if weights is None else float(weights.max())

    @cached_property
    def _largest_norm(self) -> float:
        def part(span: slice) -> float:
            return float(np.linalg.norm(self.rows.read(span).augmented(), axis=1).max())

        return max(in_threads(part, self.rows.spans()))
