"""Questions that every measurement answers."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption
from seepage._noise import GaussianNoise
from seepage._tables import Array, Column
from seepage.errors import InputError
from seepage.leakage._cost import Cost
from seepage.leakage._distribution import Distribution, Values
from seepage.leakage._groups import split
from seepage.leakage._people import People
from seepage.leakage.types import Assurance, By, Kind, Variance, Who
from seepage.meaning import EmpiricalPrior, Guarantee, TwoNormals, success_rate

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances of releases, in units of the noise, if one person's attribute takes another value."""

    values: tuple[Hashable, ...]
    truth: NDArray[np.intp]
    """Place of each record's value among the values; -1 if it is none of them."""
    distance: Array
    """From each record's true value to each value, shape (n, values); NaN where no refit could be found."""
    person: NDArray[np.intp] | None = None
    """Person of each record, if some people have several."""
    absent: NDArray[np.bool_] | None = None
    """Records without a value of the attribute, or with that of another record of the same person."""
    unlike: "Unlike | None" = None
    """The pairs of releases whose noises differ, if there are any: of these, a distance is that of two releases with
    one noise which are told apart as often at equal odds."""
    exact: NDArray[np.bool_] | None = None
    """True where a distance is exact, of the same shape; the others are approximate. None if all are exact."""

    def at(self, factor: float) -> "Distances":
        """Return the distances with noise that is larger by a factor, which may be infinite."""
        distance = self.distance / factor
        if self.unlike is None:
            return replace(self, distance=distance)
        unlike = replace(self.unlike, pairs=self.unlike.pairs.at(factor))
        distance[unlike.records, unlike.others] = unlike.pairs.distance()
        return replace(self, distance=distance, unlike=unlike)

    def success_rate(self, records: NDArray[np.intp], others: NDArray[np.intp], odds: Array) -> Array:
        """Return how often the best attacker tells records' true values from others, at odds of the true one."""
        found = success_rate(self.distance[records, others], odds)
        if self.unlike is None:
            return found
        place = self.unlike.places(self.distance.shape)[records, others]
        at = np.flatnonzero((place >= 0) & (odds != 1.0))
        found[at] = self.unlike.pairs.take(place[at]).success_rate(odds[at])
        return found

    def of_people(self) -> "Distances | None":
        """Return the same with one record for each person; None if somebody has several that count."""
        if self.person is None:
            return self
        counted = np.flatnonzero(np.ones(len(self.truth), dtype=bool) if self.absent is None else ~self.absent)
        people, count = self.person[counted], int(self.person.max()) + 1
        if len(np.unique(people)) < len(people):
            return None
        absent = np.ones(count, dtype=bool)
        absent[people] = False
        truth, distance = np.full(count, -1, dtype=np.intp), np.full((count, len(self.values)), np.nan)
        truth[people], distance[people] = self.truth[counted], self.distance[counted]
        unlike = None
        if self.unlike is not None:
            kept = np.isin(self.unlike.records, counted)
            unlike = Unlike(
                self.person[self.unlike.records[kept]], self.unlike.others[kept], self.unlike.pairs.take(kept)
            )
        exact = None
        if self.exact is not None:
            exact = np.ones(distance.shape, dtype=bool)
            exact[people] = self.exact[counted]
        return Distances(self.values, truth, distance, None, absent if absent.any() else None, unlike, exact)

    @property
    def unanswered(self) -> NDArray[np.bool_]:
        """Records with a value for which no refit was found: their nearest and farthest value are unknown."""
        missing = np.asarray(np.isnan(self.distance).any(axis=1))
        if self.absent is not None:
            missing &= ~self.absent
        return np.asarray(self._of_people(missing, np.logical_or))

    def nearest(self) -> Array:
        """Return the distance to the nearest other value of each person; NaN for those who have no value."""
        others = np.where(np.arange(len(self.values)) == self.truth[:, None], np.inf, self.distance)
        return self._of_known(others.min(axis=1), np.minimum, np.inf)

    def farthest(self) -> Array:
        """Return the distance to the farthest other value of each person: the pair that is told apart most easily."""
        return self._of_known(self.distance.max(axis=1), np.maximum, -np.inf)

    def order(self) -> NDArray[np.intp]:
        """Return the records that have a value, in falling order of the distance to their farthest value."""
        known = np.flatnonzero(np.ones(len(self.truth), dtype=bool) if self.absent is None else ~self.absent)
        far = np.nan_to_num(self.distance[known].max(axis=1), nan=np.inf)
        return np.asarray(known[np.argsort(-far, kind="stable")])

    def exact_records(self) -> NDArray[np.bool_]:
        """Return whether the farthest value of each record is that of a refit."""
        if self.exact is None:
            return np.ones(len(self.truth), dtype=bool)
        place = np.nan_to_num(self.distance, nan=np.inf).argmax(axis=1)
        return np.asarray(np.take_along_axis(self.exact, place[:, None], axis=1)[:, 0])

    def farthest_is_exact(self) -> NDArray[np.bool_]:
        """Return whether the farthest value of each person is that of a refit."""
        exact = self.exact_records()
        return self._of_people(exact if self.absent is None else exact | self.absent, np.logical_and)

    def _of_known(self, values: Array, choose: np.ufunc, never: float) -> Array:
        """Return the chosen one of each person's records that have a value."""
        if self.absent is None:
            return self._of_people(values, choose)
        found = self._of_people(np.where(self.absent, never, values), choose)
        return np.where(self._of_people(self.absent, np.logical_and), np.nan, found)

    def _of_people(self, values: NDArray[Scalar], choose: np.ufunc) -> NDArray[Scalar]:
        if self.person is None:
            return values
        order = np.argsort(self.person, kind="stable")
        starts = np.unique(self.person[order], return_index=True)[1]
        return np.asarray(choose.reduceat(values[order], starts))


