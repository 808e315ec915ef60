"""The exact minimizer with one person's records changed: nothing is linearized.

The Hessian of the unchanged rows serves all refits: one record hardly bends it, so steps with it shrink fast. Where
they do not, Newton's own are taken.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage.errors import MinimizerError
from seepage.linear.survival._fitted import SurvivalFit
from seepage.linear.survival._minimum import minimized, penalized
from seepage.linear.survival._outcomes import Outcomes
from seepage.linear.survival._risk import Cohort, RiskSets

Array = NDArray[np.float64]

_MOST_STEPS = 60
# A step next to the whole move, or to a standard error: what is smaller is rounding.
_SETTLED = 1e-11
_ROUNDING = 1e-12
# Steps that shrink less than this are left to Newton's.
_SLOW = 0.7


@dataclass(frozen=True, eq=False)
class SurvivalRefit:
    """Refits of a Cox model, each with one person's records changed."""

    fit: SurvivalFit

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """Where each row stands in the order of the risk sets."""
        order = self.fit.risk.order
        found = np.empty(len(order), dtype=np.intp)
        found[order] = np.arange(len(order))
        return found

    def with_features(self, rows: NDArray[np.intp], features: Array, penalty: Array | None = None) -> Array:
        """Return how what is published moves when some rows have other features; NaN where there is no minimizer.

        Parameters
        ----------
        rows : ndarray of int
        features : ndarray of shape (rows, p)
        penalty : ndarray of shape (p,), optional
            That of the other data, if a scaler moves along.
        """
        fit = self.fit
        cohort = fit.cohort.with_rows(self._places[rows], features - fit.origin)
        if fit.stretch is not None:
            changed = fit.features.copy()
            changed[rows] = features
            penalty = fit.estimator.factors(changed)
        return self._moved(cohort, fit.minimum.penalty if penalty is None else penalty)

    def flipped(self, rows: NDArray[np.intp]) -> Array:
        """Return how what is published moves when some rows have the other status."""
        return self._moved(replace(self.fit.cohort, risk=self.fit.risk.flipped(rows)), self.fit.minimum.penalty)

    def with_time(self, rows: NDArray[np.intp], time: float) -> Array:
        """Return how what is published moves when some rows have another time."""
        fit, outcomes = self.fit, self.fit.outcomes
        times = outcomes.time.copy()
        times[rows] = time
        changed: Outcomes = replace(outcomes, time=times)
        risk = RiskSets.of(changed.time, changed.event, changed.stratum, efron=fit.risk.efron)
        return self._moved(Cohort.of(risk, fit.features, fit.rows.weights, fit.origin), fit.minimum.penalty)

    def _moved(self, cohort: Cohort, penalty: Array) -> Array:
        if not cohort.risk.event.any():
            return np.full(len(self.fit.names), np.nan)
        start, inverse = self.fit.minimum.beta, self.fit.minimum.inverse
        beta, before = start, np.inf
        unit = np.sqrt(inverse.diagonal())
        for _ in range(_MOST_STEPS):
            step = inverse @ penalized(*cohort.slope(beta), beta, penalty)[1]
            beta = beta + step
            length = float(np.abs(step / unit).max())
            if length <= max(_SETTLED * float(np.abs((beta - start) / unit).max()), _ROUNDING):
                return np.asarray(beta - start)
            if not length < _SLOW * before:
                break
            before = length
        try:
            found = minimized(cohort, start, penalty, self.fit.names, estimator="Cox", start_is_fit=False)
        except MinimizerError:
            return np.full(len(self.fit.names), np.nan)
        return np.asarray(found.beta - start)
