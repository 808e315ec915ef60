"""What a publishable page holds, fixed before the data are seen: by the edition, the policy and the number of people.

A number about the data that is printed as it is tells which values of a person agree with it, and leaving a number out
because of the data tells as much. So the list of numbers, their noise and their grid depend on what the user gave, on
the names of the columns and on how many people there are, all of which the attacker knows, and on nothing else.

Every number is a mean of logarithms of information over some people, or the logarithm of a count. Means over people of
some ranks change their members where two people change places, who are then equal: such a mean is continuous, and its
derivative is that of the mean over its members. Weights fade toward the ends of the ranks, so that nobody's derivative
jumps when they come in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seepage._errors import InputError
from seepage.leakage import Information, labels_by_group
from seepage.linear import Logistic, Squared, Tweedie
from seepage.linear.information import LinearInformation
from seepage.linear.objective import Separate, Softmax, TweedieIdentity, VectorLoss

if TYPE_CHECKING:
    from seepage.release import Policy

Array = NDArray[np.float64]

NOISE = 0.35
"""The standard deviation of the noise on every logarithm: a factor of 1.4 either way, half a step of the 1-2-5 grid."""
RATIO_NOISE = 0.15
"""That of a group beside everyone: one just as exposed is said to be twice or half so on one page in fifty."""
FEWEST = 1000
"""With fewer people a page of numbers would eat the promise of the model, and there are verdicts alone."""
SHARES = (0.5, 0.8, 0.95)
"""The shares of people for whom floors are told."""
# The ranks whose mean stands for each share: a few percent on either side, never the most exposed fiftieth.
_RANKS = {0.5: (0.25, 0.75), 0.8: (0.7, 0.9), 0.95: (0.92, 0.98)}
# The share of these at either end over which weights fade.
_FADING = 0.25
# So that the narrowest of these holds at least the smallest group.
_GROUPS_OF_PEOPLE = 20
_MOST_ATTRIBUTES = 12
_MOST_GROUPS = 24
# Of a group, and of everyone whom it is compared with, a tenth is left out at either end.
_MIDDLE = (0.1, 0.9)
# So that what is left of a group is at least the smallest.
_WHOLE_GROUP = 1.25
# A group is shown if its noisy count is so many times the smallest group: one that is just large enough to be a mean
# over is shown in one page of 25,000, so that nobody is told apart by their group's being there.
_CLEARLY = 5.0


@dataclass(frozen=True, eq=False)
class Group:
    """Some people, by the name of their group."""

    grouping: str
    name: str
    members: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Contents:
    """The numbers of one page, as functions of the logarithm of each person's information about some attributes."""

    attributes: tuple[str, ...]
    groupings: Mapping[str, NDArray[Any]]
    """The label of each person, in each way of grouping them."""
    smallest_group: int

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups that may be shown, in the order of their names."""
        found = []
        for grouping, labels in self.groupings.items():
            names, place = np.unique(labels.astype(str), return_inverse=True)
            large = [i for i in range(len(names)) if (place == i).sum() >= _WHOLE_GROUP * self.smallest_group]
            if len(large) > _MOST_GROUPS:
                raise InputError(
                    f"{grouping!r} makes {len(large)} groups of at least {self.smallest_group} people, and a "
                    f"publishable page tells of at most {_MOST_GROUPS}. Merge some, or ask the internal edition."
                )
            found += [Group(grouping, str(names[i]), place == i) for i in large]
        return tuple(found)

    @cached_property
    def noise(self) -> Array:
        """The standard deviation of the noise on each number, in the order of `values`."""
        floors, groups = len(SHARES) * len(self.attributes), len(self.groups)
        ratios = groups if self.attributes else 0
        return np.concatenate([np.full(floors, NOISE), np.full(ratios, RATIO_NOISE), np.full(groups, NOISE)])

    def values(self, logs: Array) -> Array:
        """Return the numbers, on the log scale: floors by attribute and share, then each group's exposure and count.

        Parameters
        ----------
        logs : ndarray of shape (n, attributes)
            The logarithm of each person's information about each attribute; NaN where there is no value.
        """
        floors = [float(weight @ logs[known, i]) for i, known, weight in self._floors(logs)]
        filled = np.nan_to_num(logs)
        ratios = [float((weight * filled).sum()) for weight in self._ratios(logs)] if self.attributes else []
        counts = [float(np.log(max(group.members.sum(), 1))) for group in self.groups]
        return np.array([*floors, *ratios, *counts])

    def weights(self, logs: Array) -> list[tuple[tuple[int, ...], Array]]:
        """Return each number but the counts as attributes, and weights of each person's logarithms about them."""
        found = []
        for i, known, weight in self._floors(logs):
            whole = np.zeros((len(logs), 1))
            whole[known, 0] = weight
            found.append(((i,), whole))
        every = tuple(range(len(self.attributes)))
        return found + [(every, weight) for weight in self._ratios(logs) if every]

    def regrouped(self, person: int, attribute: str, value: Any) -> "Contents":
        """Return the same with a person's value changed, who is in another group if people are grouped by it."""
        if attribute not in self.groupings:
            return self
        labels = self.groupings[attribute].astype(object)
        labels[person] = value
        changed = replace(self, groupings={**self.groupings, attribute: labels})
        names = {(group.grouping, group.name) for group in changed.groups}
        # The list of numbers is the same, whoever is in which group.
        return changed if names == {(group.grouping, group.name) for group in self.groups} else self

    def is_shown(self, log_count: float) -> bool:
        """Return whether a group of this noisy count is shown."""
        return bool(log_count >= np.log(_CLEARLY * self.smallest_group))

    def _floors(self, logs: Array) -> list[tuple[int, NDArray[np.intp], Array]]:
        """Return for each attribute and share who its mean is over, and their weights: log floor = -1/2 log I."""
        found = []
        for i in range(len(self.attributes)):
            order = _ascending(logs[:, i])
            for ranks in _RANKS.values():
                members, weight = _between(order, ranks)
                found.append((i, members, -0.5 * weight))
        return found

    def _ratios(self, logs: Array) -> list[Array]:
        """Return the weights of each group's exposure as a share of everyone's, in the mean over the attributes."""
        found = [np.zeros_like(logs) for _ in self.groups]
        for i in range(len(self.attributes)):
            order = _ascending(logs[:, i])
            everyone, share = _between(order, _MIDDLE)
            for group, weight in zip(self.groups, found, strict=True):
                own, part = _between(order[group.members[order]], _MIDDLE)
                weight[everyone, i] -= 0.5 * share / len(self.attributes)
                weight[own, i] += 0.5 * part / len(self.attributes)
        return found


