"""Through which of their attributes people are exposed most."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seepage.errors import UnansweredError
from seepage.leakage._categories import ToldCategory
from seepage.leakage._information import Information
from seepage.leakage._prior import deviations
from seepage.meaning import success_rate

# Beyond this many people, reading a column of the files for the sake of a few of them takes longer than a reader waits.
_MOST_READ = 1_000_000


@dataclass(frozen=True)
class Through:
    """The attribute through which a person is exposed most.

    Attributes and units differ, and are compared by how far the release moves, in units of its noise, when the
    attribute changes by what is usual: a number by its standard deviation over all people, a category to the one that
    is told from it most easily. Where the model was not refitted with other categories, that one is estimated from the
    slope: enough to say which attribute it is, not how often it is told.

    Attributes
    ----------
    attribute : str
        Its name; the label is one of them.
    moved : float
        How far the release moves.
    floor, baseline : float or None
        Of a number: the smallest error of any unbiased guess, and the error of a guess that knows only how the
        attribute is spread over all people.
    success_rate : float or None
        Of a category: how often the best attacker tells it from the one that is told from it most easily.
    exact : bool
        Whether that is exact; it is approximate where the model was not refitted with this person's other category.
    """

    attribute: str
    moved: float
    floor: float | None = None
    baseline: float | None = None
    success_rate: float | None = None
    exact: bool = True


def exposed_through(
    information: Information, rows: NDArray[np.intp], categories: Mapping[str, ToldCategory]
) -> tuple[Through | None, ...]:
    """Return the attribute through which each of some people is exposed most; None where it cannot be told.

    Parameters
    ----------
    information : Information
        What was measured.
    rows : ndarray of int
        Where the people stand among all.
    categories : mapping from str to ToldCategory
        How far the release moves with each category of each person, as `told_categories` returns it.
    """
    unknown = (None,) * len(rows)
    baseline = deviations(information, "data")
    if information.count > _MOST_READ or not (baseline or categories):
        return unknown
    try:
        attributes = information.attributes()
        etas = {name: attributes[name][rows] for name in baseline}
    except UnansweredError:
        return unknown
    moved = {name: eta * baseline[name] for name, eta in etas.items()}
    moved |= {name: attributes[name][rows] for name in information.categorical if name in attributes}
    moved |= {name: told.far[rows] for name, told in categories.items()}
    exact = {name: told.exact[rows] for name, told in categories.items()}
    return tuple(
        _most(
            {name: float(values[i]) for name, values in moved.items()},
            baseline,
            {name: bool(each[i]) for name, each in exact.items()},
        )
        for i in range(len(rows))
    )


def _most(moved: Mapping[str, float], baseline: Mapping[str, float], exact: Mapping[str, bool]) -> Through | None:
    # Whoever lacks a value cannot be exposed through it, and NaN is above nothing.
    known = {name: far for name, far in moved.items() if far > 0}
    if not known:
        return None
    name = max(known, key=lambda each: known[each])
    if name in exact:
        return Through(name, known[name], success_rate=float(success_rate(known[name])), exact=exact[name])
    if name not in baseline:
        return Through(name, known[name])
    return Through(name, known[name], floor=baseline[name] / known[name], baseline=baseline[name])
