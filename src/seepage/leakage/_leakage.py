"""The one result that every measurement returns."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._errors import InputError
from seepage._tables import Frame, People, column_values
from seepage.leakage._groups import GroupLeakage, Sketched
from seepage.leakage._information import Assurance, Information, Summarized
from seepage.leakage._summary import summarize

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

    def error_floor(self) -> Frame:
        """Return 1/eta for each person and attribute: the smallest standard error of any unbiased guess.

        In the unit of the attribute. Categorical attributes have no standard error and are left out. An attribute that
        the release says nothing about has an infinite floor.
        """
        information = self.information
        with np.errstate(divide="ignore"):
            floors = {
                name: 1.0 / eta for name, eta in information.attributes().items() if name not in information.categorical
            }
        return self.people.frame(floors)

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
        return self.people.only(rows).frame({name: values[rows] for name, values in examples.items()})

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
        if attribute is not None and attribute not in self.information.attribute_names:
            raise InputError(
                f"There is no private attribute {attribute!r}. There are {list(self.information.attribute_names)}."
            )
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