def _ascending(logs: Array) -> NDArray[np.intp]:
    """Return the people who have a value, the least exposed first."""
    known = np.flatnonzero(~np.isnan(logs))
    return known[np.argsort(logs[known], kind="stable")]


def _between(order: NDArray[np.intp], ranks: tuple[float, float]) -> tuple[NDArray[np.intp], Array]:
    """Return the people between two shares, and weights that add up to one and fade over the outer quarters."""
    low, high = ranks
    place = (np.arange(len(order)) + 0.5) / max(len(order), 1)
    inside = (place > low) & (place < high)
    if not inside.any():
        # Everybody is alone in the middle.
        inside = np.abs(place - (low + high) / 2) == np.abs(place - (low + high) / 2).min(initial=np.inf)
        return order[inside], np.full(int(inside.sum()), 1 / max(int(inside.sum()), 1))
    depth = np.minimum(place[inside] - low, high - place[inside]) / (_FADING * (high - low))
    weight = np.minimum(depth, 1.0)
    return order[inside], weight / weight.sum()


def contents_of(
    information: Information, *, policy: "Policy | None", groups: object, smallest_group: int
) -> Contents | None:
    """Return what a page holds beside verdicts; None if it holds verdicts alone.

    Parameters
    ----------
    information : Information
        What was measured; of it, only what it is about is looked at.
    policy : Policy, optional
        What the release must achieve. Its attributes come first. What the page's numbers tell about categories is not
        counted, so a policy with a success rate leaves verdicts alone.
    groups : object
        As `Report.of` takes them.
    smallest_group : int
        The fewest people of a mean.
    """
    if not isinstance(information, LinearInformation) or not _can_be_counted(information):
        return None
    if information.count < max(FEWEST, _GROUPS_OF_PEOPLE * smallest_group):
        return None
    if policy is not None and policy.success_rate:
        return None
    labels = dict(labels_by_group(information, groups))
    return Contents(_shown(information, () if policy is None else tuple(policy.error_floor)), labels, smallest_group)


def _can_be_counted(information: LinearInformation) -> bool:
    if information.geometry.shape is not None:
        # Other values would give the noise another shape, and everybody other floors: that is not differentiated.
        return False
    if information.owners is not None or not _is_linear_in_the_label(information.geometry.loss):
        return False
    if information.geometry.curves is not None:
        # How a number about the data moves takes second derivatives of steps that are not affine.
        return False
    if information.geometry.scales is None:
        return True
    # Through a scaler of the same rows derivatives are known, through what is held beside it they are not.
    steps = information.preprocessing
    return not (steps.held or steps.without_intercept or information.rows.missing)


def _is_linear_in_the_label(loss: VectorLoss) -> bool:
    """Return whether the derivatives of a page are known: those of a loss that somebody else wrote may not be."""
    if isinstance(loss, Separate):
        return _is_linear_in_the_label(loss.each)
    return isinstance(loss, Squared | Logistic | Tweedie | TweedieIdentity | Softmax)


def _shown(information: LinearInformation, first: Sequence[str]) -> tuple[str, ...]:
    """Return the attributes that are numbers: those that the policy names, then the columns in their order."""
    numbers = [
        name
        for name in information.attribute_names
        if name not in information.categorical and information.is_one_number(name) and _can_be_shown(information, name)
    ]
    named = [name for name in first if name in numbers]
    return tuple(dict.fromkeys([*named, *numbers]))[:_MOST_ATTRIBUTES]


def _can_be_shown(information: LinearInformation, name: str) -> bool:
    """Return whether a number moves no more than one feature that was scaled with the same rows."""
    geometry = information.geometry
    if geometry.scales is None or information.is_label(name):
        return True
    block = geometry.blocks[information.attribute_names.index(name)]
    return bool(geometry.reading[:, block].count_nonzero() <= 1)
