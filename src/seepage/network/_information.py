"""The information that a run of private training has released about each person, as estimated along the way."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage._errors import UnansweredError
from seepage.leakage._information import Assurance

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NetworkInformation:
    """Fisher information summed over the steps of private stochastic gradient descent.

    Attributes
    ----------
    attribute_names : tuple of str
        The groups of private values that were told apart, the label last unless it is public.
    sizes : array of shape (groups,)
        How many values each group has.
    steps : array of shape (n,)
        In how many steps each person took part.
    """

    attribute_names: tuple[str, ...]
    sizes: Array
    steps: Array
    traces: Array
    variances: Array
    unamplified: Array
    spectrum: tuple[Array, Array] | None
    assumptions: tuple[str, ...]

    @property
    def assurance(self) -> Assurance:
        return "estimated"

    @property
    def count(self) -> int:
        return len(self.steps)

    @property
    def categorical(self) -> frozenset[str]:
        return frozenset()

    @cached_property
    def _examples(self) -> dict[str, Array]:
        trace, values = self.traces.sum(1), float(self.sizes.sum())
        dfil = np.sqrt(trace / values)
        found = {"dfil": dfil, "dfil_standard_error": _root_error(trace, self.variances.sum(1), values)}
        low, high = self.spectrum if self.spectrum is not None else (np.zeros_like(trace), trace)
        # No direction can be better known than all of them together.
        found["eta"] = np.sqrt(np.minimum(high, trace)) if self.spectrum is None else np.sqrt(high)
        found["eta_low"] = np.sqrt(low)
        found["dfil_unamplified"] = np.sqrt(self.unamplified.sum(1) / values)
        found["steps"] = self.steps
        return found

    def examples(self) -> dict[str, Array]:
        return self._examples

    @cached_property
    def _attributes(self) -> dict[str, Array]:
        return {
            name: np.sqrt(self.traces[:, i] / self.sizes[i])
            for i, name in enumerate(self.attribute_names)
            if self.sizes[i] > 0
        }

    def attributes(self) -> dict[str, Array]:
        return self._attributes

    def attribute_errors(self) -> dict[str, Array]:
        """Return the standard error of each column of `attributes`."""
        return {
            name: _root_error(self.traces[:, i], self.variances[:, i], self.sizes[i])
            for i, name in enumerate(self.attribute_names)
            if self.sizes[i] > 0
        }

    def joint(self, people: NDArray[np.bool_] | None, attribute: str | None) -> float:
        raise UnansweredError(
            "Accounting along training keeps what is known about each person, not how it hangs together between "
            "people: the joint information of a set cannot be told. It is at least the largest and at most the root "
            "of the summed squares of its members' eta."
        )


def _root_error(trace: Array, variance: Array, values: float) -> Array:
    """Return the standard error of sqrt(trace / values), by the delta method."""
    root = np.sqrt(trace * values)
    error = np.sqrt(variance)
    return np.divide(error, 2 * root, out=np.where(error > 0, np.nan, 0.0), where=root > 0)
