"""Equal leakage for everyone, by reweighting (eq. 7.2)."""
# mypy: disable-error-code="untyped-decorator,misc"

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from seepage._noise import GaussianNoise
from seepage._tables import Column, Data, Listed, Model, column_values
from seepage.errors import InputError, SeepageError, UnsupportedError
from seepage.execution import Job
from seepage.leakage import Leakage
from seepage.linear.columns import split
from seepage.linear.files import are_paths, refuse_in_memory
from seepage.linear.objective import check_known
from seepage.linear.survival import is_survival
from seepage.release._rounds import ReweightingRounds, RoundsInFiles, RoundsInMemory, Settings, Weights, spread

Array = NDArray[np.float64]


# Why weights may not be enough.
_STAYS = (
    " A part of what is known of people is told by a scaler or an imputer that was fitted on these rows, whatever the "
    "weights: with less noise it matters less."
)


def _has(method: str) -> Any:
    return available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), method))


class EqualizedLeakage(MetaEstimatorMixin, BaseEstimator):
    """Fit a linear model so that it leaks equally much about everyone.

    Rows are reweighted by the inverse of their leakage and the model is fitted again, until all leak the same.

    The weights are a function of the rows, and what they tell is not counted yet: `leakage_` takes them as known and
    fixed, and an attacker who knows how they are made comes nearer than it says. So this is for studying what equal
    leakage would cost, and `seepage.publish` refuses a model that was fitted with such weights.

    Parameters
    ----------
    estimator : estimator or Pipeline
        A linear model of scikit-learn that takes sample weights, alone or behind affine or smooth preprocessing.
    noise_scale : float or GaussianNoise
        The noise on the published parameters. A scale has no influence on the weights unless a scaler or an imputer is
        fitted on the same rows: what those tell stays whatever the noise and the weights are. A covariance has.
    quantity : str, default="eta"
        What to equalize: "eta", "dfil", or an attribute's name. For a categorical attribute it is the exact distance
        to the nearest other value, since a linearization depends on how the levels are encoded.
    tol : float, default=1e-3
        Stop when the standard deviation of the quantity is below this share of its mean.
    max_iter : int, default=50
        The most fits to make.
    public_label : bool, default=False
        Whether the attacker knows the labels.
    attributes : sequence of str, optional
        The columns that are private; all by default.
    public_preprocessing : sequence of str, default=()
        Steps before the model whose constants the attacker knows, as `seepage.measure` takes them.

    Attributes
    ----------
    estimator_ : estimator
        The model fitted with the final weights.
    weights_ : ndarray of shape (n,), or StoredWeights
        The final weights, with mean 1; for files, a Parquet data set in `output`, which `measure` and `fit` take as
        `sample_weight`.
    history_ : list of float
        The spread (standard deviation / mean) of the quantity at each iteration, the unweighted fit first.
    leakage_ : Leakage
        The measurement of `estimator_`, which takes the weights as known and fixed.
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
    >>> equal = seepage.release.EqualizedLeakage(Ridge(alpha=1.0), noise_scale=1.0).fit(X, y)
    >>> equal.history_[0] > 0.4, equal.history_[-1] < 1e-3
    (True, True)
    """

    def __init__(
        self,
        estimator: Model,
        *,
        noise_scale: float | GaussianNoise,
        quantity: str = "eta",
        tol: float = 1e-3,
        max_iter: int = 50,
        public_label: bool = False,
        attributes: Sequence[str] | None = None,
        public_preprocessing: Sequence[str] = (),
    ) -> None:
        self.estimator = estimator
        self.noise_scale = noise_scale
        self.quantity = quantity
        self.tol = tol
        self.max_iter = max_iter
        self.public_label = public_label
        self.attributes = attributes
        self.public_preprocessing = public_preprocessing

    def fit(
        self,
        X: Data,
        y: Listed = None,
        *,
        target: str | Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        ids: str | None = None,
        job: Job | None = None,
    ) -> Self:
        """Fit and reweight until everyone leaks equally much.

        Parameters
        ----------
        X : array-like of shape (n, columns), or paths of Parquet files
            The training data. Preprocessing before a model on files must be fitted already.
        y : array-like of shape (n,), optional
            The labels; for files, give `target` instead.
        target : str or sequence of str, optional
            The column of the files that holds the labels.
        features : sequence of str, optional
            The columns of the files to fit on; all that have no other role by default.
        ids : str, optional
            The column of the files that names the rows.
        job : Job, optional
            For files, how they are read and where the weights and what is known of each row go: its `output` is a new
            folder for them. With `resume=True` it goes on at the round where an unfinished job stopped.
        """
        if is_survival(self.estimator):
            raise UnsupportedError(
                f"The leakage of a survival model ({type(self.estimator).__name__}) cannot be made equal by weights: "
                "who weighs more has a larger share in the risk sets of all events before their own, and the larger "
                "it is, the less their values move the coefficients. Calibrate the noise instead."
            )
        check_known(split(self.estimator)[1])
        settings: Settings = {
            "noise_scale": self.noise_scale,
            "public_label": self.public_label,
            "attributes": self.attributes,
            "public_preprocessing": self.public_preprocessing,
        }
        if are_paths(X):
            if y is not None:
                raise InputError("X names files, so the labels are a column of them: give target= instead of y.")
            self._equalize(
                RoundsInFiles.of(
                    self.estimator,
                    X,
                    target=target,
                    features=features,
                    ids=ids,
                    job=job,
                    quantity=self.quantity,
                    settings=settings,
                )
            )
            return self
        validate_data(self, X, y, skip_check_array=True)
        refuse_in_memory(target, job, features=features, ids=ids)
        if y is None:
            raise InputError("y is missing: give the labels to fit on.")
        self._equalize(RoundsInMemory(self.estimator, X, y, len(column_values(y)), self.quantity, settings))
        return self

    def _equalize(self, rounds: ReweightingRounds[Weights]) -> None:
        state, weights = rounds.first()
        best: tuple[int, Model, Leakage, Weights] | None = None
        self.converged_, stopped = False, ""
        while len(state.history) < self.max_iter:
            number = len(state.history)
            try:
                estimator, leak = rounds.measured(number, weights)
                found = spread(leak, self.quantity)
            except SeepageError as reason:
                if best is None and not number:
                    raise
                # Weights that single people out can make a model that is no longer defined; those before still are.
                stopped = f" Fit {number + 1} failed, and the best one before it is kept: {reason}"
                break
            state.note(found)
            if state.best == number:
                best = number, estimator, leak, weights
            if state.history[-1] <= self.tol:
                self.converged_ = True
                break
            weights = rounds.reweighted(state, weights, leak)
        if best is None or best[0] != state.best:
            weights = rounds.recalled(state)
            best = state.best, *rounds.measured(state.best, weights), weights
        _, self.estimator_, self.leakage_, weights = best
        self.weights_ = rounds.final(state, weights, self.leakage_)
        self.history_ = state.history
        self.n_iter_ = len(state.history)
        if not self.converged_:
            warnings.warn(
                f"The leakage is not equal yet: after {self.n_iter_} fits its standard deviation is "
                f"{min(state.history):.2g} of its mean (tol={self.tol:g})."
                + (stopped or " Raise max_iter, or accept this spread by raising tol.")
                + (_STAYS if self.leakage_.information.stays else ""),
                ConvergenceWarning,
                stacklevel=3,
            )

    def __getstate__(self) -> Mapping[str, object]:
        if hasattr(self, "leakage_"):
            raise UnsupportedError(
                "A fitted EqualizedLeakage holds the rows, and what each person leaks. Keep its estimator_ instead."
            )
        state: Mapping[str, object] = super().__getstate__()
        return state

    @_has("predict")
    def predict(self, X: Data) -> Column:
        """Predict with the final model."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    @_has("predict_proba")
    def predict_proba(self, X: Data) -> Array:
        """Return class probabilities of the final model."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @_has("predict_log_proba")
    def predict_log_proba(self, X: Data) -> Array:
        """Return logarithms of the class probabilities of the final model."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @_has("decision_function")
    def decision_function(self, X: Data) -> Array:
        """Return the margins of the final model."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    @_has("score")
    def score(self, X: Data, y: Listed) -> float:
        """Return the score of the final model."""
        check_is_fitted(self)
        return float(self.estimator_.score(X, y))

    @property
    def classes_(self) -> Column:
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
