"""Knowledge of an attacker: a measurement of the model under attack, and releases of it."""

from collections.abc import Iterator
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from seepage._tables import Array
from seepage.errors import InputError, UnansweredError
from seepage.leakage import Leakage
from seepage.linear.information import Noised, PublishedParameters


def attackable(leak: Leakage, *, shaped: bool = False) -> PublishedParameters:
    """Return the published parameters of a measurement, if these attacks know how to use it.

    Parameters
    ----------
    leak : Leakage
        What is under attack.
    shaped : bool, default=False
        Whether the attack knows noise of any shape, on a model with one output.
    """
    information = leak.information
    outputs = getattr(information, "outputs", None)
    if not isinstance(outputs, PublishedParameters):
        raise UnansweredError(
            "These attacks are on one linear model with noise: seepage.measure(model, X, y, noise_scale=...)."
        )
    if not outputs.is_white and not (shaped and outputs.loss.outputs == 1):
        raise UnansweredError("These attacks are written for independent noise of one scale.")
    if information.count != outputs.rows.count or outputs.rows.missing:
        raise UnansweredError(
            "These attacks are on one complete row of a person; here some people have several rows, or lack values. "
            "Attack a measurement without ids=, or of the complete rows."
        )
    return outputs


def check_fitted(attack: object) -> None:
    """Refuse an attack that has no target yet."""
    if not hasattr(attack, "leak_"):
        raise InputError(
            "This attack knows nothing yet: call fit(leak) with the measurement of the model under attack."
        )


def check_still(leak: Leakage) -> None:
    """Refuse features that move with somebody's record, for attacks that hold them still."""
    steps = [one.step for one in cast(Noised, leak.information).preprocessing.fitted]
    if not steps:
        return
    raise UnansweredError(
        f"This attack is on the features that the model sees, and {steps}, fitted on the same rows, would move with "
        f"the person's record. Measure with public_preprocessing={steps}, as if what they hold were known."
    )


def drawn_noise(outputs: PublishedParameters, random: np.random.Generator, *count: int) -> Array:
    """Return noise of the release on all parameters, shape (*count, parameters), from a seed: nothing is published."""
    return outputs.from_noise_units(random.standard_normal((*count, len(outputs.values))))


def observed(outputs: PublishedParameters, publication: object) -> Array:
    """Return published parameters as the attacker sees them, shape (1, outputs * p), output by output.

    Parameters
    ----------
    outputs : PublishedParameters
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
    before, own = outputs.rows.reading.preprocess, estimator[:-1] if isinstance(estimator, Pipeline) else None
    if _steps(before) != _steps(own):
        raise InputError(
            f"The model under attack has the steps {_steps(before)} before it, and this estimator {_steps(own)}: its "
            "parameters are in other units. What seepage.publish returns is in raw units, which these attacks do not "
            "read behind steps; seepage.verify draws releases of its own."
        )
    p = len(outputs.penalty)
    if theta.shape[0] == p - 1:
        theta = np.vstack([theta, np.broadcast_to(last.intercept_, (1, theta.shape[1]))])
    if theta.shape[0] != p or theta.shape[1] != outputs.basis.shape[0]:
        raise InputError(
            f"The publication has {theta.shape[0]} x {theta.shape[1]} parameters; the model under attack has "
            f"{p} x {outputs.basis.shape[0]}."
        )
    return (theta @ outputs.basis).T.reshape(1, -1)


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