class Jacobians(NamedTuple):
    """Jacobians of a release in the values of some people, in units of its noise."""

    moved: Array
    """Shape (people, numbers, values)."""
    blocks: Mapping[str, NDArray[np.intp]]
    """Places of each attribute among the values."""


@dataclass(frozen=True, eq=False)
class Unlike:
    """Pairs of releases whose noises differ, as some distances are of."""

    records: NDArray[np.intp]
    others: NDArray[np.intp]
    """Value that each entry is about."""
    pairs: TwoNormals

    @classmethod
    def with_value(cls, records: NDArray[np.intp], other: int, pairs: TwoNormals) -> "Unlike":
        """Return those of some records with one other value."""
        return cls(records, np.full(len(records), other, dtype=np.intp), pairs)

    @classmethod
    def together(cls, parts: "Sequence[Unlike]") -> "Unlike | None":
        """Return the pairs of several; None if there are none."""
        if not parts:
            return None
        return cls(
            np.concatenate([part.records for part in parts]),
            np.concatenate([part.others for part in parts]),
            TwoNormals.together([part.pairs for part in parts]),
        )

    def places(self, shape: tuple[int, ...]) -> NDArray[np.intp]:
        """Return which of the pairs is about each record and value; -1 for none."""
        found = np.full(shape, -1, dtype=np.intp)
        found[self.records, self.others] = np.arange(len(self.records))
        return found


