"""What a measurement must be able to answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from seepage._noise import GaussianNoise
from seepage._tables import Frame
from seepage.leakage._distribution import Distribution
from seepage.meaning import Guarantee

Array = NDArray[np.float64]
Assurance = Literal["exact", "estimated", "heuristic"]
Kind = Literal["examples", "attributes"]


@dataclass(frozen=True, eq=False)
class Distances:
    """How far the release moves, in units of its noise, when one person's attribute takes another value."""

    values: tuple[Any, ...]
    truth: NDArray[np.intp]
    """Which of the values each person has; -1 if none of them."""
    distance: Array
    """From each person's true value to each value, shape (n, values); NaN where no refit could be found."""

    @property
    def unanswered(self) -> NDArray[np.bool_]:
        """Who has a value for which no refit could be found: neither nearest nor farthest is known of them."""
        return np.asarray(np.isnan(self.distance).any(axis=1))

    def nearest(self) -> Array:
        """Return the distance to the nearest other value of each person."""
        others = np.where(np.arange(len(self.values)) == self.truth[:, None], np.inf, self.distance)
        return np.asarray(others.min(axis=1))

    def farthest(self) -> Array:
        """Return the distance to the farthest other value of each person: the pair that is told apart most easily."""
        return np.asarray(self.distance.max(axis=1))


@runtime_checkable
class Information(Protocol):
    """The Fisher information that a release carries about each person's private values.

    A question that a measurement cannot answer raises `seepage.UnansweredError`, which says why.
    """

    @property
    def assurance(self) -> Assurance:
        """Whether the numbers are exact, estimated (with a standard error), or heuristic."""
        ...

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the numbers assume, in sentences."""
        ...

    @property
    def noise(self) -> GaussianNoise | None:
        """The noise on the release, if its scale is one that could be chosen anew."""
        ...

    @property
    def count(self) -> int:
        """The number of people."""
        ...

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The private attributes, the label last unless it is public."""
        ...

    @property
    def categorical(self) -> frozenset[str]:
        """The attributes whose values are categories, which have no unit and no standard error."""
        ...

    def examples(self) -> Mapping[str, Array]:
        """Return `eta` and `dfil` of each person."""
        ...

    def attributes(self) -> Mapping[str, Array]:
        """Return eta of each attribute of each person."""
        ...

    def variances(self) -> Mapping[str, float]:
        """Return the variance over all people of each attribute that is a number: the data's own prior."""
        ...

    def distances(self, attribute: str, values: Sequence[Any] | None) -> "Distances":
        """Return how far the release moves when one person's attribute takes another value, exactly."""
        ...

    def guarantee(self, delta: float, input_norm: float | None) -> Guarantee:
        """Return what differential privacy says of the same release."""
        ...

    def joint(self, people: NDArray[np.bool_] | None, attribute: str | None) -> float:
        """Return eta of the joint release about a set of people, for all attributes or one."""
        ...


@runtime_checkable
class Summarized(Protocol):
    """An information about more people than memory holds: it answers with distributions instead of arrays.

    `examples()` and `attributes()` still work; what they return is read a column at a time, when it is asked for.
    """

    def distributions(self, kind: Kind) -> Mapping[str, Distribution]:
        """Return how each column of `examples()` or of `attributes()` is distributed."""
        ...

    def groups(self, column: str | None) -> Mapping[Any, Distribution]:
        """Return how eta is distributed in each group of a column."""
        ...

    def most_exposed(self, count: int) -> Frame:
        """Return the people with the largest eta, the largest first."""
        ...

    def joint(self, people: Any, attribute: str | None) -> float:
        """Return the joint eta of a set of people, who are given by values of columns."""
        ...
