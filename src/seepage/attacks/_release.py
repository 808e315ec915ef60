"""What an attacker holds: a measurement of the model under attack, and releases of it."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from seepage._tables import Array
from seepage.errors import InputError, UnansweredError
from seepage.leakage import Leakage
from seepage.linear.information import LinearInformation


def attackable(leak: Leakage, *, shaped: bool = False) -> LinearInformation:
    """Return the information behind a measurement, if it is one that these attacks know how to use.

    Parameters
    ----------
    leak : Leakage
        What is under attack.
    shaped : bool, default=False
        Whether the attack knows noise of any shape, on a model with one output.
    """
    information = leak.information
    if not isinstance(information, LinearInformation):
        raise UnansweredError(
            "These attacks are on one linear model with noise: seepage.measure(model, X, y, noise_scale=...)."
        )
    white = isinstance(information.geometry.whitening, float)
    if not white and not (shaped and information.geometry.outputs == 1):
        raise UnansweredError("These attacks are written for independent noise of one scale.")
    if information.owners is not None or information.rows.missing:
        raise UnansweredError(
            "These attacks are on one complete row of a person; here some people have several rows, or lack values. "
            "Attack a measurement without ids=, or of the complete rows."
        )
    return information


def check_fitted(attack: object) -> None:
    """Refuse an attack that has no target yet."""
    if not hasattr(attack, "leak_"):
        raise InputError(
            "This attack knows nothing yet: call fit(leak) with the measurement of the model under attack."
        )


def check_still(information: LinearInformation) -> None:
    """Refuse features that move with somebody's record, for attacks that hold them still."""
    if information.geometry.scales is None:
        return
    steps = [one.step for one in information.preprocessing.fitted]
    raise UnansweredError(
        f"This attack is on the features that the model sees, and {steps}, fitted on the same rows, would move with "
        f"the person's record. Measure with public_preprocessing={steps}, as if what they hold were known."
    )


def noise_scale(information: LinearInformation) -> float:
    """Return the scale of the release's noise."""
    assert information.noise.scale is not None
    return information.noise.scale


def drawn_noise(information: LinearInformation, random: np.random.Generator, count: tuple[int, ...]) -> Array:
    """Return noise of the release on all parameters, shape (*count, parameters), from a seed: nothing is published."""
    size = information.geometry.hessian_inverse.shape[0]
    return from_noise_units(information, random.standard_normal((*count, size)))


def from_noise_units(information: LinearInformation, moves: Array) -> Array:
    """Return moves of the parameters that are given in units of the noise."""
    whitening = information.geometry.whitening
    if isinstance(whitening, float):
        return np.asarray(noise_scale(information) * moves)
    return np.asarray(moves @ np.linalg.inv(whitening).T)


def observed(information: LinearInformation, publication: object) -> Array:
    """Return published parameters as the attacker sees them, shape (1, outputs * p), output by output.

    Parameters
    ----------
    information : LinearInformation
        The model under attack.
    publication : Publication or estimator
        What was published.
    """
    estimator: BaseEstimator = getattr(publication, "estimator", publication)
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    try:
        theta = np.atleast_2d(np.asarray(last.coef_, dtype=np.float64)).T
    except AttributeError:
        raise InputError(f"guess needs a publication or a fitted estimator, not {publication!r}.") from None
    before, own = information.rows.reading.preprocess, estimator[:-1] if isinstance(estimator, Pipeline) else None
    if _steps(before) != _steps(own):
        raise InputError(
            f"The model under attack has the steps {_steps(before)} before it, and this estimator {_steps(own)}: its "
            "parameters are in other units. What seepage.publish returns is in raw units, which these attacks do not "
            "read behind steps; seepage.verify draws releases of its own."
        )
    p = information.geometry.parameters.shape[0]
    if theta.shape[0] == p - 1:
        theta = np.vstack([theta, np.broadcast_to(last.intercept_, (1, theta.shape[1]))])
    if theta.shape[0] != p or theta.shape[1] != information.basis.shape[0]:
        raise InputError(
            f"The publication has {theta.shape[0]} x {theta.shape[1]} parameters; the model under attack has "
            f"{p} x {information.basis.shape[0]}."
        )
    return (theta @ information.basis).T.reshape(1, -1)


def _steps(preprocess: object) -> list[str]:
    if preprocess is None:
        return []
    return [name for name, _ in preprocess.steps] if isinstance(preprocess, Pipeline) else [type(preprocess).__name__]


def checked_people(people: ArrayLike, count: int) -> NDArray[np.intp]:
    """Return whom to attack, by row."""
    rows = np.atleast_1d(np.asarray(people))
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or not len(rows) or rows.min() < 0 or rows.max() >= count:
        raise InputError(f"people must be row numbers from 0 to {count - 1}, not {people!r}.")
    return rows


def chunks(count: int, numbers_each: int, most: int = 2**24) -> Iterator[slice]:
    """Return slices of people that keep temporaries of so many numbers a person bounded."""
    step = max(most // max(numbers_each, 1), 1)
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
