"""The page is attacked before it is written.

The best attacker knows everything but one value of one person, recomputes model and page for each candidate, and knows
the noise. Two candidates are then as far apart as two Gaussian vectors: in units of the noise,

    d^2 = |theta(c) - theta(x)|^2 over Sigma  +  sum_s (F_s(c) - F_s(x))^2 / tau_s^2,

and a promise that no unbiased guess of the attribute is better than +- f, for anybody, allows d up to |c - x| / f.
People are refitted exactly. A candidate with which the policy would be missed could be told from the truth with
certainty, for then there would be no page.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seepage._errors import PolicyError, UnansweredError
from seepage.leakage import Leakage
from seepage.linear.information import Anew, Change, Changed, LinearInformation
from seepage.report.count._contents import Contents
from seepage.report.count._information import PageInformation, logarithms

if TYPE_CHECKING:
    from seepage.release import Policy

Array = NDArray[np.float64]

# People: as many who move the page most, who are most exposed, and who are drawn by chance.
_OF_EACH_KIND = 4
# Candidate values, as shares of the people whose value is at most that.
_VALUES = (0.0, 0.25, 0.5, 0.75, 1.0)
# Beyond so many products a pass, fewer people are tried: the sizes decide, not the values.
_USUAL_WORK, _OF_EACH_ROW = 1e9, 50


@dataclass(frozen=True)
class Trials:
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


def attacked(
    leak: Leakage,
    contents: Contents | None,
    page: PageInformation | None,
    policy: "Policy | None",
    *,
    composed: Leakage,
    seed: int | None = None,
) -> Trials | None:
    """Attack a page and its model for some people; None where nothing is promised, or no refits can be made.

    Parameters
    ----------
    leak : Leakage
        Of the model.
    contents, page : Contents, PageInformation, optional
        What the page holds beside verdicts, and what that tells about each person.
    policy : Policy, optional
        What is promised.
    composed : Leakage
        Of model and page together.
    seed : int, optional
        Of the people who are drawn by chance.

    Raises
    ------
    PolicyError
        When an attacker tells values apart better than was promised.
    """
    information = leak.information
    if not isinstance(information, LinearInformation) or information.owners is not None or policy is None:
        return None
    if information.geometry.shape is not None:
        raise UnansweredError(
            "With another value the noise would have another shape, so that nobody could attack this page before it "
            'leaves. Publish the model without one, ask for the "internal" edition, or take noise whose shape does not '
            'follow the rows (shape="isotropic", units of columns, or public rows).'
        )
    promised = _promised(information, contents, policy)
    if not promised:
        return None
    people = _people(information, composed, page, promised, np.random.default_rng(seed))
    kept = composed.information.attributes()
    changes = [
        (person, name, value)
        for person in people
        for name in promised
        # A policy for a share of people promises nothing to the others.
        if kept[name][person] <= promised[name] * (1 + 1e-9)
        for value in _candidates(information, name, person)
    ]
    shown = () if contents is None else contents.attributes
    names = tuple(dict.fromkeys([*promised, *shown]))
    truth = None if contents is None else contents.values(logarithms(information, shown))

    def compared(change: Change, other: Changed) -> tuple[float, str]:
        """Return the distance over that which was promised."""
        person, name, value = change
        if np.isnan(other.distance):
            return 0.0, name
        _check_verdict(other, names, policy, page, name)
        page_moved = 0.0 if contents is None or truth is None else _moved(contents, names, truth, change, other)
        length = abs(value - float(information.rows.column(_column(information, name))[person]))
        return float(np.hypot(other.distance, page_moved)) / (promised[name] * length), name

    anew = Anew(information, names, with_eta=policy.eta is not None)
    reached, worst = max(anew.each(changes, compared), default=(0.0, ""))
    if reached > 1 + 1e-9:
        raise PolicyError(
            f"Attacked before it was written, this release tells values of {worst} apart {reached:.3g} times as well "
            "as it promises. Take one more step of the grid of noise scales (1, 2, 5, 10, ...), and measure again.",
            reached,
        )
    return Trials(len(people), len(people) * len(promised) * len(_VALUES), reached)


def _moved(contents: Contents, names: tuple[str, ...], truth: Array, change: Change, other: Changed) -> float:
    """Return how far the page's numbers move, in units of their noise."""
    shown = [names.index(each) for each in contents.attributes]
    values = contents.regrouped(*change).values(np.log(other.information[:, shown]))
    return float(np.linalg.norm((values - truth) / contents.noise))


def _check_verdict(
    other: Changed, names: tuple[str, ...], policy: "Policy", page: PageInformation | None, tried: str
) -> None:
    """Refuse a verdict that one person's value decides: whoever sees the page would know it."""
    # What the page itself tells is small beside the model, and hardly moves.
    parts = {} if page is None else page.attributes()
    reached = {
        name: np.sqrt(other.information[:, names.index(name)] + np.square(parts.get(name, 0.0))) * floor
        for name, floor in policy.error_floor.items()
    }
    if policy.eta is not None and other.eta is not None:
        own = 0.0 if page is None else page.examples()["eta"]
        reached["all values together"] = np.hypot(other.eta, own) / policy.eta
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


def _promised(information: LinearInformation, contents: Contents | None, policy: "Policy") -> dict[str, float]:
    """Return the largest eta that was promised of each attribute that is a number."""
    found = {}
    if policy.eta is not None and contents is not None:
        found = dict.fromkeys(contents.attributes, float(policy.eta))
    found |= {name: 1 / floor for name, floor in policy.error_floor.items() if information.is_one_number(name)}
    return found


def _people(
    information: LinearInformation,
    composed: Leakage,
    page: PageInformation | None,
    promised: dict[str, float],
    random: np.random.Generator,
) -> list[int]:
    q, outputs = information.geometry.position.shape
    work = information.count * (q * outputs + _OF_EACH_ROW) ** 2
    count = max(1, round(_OF_EACH_KIND * min(1.0, _USUAL_WORK / max(work, 1))))
    kinds = (
        [composed.information.attributes()] if page is None else [page.attributes(), composed.information.attributes()]
    )
    found: list[int] = []
    for known in kinds:
        share = np.nanmax([known[name] / promised[name] for name in promised], axis=0)
        order = np.argsort(-np.nan_to_num(share), kind="stable").tolist()
        found += [person for person in order[: count + len(found)] if person not in found][:count]
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
