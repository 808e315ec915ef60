"""Cox's proportional hazards as an estimator of scikit-learn's kind."""
# mypy: disable-error-code="misc"

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from seepage._python import Self
from seepage._tables import Data, Listed, Table
from seepage.errors import InputError
from seepage.linear.rows import checked_weights
from seepage.linear.survival._monotone import minimum_of
from seepage.linear.survival._outcomes import Outcomes
from seepage.linear.survival._risk import Cohort, RiskSets

Array = NDArray[np.float64]


class Cox(BaseEstimator):
    """Cox's proportional hazards: how the hazard of an event grows with the columns, and no baseline.

    It is what models of lifelines, scikit-survival and statsmodels are measured and published as, and can be fitted
    itself. There is no baseline hazard in it: that is a step at every event, and would publish the times themselves.

    Parameters
    ----------
    ties : {"efron", "breslow"}, default="efron"
        How events at the same time are counted.
    penalty : float or array-like of shape (features,), default=0.0
        The factor on half of each squared coefficient, beside the log partial likelihood of all rows.
    standardized : bool, default=False
        Whether the penalty is on the coefficients of columns that have a standard deviation of one, as lifelines has
        it: each factor is then multiplied by the variance of its column.

    Attributes
    ----------
    coef_ : ndarray of shape (features,)
        The logarithm of the hazard ratio for each unit of a column.

    Examples
    --------
    >>> import numpy as np, pandas as pd, seepage
    >>> random = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": random.uniform(20, 80, 300), "dose": random.gamma(3.0, 1.0, 300)})
    >>> time = random.exponential(np.exp(-0.03 * X["age"]))
    >>> y = np.rec.fromarrays([time < 0.5, np.minimum(time, 0.5)], names="event,time")
    >>> model = seepage.models.Cox().fit(X, y)
    >>> seepage.measure(model, X, y, noise_scale=0.01)
    Leakage(300 people, 4 private attributes, exact)
    """

    # There is none in the partial likelihood; steps that are folded into coefficients may bring a constant.
    fit_intercept: ClassVar[bool] = False
    intercept_: float = 0.0

    def __init__(self, *, ties: str = "efron", penalty: ArrayLike = 0.0, standardized: bool = False) -> None:
        self.ties = ties
        self.penalty = penalty
        self.standardized = standardized

    def fit(self, X: Data, y: Listed, sample_weight: Listed = None) -> Self:
        """Fit by Newton's steps.

        Parameters
        ----------
        X : array-like of shape (n, features)
        y : structured array of shape (n,)
            Whether there was an event, the time, and perhaps the stratum.
        sample_weight : array-like of shape (n,), optional
        """
        rows = np.asarray(X, dtype=np.float64)
        outcomes, weights = Outcomes.of(y, len(rows)), checked_weights(sample_weight, len(rows))
        names = getattr(X, "columns", None)
        called = tuple(f"x{i}" for i in range(rows.shape[1])) if names is None else tuple(map(str, names))
        risk = RiskSets.of(outcomes.time, outcomes.event, outcomes.stratum, efron=self.counts_by_efron)
        cohort = Cohort.of(risk, rows, weights, rows.mean(axis=0))
        start, factors = np.zeros(rows.shape[1]), self.factors(rows)
        found = minimum_of(cohort, start, factors, called, estimator="Cox", start_is_fit=False)
        self.coef_ = found.beta
        self.n_features_in_ = rows.shape[1]
        if names is not None:
            self.feature_names_in_ = np.array(called, dtype=object)
        return self

    @property
    def counts_by_efron(self) -> bool:
        """Whether ties are counted as Efron does."""
        if self.ties not in ("efron", "breslow"):
            raise InputError(f'ties must be "efron" or "breslow", not {self.ties!r}.')
        return self.ties == "efron"

    def factors(self, rows: Array) -> Array:
        """Return the factor on half of each squared coefficient, for these rows."""
        given = np.broadcast_to(np.asarray(self.penalty, dtype=np.float64), (rows.shape[1],))
        if not (np.isfinite(given).all() and (given >= 0).all()):
            raise InputError(f"penalty must be at least 0, not {self.penalty!r}.")
        return np.asarray(given * rows.var(axis=0, ddof=1) if self.standardized else given.copy())

    def predict(self, X: Data) -> Array:
        """Return the logarithm of each row's hazard, compared with that of a row of zeros.

        Parameters
        ----------
        X : array-like of shape (n, features)
        """
        check_is_fitted(self)
        # Columns by their names: a frame may have them in another order, and others besides.
        rows = Table.of(X, getattr(self, "feature_names_in_", None)).native
        return np.asarray(np.asarray(rows, dtype=np.float64) @ np.ravel(self.coef_) + self.intercept_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")
