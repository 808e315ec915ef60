"""Usable information: what predictors of a family can tell about a property from a layer's gradient.

I_V = H_V(property) - H_V(property | gradient), both the mean surprise in bits of predictors that were fitted on other
batches (eq. 11.3; Xu et al. 2020; Mo, Borovykh et al. 2021).
"""

import math
from typing import Any

import numpy as np

from seepage._families import checked_property, held_out
from seepage._gradients import Features, Gradients, check_features
from seepage._tables import Frame, default_library, frame
from seepage.errors import InputError


def usable_information(
    gradients: Any,
    property: Any,  # noqa: A002
    *,
    family: Any = "logistic",
    features: Features = "maxima",
    folds: int = 5,
    width: int = 4096,
    seed: int = 0,
) -> Frame:
    """Return how many bits about a property a family of predictors finds in the gradients of each layer.

    Parameters
    ----------
    gradients : Gradients, path or mapping
        As `collect_gradients` returned them, the folder it wrote to, or arrays with one row per batch by layer.
    property : array-like
        What each batch has: two or more values.
    family : {"logistic", "forest", "network"} or classifier, default="logistic"
        The predictors: logistic regression (its penalty chosen by cross-validation), a random forest, a network with
        one hidden layer, or any classifier of scikit-learn with ``predict_proba``.
    features : {"maxima", "entries"}, default="maxima"
        What predictors are shown of a layer. Maxima are those of Melis et al. (2019): absolute values of the weights'
        gradients, the largest of each convolution's window, the largest of each input of a matrix with more than 5,000
        entries, scaled to norm 1 batch by batch. Entries are as they are, and so are arrays with a single row of
        numbers a batch.
    folds : int, default=5
        Parts of the batches. Each is predicted from the others.
    width : int, default=4096
        Of layers that would show more numbers so many are drawn. Information can get lost in it, never come in.
    seed : int, default=0
        Of the folds, of what is drawn, and of the predictors.

    Returns
    -------
    frame : data frame
        One row a layer: `name`, `parameters`, `usable_information` in bits and its `standard_error`, `entropy` (what
        there is to know), and `width` (of what the predictors saw). Information may be negative in finite samples: a
        predictor that has learnt nothing errs now and then.

    Examples
    --------
    >>> import numpy as np
    >>> import seepage.network
    >>> random = np.random.default_rng(0)
    >>> has = np.repeat([0, 1], 100)
    >>> gradients = {"first": random.normal(size=(200, 3)) + 5 * has[:, None], "last": random.normal(size=(200, 2))}
    >>> found = seepage.network.usable_information(gradients, has)
    >>> found["usable_information"].round(1).tolist()
    [1.0, -0.0]
    """
    stored = Gradients.of(gradients)
    if folds < 2:
        raise InputError(f"folds must be at least 2, not {folds!r}.")
    check_features(features, width)
    checked_property(property, stored.count, folds)
    rows: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for name, size in zip(stored.names, stored.sizes, strict=True):
        values = stored.features(name, features, width=width, seed=seed)
        held = held_out(values, property, family=family, folds=folds, seed=seed)
        known = held.information
        error = float(np.std(known, ddof=1)) / math.sqrt(len(known))
        entropy = float(held.surprise.mean())
        found = (name, size, float(known.mean()), error, entropy, values.shape[1])
        for column, value in zip(_COLUMNS, found, strict=True):
            rows[column].append(value)
    return frame(rows, default_library())


_COLUMNS = ("name", "parameters", "usable_information", "standard_error", "entropy", "width")
