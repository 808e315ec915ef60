"""The attack on outcomes, run: what the leaf equations give to whoever knows everybody's covariates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy.sparse.linalg
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.execution.storage import followed
from seepage.trees._equations import LeafEquations

# Of the outside model.
_FOLDS: Final = 5
# Operations that the solution of classes may take, and steps.
_OPERATIONS, _STEPS = 3e9, (100, 4_000)


@dataclass(frozen=True, eq=False)
class Recovered:
    """What an attack on the outcomes found, beside a model of other people.

    Attributes
    ----------
    measure : str
        What is compared: "root mean square error" or "share right".
    attack, outside : float
        Of the attack's guesses, and of those of a model that was fitted on other people, in five folds.
    exact : float
        The share of people whose outcome the attack gives exactly.
    guesses, outside_guesses : array
        One for each person, as numbers or classes.
    """

    measure: str
    attack: float
    outside: float
    exact: float
    guesses: NDArray[Any]
    outside_guesses: NDArray[Any]

    def __str__(self) -> str:
        form = ".1%" if self.measure == "share right" else ".4g"
        return (
            f"The attack's {self.measure}: {self.attack:{form}}; that of a model fitted on other people: "
            f"{self.outside:{form}}; outcomes given exactly: {self.exact:.1%}."
        )


def recover(
    equations: Sequence[LeafEquations], X: Array, y: NDArray[Any], classes: NDArray[Any] | None, step: float
) -> Recovered:
    """Run the attack: the outcomes nearest to an outside model's answers that solve the equations.

    Parameters
    ----------
    equations : sequence of LeafEquations
    X : array of shape (people, features)
    y : array
        As it was given.
    classes : array or None
        None for an outcome that is a number.
    step : float
        The smallest difference between two outcomes that are numbers.
    """
    if classes is None:
        prior = _outside(X, y.astype(np.float64), None)
        guess = nearest(equations[0], prior)
        errors = np.abs(guess - y.astype(np.float64))
        return Recovered(
            "root mean square error",
            float(np.sqrt((errors**2).mean())),
            float(np.sqrt(((prior - y.astype(np.float64)) ** 2).mean())),
            float((errors < step / 2).mean()),
            guess,
            prior,
        )
    prior = _outside(X, y, classes)
    columns = prior[:, 1:] if len(classes) == 2 else prior
    result = np.stack([boxed(one, columns[:, k]) for k, one in enumerate(equations)], axis=1)
    chosen = (result[:, 0] > 0.5).astype(int) if len(classes) == 2 else result.argmax(axis=1)
    guesses, outside = classes[chosen], classes[prior.argmax(axis=1)]
    right = float((guesses == y).mean())
    return Recovered("share right", right, float((outside == y).mean()), right, guesses, outside)


def nearest(equations: LeafEquations, prior: Array) -> Array:
    """Return the solution of the equations that is nearest to some guesses."""
    scaled = equations.scaled()
    missing = scaled.sums - scaled.matrix @ prior
    step = scipy.sparse.linalg.lsmr(scaled.matrix, missing, atol=1e-13, btol=1e-13, conlim=0, maxiter=5_000)[0]
    return np.asarray(prior + step)


def boxed(equations: LeafEquations, prior: Array) -> Array:
    """Return what comes nearest to solving the equations between 0 and 1, by projected gradients with momentum."""
    scaled = equations.scaled()
    matrix, transposed = scaled.matrix, scaled.matrix.T.tocsr()
    steps = int(np.clip(_OPERATIONS / max(matrix.nnz, 1), *_STEPS))
    large = _largest(matrix, transposed)
    here = ahead = np.clip(prior, 0.0, 1.0)
    momentum = 1.0
    with followed("solving for classes", steps) as watch:
        for _ in range(steps):
            slope = transposed @ (matrix @ ahead - scaled.sums)
            new = np.clip(ahead - slope / large, 0.0, 1.0)
            following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            ahead = new + (momentum - 1.0) / following * (new - here)
            if np.abs(new - here).max() < 1e-9:
                return np.asarray(new)
            here, momentum = new, following
            watch(1)
    return np.asarray(here)


def _largest(matrix: Any, transposed: Any) -> float:
    """Return a little more than the largest eigenvalue of A^T A."""
    vector = np.ones(matrix.shape[1])
    for _ in range(30):
        vector = transposed @ (matrix @ (vector / np.linalg.norm(vector)))
    return float(1.1 * np.linalg.norm(vector))


def _outside(X: Array, y: NDArray[Any], classes: NDArray[Any] | None) -> Array:
    """Return what a model says of each person that was fitted on other people."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

    if classes is not None:
        y = np.searchsorted(classes, y)
        folds = StratifiedKFold if np.bincount(y).min() >= _FOLDS else KFold
        result = np.zeros((len(y), len(classes)))
        for rest, some in folds(_FOLDS, shuffle=True, random_state=0).split(X, y):
            fitted = HistGradientBoostingClassifier(early_stopping=False, random_state=0).fit(X[rest], y[rest])
            # Of a single class among these people the model has a second column, which is the rest.
            result[np.ix_(some, fitted.classes_)] = fitted.predict_proba(X[some])[:, : len(fitted.classes_)]
        return result
    model = HistGradientBoostingRegressor(early_stopping=False, random_state=0)
    return np.asarray(cross_val_predict(model, X, y, cv=KFold(_FOLDS, shuffle=True, random_state=0)))
