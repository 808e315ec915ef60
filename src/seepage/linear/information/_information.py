"""The exact information of a linear model's release, computed when asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Column, which
from seepage.errors import UnansweredError
from seepage.execution.storage import followed
from seepage.leakage import Cost, Distances, GatheredInformation, Jacobians, PeopleInMemory, Unlike
from seepage.leakage.owners import Owners, Several, largest
from seepage.leakage.types import Kind, Variance, Who
from seepage.linear.information._cost import cost_of
from seepage.linear.information._exact import ExactInformation
from seepage.linear.information._fitted import Fit, Release
from seepage.linear.information._known import KnownValues
from seepage.linear.information._nearby import Nearby
from seepage.linear.information._one_step import Moved, OneStep
from seepage.linear.information._refit import Refit, warn_unanswered
from seepage.linear.objective import JointSums
from seepage.linear.rows import InMemory, Reading, in_threads
from seepage.meaning import EmpiricalPrior

Array = NDArray[np.float64]

# Rows times refits up to which everybody is refitted: about a second.
_FEW = 2**24
# Refits at a time, while it is sought who is farthest: at first those whom one step takes farthest, then more and more.
_FIRST, _MORE = 64, 8


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearInformation(ExactInformation, GatheredInformation):
    """Exact Fisher information of a linear model published with Gaussian noise, about people in memory."""

    people: PeopleInMemory
    rows: InMemory
    estimator: Any
    """The fitted model, without the steps before it."""
    columns: tuple[int, ...]
    """The raw column of each attribute, without the label."""

    @classmethod
    def of(cls, fit: Fit[InMemory], release: Release, people: PeopleInMemory, columns: Sequence[int]) -> Self:
        """Return what a release says about people in memory; `columns` are the private ones."""
        geometry = release.geometry
        return cls(
            people=people,
            rows=fit.rows,
            geometry=geometry,
            penalty=fit.problem.penalty,
            basis=fit.problem.basis,
            estimator=fit.estimator,
            noise=release.noise,
            shaping=release.shaping,
            attribute_names=release.attribute_names,
            categorical=release.categorical,
            assumptions=release.assumptions,
            stays=geometry.stays,
            units=release.units,
            columns=tuple(columns),
            preprocessing=release.preprocessing,
            without_slope=frozenset(release.attribute_names[i] for i in geometry.still),
        )

    @property
    def held(self) -> "LinearInformation":
        return self

    def cost(self) -> Cost:
        return cost_of(self.geometry, self.rows, self.penalty, self.noise_on_parameters())

    def _elsewhere(self) -> "LinearInformation":
        return self

    @property
    def count(self) -> int:
        return self.rows.count if self.owners is None else self.owners.count

    @cached_property
    def private_values(self) -> Array | int:
        if self.owners is not None:
            return self._examples_of_people[1]
        if not self.rows.missing:
            return self.geometry.private_values()
        found = np.empty(self.rows.count)
        for at, counts in self.rows.each(self.known.counts):
            found[at] = counts
        return found

    @cached_property
    def owners(self) -> Owners | None:
        """Whose each row is, if some people have several."""
        person, ids = self.people.person, self.people.ids
        return None if person is None or ids is None else Owners(person, len(ids))

    @cached_property
    def known(self) -> KnownValues:
        """The row-local pass: a pure function of a batch."""
        return KnownValues(self.geometry, self.columns)

    @cached_property
    def _examples_of_rows(self) -> dict[str, Array]:
        found = {"eta": np.empty(self.rows.count), "dfil": np.empty(self.rows.count)}
        for at, (eta, dfil) in self.rows.each(self.known.examples):
            found["eta"][at], found["dfil"][at] = eta, dfil
        return found

    @cached_property
    def _examples_of_people(self) -> tuple[dict[str, Array], Array]:
        """Eta and dfil of people with several rows, and how many values dfil is the mean over."""
        counts = self.known.counts
        return self._several(None).examples(self._examples_of_rows, lambda rows: counts(self.rows.picked(rows)))

    def examples(self) -> dict[str, Array]:
        return self._examples_of_rows if self.owners is None else self._examples_of_people[0]

    @cached_property
    def _attributes(self) -> dict[str, Array]:
        # One array an attribute: frames hold columns, so nothing is copied to make one.
        found = {name: np.empty(self.rows.count) for name in self.attribute_names}
        for at, part in self.rows.each(self.known.attributes):
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
        return Jacobians(np.concatenate(list(self.known.jacobians(self.rows.picked(people)))), blocks)

    def joint(self, who: Who, attribute: str | None) -> float:
        people = self.people.mask(who, self.count)
        mask = people if self.owners is None else self.owners.rows(people)
        geometry = self.geometry_of(attribute)
        if self.owners is not None and self._several(attribute).repeats.any():
            return self._several(attribute).joint(self._gram_of_known(attribute, mask), people)
        if self.rows.missing or geometry.stacked:
            return largest(self._gram_of_known(attribute, mask))
        joining = geometry.joining

        def part(at: slice) -> JointSums:
            batch = self.rows.read(at) if mask is None else self.rows.read(at).take(mask[at])
            return joining.sums(batch)

        return joining.eta(reduce(add, in_threads(part, self.rows.spans(summed=True), "adding up")))

    @cached_property
    def repeats(self) -> NDArray[np.intp]:
        """How many more rows of each person say the same value of each attribute again, shape (people, attributes)."""
        assert self.owners is not None
        return np.column_stack(
            [self.owners.repeats(self._column(name), self.has(name)) for name in self.attribute_names]
        )

    def _several(self, attribute: str | None) -> Several:
        """Return what is known of people with several rows, of all values or of one attribute alone."""
        assert self.owners is not None
        geometry, known = self.geometry_of(attribute), self._known_of(attribute)
        blocks, repeats = [*geometry.blocks], self.repeats
        if not geometry.public_label:
            blocks.append(np.arange(geometry.reading.shape[1], geometry.values))
        if attribute is not None:
            repeats = repeats[:, [self.attribute_names.index(attribute)]]

        def jacobians(rows: NDArray[np.intp]) -> Array:
            return np.concatenate(list(known.jacobians(self.rows.picked(rows))))

        return Several(self.owners, tuple(blocks), repeats, jacobians, geometry.still)

    def _known_of(self, attribute: str | None) -> KnownValues:
        if attribute is None:
            return self.known
        columns = () if self.is_label(attribute) else (self.columns[self.attribute_names.index(attribute)],)
        return KnownValues(self.geometry_of(attribute), columns)

    def _gram_of_known(self, attribute: str | None, mask: NDArray[np.bool_] | None) -> Array:
        """Return the sum of J J^T over rows whose values not everybody has, or move a scaler, or are several's."""
        known = self._known_of(attribute)

        def part(at: slice) -> Array:
            batch = self.rows.read(at)
            return known.joint_gram(batch if mask is None else batch.take(mask[at]))

        return np.asarray(reduce(add, in_threads(part, self.rows.spans(), "adding up")))

    def _column(self, attribute: str) -> Column:
        return self.rows.column(None if self.is_label(attribute) else attribute)

    def has(self, attribute: str) -> NDArray[np.bool_]:
        """Return which rows have a value of an attribute."""
        if not self.is_label(attribute):
            missing = self.rows.missing.get(self.columns[self.attribute_names.index(attribute)])
            if missing is not None:
                return ~missing
        return np.ones(self.rows.count, dtype=bool)

    @cached_property
    def _variances(self) -> dict[str, Variance]:
        numbers = [name for name in self.attribute_names if name not in self.categorical]
        known = {name: self._column(name)[self.has(name)] for name in numbers}
        return {name: _variance(np.asarray(values, dtype=np.float64)) for name, values in known.items()}

    def variances(self) -> dict[str, Variance]:
        return self._variances

    def spreads(self, attribute: str) -> tuple[EmpiricalPrior, ...]:
        known = np.asarray(self._column(attribute)[self.has(attribute)], dtype=np.float64)
        return tuple(EmpiricalPrior.of(values) for values in known.reshape(len(known), -1).T)

    @cached_property
    def refit(self) -> Refit:
        """The exact minimizer with one record changed."""
        return Refit(Nearby(self.rows, self.geometry, self.penalty))

    @cached_property
    def one_step(self) -> OneStep:
        """Bounds on how far that minimizer is."""
        return OneStep(self.refit.near)

    def ranks(self, attribute: str) -> bool:
        if self._in_several_rows(attribute):
            return False
        if self.geometry.loss.quadratic:
            return self.geometry.shape is None and self.refit.near.active is None
        return self.one_step.answers and not self._follows(attribute)

    def _follows(self, attribute: str) -> bool:
        """Return whether a scaler or an imputer moves along with an attribute, as far as one row shows."""
        if self.geometry.scales is None or self.is_label(attribute):
            return False
        some, column = slice(0, 1), self._column(attribute)
        before, values = self.rows.read(some), np.unique(column[self.has(attribute)]).tolist()
        return any(self.one_step.follows(before, self.rows.altered(some, attribute, value)) for value in values)

    def ranked(self, attribute: str, values: Sequence[Any] | None) -> Distances:
        asked = self._asked(attribute, values)
        many = self.rows.count**2 * len(asked[1]) > _FEW
        if not many or asked in self._distances or self.geometry.loss.quadratic or not self.ranks(attribute):
            return self.distances(attribute, values)
        if asked not in self._ranked:
            found = self._bounded(attribute, asked[1])
            if found is None:
                return self.distances(attribute, values)
            self._ranked[asked] = found
        return self._ranked[asked]

    @cached_property
    def _ranked(self) -> dict[tuple[str, tuple[Any, ...]], Distances]:
        return {}

    def _bounded(self, attribute: str, values: tuple[Any, ...]) -> Distances | None:
        """Return distances within bounds, and refitted for all who may be farthest; None where no bounds are known."""
        has, name = self.has(attribute), None if self.is_label(attribute) else attribute
        truth = np.where(has, which(values, self._column(attribute)), -1)
        one, spans = self.one_step, self.refit.near.spans
        # Made here, once, and not by each of the threads that ask for them.
        _ = self.refit.near.items, one.levels
        units = int((truth[:, None] != np.arange(len(values))).sum())
        with followed(f"moving {attribute} of everybody", units) as watch:

            def part(span: slice) -> Moved | None:
                return one.moved(span, name, values, truth[span], watch)

            parts = list(in_threads(part, spans))
        known = [each for each in parts if each is not None]
        if len(known) < len(parts):
            return None
        middle, radius = (np.concatenate(each) for each in zip(*known, strict=True))
        absent = None if has.all() else ~has
        high, low = middle + radius, np.maximum(middle - radius, 0.0)
        high[~has], low[~has] = np.nan, np.nan
        self._refit_farthest(name, values, truth, middle, high, low)
        found = Distances(values, truth, high, self.people.person, absent, low=low)
        warn_unanswered(found, attribute, self.count)
        return found

    def _refit_farthest(
        self,
        name: str | None,
        values: tuple[Any, ...],
        truth: NDArray[np.intp],
        middle: Array,
        high: Array,
        low: Array,
    ) -> None:
        """Refit whoever may be farthest of all, until nobody else may be: both ends are then the distance itself."""
        # Nothing is as far as somebody's own value; where no minimizer is found, how far it is stays open.
        left = ~np.isnan(high) & (truth[:, None] != np.arange(len(values)))
        with followed(
            f"refitting those whose {name or self.attribute_names[-1]} may be told best", int(left.sum())
        ) as watch:
            guess, size = middle, _FIRST
            while True:
                least = np.nanmax(low, initial=0.0)
                passed = left & (high < least)
                left &= ~passed
                watch(int(passed.sum()))
                rows, others = np.nonzero(left)
                if not len(rows):
                    return
                first = np.argsort(-guess[rows, others], kind="stable")[:size]
                rows, others = rows[first], others[first]
                for j in np.unique(others):
                    some = rows[others == j]
                    distance, _ = self.refit.compared_together(
                        [some[[i]] for i in range(len(some))], name, values[j], watch
                    )
                    high[some, j] = low[some, j] = distance
                    left[some, j] = False
                guess, size = high, _MORE * size

    def distances(self, attribute: str, values: Sequence[Any] | None) -> Distances:
        asked = self._asked(attribute, values)
        if asked not in self._distances:
            self._distances[asked] = self._refitted(attribute, self._column(attribute), asked[1])
        return self._distances[asked]

    def _asked(self, attribute: str, values: Sequence[Any] | None) -> tuple[str, tuple[Any, ...]]:
        """Return the attribute with the values in question, which are by default those of the data."""
        column = self._column(attribute)
        if column.ndim > 1:
            raise UnansweredError(f"{attribute!r} is several numbers at once; refits are for one value at a time.")
        if values is None:
            self._check_category(attribute)
            values = np.unique(column[self.has(attribute)]).tolist()
        return attribute, tuple(values)

    @cached_property
    def _distances(self) -> dict[tuple[str, tuple[Any, ...]], Distances]:
        """What was refitted already: nothing is, twice."""
        return {}

    def _in_several_rows(self, attribute: str) -> list[NDArray[np.intp]]:
        """Return the rows of each person in which a value is repeated: it changes in all of them at once."""
        if self.owners is None:
            return []
        repeated = self.repeats[:, self.attribute_names.index(attribute)] > 0
        return self.owners.each(repeated[self.owners.person] & self.has(attribute))

    def _refitted(self, attribute: str, column: Column, values: tuple[Any, ...]) -> Distances:
        together, has = self._in_several_rows(attribute), self.has(attribute).copy()
        alone = has.copy()
        for rows in together:
            # The first of them stands for all.
            alone[rows], has[rows[1:]] = False, False
        truth = np.where(has, which(values, column), -1)
        name = None if self.is_label(attribute) else attribute
        distance = np.zeros((self.rows.count, len(values)))
        distance[~has] = np.nan
        unlike: list[Unlike] = []
        spans = self.refit.near.spans
        units = int(has.sum()) * len(values) - int((truth[has] >= 0).sum())
        with followed(f"refitting with other values of {attribute}", units) as watch:
            for j, value in enumerate(values):
                for span in spans:
                    others = np.flatnonzero((truth[span] != j) & alone[span])
                    distance[span.start + others, j], pairs = self.refit.compared(span, name, value, others, watch)
                    if pairs is not None:
                        unlike.append(Unlike.with_value(span.start + others, j, pairs))
                several = [rows for rows in together if truth[rows[0]] != j]
                first = np.array([rows[0] for rows in several], dtype=np.intp)
                distance[first, j], pairs = self.refit.compared_together(several, name, value, watch)
                if pairs is not None:
                    unlike.append(Unlike.with_value(first, j, pairs))
        absent = None if has.all() else ~has
        found = Distances(values, truth, distance, self.people.person, absent, Unlike.together(unlike))
        warn_unanswered(found, attribute, self.count)
        return found

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


def _variance(values: Array) -> Variance:
    """Return the variance of some numbers, or of each column of them."""
    return float(values.var()) if values.ndim == 1 else tuple(values.var(axis=0).tolist())
