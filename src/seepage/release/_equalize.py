"""Equal leakage for everyone, by reweighting (eq. 7.2)."""
# mypy: disable-error-code="untyped-decorator,misc"

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from seepage._errors import InputError
from seepage._noise import GaussianNoise
from seepage._tables import column_values
from seepage.leakage import Leakage
from seepage.linear import measure

Array = NDArray[np.float64]


def _has(method: str) -> Any:
    return available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), method))


class EqualizedLeakage(MetaEstimatorMixin, BaseEstimator):
    """Fit a linear model so that it leaks equally much about everyone.

    Rows are reweighted by the inverse of their leakage and the model is fitted again, until all leak the same.

    Parameters
    ----------
    estimator : estimator or Pipeline
        A linear model of scikit-learn that takes sample weights, alone or behind affine preprocessing.
    noise_scale : float or GaussianNoise, default=1.0
        The noise on the published parameters. A scale has no influence on the weights; a covariance has.
    target : str, default="eta"
        What to equalize: "eta", "dfil", or an attribute's name. For a categorical attribute it is the exact distance
        to the nearest other value, since a linearization depends on how the levels are encoded.
    tol : float, default=1e-3
        Stop when the standard deviation of the target is below this share of its mean.
    max_iter : int, default=50
        The most fits to make.
    public_label : bool, default=False
        Whether the attacker knows the labels.
    attributes : sequence of str, optional
        The columns that are private; all by default.

    Attributes
    ----------
    estimator_ : estimator
        The model fitted with the final weights.
    weights_ : ndarray of shape (n,)
        The final weights, with mean 1.
    history_ : list of float
        The spread (standard deviation / mean) of the target at each iteration, the unweighted fit first.
    leakage_ : Leakage
        The measurement of `estimator_`.
    converged_ : bool
        Whether the spread came below `tol`.
    n_iter_ : int
        The number of fits.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> equal = seepage.EqualizedLeakage(Ridge(alpha=1.0), noise_scale=1.0).fit(X, y)
    >>> equal.history_[0] > 0.4, equal.history_[-1] < 1e-3
    (True, True)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        noise_scale: float | GaussianNoise = 1.0,
        target: str = "eta",
        tol: float = 1e-3,
        max_iter: int = 50,
        public_label: bool = False,
        attributes: Sequence[str] | None = None,
    ) -> None:
        self.estimator = estimator
        self.noise_scale = noise_scale
        self.target = target
        self.tol = tol
        self.max_iter = max_iter
        self.public_label = public_label
        self.attributes = attributes

    def fit(self, X: Any, y: Any) -> Self:
        """Fit and reweight until everyone leaks equally much.

        Parameters
        ----------
        X : array-like of shape (n, columns)
            The training data.
        y : array-like of shape (n,)
            The labels.
        """
        validate_data(self, X, y, skip_check_array=True)
        count = len(column_values(y))
        weights = np.ones(count)
        self.history_: list[float] = []
        best: tuple[float, Any, Array, Leakage] | None = None
        exponent = 1.0
        self.converged_ = False
        for _ in range(self.max_iter):
            estimator = self._fitted(X, y, weights)
            leak = measure(
                estimator,
                X,
                y,
                noise_scale=self.noise_scale,
                sample_weight=weights,
                public_label=self.public_label,
                attributes=self.attributes,
            )
            exposure = self._exposure(leak)
            spread = float(exposure.std() / exposure.mean())
            if self.history_ and spread > self.history_[-1]:
                # Overshot: smaller steps settle where full ones swing.
                exponent *= 0.5
            self.history_.append(spread)
            if best is None or spread < best[0]:
                best = spread, estimator, weights, leak
            if spread <= self.tol:
                self.converged_ = True
                break
            weights = weights * exposure**-exponent
            weights = weights * (count / weights.sum())
        assert best is not None
        spread, self.estimator_, self.weights_, self.leakage_ = best
        self.n_iter_ = len(self.history_)
        if not self.converged_:
            warnings.warn(
                f"The leakage is not equal yet: after {self.n_iter_} fits its standard deviation is {spread:.2g} of "
                f"its mean (tol={self.tol:g}). Raise max_iter, or accept this spread by raising tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _fitted(self, X: Any, y: Any, weights: Array) -> Any:
        estimator = clone(self.estimator)
        if isinstance(estimator, Pipeline):
            return estimator.fit(X, y, **{f"{estimator.steps[-1][0]}__sample_weight": weights})
        return estimator.fit(X, y, sample_weight=weights)

    def _exposure(self, leak: Leakage) -> Array:
        information = leak.information
        if self.target in ("eta", "dfil"):
            exposure = information.examples()[self.target]
        elif self.target not in information.attribute_names:
            raise InputError(
                f"target must be 'eta', 'dfil' or one of {list(information.attribute_names)}, not {self.target!r}."
            )
        elif self.target in information.categorical:
            exposure = information.distances(self.target, None).nearest()
        else:
            exposure = information.attributes()[self.target]
        if not (exposure > 0).all():
            raise InputError(
                f"The release says nothing about {self.target!r} of {int((exposure <= 0).sum())} people, whatever "
                "their weight; it cannot be made equal."
            )
        return exposure

    @_has("predict")
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the final model."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities of the final model."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Array:
        """Return logarithms of the class probabilities of the final model."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @_has("decision_function")
    def decision_function(self, X: Any) -> Array:
        """Return the margins of the final model."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    @_has("score")
    def score(self, X: Any, y: Any) -> float:
        """Return the score of the final model."""
        check_is_fitted(self)
        return float(self.estimator_.score(X, y))

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, if the model is a classifier."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.input_tags = inner.input_tags
        return tags
