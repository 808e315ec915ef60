"""Families of predictors of a property, and what they predict for those they have not seen."""

import warnings
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Column, Listed, column_values, plain
from seepage.errors import InputError

FAMILIES = ("logistic", "forest", "network")


class Classifier(Protocol):
    """Interface of a predictor."""

    @property
    def classes_(self) -> NDArray[np.intp]:
        """Classes it was fitted on."""
        ...

    def fit(self, rows: Array, truth: NDArray[np.intp], /) -> "Classifier":
        """Learn from rows."""
        ...

    def predict_proba(self, rows: Array, /) -> Array:
        """Return the probability of each class that it has seen."""
        ...


Family = str | Classifier
"""One of the families by name, or a classifier of one's own."""


def family_of(given: Family, seed: int) -> Classifier:
    """Return an unfitted classifier: one of the families by name, or a copy of the user's own."""
    from sklearn.base import clone
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    found: Classifier
    if given == "logistic":
        # How far to trust so many columns is for the data to say.
        search = GridSearchCV(LogisticRegression(max_iter=500), {"C": [1e-4, 1e-2, 1.0]}, scoring="neg_log_loss", cv=3)
        found = make_pipeline(StandardScaler(), search)
    elif given == "forest":
        # The forest of Melis et al. (2019).
        found = RandomForestClassifier(100, min_samples_leaf=5, random_state=seed)
    elif given == "network":
        network = MLPClassifier((32,), alpha=1.0, solver="lbfgs", max_iter=300, random_state=seed)
        found = make_pipeline(StandardScaler(), network)
    elif hasattr(given, "fit") and hasattr(given, "predict_proba"):
        found = clone(given)
    else:
        raise InputError(
            f"family must be one of {', '.join(map(repr, FAMILIES))} or a classifier with predict_proba, not {given!r}."
        )
    return found


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Cross-fitted predictions: each row's by predictors that were fitted on other rows."""

    classes: Column
    truth: NDArray[np.intp]
    """Place of each row's class."""
    predicted: Array
    """Probability of each class, shape (rows, classes)."""
    prior: Array
    """The same from the shares of the classes alone."""

    @property
    def information(self) -> Array:
        """Information of the predictor about each row beyond the prior in bits: log2 p(truth | row) - log2 p(truth)."""
        return np.asarray(np.log2(self._of_truth(self.predicted)) - np.log2(self._of_truth(self.prior)))

    @property
    def surprise(self) -> Array:
        """Information content of each row: -log2 p(truth)."""
        return np.asarray(-np.log2(self._of_truth(self.prior)))

    def _of_truth(self, probabilities: Array) -> Array:
        return np.asarray(probabilities[np.arange(len(self.truth)), self.truth])


def checked_property(values: Listed, count: int, folds: int) -> tuple[Column, NDArray[np.intp]]:
    """Return the classes of a property and which of them each batch has."""
    listed = plain(column_values(values))
    if listed.ndim != 1 or len(listed) != count:
        raise InputError(f"property must say of each of the {count} batches what it has; it has shape {listed.shape}.")
    classes, truth, counts = np.unique(listed, return_inverse=True, return_counts=True)
    if len(classes) < 2 or counts.min() < folds:
        raise InputError(
            f"Each value of the property needs at least {folds} batches, one for each fold, and there must be two "
            f"values; it has {dict(zip(classes.tolist(), counts.tolist(), strict=True))}."
        )
    return classes, truth


def held_out(rows: Array, values: Listed, *, family: Family, folds: int, seed: int) -> HeldOut:
    """Fit on all folds but one, predict that one, and so on (cross-fitting)."""
    from sklearn.model_selection import StratifiedKFold

    classes, truth = checked_property(values, len(rows), folds)
    predicted, prior = np.empty((len(rows), len(classes))), np.empty((len(rows), len(classes)))
    for seen, unseen in StratifiedKFold(folds, shuffle=True, random_state=seed).split(rows, truth):
        shares = np.bincount(truth[seen], minlength=len(classes)) / len(seen)
        fitted = fit(family, rows[seen], truth[seen], seed)
        predicted[unseen] = probabilities(fitted, rows[unseen], shares, len(seen))
        prior[unseen] = shares
    return HeldOut(classes, truth, predicted, prior)


def fit(family: Family, rows: Array, truth: NDArray[np.intp], seed: int) -> Classifier:
    """Return a predictor of the family, fitted on one thread."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        # A predictor is judged by what it predicts, wherever its search was stopped.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return family_of(family, seed).fit(rows, truth)


def probabilities(fitted: Classifier, rows: Array, shares: Array, count: int) -> Array:
    """Return what is predicted, mixed with a little of the shares.

    Nobody can be surer than one in as many as they have seen: a forest that says 0 and errs would lose infinitely many
    bits.
    """
    found = np.zeros((len(rows), len(shares)))
    found[:, fitted.classes_] = fitted.predict_proba(rows)
    doubt = 1.0 / (count + 1)
    return np.asarray((1 - doubt) * found + doubt * shares)
