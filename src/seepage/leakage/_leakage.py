"""The one result that every measurement returns."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from seepage._errors import InputError
from seepage._tables import Frame, frame
from seepage.leakage._groups import GroupLeakage
from seepage.leakage._information import Distances, Information
from seepage.leakage._people import People
from seepage.leakage._summary import summarize
from seepage.leakage._translation import translate
from seepage.leakage.types import Assurance, By, Prior, Who
from seepage.meaning import beyond_range, success_rate, unbiased_floor, van_trees_floor, variance_left

if TYPE_CHECKING:
    from seepage.report import Report

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Leakage:
    """What a release gives away about each person: a view over the information it carries.

    Nothing is computed before it is asked for, and nothing twice. Per-person values are personal data themselves: treat
    the frames like the records they describe.

    Attributes
    ----------
    information : Information
        The measurement behind the frames.
    """

    information: Information

    @property
    def people(self) -> People:
        """Who the rows are."""
        return self.information.people

    @property
    def assurance(self) -> Assurance:
        """Whether the numbers are exact, estimated (with a standard error), or heuristic."""
        return self.information.assurance

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the numbers assume, in sentences."""
        return tuple(assumption.sentence() for assumption in self.information.assumptions)

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
        self, groups: By = None, *, confidence: float = 0.95, resamples: int = 200, seed: int = 0
    ) -> GroupLeakage:
        """Return eta by subgroup, with bootstrap intervals.

        Statistics of more than 500 people are drawn without drawing the resamples: medians and maxima from the
        distribution that those of resamples have, means from the normal distribution.

        Parameters
        ----------
        groups : str, or array-like of shape (n,), optional
            A column of the data, or the group of each person if the data are in memory; by default the groups that were
            given to `measure`.
        confidence : float, default=0.95
            The share of resamples that an interval covers.
        resamples : int, default=200
            How many bootstrap samples the intervals come from.
        seed : int, default=0
            Of the resampling.

        Examples
        --------
        >>> import seepage
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import Ridge
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=2.0)
        >>> leak.by_group("sex").frame["count"].tolist()
        [235, 207]
        """
        return GroupLeakage(self.information.groups(groups), self.people.library, confidence, resamples, seed)

    def most_exposed(self, count: int = 10) -> Frame:
        """Return the people with the largest eta, the largest first.

        Parameters
        ----------
        count : int, default=10
            How many.
        """
        found = self.information.top(count)
        return found.people.frame(found.columns)

    def joint(self, people: Who = None, *, attribute: str | None = None) -> float:
        """Return eta of the joint release about a set of people: how well anything about the set as a whole is known.

        Parameters
        ----------
        people : mapping, or array-like of bool of shape (n,), optional
            Who belongs to the set; everyone by default. Values of columns that they have in common, such as
            `{"region": "north"}`, or a mask if the data are in memory.
        attribute : str, optional
            One attribute instead of all.
        """
        if attribute is not None:
            self._check_names({attribute: None})
        return self.information.joint(people, attribute)

    def report(
        self,
        edition: Literal["internal", "publishable"],
        *,
        policy: Any = None,
        groups: Any = None,
        units: Mapping[str, str] | None = None,
        prior: Prior = None,
        categories: Collection[str] | None = None,
        smallest_group: int = 10,
        title: str = "What this release gives away",
        key: bytes | None = None,
    ) -> "Report":
        """Return a report for the person who must decide: verdict, attributes, groups, meaning, assumptions.

        Parameters
        ----------
        edition : {"internal", "publishable"}
            The internal edition names the most exposed people by pseudonyms and is personal data itself. In the
            publishable one every number is a mean over at least `smallest_group` people, the `smallest_group` most
            exposed people enter none, and a policy for everyone is judged for as many as that allows.
        policy : seepage.Policy, optional
            What the release must achieve; the report starts with whether it does.
        groups : str, sequence of str, array-like of shape (n,), frame, or mapping from name to array-like, optional
            Columns of the data, or the group of each person in one way or in several if the data are in memory; by
            default the groups given to `measure`.
        units : mapping from attribute to str, optional
            The units of attributes, such as `{"age": "years"}`.
        prior : "data" or mapping from attribute to variance, optional
            What an attacker knows before the release, to compare with. By default the variance over all people in the
            internal edition, and nothing in the publishable one: a variance can be one extreme person's.
        categories : collection of str, optional
            The categorical attributes whose success rates are found by exact refits. By default those of the policy,
            and all of them if there are no more than 10,000 people.
        smallest_group : int, default=10
            The fewest people that the publishable edition speaks of.
        title : str, optional
            The heading.
        key : bytes, optional
            Pseudonyms of the same key are the same in every report; by default each report has its own.

        Examples
        --------
        >>> import seepage
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import Ridge
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=2.0)
        >>> leak.report("internal", groups=X["sex"], units={"age": "years", "bmi": "kg/m²"})
        Report(internal edition about 442 people: No policy was given)
        """
        # Imported here: reports stand on leakage, not the other way round.
        from seepage.report import Report

        return Report.of(
            self,
            edition,
            policy=policy,
            groups=groups,
            units=units,
            prior=prior,
            categories=categories,
            smallest_group=smallest_group,
            title=title,
            key=key,
        )

    def to_model_card(self, card: Any, *, section: str = "Privacy of the training data", **options: Any) -> Any:
        """Add what the publishable edition of the report says to a model card of skops, and return the card.

        Parameters
        ----------
        card : skops.card.Card
            The card.
        section : str, optional
            The title of the section; one of the same title is replaced.
        **options
            As for `report`, without the edition.
        """
        if not hasattr(card, "add"):
            raise InputError(f"to_model_card needs a skops.card.Card, not {type(card).__name__}.")
        return card.add(**{section: self.report("publishable", **options).markdown(heading=False)})

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
