"""The one result that every measurement returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from seepage._errors import InputError
from seepage._tables import Frame, People, column_values, frame
from seepage.leakage._groups import GroupLeakage, Sketched
from seepage.leakage._information import Assurance, Distances, Information, Summarized
from seepage.leakage._summary import summarize
from seepage.leakage._translation import translate
from seepage.meaning import beyond_range, success_rate, unbiased_floor, van_trees_floor, variance_left

Array = NDArray[np.float64]
Prior = Literal["data"] | Mapping[str, float] | None


@dataclass(frozen=True, eq=False, repr=False)
class Leakage:
    """What a release gives away about each person: a view over the information it carries.

    Nothing is computed before it is asked for, and nothing twice. Per-person values are personal data themselves: treat
    the frames like the records they describe.

    Attributes
    ----------
    information : Information
        The measurement behind the frames.
    people : People
        Who the rows are.
    """

    information: Information
    people: People

    @property
    def assurance(self) -> Assurance:
        """Whether the numbers are exact, estimated (with a standard error), or heuristic."""
        return self.information.assurance

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the numbers assume, in sentences."""
        return self.information.assumptions

    @cached_property
    def examples(self) -> Frame:
        """One row a person: `eta` (any direction) and `dfil` (root mean square over the private values)."""
        return self.people.frame(self.information.examples())

    @cached_property
    def attributes(self) -> Frame:
        """One row a person, one column an attribute: eta of that attribute alone."""
        return self.people.frame(self.information.attributes())

    def error_floor(self, *, prior: Prior = None, interval: Mapping[str, tuple[float, float]] | None = None) -> Frame:
        """Return the smallest error of any guess, for each person and attribute, in the attribute's own unit.

        Categorical attributes have no standard error and are left out: see `success_rate`.

        Parameters
        ----------
        prior : "data" or mapping from attribute to variance, optional
            What the attacker knows before the release. By default nothing, and the floor is 1/eta, the standard
            deviation of any unbiased guess. With the variance of a Gaussian prior it is the root mean square error of
            any guess at all (van Trees); "data" takes each attribute's variance over all people. The information at
            the true value stands for its mean over the prior.
        interval : mapping from attribute to (low, high), optional
            Where values are known to lie. A floor above half the length is infinite: the release says nothing
            beyond the range.
        """
        variances = self._prior(prior)
        floors = {}
        for name, eta in self._numbers().items():
            known = variances.get(name)
            floor = unbiased_floor(eta) if known is None else van_trees_floor(eta, known)
            if interval is not None and name in interval:
                low, high = interval[name]
                floor = beyond_range(floor, high - low)
            floors[name] = floor
        self._check_names(interval or {})
        return self.people.frame(floors)

    def variance_left(self, *, prior: Prior = "data") -> Frame:
        """Return the share of the prior variance that the release leaves: near 1, a blind guess does as well.

        Parameters
        ----------
        prior : "data" or mapping from attribute to variance, default="data"
            As for `error_floor`.
        """
        variances = self._prior(prior)
        numbers = self._numbers()
        return self.people.frame({name: variance_left(numbers[name], known) for name, known in variances.items()})

    def success_rate(
        self,
        attribute: str,
        *,
        values: Sequence[Any] | None = None,
        prior: Literal["data"] | Mapping[Any, float] | None = None,
    ) -> Frame:
        """Return how often the best attacker, who knows all else, tells a person's true value from another one.

        The model is refitted exactly with the other value; nothing is linearized.

        Parameters
        ----------
        attribute : str
            A categorical attribute, or a number whose `values` are given.
        values : sequence, optional
            The values in question; those of the data by default.
        prior : "data" or mapping from value to probability, optional
            What the attacker holds likely beforehand: equal odds by default, or the shares in the data.

        Returns
        -------
        data frame
            One row for each person and other value: `value` (the true one), `other`, `distance` (of the two releases,
            in units of the noise) and `success_rate`.
        """
        self._check_names({attribute: None})
        found = self.information.distances(attribute, values)
        known = np.flatnonzero(found.truth >= 0)
        person = np.repeat(known, len(found.values))
        other = np.tile(np.arange(len(found.values)), len(known))
        kept = found.truth[person] != other
        person, other = person[kept], other[kept]
        truth, distance = found.truth[person], found.distance[person, other]
        odds = _odds(found, prior)[truth, other]
        names = np.array(found.values)
        return self.people.take(person).frame(
            {
                "value": names[truth],
                "other": names[other],
                "distance": distance,
                "success_rate": success_rate(distance, odds),
            }
        )

    def translation(
        self,
        *,
        delta: float = 1e-5,
        input_norm: float | None = None,
        interval: Mapping[str, tuple[float, float]] | None = None,
    ) -> Frame:
        """Return what this release means in every currency we know, each with what it assumes.

        Parameters
        ----------
        delta : float, default=1e-5
            Of (epsilon, delta) differential privacy.
        input_norm : float, optional
            The largest norm that a feature vector may have; the largest in the data by default.
        interval : mapping from attribute to (low, high), optional
            Where values are known to lie; needed for the reconstruction bound of differential privacy.
        """
        return frame(translate(self.information, delta, input_norm, interval or {}), self.people.library)

    def _numbers(self) -> dict[str, Array]:
        information = self.information
        return {name: eta for name, eta in information.attributes().items() if name not in information.categorical}

    def _prior(self, prior: Prior) -> Mapping[str, float]:
        if prior is None:
            return {}
        if isinstance(prior, str):
            if prior != "data":
                raise InputError(f'prior must be "data" or a mapping from attribute to variance, not {prior!r}.')
            return self.information.variances()
        self._check_names(prior)
        for name, variance in prior.items():
            if not variance > 0:
                raise InputError(f"The prior variance of {name!r} must be positive, not {variance!r}.")
        return prior

    def _check_names(self, names: Mapping[str, Any]) -> None:
        for name in names:
            if name not in self.information.attribute_names:
                raise InputError(
                    f"There is no private attribute {name!r}. There are {list(self.information.attribute_names)}."
                )

    def by_group(
        self, groups: Any = None, *, confidence: float = 0.95, resamples: int = 200, seed: int = 0
    ) -> GroupLeakage:
        """Return eta by subgroup, with bootstrap intervals.

        Parameters
        ----------
        groups : array-like of shape (n,), or str
            The group of each person. For people in files, a column; by default the one given to `measure`.
        confidence : float, default=0.95
            The share of resamples that an interval covers.
        resamples : int, default=200
            How many bootstrap samples the intervals come from.
        seed : int, default=0
            Of the resampling.
        """
        library = self.people.library
        if isinstance(self.information, Summarized):
            found = self.information.groups(groups)
            parts = tuple(Sketched(distribution) for distribution in found.values())
            return GroupLeakage(tuple(found), parts, library, confidence, resamples, seed)
        values = self.information.examples()["eta"]
        return GroupLeakage.of(values, groups, library, confidence=confidence, resamples=resamples, seed=seed)

    def most_exposed(self, count: int = 10) -> Frame:
        """Return the people with the largest eta, the largest first.

        Parameters
        ----------
        count : int, default=10
            How many.
        """
        if isinstance(self.information, Summarized):
            return self.information.most_exposed(count)
        examples = self.information.examples()
        rows = np.argsort(-examples["eta"], kind="stable")[:count]
        return self.people.take(rows).frame({name: values[rows] for name, values in examples.items()})

    def joint(self, people: Any = None, *, attribute: str | None = None) -> float:
        """Return eta of the joint release about a set of people: how well anything about the set as a whole is known.

        Parameters
        ----------
        people : array-like of bool, shape (n,), or mapping, optional
            Who belongs to the set; everyone by default. For people in files, the values of columns that they have in
            common, such as `{"region": "north"}`.
        attribute : str, optional
            One attribute instead of all.
        """
        if attribute is not None:
            self._check_names({attribute: None})
        if isinstance(self.information, Summarized):
            return self.information.joint(people, attribute)
        return self.information.joint(self._mask(people), attribute)

    def _mask(self, people: Any) -> NDArray[np.bool_] | None:
        if people is None:
            return None
        mask = column_values(people)
        count = self.information.count
        if mask.dtype != np.bool_ or mask.shape != (count,):
            raise InputError(
                f"joint needs True or False for each of the {count} people, not {mask.dtype} of shape {mask.shape}."
            )
        if not mask.any():
            raise InputError("joint was given an empty set of people: nothing can be said about nobody.")
        return mask

    def summary(self) -> str:
        """Return a few lines that a person can read."""
        return summarize(self.information)

    def __repr__(self) -> str:
        names = self.information.attribute_names
        return f"Leakage({self.information.count} people, {len(names)} private attributes, {self.assurance})"


def _odds(found: Distances, prior: Literal["data"] | Mapping[Any, float] | None) -> Array:
    """Return the prior odds of each value to each other one."""
    if prior is None:
        share = np.ones(len(found.values))
    elif isinstance(prior, str):
        if prior != "data":
            raise InputError(f'prior must be "data" or a mapping from value to probability, not {prior!r}.')
        share = np.bincount(found.truth[found.truth >= 0], minlength=len(found.values)).astype(np.float64)
    else:
        missing = [value for value in found.values if value not in prior]
        if missing:
            raise InputError(f"The prior gives no probability to {missing[0]!r}; the values are {list(found.values)}.")
        share = np.array([float(prior[value]) for value in found.values])
    if not (share > 0).all():
        raise InputError("Every value needs a positive prior probability.")
    return np.asarray(share[:, None] / share[None, :])