@dataclass(frozen=True, eq=False)
class Exposed:
    """The most exposed people, the largest eta first."""

    rows: NDArray[np.intp]
    """Where they stand among all people."""
    people: People
    columns: Mapping[str, Column]
    """Numbers of each person: `eta`, `dfil`, ..., and for people in files the place of their row."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Information(ABC):
    """The Fisher information that a release carries about each person's private values.

    A question that a measurement cannot answer raises `seepage.errors.UnansweredError`, which says why and names the
    way out.

    Attributes
    ----------
    people : People
        Who the rows are.
    assurance : {"exact", "estimated", "heuristic", "approximate"}
        Whether the numbers are exact, estimated (with a standard error), heuristic, or normal: a description of
        attackers who use averages, and no bound.
    attribute_names : tuple of str
        The private attributes, the label last unless it is public.
    categorical : frozenset of str
        The attributes whose values are categories, which have no unit and no standard error.
    assumptions : tuple of Assumption
        What the numbers take for granted.
    noise : GaussianNoise or None
        The noise on the release, if its scale is one that could be chosen anew.
    """

    people: People
    assurance: Assurance
    attribute_names: tuple[str, ...]
    categorical: frozenset[str] = frozenset()
    assumptions: tuple[Assumption, ...]
    noise: GaussianNoise | None
    stays: bool = False
    """True if a part of the information stays whatever the noise: a fitted scaler changes the noise's shape."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Coding of an attribute that two releases could count differently; only the same coding is added up."""
    without_slope: frozenset[str] = frozenset()
    """The attributes that a release moves with, and not smoothly: eta of them is not known, for anybody."""

    @property
    def gathered(self) -> "GatheredInformation | None":
        """The same, if what is known of each person is in memory."""
        return None

    @property
    def held(self) -> Any:
        """The same, if its rows are in memory and each can be exchanged for another; None otherwise."""
        return None

    @property
    def releases(self) -> "tuple[Information, ...]":
        """The single releases that this is about."""
        return (self,)

    @property
    def rows_of_releases(self) -> tuple[NDArray[np.intp], ...]:
        """Where these people are in each of them; -1 for whoever is not."""
        return (np.arange(self.count),)

    def jacobians(self, people: NDArray[np.intp]) -> "Jacobians | None":
        """Return how a release moves with the values of some people, in units of its noise; None if nobody knows."""
        return None

    def cost(self) -> Cost | None:
        """Return what the noise costs the model that carries it; None where that is not known."""
        return None

    @property
    @abstractmethod
    def outcome(self) -> tuple[str, ...]:
        """The attributes that the model predicts; none where they are public."""

    @property
    @abstractmethod
    def private_values(self) -> Array | int:
        """Number of private values of each person, or of everyone: `dfil` is the mean over them."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of people."""

    @abstractmethod
    def examples(self) -> Mapping[str, Array]:
        """Return `eta` and `dfil` of each person."""

    @abstractmethod
    def attributes(self) -> Mapping[str, Array]:
        """Return eta of each attribute of each person."""

    @abstractmethod
    def distributions(self, kind: Kind) -> Mapping[str, Distribution]:
        """Return how each column of `examples()` or of `attributes()` is distributed."""

    @abstractmethod
    def distribution_at(self, kind: Kind, name: str, factor: float) -> Distribution:
        """Return how a column would be distributed with noise that is larger by a factor, which may be infinite.

        Of `attributes()` it must be one that is a number, or the label.
        """

    @abstractmethod
    def groups(self, by: By) -> Mapping[Hashable, Distribution]:
        """Return how eta is distributed in each group."""

    @abstractmethod
    def top(self, count: int) -> Exposed:
        """Return the people with the largest eta."""

    @abstractmethod
    def joint_information_loss(self, who: Who, attribute: str | None) -> float:
        """Return eta of the joint release about a set of people, for all attributes or one."""

    def _check_category(self, attribute: str) -> None:
        """Refuse to tell all values of a number apart."""
        if attribute not in self.categorical:
            raise InputError(
                f"{attribute!r} is a number: which of its values should be told apart? Give values=[...], or ask for "
                "its error_floor()."
            )

    @abstractmethod
    def distances(self, attribute: str, values: Sequence[Hashable] | None) -> Distances:
        """Return how far the release moves when one person's attribute takes another value."""

    def refitted(self, attribute: str, records: NDArray[np.intp]) -> Distances:
        """Return the distances with the farthest of some records refitted, where that can be done."""
        return self.distances(attribute, None)

    def ranks(self, attribute: str) -> bool:
        """Return whether `distances` needs no pass over all rows for each person."""
        return False

    @abstractmethod
    def variances(self) -> Mapping[str, Variance]:
        """Return the variance over all people of each attribute that is a number.

        An attribute of several numbers (the label of a model with several targets) has one for each.
        """

    @abstractmethod
    def spreads(self, attribute: str) -> tuple[EmpiricalPrior, ...]:
        """Return how an attribute that is a number is spread over all people: the data's own prior.

        An attribute of several numbers has one for each.
        """

    @abstractmethod
    def guarantee(self, delta: float, input_norm: float | None) -> Guarantee:
        """Return what differential privacy says of the same release."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GatheredInformation(Information):
    """An information that holds what is known of each person in memory."""

    @property
    def gathered(self) -> "GatheredInformation":
        return self

    def distributions(self, kind: Kind) -> Mapping[str, Distribution]:
        return self._example_distributions if kind == "examples" else self._attribute_distributions

    @cached_property
    def _example_distributions(self) -> Mapping[str, Distribution]:
        return {name: Values.of(_answered(values)) for name, values in self.examples().items()}

    @cached_property
    def _attribute_distributions(self) -> Mapping[str, Distribution]:
        return {name: Values.of(_answered(values)) for name, values in self.attributes().items()}

    @abstractmethod
    def column_at(self, kind: Kind, name: str, factor: float) -> Array:
        """Return a column of `examples()` or `attributes()` with noise that is larger by a factor."""

    def distribution_at(self, kind: Kind, name: str, factor: float) -> Distribution:
        return Values.of(_answered(self.column_at(kind, name, factor)))

    def labels(self, by: By) -> Column:
        """Return the group of each person."""
        found = self.people.labels(by)
        if found.shape != (self.count,):
            raise InputError(
                f"by_group needs a group label for each of the {self.count} people, not shape {found.shape}."
            )
        return found

    def groups(self, by: By) -> Mapping[Hashable, Distribution]:
        labels, eta = self.labels(by), self.examples()["eta"]
        known = ~np.isnan(eta)
        return split(eta[known], labels[known])

    def top(self, count: int) -> Exposed:
        examples = self.examples()
        # Whoever is unanswered comes last.
        rows = np.argsort(-examples["eta"], kind="stable")[:count]
        return Exposed(rows, self.people.take(rows), {name: values[rows] for name, values in examples.items()})


def _answered(values: Array) -> Array:
    """Return the values of people who have one."""
    missing = np.isnan(values)
    return values[~missing] if missing.any() else values
