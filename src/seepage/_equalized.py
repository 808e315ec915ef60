"""Weights that equalizing made of the rows: no measurement counts what they tell.

A model that was fitted with them carries a mark, which goes into model files too. The weights themselves are known
again in the process that made them, whatever column they are in by then.
"""

import hashlib
from collections.abc import Iterator

import numpy as np

from seepage._facts import Assumption
from seepage._tables import Array, Column, Listed, Model, column_values

EQUALIZED = Assumption(
    "equalized weights",
    "The weights were made of these rows by EqualizedLeakage and are taken as known and fixed. What they tell is not "
    "counted: an attacker who knows how they are made comes nearer than these numbers say.",
)
_MARK = "equalized_weights_"
_MADE: set[bytes] = set()


def mark_equalized(model: Model) -> Model:
    """Return a fitted model that says, wherever it goes, that its weights were made of its rows."""
    *_, last = _inward(model)
    setattr(last, _MARK, True)
    return model


def remember_weights(weights: Array) -> None:
    """Know some weights again; constant ones say nothing about anybody."""
    if np.ptp(weights) > 0:
        _MADE.add(_known_by(weights))


def is_equalized(model: Model, sample_weight: Listed = None) -> bool:
    """Return whether a model was fitted with weights that equalizing made, as far as it or they tell."""
    if any(hasattr(each, _MARK) for each in _inward(model)):
        return True
    if sample_weight is None or not _MADE:
        return False
    weights = column_values(sample_weight)
    return weights.dtype.kind in "iuf" and weights.size > 0 and _known_by(weights) in _MADE


def _inward(model: Model) -> Iterator[Model]:
    """Yield a model, and what it holds that was fitted: what a search chose, the last step of a Pipeline."""
    while model is not None:
        yield model
        steps = getattr(model, "steps", None)
        model = steps[-1][1] if steps else getattr(model, "best_estimator_", getattr(model, "estimator_", None))


def _known_by(weights: Column) -> bytes:
    """Return a hash of weights that depends neither on their unit nor on their order."""
    found = np.sort(np.asarray(weights, dtype=np.float64), axis=None)
    with np.errstate(all="ignore"):
        return hashlib.sha256(np.round(found / found.mean(), 9).tobytes()).digest()
