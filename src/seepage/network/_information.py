"""The information that a run of private training has released about each person, as estimated along the way."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from opacus.accountants import RDPAccountant

from seepage._facts import Assumption
from seepage.errors import UnansweredError
from seepage.leakage import Distances, GatheredInformation, People, PeopleInMemory
from seepage.leakage.types import Assurance, Kind, Variance, Who
from seepage.meaning import EmpiricalPrior, Guarantee, check_delta
from seepage.network._amplification import epsilons, replacement_divergence
from seepage.network._estimator import limits
from seepage.network._probe import LABEL

Array = NDArray[np.float64]

_ACCOUNTED = Assumption(
    "accounting",
    "The epsilon with a delta is by Opacus's accounting, for adding or removing a record; that of order 2 is for "
    "replacing one by another, as bounds on reconstruction need it.",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkInformation(GatheredInformation):
    """Fisher information summed over the steps of private stochastic gradient descent.

    Attributes
    ----------
    attribute_names : tuple of str
        The groups of private values that were told apart, the label last unless it is public.
    sizes : array of shape (groups,) or (n, groups)
        How many values each group has.
    steps : array of shape (n,)
        How many steps count for each person: all of them with secret sampling, else those that each of their records
        took part in, added up.
    """

    people: People = field(default_factory=PeopleInMemory)
    assurance: Assurance = "estimated"
    noise: None = None
    """Another noise would have led training another way."""
    sizes: Array
    steps: Array
    traces: Array
    """The information about each person and group, shape (n, groups)."""
    unamplified: Array
    """The same without credit for secret sampling."""
    uncertainty: Array
    """The variance of the sum over groups, over visits and directions, shape (n,)."""
    doubt: Array
    """The variance by which to set upper limits of that sum: it counts what visits may all have missed."""
    losses: Array | None = None
    """The Renyi divergence of each person at each order, shape (n, orders), for one record each."""
    delta: float | None = None
    """The delta of each person's own epsilon, if one was stated."""
    mechanisms: tuple[tuple[float, float, int], ...]
    """The steps as differential privacy sees them: noise over sensitivity, sampling rate, how many."""
    told: Mapping[str, Distances] = field(default_factory=dict)
    """Distances between trainings with each category, by name."""
    spread: Mapping[str, tuple[EmpiricalPrior, ...]] = field(default_factory=dict)
    """Distribution of each value of a group over people, for groups with few values."""
    records: int = 1
    """The most records that anybody has."""

    @property
    def count(self) -> int:
        return len(self.steps)

    @property
    def outcome(self) -> tuple[str, ...]:
        return self.attribute_names[-1:] if self.attribute_names[-1] == LABEL else ()

    @property
    def private_values(self) -> int:
        return int(self.sizes.sum())

    @cached_property
    def _examples(self) -> dict[str, Array]:
        trace, values = self.traces.sum(1), self._sizes.sum(1)
        dfil = np.sqrt(trace / values)
        found = {"dfil": dfil, "dfil_standard_error": _root_error(trace, self.uncertainty, values)}
        interval = limits(trace, self.uncertainty, self.doubt)
        found |= {name: np.sqrt(each / values) for name, each in zip(("dfil_low", "dfil_high"), interval, strict=True)}
        # No direction can be better known than all of them together.
        found["eta"], found["eta_low"] = np.sqrt(trace), np.zeros_like(trace)
        found["dfil_unamplified"] = np.sqrt(self.unamplified.sum(1) / values)
        found["steps"] = self.steps
        if self.delta is not None and self.losses is not None:
            found["epsilon"] = epsilons(self.losses, self.delta)
            # For (epsilon, delta): (e^epsilon - 1 + 2 delta) / (e^epsilon + 1).
            half = np.tanh(found["epsilon"] / 2)
            found["membership_advantage"] = np.minimum(half + self.delta * (1 - half), 1.0)
        return found

    @property
    def _sizes(self) -> Array:
        return np.broadcast_to(self.sizes, self.traces.shape)

    def examples(self) -> dict[str, Array]:
        return self._examples

    @cached_property
    def _attributes(self) -> dict[str, Array]:
        # Of a single value the trace is the information. Of several it bounds the largest eigenvalue (eq. 1.6): their
        # mean does not, and one value of a group may be all that is known of it.
        return {name: np.sqrt(self.traces[:, i]) for i, name in self._numbered() if self._sizes[:, i].min() > 0}

    def _numbered(self) -> Iterable[tuple[int, str]]:
        return enumerate(self.attribute_names[: self.traces.shape[1]])

    def attributes(self) -> dict[str, Array]:
        """Return eta of each group of each person: of several values the root of the trace, which bounds it."""
        return self._attributes

    def variances(self) -> dict[str, Variance]:
        # Of several values each by itself: eta is at least the information about any of them.
        each = {name: tuple(prior.deviation**2 for prior in priors) for name, priors in self.spread.items()}
        return {name: found[0] if len(found) == 1 else found for name, found in each.items()}

    def spreads(self, attribute: str) -> tuple[EmpiricalPrior, ...]:
        if attribute not in self.spread:
            raise UnansweredError(
                f"How the values of {attribute!r} are spread over all people is not known: they are too many at once, "
                "all the same, or what an embedding looks up. Keep fewer values apart, groups={...} of at most 64 "
                f"each; or state a variance instead, prior={{{attribute!r}: ...}}: it is then about Gaussian values of "
                "which each varies by itself."
            )
        return self.spread[attribute]

    def distances(self, attribute: str, values: Sequence[Any] | None) -> Distances:
        if attribute not in self.told:
            raise UnansweredError(
                f"How far training moves when {attribute!r} takes another value cannot be told from its derivatives. "
                f"Of labels and tokens it can: give the accountant categories={{{attribute!r}: [...]}} before training."
            )
        found = self.told[attribute]
        if values is None:
            return found
        listed = list(values)
        unknown = [value for value in listed if value not in found.values]
        if unknown:
            raise UnansweredError(
                f"Visits compared {attribute!r} with {list(found.values)}, and not with {unknown[0]!r}: name it in the "
                "accountant's categories= before training."
            )
        kept = np.array([found.values.index(value) for value in listed], dtype=np.intp)
        place = np.full(len(found.values) + 1, -1, dtype=np.intp)
        place[kept] = np.arange(len(kept))
        return replace(found, values=tuple(listed), truth=place[found.truth], distance=found.distance[:, kept])

    def guarantee(self, delta: float, input_norm: float | None) -> Guarantee:
        check_delta(delta)
        if self.records > 1:
            raise UnansweredError(
                f"Opacus accounts for adding or removing one record, and somebody has {self.records}: of a person "
                "there is no epsilon here. privacy_engine.get_epsilon(delta) is that of one record."
            )
        with warnings.catch_warnings():
            # The best order may be the largest that is tried: the bound then holds, and could be better.
            warnings.filterwarnings("ignore", message="Optimal order is the largest alpha")
            accountant = RDPAccountant()
            accountant.history = list(self.mechanisms)
            epsilon = float(accountant.get_epsilon(delta))
        return Guarantee(self.renyi, epsilon, delta, (_ACCOUNTED,))

    @property
    def renyi(self) -> float:
        """Epsilon of Renyi differential privacy at order 2, for replacing a record by another."""
        return sum(steps * replacement_divergence(rate, noise) for noise, rate, steps in self.mechanisms)

    def column_at(self, kind: Kind, name: str, factor: float) -> Array:
        raise UnansweredError("The noise was spent while training: another would have led training another way.")

    def joint_information_loss(self, who: Who, attribute: str | None) -> float:
        raise UnansweredError(
            "Accounting along training keeps what is known about each person, not how it hangs together between "
            "people: the joint information of a set cannot be told. Were each member's eta exact, it would be between "
            "the largest of them and the root of their summed squares."
        )


def _root_error(trace: Array, variance: Array, values: Array) -> Array:
    """Return the standard error of sqrt(trace / values), by the delta method."""
    root = np.sqrt(trace * values)
    error = np.sqrt(variance)
    return np.divide(error, 2 * root, out=np.where(error > 0, np.nan, 0.0), where=root > 0)
