"""One measurement held against targets: how near each person's values come to being known, before two attackers."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers import SamplingInformation
from seepage.attackers.types import Known
from seepage.errors import UnansweredError
from seepage.meaning import success_rate
from seepage.request._targets import Kind, Targets

POPULATION: Known = 0
COVARIATES: Known = "covariates"


@dataclass(frozen=True)
class Figure:
    """What an attacker reaches with one attribute of whoever is nearest to being known.

    Attributes
    ----------
    attribute : str
    kind : "error_floor" or "success_rate"
    value : float
        The error that is left, or how often a category is told.
    target : float
        The least error, or the largest rate, that is let out.
    attacker : "population" or "covariates"
        Whether nobody's record is known, or everybody's covariates.
    """

    attribute: str
    kind: Kind
    value: float
    target: float
    attacker: str

    @property
    def met(self) -> bool:
        """Whether the target holds."""
        return self.value >= self.target if self.kind == "error_floor" else self.value <= self.target

    @property
    def near(self) -> float:
        """How near the target is: 1 at it, more beyond it."""
        if self.kind == "error_floor":
            return self.target / self.value if self.value > 0 else float("inf")
        return max((self.value - 0.5) / (self.target - 0.5), 0.0)

    def sentence(self) -> str:
        """Say it."""
        knows = " by an attacker who knows all covariates" if self.attacker == COVARIATES else ""
        least, most = f"at least ±{_short(self.target)} is required", f"at most {_share(self.target)} is allowed"
        if self.kind == "error_floor":
            how = "worked out exactly" if self.value == 0 else f"inferred to ±{_short(self.value)}"
            return f"{self.attribute} can be {how}{knows}: {least}"
        return f"{self.attribute} is inferred correctly {_share(self.value)} of the time{knows}: {most}"


class ToldByFilter(NamedTuple):
    """What a filter says of an attribute: whoever is inside has this value."""

    value: Hashable
    inside: NDArray[np.bool_]
    alone: bool
    """Whether it asks nothing else, so that nobody outside has it."""


@dataclass(frozen=True, eq=False)
class HeldAttribute:
    """One attribute of everybody, before one attacker."""

    attribute: str
    kind: Kind
    target: float
    attacker: str
    values: Array
    """Errors or rates; NaN where nothing is claimed."""
    spared: float

    @cached_property
    def broken(self) -> NDArray[np.bool_]:
        """Of whom the target is missed; of nobody, where it need not hold of so many."""
        with np.errstate(invalid="ignore"):
            found = self.values < self.target if self.kind == "error_floor" else self.values > self.target
        return np.zeros(len(found), dtype=bool) if found.mean() <= self.spared else np.asarray(found)

    @property
    def not_assessed(self) -> NDArray[np.bool_]:
        """Of whom nothing is claimed."""
        return np.isnan(self.values)

    def figure(self, whom: NDArray[np.bool_] | None = None) -> Figure | None:
        """Return what the nearest of some people comes to; None if nothing is claimed of them."""
        values = self.values if whom is None else self.values[whom]
        known = values[~np.isnan(values)]
        if not len(known):
            return None
        value = known.min() if self.kind == "error_floor" else known.max()
        return Figure(self.attribute, self.kind, float(value), self.target, self.attacker)


def held(
    information: SamplingInformation,
    targets: Targets,
    known: Known,
    told: Mapping[str, Sequence[ToldByFilter]] = MappingProxyType({}),
) -> Iterator[HeldAttribute]:
    """Yield what becomes of each attribute before an attacker.

    Parameters
    ----------
    information : SamplingInformation
        Before this attacker.
    targets : Targets
    known : 0 or "covariates"
        Of whom everybody's covariates are known is asked for the outcome alone.
    told : mapping from attribute to what filters tell of it
    """
    names = [name for name in information.attribute_names if known == POPULATION or name in information.outcome]
    for name in names:
        category = name in information.categorical
        target = targets.of(name, category=category)
        if target is None:
            continue
        known_of = told.get(name, ())
        try:
            if category:
                values = _rates(information, name, known_of)
            else:
                values = _errors(information.attributes()[name], known_of)
        except UnansweredError:
            continue
        kind: Kind = "success_rate" if category else "error_floor"
        yield HeldAttribute(
            name, kind, target, "population" if known == POPULATION else str(known), values, targets.spared
        )


def _errors(eta: Array, told: Sequence[ToldByFilter]) -> Array:
    with np.errstate(divide="ignore"):
        found = np.asarray(1.0 / eta)
    for each in told:
        found[each.inside] = np.inf
    return found


def _rates(information: SamplingInformation, name: str, told: Sequence[ToldByFilter]) -> Array:
    found = information.distances(name, None)
    for each in told:
        # What cannot be otherwise, given who is in which output, is not left to tell.
        found.distance[each.inside] = 0.0
        if each.alone:
            found.distance[~each.inside, found.values.index(each.value)] = 0.0
    return np.asarray(success_rate(found.farthest()), dtype=np.float64)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _share(value: float) -> str:
    return f"{value:.0%}" if value < 0.995 or value == 1 else "over 99%"
