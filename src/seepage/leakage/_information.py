"""What a measurement must be able to answer."""

from collections.abc import Mapping
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Assurance = Literal["exact", "estimated", "heuristic"]


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

    def joint(self, people: NDArray[np.bool_] | None, attribute: str | None) -> float:
        """Return eta of the joint release about a set of people, for all attributes or one."""
        ...
