"""How easily a person's category is told from another one."""

from collections.abc import Iterable

import numpy as np

from seepage._tables import Array
from seepage.errors import MinimizerError, UnansweredError
from seepage.leakage._information import Information


def told_apart(information: Information, name: str) -> Array:
    """Return how far the release moves when each person's category becomes the one that is told from it most easily.

    In units of the noise; NaN for people who have no category.

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
    return found.farthest()


def told_categories(information: Information, names: Iterable[str]) -> dict[str, Array]:
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
                far = told_apart(information, name)
            except (UnansweredError, MinimizerError):
                continue
            if not np.isnan(far).all():
                known[name] = far
    return known
