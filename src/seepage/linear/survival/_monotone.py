"""Whether a partial likelihood rises forever along some direction, so that a Cox model has no minimizer.

It does if a direction d keeps everybody who has an event first among those at risk (eq. 4.7):  x_i d >= x_j d  for all
j in the risk set of i, with more than equality for some. The slope at zero is a sum of such differences, so a linear
program that maximizes it tells; pairs are added to it where its answer has somebody else first.
"""

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from seepage._errors import MinimizerError
from seepage.linear.survival._minimum import Minimum, minimized
from seepage.linear.survival._risk import Cohort

Array = NDArray[np.float64]

# Differences next to the sizes of what they are differences of: below this they are rounding.
_NOTHING = 1e-9
_TOLERANCE = 1e-10
_MOST_ROUNDS, _NUMBERS, _FEWEST = 100, 200_000, 256
# An answer that is not at its bounds is what the program's tolerance leaves of zero.
_AT_BOUNDS = 0.5
# Logarithms of hazards that differ less than this are not on their way to infinity.
_FAR = 10.0
_PART, _MOST_NAMES = 0.01, 6


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
    direction = _endless(cohort, penalty == 0)
    if direction is None:
        return
    size = np.abs(direction)
    guilty = [names[i] for i in np.argsort(-size, kind="stable") if size[i] > _PART * size.max()]
    listed = ", ".join(map(repr, guilty[:_MOST_NAMES])) + (", ..." if len(guilty) > _MOST_NAMES else "")
    tells = f"{listed} alone tells" if len(guilty) == 1 else f"some combination of {listed} tells"
    raise MinimizerError(
        f"This {estimator} has no minimizer: {tells} in which order people have their events (or who has none), so "
        "that coefficients grow without end. Merge rare levels, drop columns, or fit with a penalty."
    )


def _endless(cohort: Cohort, free: NDArray[np.bool_]) -> Array | None:
    """Return a direction in units of the columns' sizes, or None if there is none."""
    x, risk = cohort.features, cohort.risk
    scale = x.std(axis=0)
    free = free & (scale > 0)
    if not free.any():
        return None
    unit = (x[:, free] - x[:, free].mean(axis=0)) / scale[free]
    aim = cohort.slope(np.zeros(x.shape[1]))[1][free] / scale[free]
    counts = cohort.weights > 0
    cuts = np.empty((0, unit.shape[1]))
    for _ in range(_MOST_ROUNDS):
        found = linprog(
            -aim / max(float(np.abs(aim).max()), 1e-300),
            A_ub=-cuts if len(cuts) else None,
            b_ub=np.zeros(len(cuts)) if len(cuts) else None,
            bounds=(-1.0, 1.0),
            method="highs",
            options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
        )
        if found.status != 0 or np.abs(found.x).max() < _AT_BOUNDS or aim @ found.x <= _NOTHING * np.abs(aim).sum():
            return None
        margins = unit @ found.x
        first = np.empty(len(unit), dtype=np.intp)
        _first(np.where(counts, margins, -np.inf), risk.starts, risk.fresh, first)
        behind = np.where(risk.event & counts, margins[first] - margins, 0.0)
        wrong = np.flatnonzero(behind > _NOTHING * (1 + np.abs(margins)))
        if not len(wrong):
            direction = np.zeros(len(free))
            direction[free] = found.x
            return direction
        most = max(_NUMBERS // unit.shape[1], _FEWEST)
        if len(wrong) > most:
            wrong = wrong[np.argsort(-behind[wrong], kind="stable")][
                np.linspace(0, len(wrong) - 1, most).astype(np.intp)
            ]
        cuts = np.concatenate([cuts, unit[wrong] - unit[first[wrong]]])
    return None


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
