"""Smaller models, tried: what remains determined, and what accuracy is left."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Data
from seepage.errors import SeepageError, UnansweredError

# By how much trees are made fewer and leaves larger, and the depths that are tried.
_FEWER: Final = (2, 4, 10, 30)
_LARGER: Final = (2, 5, 10, 20)
_DEPTHS: Final = (6, 4, 3, 2)
_COUNTS: Final = ("n_estimators", "max_iter")
_LEAVES: Final = ("min_samples_leaf", "min_child_samples")


def remedies(
    model: Any, X: Data, y: NDArray[Any], measured: Callable[[Any], tuple[float, float]]
) -> dict[str, list[Any]]:
    """Return what was tried, the most accurate first: the change, what remains determined, the accuracy.

    Parameters
    ----------
    model : estimator
        With parameters of scikit-learn's kind.
    X, y
        What it was fitted on.
    measured : callable
        Of a fitted model: the share of people whose outcome is determined, and the equations for each person.
    """
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_score

    if not hasattr(model, "get_params"):
        raise UnansweredError("A Booster cannot be fitted again here. Give the estimator that was fitted.")

    def accuracy(changes: Mapping[str, Any]) -> float:
        return float(np.mean(cross_val_score(clone(model).set_params(**changes), X, y, cv=5)))

    tried = [("as it is", *measured(model), accuracy({}))]
    for changes in _smaller(model.get_params()):
        try:
            left = measured(clone(model).set_params(**changes).fit(X, y))
        except SeepageError:
            continue
        tried.append((", ".join(f"{name}={value}" for name, value in changes.items()), *left, accuracy(changes)))
    tried.sort(key=lambda one: (-one[3], one[1]))
    names = ("change", "determined", "equations", "accuracy")
    return dict(zip(names, (list(one) for one in zip(*tried, strict=True)), strict=True))


def _smaller(parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield changes that make a model smaller."""
    count = next((name for name in _COUNTS if isinstance(parameters.get(name), int)), None)
    leaf = next((name for name in _LEAVES if name in parameters), None)
    trees = [max(parameters[count] // by, 1) for by in _FEWER] if count else []
    least = parameters[leaf] if leaf and isinstance(parameters[leaf], int) else 1
    sizes = [least * by for by in _LARGER] if leaf else []
    yield from ({count: one} for one in trees if count and one < parameters[count])
    yield from ({leaf: one} for one in sizes if leaf)
    yield from ({leaf: size, count: fewer} for size, fewer in zip(sizes[1:], trees[1:], strict=False) if leaf and count)
    depth = parameters.get("max_depth")
    yield from ({"max_depth": one} for one in _DEPTHS if "max_depth" in parameters and one < (depth or np.inf))
