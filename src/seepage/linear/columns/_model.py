"""A model taken apart: preprocessing, an estimator, and how the features come from the raw columns."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from seepage._tables import Model
from seepage.errors import InputError
from seepage.linear.columns._affine import Affine
from seepage.linear.columns._chosen import chosen
from seepage.linear.columns._steps import through


def split(model: Model) -> tuple[Pipeline | None, BaseEstimator]:
    """Return the preprocessing, or None, and the estimator behind it; of a search, what it chose."""
    model = chosen(model)
    if not isinstance(model, Pipeline):
        return None, model
    before = model[:-1]
    return (before if len(before.steps) else None), model[-1]


def fitted_columns(preprocess: Model, estimator: Model) -> list[str] | None:
    """Return the columns that a model was fitted on by name, if it was."""
    first = estimator if preprocess is None else preprocess
    try:
        names = first.feature_names_in_
    except AttributeError:
        return None
    return [str(name) for name in names]


def features_of(preprocess: Model, names: Sequence[str]) -> int:
    """Return how many features the raw columns become."""
    return _through(preprocess, names).features


def _through(preprocess: Model, names: Sequence[str]) -> Affine:
    affine = Affine.raw(len(names))
    return affine if preprocess is None else through(preprocess, affine, "")


def affine_of(preprocess: Model, estimator: Model, names: Sequence[str]) -> Affine:
    """Return the features as a map of the raw columns."""
    affine = _through(preprocess, names)
    expected = np.atleast_2d(estimator.coef_).shape[1]
    if affine.features != expected:
        raise InputError(
            f"X has {len(names)} columns, which give {affine.features} features; the model was fitted on {expected}."
        )
    return affine


def feature_names(affine: Affine, names: tuple[str, ...]) -> tuple[str, ...]:
    """Name each feature after the columns that it is made of."""
    found, reach = [], affine.reach()
    bent = {int(row) for bend in affine.bends for row in bend.matrix.tocoo().row}
    for feature in range(affine.features):
        reached = [affine.coordinates[i] for i in reach[[feature]].tocoo().col]
        if feature in bent:
            columns = dict.fromkeys(names[coordinate.column] for coordinate in reached)
            found.append(f"feature {feature} ({', '.join(columns) or 'constant'})")
        elif len(reached) == 1:
            column, level = reached[0]
            values = "" if level is None else f" = {', '.join(map(str, level))}"
            found.append(f"{names[column]}{values}")
        else:
            found.append(f"feature {feature}")
    return tuple(found)
