"""The exact information of a linear model's release, computed when asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._python import Self
from seepage._tables import Column, which
from seepage.errors import UnansweredError
from seepage.execution.storage import followed
from seepage.leakage import Cost, Distances, InformationOfRows, Jacobians, PeopleInMemory, Unlike
from seepage.leakage.owners import Several
from seepage.leakage.types import Kind, Who
from seepage.linear.information._cost import cost_of
from seepage.linear.information._exact import ExactInformation
from seepage.linear.information._fitted import Fit, Release
from seepage.linear.information._parameters import PublishedParameters
from seepage.linear.information._refit import Refit, warn_unanswered
from seepage.linear.information._scorer import Scorer
from seepage.linear.objective import JointSums
from seepage.linear.rows import InMemory, Reading, in_threads

Array = NDArray[np.float64]

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
    def in_memory(cls, fit: Fit[InMemory], release: Release, people: PeopleInMemory) -> Self:
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
