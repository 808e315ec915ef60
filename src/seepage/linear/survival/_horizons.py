"""Survival at stated horizons: as many numbers of the baseline as there are horizons, instead of a step at every event.

With Breslow's estimate, the cumulative hazard of a reference row r until a horizon h is

    Lambda(h) = sum over times t_g <= h of D_g / S_g,      S_g = sum over the risk set of w_k exp((x_k - r) . beta),

D_g being the weight of those who have their event then. What is published is log Lambda(h), beside the coefficients:
noise on it is noise on a hazard ratio. It moves with a row's features directly, and through the coefficients:

    dlog Lambda = c_i beta . dx_i + b . dbeta,      c_i = -e_i sum over t_g <= min(h, t_i) of D_g / S_g^2 / Lambda,

and b is the reference less the mean over risk sets, each by its part D_g / S_g of Lambda.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Model
from seepage.errors import InputError, UnsupportedError
from seepage.linear.survival._outcomes import Outcomes
from seepage.linear.survival._risk import Cohort

Array = NDArray[np.float64]


class SurvivalAt:
    """A fitted Cox model together with how likely it is to be without an event until some horizons.

    A Cox model alone compares people. For a probability it needs a baseline, and a whole baseline would publish every
    time of an event; its values at a few horizons are as many numbers, which are measured and carry noise like the
    coefficients. They are about a reference row, which is given: where people are, noise costs the least.

    Parameters
    ----------
    model : fitted model
        Of lifelines, scikit-survival or statsmodels, or a `Cox`, as `seepage.measure` takes it.
    horizons : sequence of float
        The times, such as [365.0, 730.0]. They must be chosen without looking at the rows.
    reference : mapping from column to value
        A row of every column that the model takes: somebody ordinary, and nobody's own values.

    Examples
    --------
    >>> import numpy as np, pandas as pd, seepage
    >>> random = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": random.uniform(20, 80, 300), "dose": random.gamma(3.0, 1.0, 300)})
    >>> time = random.exponential(np.exp(-0.03 * (X["age"] - 50)))
    >>> y = np.rec.fromarrays([time < 2.0, np.minimum(time, 2.0)], names="event,time")
    >>> model = seepage.models.SurvivalAt(
    ...     seepage.models.Cox().fit(X, y), horizons=[1.0, 2.0], reference={"age": 50, "dose": 3}
    ... )
    >>> seepage.measure(model, X, y, noise_scale=0.01)
    Leakage(300 people, 4 private attributes, exact)
    """

    def __init__(self, model: Model, *, horizons: Sequence[float], reference: Mapping[str, object]) -> None:
        self.model = model
        self.horizons = _checked(horizons)
        self.reference = dict(reference)

    def __repr__(self) -> str:
        return f"SurvivalAt({self.model!r}, horizons={list(self.horizons)}, reference={self.reference!r})"


def _checked(horizons: Sequence[float]) -> tuple[float, ...]:
    found = np.asarray(horizons, dtype=np.float64)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all() or not (np.diff(found) > 0).all():
        raise InputError(f"horizons must be times in increasing order, such as [365.0, 730.0], not {horizons!r}.")
    return tuple(found.tolist())


@dataclass(frozen=True, eq=False)
class Horizons:
    """The horizons of a fit, and the reference row as the model sees it."""

    times: tuple[float, ...]
    reference: Array
    """Its features, shape (p,)."""
    row: Mapping[str, object]
    """Its columns."""

    def __len__(self) -> int:
        return len(self.times)

    @property
    def names(self) -> tuple[str, ...]:
        """What the published numbers are called."""
        return tuple(f"log cumulative hazard until {time:.12g}" for time in self.times)

    def check(self, outcomes: Outcomes) -> None:
        """Refuse horizons that nothing is known about."""
        if len(np.unique(outcomes.stratum)) > 1:
            raise UnsupportedError(
                "Survival at horizons is not published for a model with strata yet, each of which has a baseline of "
                "its own. Publish the coefficients alone, or put the strata into the model as a column."
            )
        first, last = float(outcomes.time[outcomes.event].min()), float(outcomes.time.max())
        for time in self.times:
            if not first <= time <= last:
                what = "nobody has an event by then" if time < first else "nobody was followed for so long"
                raise InputError(f"Nothing is known about the horizon {time:g}: {what}.")

    def values(self, cohort: Cohort, beta: Array, origin: Array) -> Array:
        """Return the logarithm of the cumulative hazard of the reference row until each horizon."""
        found = _Baseline.of(cohort, beta)
        with np.errstate(divide="ignore"):
            logarithms = np.log([found.parts(time).sum() for time in self.times])
        return np.asarray(logarithms + found.shift + (self.reference - origin) @ beta)

    def slopes(self, cohort: Cohort, beta: Array, origin: Array) -> tuple[Array, Array]:
        """Return b, shape (horizons, p), and c of every row in the order of the rows, shape (n, horizons)."""
        found, risk = _Baseline.of(cohort, beta), cohort.risk
        means = np.cumsum(found.e[:, None] * cohort.features, axis=0)[risk.starts[1:] - 1] / found.at_risk[:, None]
        group = np.repeat(np.arange(len(found.at_risk)), np.diff(risk.starts))
        through, direct = np.empty((len(self), len(beta))), np.empty((len(cohort.features), len(self)))
        for h, time in enumerate(self.times):
            parts = found.parts(time)
            share = parts / parts.sum()
            through[h] = self.reference - origin - share @ means
            # Times come latest first, so those up to a row's own stand from its place to the end.
            earlier = np.cumsum((share / found.at_risk)[::-1])[::-1]
            direct[risk.order, h] = -found.e * earlier[group]
        return through, direct


@dataclass(frozen=True, eq=False)
class _Baseline:
    """Breslow's estimate, with all hazards divided by the largest."""

    times: Array
    e: Array
    dying: Array
    at_risk: Array
    shift: float
    """The logarithm of what the estimate must be multiplied by."""

    @classmethod
    def of(cls, cohort: Cohort, beta: Array) -> "_Baseline":
        risk, margins = cohort.risk, cohort.features @ beta
        largest = float(margins.max())
        e = cohort.weights * np.exp(margins - largest)
        at_risk = np.cumsum(e)[risk.starts[1:] - 1]
        dying = np.add.reduceat(cohort.weights * risk.event, risk.starts[:-1])
        return cls(risk.times, e, dying, at_risk, -largest)

    def parts(self, horizon: float) -> Array:
        """Return what each time adds until a horizon."""
        return np.where(self.times <= horizon, self.dying, 0.0) / self.at_risk
