"""Success rates of inferring a person's category."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.errors import MinimizerError, UnansweredError
from seepage.leakage._information import Information


class ToldCategory(NamedTuple):
    """Distance of the release to the one with the category that is easiest to tell apart from the person's own."""

    far: Array
    """In units of the noise; NaN for people who have no category."""
    exact: NDArray[np.bool_]
    """True where the distance is exact; it is approximate for people who were not refitted."""


def told_apart(information: Information, name: str) -> ToldCategory:
    """Return how far the release moves with each person's category.

    Parameters
    ----------
    information : Information
        What was measured.
    name : str
        A categorical attribute.
    """
    found = information.distances(name, None)
    missing = int(found.unanswered.sum())
    if missing:
        raise UnansweredError(f"The model could not be refitted with another {name} of {missing} people.")
    return ToldCategory(found.farthest(), found.farthest_is_exact())


def told_categories(information: Information, names: Iterable[str]) -> dict[str, ToldCategory]:
    """Return the same for each of some categories, but for those about which it is not known.

    Parameters
    ----------
    information : Information
        What was measured.
    names : iterable of str
        Categorical attributes.
    """
    # Whoever has something to refit has its rows in memory already.
    from seepage.execution.storage import together

    known = {}
    with together():
        for name in names:
            try:
                told = told_apart(information, name)
            except (UnansweredError, MinimizerError):
                continue
            if not np.isnan(told.far).all():
                known[name] = told
    return known
