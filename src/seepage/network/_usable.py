"""Usable information: what predictors of a family can tell about a property from a layer's gradient.

I_V = H_V(property) - H_V(property | gradient), both the mean surprise in bits of predictors that were fitted on other
batches (eq. 11.3; Xu et al. 2020; Mo, Borovykh et al. 2021).
"""

import math
from typing import Any

import numpy as np

from seepage._errors import InputError
from seepage._families import checked_property, held_out
from seepage._gradients import Gradients
from seepage._tables import Frame, default_library, frame


def usable_information(
    gradients: Any,
    property: Any,  # noqa: A002
    *,
    family: Any = "logistic",
    folds: int = 5,
    width: int = 512,
    seed: int = 0,
) -> Frame:
    """Return how many bits about a property a family of predictors finds in the gradients of each layer.

    Parameters
    ----------
    gradients : Gradients, path or mapping
        As `collect_gradients` returned them, the folder it wrote to, or arrays with one row a batch by layer.
    property : array-like
        What each batch has: two or more values.
    family : {"logistic", "forest", "network"} or classifier, default="logistic"
        The predictors: logistic regression (its penalty chosen by cross-validation), a random forest, a network with
        one hidden layer, or any classifier of scikit-learn with ``predict_proba``.
    folds : int, default=5
        Parts of the batches. Each is predicted from the others.
    width : int, default=512
        Layers with more parameters are reduced to so many numbers by a random sketch. Information can get lost in it,
        never come in: compare with another width where `distortion` is large.
    seed : int, default=0
        Of the folds, the sketch and the predictors.

    Returns
    -------
    frame : data frame
        One row a layer: `name`, `parameters`, `usable_information` in bits and its `standard_error`, `entropy` (what
        there is to know), `width` (of what the predictors saw), and `distortion`: the root mean square relative error
        of squared distances between batches by the sketch. Information may be negative in finite samples: a predictor
        that has learnt nothing errs now and then.

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
    if folds < 2 or width < 1:
        raise InputError(f"folds must be at least 2 and width at least 1, not {folds!r} and {width!r}.")
    checked_property(property, stored.count, folds)
    rows: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for name in stored.names:
        layer = stored.sketch(name, width, seed)
        held = held_out(layer.values, property, family=family, folds=folds, seed=seed)
        known = held.information
        error = float(np.std(known, ddof=1)) / math.sqrt(len(known))
        entropy = float(held.surprise.mean())
        found = (name, layer.size, float(known.mean()), error, entropy, layer.values.shape[1], layer.distortion)
        for column, value in zip(_COLUMNS, found, strict=True):
            rows[column].append(value)
    return frame(rows, default_library())


_COLUMNS = ("name", "parameters", "usable_information", "standard_error", "entropy", "width", "distortion")
