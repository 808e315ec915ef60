"""Whether a partial likelihood rises forever along some direction, so that a Cox model has no minimizer.

It does if a direction d keeps everybody who has an event first among those at risk (eq. 4.7):  x_i d >= x_j d  for all
j in the risk set of i, with more than equality for some. The slope at zero is a sum of such differences, so a linear
program that maximizes it tells; pairs are added to it where its answer has somebody else first.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from seepage.errors import MinimizerError
from seepage.linear.objective import Cuts, Search, chosen, who_tells
from seepage.linear.survival._minimum import Minimum, minimized
from seepage.linear.survival._risk import Cohort

Array = NDArray[np.float64]

# Differences next to the sizes of what they are differences of: below this they are rounding.
_NOTHING = 1e-9
# Logarithms of hazards that differ less than this are not on their way to infinity.
_FAR = 10.0


def minimum_of(
    cohort: Cohort, start: Array, penalty: Array, names: tuple[str, ...], *, estimator: str, start_is_fit: bool
) -> Minimum:
    """Return the minimizer near some coefficients, as `minimized`; refuse a model without one, by its columns."""
    try:
        found = minimized(cohort, start, penalty, names, estimator=estimator, start_is_fit=start_is_fit)
    except MinimizerError:
        _refuse(cohort, penalty, names, estimator)
        raise
    if np.ptp(cohort.features @ found.beta) > _FAR:
        _refuse(cohort, penalty, names, estimator)
    return found


def _refuse(cohort: Cohort, penalty: Array, names: tuple[str, ...], estimator: str) -> None:
    aim = cohort.slope(np.zeros(len(names)))[1][:, None]
    search = Search(
        lambda direction, most: _overtaken(cohort, direction, most),
        *(aim, cohort.features.std(axis=0), _NOTHING, _NOTHING * np.abs(aim)),
    )
    direction = search.over((penalty == 0)[:, None])
    if direction is not None:
        raise MinimizerError(
            f"This {estimator} has no minimizer: {who_tells(direction, names)} in which order people have their events "
            "(or who has none), so that coefficients grow without end. Merge rare levels, drop columns, or fit with a "
            "penalty."
        )


def _overtaken(cohort: Cohort, direction: Array, most: int) -> Cuts:
    """Return how those who have an event differ from whoever a direction has before them."""
    x, risk, counts = cohort.features, cohort.risk, cohort.weights > 0
    margins = (x - x.mean(axis=0)) @ direction[:, 0]
    first = np.empty(len(x), dtype=np.intp)
    _first(np.where(counts, margins, -np.inf), risk.starts, risk.fresh, first)
    behind = np.where(risk.event & counts, margins[first] - margins, 0.0)
    wrong = np.flatnonzero(behind > _NOTHING * (1 + np.abs(margins)))
    wrong = wrong[chosen(behind[wrong], most)]
    # The slope at zero already tells that somebody is moved ahead.
    return Cuts((x[wrong] - x[first[wrong]])[:, :, None], np.zeros(len(wrong), dtype=bool), behind[wrong], most, np.inf)


@numba.njit(cache=True, nogil=True)
def _first(margins, starts, fresh, first):  # type: ignore[no-untyped-def]
    """Fill in who of each row's risk set has the largest margin, from the latest time."""
    best = 0
    for g in range(len(fresh)):
        if fresh[g]:
            best = starts[g]
        for i in range(starts[g], starts[g + 1]):
            if margins[i] > margins[best]:
                best = i
        for i in range(starts[g], starts[g + 1]):
            first[i] = best
