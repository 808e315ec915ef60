"""The one result that every measurement returns."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from seepage._tables import Array, Frame, Listed, frame
from seepage.errors import InputError, UnansweredError
from seepage.leakage._groups import GroupLeakage, refuse_numbers
from seepage.leakage._information import Distances, Information
from seepage.leakage._people import People
from seepage.leakage._prior import before, check_names, checked_lengths, variances
from seepage.leakage._privacy_measures import translate
from seepage.leakage._snippet import snippet
from seepage.leakage._summary import Summary
from seepage.leakage.types import By, Prior, Who
from seepage.meaning import beyond_range, unbiased_floor
from seepage.pages import counted


@dataclass(frozen=True, eq=False, repr=False)
class Leakage:
    """Leakage of a release about each person: a view over the information it carries.

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
        """Row identifiers, groups and output frames."""
        return self.information.people

    @property
    def assurance(self) -> str:
        """Kind of the numbers: "exact", "estimated" (with standard errors), "heuristic" or "approximate" (no bound)."""
        # Not a Literal: jedi, which completes names in notebooks, fails on a property of that type, and shows none.
        return self.information.assurance

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of the numbers, in sentences."""
        return tuple(assumption.sentence() for assumption in self.information.assumptions)

    @cached_property
    def examples(self) -> Frame:
        """One row per person: `eta` (any direction) and `dfil` (root mean square over the private values).

        Several releases and networks bring more columns: `eta_low`, beside an `eta` that counts more than is known to
        be given away; for networks, whose columns are all estimates, also `dfil_standard_error`, the limits `dfil_low`
        and `dfil_high` of a 95% interval, and `dfil_unamplified`, what dfil would be if everybody knew who was in which
        batch; with a stated delta each person's own `epsilon` and
        `membership_advantage`. `seepage explain NAME` says more of each.
        """
        return self.people.frame(self.information.examples())

    @cached_property
    def attributes(self) -> Frame:
        """One row per person, one column per attribute: eta of that attribute alone.

        Of a group of several values of a network it is an estimate of a bound: the square root of the trace.
        """
        return self.people.frame(self.information.attributes())

    def error_floor(self, *, prior: Prior = None, interval: Mapping[str, tuple[float, float]] | None = None) -> Frame:
        """Return the smallest error of a guess, for each person and attribute, in the attribute's own unit.

        Without a prior it is that of any unbiased guess; with one, that of any guess by an attacker who knows the prior
        and everything else. Categorical attributes have no standard error and are left out: see `success_rate`.
        Of a group of several values the floor is for the combination of them that is known best, not for a mean over
        them; of a network it comes from an estimate of a bound, the trace.

        Parameters
        ----------
        prior : "data" or mapping from attribute to variance, optional
            What the attacker knows before the release. By default nothing, and the floor is 1/eta, the standard
            deviation of any unbiased guess. "data": how the attribute is spread over all people, and the floor is the
            root mean square error of the posterior mean (the Bayes error). Or the variance of a Gaussian prior; where
            values are spread otherwise, a guess can be nearer than such a floor.
        interval : mapping from attribute to (low, high), optional
            Where values are known to lie. A floor above half the length is infinite: the release says nothing
            beyond the range.

        Notes
        -----
        A floor with a prior is a mean over the prior, at this person's information: over the values that the person
        might have, and not at the one they do have. Over people of like information no guess errs less in the mean
        square; of those among them with a common value it may err less, of those with a rare one it errs more.

        The information at each person's own value is taken to be the same at every other value, and the release to move
        along a line. That is so where the model is linear in the attribute, such as least squares in its label;
        elsewhere such floors are approximations, and the farther from it the wider the prior.

        With "data" the attacker is taken to know all values, and not whose they are; errors below a thousandth of the
        standard deviation are told as 0. Of a person with several rows, or an attribute of several numbers, it is about
        each value by itself.
        """
        variances(self.information, prior)
        lengths = checked_lengths(self.information, interval)
        floors = {}
        for name, eta in self._numbers().items():
            known = before(self.information, prior, name)
            floor = unbiased_floor(eta) if known is None else known.floor(eta)
            if name in lengths:
                floor = beyond_range(floor, lengths[name])
            floors[name] = floor
        return self.people.frame(floors)

    def remaining_variance(self, *, prior: Prior = "data") -> Frame:
        """Return the share of the prior variance that the release leaves: near 1, a baseline guess does as well.

        It is the square of `error_floor` with the same prior, over the variance of that prior.

        Parameters
        ----------
        prior : "data" or mapping from attribute to variance, default="data"
            As for `error_floor`.
        """
        variances(self.information, prior)
        known = ((before(self.information, prior, name), name, eta) for name, eta in self._numbers().items())
        return self.people.frame({name: prior.left(eta) for prior, name, eta in known if prior is not None})

    def success_rate(
        self,
        attribute: str,
        *,
        values: Sequence[Hashable] | None = None,
        prior: Literal["data"] | Mapping[Hashable, float] | None = None,
    ) -> Frame:
        """Return how often the best attacker, who knows all else, tells a person's true value from another one.

        For the 200 most exposed people the model, with the scalers and imputers that were fitted on the same rows, is
        fitted again with the other value that is told apart most easily: these rates are exact. All others are of one
        step of Newton's method from the fitted parameters, exact for squared loss without such scalers and an
        approximation otherwise, and no bound. The column `exact` says which are exact.

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
            in units of the noise) and `success_rate`; both are missing where the changed data has no minimizer that
            could be found. With another value the noise may have another shape too: then the rate is that of the best
            test between both means and both covariances, or above it by what cutting a series off leaves, and the
            distance that of two releases with one noise which are told apart as often.
        """
        check_names(self.information, {attribute: None})
        found = self.information.distances(attribute, values)
        if values is None and len(found.values) == 1:
            raise UnansweredError(
                f"Every row has {attribute!r} = {found.values[0]!r}: there is no other value to compare it with. Name "
                f"some: leak.success_rate({attribute!r}, values=[...])."
            )
        known = np.flatnonzero(found.truth >= 0)
        person = np.repeat(known, len(found.values))
        other = np.tile(np.arange(len(found.values)), len(known))
        kept = found.truth[person] != other
        person, other = person[kept], other[kept]
        truth, distance = found.truth[person], found.distance[person, other]
        odds = _odds(found, prior)[truth, other]
        names = np.array(found.values)
        columns = {
            "value": names[truth],
            "other": names[other],
            "distance": distance,
            "success_rate": found.success_rate(person, other, odds),
        }
        if found.exact is not None:
            columns["exact"] = found.exact[person, other]
        return self.people.take(person if found.person is None else found.person[person]).frame(columns)

    def privacy_measures(
        self,
        *,
        delta: float = 1e-5,
        input_norm: float | None = None,
        interval: Mapping[str, tuple[float, float]] | None = None,
    ) -> Frame:
        """Return what this release means in other privacy measures, each with what it assumes.

        Parameters
        ----------
        delta : float, default=1e-5
            Of (epsilon, delta) differential privacy.
        input_norm : float, optional
            The largest norm that a feature vector may have; the largest in the data by default.
        interval : mapping from attribute to (low, high), optional
            Where values are known to lie; needed for the reconstruction bound of differential privacy.
        """
        refuse_averages(self, "A translation")
        if isinstance(interval, Mapping):
            # Where a category lies is no news, and does no harm.
            check_names(self.information, interval)
            categories = self.information.categorical
            interval = {name: ends for name, ends in interval.items() if name not in categories}
        checked_lengths(self.information, interval)
        return frame(translate(self.information, delta, input_norm, interval or {}), self.people.library)

    def _numbers(self) -> dict[str, Array]:
        information = self.information
        return {name: eta for name, eta in information.attributes().items() if name not in information.categorical}

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
            given to `measure`. A column of measurements is refused: cut it into a few classes first.
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
        found = self.information.groups(groups)
        refuse_numbers(found)
        return GroupLeakage(found, self.people.library, confidence, resamples, seed)

    def most_exposed(self, count: int = 10) -> Frame:
        """Return the people with the largest eta, the largest first.

        Parameters
        ----------
        count : int, default=10
            How many.
        """
        found = self.information.top(count)
        return found.people.frame(found.columns)

    def joint_information_loss(self, people: Who = None, *, ids: Listed = None, attribute: str | None = None) -> float:
        """Return eta of the joint release about a set of people: how well anything about the set as a whole is known.

        Parameters
        ----------
        people : mapping, or array-like of bool of shape (n,), optional
            Who belongs to the set; everyone by default. Values of columns that they have in common, such as
            `{"region": "north"}`, or a mask if the data are in memory.
        ids : array-like, optional
            Who belongs to the set, by the ids that the frames show, instead of `people`.
        attribute : str, optional
            One attribute instead of all.

        Examples
        --------
        >>> import seepage
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import Ridge
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=2.0)
        >>> one, two = (leak.joint_information_loss(ids=ids) for ids in ([92], [92, 7]))
        >>> bool(one == leak.joint_information_loss(X.index == 92) <= two)
        True
        """
        if ids is not None:
            if people is not None:
                raise InputError("joint_information_loss was given people and ids: give one of them.")
            people = self.people.chosen(ids)
        if attribute is not None:
            check_names(self.information, {attribute: None})
        return self.information.joint_information_loss(people, attribute)

    def summary(self) -> str:
        """Return a few lines that a person can read."""
        return str(Summary.of(self.information))

    def _repr_html_(self) -> str:
        return snippet(self.information)

    def __repr__(self) -> str:
        names = self.information.attribute_names
        return f"Leakage({self.information.count} people, {counted(len(names), 'private attribute')}, {self.assurance})"


def checked_leakage(leak: object) -> Leakage:
    """Return a leakage, or refuse what is none and say how one is made.

    Parameters
    ----------
    leak : object
        What was given for it.
    """
    if not isinstance(leak, Leakage):
        raise InputError(
            f"A measurement is wanted here, not {type(leak).__name__}: leak = seepage.measure(model, X, y, "
            "noise_scale=...)."
        )
    refuse_averages(leak, "This")
    return leak


def refuse_averages(leak: Leakage, what: str) -> None:
    """Refuse a measurement that describes attackers who use averages, where a bound is asked for.

    Parameters
    ----------
    leak : Leakage
    what : str
        Who asks, as a sentence begins.
    """
    if leak.assurance == "approximate":
        raise UnansweredError(
            f"{what} asks for a bound, and this measurement describes attackers who use averages: its assurance is "
            '"approximate". Take leak.statement() along instead, or measure with noise_scale=.'
        )


def _odds(found: Distances, prior: Literal["data"] | Mapping[Hashable, float] | None) -> Array:
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
