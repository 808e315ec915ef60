"""A release is attacked before anybody is told that it meets its policy.

The best attacker knows everything but one value of one person, fits the model again for each candidate, and knows the
noise. Two candidates are then as far apart as two Gaussian vectors,

    d = |theta(c) - theta(x)|  in units of the noise,

and a promise that no unbiased guess of the attribute is better than +- f, for anybody, allows d up to |c - x| / f.
People are refitted exactly. A candidate with which the policy would be missed could be told from the truth with
certainty, for then there would be no release.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seepage.errors import PolicyError, UnansweredError
from seepage.leakage import Leakage
from seepage.linear.information import LinearInformation
from seepage.release._anew import Change, Changed, Remeasured
from seepage.release._policy import Policy

Array = NDArray[np.float64]

# People: as many who are most exposed, and who are drawn by chance.
_OF_EACH_KIND = 6
# Candidate values, as shares of the people whose value is at most that.
_VALUES = (0.0, 0.25, 0.5, 0.75, 1.0)
# Beyond so many products a pass, fewer people are tried: the sizes decide, not the values.
_USUAL_WORK, _OF_EACH_ROW = 1e9, 50


@dataclass(frozen=True)
class Attacked:
    """How many people were tried, with how many other values in all, and what the best attack reached.

    Attributes
    ----------
    people, values : int
        How many; the sizes of the data and the policy decide, so that these tell nothing. A value that somebody has
        already is one of them.
    reached : float
        The largest distance over that which was promised; at most 1. It is about single people, and stays inside.
    """

    people: int
    values: int
    reached: float


def attacked(leak: Leakage, policy: Policy | None, *, seed: int | None = None) -> Attacked | None:
    """Attack a release for some people; None where nothing is promised, or no refits can be made.

    Parameters
    ----------
    leak : Leakage
        Of the release.
    policy : Policy, optional
        What is promised.
    seed : int, optional
        Of the people who are drawn by chance.

    Raises
    ------
    PolicyError
        When an attacker tells values apart better than was promised.
    """
    information: LinearInformation | None = leak.information.held
    if information is None or information.owners is not None or policy is None:
        return None
    if information.geometry.shape is not None:
        raise UnansweredError(
            "With another value the noise would have another shape, so that nobody could attack this page before it "
            'leaves. Publish the model without one, ask for the "internal" edition, or take noise whose shape does not '
            'follow the rows (shape="isotropic", units of columns, or public rows).'
        )
    promised = _promised(information, policy)
    if not promised:
        return None
    people = _people(information, promised, np.random.default_rng(seed))
    kept = information.attributes()
    changes = [
        {person: {name: value}}
        for person in people
        for name in promised
        # A policy for a share of people promises nothing to the others.
        if kept[name][person] <= promised[name] * (1 + 1e-9)
        for value in _candidates(information, name, person)
    ]
    names = tuple(promised)

    def compared(change: Change, other: Changed) -> tuple[float, str]:
        """Return the distance over that which was promised."""
        ((person, values),) = change.items()
        ((name, value),) = values.items()
        if np.isnan(other.distance):
            return 0.0, name
        _check_verdict(other, names, policy, name)
        length = abs(value - float(information.rows.column(_column(information, name))[person]))
        return other.distance / (promised[name] * length), name

    anew = Remeasured(information, names, with_eta=policy.eta is not None)
    reached, worst = max(anew.each(changes, compared), default=(0.0, ""))
    if reached > 1 + 1e-9:
        raise PolicyError(
            f"Attacked before it was written, this release tells values of {worst} apart {reached:.3g} times as well "
            "as it promises. Take one more step of the grid of noise scales (1, 2, 5, 10, ...), and measure again.",
            reached,
        )
    return Attacked(len(people), len(people) * len(promised) * len(_VALUES), reached)


def _check_verdict(other: Changed, names: tuple[str, ...], policy: Policy, tried: str) -> None:
    """Refuse a verdict that one person's value decides: whoever sees the page would know it."""
    reached = {
        name: np.sqrt(other.information[:, names.index(name)]) * floor
        for name, floor in policy.error_floor.items()
        if name in names
    }
    if policy.eta is not None and other.eta is not None:
        reached["all values together"] = other.eta / policy.eta
    for name, shares in reached.items():
        known = np.sort(shares[~np.isnan(shares)])
        factor = float(known[int(np.ceil(policy.quantile * len(known) * (1 - 1e-12))) - 1])
        if factor > 1 + 1e-9:
            raise PolicyError(
                f"The policy is met, but would be missed about {name} if one person had another {tried}: whoever sees "
                "that it is met would know that it is not so. Take one more step of the grid of noise scales (1, 2, 5, "
                "10, ...), and measure again.",
                factor,
            )


def _promised(information: LinearInformation, policy: Policy) -> dict[str, float]:
    """Return the largest eta that was promised of each attribute that is one number."""
    numbers = [
        name
        for name in information.attribute_names
        if name not in information.categorical and information.is_one_number(name)
    ]
    found = {} if policy.eta is None else dict.fromkeys(numbers, float(policy.eta))
    return found | {name: 1 / floor for name, floor in policy.error_floor.items() if information.is_one_number(name)}


def _people(information: LinearInformation, promised: dict[str, float], random: np.random.Generator) -> list[int]:
    """Return the most exposed through what is promised, and others by chance."""
    q, outputs = information.geometry.position.shape
    work = information.count * (q * outputs + _OF_EACH_ROW) ** 2
    count = max(1, round(_OF_EACH_KIND * min(1.0, _USUAL_WORK / max(work, 1))))
    known = information.attributes()
    # Of a cell that was filled in nothing is known.
    share = np.max([np.nan_to_num(known[name] / promised[name]) for name in promised], axis=0)
    found = np.argsort(-share, kind="stable")[:count].tolist()
    others = [person for person in random.permutation(information.count).tolist() if person not in found]
    return [*found, *others[:count]]


def _candidates(information: LinearInformation, name: str, person: int) -> list[float]:
    column = np.asarray(information.rows.column(_column(information, name)), dtype=np.float64)
    if np.isnan(column[person]):
        return []
    values = np.unique(np.quantile(column[~np.isnan(column)], _VALUES, method="nearest"))
    return [value for value in values.tolist() if value != column[person]]


def _column(information: LinearInformation, name: str) -> str | None:
    return None if information.is_label(name) else name
