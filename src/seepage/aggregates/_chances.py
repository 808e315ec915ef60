"""How often the best attacker tells a person's category by counts of people, exactly.

Of the other people who have one of two values, so many have the first: a binomial number, given how many have either.
Whether the person has it as well moves the count by one, so that at even odds the best attacker is right with
probability 1/2 + TV/2, TV the total variation between that number and itself plus one: the largest of its
probabilities. Where totals are known too the number is hypergeometric, and where several tables are about the same
people, all cross tables that fit what is printed are added up.
"""

from math import lgamma

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array

# Fewer people than these are no estimate of a share: its lower 95% limit stands for it.
_FEW = 10
_LIMIT = 0.05
# Additions that it takes to look at everything that fits.
_MOST_FITTING = 2**25
# Beyond so many deviations nothing is left of a distribution.
_FAR = 14.0


def next_to(probabilities: Array) -> float:
    """Return the total variation between a number of people and itself plus one."""
    return float(0.5 * np.abs(np.diff(np.pad(probabilities, 1))).sum())


def rarer_share(own: NDArray[np.intp], other: NDArray[np.intp]) -> Array:
    """Return the share of the rarer of two values; where fewer than ten have it, its lower 95% limit."""
    from scipy.special import betaincinv

    few, total = np.minimum(own, other).astype(np.float64), (own + other).astype(np.float64)
    share = few / np.maximum(total, 1.0)
    at = (few > 0) & (few < _FEW)
    share[at] = betaincinv(few[at], total[at] - few[at] + 1.0, _LIMIT)
    return share


def binomial(count: NDArray[np.intp], share: Array) -> Array:
    """Return the total variation of binomial numbers and themselves plus one: the largest of their probabilities."""
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.floor((count + 1) * share), count, share))


def counted(own: NDArray[np.intp], other: NDArray[np.intp], others: int, unknown: int) -> Array:
    """Return how far a count with a person is from that without, in total variation.

    Parameters
    ----------
    own, other : ndarray of int, shape (k,)
        How many other people have the person's value, and the one that it is told from, beside whatever else is known.
    others, unknown : int
        How many other people there are, and how many of them the attacker does not know, drawn at random.
    """
    share, total = rarer_share(own, other), own + other
    if unknown == others:
        return binomial(total, share)
    from scipy.stats import hypergeom

    found = np.empty(len(total))
    for i, (people, each) in enumerate(zip(total.tolist(), share.tolist(), strict=True)):
        left = hypergeom(others, people, unknown)
        at = _reach(others, people, unknown)
        found[i] = left.pmf(at) @ binomial(at, np.full(len(at), each))
    return found


def with_totals(own: int, other: int, own_total: int, other_total: int) -> float:
    """Return the same where totals over several cells are known, the person's among them.

    Parameters
    ----------
    own, other : int
        Of the other people in the person's cell.
    own_total, other_total : int
        Of the other people in all of these cells.
    """
    from scipy.stats import hypergeom

    people, cell = own_total + other_total, own + other
    # Totals are known: without the person's value somebody else has it.
    here, elsewhere = hypergeom(people, own_total, cell), hypergeom(people, own_total + 1, cell)
    at = _reach(people, own_total, cell)
    at = np.append(at, at[-1] + 1)
    return float(0.5 * np.abs(here.pmf(at - 1) - elsewhere.pmf(at)).sum())


def _reach(people: int, marked: int, drawn: int) -> NDArray[np.intp]:
    """Return how many may be marked among those who are drawn."""
    share = marked / max(people, 1)
    mean = drawn * share
    far = _FAR * np.sqrt(mean * (1.0 - share)) + 20
    return np.arange(max(int(mean - far), 0), min(int(mean + far), drawn, marked) + 1)


def linked(table: NDArray[np.intp], which: NDArray[np.intp], own: int, other: int) -> float | None:
    """Return the same where the other columns of the same cell are printed too; None where too many tables fit.

    Parameters
    ----------
    table : ndarray of int, shape (levels, types)
        How many other people have each level, and each combination of other columns: it is not printed.
    which : ndarray of int, shape (types, columns)
        The level of each other column.
    own, other : int
        The person's level, and the one that it is told from.
    """
    rows, free = table.sum(axis=1), int(table[own].sum() + table[other].sum())
    steps, most = [], []
    for column in which.T:
        # Of each other column all levels but one.
        for level in range(1, int(column.max()) + 1):
            steps.append(column == level)
            most.append(int(table[:, column == level].sum()))
    step = np.array(steps, dtype=np.intp).reshape(len(steps), which.shape[0]).T
    shape = tuple(each + 1 for each in most)
    largest = max([free, *(int(rows[i]) for i in range(len(rows)) if i not in (own, other))], default=0)
    if float(np.prod(np.array(shape, dtype=np.float64))) * (largest + 1) ** 2 * len(which) > _MOST_FITTING:
        return None
    state = np.zeros(shape)
    state[(0,) * len(shape)] = 1.0
    for row, total in enumerate(rows.tolist()):
        if row not in (own, other):
            state = _added(state, table[row], step, total)[total]
    with_own = _added(state, table[own], step, free)
    empty = np.zeros(shape)
    empty[(0,) * len(shape)] = 1.0
    with_other = _added(empty, table[other], step, free)
    # The rest of each column is what the others leave.
    rest = with_other[(slice(None), *(slice(None, None, -1) for _ in shape))]
    ways = np.array([(with_own[k] * rest[free - k]).sum() for k in range(free + 1)])
    return next_to(ways / ways.sum())


def _added(state: Array, expected: NDArray[np.intp], step: NDArray[np.intp], most: int) -> Array:
    """Return the weight of all ways to add up to so many people of some types, shape (people + 1, columns ...).

    Given their sums, numbers of people are multinomial, and as well those of Poisson with any factor on all of them.
    """
    found = np.zeros((most + 1, *state.shape))
    found[0] = state
    for each, by in zip(expected.tolist(), step.tolist(), strict=True):
        if not each:
            continue
        grown = np.zeros_like(found)
        for times in range(most + 1):
            if any(times * d >= size for d, size in zip(by, state.shape, strict=True)):
                break
            weight = np.exp(times * np.log(each) - each - lgamma(times + 1))
            to = (slice(times, None), *(slice(times * d, None) for d in by))
            at = (slice(0, most + 1 - times), *(slice(0, n - times * d) for d, n in zip(by, state.shape, strict=True)))
            grown[to] += weight * found[at]
        found = grown
    return found
